/** What a produced batch must be (semantics 4), and what the broker changes in it. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AppendOutcome } from '../../../src/engine/log/append.js'
import type { LogConfig } from '../../../src/engine/log/log-config.js'
import {
	batchAttributes,
	batchLeaderEpoch,
	batchMaxTimestamp,
	isBatchCrcRight,
	writeBatchCrc,
} from '../../../src/protocol/records/batch.js'
import { rebuildBatch } from '../../../src/protocol/records/rebuild.js'
import { buildBatch } from '../../../src/protocol/records/record.js'
import { NodeCompression } from '../../../src/runtime/node-compression.js'
import { batch, bytesOf, CLIENT, openLog, readAll } from './setup.js'

const compression = new NodeCompression()
const NOW = 1_700_000_000_000

async function produce(
	bytes: Buffer,
	config: Partial<LogConfig> = {},
	options: Partial<typeof CLIENT> | { produceVersion: number } = {},
): Promise<AppendOutcome & { stored: Buffer }> {
	const { log, manager } = await openLog(undefined, config)
	const outcome = await log.appendAsLeader(bytes, { ...CLIENT, ...options })
	const stored =
		log.logEndOffset > 0
			? await bytesOf(log.read({ offset: 0, maxBytes: 1e8, minOneBatch: true, upTo: 'logEnd' }))
			: Buffer.alloc(0)
	expect(await manager.close(0n)).toEqual([])
	return { ...outcome, stored }
}

/** `edit`s a good batch and gives it a right CRC again. */
function edited(edit: (bytes: Buffer) => void, source = batch(3)): Buffer {
	const bytes = Buffer.from(source)
	edit(bytes)
	writeBatchCrc(bytes, 0, bytes.length)
	return bytes
}

function compressed(codec: 'gzip' | 'snappy' | 'lz4' | 'zstd', source = batch(5)): Buffer {
	const stream = compression.compressNow(codec, source.subarray(61), null)
	return rebuildBatch(source, stream, codec, -1, null)
}

describe('shape of the request', () => {
	test('4.4 no batch, an empty field and a cut batch answer 87 without a log start', async () => {
		for (const bytes of [Buffer.alloc(0), Buffer.alloc(5), batch(1).subarray(0, 40)]) {
			expect(await produce(Buffer.from(bytes))).toMatchObject({ errorCode: 87, logStartOffset: -1, firstOffset: -1 })
		}
	})

	test('4.4 two batches answer 87 from version 3 on, and are taken below', async () => {
		const two = Buffer.concat([batch(2), batch(3)])
		expect(await produce(Buffer.from(two))).toMatchObject({ errorCode: 87 })
		expect(await produce(Buffer.from(two), {}, { produceVersion: 2 })).toMatchObject({
			errorCode: 0,
			firstOffset: 0,
			lastOffset: 4,
		})
	})

	test('2.9 4.4 magic 0 and 1 answer 87 from version 3 on and are checked below; magic 3 answers 2', async () => {
		const legacy = Buffer.alloc(40)
		legacy.writeInt32BE(28, 8)
		expect(await produce(Buffer.from(legacy))).toMatchObject({ errorCode: 87, logStartOffset: -1 })
		expect(await produce(Buffer.from(legacy), {}, { produceVersion: 2 })).toMatchObject({ errorCode: 2 })
		expect(await produce(edited((bytes) => bytes.writeInt8(3, 16)))).toMatchObject({ errorCode: 2 })
	})

	test('4.4 zstd below version 7 answers 76', async () => {
		expect(await produce(compressed('zstd'), {}, { produceVersion: 6 })).toMatchObject({
			errorCode: 76,
			logStartOffset: -1,
		})
		expect(await produce(compressed('zstd'), {}, { produceVersion: 7 })).toMatchObject({ errorCode: 0 })
	})

	test('4.11 bytes after the last whole batch are cut off', async () => {
		const good = batch(2)
		const outcome = await produce(Buffer.concat([good, good.subarray(0, 30)]), {}, { produceVersion: 2 })
		expect(outcome).toMatchObject({ errorCode: 0, lastOffset: 1 })
		expect(outcome.stored.length).toBe(good.length)
	})
})

describe('header', () => {
	test('4.8 a base offset other than 0 answers 87 with the log start', async () => {
		expect(await produce(batch(1, 20, { baseOffset: 5 }))).toMatchObject({ errorCode: 87, logStartOffset: 0 })
	})

	test('4.9 a batch above max.message.bytes answers 10', async () => {
		expect(await produce(batch(1, 200), { maxMessageBytes: 150 })).toMatchObject({ errorCode: 10, logStartOffset: -1 })
	})

	test('4.10 1.2 any flipped bit under the CRC answers 2', async () => {
		const good = batch(2)
		await fc.assert(
			fc.asyncProperty(
				fc.integer({ min: 21, max: good.length - 1 }),
				fc.integer({ min: 0, max: 7 }),
				async (at, bit) => {
					const bytes = Buffer.from(good)
					bytes[at] = (bytes[at] as number) ^ (1 << bit)
					expect((await produce(bytes)).errorCode).toBe(2)
				},
			),
			{ numRuns: 50 },
		)
	})

	test('4.12 counts and deltas that do not fit, control bits and bad sequences answer 87', async () => {
		const cases: ((bytes: Buffer) => void)[] = [
			(bytes) => bytes.writeInt32BE(-1, 23),
			(bytes) => bytes.writeInt32BE(7, 23),
			(bytes) => bytes.writeInt32BE(0, 57),
			(bytes) => bytes.writeInt32BE(-3, 57),
			(bytes) => bytes.writeInt16BE(0x20, 21),
			(bytes) => bytes.writeBigInt64BE(9n, 43),
			(bytes) => {
				bytes.writeInt32BE(0x7fffffff, 57)
				bytes.writeInt32BE(0x7ffffffe, 23)
			},
		]
		for (const edit of cases) expect(await produce(edited(edit))).toMatchObject({ errorCode: 87, logStartOffset: 0 })
	})

	test('4.12 unknown codecs 5 to 7 answer 87', async () => {
		for (const id of [5, 6, 7])
			expect((await produce(edited((bytes) => bytes.writeInt16BE(id, 21)))).errorCode).toBe(87)
	})

	test('1.3 unused attribute bits 6 and 7 are taken and stored', async () => {
		const outcome = await produce(edited((bytes) => bytes.writeInt16BE(0xc0, 21)))
		expect(outcome.errorCode).toBe(0)
		expect(batchAttributes(outcome.stored, 0)).toBe(0xc0)
	})
})

describe('records', () => {
	test('1.7 4.13 a right CRC around a broken record answers 87, whatever byte is wrong', async () => {
		const good = batch(4)
		let refused = 0
		for (let at = 61; at < good.length; at++) {
			for (const value of [0x00, 0x01, 0x7f, 0x80, 0xff]) {
				const bytes = edited((copy) => {
					copy[at] = value
				}, good)
				const outcome = await produce(bytes)
				expect([0, 87]).toContain(outcome.errorCode)
				if (outcome.errorCode === 87) refused++
				else if (outcome.stored.length > 0) expect(outcome.lastOffset).toBe(3)
			}
		}
		expect(refused).toBeGreaterThan(50)
	})

	test('1.7 4.12 lengths that lie, long varints and negative counts answer 87', async () => {
		const tails: number[][] = [
			[0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
			[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 1, 1, 0],
			[0x80, 0x80, 0x80],
			[0x0c, 0, 0, 0, 0x03, 0x01, 0x00],
			[0x0c, 0, 0, 0, 0x01, 0x01, 0x01],
			[0x0c, 0, 0, 0, 0x01, 0x01, 0x7e],
			[0x10, 0, 0, 0, 0x01, 0x01, 0x02, 0x01, 0x01],
			[0x0e, 0, 0, 0, 0x01, 0x01, 0x00, 0x00],
			[0x1e, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x01, 0x01],
		]
		for (const tail of tails) {
			const header = buildBatch({ records: [{ timestamp: NOW, key: null, value: null }] }).subarray(0, 61)
			const bytes = Buffer.concat([header, Buffer.from(tail)])
			bytes.writeInt32BE(bytes.length - 12, 8)
			writeBatchCrc(bytes, 0, bytes.length)
			expect((await produce(bytes)).errorCode).toBe(87)
		}
	})

	test('1.7 random bytes after a right header never pass as more than they are, and never throw', async () => {
		const header = batch(3).subarray(0, 61)
		await fc.assert(
			fc.asyncProperty(
				fc.uint8Array({ minLength: 0, maxLength: 200 }),
				fc.integer({ min: 0, max: 4 }),
				async (tail, codec) => {
					const bytes = Buffer.concat([header, tail])
					bytes.writeInt32BE(bytes.length - 12, 8)
					bytes.writeInt16BE(codec, 21)
					writeBatchCrc(bytes, 0, bytes.length)
					expect((await produce(bytes)).errorCode).toBe(87)
				},
			),
			{ numRuns: 200 },
		)
	})

	test('4.14 a compacted topic refuses records without key, each named', async () => {
		const records = [
			{ timestamp: NOW, key: Buffer.from('k'), value: null },
			{ timestamp: NOW, key: null, value: null },
			{ timestamp: NOW, key: null, value: null },
		]
		const outcome = await produce(buildBatch({ records }), { isCompacted: true })
		expect(outcome).toMatchObject({ errorCode: 87, logStartOffset: 0 })
		expect(outcome.recordErrors.map((one) => one.batchIndex)).toEqual([1, 2])
		expect(outcome.message).not.toBeNull()
	})

	test('4.15 4.17 times out of range answer 32 with each record; -1 is no time', async () => {
		const config = { timestampBeforeMaxMs: 1000, timestampAfterMaxMs: 500 }
		const at = (...times: number[]): Buffer =>
			buildBatch({ records: times.map((timestamp) => ({ timestamp, key: null, value: null })) })
		expect(await produce(at(NOW - 1000, NOW + 500, -1), config)).toMatchObject({ errorCode: 0 })
		const early = await produce(at(NOW, NOW - 1001, NOW + 501), config)
		expect(early).toMatchObject({ errorCode: 32, firstOffset: -1, logStartOffset: 0 })
		expect(early.recordErrors.map((one) => one.batchIndex)).toEqual([1, 2])
	})

	test('4.17 a key error beside a time error answers 32', async () => {
		const records = [
			{ timestamp: NOW, key: null, value: null },
			{ timestamp: 5, key: Buffer.from('k'), value: null },
		]
		const outcome = await produce(buildBatch({ records }), { isCompacted: true, timestampBeforeMaxMs: 10 })
		expect(outcome.errorCode).toBe(32)
		expect(outcome.recordErrors.length).toBe(2)
	})

	test('4.16 the LogAppendTime bit of a producer is cleared and times kept; with time -1 it answers 32', async () => {
		const outcome = await produce(edited((bytes) => bytes.writeInt16BE(0x08, 21)))
		expect(outcome.errorCode).toBe(0)
		expect(batchAttributes(outcome.stored, 0) & 0x08).toBe(0)
		expect(batchMaxTimestamp(outcome.stored, 0)).toBe(NOW + 2)
		expect(isBatchCrcRight(outcome.stored, 0, outcome.stored.length)).toBe(true)
		const without = buildBatch({ records: [{ timestamp: -1, key: null, value: null }], attributes: 0x08 })
		expect((await produce(without)).errorCode).toBe(32)
	})
})

describe('what is written', () => {
	test('4.18 4.22 1.2 offsets and leader epoch are written in place, the rest stays', async () => {
		const source = batch(3)
		const { log, manager } = await openLog()
		await log.appendAsLeader(batch(2), CLIENT)
		const outcome = await log.appendAsLeader(Buffer.from(source), { ...CLIENT, leaderEpoch: 9 })
		expect(outcome).toMatchObject({ firstOffset: 2, lastOffset: 4, logAppendTimeMs: -1, logStartOffset: 0 })
		const stored = await bytesOf(log.read({ offset: 2, maxBytes: 1e6, minOneBatch: true, upTo: 'logEnd' }))
		expect(batchLeaderEpoch(stored, 0)).toBe(9)
		expect(stored.subarray(16).equals(source.subarray(16))).toBe(true)
		await manager.close(0n)
	})

	test('4.19 1.9 a wrong maximum timestamp is set right with a new CRC', async () => {
		for (const wrong of [5, NOW + 99, -1]) {
			const { stored, errorCode } = await produce(edited((bytes) => bytes.writeBigInt64BE(BigInt(wrong), 35)))
			expect(errorCode).toBe(0)
			expect(batchMaxTimestamp(stored, 0)).toBe(NOW + 2)
			expect(isBatchCrcRight(stored, 0, stored.length)).toBe(true)
		}
	})

	test('4.19 1.8 LogAppendTime sets bit and time, deltas untouched', async () => {
		const source = batch(3)
		const outcome = await produce(Buffer.from(source), { timestampType: 'LogAppendTime' })
		expect(outcome).toMatchObject({ errorCode: 0, logAppendTimeMs: NOW })
		expect(batchAttributes(outcome.stored, 0)).toBe(0x08)
		expect(outcome.stored.subarray(61).equals(source.subarray(61))).toBe(true)
		expect(isBatchCrcRight(outcome.stored, 0, outcome.stored.length)).toBe(true)
	})

	test('4.20 3.1 3.2 3.3 3.4 every codec goes in and comes out as it came with compression.type=producer', async () => {
		for (const codec of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
			const source = compressed(codec)
			const outcome = await produce(Buffer.from(source))
			expect([codec, outcome.errorCode, outcome.message]).toEqual([codec, 0, null])
			expect(outcome.stored.subarray(16).equals(source.subarray(16))).toBe(true)
		}
	})

	test('4.20 another topic codec rebuilds the batch with the same records and producer fields', async () => {
		const source = batch(5, 300, { producerId: 7n, producerEpoch: 2, baseSequence: 40 })
		for (const from of ['none', 'gzip', 'lz4'] as const) {
			for (const to of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
				const { log, manager } = await openLog(undefined, { compressionType: to })
				const sent = from === 'none' ? Buffer.from(source) : compressed(from, source)
				expect(await log.appendAsLeader(sent, CLIENT)).toMatchObject({ errorCode: 0, lastOffset: 4 })
				const stored = await bytesOf(log.read({ offset: 0, maxBytes: 1e6, minOneBatch: true, upTo: 'logEnd' }))
				expect(batchAttributes(stored, 0) & 7).toBe(['none', 'gzip', 'snappy', 'lz4', 'zstd'].indexOf(to))
				expect(stored.subarray(43, 57).equals(source.subarray(43, 57))).toBe(true)
				expect(isBatchCrcRight(stored, 0, stored.length)).toBe(true)
				expect((await readAll(log)).map((record) => record.value?.length)).toEqual([300, 300, 300, 300, 300])
				await manager.close(0n)
			}
		}
	})

	test('4.20 odd offset deltas: taken when uncompressed, 87 with the same codec, rebuilt with another', async () => {
		const odd = buildBatch({
			records: [0, 5, 2].map((offsetDelta) => ({ timestamp: NOW, key: null, value: Buffer.from('v'), offsetDelta })),
		})
		expect((await produce(Buffer.from(odd))).errorCode).toBe(0)
		expect((await produce(compressed('gzip', odd))).errorCode).toBe(87)
		expect((await produce(compressed('gzip', odd), { compressionType: 'lz4' })).errorCode).toBe(0)
	})

	test('4.20 odd offset deltas are made dense, everything else of each record stays', async () => {
		const field = fc.option(
			fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
			{ nil: null },
		)
		const header = fc.record({ key: fc.string({ maxLength: 5 }), value: field })
		const record = fc.record({
			timestamp: fc.nat(NOW),
			key: field,
			value: field,
			headers: fc.array(header, { maxLength: 3 }),
			offsetDelta: fc.nat(100_000),
		})
		await fc.assert(
			fc.asyncProperty(fc.array(record, { minLength: 2, maxLength: 300 }), async (records) => {
				records[records.length - 1] = {
					...(records[records.length - 1] as (typeof records)[0]),
					offsetDelta: records.length - 1,
				}
				const source = compressed('gzip', buildBatch({ records }))
				const { log, manager } = await openLog(undefined, { compressionType: 'none', retentionMs: -1 })
				expect(await log.appendAsLeader(source, CLIENT)).toMatchObject({ errorCode: 0 })
				const read = await readAll(log)
				expect(read.map(({ offset }) => offset)).toEqual(records.map((_, i) => i))
				expect(read.map(({ timestamp, key, value, headers }) => ({ timestamp, key, value, headers }))).toEqual(
					records.map(({ timestamp, key, value, headers }) => ({ timestamp, key, value, headers })),
				)
				await manager.close(0n)
			}),
			{ numRuns: 30 },
		)
	})

	test('1.9 times beyond 2^53 (some send nanoseconds) stay as they are; only a wrong maximum is set right, exactly', async () => {
		const base = 1_700_000_000_123_456_789n
		const source = batch(4)
		source.writeBigInt64BE(base, 27)
		source.writeBigInt64BE(base + 3n, 35)
		writeBatchCrc(source, 0, source.length)
		for (const sent of [source, compressed('gzip', source)]) {
			const kept = await produce(Buffer.from(sent))
			expect([kept.errorCode, kept.stored.subarray(16).equals(sent.subarray(16))]).toEqual([0, true])
			const wrong = edited((bytes) => bytes.writeBigInt64BE(base + 2n, 35), sent)
			const { stored } = await produce(wrong)
			expect([stored.readBigInt64BE(27), stored.readBigInt64BE(35)]).toEqual([base, base + 3n])
			expect(isBatchCrcRight(stored, 0, stored.length)).toBe(true)
			const packed = await produce(Buffer.from(sent), { compressionType: 'lz4' })
			expect([packed.stored.readBigInt64BE(27), packed.stored.readBigInt64BE(35)]).toEqual([base, base + 3n])
		}
	})

	test('4.14 a small request with very many bad records is refused with the first of them listed', async () => {
		const record = buildBatch({ records: [{ timestamp: NOW, key: null, value: null }] }).subarray(61)
		const count = 200_000
		const header = Buffer.from(batch(1).subarray(0, 61))
		header.writeInt32BE(count - 1, 23)
		header.writeInt32BE(count, 57)
		const stream = compression.compressNow('gzip', Buffer.concat(Array.from({ length: count }, () => record)), null)
		const refused = await produce(rebuildBatch(header, stream, 'gzip', -1, NOW), { isCompacted: true })
		expect(refused).toMatchObject({ errorCode: 87, message: '200000 records have been rejected' })
		expect(refused.recordErrors.length).toBe(10_000)
	})

	test('4.21 an append above segment.bytes answers 18', async () => {
		expect(await produce(batch(1, 500), { segmentBytes: 300 })).toMatchObject({ errorCode: 18, logStartOffset: -1 })
	})

	test('3.5 a decompression bomb answers 87 and costs no more than its bound', async () => {
		const header = batch(1).subarray(0, 61)
		for (const codec of ['gzip', 'lz4', 'zstd', 'snappy'] as const) {
			const stream = await compression.compress(codec, Buffer.alloc(80_000_000), null)
			const bytes = rebuildBatch(Buffer.from(header), stream, codec, -1, NOW)
			const outcome = await produce(bytes, { maxMessageBytes: 10_000_000 })
			expect([codec, outcome.errorCode]).toEqual([codec, 87])
		}
	})

	test('order is kept when a large compressed batch leaves the loop before a small one', async () => {
		const { log, manager } = await openLog(undefined, { maxMessageBytes: 10_000_000 })
		const large = compressed('gzip', batch(3000, 100))
		const first = log.appendAsLeader(large, CLIENT)
		const second = log.appendAsLeader(batch(1), CLIENT)
		expect(first).toBeInstanceOf(Promise)
		expect(await second).toMatchObject({ firstOffset: 3000 })
		expect(await first).toMatchObject({ firstOffset: 0, lastOffset: 2999 })
		expect(log.appendAsLeader(batch(1), CLIENT)).toMatchObject({ firstOffset: 3001 })
		await manager.close(0n)
	})
})
