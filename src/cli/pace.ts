/** Lets things happen at most so often a second, evenly; a pause is not caught up by a burst of more than a tenth. */

export class Pace {
	readonly #rate: number
	#allowance: number
	#lastMs: number
	#isStopped = false
	#wake: (() => void) | null = null

	constructor(rate: number) {
		this.#rate = rate
		this.#allowance = 1
		this.#lastMs = performance.now()
	}

	/** Settles when the next may happen, at once after {@link stop}. */
	async turn(): Promise<void> {
		for (;;) {
			const nowMs = performance.now()
			const most = Math.max(1, this.#rate / 10)
			this.#allowance = Math.min(most, this.#allowance + ((nowMs - this.#lastMs) / 1000) * this.#rate)
			this.#lastMs = nowMs
			if (this.#isStopped) return
			if (this.#allowance >= 1) {
				this.#allowance--
				return
			}
			// No longer than a timer of Node's can be: it would end at once.
			const waitMs = Math.min(((1 - this.#allowance) / this.#rate) * 1000, 2_147_483_647)
			await new Promise<void>((resolve) => {
				const timer = setTimeout(resolve, waitMs)
				this.#wake = () => {
					clearTimeout(timer)
					resolve()
				}
			})
		}
	}

	stop(): void {
		this.#isStopped = true
		this.#wake?.()
	}
}
