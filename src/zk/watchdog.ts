/**
 * Watches over one connection to a server: pings when nothing was sent for a third of the session's timeout, cuts a
 * server that was silent for two thirds. Used by the driver; without it a frozen server is never noticed.
 */

import type { Clock, Timer } from '../runtime/ports.js'

export interface WatchedConnection {
	/** Monotonic times of the last bytes in either direction. */
	lastSentMs(): number
	lastReceivedMs(): number
	ping(): void
	cut(): void
}

export class Watchdog {
	readonly #clock: Clock
	readonly #timeoutMs: number
	readonly #connection: WatchedConnection
	#timer: Timer | null = null
	#isStopped = false

	constructor(clock: Clock, timeoutMs: number, connection: WatchedConnection) {
		this.#clock = clock
		this.#timeoutMs = timeoutMs
		this.#connection = connection
		this.#arm()
	}

	stop(): void {
		this.#isStopped = true
		this.#timer?.cancel()
	}

	#arm(): void {
		if (this.#isStopped) return
		const periodMs = this.#timeoutMs / 12
		const dueMs = this.#clock.monotonicMs() + periodMs
		this.#timer = this.#clock.after(periodMs, () => {
			const nowMs = this.#clock.monotonicMs()
			if (nowMs - this.#connection.lastSentMs() >= this.#timeoutMs / 3 - periodMs) this.#connection.ping()
			if (nowMs - this.#connection.lastReceivedMs() < (this.#timeoutMs * 2) / 3) this.#arm()
			else if (nowMs - dueMs > periodMs) this.#judgeLate(nowMs)
			else this.#connection.cut()
		})
	}

	/** We ourselves were late: what the server sent may still wait in the socket. Two turns of I/O first. */
	#judgeLate(askedMs: number): void {
		this.#clock.soon(() =>
			this.#clock.soon(() => {
				if (this.#isStopped) return
				if (this.#connection.lastReceivedMs() >= askedMs) this.#arm()
				else this.#connection.cut()
			}),
		)
	}
}
