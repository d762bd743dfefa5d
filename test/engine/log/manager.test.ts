/** A broker's logs over their life: folders, dirs, roll, flush, retention, recovery, failure (semantics 7, 10, 19, 20). */

import { describe, expect, test } from 'vitest'
import { partitionKey, type TopicId } from '../../../src/base/ids.js'
import { DirLockedError } from '../../../src/engine/log/dir-lock.js'
import { readFolderName, suffixedName } from '../../../src/engine/log/folder.js'
import { DEFAULT_LOG_CONFIG, type LogConfig } from '../../../src/engine/log/log-config.js'
import type { LogManager } from '../../../src/engine/log/manager.js'
import { BATCH_HEADER_BYTES, stampBatch, writeBatchHeader } from '../../../src/protocol/records/batch.js'
import { buildBatch } from '../../../src/protocol/records/record.js'
import { until } from '../../helpers/until.js'
import { SimDisk } from '../../sim/disk.js'
import { batch, bytesOf, CLIENT, openLog, readAll, World } from './setup.js'

const T0 = partitionKey('t', 0)
const names = (disk: SimDisk, path = '/data/t-0'): string[] => disk.listNow(path).map((entry) => entry.name)
const text = (disk: SimDisk, path: string): string => disk.readFileNow(path).toString()

async function openManager(world: World, config: Partial<LogConfig> = {}, dataDirs = ['/data']): Promise<LogManager> {
	const manager = world.manager({ dataDirs })
	await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => ({ ...DEFAULT_LOG_CONFIG, ...config }) })
	return manager
}

describe('folders', () => {
	test('19.1 names are split at their last separators (KAFKA-5232), long ones are cut to fit', () => {
		expect(readFolderName('a.b-c-12')).toEqual({ kind: 'partition', key: { topic: 'a.b-c', partition: 12 } })
		const hex = '0123456789abcdef0123456789abcdef'
		expect(readFolderName(`a.b-0.${hex}-delete`).kind).toBe('deleted')
		expect(readFolderName(`a.b-0.${hex}-future`).kind).toBe('future')
		expect(readFolderName(`a.b-0.${hex}-stray`).kind).toBe('stray')
		for (const name of ['lost+found', 'a', 'a-', '-1', 'a-01', 'a-99999999999'])
			expect(readFolderName(name).kind).toBe('other')
		const cut = suffixedName(`${'x'.repeat(249)}-123`, hex, 'delete')
		expect(cut.length).toBe(255)
		expect(readFolderName(cut).kind).toBe('deleted')
	})

	test('19.2 19.11 19.14 20.13 a new partition and a clean stop leave what Kafka leaves', async () => {
		const disk = new SimDisk()
		const world = new World(disk)
		const manager = await openManager(world)
		const topicId = 'QJuY-mq7Rj2SzYMoll2AWg' as TopicId
		const log = await manager.getOrCreate({ topic: 't', partition: 0 }, topicId, DEFAULT_LOG_CONFIG)
		log.beginEpoch(0)
		await log.appendAsLeader(batch(3), CLIENT)
		log.advanceHighWatermark(3)
		await manager.close(-1n)
		const stem = '00000000000000000000'
		expect(names(disk)).toEqual([
			`${stem}.index`,
			`${stem}.log`,
			`${stem}.timeindex`,
			'00000000000000000003.snapshot',
			'leader-epoch-checkpoint',
			'partition.metadata',
		])
		expect(text(disk, '/data/t-0/partition.metadata')).toBe(`version: 0\ntopic_id: ${topicId}\n`)
		expect(text(disk, '/data/t-0/leader-epoch-checkpoint')).toBe('0\n1\n0 0\n')
		expect(text(disk, '/data/recovery-point-offset-checkpoint')).toBe('0\n1\nt 0 3\n')
		expect(text(disk, '/data/log-start-offset-checkpoint')).toBe('0\n0\n')
		expect(text(disk, '/data/replication-offset-checkpoint')).toBe('0\n1\nt 0 3\n')
		expect(text(disk, '/data/.kafka_cleanshutdown')).toBe('{"version":0,"brokerEpoch":-1}')
		expect(text(disk, '/data/meta.properties')).toContain('broker.id=1\nversion=0\ncluster.id=c\n')
		const again = await openManager(new World(disk))
		expect(again.get(T0)?.topicId).toBe(topicId)
		expect(again.checkpointedHighWatermark(T0)).toBe(3)
		expect(disk.statNow('/data/.kafka_cleanshutdown')).toBeNull()
	})

	test('20.12 new partitions go to the dir with the fewest', async () => {
		const world = new World(new SimDisk())
		const manager = await openManager(world, {}, ['/a', '/b', '/c'])
		for (let i = 0; i < 7; i++) await manager.getOrCreate({ topic: 't', partition: i }, null, DEFAULT_LOG_CONFIG)
		const counts = ['/a', '/b', '/c'].map(
			(path) => manager.all().filter((log) => log.directory.startsWith(path)).length,
		)
		expect(counts).toEqual([3, 2, 2])
		const both = await Promise.all(
			[0, 1].map(() => manager.getOrCreate({ topic: 'u', partition: 0 }, null, DEFAULT_LOG_CONFIG)),
		)
		expect(both[0]).toBe(both[1])
	})

	test('19.1 delete renames at once and removes after file.delete.delay.ms; a restart finishes it', async () => {
		const disk = new SimDisk()
		const world = new World(disk)
		const manager = await openManager(world)
		await manager.getOrCreate({ topic: 't', partition: 0 }, null, DEFAULT_LOG_CONFIG)
		await manager.getOrCreate({ topic: 'u', partition: 0 }, null, DEFAULT_LOG_CONFIG)
		manager.delete(T0)
		expect(manager.get(T0)).toBeNull()
		expect(names(disk, '/data').filter((name) => name.endsWith('-delete'))).toHaveLength(1)
		manager.delete(partitionKey('u', 0))
		world.clock.advance(60_000)
		await until('the folders are gone', () => !names(disk, '/data').some((name) => name.endsWith('-delete')))
		await manager.getOrCreate({ topic: 't', partition: 0 }, null, DEFAULT_LOG_CONFIG)
		manager.delete(T0)
		disk.restart('process', () => 0)
		const again = await openManager(new World(disk))
		expect(again.all()).toEqual([])
		expect(names(disk, '/data').filter((name) => name.endsWith('-delete'))).toHaveLength(0)
	})

	test('a topic of many partitions leaves the checkpoints in one write, and before any of them comes back', async () => {
		const disk = new SimDisk()
		const world = new World(disk)
		const manager = await openManager(world)
		const keys = Array.from({ length: 50 }, (_, partition) => partitionKey('t', partition))
		for (const partition of keys.keys()) await manager.getOrCreate({ topic: 't', partition }, null, DEFAULT_LOG_CONFIG)
		await manager.getOrCreate({ topic: 'stays', partition: 0 }, null, DEFAULT_LOG_CONFIG)
		world.clock.advance(60_000)
		const named = () => disk.readFileNow('/data/recovery-point-offset-checkpoint').toString().split('\n').slice(1, 3)
		expect(named()[0]).toBe('51')
		let writes = 0
		disk.fail = (operation, path) => {
			if (operation === 'rename' && path.includes('recovery-point')) writes++
			return null
		}
		for (const key of keys) manager.delete(key)
		world.clock.advance(100)
		expect([named(), writes]).toEqual([['1', 'stays 0 0'], 1])
		manager.delete(partitionKey('stays', 0))
		await manager.getOrCreate({ topic: 'stays', partition: 0 }, null, DEFAULT_LOG_CONFIG)
		expect([named()[0], writes]).toEqual(['0', 2])
		world.clock.advance(60_000)
		manager.delete(partitionKey('stays', 0))
		await manager.close(0n)
		expect(named()[0]).toBe('0')
	})

	test('19.15 a second broker, and a Java broker, are refused by name', async () => {
		const world = new World(new SimDisk())
		const first = world.manager()
		await first.lock()
		await expect(world.manager().lock()).rejects.toThrow(DirLockedError)
		await first.close(0n)
		world.lockedInode = world.disk.statNow('/data/.lock')?.inode ?? -2
		await expect(world.manager().lock()).rejects.toThrow('Apache Kafka broker (pid 4711)')
		world.lockedInode = -1
		await world.manager().lock()
	})

	test('20.6 leftovers of deletion and cleaning are settled, indexes without a log dropped', async () => {
		const disk = new SimDisk()
		const { manager } = await openLog(disk)
		await manager.close(0n)
		const stem = (base: number): string => `/data/t-0/${String(base).padStart(20, '0')}`
		const put = (path: string, bytes: Buffer = Buffer.alloc(0)): void => {
			const file = disk.openNow(path, 'fresh')
			file.writeNow([bytes], 0)
			file.closeNow()
		}
		const swapped = batch(2)
		stampBatch(swapped, 0, 0, 0)
		put(`${stem(0)}.log.swap`, swapped)
		put(`${stem(50)}.log.swap`, swapped)
		put(`${stem(40)}.log.cleaned`)
		put(`${stem(7)}.log.deleted`)
		put(`${stem(90)}.index`)
		const { log } = await openLog(disk)
		expect(log.logEndOffset).toBe(2)
		expect(names(disk).filter((name) => /swap|cleaned|deleted|090/.test(name))).toEqual([])
	})
})

describe('roll and flush', () => {
	test('20.1 19.2 by size, so that no segment passes segment.bytes', async () => {
		const { log } = await openLog(undefined, { segmentBytes: 500 })
		for (let i = 0; i < 20; i++) await log.appendAsLeader(batch(2), CLIENT)
		for (const segment of log.segments()) expect(segment.sizeBytes).toBeLessThanOrEqual(500)
		expect(log.segments().length).toBeGreaterThan(4)
	})

	test('20.1 by time between records, or by age when they have none', async () => {
		const { log, world } = await openLog(undefined, { segmentMs: 1000 })
		await log.appendAsLeader(batch(1, 20, { time: 5000 }), CLIENT)
		await log.appendAsLeader(batch(1, 20, { time: 6000 }), CLIENT)
		expect(log.segments().length).toBe(1)
		await log.appendAsLeader(batch(1, 20, { time: 6001 }), CLIENT)
		expect(log.segments().length).toBe(2)
		const other = await openLog(undefined, { segmentMs: 1000 }, world)
		const timeless = (): Buffer => buildBatch({ records: [{ timestamp: -1, key: null, value: null }] })
		const fresh = await other.manager.getOrCreate({ topic: 'n', partition: 0 }, null, {
			...DEFAULT_LOG_CONFIG,
			segmentMs: 1000,
		})
		await fresh.appendAsLeader(timeless(), CLIENT)
		world.clock.advance(1001)
		await fresh.appendAsLeader(timeless(), CLIENT)
		expect(fresh.segments().length).toBe(2)
	})

	test('20.1 when an index is full', async () => {
		const { log } = await openLog(undefined, { segmentIndexBytes: 48, indexIntervalBytes: 0 })
		for (let i = 0; i < 30; i++) await log.appendAsLeader(batch(1, 20, { time: 1_700_000_000_000 + i * 10 }), CLIENT)
		expect(log.segments().length).toBeGreaterThan(5)
		expect((await readAll(log)).length).toBe(30)
	})

	test('20.1 KAFKA-4451 by offset span, at the first offset of the batch', async () => {
		const { log } = await openLog()
		const at = (offset: number): Buffer => {
			const bytes = batch(2)
			stampBatch(bytes, 0, offset, 0)
			return bytes
		}
		for (const offset of [0, 5, 2 ** 31 - 2, 2 ** 31 + 5, 2 ** 33]) {
			expect(await log.appendAsFollower(at(offset))).toMatchObject({ errorCode: 0, logEndOffset: offset + 2 })
		}
		expect(log.segments().map((segment) => segment.baseOffset)).toEqual([0, 2 ** 31 + 5, 2 ** 33])
		expect(await log.appendAsFollower(at(3))).toMatchObject({ errorCode: 1 })
	})

	test('13.3 a follower keeps bytes, notes epochs, leaves out a cut batch, refuses a damaged one', async () => {
		const { log } = await openLog()
		const one = batch(2)
		stampBatch(one, 0, 0, 4)
		const sent = Buffer.concat([one, one.subarray(0, 50)])
		expect(await log.appendAsFollower(Buffer.from(sent))).toMatchObject({ errorCode: 0, lastOffset: 1 })
		expect((await bytesOf(log.read({ offset: 0, maxBytes: 1e6, minOneBatch: true, upTo: 'logEnd' }))).equals(one)).toBe(
			true,
		)
		expect(log.epochs).toEqual([{ epoch: 4, startOffset: 0 }])
		const bad = batch(1)
		stampBatch(bad, 0, 2, 4)
		bad[70] = 0x55
		expect(await log.appendAsFollower(bad)).toMatchObject({ errorCode: 2, logEndOffset: 2 })
	})

	test('1.10 a batch that the cleaner emptied keeps its offsets, over reading, a restart and a crash', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk)
		const whole = batch(2)
		stampBatch(whole, 0, 0, 3)
		const emptied = batch(3).subarray(0, BATCH_HEADER_BYTES)
		writeBatchHeader(emptied, 0, emptied.length, {
			baseOffset: 2,
			leaderEpoch: 3,
			attributes: 0,
			lastOffsetDelta: 2,
			baseTimestamp: -1,
			maxTimestamp: 1234,
			producerId: 8n,
			producerEpoch: 1,
			baseSequence: 0,
			recordCount: 0,
		})
		stampBatch(emptied, 0, 2, 3)
		const after = batch(1)
		stampBatch(after, 0, 5, 3)
		for (const bytes of [whole, Buffer.from(emptied), after]) {
			expect(await log.appendAsFollower(Buffer.from(bytes))).toMatchObject({ errorCode: 0 })
		}
		const sent = Buffer.concat([whole, emptied, after])
		const check = async (opened: typeof log): Promise<void> => {
			expect(opened.logEndOffset).toBe(6)
			const read = opened.read({ offset: 0, maxBytes: 1e6, minOneBatch: true, upTo: 'logEnd' })
			expect((await bytesOf(read)).equals(sent)).toBe(true)
			// One who asks inside it gets it, and what follows.
			const inside = opened.read({ offset: 3, maxBytes: 1e6, minOneBatch: true, upTo: 'logEnd' })
			expect((await bytesOf(inside)).equals(Buffer.concat([emptied, after]))).toBe(true)
		}
		await check(log)
		await manager.close(0n)
		const again = await openLog(disk)
		await check(again.log)
		// Not closed: the next start finds no marker of a clean stop.
		disk.restart('process', () => 0)
		await check((await openLog(disk)).log)
	})

	test('KAFKA-6975 an empty follower that begins inside a batch takes it whole and keeps its start', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk)
		await log.truncateFullyAndStartAt(4)
		const whole = batch(10)
		stampBatch(whole, 0, 0, 3)
		expect(await log.appendAsFollower(whole)).toMatchObject({ errorCode: 0, logEndOffset: 10 })
		expect(log.logStartOffset).toBe(4)
		expect((await readAll(log)).map((record) => record.offset)).toEqual([4, 5, 6, 7, 8, 9])
		await manager.close(0n)
		expect((await openLog(disk)).log).toMatchObject({ logStartOffset: 4, logEndOffset: 10 })
	})

	test('20.3 flush.messages syncs before the answer, flush.ms by the check', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk, { flushMessages: 2 })
		const first = log.appendAsLeader(batch(1), CLIENT)
		expect(first).not.toBeInstanceOf(Promise)
		expect(log.recoveryPoint).toBe(0)
		await log.appendAsLeader(batch(1), CLIENT)
		expect(log.recoveryPoint).toBe(2)
		await manager.close(0n)
	})

	test('a log that ends below its recovery point is told: records that were on disk are gone', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk)
		await log.appendAsLeader(batch(3), CLIENT)
		await log.appendAsLeader(batch(2), CLIENT)
		const cut = disk.readFileNow('/data/t-0/00000000000000000000.log').length
		await manager.close(0n)
		const lossOf = (world: World) => world.lines.filter(({ message }) => message.includes('below its recovery point'))
		const whole = await openLog(disk)
		expect(lossOf(whole.world)).toEqual([])
		await whole.manager.close(0n)
		disk.openNow('/data/t-0/00000000000000000000.log', 'write').truncateNow(Math.floor(cut / 2))
		const { world } = await openLog(disk)
		expect(lossOf(world)).toMatchObject([{ level: 'warn', fields: { log: 't-0', recoveryPoint: 5 } }])
	})

	test('20.2 a roll flushes the old segment and moves the recovery point, and writes a snapshot', async () => {
		const disk = new SimDisk()
		const { log } = await openLog(disk, { segmentBytes: 300 })
		for (let i = 0; i < 4; i++)
			await log.appendAsLeader(batch(1, 60, { producerId: 1n, producerEpoch: 0, baseSequence: i }), CLIENT)
		await log.flush()
		const base = log.segments()[1]?.baseOffset as number
		expect(log.recoveryPoint).toBe(4)
		expect(names(disk)).toContain(`${String(base).padStart(20, '0')}.snapshot`)
	})
})

describe('retention', () => {
	test('20.4 20.5 by size: oldest first, start moves, files go after the delay', async () => {
		const disk = new SimDisk()
		const { log, world } = await openLog(disk, { segmentBytes: 300, retentionBytes: 600 })
		for (let i = 0; i < 20; i++) await log.appendAsLeader(batch(1, 60), CLIENT)
		const before = names(disk).length
		expect(log.applyRetention()).toBe(0)
		log.advanceHighWatermark(log.logEndOffset)
		expect(log.applyRetention()).toBeGreaterThan(3)
		expect(log.sizeBytes).toBeGreaterThanOrEqual(600)
		expect(log.logStartOffset).toBe(log.segments()[0]?.baseOffset)
		expect(names(disk).some((name) => name.endsWith('.deleted'))).toBe(true)
		world.clock.advance(60_000)
		expect(names(disk).some((name) => name.endsWith('.deleted'))).toBe(false)
		expect(names(disk).length).toBeLessThan(before)
		const below = await log.read({ offset: 0, maxBytes: 100, minOneBatch: true, upTo: 'logEnd' })
		expect(below.errorCode).toBe(1)
	})

	test('20.4 by time: the active segment may go, a new one takes its place', async () => {
		const { log, world } = await openLog(undefined, { retentionMs: 1000 })
		await log.appendAsLeader(batch(3), CLIENT)
		log.advanceHighWatermark(3)
		expect(log.applyRetention()).toBe(0)
		world.clock.advance(2000)
		expect(log.applyRetention()).toBe(1)
		expect(log).toMatchObject({ logStartOffset: 3, logEndOffset: 3, sizeBytes: 0 })
		expect(log.applyRetention()).toBe(0)
	})

	test('20.4 never above the high watermark, and only the log-start rule for compacted topics', async () => {
		const config = { segmentBytes: 300, retentionBytes: 0, isDeleted: false, isCompacted: true }
		const { log } = await openLog(undefined, config)
		for (let i = 0; i < 12; i++) await log.appendAsLeader(batch(1, 60), CLIENT)
		log.advanceHighWatermark(7)
		expect(log.applyRetention()).toBe(0)
		log.deleteRecordsTo(9)
		expect(log.logStartOffset).toBe(7)
		expect(log.applyRetention()).toBeGreaterThan(0)
		expect(log.firstSegmentOffset).toBeLessThanOrEqual(7)
	})

	test('10.7 19.12 delete records raises the start inside a segment, kept over a clean stop', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk)
		await log.appendAsLeader(batch(10), CLIENT)
		log.advanceHighWatermark(10)
		expect(log.deleteRecordsTo(4)).toBe(true)
		expect(log.deleteRecordsTo(3)).toBe(false)
		await manager.close(0n)
		expect(text(disk, '/data/log-start-offset-checkpoint')).toBe('0\n1\nt 0 4\n')
		const again = await openLog(disk)
		expect(again.log.logStartOffset).toBe(4)
		// The whole batch that contains the start is served (KAFKA-6975).
		const read = await again.log.read({ offset: 4, maxBytes: 1, minOneBatch: true, upTo: 'logEnd' })
		expect(read.firstOffset).toBe(0)
		for (const part of read.parts) if ('release' in part) part.release()
	})

	test('20.9 a log that ends below its checkpointed start begins anew there', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk)
		await log.appendAsLeader(batch(10), CLIENT)
		log.advanceHighWatermark(10)
		log.deleteRecordsTo(8)
		await manager.close(0n)
		const file = disk.openNow('/data/t-0/00000000000000000000.log', 'write')
		file.truncateNow(0)
		file.closeNow()
		const again = await openLog(disk)
		expect(again.log).toMatchObject({ logStartOffset: 8, logEndOffset: 8 })
		expect(await again.log.appendAsLeader(batch(1), CLIENT)).toMatchObject({ firstOffset: 8 })
	})
})

describe('reads and time', () => {
	test('7.4 7.5 bounds: out of range below and above, empty between the bound and the end', async () => {
		const { log } = await openLog()
		for (let i = 0; i < 5; i++) await log.appendAsLeader(batch(1), CLIENT)
		log.advanceHighWatermark(3)
		const read = async (offset: number, upTo: 'logEnd' | 'highWatermark'): Promise<number[]> => {
			const outcome = await log.read({ offset, maxBytes: 1e6, minOneBatch: true, upTo })
			return [outcome.errorCode, outcome.bytes]
		}
		expect(await read(6, 'logEnd')).toEqual([1, 0])
		expect(await read(-1, 'logEnd')).toEqual([1, 0])
		expect(await read(4, 'highWatermark')).toEqual([0, 0])
		expect((await read(0, 'highWatermark'))[1]).toBe(batch(1).length * 3)
	})

	test('7.6 7.7 from memory and from file: whole batches within the limit, the first one whole if asked', async () => {
		const disk = new SimDisk()
		let { log, manager } = await openLog(disk)
		const size = batch(1, 100).length
		for (let i = 0; i < 6; i++) await log.appendAsLeader(batch(1, 100), CLIENT)
		for (const from of ['memory', 'file']) {
			const read = async (maxBytes: number, minOneBatch: boolean): Promise<number> =>
				(await bytesOf(log.read({ offset: 1, maxBytes, minOneBatch, upTo: 'logEnd' }))).length
			expect([from, await read(10, true)]).toEqual([from, size])
			expect([from, await read(10, false)]).toEqual([from, 0])
			const some = await read(size * 3 + 5, true)
			expect(some).toBeGreaterThanOrEqual(size * 3)
			expect(some).toBeLessThanOrEqual(size * 3 + 5)
			await manager.close(0n)
			;({ log, manager } = await openLog(disk))
		}
		expect(disk.openFiles).toBeLessThan(10)
	})

	test('10.1 kop#334 a time query rounds up; the largest time names its first record', async () => {
		const { log } = await openLog(undefined, { segmentBytes: 200, indexIntervalBytes: 1 })
		const times = [2, 4, 6, 8, 8, 3]
		for (const time of times) await log.appendAsLeader(batch(1, 20, { time }), CLIENT)
		const asked = await Promise.all([3, 5, 7, 9, 2, 0].map((time) => log.offsetForTimestamp(time)))
		expect(asked.map((one) => one?.offset ?? -1)).toEqual([1, 2, 3, -1, 0, 0])
		expect(await log.offsetOfMaxTimestamp()).toMatchObject({ offset: 3, timestamp: 8 })
	})

	test('10.5 v0: the end and segment starts, newest first; -2 the first', async () => {
		const { log } = await openLog(undefined, { segmentBytes: 200 })
		for (let i = 0; i < 5; i++) await log.appendAsLeader(batch(1, 60), CLIENT)
		const bases = log.segments().map((segment) => segment.baseOffset)
		expect(log.offsetsBefore(-1, 100, 5)).toEqual([5, ...bases.slice().reverse()])
		expect(log.offsetsBefore(-1, 2, 5)).toHaveLength(2)
		expect(log.offsetsBefore(-2, 5, 5)).toEqual([0])
	})

	test('12.10 10.6 an epoch begins durably at the log end before any append', async () => {
		const disk = new SimDisk()
		const { log } = await openLog(disk)
		await log.appendAsLeader(batch(3), CLIENT)
		log.beginEpoch(4)
		expect(text(disk, '/data/t-0/leader-epoch-checkpoint')).toBe('0\n2\n0 0\n4 3\n')
		expect(log.endOffsetForEpoch(0)).toEqual({ epoch: 0, endOffset: 3 })
		expect(log.latestEpoch).toBe(4)
	})

	test('KAFKA-10432 a lost epoch file is made anew, epoch 0 included', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk)
		await log.appendAsLeader(batch(3), CLIENT)
		await log.appendAsLeader(batch(1), { ...CLIENT, leaderEpoch: 2 })
		await manager.close(0n)
		disk.removeNow('/data/t-0/leader-epoch-checkpoint')
		const again = await openLog(disk)
		expect(again.log.epochs).toEqual([
			{ epoch: 0, startOffset: 0 },
			{ epoch: 2, startOffset: 3 },
		])
	})

	test('19.6 20.6 a missing index is rebuilt after a clean stop too', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk, { indexIntervalBytes: 50 })
		for (let i = 0; i < 9; i++) await log.appendAsLeader(batch(1, 60), CLIENT)
		await manager.close(0n)
		const path = '/data/t-0/00000000000000000000.index'
		const before = text(disk, path)
		disk.removeNow(path)
		const again = await openLog(disk, { indexIntervalBytes: 50 })
		await again.manager.close(0n)
		expect(text(disk, path)).toBe(before)
	})
})

describe('failure', () => {
	test('19.6 an index of nonsense is made anew, at load and at the first read', async () => {
		const disk = new SimDisk()
		const config = { segmentBytes: 600, indexIntervalBytes: 50 }
		const { log, manager } = await openLog(disk, config)
		for (let i = 0; i < 12; i++) await log.appendAsLeader(batch(1, 60, { first: i }), CLIENT)
		await manager.close(0n)
		for (const name of names(disk).filter((one) => one.endsWith('.index'))) {
			for (const [offset, position] of [
				[3, 77],
				[3, 99_999],
				[-5, 10],
			]) {
				const file = disk.openNow(`/data/t-0/${name}`, 'fresh')
				const bytes = Buffer.alloc(8)
				bytes.writeInt32BE(offset as number, 0)
				bytes.writeInt32BE(position as number, 4)
				file.writeNow([bytes], 0)
				file.closeNow()
				const again = await openLog(disk, config)
				expect(again.log.logEndOffset).toBe(12)
				const records = await readAll(again.log)
				expect(records.map((record) => Number.parseInt(String(record.value), 10))).toEqual(records.map((_, i) => i))
				await again.manager.close(0n)
			}
		}
	})

	test('20.8 a tail that is torn after a clean stop is cut, and nothing is written behind it', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk)
		for (let i = 0; i < 3; i++) await log.appendAsLeader(batch(1, 20, { first: i }), CLIENT)
		await manager.close(0n)
		const path = '/data/t-0/00000000000000000000.log'
		const file = disk.openNow(path, 'write')
		file.truncateNow(file.sizeNow() - 7)
		file.closeNow()
		const again = await openLog(disk)
		expect(again.log.logEndOffset).toBe(2)
		await again.log.appendAsLeader(batch(1, 20, { first: 7 }), CLIENT)
		expect((await readAll(again.log)).map((record) => Number.parseInt(String(record.value), 10))).toEqual([0, 1, 7])
	})

	test('19.7 the zero tail of a preallocated index is cut on a clean close', async () => {
		const disk = new SimDisk()
		const config = { segmentBytes: 100_000, indexIntervalBytes: 50 }
		const { log, manager } = await openLog(disk, config)
		for (let i = 0; i < 6; i++) await log.appendAsLeader(batch(1, 60, { first: i }), CLIENT)
		await manager.close(0n)
		const paths = ['index', 'timeindex'].map((ending) => `/data/t-0/00000000000000000000.${ending}`)
		const sizes = paths.map((path) => disk.statNow(path)?.size)
		for (const path of paths) {
			const file = disk.openNow(path, 'write')
			file.truncateNow(10_000 - (10_000 % 24))
			file.closeNow()
		}
		const again = await openLog(disk, config)
		expect((await readAll(again.log)).length).toBe(6)
		await again.log.appendAsLeader(batch(1, 60, { first: 6 }), CLIENT)
		await again.manager.close(0n)
		const grown = paths.map((path) => disk.statNow(path)?.size as number)
		expect(grown[0]).toBe((sizes[0] as number) + 8)
		expect(grown[1] as number).toBeLessThanOrEqual((sizes[1] as number) + 12)
		expect((await readAll((await openLog(disk, config)).log)).length).toBe(7)
	})

	test('20.10 epochs beyond the log end and before its start are dropped at load', async () => {
		const disk = new SimDisk()
		const { log, manager } = await openLog(disk)
		log.beginEpoch(0)
		for (let i = 0; i < 4; i++) await log.appendAsLeader(batch(1), CLIENT)
		await manager.close(0n)
		const path = '/data/t-0/leader-epoch-checkpoint'
		const put = (content: string): void => {
			const file = disk.openNow(path, 'fresh')
			file.writeNow([Buffer.from(content)], 0)
			file.closeNow()
		}
		put('0\n3\n0 0\n1 3\n7 100\n')
		const again = await openLog(disk)
		expect(again.log.logEndOffset).toBe(4)
		expect(text(disk, path)).toBe('0\n2\n0 0\n1 3\n')
		again.log.advanceHighWatermark(4)
		again.log.deleteRecordsTo(4)
		await again.manager.close(0n)
		put('0\n2\n0 0\n1 3\n')
		await openLog(disk)
		expect(text(disk, path)).toBe('0\n1\n1 4\n')
	})

	test('20.11 KAFKA-10778 a write error fences, takes its dir offline, and the other dir goes on', async () => {
		for (const code of ['ENOSPC', 'EIO']) {
			const disk = new SimDisk()
			const world = new World(disk)
			const failed: string[] = []
			const manager = world.manager({ dataDirs: ['/a', '/b'] }, (path) => failed.push(path))
			await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => DEFAULT_LOG_CONFIG })
			const one = await manager.getOrCreate({ topic: 't', partition: 0 }, null, DEFAULT_LOG_CONFIG)
			const two = await manager.getOrCreate({ topic: 't', partition: 1 }, null, DEFAULT_LOG_CONFIG)
			await one.appendAsLeader(batch(2), CLIENT)
			let left = 1
			disk.fail = (operation, path) => (operation === 'write' && path.startsWith('/a') && left-- > 0 ? code : null)
			expect(await one.appendAsLeader(batch(1), CLIENT)).toMatchObject({ errorCode: 56, logStartOffset: -1 })
			expect(await one.appendAsLeader(batch(1), CLIENT)).toMatchObject({ errorCode: 56 })
			expect((await one.read({ offset: 0, maxBytes: 10, minOneBatch: true, upTo: 'logEnd' })).errorCode).toBe(56)
			expect(failed).toEqual(['/a'])
			expect(await two.appendAsLeader(batch(1), CLIENT)).toMatchObject({ errorCode: 0 })
			expect(manager.dirs().map((dir) => dir.isOnline)).toEqual([false, true])
			expect(await manager.getOrCreate({ topic: 'n', partition: 0 }, null, DEFAULT_LOG_CONFIG)).toMatchObject({
				directory: '/b/n-0',
			})
			expect(await manager.close(0n)).toEqual([])
			expect(disk.statNow('/a/.kafka_cleanshutdown')).toBeNull()
			expect(disk.statNow('/b/.kafka_cleanshutdown')).not.toBeNull()
			const again = await openManager(new World(disk), {}, ['/a', '/b'])
			expect(again.get(T0)?.logEndOffset).toBe(2)
		}
	})

	test('20.11 a failed sync takes the dir offline and is not tried again', async () => {
		const disk = new SimDisk()
		const { log } = await openLog(disk)
		await log.appendAsLeader(batch(1), CLIENT)
		disk.fail = (operation) => (operation === 'sync' ? 'EIO' : null)
		await expect(log.flush()).rejects.toMatchObject({ code: 'EIO' })
		disk.fail = () => null
		expect(log.recoveryPoint).toBe(0)
		expect(await log.appendAsLeader(batch(1), CLIENT)).toMatchObject({ errorCode: 56 })
	})

	test('slow writes turn to the pool in one gather write, quick ones back; order is kept, both are told', async () => {
		const disk = new SimDisk()
		const { log, world } = await openLog(disk)
		let slowness = 50
		disk.fail = (operation) => {
			if (operation === 'write') world.clock.now += slowness
			return null
		}
		for (let i = 0; i < 3; i++) expect(log.appendAsLeader(batch(1), CLIENT)).not.toBeInstanceOf(Promise)
		const waiting = Array.from({ length: 10 }, () => log.appendAsLeader(batch(1), CLIENT))
		expect(waiting[0]).toBeInstanceOf(Promise)
		expect((await Promise.all(waiting)).map((one) => one.firstOffset)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
		slowness = 0
		for (let i = 0; i < 70; i++) await log.appendAsLeader(batch(1), CLIENT)
		expect(log.appendAsLeader(batch(1), CLIENT)).not.toBeInstanceOf(Promise)
		expect(world.lines.filter((line) => line.message.startsWith('writes are')).map((line) => line.level)).toEqual([
			'warn',
			'info',
		])
		expect((await readAll(log)).length).toBe(84)
	})
})
