/** One pass over one log: what stays, where it stands, and what the files look like. */

import { describe, expect, test } from 'vitest'
import { dumpOffsetIndex, dumpTimeIndex } from '../../../../src/engine/log/dump.js'
import { FileSlice } from '../../../../src/engine/log/read.js'
import {
	batchAttributes,
	batchBaseOffset,
	batchBaseSequence,
	batchBaseTimestamp,
	batchBytes,
	batchLastOffset,
	batchLeaderEpoch,
	batchMaxTimestamp,
	batchProducerEpoch,
	batchProducerId,
	batchRecordCount,
	DELETE_HORIZON_BIT,
	isBatchCrcRight,
	stampBatch,
	writeBatchCrc,
} from '../../../../src/protocol/records/batch.js'
import { batchCodec, compressStream } from '../../../../src/protocol/records/compression.js'
import { type LegacyMessage, messagesOf, wrapMessages, writeMessages } from '../../../../src/protocol/records/legacy.js'
import { rebuildBatch } from '../../../../src/protocol/records/rebuild.js'
import { buildBatch } from '../../../../src/protocol/records/record.js'
import { NodeCompression } from '../../../../src/runtime/node-compression.js'
import { SimDisk } from '../../../sim/disk.js'
import { CLIENT } from '../setup.js'
import {
	append,
	appendMarker,
	batchesOf,
	limits,
	type Opened,
	openCompacted,
	type Pair,
	pairs,
	pass,
	recordsIn,
	rollOver,
	textOf,
} from './setup.js'

const TRANSACTIONAL = 0x10
const withoutRoll = (lines: readonly string[]): string[] => lines.filter((line) => !line.includes(' roll-'))
const compression = new NodeCompression()

/** Batches without those that `rollOver` wrote. */
async function stored(opened: Opened): Promise<Buffer[]> {
	const all: Buffer[] = []
	for (const batch of await batchesOf(opened.log)) {
		const records = await recordsIn([batch])
		if (!records.some(({ key }) => String(key).startsWith('roll-'))) all.push(batch)
	}
	return all
}

/** Compresses a plain batch as producers do. */
async function packed(batch: Buffer, codec: 'gzip' | 'snappy' | 'lz4' | 'zstd'): Promise<Buffer> {
	const stream = await compressStream(compression, codec, batch.subarray(61), null)
	return rebuildBatch(batch, stream, codec, -1, batchMaxTimestamp(batch, 0))
}

describe('records', () => {
	test('21.3 21.4 the last of each key stays at its offset', async () => {
		const opened = await openCompacted(new SimDisk())
		const { log, manager } = opened
		for (let round = 0; round < 10; round++) {
			await append(log, pairs(['a', 'b', 'c'].map((key): Pair => [key, `${key}${round}`.padEnd(60, '.')])))
		}
		await append(log, pairs([['b', 'last']]))
		await rollOver(log)
		const before = log.sizeBytes
		const result = await pass(opened)
		expect(result?.keys).toBeGreaterThan(2)
		expect(log.sizeBytes).toBeLessThan(before / 2)
		expect(withoutRoll(await textOf(log))).toEqual([
			`27 a=${'a9'.padEnd(60, '.')}`,
			`29 c=${'c9'.padEnd(60, '.')}`,
			'30 b=last',
		])
		const end = log.logEndOffset
		await manager.close(1n)
		const again = await openCompacted(opened.world.disk)
		expect(withoutRoll(await textOf(again.log))).toHaveLength(3)
		expect(again.log.logEndOffset).toBe(end)
		await again.manager.close(1n)
		expect((opened.world.disk as SimDisk).openFiles).toBe(0)
	})

	test('21.3 a record without a key goes', async () => {
		const opened = await openCompacted(new SimDisk(), { isCompacted: false })
		await append(opened.log, pairs([['a', '1']]))
		await append(opened.log, buildBatch({ records: [{ timestamp: 1, key: null, value: Buffer.from('nobody') }] }))
		await rollOver(opened.log)
		await pass(opened)
		expect(withoutRoll(await textOf(opened.log))).toEqual(['0 a=1'])
	})

	test('21.4 a batch whose records all stay passes through byte for byte', async () => {
		const opened = await openCompacted(new SimDisk())
		const whole = await packed(
			pairs([
				['a', '1'],
				['b', '2'],
			]),
			'lz4',
		)
		await append(opened.log, Buffer.from(whole))
		await rollOver(opened.log)
		stampBatch(whole, 0, 0, 0)
		await pass(opened)
		expect((await stored(opened))[0]?.equals(whole)).toBe(true)
	})

	test.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)(
		'21.4 a batch that loses records keeps base, last delta, producer, epoch and codec (%s)',
		async (codec) => {
			const opened = await openCompacted(new SimDisk())
			const { log } = opened
			const list: Pair[] = [
				['a', 'old'],
				['b', 'kept'.repeat(20)],
				['c', 'old'],
			]
			const plain = pairs(list, { producerId: 7n, producerEpoch: 2, baseSequence: 0, time: 5000 })
			await log.appendAsLeader(codec === 'none' ? plain : await packed(plain, codec), { ...CLIENT, leaderEpoch: 4 })
			await append(
				log,
				pairs([
					['a', 'new'],
					['c', 'new'],
				]),
			)
			await rollOver(log)
			await pass(opened)
			const first = (await stored(opened))[0] as Buffer
			expect(isBatchCrcRight(first, 0, first.length)).toBe(true)
			expect(batchBytes(first, 0)).toBe(first.length)
			expect([batchBaseOffset(first, 0), batchLastOffset(first, 0), batchRecordCount(first, 0)]).toEqual([0, 2, 1])
			expect([batchProducerId(first, 0), batchProducerEpoch(first, 0), batchBaseSequence(first, 0)]).toEqual([7n, 2, 0])
			expect(batchLeaderEpoch(first, 0)).toBe(4)
			expect(batchCodec(first, 0)).toBe(['none', 'gzip', 'snappy', 'lz4', 'zstd'].indexOf(codec))
			// As Kafka builds it: counted from the first that stays.
			expect([batchBaseTimestamp(first, 0), batchMaxTimestamp(first, 0)]).toEqual([5001, 5001])
			expect((await recordsIn([first])).map(({ offset, timestamp }) => [offset, timestamp])).toEqual([[1, 5001]])
		},
	)

	test('21.4 timestamps beyond what a double holds stay exact', async () => {
		const opened = await openCompacted(new SimDisk())
		const batch = pairs(
			[
				['gone', '1'],
				['far', '2'],
				['near', '3'],
			],
			{ time: 0 },
		)
		const base = 2n ** 62n + 1n
		batch.writeBigInt64BE(base, 27)
		batch.writeBigInt64BE(base + 2n, 35)
		writeBatchCrc(batch, 0, batch.length)
		stampBatch(batch, 0, 0, 0)
		await opened.log.appendAsFollower(batch)
		await opened.log.appendAsFollower(
			(() => {
				const next = pairs([['gone', null]])
				stampBatch(next, 0, 3, 0)
				return next
			})(),
		)
		await rollOver(opened.log)
		await pass(opened)
		const [first] = await stored(opened)
		expect(first?.readBigInt64BE(27)).toBe(base + 1n)
		expect(first?.readBigInt64BE(35)).toBe(base + 2n)
		expect((await recordsIn([first as Buffer])).map(({ key }) => String(key))).toEqual(['far', 'near'])
	})

	test('21.3 a map that is full maps as far as it goes; the next pass goes on there', async () => {
		const opened = await openCompacted(new SimDisk())
		for (let i = 0; i < 40; i++) await append(opened.log, pairs([[`k${i % 20}`, String(i).padEnd(50)]]))
		await rollOver(opened.log)
		const ends: number[] = []
		for (;;) {
			const result = await pass(opened, { mapBytes: 24 * 10 })
			if (result === null) break
			expect(result.keys).toBeLessThanOrEqual(9)
			ends.push(result.endOffset)
			if (ends.length > 30) throw new Error('no end')
		}
		expect(ends.length).toBeGreaterThan(3)
		expect([...ends].sort((a, b) => a - b)).toEqual(ends)
		expect(withoutRoll(await textOf(opened.log)).map((line) => Number.parseInt(line, 10))).toEqual(
			Array.from({ length: 20 }, (_, i) => 20 + i),
		)
	})

	test('21.2 nothing above the bound changes', async () => {
		const opened = await openCompacted(new SimDisk())
		const { log } = opened
		for (let i = 0; i < 30; i++) await append(log, pairs([['k', String(i).padEnd(100)]]))
		const bases = log.segments().map((segment) => segment.baseOffset)
		log.advanceHighWatermark(17)
		const range = log.dirtyRange(opened.world.clock.wallMs())
		const bound = bases.filter((base) => base <= 17).pop()
		expect(range?.bound).toBe(bound)
		const above = await batchesOf(log, range?.bound)
		await log.clean(range as NonNullable<typeof range>, limits(opened.world))
		expect(Buffer.concat(await batchesOf(log, range?.bound)).equals(Buffer.concat(above))).toBe(true)
		expect((await textOf(log)).length).toBeLessThan(20)
	})
})

describe('tombstones', () => {
	test('21.5 KIP-534 the first pass sets the horizon, a pass after it removes them', async () => {
		const opened = await openCompacted(new SimDisk(), { deleteRetentionMs: 1000 })
		const { log, world } = opened
		await append(log, pairs([['a', '1']]))
		await append(
			log,
			pairs(
				[
					['a', null],
					['b', '2'],
				],
				{ time: 7000 },
			),
		)
		await rollOver(log)
		await pass(opened)
		const horizon = world.clock.now + 1000
		const [first] = await stored(opened)
		expect(batchAttributes(first as Buffer, 0) & DELETE_HORIZON_BIT).toBe(DELETE_HORIZON_BIT)
		expect(batchBaseTimestamp(first as Buffer, 0)).toBe(horizon)
		expect(batchMaxTimestamp(first as Buffer, 0)).toBe(7001)
		expect((await recordsIn([first as Buffer])).map(({ timestamp }) => timestamp)).toEqual([7000, 7001])
		world.clock.now += 999
		await rollOver(log)
		await pass(opened)
		expect((await stored(opened))[0]?.equals(first as Buffer)).toBe(true)
		world.clock.now += 1
		await rollOver(log)
		await pass(opened)
		const [later] = await stored(opened)
		expect(withoutRoll(await textOf(log))).toEqual(['2 b=2'])
		// The horizon stays with what is left.
		expect(batchBaseTimestamp(later as Buffer, 0)).toBe(horizon)
		expect((await recordsIn([later as Buffer]))[0]?.timestamp).toBe(7001)
	})
})

describe('producers and transactions', () => {
	const producer = (id: bigint, sequence: number, isTransactional = false) => ({
		producerId: id,
		producerEpoch: 0,
		baseSequence: sequence,
		attributes: isTransactional ? TRANSACTIONAL : 0,
	})

	test('21.4 1.10 the last batch of an active producer stays, emptied; others vanish', async () => {
		const opened = await openCompacted(new SimDisk())
		const { log } = opened
		await append(log, pairs([['a', '1']], producer(7n, 0)))
		await append(log, pairs([['a', '2']], { ...producer(7n, 1), time: 9000 }))
		await append(log, pairs([['a', '3']]))
		await rollOver(log)
		await pass(opened)
		const [empty, last] = await stored(opened)
		expect(empty).toHaveLength(61)
		expect([batchBaseOffset(empty as Buffer, 0), batchLastOffset(empty as Buffer, 0)]).toEqual([1, 1])
		expect(batchRecordCount(empty as Buffer, 0)).toBe(0)
		expect([batchBaseTimestamp(empty as Buffer, 0), batchMaxTimestamp(empty as Buffer, 0)]).toEqual([-1, 9000])
		expect(batchBaseSequence(empty as Buffer, 0)).toBe(1)
		expect(isBatchCrcRight(empty as Buffer, 0, 61)).toBe(true)
		expect(batchBaseOffset(last as Buffer, 0)).toBe(2)
	})

	test('5.4 21.4 a duplicate is still found after cleaning and an unclean start without snapshots', async () => {
		const disk = new SimDisk()
		const opened = await openCompacted(disk)
		const { log } = opened
		await append(log, pairs([['a', '1']], producer(7n, 0)))
		await append(log, pairs([['a', '2']], producer(7n, 1)))
		await append(log, pairs([['a', '3']]))
		await rollOver(log)
		await pass(opened)
		expect(await log.appendAsLeader(pairs([['a', '2']], producer(7n, 1)), CLIENT)).toMatchObject({ duplicate: true })
		await log.flush()
		for (const { name } of disk.listNow('/data/t-0'))
			if (name.endsWith('.snapshot')) disk.removeNow(`/data/t-0/${name}`)
		disk.restart('process', () => 0)
		const again = await openCompacted(disk)
		const repeated = await again.log.appendAsLeader(pairs([['a', '2']], producer(7n, 1)), CLIENT)
		expect(repeated).toMatchObject({ duplicate: true, firstOffset: 1 })
		expect(await again.log.appendAsLeader(pairs([['a', '4']], producer(7n, 5)), CLIENT)).toMatchObject({
			errorCode: 45,
		})
	})

	test('21.6 data of aborted transactions goes, their keys do not count, the marker stays for the pass', async () => {
		const opened = await openCompacted(new SimDisk(), { deleteRetentionMs: 1000 })
		const { log, world } = opened
		await append(log, pairs([['a', 'old']]))
		await append(log, pairs([['a', 'never']], producer(7n, 0, true)))
		const marker = await appendMarker(log, 'abort', 7n, 0, 5000)
		await append(log, pairs([['z', '1']], producer(7n, 1)))
		await rollOver(log)
		await pass(opened)
		let batches = await stored(opened)
		expect(batches.map((one) => batchBaseOffset(one, 0))).toEqual([0, marker, 3])
		// Its data was met on this pass: readers of the old segments may still need the entry.
		expect(abortedIn(opened)).toEqual([marker])
		await rollOver(log)
		await pass(opened)
		batches = await stored(opened)
		expect(batches.map((one) => batchBaseOffset(one, 0))).toEqual([0, marker, 3])
		expect(batchBaseTimestamp(batches[1] as Buffer, 0)).toBe(world.clock.now + 1000)
		expect(abortedIn(opened)).toEqual([])
		world.clock.now += 1000
		await rollOver(log)
		await pass(opened)
		expect((await stored(opened)).map((one) => batchBaseOffset(one, 0))).toEqual([0, 3])
	})

	test('21.6 a commit marker stays as long as data of its transaction does', async () => {
		const opened = await openCompacted(new SimDisk(), { deleteRetentionMs: 0 })
		const { log, world } = opened
		await append(log, pairs([['a', '1']], producer(7n, 0, true)))
		const marker = await appendMarker(log, 'commit', 7n, 0, 5000)
		await append(log, pairs([['z', '1']], producer(7n, 1)))
		for (let i = 0; i < 3; i++) {
			await rollOver(log)
			await pass(opened)
			world.clock.now += 10
			expect((await stored(opened)).map((one) => batchBaseOffset(one, 0))).toEqual([0, marker, 2])
		}
		await append(log, pairs([['a', '2']]))
		for (let i = 0; i < 3; i++) {
			await rollOver(log)
			await pass(opened)
			world.clock.now += 10
		}
		expect((await stored(opened)).map((one) => batchBaseOffset(one, 0))).not.toContain(marker)
	})

	test('21.6 the last marker of a producer without data stays while its state is live', async () => {
		const opened = await openCompacted(new SimDisk(), { deleteRetentionMs: 0 })
		const { log, world } = opened
		const marker = await appendMarker(log, 'abort', 7n, 3, 5000)
		for (let i = 0; i < 3; i++) {
			await rollOver(log)
			await pass(opened)
			world.clock.now += 10
		}
		expect((await batchesOf(log)).map((one) => batchBaseOffset(one, 0))).toContain(marker)
	})

	test('21.2 an open transaction holds everything behind it back', async () => {
		const opened = await openCompacted(new SimDisk())
		const { log } = opened
		await append(log, pairs([['a', '1'.repeat(300)]], producer(7n, 0, true)))
		for (let i = 0; i < 20; i++) await append(log, pairs([['a', 'x'.repeat(100)]]))
		expect(await pass(opened)).toBeNull()
		expect(await textOf(log)).toHaveLength(21)
	})

	test('21.6 redpanda#8698 aborted data right below the bound: its key does not count, its header stays', async () => {
		const opened = await openCompacted(new SimDisk())
		const { log } = opened
		await append(log, pairs([['a', 'committed'.repeat(80)]]))
		await append(log, pairs([['a', 'aborted']], producer(7n, 0, true)))
		const bound = log.logEndOffset
		log.advanceHighWatermark(bound)
		await append(log, pairs([['b', 'x'.repeat(700)]]))
		expect(log.segments().map(({ baseOffset }) => baseOffset)).toEqual([0, bound])
		await appendMarker(log, 'abort', 7n, 0, 5000)
		await append(log, pairs([['c', 'open']], producer(7n, 1, true)))
		await pass(opened)
		const [committed, aborted] = await batchesOf(log)
		expect((await recordsIn([committed as Buffer])).map(({ key }) => String(key))).toEqual(['a'])
		expect([batchBaseOffset(aborted as Buffer, 0), batchRecordCount(aborted as Buffer, 0)]).toEqual([1, 0])
	})
})

/** Marker offsets in the transaction indexes of the closed segments. */
function abortedIn({ log, world }: Opened): number[] {
	const outcome = log.read({ offset: 0, maxBytes: 1e6, minOneBatch: true, upTo: 'lastStable', withAborted: true })
	for (const part of outcome.parts) if (part instanceof FileSlice) part.release()
	expect(world.disk).toBeDefined()
	return (outcome.aborted ?? []).map((entry) => entry.lastOffset)
}

describe('messages of formats 0 and 1', () => {
	const message = (offset: number, key: string, value: string | null): LegacyMessage => ({
		offset,
		attributes: 0,
		timestamp: 5000 + offset,
		key: Buffer.from(key),
		value: value === null ? null : Buffer.from(value),
	})

	test.each([0, 1] as const)('21.3 plain and compressed ones of format %d are cleaned', async (magic) => {
		const opened = await openCompacted(new SimDisk())
		const { log } = opened
		await log.appendAsFollower(writeMessages(magic, [message(0, 'a', 'old'), message(1, 'b', 'kept')]))
		const inner = [message(2, 'a', 'old'), message(3, 'c', 'kept'), message(4, 'd', 'old')]
		await log.appendAsFollower(await wrapMessages(compression, magic, 'gzip', inner, -1))
		await log.appendAsFollower(writeMessages(magic, [message(5, 'a', 'new'), message(6, 'd', 'new')]))
		await rollOver(log)
		await pass(opened)
		const left: string[] = []
		for (const batch of await batchesOf(log)) {
			if (batch.readInt8(16) === 2) continue
			for (const { offset, key, value } of await messagesOf(compression, batch, 0, 1e6)) {
				left.push(`${offset} ${key}=${value}`)
			}
		}
		expect(left).toEqual(['1 b=kept', '3 c=kept', '5 a=new', '6 d=new'])
	})
})

describe('files', () => {
	test('21.7 neighbours are merged once they are small, indexes are exact, mtime is that of the newest', async () => {
		const disk = new SimDisk()
		const opened = await openCompacted(disk)
		const { log } = opened
		for (let i = 0; i < 60; i++) {
			disk.nowMs = 1000 + i
			await append(log, pairs([[`k${i % 8}`, String(i).padEnd(60)]], { time: 9000 + i * 10 }))
		}
		await rollOver(log)
		await pass(opened)
		const after = log.segments().length
		await rollOver(log)
		disk.nowMs = 99_000
		await pass(opened)
		expect(log.segments().length).toBeLessThan(after)
		const segments = log.segments()
		for (const { baseOffset, isActive } of segments) {
			if (isActive) continue
			const stem = `/data/t-0/${String(baseOffset).padStart(20, '0')}`
			expect(disk.statNow(`${stem}.log`)?.modifiedMs).toBeLessThan(2000)
			const batches = new Map<number, { last: number; maxTimestamp: number }>()
			const bytes = disk.readFileNow(`${stem}.log`)
			let latest = -1
			for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) {
				batches.set(at, { last: batchLastOffset(bytes, at), maxTimestamp: batchMaxTimestamp(bytes, at) })
				latest = Math.max(latest, batchMaxTimestamp(bytes, at))
			}
			for (const { offset, position } of dumpOffsetIndex(disk, `${stem}.index`, baseOffset)) {
				expect(batches.get(position)?.last).toBe(offset)
			}
			const times = dumpTimeIndex(disk, `${stem}.timeindex`, baseOffset)
			for (const { timestamp, offset } of times) {
				expect([...batches.values()]).toContainEqual({ last: offset, maxTimestamp: timestamp })
			}
			if (bytes.length > 0) expect(times[times.length - 1]?.timestamp).toBe(latest)
		}
		const first = await log.offsetForTimestamp(9000)
		expect(first?.offset).toBe(52)
		expect((await log.offsetForTimestamp(9555))?.offset).toBe(56)
	})

	test('20.5 21.7 old files are .deleted, and go after file.delete.delay.ms; snapshots of merged bases go at once', async () => {
		const disk = new SimDisk()
		const opened = await openCompacted(disk, { fileDeleteDelayMs: 500, segmentBytes: 2000 })
		const { log, world } = opened
		for (let i = 0; i < 60; i++) await append(log, pairs([['k', String(i).padEnd(100)]]))
		await pass(opened)
		await rollOver(log)
		await pass(opened)
		const names = (): string[] => disk.listNow('/data/t-0').map(({ name }) => name)
		expect(names().some((name) => name.endsWith('.deleted'))).toBe(true)
		expect(names().some((name) => /\.(cleaned|swap)$/.test(name))).toBe(false)
		const bases = new Set(log.segments().map(({ baseOffset }) => baseOffset))
		const snapshots = names().filter((name) => name.endsWith('.snapshot'))
		for (const name of snapshots) expect(bases.has(Number.parseInt(name, 10))).toBe(true)
		world.clock.advance(500)
		expect(names().filter((name) => name.endsWith('.deleted'))).toEqual([])
	})

	test('readers that hold slices of old segments read them to their end', async () => {
		const opened = await openCompacted(new SimDisk())
		const { log } = opened
		for (let i = 0; i < 20; i++) await append(log, pairs([['k', String(i).padEnd(100)]]))
		log.advanceHighWatermark(log.logEndOffset)
		const outcome = log.read({ offset: 0, maxBytes: 800, minOneBatch: true, upTo: 'logEnd', fromFile: true })
		const slice = outcome.parts[0] as FileSlice
		const before = Buffer.alloc(slice.length)
		slice.file.readNow(before, slice.position)
		await pass(opened)
		const after = Buffer.alloc(slice.length)
		slice.file.readNow(after, slice.position)
		expect(after.equals(before)).toBe(true)
		slice.release()
	})

	test('memory serves nothing of what was cleaned', async () => {
		const opened = await openCompacted(new SimDisk())
		const { log } = opened
		for (let i = 0; i < 20; i++) await append(log, pairs([['k', String(i).padEnd(100)]]))
		await pass(opened)
		const outcome = log.read({ offset: 0, maxBytes: 800, minOneBatch: true, upTo: 'logEnd' })
		expect(outcome.firstOffset).toBeGreaterThan(5)
		for (const part of outcome.parts) if (part instanceof FileSlice) part.release()
	})
})
