/**
 * kill -9 and power loss at every operation of a log that is compacted again and again: it opens, no key that was synced
 * (after a process crash: acknowledged) is lost, none appears twice, and it can be compacted on.
 */

import { describe, expect, test } from 'vitest'
import { DEFAULT_CLEANER_SETTINGS } from '../../../../src/engine/log/manager-settings.js'
import type { PartitionLog } from '../../../../src/engine/log/partition-log.js'
import { batchBytes, batchLastOffset } from '../../../../src/protocol/records/batch.js'
import { SimCrash, SimDisk } from '../../../sim/disk.js'
import { seeded, World } from '../setup.js'
import { committedRecords, folded } from './consumer.js'
import { append, appendMarker, batchesOf, COMPACTED, openCompacted, type Pair, pairs, pass } from './setup.js'

const CONFIG = { ...COMPACTED, segmentBytes: 600, deleteRetentionMs: 50 }

interface Sent {
	readonly key: string
	readonly value: string | null
	/** Null outside of a transaction; `endOffset` is its marker's, -1 while none was sent. A marker has itself no key. */
	readonly transaction: { endOffset: number; isAborted: boolean } | null
}

const MARKER: Sent = { key: '', value: null, transaction: null }

interface Life {
	/** What was sent, by offset, acknowledged or not. */
	readonly sent: Sent[]
	acknowledged: number
	synced: number
	/** Passes that made fewer segments of some. */
	merges: number
}

const NEW_LIFE = (): Life => ({ sent: [], acknowledged: 0, synced: 0, merges: 0 })

/** Lets the background cleaner run until nothing is due, or the disk is dead. */
async function cleanedUp(world: World, log: PartitionLog): Promise<void> {
	for (let turn = 0; turn < 300; turn++) {
		world.disk.statNow('/data')
		const range = log.dirtyRange(world.clock.wallMs())
		if (range !== null && !range.isDue) return
		await new Promise((resolve) => setImmediate(resolve))
	}
	throw new Error('the cleaner does not come to an end')
}

/** Two runs of a broker: appends of a few keys and tombstones, flushes, passes, a clean stop between. */
async function live(disk: SimDisk, life: Life): Promise<void> {
	for (let round = 0; round < 2; round++) {
		const world = new World(disk)
		const manager = world.manager({
			cleaner: () => ({ ...DEFAULT_CLEANER_SETTINGS, ioBufferBytes: 700, backoffMs: 10 }),
		})
		await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => CONFIG })
		const log = await manager.getOrCreate({ topic: 't', partition: 0 }, null, CONFIG)
		for (let i = 0; i < 24; i++) {
			const list: Pair[] = [0, 1].map((k) => {
				const isDelete = (i + k) % 7 === 0
				return [`k${(i * 3 + k) % 5}`, isDelete ? null : `${life.sent.length + k}`.padEnd(30, '.')]
			})
			const transaction = i % 4 === 1 ? { endOffset: -1, isAborted: i % 8 === 1 } : null
			life.sent.push(...list.map(([key, value]) => ({ key, value, transaction })))
			const producer = { producerId: BigInt(5 + (i % 2)), producerEpoch: round * 30 + i, baseSequence: 0 }
			const attributes = transaction === null ? 0 : 0x10
			await append(log, pairs(list, i % 2 === 1 ? { ...producer, attributes } : {}))
			life.acknowledged = life.sent.length
			log.advanceHighWatermark(log.logEndOffset)
			if (transaction !== null) {
				transaction.endOffset = life.sent.length
				life.sent.push(MARKER)
				const type = transaction.isAborted ? 'abort' : 'commit'
				await appendMarker(log, type, producer.producerId, producer.producerEpoch, world.clock.now)
				life.acknowledged = life.sent.length
			}
			log.advanceHighWatermark(log.logEndOffset)
			if (i % 9 === 8) {
				const end = log.logEndOffset
				await log.flush()
				life.synced = end
			}
			if (i % 8 === 7) {
				world.clock.advance(60)
				manager.wakeCleaner()
				await cleanedUp(world, log)
			}
		}
		await manager.close(1n)
		life.merges += world.lines.filter(
			({ fields }) => Number(fields['segmentsAfter']) < Number(fields['segmentsBefore']),
		).length
		life.synced = life.acknowledged
	}
}

/** What must hold of what a crash left when all below `safe` had to survive. */
async function check(disk: SimDisk, life: Life, safe: number, isExact: boolean): Promise<void> {
	const opened = await openCompacted(disk, CONFIG)
	const { log, manager } = opened
	expect(log.logEndOffset).toBeGreaterThanOrEqual(safe)
	expect(log.logEndOffset).toBeLessThanOrEqual(life.sent.length)
	log.advanceHighWatermark(log.logEndOffset)
	expectApart(disk)
	const look = async (): Promise<void> => {
		// A power loss may leave an end that no record reaches.
		const seen = await committedRecords(log, !isExact)
		const offsets = seen.map(({ offset }) => offset)
		expect([...new Set(offsets)].sort((a, b) => a - b)).toEqual(offsets)
		for (const { offset, key, value } of seen) {
			expect({ key: String(key), value: value === null ? null : String(value) }).toMatchObject({
				key: life.sent[offset]?.key,
				value: life.sent[offset]?.value,
			})
		}
		const table = folded(seen)
		const all = life.sent
			.map((one, offset) => ({ ...one, offset }))
			.filter(({ transaction, offset }) => {
				if (offset >= log.lastStableOffset) return false
				return transaction === null || (!transaction.isAborted && transaction.endOffset < log.logEndOffset)
			})
			.filter(({ key }) => key !== '')
		if (isExact) expect(table).toEqual(folded(all))
		for (const key of new Set(all.map((one) => one.key))) {
			const safeRecord = all.filter((one) => one.key === key && one.offset < safe).pop()
			if (safeRecord === undefined) continue
			const allowed = all.filter((one) => one.key === key && one.offset >= safeRecord.offset).map(({ value }) => value)
			expect(allowed).toContain(table.get(key) ?? null)
		}
	}
	await look()
	for (let i = 0; i < 8; i++) {
		const first = log.logEndOffset
		life.sent.length = first
		life.sent.push({ key: 'later', value: `${i}`.padEnd(100), transaction: null })
		expect(await append(log, pairs([['later', `${i}`.padEnd(100)]]))).toBe(first)
	}
	opened.world.clock.now += 100
	await pass(opened)
	log.advanceHighWatermark(log.logEndOffset)
	await look()
	await manager.close(2n)
	expect(disk.openFiles).toBe(0)
	const names = disk.listNow('/data/t-0').map(({ name }) => name)
	expect(names.filter((name) => /\.(cleaned|swap)$/.test(name))).toEqual([])
	const again = await openCompacted(disk, CONFIG)
	expect(again.log.logEndOffset).toBe(life.sent.length)
	await again.manager.close(3n)
}

/** No segment file holds an offset of the next one. */
function expectApart(disk: SimDisk): void {
	const names = disk.listNow('/data/t-0').filter(({ name }) => name.endsWith('.log'))
	let end = 0
	for (const { name } of names) {
		expect(Number.parseInt(name, 10)).toBeGreaterThanOrEqual(end)
		const bytes = disk.readFileNow(`/data/t-0/${name}`)
		for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) end = batchLastOffset(bytes, at) + 1
	}
}

async function crashed(at: number): Promise<{ disk: SimDisk; life: Life }> {
	const disk = new SimDisk()
	disk.crashAfterOperations = at
	const life = NEW_LIFE()
	await expect(live(disk, life)).rejects.toThrow(SimCrash)
	// What the dying process had under way ends before the next one looks.
	await new Promise((resolve) => setImmediate(resolve))
	return { disk, life }
}

async function wholeLife(): Promise<number> {
	const disk = new SimDisk()
	const life = NEW_LIFE()
	await live(disk, life)
	const { operations } = disk
	expect(life.merges).toBeGreaterThan(1)
	const { log, manager } = await openCompacted(disk, CONFIG)
	expect(log.cleanedOffset).toBeGreaterThan(20)
	expect((await batchesOf(log)).length).toBeLessThan(40)
	await manager.close(9n)
	return operations
}

describe('a crash of a log that is compacted', () => {
	test('21.7 of the process at every operation loses nothing acknowledged', async () => {
		const operations = await wholeLife()
		for (let at = 0; at < operations; at++) {
			const { disk, life } = await crashed(at)
			disk.restart('process', () => 0)
			await check(disk, life, life.acknowledged, true).catch((error: unknown) => {
				throw new Error(`crash at operation ${at} of ${operations}: ${String(error)}`, { cause: error })
			})
		}
	}, 120_000)

	test('21.7 of power at every operation loses nothing synced', async () => {
		const operations = await wholeLife()
		for (let at = 0; at < operations; at++) {
			const { disk, life } = await crashed(at)
			disk.restart('power', seeded(at))
			await check(disk, life, life.synced, false).catch((error: unknown) => {
				throw new Error(`power loss at operation ${at} of ${operations}: ${String(error)}`, { cause: error })
			})
		}
	}, 120_000)
})
