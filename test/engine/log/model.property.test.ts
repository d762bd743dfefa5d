/** Random append, read, truncate, roll, delete records, retention, reopen against a plain array. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionKey } from '../../../src/base/ids.js'
import { DEFAULT_LOG_CONFIG } from '../../../src/engine/log/log-config.js'
import type { LogManager } from '../../../src/engine/log/manager.js'
import type { PartitionLog } from '../../../src/engine/log/partition-log.js'
import { stampBatch } from '../../../src/protocol/records/batch.js'
import { SimDisk } from '../../sim/disk.js'
import { batch, CLIENT, readAll, World } from './setup.js'

type Step =
	| { readonly kind: 'append'; readonly count: number; readonly bytes: number; readonly epochUp: boolean }
	| { readonly kind: 'follow'; readonly counts: readonly number[]; readonly gap: number }
	| { readonly kind: 'truncate' | 'deleteTo' | 'read'; readonly at: number }
	| { readonly kind: 'reopen' | 'kill' | 'restartAt' | 'flush' | 'retain' }

const steps = fc.array(
	fc.oneof<fc.Arbitrary<Step>[]>(
		fc.record({
			kind: fc.constant('append' as const),
			count: fc.integer({ min: 1, max: 6 }),
			bytes: fc.integer({ min: 5, max: 150 }),
			epochUp: fc.boolean(),
		}),
		fc.record({
			kind: fc.constant('follow' as const),
			counts: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
			gap: fc.constant(0),
		}),
		fc.record({ kind: fc.constantFrom('truncate' as const, 'deleteTo' as const, 'read' as const), at: fc.nat(1000) }),
		fc.record({ kind: fc.constantFrom('reopen' as const, 'kill' as const, 'flush' as const, 'retain' as const) }),
	),
	{ minLength: 1, maxLength: 40 },
)

const CONFIG = {
	...DEFAULT_LOG_CONFIG,
	segmentBytes: 1500,
	indexIntervalBytes: 200,
	retentionBytes: 6000,
	fileDeleteDelayMs: 0,
}

class Model {
	/** Batches as [first, last], oldest first; the values are the offsets. */
	batches: [number, number][] = []
	end = 0
	start = 0
	epoch = 0

	add(count: number): void {
		this.batches.push([this.end, this.end + count - 1])
		this.end += count
	}

	/** Offsets that a reader from `from` sees. A cut may leave a gap between a log start that fell back and the first batch. */
	offsets(from: number): number[] {
		const all = this.batches.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i))
		return all.filter((offset) => offset >= from)
	}

	/** A cut inside a batch takes it whole. */
	truncate(offset: number): void {
		if (offset >= this.end) return
		const cut = this.batches.find(([, last]) => last >= offset)
		this.batches = this.batches.filter(([, last]) => last < offset)
		this.end = cut === undefined ? offset : Math.max(Math.min(offset, cut[0]), Math.min(offset, this.start))
	}
}

async function open(disk: SimDisk): Promise<{ manager: LogManager; log: PartitionLog }> {
	const manager = new World(disk).manager({ tailCacheBytes: 4096 })
	await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => CONFIG })
	return {
		manager,
		log: manager.get(partitionKey('t', 0)) ?? (await manager.getOrCreate({ topic: 't', partition: 0 }, null, CONFIG)),
	}
}

test('the log is an array, whatever is done to it', async () => {
	await fc.assert(
		fc.asyncProperty(steps, async (run) => {
			const disk = new SimDisk()
			let { manager, log } = await open(disk)
			const model = new Model()
			for (const step of run) {
				if (step.kind === 'append') {
					if (step.epochUp) log.beginEpoch(++model.epoch)
					const bytes = batch(step.count, step.bytes, { first: model.end })
					const outcome = await log.appendAsLeader(bytes, { ...CLIENT, leaderEpoch: model.epoch })
					expect(outcome).toMatchObject({ errorCode: 0, firstOffset: model.end })
					model.add(step.count)
				} else if (step.kind === 'follow') {
					const parts: Buffer[] = []
					for (const count of step.counts) {
						const bytes = batch(count, 30, { first: model.end })
						stampBatch(bytes, 0, model.end, model.epoch)
						parts.push(bytes)
						model.add(count)
					}
					const outcome = await log.appendAsFollower(Buffer.concat([...parts, Buffer.alloc(9)]))
					expect(outcome).toMatchObject({ errorCode: 0, logEndOffset: model.end })
				} else if (step.kind === 'truncate') {
					const at = model.end === 0 ? 0 : Math.max(model.start, step.at % (model.end + 1))
					await log.truncateTo(at)
					model.truncate(at)
				} else if (step.kind === 'deleteTo') {
					const at = step.at % (model.end + 1)
					log.advanceHighWatermark(log.logEndOffset)
					log.deleteRecordsTo(at)
					model.start = Math.max(model.start, at)
				} else if (step.kind === 'retain') {
					log.advanceHighWatermark(log.logEndOffset)
					log.applyRetention()
					expect(log.logStartOffset).toBeGreaterThanOrEqual(model.start)
					model.start = log.logStartOffset
				} else if (step.kind === 'flush') await log.flush()
				else if (step.kind === 'reopen') {
					await manager.close(0n)
					expect(disk.openFiles).toBe(0)
					;({ manager, log } = await open(disk))
				} else if (step.kind === 'kill') {
					// What the dying process had under way ends before the next one looks.
					await new Promise((resolve) => setImmediate(resolve))
					disk.restart('process', () => 0)
					;({ manager, log } = await open(disk))
					// The log start is a checkpoint of its own, written now and then: it may have fallen back (20.13).
					expect(log.logStartOffset).toBeLessThanOrEqual(model.start)
					model.start = log.logStartOffset
					// An end that no record holds up (all was truncated) falls back with it.
					expect(log.logEndOffset).toBeGreaterThanOrEqual((model.batches[model.batches.length - 1]?.[1] ?? -1) + 1)
					if (log.logEndOffset < model.end) model.end = log.logEndOffset
				}
				expect(log.logEndOffset).toBe(model.end)
				expect(log.logStartOffset).toBe(model.start)
				if (step.kind !== 'read') continue
				const from = model.start + (step.at % (model.end - model.start + 1))
				const records = await readAll(log, from, 1 + step.at)
				expect(records.map((record) => record.offset)).toEqual(model.offsets(from))
				for (const record of records) expect(Number.parseInt(String(record.value), 10)).toBe(record.offset)
			}
			const records = await readAll(log)
			expect(records.map((record) => record.offset)).toEqual(model.offsets(model.start))
			for (const record of records) expect(Number.parseInt(String(record.value), 10)).toBe(record.offset)
			await manager.close(0n)
		}),
		{ numRuns: 300 },
	)
}, 120_000)
