import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as jute from '../../src/zk/jute.js'
import { connectRequest, createTtlRequest, readMulti, setWatches2Request, statRecord } from '../../src/zk/messages.js'
import { transaction } from '../../src/zk/server/transaction.js'

const int = fc.integer({ min: -0x80000000, max: 0x7fffffff })
const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const safeLong = fc.maxSafeInteger()
const bytes = fc.option(fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)))
const text = fc.string({ unit: 'binary', maxLength: 20 })
const acl = fc.record({ perms: int, id: fc.record({ scheme: text, id: text }) })

const records: [string, jute.JuteType<never>, fc.Arbitrary<unknown>][] = [
	[
		'connect request',
		connectRequest as jute.JuteType<never>,
		fc.record({ protocolVersion: int, lastZxidSeen: safeLong, timeoutMs: int, sessionId: long, password: bytes }),
	],
	[
		'create with ttl',
		createTtlRequest as jute.JuteType<never>,
		fc.record({ path: text, data: bytes, acl: fc.array(acl), flags: int, ttl: safeLong }),
	],
	[
		'set watches',
		setWatches2Request as jute.JuteType<never>,
		fc.record({
			relativeZxid: safeLong,
			data: fc.array(text),
			exist: fc.array(text),
			child: fc.array(text),
			persistent: fc.array(text),
			recursive: fc.array(text),
		}),
	],
	[
		'transaction',
		transaction as jute.JuteType<never>,
		fc.record({
			zxid: safeLong,
			timeMs: safeLong,
			sessionId: long,
			cxid: int,
			session: fc.oneof(
				fc.record({ kind: fc.constantFrom('none', 'closed') }),
				fc.record({
					kind: fc.constant('opened'),
					timeoutMs: int,
					password: fc.uint8Array({ maxLength: 20 }).map((each) => Buffer.from(each)),
				}),
			),
			changes: fc.array(
				fc.oneof(
					fc.record({ kind: fc.constant('remove'), path: text }),
					fc.record({ kind: fc.constant('set'), path: text, data: bytes, version: int }),
					fc.record({ kind: fc.constant('setAcl'), path: text, acl: fc.array(acl), aversion: int }),
				),
			),
		}),
	],
]

function encode(type: jute.JuteType<never>, value: unknown): Buffer {
	const writer = new jute.JuteWriter(0, 1)
	type.write(writer, value as never)
	return writer.finish()
}

describe('records', () => {
	for (const [name, type, arbitrary] of records) {
		test(`${name}: what is written is read back, to the last byte`, () => {
			fc.assert(
				fc.property(arbitrary, (value) => {
					const reader = new jute.JuteReader(encode(type, value))
					expect(type.read(reader)).toEqual(value)
					expect(reader.left).toBe(0)
				}),
			)
		})

		test(`${name}: cut anywhere it is an error, never another`, () => {
			fc.assert(
				fc.property(arbitrary, fc.nat(), (value, cut) => {
					const whole = encode(type, value)
					const short = whole.subarray(0, cut % whole.length)
					expect(() => type.read(new jute.JuteReader(short))).toThrow(jute.JuteError)
				}),
			)
		})
	}
})

test('random bytes read to a value or a jute error, and never allocate what they claim', () => {
	const types = [...records.map(([, type]) => type), statRecord as jute.JuteType<never>]
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 120 }), fc.nat(types.length), (random, which) => {
			const reader = new jute.JuteReader(Buffer.from(random))
			try {
				if (which === types.length) readMulti(reader)
				else types[which]?.read(reader)
			} catch (error) {
				expect(error).toBeInstanceOf(jute.JuteError)
			}
		}),
		{ numRuns: 1000 },
	)
	const huge = Buffer.from('7fffffff', 'hex')
	expect(() => jute.vector(jute.int).read(new jute.JuteReader(huge))).toThrow(jute.JuteError)
	expect(() => jute.buffer.read(new jute.JuteReader(huge))).toThrow(jute.JuteError)
	expect(() => jute.ustring.read(new jute.JuteReader(huge))).toThrow(jute.JuteError)
})

test('null strings read as empty, null vectors as empty, null buffers as null', () => {
	const none = Buffer.from('ffffffff', 'hex')
	expect(jute.ustring.read(new jute.JuteReader(none))).toBe('')
	expect(jute.vector(jute.int).read(new jute.JuteReader(none))).toEqual([])
	expect(jute.buffer.read(new jute.JuteReader(none))).toBeNull()
})
