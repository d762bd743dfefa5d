/** Producer ids for this broker: a block of 1,000 at a time from the cluster (KIP-730), given out one by one. */

/** Fetches the next block: first and last id, inclusive. */
export type AllocateBlock = () => Promise<{ readonly first: bigint; readonly last: bigint }>

export class ProducerIds {
	readonly #allocate: AllocateBlock
	#next = 0n
	#last = -1n
	#fetching: Promise<void> | null = null

	constructor(allocate: AllocateBlock) {
		this.#allocate = allocate
	}

	/** An id that nobody had before. Rejects as the allocation does. */
	async next(): Promise<bigint> {
		while (this.#next > this.#last) {
			this.#fetching ??= this.#fetch().finally(() => {
				this.#fetching = null
			})
			await this.#fetching
		}
		return this.#next++
	}

	async #fetch(): Promise<void> {
		const { first, last } = await this.#allocate()
		this.#next = first
		this.#last = last
	}
}
