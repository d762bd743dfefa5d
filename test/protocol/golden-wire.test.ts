/**
 * Every frame that a real broker or client sent decodes to what Kafka's own converters say, and encodes back to the same
 * bytes. Frames come from Apache Kafka 3.9.2 and 4.1.0, librdkafka, kafkajs and kafka-python.
 */

import { describe, expect, it } from 'vitest'
import { FAMILIES, familyOf } from '../../src/protocol/apis.js'
import { requestCodec } from '../../src/protocol/compile.js'
import {
	decodeResponse,
	encodeRequest,
	encodeResponse,
	readRequestHeader,
	requestHeaderVersion,
} from '../../src/protocol/frame.js'
import { Reader } from '../../src/protocol/reader.js'
import { type Family, type Field, type Fields, inVersions, parseVersions } from '../../src/protocol/schema.js'
import { type GoldenFrame, goldenFiles, readGolden } from '../helpers/golden-wire.js'

/** Our decoded value in the form of Kafka's JSON converters, fields of other versions left out. */
function toJson(field: Field<unknown>, value: unknown, version: number): unknown {
	if (value === null) return null
	switch (field.kind) {
		case 'bigint64':
			return Number(value)
		case 'bytes':
			return (value as Buffer).toString('base64')
		case 'array':
			return (value as unknown[]).map((item) => toJson(field.element as Field<unknown>, item, version))
		case 'struct':
			return structJson(field.fields as Fields, value as Record<string, unknown>, version)
		default:
			return value
	}
}

function structJson(fields: Fields, value: Record<string, unknown>, version: number): Record<string, unknown> {
	const made: Record<string, unknown> = {}
	for (const [name, field] of Object.entries(fields)) {
		if (!inVersions(parseVersions(field.versions), version)) continue
		if (field.kind === 'records') {
			if (value[name] === null) made[name] = null
			else made[`${name}SizeInBytes`] = (value[name] as Buffer).length
		} else made[name] = toJson(field, value[name], version)
	}
	return made
}

/** Tagged fields stand in the JSON only when on the wire: drop ours where theirs is absent. */
function withoutAbsentTags(fields: Fields, ours: Record<string, unknown>, theirs: Record<string, unknown>): void {
	for (const [name, field] of Object.entries(fields)) {
		if (field.options.tag !== undefined && !(name in theirs)) delete ours[name]
		const mine = ours[name]
		const other = theirs[name]
		if (mine === null || mine === undefined || other === null || other === undefined) continue
		if (field.kind === 'struct') {
			withoutAbsentTags(field.fields as Fields, mine as Record<string, unknown>, other as Record<string, unknown>)
		}
		if (field.kind === 'array' && field.element?.kind === 'struct') {
			for (const [i, item] of (mine as Record<string, unknown>[]).entries()) {
				const twin = (other as Record<string, unknown>[])[i]
				if (twin !== undefined) withoutAbsentTags(field.element.fields as Fields, item, twin)
			}
		}
	}
}

/** Kafka's JSON spells some names otherwise than the schema. */
function normal(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(normal)
	if (typeof value !== 'object' || value === null) return value
	return Object.fromEntries(
		Object.entries(value).map(([name, inner]) => [name.charAt(0).toLowerCase() + name.slice(1), normal(inner)]),
	)
}

function check(family: Family, frame: GoldenFrame): void {
	const body = frame.bytes.subarray(4)
	const length = frame.bytes.length - frame.leftOver
	let fields: Fields
	let decoded: Record<string, unknown>
	let encoded: Buffer
	if (frame.direction === 'request') {
		const reader = new Reader(body)
		const header = readRequestHeader(reader, requestHeaderVersion(family, frame.version))
		expect(header.correlationId).toBe(frame.correlation)
		expect(header.clientId).toBe(frame.client ?? '')
		fields = family.request
		decoded = requestCodec(family, frame.version).read(reader)
		expect(reader.left).toBe(frame.leftOver)
		encoded = Buffer.concat(
			encodeRequest(family, frame.version, header.correlationId, frame.client, decoded) as Buffer[],
		)
	} else {
		fields = family.response
		const { correlationId, message } = decodeResponse(family, frame.version, body)
		expect(correlationId).toBe(frame.correlation)
		decoded = message
		encoded = Buffer.concat(encodeResponse(family, frame.version, correlationId, decoded) as Buffer[])
	}
	const ours = structJson(fields, decoded, frame.version)
	const theirs = normal(frame.json) as Record<string, unknown>
	withoutAbsentTags(fields, ours, theirs)
	expect(ours).toEqual(theirs)
	expect(encoded.subarray(4).toString('hex')).toBe(frame.bytes.subarray(4, length).toString('hex'))
}

describe('golden frames', () => {
	const files = goldenFiles()

	it('cover every family', () => {
		const seen = new Set(files.map((file) => Number(file.slice(0, 2))))
		expect(FAMILIES.map((family) => family.key).filter((key) => !seen.has(key))).toEqual([])
	})

	for (const file of files) {
		it(file, () => {
			const frames = readGolden(file)
			for (const frame of frames) {
				const family = familyOf(frame.api)
				if (family === undefined || !inVersions(family.versions, frame.version)) continue
				check(family, frame)
			}
		})
	}
})
