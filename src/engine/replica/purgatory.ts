/**
 * Requests that wait for something to happen on a partition: produce for the high watermark, fetch for data, deletes for
 * followers. Each is watched under the keys it waits for; when a key moves it is asked again; it ends once, by completing
 * or by its deadline (semantics 6.7, 7.11).
 */

import type { Clock, Timer } from '../../runtime/ports.js'

export interface Waiter {
	/** Completes the request if it can be completed now, and says whether it was. Never called after it said true. */
	tryComplete(): boolean
	/** The deadline is over: completes it as it is. */
	expire(): void
}

interface Entry {
	readonly waiter: Waiter
	readonly keys: readonly string[]
	timer: Timer | null
	isDone: boolean
}

export class Purgatory {
	readonly #clock: Clock
	readonly #byKey = new Map<string, Set<Entry>>()

	constructor(clock: Clock) {
		this.#clock = clock
	}

	/** Entries that wait under a key, for tests and metrics. */
	waitingFor(key: string): number {
		return this.#byKey.get(key)?.size ?? 0
	}

	/**
	 * Watches `waiter` under `keys` unless it completes at once. The caller has tried it before; it is asked once more
	 * after it is watched, so that nothing that happens in between is missed.
	 */
	watch(waiter: Waiter, keys: readonly string[], timeoutMs: number): void {
		const entry: Entry = { waiter, keys, timer: null, isDone: false }
		for (const key of keys) {
			const waiting = this.#byKey.get(key)
			if (waiting === undefined) this.#byKey.set(key, new Set([entry]))
			else waiting.add(entry)
		}
		if (this.#tryOne(entry)) return
		entry.timer = this.#clock.after(timeoutMs, () => {
			this.#remove(entry)
			waiter.expire()
		})
	}

	/** Something moved under `key`: asks all that wait for it. */
	check(key: string): void {
		const waiting = this.#byKey.get(key)
		if (waiting === undefined) return
		for (const entry of [...waiting]) this.#tryOne(entry)
	}

	/** Ends all that wait, as at their deadline: the broker stops. */
	close(): void {
		for (const waiting of [...this.#byKey.values()]) {
			for (const entry of [...waiting]) {
				if (entry.isDone) continue
				this.#remove(entry)
				entry.waiter.expire()
			}
		}
	}

	#tryOne(entry: Entry): boolean {
		if (entry.isDone) return true
		if (!entry.waiter.tryComplete()) return false
		this.#remove(entry)
		return true
	}

	#remove(entry: Entry): void {
		entry.isDone = true
		entry.timer?.cancel()
		for (const key of entry.keys) {
			const waiting = this.#byKey.get(key)
			waiting?.delete(entry)
			if (waiting?.size === 0) this.#byKey.delete(key)
		}
	}
}
