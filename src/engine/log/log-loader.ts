/**
 * Loads all partition folders of one data dir at start (20.6–20.8), a few at a time, in slices. Folders that are no
 * partition's are left alone and told; those marked for deletion are handed back.
 */

import { errorText, type Logger } from '../../runtime/logger.js'
import { DiskError } from '../../runtime/ports.js'
import { CheckpointError } from './checkpoint.js'
import type { DataDir, DirCheckpoints } from './data-dir.js'
import { readFolderName } from './folder.js'
import type { LogConfig } from './log-config.js'
import type { LogServices } from './log-core.js'
import { PartitionLog } from './partition-log.js'
import { loadLog } from './recovery.js'
import { Slices } from './scan.js'

export interface LoadedDir {
	readonly logs: readonly PartitionLog[]
	readonly highWatermarks: ReadonlyMap<string, number>
	/** A log was compacted less far than the checkpoint says. */
	readonly isCleanedLower: boolean
	/** Folders that a deletion left behind. */
	readonly deleted: readonly string[]
	readonly wasClean: boolean
}

export class LogLoader {
	readonly #services: LogServices
	readonly #dir: DataDir
	readonly #logger: Logger

	constructor(services: LogServices, dir: DataDir, logger: Logger) {
		this.#services = services
		this.#dir = dir
		this.#logger = logger
	}

	/** Throws `DiskError` when the dir cannot be read. A folder whose files contradict themselves is left out, and told. */
	async loadAll(configFor: (topic: string) => LogConfig): Promise<LoadedDir> {
		const { disk, clock } = this.#services
		const start = clock.monotonicMs()
		const checkpoints = this.#dir.readCheckpoints()
		const wasClean = this.#dir.takeCleanShutdown()
		const logs: PartitionLog[] = []
		const deleted: string[] = []
		const slices = new Slices(clock)
		for (const entry of disk.listNow(this.#dir.path)) {
			if (!entry.isDirectory) continue
			const name = readFolderName(entry.name)
			if (name.kind === 'deleted') deleted.push(disk.join(this.#dir.path, entry.name))
			else if (name.kind !== 'partition') this.#logger.info('folder is left alone', { folder: entry.name })
			else {
				const { topic, partition } = name.key
				const log = await this.#loadOne(topic, partition, entry.name, configFor(topic), checkpoints, wasClean)
				if (log !== null) logs.push(log)
			}
			if (slices.isOver) await slices.giveWay()
		}
		this.#logger.info('logs are loaded', {
			path: this.#dir.path,
			logs: logs.length,
			clean: wasClean,
			ms: Math.round(clock.monotonicMs() - start),
		})
		const isCleanedLower = logs.some(
			({ name, cleanedOffset }) => cleanedOffset !== (checkpoints.cleaned.get(name) ?? null),
		)
		return { logs, highWatermarks: checkpoints.highWatermarks, isCleanedLower, deleted, wasClean }
	}

	async #loadOne(
		topic: string,
		partition: number,
		name: string,
		config: LogConfig,
		checkpoints: DirCheckpoints,
		isClean: boolean,
	): Promise<PartitionLog | null> {
		try {
			const core = await loadLog(this.#services, {
				topic,
				partition,
				directory: this.#services.disk.join(this.#dir.path, name),
				config,
				isClean,
				recoveryPoint: checkpoints.recoveryPoints.get(name) ?? 0,
				logStartOffset: checkpoints.logStarts.get(name) ?? 0,
				cleanedOffset: checkpoints.cleaned.get(name) ?? null,
			})
			return new PartitionLog(core)
		} catch (error) {
			if (error instanceof DiskError || !(error instanceof CheckpointError)) throw error
			this.#logger.error('folder cannot be loaded', { folder: name, error: errorText(error) })
			return null
		}
	}
}
