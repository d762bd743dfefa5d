/** Zig-zag varlongs as numbers and as bigints: the same bytes, and exact wherever a number is. */

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readBigVarlong, sizeOfBigVarlong, sizeOfVarlong, writeBigVarlong, writeVarlong } from '../../src/base/bytes.js'
import { buildBatch, decodeRecords } from '../../src/protocol/records/record.js'
import { RecordWalk, walkRecords } from '../../src/protocol/records/walk.js'

const edges = [0, 1, -1, 63, 64, -64, -65, 2 ** 31, 2 ** 52, -(2 ** 52) - 1, 2 ** 53 - 1, -(2 ** 53)]
const safe = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(...edges))
const int64 = fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), safe.map(BigInt))

it('a number writes what a bigint writes', () => {
	fc.assert(
		fc.property(safe, (value) => {
			const [one, other] = [Buffer.alloc(12), Buffer.alloc(12)]
			const end = writeVarlong(one, value, 1)
			expect(writeBigVarlong(other, BigInt(value), 1)).toBe(end)
			expect(one.equals(other)).toBe(true)
			expect(end - 1).toBe(sizeOfVarlong(value))
		}),
	)
})

it('any int64 comes back', () => {
	fc.assert(
		fc.property(int64, (value) => {
			const bytes = Buffer.alloc(12)
			const end = writeBigVarlong(bytes, value, 0)
			expect(end).toBe(sizeOfBigVarlong(value))
			expect(readBigVarlong(bytes, 0)).toBe(value)
		}),
	)
})

it('times of records are read exactly to 2^53, by both readers', () => {
	fc.assert(
		fc.property(fc.array(fc.nat(Number.MAX_SAFE_INTEGER), { minLength: 1, maxLength: 5 }), (times) => {
			const records = times.map((timestamp) => ({ timestamp, key: null, value: null }))
			const batch = buildBatch({ records })
			const source = { bytes: batch, at: 61, end: batch.length, count: times.length, baseOffset: 0, appendMs: -1 }
			const read = decodeRecords({ ...source, baseTimestamp: times[0] as number })
			expect(read.map(({ timestamp }) => timestamp)).toEqual(times)
			const walk = new RecordWalk()
			walk.reset(61, times[0] as number, 0, Number.POSITIVE_INFINITY, false)
			expect(walkRecords(batch, walk, batch.length, times.length)).toBe(true)
			expect(walk.maxTimestamp).toBe(Math.max(...times))
		}),
	)
})
