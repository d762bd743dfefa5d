/** Logs on a simulated disk for the tests of this folder: runtime, manager, batches, reads. */

import type { LogConfig } from '../../../src/engine/log/log-config.js'
import { DEFAULT_LOG_CONFIG } from '../../../src/engine/log/log-config.js'
import { LogManager } from '../../../src/engine/log/manager.js'
import { DEFAULT_LOG_SETTINGS, type LogManagerSettings } from '../../../src/engine/log/manager-settings.js'
import type { PartitionLog } from '../../../src/engine/log/partition-log.js'
import { FileSlice, type ReadOutcome } from '../../../src/engine/log/read.js'
import { batchBaseOffset, batchBytes, batchLastOffset } from '../../../src/protocol/records/batch.js'
import { recordsOf } from '../../../src/protocol/records/compression.js'
import { buildBatch, type DecodedRecord, type NewBatch } from '../../../src/protocol/records/record.js'
import { Logger, type LogLine, SILENT } from '../../../src/runtime/logger.js'
import { NodeCompression } from '../../../src/runtime/node-compression.js'
import { loadNativeCrc32c } from '../../../src/runtime/node-crc.js'
import type { Clock, Disk, Host, Network, Random, Runtime, Timer } from '../../../src/runtime/ports.js'
import { SimDisk } from '../../sim/disk.js'

loadNativeCrc32c()

/** A clock that stands still until told; `soon` runs on a real turn, so that slices go on. */
export class HandClock implements Clock {
	now = 1_700_000_000_000
	#timers: { dueMs: number; callback: () => void; isOn: boolean }[] = []

	wallMs(): number {
		return this.now
	}

	monotonicMs(): number {
		return this.now
	}

	after(ms: number, callback: () => void): Timer {
		const timer = { dueMs: this.now + ms, callback, isOn: true }
		this.#timers.push(timer)
		return {
			cancel: () => {
				timer.isOn = false
			},
		}
	}

	soon(callback: () => void): void {
		setImmediate(callback)
	}

	/** Moves time and runs what is due, in order. */
	advance(ms: number): void {
		const end = this.now + ms
		for (;;) {
			const next = this.#timers.filter((one) => one.isOn && one.dueMs <= end).sort((a, b) => a.dueMs - b.dueMs)[0]
			if (next === undefined) break
			next.isOn = false
			this.now = Math.max(this.now, next.dueMs)
			next.callback()
		}
		this.now = end
	}
}

/** Small seeded generator (mulberry32). */
export function seeded(seed: number): () => number {
	let state = seed | 0
	return () => {
		state = (state + 0x6d2b79f5) | 0
		let t = Math.imul(state ^ (state >>> 15), 1 | state)
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296
	}
}

export class World {
	readonly clock = new HandClock()
	readonly disk: Disk
	readonly lines: LogLine[] = []
	readonly runtime: Runtime
	readonly logger = new Logger((line) => this.lines.push(line), 'test', 'debug')
	readonly claimed = new Set<string>()
	lockedInode = -1

	constructor(disk: Disk, seed = 1) {
		this.disk = disk
		const next = seeded(seed)
		const random: Random = {
			next,
			bytes: (count) => Buffer.from(Array.from({ length: count }, () => Math.floor(next() * 256))),
		}
		const host: Host = {
			pid: 42,
			startedMs: 1,
			bootId: 'boot',
			claim: async (directory) => {
				if (this.claimed.has(directory)) return null
				this.claimed.add(directory)
				return {
					release: async () => {
						this.claimed.delete(directory)
					},
				}
			},
			lockHolder: (inode) => (inode === this.lockedInode ? 4711 : null),
		}
		const network = null as unknown as Network
		this.runtime = { clock: this.clock, random, disk, network, host, compression: new NodeCompression() }
	}

	manager(
		settings: Partial<LogManagerSettings> = {},
		onDirFailed: (path: string) => void = () => undefined,
	): LogManager {
		const all = { ...DEFAULT_LOG_SETTINGS, initialTaskDelayMs: 0, dataDirs: ['/data'], ...settings }
		return new LogManager(this.runtime, all, this.lines.length < 0 ? SILENT : this.logger, { onDirFailed })
	}
}

export interface Opened {
	readonly world: World
	readonly manager: LogManager
	readonly log: PartitionLog
}

/** Opens (or opens again) the partition `t-0` on `disk`. */
export async function openLog(
	disk: Disk = new SimDisk(),
	config: Partial<LogConfig> = {},
	world = new World(disk),
): Promise<Opened> {
	const full = { ...DEFAULT_LOG_CONFIG, ...config }
	const manager = world.manager()
	await manager.open({ clusterId: 'cluster', brokerId: 1, configFor: () => full })
	const log = await manager.getOrCreate({ topic: 't', partition: 0 }, null, full)
	return { world, manager, log }
}

export const CLIENT = { leaderEpoch: 0, origin: 'client', produceVersion: 9 } as const
export const COORDINATOR = { leaderEpoch: 0, origin: 'coordinator', produceVersion: 9 } as const

/** A batch of `count` records of about `bytes` bytes each, numbered values from `first`. */
export function batch(
	count: number,
	bytes = 20,
	options: Partial<NewBatch> & { time?: number; first?: number } = {},
): Buffer {
	const { time = 1_700_000_000_000, first = 0, ...rest } = options
	const records = []
	for (let i = 0; i < count; i++) {
		const value = Buffer.alloc(bytes, 0x2e)
		value.write(String(first + i))
		records.push({ timestamp: time + i, key: Buffer.from(`k${first + i}`), value })
	}
	return buildBatch({ records, ...rest })
}

/** All bytes of a read; file slices are read and released. */
export async function bytesOf(outcome: ReadOutcome | Promise<ReadOutcome>): Promise<Buffer> {
	const parts: Buffer[] = []
	for (const part of (await outcome).parts) {
		if (!(part instanceof FileSlice)) {
			parts.push(part)
			continue
		}
		const bytes = Buffer.alloc(part.length)
		await part.file.read(bytes, part.position)
		part.release()
		parts.push(bytes)
	}
	return Buffer.concat(parts)
}

/** Every record from `from` to `end`, by reads of `maxBytes`, as a client would walk. */
export async function readAll(
	log: PartitionLog,
	from = log.logStartOffset,
	maxBytes = 1000,
	end = log.logEndOffset,
): Promise<DecodedRecord[]> {
	const records: DecodedRecord[] = []
	const compression = new NodeCompression()
	let offset = from
	while (offset < end) {
		const bytes = await bytesOf(log.read({ offset, maxBytes, minOneBatch: true, upTo: 'logEnd' }))
		const before = offset
		for (let at = 0; at + 12 <= bytes.length; at += batchBytes(bytes, at)) {
			if (at + batchBytes(bytes, at) > bytes.length) break
			if (batchBaseOffset(bytes, at) > offset + 1_000_000) throw new Error('offset jumps')
			for (const record of await recordsOf(compression, bytes, at, 1e8))
				if (record.offset >= offset) records.push(record)
			offset = batchLastOffset(bytes, at) + 1
		}
		if (offset === before) throw new Error(`read at ${offset} gives nothing below ${end}`)
	}
	return records
}
