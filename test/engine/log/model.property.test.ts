/**
 * Random append, read, truncate, roll, compact, delete records, retention, reopen against a plain array. `KCLI_MODEL_RUNS`
 * is the number of histories (docs/storage.md has the long run and what it found).
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionKey } from '../../../src/base/ids.js'
import { DEFAULT_LOG_CONFIG, type LogConfig } from '../../../src/engine/log/log-config.js'
import type { LogManager } from '../../../src/engine/log/manager.js'
import { DEFAULT_CLEANER_SETTINGS } from '../../../src/engine/log/manager-settings.js'
import type { PartitionLog } from '../../../src/engine/log/partition-log.js'
import { batchBaseOffset, batchLastOffset, stampBatch } from '../../../src/protocol/records/batch.js'
import { buildBatch } from '../../../src/protocol/records/record.js'
import { SimDisk } from '../../sim/disk.js'
import { limits, recordsIn } from './cleaner/setup.js'
import { bytesOf, CLIENT, readAll, World } from './setup.js'

const RUNS = Number(process.env['KCLI_MODEL_RUNS'] ?? 3000)

type Step =
	| { readonly kind: 'append'; readonly count: number; readonly bytes: number; readonly epochUp: boolean }
	| { readonly kind: 'follow'; readonly counts: readonly number[]; readonly gap: number }
	| { readonly kind: 'truncate' | 'deleteTo' | 'read'; readonly at: number }
	| { readonly kind: 'reopen' | 'kill' | 'flush' | 'retain' | 'compact' }

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
		fc.record({
			kind: fc.constantFrom(
				'reopen' as const,
				'kill' as const,
				'flush' as const,
				'retain' as const,
				'compact' as const,
				'compact' as const,
			),
		}),
	),
	{ minLength: 1, maxLength: 40, size: 'max' },
)

const CONFIG = {
	...DEFAULT_LOG_CONFIG,
	segmentBytes: 1200,
	indexIntervalBytes: 200,
	retentionBytes: 4000,
	fileDeleteDelayMs: 0,
}

const KEYS = 5

/** Records whose value is their offset, a few keys in turn. */
function batch(count: number, bytes: number, first: number): Buffer {
	const records = Array.from({ length: count }, (_, i) => {
		const value = Buffer.alloc(bytes, 0x2e)
		value.write(String(first + i))
		return { timestamp: 1_700_000_000_000 + i, key: Buffer.from(`k${(first + i) % KEYS}`), value }
	})
	return buildBatch({ records })
}

interface ModelBatch {
	readonly first: number
	readonly last: number
	readonly offsets: readonly number[]
}

class Model {
	/** Oldest first; the values are the offsets. */
	batches: ModelBatch[] = []
	end = 0
	start = 0
	epoch = 0
	wasCompacted = false
	/** A kill brought back what was deleted and lay below the start of a pass: older records of its keys stay beside newer. */
	hasOldBack = false

	/** Behind the last batch. The log may end later: compaction left a gap, and what followed it was cut. */
	get storedEnd(): number {
		return (this.batches.at(-1)?.last ?? -1) + 1
	}

	add(count: number): void {
		const offsets = Array.from({ length: count }, (_, i) => this.end + i)
		this.batches.push({ first: this.end, last: this.end + count - 1, offsets })
		this.end += count
	}

	/** Offsets that a reader from `from` sees. A cut may leave a gap between a log start that fell back and the first batch. */
	offsets(from: number): number[] {
		return this.batches.flatMap(({ offsets }) => offsets).filter((offset) => offset >= from)
	}

	/** A cut inside a batch takes it whole. */
	truncate(offset: number): void {
		if (offset >= this.end) return
		const cut = this.batches.find(({ last }) => last >= offset)
		this.batches = this.batches.filter(({ last }) => last < offset)
		this.end = cut === undefined ? offset : Math.max(Math.min(offset, cut.first), Math.min(offset, this.start))
		// The log start lay inside the batch that was cut: all that is left was deleted before.
		if (cut !== undefined && this.end > cut.first) this.batches = []
	}

	/** What a pass over all below `cleanEnd` leaves for a reader from the log start. */
	compacted(cleanEnd: number): number[] {
		const all = this.offsets(this.start)
		const newest = new Map<number, number>()
		for (const offset of all) if (offset < cleanEnd) newest.set(offset % KEYS, offset)
		return all.filter((offset) => offset >= cleanEnd || newest.get(offset % KEYS) === offset)
	}
}

/** Batches as they stand in the log: compaction may leave one with fewer records, or none, and a gap at the end. */
async function storedBatches(log: PartitionLog): Promise<ModelBatch[]> {
	const stored: ModelBatch[] = []
	for (let next = log.logStartOffset; next < log.logEndOffset; next = (stored.at(-1) as ModelBatch).last + 1) {
		const bytes = await bytesOf(log.read({ offset: next, maxBytes: 1, minOneBatch: true, upTo: 'logEnd' }))
		if (bytes.length === 0) break
		const offsets = (await recordsIn([bytes])).map(({ offset }) => offset)
		stored.push({ first: batchBaseOffset(bytes, 0), last: batchLastOffset(bytes, 0), offsets })
	}
	return stored
}

interface Opened {
	readonly world: World
	readonly manager: LogManager
	readonly log: PartitionLog
}

async function open(disk: SimDisk, config: LogConfig): Promise<Opened> {
	const world = new World(disk)
	const manager = world.manager({
		tailCacheBytes: 4096,
		cleaner: () => ({ ...DEFAULT_CLEANER_SETTINGS, isEnabled: false }),
	})
	await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => config })
	const log = manager.get(partitionKey('t', 0))
	return { world, manager, log: log ?? (await manager.getOrCreate({ topic: 't', partition: 0 }, null, config)) }
}

/** A pass over a log whose first records were deleted; then they come back, and the next pass finds old and new of their keys. */
const FELL_BACK: Step[] = [
	{ kind: 'append', count: 1, bytes: 5, epochUp: false },
	{ kind: 'follow', counts: [3, 2], gap: 0 },
	{ kind: 'follow', counts: [3, 1, 1], gap: 0 },
	{ kind: 'append', count: 4, bytes: 82, epochUp: false },
	{ kind: 'follow', counts: [1, 1], gap: 0 },
	{ kind: 'deleteTo', at: 550 },
	{ kind: 'compact' },
	{ kind: 'truncate', at: 0 },
	{ kind: 'append', count: 1, bytes: 42, epochUp: false },
	{ kind: 'kill' },
	{ kind: 'append', count: 1, bytes: 56, epochUp: false },
	{ kind: 'append', count: 3, bytes: 104, epochUp: false },
	{ kind: 'compact' },
	{ kind: 'append', count: 1, bytes: 5, epochUp: false },
]

test('the log is an array, whatever is done to it', async () => {
	let passes = 0
	await fc.assert(
		fc.asyncProperty(steps, fc.boolean(), async (run, isCompacted) => {
			const config = { ...CONFIG, isCompacted, minCleanableDirtyRatio: 0 }
			const disk = new SimDisk()
			let { world, manager, log } = await open(disk, config)
			const model = new Model()
			for (const step of run) {
				if (step.kind === 'append') {
					if (step.epochUp) log.beginEpoch(++model.epoch)
					const bytes = batch(step.count, step.bytes, model.end)
					const outcome = await log.appendAsLeader(bytes, { ...CLIENT, leaderEpoch: model.epoch })
					expect(outcome).toMatchObject({ errorCode: 0, firstOffset: model.end })
					model.add(step.count)
				} else if (step.kind === 'follow') {
					const parts: Buffer[] = []
					for (const count of step.counts) {
						const bytes = batch(count, 30, model.end)
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
				} else if (step.kind === 'compact') {
					if (!isCompacted) continue
					log.advanceHighWatermark(log.logEndOffset)
					const range = log.dirtyRange(world.clock.wallMs())
					if (range === null || range.cleanableBytes === 0 || range.firstDirtyOffset >= range.bound) continue
					const { endOffset } = await log.clean(range, limits(world))
					const stored = await storedBatches(log)
					const left = stored.flatMap(({ offsets }) => offsets).filter((offset) => offset >= model.start)
					const least = model.compacted(endOffset)
					if (model.hasOldBack) {
						expect(left).toEqual(expect.arrayContaining(least))
						expect(model.offsets(model.start)).toEqual(expect.arrayContaining(left))
					} else expect(left).toEqual(least)
					model.batches = stored
					model.wasCompacted = true
					passes++
				} else if (step.kind === 'flush') await log.flush()
				else if (step.kind === 'reopen') {
					await manager.close(0n)
					expect(disk.openFiles).toBe(0)
					;({ world, manager, log } = await open(disk, config))
					// As in Kafka, the end is that of the last batch: a gap that ended the log is not remembered.
					if (model.wasCompacted && log.logEndOffset < model.end) {
						expect(log.logEndOffset).toBeGreaterThanOrEqual(model.storedEnd)
						model.end = log.logEndOffset
					}
				} else if (step.kind === 'kill') {
					// What the dying process had under way ends before the next one looks.
					await new Promise((resolve) => setImmediate(resolve))
					disk.restart('process', () => 0)
					;({ world, manager, log } = await open(disk, config))
					// The log start is a checkpoint of its own, written now and then: it may have fallen back (20.13).
					expect(log.logStartOffset).toBeLessThanOrEqual(model.start)
					// What lay below the start may have been compacted unseen.
					if (model.wasCompacted) {
						const stored = await storedBatches(log)
						const kept = stored.filter(({ last }) => last < model.start)
						model.batches = [...kept, ...model.batches.filter(({ last }) => last >= model.start)]
					}
					if (log.logStartOffset < model.start && model.wasCompacted) model.hasOldBack = true
					model.start = log.logStartOffset
					// An end that no record holds up (all was truncated) falls back with it.
					expect(log.logEndOffset).toBeGreaterThanOrEqual(model.storedEnd)
					if (log.logEndOffset < model.end) model.end = log.logEndOffset
				}
				expect(log.logEndOffset).toBe(model.end)
				expect(log.logStartOffset).toBe(model.start)
				if (step.kind !== 'read') continue
				const from = model.start + (step.at % (model.end - model.start + 1))
				const records = await readAll(log, from, 1 + step.at, model.storedEnd)
				expect(records.map((record) => record.offset)).toEqual(model.offsets(from))
				for (const record of records) expect(Number.parseInt(String(record.value), 10)).toBe(record.offset)
			}
			const records = await readAll(log, model.start, 1000, model.storedEnd)
			expect(records.map((record) => record.offset)).toEqual(model.offsets(model.start))
			for (const record of records) expect(Number.parseInt(String(record.value), 10)).toBe(record.offset)
			await manager.close(0n)
		}),
		{ numRuns: RUNS, examples: [[FELL_BACK, true]] },
	)
	expect(passes).toBeGreaterThan(RUNS / 10)
}, 3_600_000)
