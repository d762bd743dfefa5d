/** Messages of formats 0 and 1: what is written is read, wrapped and plain, and hostile bytes are refused (semantics 2). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteGate } from '../../../src/base/byte-gate.js'
import { CodecError } from '../../../src/base/compression.js'
import { crc32 } from '../../../src/base/crc32.js'
import { batchMaxTimestamp, stampBatch } from '../../../src/protocol/records/batch.js'
import { downConvert, NoDownConversion } from '../../../src/protocol/records/down-convert.js'
import { RecordFormatError } from '../../../src/protocol/records/fields.js'
import {
	type LegacyMessage,
	messagesOf,
	readMessage,
	wrapMessages,
	writeMessages,
} from '../../../src/protocol/records/legacy.js'
import { rebuildBatch } from '../../../src/protocol/records/rebuild.js'
import { buildBatch, buildMarker } from '../../../src/protocol/records/record.js'
import { NodeCompression } from '../../../src/runtime/node-compression.js'

const compression = new NodeCompression()
const MAX = 10_000_000
const PARTS = {
	compression,
	decompressedBytesMax: MAX,
	plains: new ByteGate(MAX),
	soon: (next: () => void) => void setImmediate(next),
}
const codecs = ['gzip', 'snappy', 'lz4'] as const

const bytes = fc.option(
	fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array)),
	{ nil: null },
)
const message = fc.record({ gap: fc.integer({ min: 1, max: 3 }), timestamp: fc.nat(), key: bytes, value: bytes })

/** Rising offsets with gaps, as a compacted log has. */
function messagesFrom(
	start: number,
	parts: readonly { gap: number; timestamp: number; key: Buffer | null; value: Buffer | null }[],
) {
	let offset = start
	return parts.map(({ gap, timestamp, key, value }): LegacyMessage => {
		offset += gap
		return { offset, attributes: 0, timestamp, key, value }
	})
}

const seen = (magic: 0 | 1, { offset, timestamp, key, value }: LegacyMessage) => ({
	offset,
	timestamp: magic === 0 ? -1 : timestamp,
	key,
	value,
})

async function readAll(set: Buffer): Promise<LegacyMessage[]> {
	const read: LegacyMessage[] = []
	for (let at = 0; at < set.length; at = readMessage(set, at).end)
		read.push(...(await messagesOf(compression, set, at, MAX)))
	return read
}

describe.each([0, 1] as const)('format %i', (magic) => {
	test('2.2 plain messages are read as they were written, CRCs right', async () => {
		await fc.assert(
			fc.asyncProperty(fc.nat(1e9), fc.array(message, { maxLength: 10 }), async (start, parts) => {
				const messages = messagesFrom(start, parts)
				const set = writeMessages(magic, messages)
				const read = await readAll(set)
				expect(read.map((each) => seen(magic, each))).toEqual(messages.map((each) => seen(magic, each)))
				for (let at = 0; at < set.length; ) {
					const one = readMessage(set, at)
					expect([one.magic, one.isCrcRight]).toEqual([magic, true])
					at = one.end
				}
			}),
		)
	})

	test.each(codecs)('2.3 2.4 wrapped with %s: inner offsets, outer offset, times', async (codec) => {
		await fc.assert(
			fc.asyncProperty(fc.nat(1e9), fc.array(message, { minLength: 1, maxLength: 10 }), async (start, parts) => {
				const messages = messagesFrom(start, parts)
				const set = await wrapMessages(compression, magic, codec, messages, -1)
				const outer = readMessage(set, 0)
				expect([outer.end, outer.key, outer.isCrcRight]).toEqual([set.length, null, true])
				expect(outer.offset).toBe(messages[messages.length - 1]?.offset)
				if (magic === 1) expect(outer.timestamp).toBe(Math.max(...messages.map(({ timestamp }) => timestamp)))
				expect((await readAll(set)).map((each) => seen(magic, each))).toEqual(messages.map((each) => seen(magic, each)))
				const appended = await wrapMessages(compression, magic, codec, messages, 777)
				const times = (await readAll(appended)).map(({ timestamp }) => timestamp)
				expect(new Set(times)).toEqual(new Set([magic === 0 ? -1 : 777]))
			}),
			{ numRuns: 50 },
		)
	})

	test('2.3 damage of any byte is told or harmless, never more than that', async () => {
		const messages = messagesFrom(5, [{ gap: 1, timestamp: 9, key: Buffer.from('k'), value: Buffer.from('value') }])
		const wrapped = await wrapMessages(compression, magic, 'gzip', [...messages, ...messagesFrom(6, [])], -1)
		await fc.assert(
			fc.asyncProperty(fc.nat(wrapped.length - 1), fc.nat(255), fc.nat(wrapped.length), async (at, byte, cut) => {
				const damaged = Buffer.from(wrapped)
				damaged[at] = byte
				for (const one of [damaged, wrapped.subarray(0, cut)]) {
					try {
						if (one.length > 0) await messagesOf(compression, one, 0, 10_000)
					} catch (error) {
						expect(error instanceof RecordFormatError || error instanceof CodecError).toBe(true)
					}
				}
			}),
			{ numRuns: 400 },
		)
	})
})

test('3.3 KAFKA-3160 lz4 in format 0 has the odd header checksum, in format 1 the right one; both are read', async () => {
	const messages = messagesFrom(0, [{ gap: 1, timestamp: 1, key: null, value: Buffer.alloc(500, 'x') }])
	const odd = readMessage(await wrapMessages(compression, 0, 'lz4', messages, -1), 0).value as Buffer
	const right = readMessage(await wrapMessages(compression, 1, 'lz4', messages, -1), 0).value as Buffer
	expect(() => compression.decompressNow('lz4', odd, MAX)).toThrow(CodecError)
	expect(compression.decompressNow('lz4', right, MAX).length).toBeGreaterThan(500)
})

test('2.3 nesting, formats mixed inside, zstd and a wrapper without a value are refused', async () => {
	const plain = messagesFrom(0, [{ gap: 1, timestamp: 1, key: null, value: Buffer.from('v') }])
	const wrap = (magic: 0 | 1, codec: number, value: Buffer | null) =>
		writeMessages(magic, [{ offset: 1, attributes: codec, timestamp: 1, key: null, value }])
	const gzipped = (inner: Buffer) => compression.compressNow('gzip', inner, null)
	const nested = wrap(1, 1, gzipped(await wrapMessages(compression, 1, 'gzip', plain, -1)))
	const mixed = wrap(1, 1, gzipped(writeMessages(0, plain)))
	for (const bad of [
		nested,
		mixed,
		wrap(1, 1, null),
		wrap(1, 4, Buffer.from('x')),
		wrap(0, 1, gzipped(Buffer.alloc(0))),
	]) {
		await expect(messagesOf(compression, bad, 0, MAX)).rejects.toThrow(RecordFormatError)
	}
})

test('2.3 a wrapper of format 1 with offset 0 takes the offsets inside as they are', async () => {
	const messages = messagesFrom(-1, [
		{ gap: 1, timestamp: 1, key: null, value: Buffer.from('a') },
		{ gap: 1, timestamp: 2, key: null, value: Buffer.from('b') },
	])
	const set = await wrapMessages(compression, 1, 'gzip', messages, -1)
	set.writeBigInt64BE(0n, 0)
	set.writeUInt32BE(crc32(set.subarray(16)), 12)
	expect((await readAll(set)).map(({ offset }) => offset)).toEqual([0, 1])
})

describe('down-conversion', () => {
	const records = fc.array(
		fc.record({ timestamp: fc.nat(), key: bytes, value: bytes, headers: fc.constant([{ key: 'h', value: null }]) }),
		{ minLength: 1, maxLength: 8 },
	)

	test('2.7 keeps offsets, keys, values, times and codec; headers go', async () => {
		await fc.assert(
			fc.asyncProperty(
				records,
				fc.constantFrom('none' as const, ...codecs),
				fc.constantFrom(0 as const, 1 as const),
				fc.nat(1e6),
				async (given, codec, magic, base) => {
					const plain = buildBatch({ records: given })
					const latest = batchMaxTimestamp(plain, 0)
					const batch =
						codec === 'none'
							? plain
							: rebuildBatch(plain, compression.compressNow(codec, plain.subarray(61), null), codec, -1, latest)
					stampBatch(batch, 0, base, 4)
					const converted = (await downConvert(PARTS, batch, magic, 0)) as Buffer
					const outer = readMessage(converted, 0)
					expect(outer.attributes & 7).toBe(['none', 'gzip', 'snappy', 'lz4'].indexOf(codec))
					const read = (await readAll(converted)).map((each) => seen(magic, each))
					expect(read).toEqual(
						given.map(({ timestamp, key, value }, i) =>
							seen(magic, { offset: base + i, attributes: 0, timestamp, key, value }),
						),
					)
				},
			),
			{ numRuns: 150 },
		)
	})

	test('2.7 a plain batch begins at the offset asked for, a compressed one is whole; markers and zstd', async () => {
		const plain = buildBatch({
			records: ['a', 'b', 'c'].map((value) => ({ timestamp: 5, key: null, value: Buffer.from(value) })),
		})
		const offsets = async (batch: Buffer, from: number) =>
			(await readAll((await downConvert(PARTS, batch, 1, from)) as Buffer)).map(({ offset }) => offset)
		expect(await offsets(plain, 1)).toEqual([1, 2])
		expect(await downConvert(PARTS, plain, 1, 3)).toBeNull()
		const packed = rebuildBatch(plain, compression.compressNow('gzip', plain.subarray(61), null), 'gzip', -1, 5)
		expect(await offsets(packed, 1)).toEqual([0, 1, 2])
		const marker = buildMarker('commit', { producerId: 1n, producerEpoch: 0, coordinatorEpoch: 0, timestamp: 1 })
		expect(await downConvert(PARTS, marker, 1, 0)).toBeNull()
		const zstd = rebuildBatch(plain, compression.compressNow('zstd', plain.subarray(61), null), 'zstd', -1, 5)
		await expect(downConvert(PARTS, zstd, 1, 0)).rejects.toThrow(NoDownConversion)
	})

	test('2.7 format 1 to format 0, and what is old already stays as it is', async () => {
		const messages = messagesFrom(7, [
			{ gap: 1, timestamp: 5, key: null, value: Buffer.from('a') },
			{ gap: 2, timestamp: 6, key: Buffer.from('k'), value: null },
		])
		for (const set of [
			writeMessages(1, messages.slice(0, 1)),
			await wrapMessages(compression, 1, 'snappy', messages, -1),
		]) {
			expect(await downConvert(PARTS, set, 1, 0)).toBe(set)
			const read = await readAll((await downConvert(PARTS, set, 0, 0)) as Buffer)
			expect(read.map(({ offset, timestamp }) => [offset, timestamp])).toEqual(
				(await readAll(set)).map(({ offset }) => [offset, -1]),
			)
		}
	})
})
