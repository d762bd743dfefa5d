/** A bound on bytes that many users hold for a short time: who finds no room waits in line, first come, first served. */

import { Deque } from './queues.js'

export class ByteGate {
	readonly #total: number
	#held = 0
	readonly #line = new Deque<{ readonly bytes: number; readonly enter: () => void }>()

	constructor(total: number) {
		this.#total = total
	}

	get heldBytes(): number {
		return this.#held
	}

	/** Settles when `bytes` may be held. More than the gate has is all of it: such a user is alone. */
	async enter(bytes: number): Promise<void> {
		const wanted = Math.min(bytes, this.#total)
		if (this.#line.length === 0 && this.#held + wanted <= this.#total) {
			this.#held += wanted
			return
		}
		await new Promise<void>((enter) => this.#line.push({ bytes: wanted, enter }))
	}

	/** Gives back what one {@link enter} took. */
	leave(bytes: number): void {
		this.#held -= Math.min(bytes, this.#total)
		for (;;) {
			const next = this.#line.peek()
			if (next === undefined || this.#held + next.bytes > this.#total) return
			this.#line.shift()
			this.#held += next.bytes
			next.enter()
		}
	}
}
