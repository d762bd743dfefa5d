/**
 * The broker's one byte budget for what clients make it hold: request frames being read, requests being handled, replies
 * not yet sent. A claimed length reserves nothing; memory follows bytes received. Over the budget, sockets are paused
 * (`connection.ts`) until bytes are given back.
 */

export class MemoryBudget {
	readonly limit: number
	#used = 0
	readonly #waiting = new Set<() => void>()
	/** Who may go on reading although the budget is used up; see {@link takeTurn}. */
	#turn: object | null = null

	constructor(limit: number) {
		this.limit = limit
	}

	get used(): number {
		return this.#used
	}

	/** True when no more should be taken in. */
	get isExhausted(): boolean {
		return this.#used >= this.limit
	}

	/** Share of the budget in use; 1 is all of it. */
	get load(): number {
		return this.#used / this.limit
	}

	/** Counts bytes that are held already. May go over the limit: the bytes are here. */
	charge(bytes: number): void {
		this.#used += bytes
	}

	release(bytes: number): void {
		this.#used -= bytes
		if (this.#waiting.size === 0 || this.isExhausted) return
		const woken = [...this.#waiting]
		this.#waiting.clear()
		for (const wake of woken) wake()
	}

	/**
	 * When unfinished frames alone use the budget up, nothing would ever give bytes back: one reader at a time may finish
	 * its frame. True when it is `reader`'s turn.
	 */
	takeTurn(reader: object): boolean {
		this.#turn ??= reader
		return this.#turn === reader
	}

	/** The reader has finished its frame, or will not: the next one may. */
	endTurn(reader: object): void {
		if (this.#turn !== reader) return
		this.#turn = null
		const woken = [...this.#waiting]
		this.#waiting.clear()
		for (const wake of woken) wake()
	}

	/** Calls `wake` once when there is room again, or a turn to take. */
	whenRoom(wake: () => void): void {
		this.#waiting.add(wake)
	}

	forget(wake: () => void): void {
		this.#waiting.delete(wake)
	}
}
