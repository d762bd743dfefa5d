/** Compacted logs on a simulated disk: opening, passes by hand, and what a reader sees. */

import { partitionKey } from '../../../../src/base/ids.js'
import type { PassLimits } from '../../../../src/engine/log/cleaner/clean-log.js'
import { INLINE_PASSES } from '../../../../src/engine/log/cleaner/pass.js'
import type { PassResult } from '../../../../src/engine/log/cleaner/pass-job.js'
import { Throttle } from '../../../../src/engine/log/cleaner/throttle.js'
import { DEFAULT_LOG_CONFIG, type LogConfig } from '../../../../src/engine/log/log-config.js'
import type { LogManager } from '../../../../src/engine/log/manager.js'
import { DEFAULT_CLEANER_SETTINGS } from '../../../../src/engine/log/manager-settings.js'
import type { PartitionLog } from '../../../../src/engine/log/partition-log.js'
import { lastOffsetOf } from '../../../../src/engine/log/segment.js'
import { batchBytes } from '../../../../src/protocol/records/batch.js'
import { recordsOf } from '../../../../src/protocol/records/compression.js'
import { buildBatch, buildMarker, type DecodedRecord, type NewBatch } from '../../../../src/protocol/records/record.js'
import { NodeCompression } from '../../../../src/runtime/node-compression.js'
import type { Disk } from '../../../../src/runtime/ports.js'
import { bytesOf, CLIENT, COORDINATOR, World } from '../setup.js'

export const COMPACTED: LogConfig = {
	...DEFAULT_LOG_CONFIG,
	isCompacted: true,
	isDeleted: false,
	segmentBytes: 1000,
	indexIntervalBytes: 100,
	minCleanableDirtyRatio: 0,
	fileDeleteDelayMs: 0,
}

export interface Opened {
	readonly world: World
	readonly manager: LogManager
	readonly log: PartitionLog
}

/** Opens `t-0` with the background cleaner off. */
export async function openCompacted(
	disk: Disk,
	config: Partial<LogConfig> = {},
	world = new World(disk),
): Promise<Opened> {
	const full = { ...COMPACTED, ...config }
	const manager = world.manager({ cleaner: () => ({ ...DEFAULT_CLEANER_SETTINGS, isEnabled: false }) })
	await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => full })
	const log = manager.get(partitionKey('t', 0)) ?? (await manager.getOrCreate({ topic: 't', partition: 0 }, null, full))
	return { world, manager, log }
}

/** A job that could not go to another thread is found by every test. */
const CLONED_PASSES = {
	...INLINE_PASSES,
	run: (...[ports, job, host]: Parameters<typeof INLINE_PASSES.run>) =>
		INLINE_PASSES.run(ports, structuredClone(job), host),
}

export function limits(world: World, some: Partial<PassLimits> = {}): PassLimits {
	return {
		mapBytes: 1_000_000,
		loadFactor: 0.9,
		pieceBytes: 300,
		runner: CLONED_PASSES,
		throttle: new Throttle(world.clock, () => Number.POSITIVE_INFINITY),
		...some,
	}
}

/** A pass over all that can be cleaned now; null when nothing is dirty. */
export async function pass({ world, log }: Opened, some: Partial<PassLimits> = {}): Promise<PassResult | null> {
	log.advanceHighWatermark(log.logEndOffset)
	const range = log.dirtyRange(world.clock.wallMs())
	if (range === null || range.firstDirtyOffset >= range.bound) return null
	return await log.clean(range, limits(world, some))
}

export type Pair = readonly [key: string, value: string | null]

/** A batch of keys and values. */
export function pairs(list: readonly Pair[], options: Partial<NewBatch> & { readonly time?: number } = {}): Buffer {
	const { time = 1_700_000_000_000, ...rest } = options
	const records = list.map(([key, value], i) => ({
		timestamp: time + i,
		key: Buffer.from(key),
		value: value === null ? null : Buffer.from(value),
	}))
	return buildBatch({ records, ...rest })
}

/** Appends as a client; returns the first offset. Throws when it is refused. */
export async function append(log: PartitionLog, bytes: Buffer): Promise<number> {
	const outcome = await log.appendAsLeader(bytes, CLIENT)
	if (outcome.errorCode !== 0) throw new Error(`append: ${outcome.errorCode} ${outcome.message}`)
	return outcome.firstOffset
}

export async function appendMarker(
	log: PartitionLog,
	type: 'commit' | 'abort',
	producerId: bigint,
	producerEpoch: number,
	timestamp: number,
): Promise<number> {
	const marker = buildMarker(type, { producerId, producerEpoch, coordinatorEpoch: 0, timestamp })
	const outcome = await log.appendAsLeader(marker, COORDINATOR)
	if (outcome.errorCode !== 0) throw new Error(`marker: ${outcome.errorCode} ${outcome.message}`)
	return outcome.firstOffset
}

/** Fills the active segment with keys that are nobody's, so that all before is in closed segments. */
export async function rollOver(log: PartitionLog): Promise<void> {
	const before = log.segments().length
	for (let i = 0; log.segments().length === before; i++) await append(log, pairs([[`roll-${i}`, 'x'.repeat(300)]]))
}

const compression = new NodeCompression()

/** Whole batches from `from` to `upTo`, as a reader walks them. */
export async function batchesOf(
	log: PartitionLog,
	from = log.logStartOffset,
	upTo: 'logEnd' | 'lastStable' = 'logEnd',
	end = upTo === 'logEnd' ? log.logEndOffset : log.lastStableOffset,
): Promise<Buffer[]> {
	const batches: Buffer[] = []
	let offset = from
	while (offset < end) {
		const bytes = await bytesOf(log.read({ offset, maxBytes: 500, minOneBatch: true, upTo, fromFile: true }))
		const before = offset
		for (let at = 0; at + 12 <= bytes.length && at + batchBytes(bytes, at) <= bytes.length; ) {
			const next = at + batchBytes(bytes, at)
			if (lastOffsetOf(bytes, at) < offset) throw new Error('batch below the offset')
			batches.push(Buffer.from(bytes.subarray(at, next)))
			offset = lastOffsetOf(bytes, at) + 1
			at = next
		}
		if (offset === before) throw new Error(`read at ${offset} gives nothing below ${end}`)
	}
	return batches
}

/** Every record, control records included. */
export async function recordsIn(batches: readonly Buffer[]): Promise<DecodedRecord[]> {
	const records: DecodedRecord[] = []
	for (const batch of batches) records.push(...(await recordsOf(compression, batch, 0, 1e8)))
	return records
}

/** Offset and text of each record: `offset key=value`. */
export async function textOf(log: PartitionLog): Promise<string[]> {
	return (await recordsIn(await batchesOf(log))).map(
		({ offset, key, value }) => `${offset} ${key}=${value === null ? 'null' : value}`,
	)
}
