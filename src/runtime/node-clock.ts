/** Wall and monotonic time, timers and randomness from Node. All timers stand in one heap on one Node timer. */

import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { Heap, type HeapHandle } from '../base/queues.js'
import type { Clock, Random, Timer } from './ports.js'

export class NodeClock implements Clock {
	readonly #heap = new Heap<() => void>()
	#armed: NodeJS.Timeout | null = null
	#armedFor = Number.POSITIVE_INFINITY

	wallMs(): number {
		return Date.now()
	}

	monotonicMs(): number {
		return performance.now()
	}

	after(ms: number, callback: () => void): Timer {
		const due = performance.now() + Math.max(0, ms)
		const handle: HeapHandle<() => void> = this.#heap.add(due, callback)
		if (due < this.#armedFor) this.#arm(due)
		return {
			cancel: () => {
				if (this.#heap.remove(handle) && this.#heap.length === 0) this.#disarm()
			},
		}
	}

	soon(callback: () => void): void {
		setImmediate(callback)
	}

	#disarm(): void {
		if (this.#armed !== null) clearTimeout(this.#armed)
		this.#armed = null
		this.#armedFor = Number.POSITIVE_INFINITY
	}

	#arm(due: number): void {
		if (this.#armed !== null) clearTimeout(this.#armed)
		this.#armedFor = due
		// Node's longest timer is 2^31-1 ms; a longer wait is armed again when that is over.
		const wait = Math.min(2_147_483_647, Math.max(0, Math.ceil(due - performance.now())))
		this.#armed = setTimeout(() => this.#fire(), wait)
	}

	#fire(): void {
		this.#armed = null
		this.#armedFor = Number.POSITIVE_INFINITY
		const now = performance.now()
		try {
			for (;;) {
				const due = this.#heap.peekKey()
				if (due === undefined || due > now) break
				const callback = this.#heap.take() as () => void
				callback()
			}
		} finally {
			const next = this.#heap.peekKey()
			if (next !== undefined) this.#arm(next)
		}
	}
}

export class NodeRandom implements Random {
	next(): number {
		return Math.random()
	}

	bytes(count: number): Buffer {
		return randomBytes(count)
	}
}
