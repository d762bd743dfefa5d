/** Batches and records round trip; the walk and the decoder agree on what is right (semantics 1). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
	BATCH_HEADER_BYTES,
	batchBaseTimestamp,
	batchBytes,
	batchLastOffset,
	batchLastSequence,
	batchMaxTimestamp,
	batchRecordCount,
	decrementSequence,
	incrementSequence,
	isBatchCrcRight,
	stampBatch,
	wholeBatchEnd,
} from '../../../src/protocol/records/batch.js'
import { buildBatch, buildMarker, decodeRecords, readMarker } from '../../../src/protocol/records/record.js'
import { RecordWalk, walkRecords } from '../../../src/protocol/records/walk.js'

const bytes = fc.option(
	fc.uint8Array({ maxLength: 300 }).map((one) => Buffer.from(one)),
	{ nil: null },
)
const record = fc.record({
	timestamp: fc.integer({ min: -1, max: 2 ** 45 }),
	key: bytes,
	value: bytes,
	headers: fc.array(fc.record({ key: fc.string({ maxLength: 10 }), value: bytes }), { maxLength: 4 }),
})
const records = fc.array(record, { minLength: 1, maxLength: 20 })

function walked(batch: Buffer, end = batch.length): RecordWalk {
	const walk = new RecordWalk()
	walk.reset(
		BATCH_HEADER_BYTES,
		batchBaseTimestamp(batch, 0),
		Number.NEGATIVE_INFINITY,
		Number.POSITIVE_INFINITY,
		false,
	)
	walkRecords(batch, walk, end, batchRecordCount(batch, 0))
	return walk
}

function decode(batch: Buffer): ReturnType<typeof decodeRecords> {
	return decodeRecords({
		bytes: batch,
		at: BATCH_HEADER_BYTES,
		end: batch.length,
		count: batchRecordCount(batch, 0),
		baseOffset: 0,
		baseTimestamp: batchBaseTimestamp(batch, 0),
		appendMs: -1,
	})
}

test('1.1 1.6 1.9 a built batch decodes to what it was built from, and the walk passes it', () => {
	fc.assert(
		fc.property(records, (list) => {
			const batch = buildBatch({ records: list })
			expect(batchBytes(batch, 0)).toBe(batch.length)
			expect(isBatchCrcRight(batch, 0, batch.length)).toBe(true)
			expect(batchMaxTimestamp(batch, 0)).toBe(Math.max(...list.map((one) => one.timestamp)))
			const decoded = decode(batch)
			expect(
				decoded.map(({ timestamp, key, value, headers }) => ({ timestamp, key, value, headers: [...headers] })),
			).toEqual(list)
			const walk = walked(batch)
			expect(walk.failure).toBeNull()
			expect(walk.at).toBe(batch.length)
			expect(walk.isDense).toBe(true)
			expect(walk.maxTimestamp).toBe(batchMaxTimestamp(batch, 0))
		}),
	)
})

test('1.2 offset and epoch lie outside the CRC', () => {
	const batch = buildBatch({ records: [{ timestamp: 1, key: null, value: null }] })
	stampBatch(batch, 0, 2 ** 52, 77)
	expect(isBatchCrcRight(batch, 0, batch.length)).toBe(true)
	expect(batchLastOffset(batch, 0)).toBe(2 ** 52)
})

test('1.7 the walk and the decoder agree on damaged records', () => {
	fc.assert(
		fc.property(records, fc.nat(), fc.nat(255), (list, at, value) => {
			const batch = buildBatch({ records: list })
			batch[BATCH_HEADER_BYTES + (at % (batch.length - BATCH_HEADER_BYTES))] = value
			const walk = walked(batch)
			const isRight = walk.failure === null && walk.at === batch.length
			let isDecoded = true
			try {
				decode(batch)
			} catch {
				isDecoded = false
			}
			expect(isDecoded).toBe(isRight)
		}),
		{ numRuns: 2000 },
	)
})

test('1.4 sequences wrap', () => {
	expect(incrementSequence(0x7fffffff, 1)).toBe(0)
	expect(incrementSequence(0x7ffffffe, 3)).toBe(1)
	expect(decrementSequence(0, 1)).toBe(0x7fffffff)
	expect(decrementSequence(1, 3)).toBe(0x7ffffffe)
	const batch = buildBatch({
		records: [1, 2, 3].map((timestamp) => ({ timestamp, key: null, value: null })),
		producerId: 1n,
		producerEpoch: 0,
		baseSequence: 0x7ffffffe,
	})
	expect(batchLastSequence(batch, 0)).toBe(0)
})

test('1.11 markers', () => {
	for (const type of ['commit', 'abort'] as const) {
		const batch = buildMarker(type, { producerId: 9n, producerEpoch: 3, coordinatorEpoch: 12, timestamp: 5 })
		const [only] = decode(batch)
		expect(readMarker(only!)).toEqual({ type, coordinatorEpoch: 12 })
	}
})

test('1.13 a cut batch is none, an impossible length or magic is corrupt', () => {
	const batch = buildBatch({ records: [{ timestamp: 1, key: null, value: null }] })
	for (let end = 0; end < batch.length; end++) expect(wholeBatchEnd(batch, 0, end)).toBe(0)
	expect(wholeBatchEnd(batch, 0, batch.length)).toBe(batch.length)
	for (const length of [-1, 0, 13, 48, -0x80000000]) {
		const bad = Buffer.from(batch)
		bad.writeInt32BE(length, 8)
		expect(wholeBatchEnd(bad, 0, bad.length)).toBe(-1)
	}
	for (const magic of [3, -1, 127]) {
		const bad = Buffer.from(batch)
		bad.writeInt8(magic, 16)
		expect(wholeBatchEnd(bad, 0, bad.length)).toBe(-1)
	}
})

test('1.8 Long.MAX and Long.MIN in every int64 of a header are read without harm', () => {
	for (const at of [0, 27, 35, 43]) {
		for (const value of [2n ** 63n - 1n, -(2n ** 63n)]) {
			const batch = buildBatch({ records: [{ timestamp: 1, key: null, value: null }] })
			batch.writeBigInt64BE(value, at)
			expect(walked(batch).failure).toBeNull()
		}
	}
})
