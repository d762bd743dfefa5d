/** The timers of one owner, ended together. */

import type { Clock, Timer } from '../../runtime/ports.js'

export class Timers {
	readonly #clock: Clock
	readonly #timers = new Set<Timer>()
	#isClosed = false

	constructor(clock: Clock) {
		this.#clock = clock
	}

	/** Runs `job` once, after `ms`. */
	after(ms: number, job: () => void): void {
		if (this.#isClosed) return
		const timer = this.#clock.after(ms, () => {
			this.#timers.delete(timer)
			job()
		})
		this.#timers.add(timer)
	}

	/** Runs `job` after `firstMs`, and again `ms` after each end. Never when `ms` is Infinity. */
	every(firstMs: number, ms: number, job: () => void): void {
		if (!Number.isFinite(ms)) return
		const again = (): void => {
			job()
			this.after(ms, again)
		}
		this.after(firstMs, again)
	}

	/** No job runs after it. */
	close(): void {
		this.#isClosed = true
		for (const timer of this.#timers) timer.cancel()
		this.#timers.clear()
	}
}
