/**
 * What deleted logs leave to do. Their folders go one after the other: thousands at once would keep the disk from those who
 * write. Checkpoints forget them together: a topic of thousands of partitions costs one write, not one a partition.
 */

import { errorText, type Logger } from '../../runtime/logger.js'
import type { Disk } from '../../runtime/ports.js'
import type { DataDir } from './data-dir.js'
import type { Timers } from './timers.js'

/** Checkpoints may name deleted logs for so long. */
const FORGET_MS = 100

export class Deletions {
	readonly #disk: Disk
	readonly #logger: Logger
	readonly #timers: Timers
	readonly #forget: (dir: DataDir, wasCompacted: boolean) => void
	/** Dirs whose checkpoints still name logs that were deleted, and whether any of those was compacted. */
	readonly #forgetting = new Map<DataDir, boolean>()
	#removals: Promise<void> = Promise.resolve()

	/** `forget` writes a dir's checkpoints; it may not throw. */
	constructor(disk: Disk, logger: Logger, timers: Timers, forget: (dir: DataDir, wasCompacted: boolean) => void) {
		this.#disk = disk
		this.#logger = logger
		this.#timers = timers
		this.#forget = forget
	}

	/** A log of `dir` was deleted; its folder, renamed to `doomed`, goes after `delayMs`. */
	add(dir: DataDir, wasCompacted: boolean, doomed: string, delayMs: number): void {
		if (!this.#forgetting.has(dir)) this.#timers.after(FORGET_MS, () => this.settle(dir))
		this.#forgetting.set(dir, this.#forgetting.get(dir) === true || wasCompacted)
		this.#timers.after(delayMs, () => this.removeFolder(doomed))
	}

	/** Checkpoints of `dir` forget what was deleted: before one of those logs comes back, and at the end. */
	settle(dir: DataDir): void {
		const wasCompacted = this.#forgetting.get(dir)
		if (wasCompacted === undefined) return
		this.#forgetting.delete(dir)
		if (dir.isOnline) this.#forget(dir, wasCompacted)
	}

	removeFolder(path: string): void {
		this.#removals = this.#removals
			.then(() => this.#disk.removeTree(path))
			.catch((error: unknown) => {
				this.#logger.warn('could not remove a deleted log', { path, error: errorText(error) })
			})
	}
}
