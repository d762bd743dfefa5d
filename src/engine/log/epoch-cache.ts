/**
 * Leader epochs of a partition and the offset at which each began (KIP-101, KIP-279; semantics 10.6, 13.5). Epochs and
 * start offsets both rise strictly. Every change is handed to `save` at once, which writes `leader-epoch-checkpoint`.
 */

export interface EpochEntry {
	readonly epoch: number
	readonly startOffset: number
}

export interface EpochEnd {
	/** -1 when nothing is known. */
	readonly epoch: number
	readonly endOffset: number
}

const UNKNOWN: EpochEnd = { epoch: -1, endOffset: -1 }

export class EpochCache {
	#entries: EpochEntry[]
	readonly #save: (entries: readonly EpochEntry[]) => void

	/** Takes entries as read from the checkpoint; those out of order are dropped as an assignment would drop them. */
	constructor(entries: readonly EpochEntry[], save: (entries: readonly EpochEntry[]) => void) {
		this.#entries = []
		this.#save = save
		for (const entry of entries) if (entry.epoch >= 0) this.#put(entry.epoch, entry.startOffset)
	}

	get entries(): readonly EpochEntry[] {
		return this.#entries
	}

	/** Newest epoch, -1 when none. */
	get latestEpoch(): number {
		return this.#entries[this.#entries.length - 1]?.epoch ?? -1
	}

	/** Notes that `epoch` began at `startOffset`. Epochs below 0 are none. Nothing happens when it is already so. */
	assign(epoch: number, startOffset: number): void {
		if (epoch < 0 || !this.#put(epoch, startOffset)) return
		this.#save(this.#entries)
	}

	/** As `assign`, only when `epoch` is newer than all known: for batches that come in order. */
	assignIfNewer(epoch: number, startOffset: number): void {
		if (epoch > this.latestEpoch) this.assign(epoch, startOffset)
	}

	/** Drops epochs that begin at or above `endOffset`. */
	truncateFromEnd(endOffset: number): void {
		if (this.forgetFromEnd(endOffset)) this.#save(this.#entries)
	}

	/**
	 * The same in memory alone. At a start an epoch that begins at the end, without a record, is dropped (20.10); its leader
	 * most often comes back in it, and the file need not be written twice for that.
	 */
	forgetFromEnd(endOffset: number): boolean {
		let keep = this.#entries.length
		while (keep > 0 && (this.#entries[keep - 1] as EpochEntry).startOffset >= endOffset) keep--
		const isChanged = keep < this.#entries.length
		this.#entries.length = keep
		return isChanged
	}

	/** Drops epochs that begin at or below `startOffset`, but keeps the last of them as beginning there. */
	truncateFromStart(startOffset: number): void {
		let dropped = 0
		while (dropped < this.#entries.length && (this.#entries[dropped] as EpochEntry).startOffset <= startOffset)
			dropped++
		if (dropped === 0) return
		const last = this.#entries[dropped - 1] as EpochEntry
		if (dropped === 1 && last.startOffset === startOffset) return
		this.#entries = [{ epoch: last.epoch, startOffset }, ...this.#entries.slice(dropped)]
		this.#save(this.#entries)
	}

	clear(): void {
		if (this.#entries.length === 0) return
		this.#entries = []
		this.#save(this.#entries)
	}

	/** Epoch that `offset` belongs to, -1 when unknown. */
	epochOf(offset: number): number {
		for (let i = this.#entries.length - 1; i >= 0; i--) {
			const entry = this.#entries[i] as EpochEntry
			if (entry.startOffset <= offset) return entry.epoch
		}
		return -1
	}

	/** Largest known epoch at or below `epoch` and where it ends, in a log that ends at `logEndOffset` (10.6). */
	endOffsetFor(epoch: number, logEndOffset: number): EpochEnd {
		const entries = this.#entries
		const latest = this.latestEpoch
		if (epoch < 0 || latest < 0 || epoch > latest) return UNKNOWN
		if (epoch === latest) return { epoch, endOffset: logEndOffset }
		const first = entries[0] as EpochEntry
		if (epoch < first.epoch) return { epoch, endOffset: first.startOffset }
		let at = 0
		while ((entries[at + 1] as EpochEntry).epoch <= epoch) at++
		return { epoch: (entries[at] as EpochEntry).epoch, endOffset: (entries[at + 1] as EpochEntry).startOffset }
	}

	/** True when something changed. */
	#put(epoch: number, startOffset: number): boolean {
		const entries = this.#entries
		const last = entries[entries.length - 1]
		if (last !== undefined && last.epoch === epoch && last.startOffset <= startOffset) return false
		let keep = entries.length
		while (keep > 0) {
			const entry = entries[keep - 1] as EpochEntry
			if (entry.epoch < epoch && entry.startOffset < startOffset) break
			keep--
		}
		entries.length = keep
		entries.push({ epoch, startOffset })
		return true
	}
}
