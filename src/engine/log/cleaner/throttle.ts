/** Bounds the bytes a second that all passes together read and write (log.cleaner.io.max.bytes.per.second). */

import type { Clock, Timer } from '../../../runtime/ports.js'

/** Debts below this are carried on: a timer for each piece would cost more than it slows. */
const WAIT_MS_MIN = 2

export class Throttle {
	readonly #clock: Clock
	readonly #bytesPerSecond: () => number
	/** When all that was let through so far is paid for, by the monotonic clock. */
	#paidAtMs: number
	readonly #waiting = new Map<Timer, () => void>()

	/** `bytesPerSecond` is asked at each use; Infinity or above 2^53: no bound. */
	constructor(clock: Clock, bytesPerSecond: () => number) {
		this.#clock = clock
		this.#bytesPerSecond = bytesPerSecond
		this.#paidAtMs = clock.monotonicMs()
	}

	/** Counts `bytes` that were just read or written; a promise when the caller has to wait for their share of time. */
	charge(bytes: number): Promise<void> | null {
		const rate = this.#bytesPerSecond()
		if (!(rate < Number.MAX_SAFE_INTEGER)) return null
		const now = this.#clock.monotonicMs()
		this.#paidAtMs = Math.max(this.#paidAtMs, now) + (bytes * 1000) / Math.max(rate, 1)
		const waitMs = this.#paidAtMs - now
		if (waitMs < WAIT_MS_MIN) return null
		return new Promise<void>((resolve) => {
			const timer = this.#clock.after(waitMs, () => {
				this.#waiting.delete(timer)
				resolve()
			})
			this.#waiting.set(timer, resolve)
		})
	}

	/** Lets all who wait go on: they are to stop. */
	releaseAll(): void {
		for (const [timer, resolve] of this.#waiting) {
			timer.cancel()
			resolve()
		}
		this.#waiting.clear()
	}
}
