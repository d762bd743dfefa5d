/**
 * kill -9 and power loss at every operation of a log's life, and at every byte of its writes: the log opens, nothing
 * acknowledged is lost after a process crash, nothing synced after a power loss, order and indexes are right.
 */

import { describe, expect, test } from 'vitest'
import { partitionKey } from '../../../src/base/ids.js'
import { DEFAULT_LOG_CONFIG } from '../../../src/engine/log/log-config.js'
import type { PartitionLog } from '../../../src/engine/log/partition-log.js'
import { SimCrash, SimDisk } from '../../sim/disk.js'
import { batch, CLIENT, readAll, seeded, World } from './setup.js'

const CONFIG = {
	...DEFAULT_LOG_CONFIG,
	segmentBytes: 900,
	indexIntervalBytes: 100,
	retentionBytes: 3000,
	fileDeleteDelayMs: 0,
}

interface Life {
	/** Value of each offset that was sent, acknowledged or not. */
	readonly sent: string[]
	/** Offsets below it were acknowledged, and were synced. */
	acknowledged: number
	synced: number
	start: number
}

/** One life: open, append (idempotent and not), flush, delete records, retention, close, open again, append. */
async function live(disk: SimDisk, life: Life): Promise<void> {
	let sequence = 0
	for (let round = 0; round < 2; round++) {
		const world = new World(disk)
		const manager = world.manager()
		await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => CONFIG })
		const log = await manager.getOrCreate({ topic: 't', partition: 0 }, null, CONFIG)
		expect(log.logEndOffset).toBe(life.acknowledged)
		if (round > 0) log.beginEpoch(round)
		for (let i = 0; i < 12; i++) {
			const count = 1 + (i % 3)
			const first = life.sent.length
			for (let k = 0; k < count; k++) life.sent.push(String(first + k))
			const producer = i % 2 === 0 ? { producerId: 5n, producerEpoch: 0, baseSequence: sequence } : {}
			if (i % 2 === 0) sequence += count
			const outcome = await log.appendAsLeader(batch(count, 40, { first, ...producer }), {
				...CLIENT,
				leaderEpoch: round,
			})
			expect(outcome).toMatchObject({ errorCode: 0, firstOffset: first })
			life.acknowledged = first + count
			log.advanceHighWatermark(log.logEndOffset)
			if (i % 5 === 4) {
				const end = log.logEndOffset
				await log.flush()
				life.synced = end
			}
			if (i === 7) {
				life.start = Math.max(life.start, log.logEndOffset - 9)
				log.deleteRecordsTo(log.logEndOffset - 9)
				life.start = Math.max(life.start, log.logStartOffset)
				log.applyRetention()
				life.start = Math.max(life.start, log.logStartOffset)
			}
		}
		manager.checkpointHighWatermarks()
		await manager.close(1n)
		life.synced = life.acknowledged
	}
}

async function reopen(disk: SimDisk): Promise<{ log: PartitionLog | null; close: () => Promise<void> }> {
	const manager = new World(disk).manager()
	await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => CONFIG })
	const log = manager.get(partitionKey('t', 0))
	return {
		log,
		close: async () => {
			await manager.close(2n)
		},
	}
}

/** What must hold of the log that a crash left, when all below `safe` had to survive. */
async function check(disk: SimDisk, life: Life, safe: number): Promise<void> {
	const { log, close } = await reopen(disk)
	if (log === null) {
		expect(safe).toBe(0)
		return
	}
	expect(log.logEndOffset).toBeGreaterThanOrEqual(safe)
	expect(log.logEndOffset).toBeLessThanOrEqual(life.sent.length)
	expect(log.logStartOffset).toBeLessThanOrEqual(Math.max(life.start, 0) + 9)
	const records = await readAll(log)
	const offsets = records.map((record) => record.offset)
	expect(offsets).toEqual(
		Array.from({ length: log.logEndOffset - log.logStartOffset }, (_, i) => log.logStartOffset + i),
	)
	for (const record of records) expect(Number.parseInt(String(record.value), 10)).toBe(record.offset)
	for (let offset = log.logStartOffset; offset < log.logEndOffset; offset++) {
		const part = await log.read({ offset, maxBytes: 1, minOneBatch: true, upTo: 'logEnd' })
		expect(part.errorCode).toBe(0)
		expect(part.firstOffset).toBeLessThanOrEqual(offset)
		for (const one of part.parts) if ('release' in one) one.release()
	}
	const found = await log.offsetForTimestamp(1_700_000_000_000)
	if (log.logEndOffset > log.logStartOffset) expect(found?.offset).toBe(log.logStartOffset)
	const next = log.logEndOffset
	expect(await log.appendAsLeader(batch(1, 40, { first: next }), { ...CLIENT, leaderEpoch: 9 })).toMatchObject({
		firstOffset: next,
	})
	await close()
	const again = await reopen(disk)
	expect(again.log?.logEndOffset).toBe(next + 1)
	await again.close()
}

async function crashed(limit: (disk: SimDisk) => void): Promise<{ disk: SimDisk; life: Life }> {
	const disk = new SimDisk()
	limit(disk)
	const life: Life = { sent: [], acknowledged: 0, synced: 0, start: 0 }
	await expect(live(disk, life)).rejects.toThrow(SimCrash)
	return { disk, life }
}

async function wholeLife(): Promise<SimDisk> {
	const disk = new SimDisk()
	await live(disk, { sent: [], acknowledged: 0, synced: 0, start: 0 })
	return disk
}

describe('a crash', () => {
	test('of the process at every operation loses nothing acknowledged (20.7, promise 8)', async () => {
		const { operations } = await wholeLife()
		for (let at = 0; at < operations; at++) {
			const { disk, life } = await crashed((one) => {
				one.crashAfterOperations = at
			})
			disk.restart('process', () => 0)
			await check(disk, life, life.acknowledged).catch((error: unknown) => {
				throw new Error(`crash at operation ${at}: ${String(error)}`, { cause: error })
			})
		}
	}, 120_000)

	test('of the process at every third byte written loses nothing acknowledged (promise 8)', async () => {
		const { bytesWritten } = await wholeLife()
		for (let at = 0; at < bytesWritten; at += 3) {
			const { disk, life } = await crashed((one) => {
				one.crashAfterBytes = at
			})
			disk.restart('process', () => 0)
			await check(disk, life, life.acknowledged).catch((error: unknown) => {
				throw new Error(`crash at byte ${at}: ${String(error)}`, { cause: error })
			})
		}
	}, 120_000)

	test('of power at every operation loses nothing synced (20.3, 20.7)', async () => {
		const { operations } = await wholeLife()
		for (let at = 0; at < operations; at++) {
			const { disk, life } = await crashed((one) => {
				one.crashAfterOperations = at
			})
			disk.restart('power', seeded(at))
			await check(disk, life, life.synced).catch((error: unknown) => {
				throw new Error(`power loss at operation ${at}: ${String(error)}`, { cause: error })
			})
		}
	}, 120_000)
})
