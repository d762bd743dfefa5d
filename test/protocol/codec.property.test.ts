/**
 * Random messages of every family in every version: written and read back equal, and the compiled codec gives the bytes of
 * the plain interpreter. Random and cut bytes never give anything but a message or a ProtocolError.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type TopicId, topicIdFromBytes } from '../../src/base/ids.js'
import { FAMILIES } from '../../src/protocol/apis.js'
import { requestCodec, responseCodec } from '../../src/protocol/compile.js'
import { ProtocolError, Reader } from '../../src/protocol/reader.js'
import { defaultOf, type Field, type Fields, inVersions, parseVersions } from '../../src/protocol/schema.js'
import { Writer } from '../../src/protocol/writer.js'
import { canBeNull, readFields, writeFields } from './interpreter.js'

const LONG_MAX = 9223372036854775807n

function arbitraryOf(field: Field<unknown>, version: number): fc.Arbitrary<unknown> {
	const value = plainArbitrary(field, version)
	return canBeNull(field, version) ? fc.option(value, { nil: null }) : value
}

function plainArbitrary(field: Field<unknown>, version: number): fc.Arbitrary<unknown> {
	switch (field.kind) {
		case 'bool':
			return fc.boolean()
		case 'int8':
			return fc.integer({ min: -128, max: 127 })
		case 'int16':
			return fc.integer({ min: -32768, max: 32767 })
		case 'uint16':
			return fc.integer({ min: 0, max: 65535 })
		case 'int32':
			return fc.integer()
		case 'uint32':
			return fc.integer({ min: 0, max: 0xffffffff })
		case 'int64':
			return fc.oneof(fc.maxSafeInteger(), fc.constantFrom(-1, 0, 2 ** 63, -(2 ** 63)))
		case 'bigint64':
			return fc.oneof(fc.bigInt({ min: -LONG_MAX - 1n, max: LONG_MAX }), fc.constantFrom(-1n, 0n))
		case 'float64':
			return fc.double({ noNaN: true })
		case 'uuid':
			return fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => topicIdFromBytes(bytes) as TopicId)
		case 'string':
			return fc.string({ maxLength: 20, unit: 'grapheme' })
		case 'bytes':
		case 'records':
			return fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))
		case 'array':
			return fc.array(arbitraryOf(field.element as Field<unknown>, version), { maxLength: 3 })
		case 'struct':
			return messageOf(field.fields as Fields, version)
	}
}

/** A message with random values where the version has the field, defaults elsewhere. */
function messageOf(fields: Fields, version: number): fc.Arbitrary<Record<string, unknown>> {
	const members: Record<string, fc.Arbitrary<unknown>> = {}
	for (const [name, field] of Object.entries(fields)) {
		const isHere = inVersions(parseVersions(field.versions), version)
		members[name] = isHere ? arbitraryOf(field, version) : fc.constant(defaultOf(field))
	}
	return fc.record(members)
}

function versionsOf(family: (typeof FAMILIES)[number]): number[] {
	return Array.from({ length: family.versions.max - family.versions.min + 1 }, (_, i) => family.versions.min + i)
}

describe('codecs', () => {
	for (const family of FAMILIES) {
		it(`${family.name}: every version writes and reads, as the interpreter does`, () => {
			for (const version of versionsOf(family)) {
				const flexible = version >= family.flexibleFrom
				for (const [fields, codec] of [
					[family.request, requestCodec(family, version)],
					[family.response, responseCodec(family, version)],
				] as const) {
					fc.assert(
						fc.property(messageOf(fields, version), (message) => {
							const writer = new Writer(16)
							codec.write(writer, message as never)
							const bytes = writer.finishBuffer()
							const plain = new Writer(16)
							writeFields(plain, fields, message, version, flexible)
							expect(bytes.toString('hex')).toBe(plain.finishBuffer().toString('hex'))
							const reader = new Reader(bytes)
							expect(codec.read(reader)).toEqual(message)
							expect(reader.left).toBe(0)
							expect(readFields(new Reader(bytes), fields, version, flexible)).toEqual(message)
						}),
						{ numRuns: 12 },
					)
				}
			}
		})

		it(`${family.name}: random and cut bytes give a message or a ProtocolError`, () => {
			for (const version of versionsOf(family)) {
				for (const codec of [requestCodec(family, version), responseCodec(family, version)]) {
					fc.assert(
						fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
							try {
								codec.read(new Reader(Buffer.from(bytes)))
							} catch (error) {
								expect(error).toBeInstanceOf(ProtocolError)
							}
						}),
						{ numRuns: 40 },
					)
				}
			}
		})
	}

	it('a claimed count costs nothing: the bytes left decide, and a message has a bound on elements', () => {
		const metadata = FAMILIES.find(({ key }) => key === 3) as (typeof FAMILIES)[number]
		const lie = Buffer.alloc(8)
		lie.writeInt32BE(0x7fffffff)
		expect(() => requestCodec(metadata, 1).read(new Reader(lie))).toThrow(ProtocolError)
		const many = Buffer.alloc(4 + 2 * 2_100_000)
		many.writeInt32BE(2_100_000)
		expect(() => requestCodec(metadata, 1).read(new Reader(many))).toThrow('array elements')
	})
})
