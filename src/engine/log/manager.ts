/**
 * All logs of a broker: opens its data dirs, loads every partition folder, makes and deletes logs, runs the periodic work
 * (retention, flush, checkpoints, expiry of producers), and ends clean. A disk error takes one dir offline and the rest
 * goes on (20.11). The composition root makes one; the replica layer uses it.
 */

import { assert } from '../../base/assert.js'
import { ByteGate } from '../../base/byte-gate.js'
import { type PartitionKey, partitionKey, type TopicId, type TopicPartition } from '../../base/ids.js'
import { errorText, type Logger } from '../../runtime/logger.js'
import { type Clock, type Disk, DiskError, type HostClaim, type Runtime } from '../../runtime/ports.js'
import { CheckpointError } from './checkpoint.js'
import { LogCleaner } from './cleaner/log-cleaner.js'
import { INLINE_PASSES } from './cleaner/pass.js'
import { DataDir, fewestPartitions } from './data-dir.js'
import { Deletions } from './deletions.js'
import { lockDirectory } from './dir-lock.js'
import { suffixedName } from './folder.js'
import type { LogConfig } from './log-config.js'
import type { LogServices } from './log-core.js'
import { LogLoader } from './log-loader.js'
import type { LogIdentity, LogManagerEvents, LogManagerSettings, OpenOptions } from './manager-settings.js'
import { identityProblem, readMetaProperties, writeMetaProperties } from './meta-properties.js'
import { PartitionLog } from './partition-log.js'
import { loadLog } from './recovery.js'
import { TailCache } from './tail-cache.js'
import { Timers } from './timers.js'
import { WriteMode } from './write-mode.js'

/** The data dirs belong to another broker or cluster, or contradict each other (19.14). */
export class DataDirMismatchError extends Error {
	override readonly name = 'DataDirMismatchError'
}

/** So many of the largest batches may stand decompressed at once; what is smaller shares their room. */
const PLAINS_AT_ONCE = 2

interface Entry {
	readonly log: PartitionLog
	readonly dir: DataDir
}

export class LogManager {
	readonly #runtime: Runtime
	readonly #disk: Disk
	readonly #clock: Clock
	readonly #logger: Logger
	readonly #settings: LogManagerSettings
	readonly #events: LogManagerEvents
	readonly #tails: TailCache
	readonly #plains: ByteGate
	readonly #dirs: DataDir[] = []
	readonly #services = new Map<DataDir, LogServices>()
	readonly #claims: HostClaim[] = []
	readonly #logs = new Map<PartitionKey, Entry>()
	readonly #creating = new Map<PartitionKey, Promise<PartitionLog>>()
	readonly #highWatermarks = new Map<string, number>()
	readonly #timers: Timers
	readonly #cleaner: LogCleaner
	readonly #deletions: Deletions
	#isClosed = false

	constructor(runtime: Runtime, settings: LogManagerSettings, logger: Logger, events: LogManagerEvents) {
		this.#runtime = runtime
		this.#disk = runtime.disk
		this.#clock = runtime.clock
		this.#logger = logger.scoped('log')
		this.#settings = settings
		this.#events = events
		this.#tails = new TailCache(settings.tailCacheBytes)
		this.#plains = new ByteGate(PLAINS_AT_ONCE * settings.decompressedBytesMax)
		this.#timers = new Timers(this.#clock)
		this.#deletions = new Deletions(this.#disk, this.#logger, this.#timers, (dir, wasCompacted) =>
			this.#guard(dir, () => {
				this.#writeCheckpoint(dir, 'recoveryPoints')
				this.#writeCheckpoint(dir, 'logStarts')
				if (wasCompacted) this.#writeCheckpoint(dir, 'cleaned')
			}),
		)
		this.#cleaner = new LogCleaner(this.#clock, logger, {
			logs: () => [...this.#logs.values()].filter(({ dir }) => dir.isOnline).map(({ log }) => log),
			settings: settings.cleaner,
			runner: settings.cleanerPasses ?? INLINE_PASSES,
			checkpoint: (log) => this.#checkpointCleaned(log.name),
		})
		for (const path of settings.dataDirs)
			this.#dirs.push(new DataDir(this.#disk, this.#disk.absolute(path), this.#logger))
	}

	/** Ids in the data dirs, null for a dir that has none yet. To learn a stored cluster or broker id before `open`. */
	storedIdentities(): { path: string; clusterId: string | null; brokerId: number | null }[] {
		return this.#dirs.map((dir) => {
			const meta = readMetaProperties(this.#disk, dir.path)
			return { path: dir.path, clusterId: meta?.clusterId ?? null, brokerId: meta?.brokerId ?? null }
		})
	}

	/** Takes the folder locks. Before `open`; throws `DirLockedError` and lets go of those it had. */
	async lock(): Promise<void> {
		try {
			for (const dir of this.#dirs) {
				this.#disk.makeDirectoryNow(dir.path)
				this.#claims.push(await lockDirectory(this.#disk, this.#runtime.host, dir.path))
			}
		} catch (error) {
			await this.#releaseClaims()
			throw error
		}
	}

	/**
	 * Checks or writes `meta.properties`, loads all folders and starts the periodic work. Throws
	 * {@link DataDirMismatchError}; a dir that fails on the way goes offline, and only all of them failing throws.
	 */
	async open(options: OpenOptions): Promise<void> {
		for (const dir of this.#dirs) {
			await this.#onDir(dir, () => this.#openDir(dir, options))
		}
		const failure = this.#dirs.every((dir) => !dir.isOnline) ? this.#dirs[0]?.failure : null
		if (failure !== null && failure !== undefined) throw failure
		const { retentionCheckMs, flushCheckMs, recoveryPointCheckpointMs, logStartCheckpointMs } = this.#settings
		this.#every(retentionCheckMs, () => this.#retainAll())
		this.#every(flushCheckMs, () => this.#flushDue())
		this.#every(recoveryPointCheckpointMs, () => this.#checkpoint('recoveryPoints'))
		this.#every(logStartCheckpointMs, () => this.#checkpoint('logStarts'))
		this.#every(this.#settings.producerExpirationCheckMs, () => {
			for (const { log } of this.#logs.values()) log.expireProducers(this.#clock.wallMs())
		})
		this.#cleaner.start()
	}

	/** Broker settings have changed: the cleaner looks at once. */
	wakeCleaner(): void {
		this.#cleaner.wake()
	}

	/** The log of a partition, null when there is none here. */
	get(key: PartitionKey): PartitionLog | null {
		return this.#logs.get(key)?.log ?? null
	}

	all(): PartitionLog[] {
		return [...this.#logs.values()].map((entry) => entry.log)
	}

	dirs(): readonly { readonly path: string; readonly isOnline: boolean }[] {
		return this.#dirs
	}

	/** Data dir that a partition stands in, null when it has no log. */
	dirOf(key: PartitionKey): string | null {
		return this.#logs.get(key)?.dir.path ?? null
	}

	/** The log, made in the online dir with the fewest partitions when absent (20.12). Rejects with `DiskError`. */
	getOrCreate(partition: TopicPartition, topicId: TopicId | null, config: LogConfig): Promise<PartitionLog> {
		const key = partitionKey(partition.topic, partition.partition)
		const existing = this.#logs.get(key)
		if (existing !== undefined) return Promise.resolve(existing.log)
		const underWay = this.#creating.get(key)
		if (underWay !== undefined) return underWay
		const created = this.#create(key, partition, topicId, config).finally(() => this.#creating.delete(key))
		this.#creating.set(key, created)
		return created
	}

	/** Removes a log from use at once: its folder is renamed and goes after file.delete.delay.ms. No error when absent. */
	delete(key: PartitionKey): void {
		const entry = this.#logs.get(key)
		if (entry === undefined) return
		const { log, dir } = entry
		this.#logs.delete(key)
		this.#highWatermarks.delete(key)
		log.abandon()
		if (!dir.isOnline) return
		const hex = this.#runtime.random.bytes(16).toString('hex')
		const doomed = this.#disk.join(dir.path, suffixedName(key, hex, 'delete'))
		try {
			this.#disk.renameNow(log.directory, doomed)
			log.moved(doomed)
		} catch (error) {
			this.#failDir(dir, error)
			return
		}
		this.#deletions.add(dir, log.cleanedOffset !== null, doomed, log.config.fileDeleteDelayMs)
		this.#logger.info('log is deleted', { log: key, folder: doomed })
	}

	/** High watermark of a partition as its dir's checkpoint had it at start or at the last write; null when unknown. */
	checkpointedHighWatermark(key: PartitionKey): number | null {
		return this.#highWatermarks.get(key) ?? null
	}

	/** Writes `replication-offset-checkpoint` of every online dir from the logs' own high watermarks (20.13). */
	checkpointHighWatermarks(): void {
		for (const dir of this.#dirs) {
			if (!dir.isOnline) continue
			const offsets = new Map<string, number>()
			for (const [key, entry] of this.#logs) {
				if (entry.dir !== dir) continue
				offsets.set(key, entry.log.highWatermark)
				this.#highWatermarks.set(key, entry.log.highWatermark)
			}
			this.#guard(dir, () => dir.writeHighWatermarks(offsets))
		}
	}

	/** Volume sizes of a dir for DescribeLogDirs; null where the system does not say. */
	spaceOf(path: string): { totalBytes: number; usableBytes: number } | null {
		return this.#disk.spaceNow(path)
	}

	/**
	 * Clean stop: every log flushed and closed, checkpoints and the clean-shutdown marker written, locks released. Names
	 * of logs that could not be flushed are answered; the marker of their dir is then left out.
	 */
	async close(brokerEpoch: bigint): Promise<string[]> {
		if (this.#isClosed) return []
		for (const dir of this.#dirs) this.#deletions.settle(dir)
		this.#isClosed = true
		this.#timers.close()
		await this.#cleaner.stop()
		this.checkpointHighWatermarks()
		const unflushed: string[] = []
		for (const dir of this.#dirs) {
			if (dir.isOnline) unflushed.push(...(await this.#closeDir(dir, brokerEpoch)))
		}
		for (const { log } of this.#logs.values()) log.abandon()
		await this.#releaseClaims()
		return unflushed
	}

	async #openDir(dir: DataDir, options: OpenOptions): Promise<void> {
		this.#disk.makeDirectoryNow(dir.path)
		this.#checkIdentity(dir, options)
		const services: LogServices = {
			disk: this.#disk,
			clock: this.#clock,
			random: this.#runtime.random,
			logger: this.#logger,
			compression: this.#runtime.compression,
			tails: this.#tails,
			writes: new WriteMode(dir.path, this.#logger),
			producerExpirationMs: this.#settings.producerExpirationMs,
			decompressedBytesMax: this.#settings.decompressedBytesMax,
			plains: this.#plains,
			onDiskError: (error) => this.#failDir(dir, error),
			onCleanedOffset: () => this.#guard(dir, () => this.#writeCheckpoint(dir, 'cleaned')),
		}
		this.#services.set(dir, services)
		const loader = new LogLoader(services, dir, this.#logger)
		const loaded = await loader.loadAll(options.configFor)
		for (const log of loaded.logs) this.#logs.set(partitionKey(log.topic, log.partition), { log, dir })
		if (loaded.isCleanedLower) this.#guard(dir, () => this.#writeCheckpoint(dir, 'cleaned'))
		for (const [key, offset] of loaded.highWatermarks) this.#highWatermarks.set(key, offset)
		for (const doomed of loaded.deleted) this.#deletions.removeFolder(doomed)
	}

	#checkIdentity(dir: DataDir, identity: LogIdentity): void {
		const { clusterId, brokerId } = identity
		const meta = readMetaProperties(this.#disk, dir.path)
		if (meta === null) {
			writeMetaProperties(this.#disk, dir.path, { clusterId, brokerId })
			return
		}
		const problem = identityProblem(meta, identity)
		if (problem !== null) throw new DataDirMismatchError(`${dir.path} ${problem}`)
	}

	async #create(
		key: PartitionKey,
		partition: TopicPartition,
		topicId: TopicId | null,
		config: LogConfig,
	): Promise<PartitionLog> {
		const dir = fewestPartitions(this.#dirs, [...this.#logs.values()])
		const services = this.#services.get(dir)
		assert(services !== undefined, 'logs are made after open')
		const directory = this.#disk.join(dir.path, key)
		try {
			this.#deletions.settle(dir)
			this.#disk.makeDirectoryNow(directory)
			this.#disk.syncDirectoryNow(dir.path)
			const core = await loadLog(services, {
				topic: partition.topic,
				partition: partition.partition,
				directory,
				config,
				isClean: true,
				recoveryPoint: 0,
				logStartOffset: 0,
				cleanedOffset: null,
			})
			const log = new PartitionLog(core)
			if (topicId !== null) log.setTopicId(topicId)
			this.#logs.set(key, { log, dir })
			this.#logger.info('log is made', { log: key, folder: directory, topicId })
			return log
		} catch (error) {
			this.#failDir(dir, error)
			throw error
		}
	}

	async #closeDir(dir: DataDir, brokerEpoch: bigint): Promise<string[]> {
		const unflushed: string[] = []
		for (const { log, dir: own } of this.#logs.values()) {
			if (own !== dir) continue
			try {
				await log.close()
			} catch (error) {
				this.#logger.error('log could not be closed clean', { log: log.name, error: errorText(error) })
				unflushed.push(log.name)
			}
		}
		this.#guard(dir, () => {
			this.#writeCheckpoint(dir, 'recoveryPoints')
			this.#writeCheckpoint(dir, 'logStarts')
			if (unflushed.length === 0) dir.writeCleanShutdown(brokerEpoch)
		})
		return unflushed
	}

	#writeCheckpoint(dir: DataDir, kind: 'recoveryPoints' | 'logStarts' | 'cleaned'): void {
		const logs = [...this.#logs.values()].filter((entry) => entry.dir === dir).map((entry) => entry.log)
		if (kind === 'recoveryPoints') dir.writeRecoveryPoints(logs)
		else if (kind === 'logStarts') dir.writeLogStarts(logs)
		else dir.writeCleaned(logs)
	}

	#checkpointCleaned(key: string): void {
		const dir = this.#logs.get(key as PartitionKey)?.dir
		if (dir?.isOnline === true) this.#guard(dir, () => this.#writeCheckpoint(dir, 'cleaned'))
	}

	#checkpoint(kind: 'recoveryPoints' | 'logStarts'): void {
		for (const dir of this.#dirs) if (dir.isOnline) this.#guard(dir, () => this.#writeCheckpoint(dir, kind))
	}

	#retainAll(): void {
		let removed = 0
		for (const { log, dir } of this.#logs.values()) {
			if (dir.isOnline)
				this.#guard(dir, () => {
					removed += log.applyRetention()
				})
		}
		if (removed > 0) this.#checkpoint('logStarts')
	}

	#flushDue(): void {
		const now = this.#clock.wallMs()
		for (const { log, dir } of this.#logs.values()) {
			if (!dir.isOnline || log.unflushedMs(now) < log.config.flushMs) continue
			// One that fails has taken its dir offline and said so.
			log.flush().catch(() => undefined)
		}
	}

	/** Marks the dir offline once, and tells which partitions went with it. */
	#failDir(dir: DataDir, error: unknown): void {
		if (!(error instanceof DiskError)) throw error
		if (dir.failure !== null) return
		dir.failure = error
		const partitions: TopicPartition[] = []
		for (const { log, dir: own } of this.#logs.values()) {
			if (own !== dir) continue
			partitions.push({ topic: log.topic, partition: log.partition })
			log.failed(error)
		}
		this.#logger.error('data dir is offline', { path: dir.path, error: error.message, partitions: partitions.length })
		this.#events.onDirFailed(dir.path, partitions, error)
	}

	#guard(dir: DataDir, job: () => void): void {
		try {
			job()
		} catch (error) {
			this.#failDir(dir, error)
		}
	}

	async #onDir(dir: DataDir, job: () => Promise<void>): Promise<void> {
		try {
			await job()
		} catch (error) {
			if (error instanceof CheckpointError) throw new DataDirMismatchError(error.message)
			this.#failDir(dir, error)
		}
	}

	#every(ms: number, job: () => void): void {
		this.#timers.every(this.#settings.initialTaskDelayMs, ms, job)
	}

	async #releaseClaims(): Promise<void> {
		for (const claim of this.#claims.splice(0)) await claim.release()
	}
}
