/**
 * Chooses, for one data dir, between synchronous writes into the page cache (the default at every size) and writes through
 * the thread pool, by the measured time of recent writes: a throttled write would hold the event loop. Both changes are
 * told in the log (`docs/adr/0005-synchronous-writes.md`).
 */

import type { Logger } from '../../runtime/logger.js'

/**
 * A write may take this long and stay unremarked: a fixed part, and a part by its size (100 MB/s). The fixed part is what
 * other clients may be made to wait; less would take a busy processor for a slow disk.
 */
const SLOW_FIXED_MS = 20
const BYTES_PER_MS = 100_000
/** So many slow ones of the last 16 turn the pool on; so many quick ones in a row turn it off. */
const SLOW_COUNT = 3
const QUICK_RUN = 24

export class WriteMode {
	readonly #logger: Logger
	readonly #directory: string
	#usesPool = false
	/** One bit a write, newest lowest: 1 was slow. */
	#recent = 0
	#quickRun = 0

	constructor(directory: string, logger: Logger) {
		this.#directory = directory
		this.#logger = logger
	}

	/** True while writes should go through the pool. */
	get usesPool(): boolean {
		return this.#usesPool
	}

	/** Notes a write of `bytes` that took `ms`. */
	note(bytes: number, ms: number): void {
		const isSlow = ms > SLOW_FIXED_MS + bytes / BYTES_PER_MS
		if (!this.#usesPool) {
			this.#recent = ((this.#recent << 1) | (isSlow ? 1 : 0)) & 0xffff
			if (isSlow && countBits(this.#recent) >= SLOW_COUNT) this.#turn(true, ms, bytes)
			return
		}
		this.#quickRun = isSlow ? 0 : this.#quickRun + 1
		if (this.#quickRun >= QUICK_RUN) this.#turn(false, ms, bytes)
	}

	#turn(usesPool: boolean, ms: number, bytes: number): void {
		this.#usesPool = usesPool
		this.#recent = 0
		this.#quickRun = 0
		const fields = { directory: this.#directory, lastWriteMs: Math.round(ms * 10) / 10, lastWriteBytes: bytes }
		if (usesPool) this.#logger.warn('writes are slow, they go through the thread pool', fields)
		else this.#logger.info('writes are quick again, they are synchronous', fields)
	}
}

function countBits(value: number): number {
	let rest = value
	let count = 0
	while (rest !== 0) {
		rest &= rest - 1
		count++
	}
	return count
}
