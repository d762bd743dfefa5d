/** One timer that is set again and again and rings at the earliest of the times asked for since it last rang. */

import type { Clock, Timer } from '../runtime/ports.js'

export class WakeTimer {
	readonly #clock: Clock
	readonly #ring: () => void
	#timer: Timer | null = null
	#dueMs = Number.POSITIVE_INFINITY

	constructor(clock: Clock, ring: () => void) {
		this.#clock = clock
		this.#ring = ring
	}

	/** Rings in `ms` at the latest. */
	within(ms: number): void {
		const dueMs = this.#clock.monotonicMs() + ms
		if (dueMs >= this.#dueMs) return
		this.#timer?.cancel()
		this.#dueMs = dueMs
		this.#timer = this.#clock.after(ms, () => {
			this.#timer = null
			this.#dueMs = Number.POSITIVE_INFINITY
			this.#ring()
		})
	}

	cancel(): void {
		this.#timer?.cancel()
		this.#timer = null
		this.#dueMs = Number.POSITIVE_INFINITY
	}
}
