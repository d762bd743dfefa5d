/**
 * Chooses between reading a segment file on the event loop and through the thread pool. Bytes in the page cache are read
 * at once for less than a hop costs; a disk that has to be asked would hold the loop. One slow read turns the pool on for
 * a while; then one read is tried on the loop again.
 */

/** A read may take this long and stay unremarked: a fixed part, and a part by its size (200 MB/s). */
const SLOW_FIXED_MS = 2
const BYTES_PER_MS = 200_000
/** So many reads go through the pool after a slow one; doubled each time up to the last. */
const POOL_RUN_MIN = 16
const POOL_RUN_MAX = 1024

export class ReadMode {
	#left = 0
	#run = POOL_RUN_MIN

	/** True when the next read should go through the pool. */
	usesPool(): boolean {
		if (this.#left === 0) return false
		this.#left--
		return true
	}

	/** Notes a read on the loop of `bytes` that took `ms`. */
	note(bytes: number, ms: number): void {
		if (ms <= SLOW_FIXED_MS + bytes / BYTES_PER_MS) {
			this.#run = POOL_RUN_MIN
			return
		}
		this.#left = this.#run
		this.#run = Math.min(POOL_RUN_MAX, this.#run * 2)
	}
}
