/** Simulated time for tests of what is driven by a clock. */

import type { Clock, Timer } from '../../src/runtime/ports.js'

/** Time that moves only when told; `late` lets a timer come after its hour, as after a stalled process. */
export class ManualClock implements Clock {
	nowMs = 0
	#timers: { dueMs: number; run: () => void }[] = []

	wallMs(): number {
		return this.nowMs
	}

	monotonicMs(): number {
		return this.nowMs
	}

	after(ms: number, run: () => void): Timer {
		const timer = { dueMs: this.nowMs + ms, run }
		this.#timers.push(timer)
		return {
			cancel: () => {
				this.#timers = this.#timers.filter((each) => each !== timer)
			},
		}
	}

	soon(run: () => void): void {
		this.after(0, run)
	}

	/** Runs every timer at its time until `ms` have passed. */
	advance(ms: number): void {
		const endMs = this.nowMs + ms
		for (;;) {
			const next = this.#timers.sort((a, b) => a.dueMs - b.dueMs)[0]
			if (next === undefined || next.dueMs > endMs) break
			this.#timers.shift()
			this.nowMs = Math.max(this.nowMs, next.dueMs)
			next.run()
		}
		this.nowMs = endMs
	}

	/** The process stands still: time passes, no timer runs. */
	stall(ms: number): void {
		this.nowMs += ms
	}

	/** Goes from timer to timer, microtasks drained between them, until `isDone`; fails after `ms` of its own time. */
	async runUntil(isDone: () => boolean, ms: number): Promise<void> {
		const endMs = this.nowMs + ms
		for (;;) {
			for (let i = 0; i < 50; i++) await Promise.resolve()
			if (isDone()) return
			const next = this.#timers.sort((a, b) => a.dueMs - b.dueMs)[0]
			if (next === undefined || next.dueMs > endMs) throw new Error(`not within ${ms} ms of simulated time`)
			this.#timers.shift()
			this.nowMs = Math.max(this.nowMs, next.dueMs)
			next.run()
		}
	}
}
