/** The schema walked field by field, without compiling: slow, plain, and what the compiled codecs must agree with. */

import type { TopicId } from '../../src/base/ids.js'
import type { Reader } from '../../src/protocol/reader.js'
import { defaultOf, type Field, type Fields, inVersions, parseVersions } from '../../src/protocol/schema.js'
import { Writer } from '../../src/protocol/writer.js'

type Message = Record<string, unknown>

const isPresent = (field: Field<unknown>, version: number): boolean =>
	inVersions(parseVersions(field.versions), version)

function isTagged({ options }: Field<unknown>, version: number): boolean {
	return (
		options.tag !== undefined && (options.tagged === undefined || inVersions(parseVersions(options.tagged), version))
	)
}

export function writeFields(
	writer: Writer,
	fields: Fields,
	message: Message,
	version: number,
	flexible: boolean,
): void {
	const tagged: [Field<unknown>, unknown][] = []
	for (const [name, field] of Object.entries(fields)) {
		if (!isPresent(field, version)) continue
		const value = message[name]
		if (!isTagged(field, version)) writeValue(writer, field, value, version, flexible)
		else if (!equal(value, defaultOf(field))) tagged.push([field, value])
	}
	if (!flexible) return
	tagged.sort(([a], [b]) => (a.options.tag as number) - (b.options.tag as number))
	writer.uvarint(tagged.length)
	for (const [field, value] of tagged) {
		const inner = new Writer()
		writeValue(inner, field, value, version, flexible)
		const bytes = inner.finishBuffer()
		writer.uvarint(field.options.tag as number)
		writer.uvarint(bytes.length)
		writer.raw(bytes)
	}
}

function equal(a: unknown, b: unknown): boolean {
	const text = (value: unknown): string =>
		JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner)) ?? 'undefined'
	return text(a) === text(b)
}

function writeValue(writer: Writer, field: Field<unknown>, value: unknown, version: number, isFlexible: boolean): void {
	const flexible = isFlexible && field.options.flexible !== 'none'
	switch (field.kind) {
		case 'string':
			writer.string(value as string | null, flexible)
			break
		case 'bytes':
		case 'records':
			writer.byteString(value as Buffer | null, flexible)
			break
		case 'uuid':
			writer.uuid(value as TopicId)
			break
		case 'array':
			writer.length32(value === null ? -1 : (value as unknown[]).length, flexible)
			for (const item of (value ?? []) as unknown[])
				writeValue(writer, field.element as Field<unknown>, item, version, flexible)
			break
		case 'struct':
			if (canBeNull(field, version)) writer.int8(value === null ? -1 : 1)
			if (value !== null) writeFields(writer, field.fields as Fields, value as Message, version, flexible)
			break
		default:
			;(writer[field.kind] as (given: never) => void).call(writer, value as never)
	}
}

export function canBeNull(field: Field<unknown>, version: number): boolean {
	const { nullable } = field.options
	return nullable !== undefined && inVersions(parseVersions(nullable), version)
}

export function readFields(reader: Reader, fields: Fields, version: number, flexible: boolean): Message {
	const message: Message = {}
	for (const [name, field] of Object.entries(fields)) {
		const isHere = isPresent(field, version) && !isTagged(field, version)
		message[name] = isHere ? readValue(reader, field, version, flexible) : defaultOf(field)
	}
	if (!flexible) return message
	for (let count = reader.uvarint(); count > 0; count--) {
		const tag = reader.uvarint()
		const size = reader.uvarint()
		const found = Object.entries(fields).find(
			([, field]) => field.options.tag === tag && isPresent(field, version) && isTagged(field, version),
		)
		if (found === undefined) reader.take(size)
		else message[found[0]] = readValue(reader, found[1], version, flexible)
	}
	return message
}

function readValue(reader: Reader, field: Field<unknown>, version: number, isFlexible: boolean): unknown {
	const flexible = isFlexible && field.options.flexible !== 'none'
	switch (field.kind) {
		case 'string': {
			const length = reader.stringLength(flexible)
			return length < 0 ? null : reader.text(length)
		}
		case 'bytes':
		case 'records': {
			const length = reader.longLength(flexible)
			return length < 0 ? null : reader.slice(length)
		}
		case 'array': {
			const length = reader.longLength(flexible)
			if (length < 0) return null
			return Array.from({ length }, () => readValue(reader, field.element as Field<unknown>, version, flexible))
		}
		case 'struct':
			if (canBeNull(field, version) && reader.int8() < 0) return null
			return readFields(reader, field.fields as Fields, version, flexible)
		default:
			return (reader[field.kind] as () => unknown).call(reader)
	}
}
