/**
 * Our messages beside Kafka 3.9's own schemas (`test/fixtures/schemas.json`, taken from them): same versions, fields, order,
 * types, nulls, defaults and tags. Prints what is missing or other, field by field.
 */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { FAMILIES } from '../../src/protocol/apis.js'
import { type Field, type Fields, parseVersions } from '../../src/protocol/schema.js'

type Lines = (string | Lines)[]

interface Schema {
	readonly versions: string
	readonly flexible: string
	readonly fields: Lines
}

const schemas = JSON.parse(readFileSync(new URL('../fixtures/schemas.json', import.meta.url), 'utf8')) as Record<
	string,
	{ request: Schema; response: Schema }
>

/** Our fields in the notation of the fixture. int64 ids that we keep as BigInt are int64 there. */
function linesOf(fields: Fields): Lines {
	return Object.entries(fields).flatMap(([name, field]): Lines => {
		const struct = field.kind === 'struct' ? field : field.element?.kind === 'struct' ? field.element : null
		const line = [name, typeOf(field), field.versions, ...optionsOf(field)].join(' ')
		return struct === null ? [line] : [line, linesOf(struct.fields as Fields)]
	})
}

function typeOf(field: Field<unknown>): string {
	if (field.kind === 'array') return `[]${typeOf(field.element as Field<unknown>)}`
	return field.kind === 'bigint64' ? 'int64' : field.kind
}

function optionsOf({ options, versions }: Field<unknown>): string[] {
	const found: string[] = []
	if (options.nullable !== undefined) found.push(`null=${options.nullable}`)
	if (options.default !== undefined) found.push(`default=${String(options.default)}`)
	if (options.tag !== undefined) found.push(`tag=${options.tag}@${options.tagged ?? versions}`)
	if (options.ignorable === true) found.push('ignorable')
	return found
}

/** Kafka's names begin with a capital; hexadecimal defaults are numbers. */
function normal(lines: Lines): Lines {
	return lines.map((line) =>
		typeof line === 'string'
			? line
					.replace(/^ISR /, 'isr ')
					.replace(/^./, (first) => first.toLowerCase())
					.replace(/default=0x([0-9a-f]+)/, (_whole, hex: string) => `default=${Number.parseInt(hex, 16)}`)
			: normal(line),
	)
}

describe('drift', () => {
	it('every family has its schema', () => {
		expect(FAMILIES.map(({ key }) => String(key)).filter((key) => schemas[key] === undefined)).toEqual([])
	})

	for (const family of FAMILIES) {
		const schema = schemas[String(family.key)]
		it(`${family.name} is as Kafka 3.9 has it`, () => {
			expect(family.versions).toEqual(parseVersions(schema?.request.versions ?? ''))
			expect(family.flexibleFrom).toBe(parseVersions(schema?.request.flexible ?? '').min)
			expect(linesOf(family.request)).toEqual(normal(schema?.request.fields ?? []))
			expect(linesOf(family.response)).toEqual(normal(schema?.response.fields ?? []))
		})
	}
})
