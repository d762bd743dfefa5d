/**
 * Compacts the logs of a broker in the background (21.1): each worker takes the dirtiest log that no other has, makes a
 * pass, writes the checkpoint, lets retention run on the compacted logs, and pauses when nothing is due. The log manager
 * owns it.
 *
 *     look ──due──▶ pass ──done──▶ checkpoint ─▶ look        damaged log: marked, told once, never looked at again
 *       └──none──▶ pause (log.cleaner.backoff.ms, or a wake)  worker failed: told, the same pause, look
 */

import { CodecError } from '../../../base/compression.js'
import { RecordFormatError } from '../../../protocol/records/fields.js'
import { errorText, type Logger } from '../../../runtime/logger.js'
import { type Clock, DiskError, type Timer } from '../../../runtime/ports.js'
import type { PartitionLog } from '../partition-log.js'
import { SegmentDamage } from '../segment.js'
import { IndexDamage } from '../sparse-index.js'
import { type DirtyRange, dirtiest } from './dirty-range.js'
import { CleaningAborted, PassLost, type PassRunner } from './pass-job.js'
import { Throttle } from './throttle.js'

/** Broker settings (log.cleaner.*). */
export interface CleanerSettings {
	readonly isEnabled: boolean
	/** Passes at a time. */
	readonly threads: number
	/** Offset maps of all threads together, bytes. */
	readonly dedupeBufferBytes: number
	/** Read and write buffers of all threads together, bytes. */
	readonly ioBufferBytes: number
	readonly loadFactor: number
	readonly bytesPerSecondMax: number
	readonly backoffMs: number
}

/** What the cleaner needs of its owner. */
export interface CleanerOwner {
	/** Logs in online dirs, in a stable order. */
	readonly logs: () => readonly PartitionLog[]
	/** Current settings; asked again before each pass. */
	readonly settings: () => CleanerSettings
	readonly runner: PassRunner
	/** The cleaned offset of `log` has changed: its dir's checkpoint is written. */
	readonly checkpoint: (log: PartitionLog) => void
}

export class LogCleaner {
	readonly #clock: Clock
	readonly #logger: Logger
	readonly #owner: CleanerOwner
	readonly #throttle: Throttle
	/** Logs whose pass is under way. */
	readonly #busy = new Set<PartitionLog>()
	/** Logs that hold what cannot be read. */
	readonly #uncleanable = new WeakSet<PartitionLog>()
	readonly #workers = new Map<number, Promise<void>>()
	readonly #pauses = new Map<Timer, () => void>()
	#isStopped = false

	constructor(clock: Clock, logger: Logger, owner: CleanerOwner) {
		this.#clock = clock
		this.#logger = logger.scoped('cleaner')
		this.#owner = owner
		this.#throttle = new Throttle(clock, () => owner.settings().bytesPerSecondMax)
	}

	/** Begins to look for work; nothing when log.cleaner.enable is false. */
	start(): void {
		if (!this.#owner.settings().isEnabled) return
		this.#hire()
	}

	/** Ends all passes at their next step, and settles when they have let go. */
	async stop(): Promise<void> {
		this.#isStopped = true
		for (const log of this.#busy) log.abortCleaning()
		this.#throttle.releaseAll()
		this.wake()
		await Promise.all(this.#workers.values())
		await this.#owner.runner.close()
	}

	/** Ends the pauses: something may be due. */
	wake(): void {
		for (const [timer, resume] of this.#pauses) {
			timer.cancel()
			resume()
		}
		this.#pauses.clear()
	}

	/** True when the log was found to hold what cannot be read. */
	isUncleanable(log: PartitionLog): boolean {
		return this.#uncleanable.has(log)
	}

	/** Makes one pass over the dirtiest log; false when none is due. Settles also when the pass failed. */
	async cleanOne(): Promise<boolean> {
		const settings = this.#owner.settings()
		const chosen = this.#choose()
		if (chosen !== null) await this.#clean(chosen.log, chosen.range, settings)
		this.#retain()
		return chosen !== null
	}

	/** As many workers as settings ask for; the first stays to see a change of them. */
	#hire(): void {
		const count = Math.max(1, this.#owner.settings().threads)
		for (let index = 0; index < count; index++) {
			if (this.#isStopped || this.#workers.has(index)) continue
			const worker = Promise.resolve().then(() => this.#work(index))
			this.#workers.set(
				index,
				worker.finally(() => this.#workers.delete(index)),
			)
		}
	}

	async #work(index: number): Promise<void> {
		while (!this.#isStopped) {
			let hasCleaned = false
			const { threads } = this.#owner.settings()
			if (index >= Math.max(1, threads)) return
			try {
				this.#hire()
				if (threads > 0) hasCleaned = await this.cleanOne()
			} catch (error) {
				this.#logger.error('the cleaner failed, it goes on after a pause', { worker: index, error: errorText(error) })
			}
			if (!hasCleaned && !this.#isStopped) await this.#pause(this.#owner.settings().backoffMs)
		}
	}

	#pause(ms: number): Promise<void> {
		return new Promise<void>((resolve) => {
			const timer = this.#clock.after(ms, () => {
				this.#pauses.delete(timer)
				resolve()
			})
			this.#pauses.set(timer, resolve)
		})
	}

	#compacted(): PartitionLog[] {
		return this.#owner
			.logs()
			.filter((log) => log.config.isCompacted && !this.#busy.has(log) && !this.#uncleanable.has(log))
	}

	#choose(): { readonly log: PartitionLog; readonly range: DirtyRange } | null {
		const now = this.#clock.wallMs()
		const candidates: { readonly log: PartitionLog; readonly range: DirtyRange }[] = []
		for (const log of this.#compacted()) {
			try {
				const range = log.dirtyRange(now)
				if (range === null) continue
				if (range.isReset) this.#reset(log, range)
				candidates.push({ log, range })
			} catch (error) {
				this.#failed(log, error)
			}
		}
		return dirtiest(candidates)
	}

	/** The checkpoint lay outside the log (21.2). Retention moves the start of `compact,delete` logs over it as a rule. */
	#reset(log: PartitionLog, { firstDirtyOffset }: DirtyRange): void {
		const fields = { log: log.name, checkpoint: log.cleanedOffset, from: firstDirtyOffset }
		if (!log.config.isDeleted) this.#logger.warn('cleaner checkpoint lies outside the log, it is reset', fields)
		log.cleanedOffset = firstDirtyOffset
		this.#owner.checkpoint(log)
	}

	async #clean(log: PartitionLog, range: DirtyRange, settings: CleanerSettings): Promise<void> {
		const threads = Math.max(1, settings.threads)
		const start = this.#clock.monotonicMs()
		this.#busy.add(log)
		try {
			const result = await log.clean(range, {
				mapBytes: settings.dedupeBufferBytes / threads,
				loadFactor: settings.loadFactor,
				pieceBytes: Math.floor(settings.ioBufferBytes / threads / 2),
				throttle: this.#throttle,
				runner: this.#owner.runner,
			})
			this.#owner.checkpoint(log)
			this.#logger.info('log is compacted', {
				log: log.name,
				from: range.firstDirtyOffset,
				to: result.endOffset,
				keys: result.keys,
				segmentsBefore: result.segmentsBefore,
				segmentsAfter: result.segmentsAfter,
				bytesBefore: result.bytesBefore,
				bytesAfter: result.bytesAfter,
				ms: Math.round(this.#clock.monotonicMs() - start),
			})
		} catch (error) {
			this.#failed(log, error)
		} finally {
			this.#busy.delete(log)
		}
	}

	/** A disk error takes the dir offline (20.11); what cannot be read marks the log (21.9); else it is the worker's. */
	#failed(log: PartitionLog, error: unknown): void {
		if (error instanceof CleaningAborted) {
			this.#logger.debug('compaction is given up', { log: log.name })
			return
		}
		if (error instanceof DiskError) {
			log.diskFailed(error)
			return
		}
		if (error instanceof PassLost) throw error
		this.#uncleanable.add(log)
		const isDamage =
			error instanceof SegmentDamage ||
			error instanceof IndexDamage ||
			error instanceof RecordFormatError ||
			error instanceof CodecError
		if (!isDamage) throw error
		this.#logger.error('log cannot be compacted, it is left as it is', { log: log.name, error: errorText(error) })
	}

	/** Retention of logs that are compacted (20.4, 21.8): by log start, and by size and time when the policy says so. */
	#retain(): void {
		for (const log of this.#compacted()) {
			try {
				log.applyRetention()
			} catch (error) {
				this.#failed(log, error)
			}
		}
	}
}
