/**
 * One data dir of a broker: its lock, its identity, the checkpoints that stand in it, and whether it is online. The log
 * manager owns it.
 */

import type { Logger } from '../../runtime/logger.js'
import { errorText } from '../../runtime/logger.js'
import { type Disk, DiskError } from '../../runtime/ports.js'
import {
	CheckpointError,
	CLEANER_FILE,
	HIGH_WATERMARK_FILE,
	LOG_START_FILE,
	RECOVERY_POINT_FILE,
	readOffsetCheckpoint,
	writeOffsetCheckpoint,
} from './checkpoint.js'
import type { PartitionLog } from './partition-log.js'

export const CLEAN_SHUTDOWN_FILE = '.kafka_cleanshutdown'

/** Offsets from the checkpoint files of a dir, by `topic-partition`. */
export interface DirCheckpoints {
	readonly recoveryPoints: ReadonlyMap<string, number>
	readonly logStarts: ReadonlyMap<string, number>
	readonly highWatermarks: ReadonlyMap<string, number>
	readonly cleaned: ReadonlyMap<string, number>
}

export class DataDir {
	readonly path: string
	readonly #disk: Disk
	readonly #logger: Logger
	/** The error that took it offline; null while online. */
	failure: DiskError | null = null

	constructor(disk: Disk, path: string, logger: Logger) {
		this.#disk = disk
		this.path = path
		this.#logger = logger
	}

	get isOnline(): boolean {
		return this.failure === null
	}

	/** Whether the last stop was clean. The marker is removed at once, so that a crash from now on is seen (19.15). */
	takeCleanShutdown(): boolean {
		const path = this.#disk.join(this.path, CLEAN_SHUTDOWN_FILE)
		if (this.#disk.statNow(path) === null) return false
		this.#disk.removeNow(path)
		this.#disk.syncDirectoryNow(this.path)
		return true
	}

	writeCleanShutdown(brokerEpoch: bigint): void {
		const path = this.#disk.join(this.path, CLEAN_SHUTDOWN_FILE)
		const file = this.#disk.openNow(path, 'fresh')
		try {
			file.writeNow([Buffer.from(`{"version":0,"brokerEpoch":${brokerEpoch}}`)], 0)
			file.syncNow()
		} finally {
			file.closeNow()
		}
		this.#disk.syncDirectoryNow(this.path)
	}

	readCheckpoints(): DirCheckpoints {
		return {
			recoveryPoints: this.#read(RECOVERY_POINT_FILE),
			logStarts: this.#read(LOG_START_FILE),
			highWatermarks: this.#read(HIGH_WATERMARK_FILE),
			cleaned: this.#read(CLEANER_FILE),
		}
	}

	writeRecoveryPoints(logs: Iterable<PartitionLog>): void {
		const offsets = new Map<string, number>()
		for (const log of logs) offsets.set(`${log.topic}-${log.partition}`, log.recoveryPoint)
		writeOffsetCheckpoint(this.#disk, this.path, RECOVERY_POINT_FILE, offsets)
	}

	/** Only logs whose start lies above their first segment are listed (19.12). */
	writeLogStarts(logs: Iterable<PartitionLog>): void {
		const offsets = new Map<string, number>()
		for (const log of logs) {
			if (log.logStartOffset > log.firstSegmentOffset) offsets.set(`${log.topic}-${log.partition}`, log.logStartOffset)
		}
		writeOffsetCheckpoint(this.#disk, this.path, LOG_START_FILE, offsets)
	}

	/** Logs that were compacted, and how far. */
	writeCleaned(logs: Iterable<PartitionLog>): void {
		const offsets = new Map<string, number>()
		for (const { name, cleanedOffset } of logs) if (cleanedOffset !== null) offsets.set(name, cleanedOffset)
		writeOffsetCheckpoint(this.#disk, this.path, CLEANER_FILE, offsets)
	}

	writeHighWatermarks(offsets: ReadonlyMap<string, number>): void {
		writeOffsetCheckpoint(this.#disk, this.path, HIGH_WATERMARK_FILE, offsets)
	}

	/** A damaged checkpoint is as an absent one: recovery then reads more, and loses nothing. */
	#read(name: string): ReadonlyMap<string, number> {
		try {
			return readOffsetCheckpoint(this.#disk, this.path, name)
		} catch (error) {
			if (error instanceof DiskError || !(error instanceof CheckpointError)) throw error
			this.#logger.warn('checkpoint is damaged and taken for empty', { error: errorText(error) })
			return new Map()
		}
	}
}

/** The online dir with the fewest of `placed` (20.12). Throws `DiskError` when all are offline. */
export function fewestPartitions(dirs: readonly DataDir[], placed: readonly { readonly dir: DataDir }[]): DataDir {
	let best: { readonly dir: DataDir; readonly count: number } | null = null
	for (const dir of dirs) {
		const count = placed.filter((each) => each.dir === dir).length
		if (dir.isOnline && (best === null || count < best.count)) best = { dir, count }
	}
	if (best === null) throw new DiskError('open', dirs[0]?.path ?? '', 'EIO', 'all data dirs are offline')
	return best.dir
}
