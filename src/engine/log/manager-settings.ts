/** What the log manager is told at its making and opening: broker settings, identity, and who hears of a failed dir. */

import type { TopicPartition } from '../../base/ids.js'
import type { DiskError } from '../../runtime/ports.js'
import type { CleanerSettings } from './cleaner/log-cleaner.js'
import type { PassRunner } from './cleaner/pass-job.js'
import type { LogConfig } from './log-config.js'

/** Broker settings that the log layer reads, in ms and bytes. Infinity: never. */
export interface LogManagerSettings {
	readonly dataDirs: readonly string[]
	readonly retentionCheckMs: number
	readonly flushCheckMs: number
	readonly recoveryPointCheckpointMs: number
	readonly logStartCheckpointMs: number
	readonly initialTaskDelayMs: number
	readonly producerExpirationMs: number
	readonly producerExpirationCheckMs: number
	readonly tailCacheBytes: number
	readonly decompressedBytesMax: number
	/** Asked again at each use: all of it may change at run time. */
	readonly cleaner: () => CleanerSettings
	/** Where compaction works; without it on the loop. Closed by the manager. */
	readonly cleanerPasses?: PassRunner
}

/** Apache Kafka 3.9's defaults. */
export const DEFAULT_CLEANER_SETTINGS: CleanerSettings = {
	isEnabled: true,
	threads: 1,
	dedupeBufferBytes: 128 * 1024 * 1024,
	ioBufferBytes: 512 * 1024,
	loadFactor: 0.9,
	bytesPerSecondMax: Number.POSITIVE_INFINITY,
	backoffMs: 15_000,
}

/** Apache Kafka 3.9's defaults. */
export const DEFAULT_LOG_SETTINGS: Omit<LogManagerSettings, 'dataDirs'> = {
	retentionCheckMs: 300_000,
	flushCheckMs: Number.POSITIVE_INFINITY,
	recoveryPointCheckpointMs: 60_000,
	logStartCheckpointMs: 60_000,
	initialTaskDelayMs: 30_000,
	producerExpirationMs: 86_400_000,
	producerExpirationCheckMs: 600_000,
	tailCacheBytes: 32 * 1024 * 1024,
	decompressedBytesMax: 64 * 1024 * 1024,
	cleaner: () => DEFAULT_CLEANER_SETTINGS,
}

/** What the manager tells its owner. */
export interface LogManagerEvents {
	/** A dir went offline; `partitions` stood on it and answer 56 from now on. */
	readonly onDirFailed: (path: string, partitions: readonly TopicPartition[], error: DiskError) => void
}

/** Who the data must belong to. */
export interface LogIdentity {
	readonly clusterId: string
	readonly brokerId: number
}

export interface OpenOptions extends LogIdentity {
	/** Configuration of a topic whose folder is found; called once for each folder. */
	readonly configFor: (topic: string) => LogConfig
}
