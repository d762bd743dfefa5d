/**
 * Where the transactions of a log stand as a pass walks its batches in order (21.6): which data belongs to aborted ones,
 * and whether a marker still has data in front of it. One object a walk: one for the offset map, one for the rewriting.
 */

import {
	batchAttributes,
	batchHasProducer,
	batchLastOffset,
	batchProducerId,
	batchRecordCount,
	TRANSACTIONAL_BIT,
} from '../../../protocol/records/batch.js'
import { markerOf } from '../marker.js'
import type { AbortedTransaction } from '../txn-index.js'

interface OngoingAbort {
	readonly entry: AbortedTransaction
	/** Data of it was met on this walk. */
	hasData: boolean
}

export class CleanedTransactions {
	/** By first offset, ascending. */
	readonly #aborted: readonly AbortedTransaction[]
	#next = 0
	readonly #ongoingAborted = new Map<bigint, OngoingAbort>()
	readonly #ongoingCommitted = new Set<bigint>()
	/** Entry of the transaction that the last marker ended, when its data is still there: the new index keeps it. */
	keptEntry: AbortedTransaction | null = null

	/** `aborted`: all transaction index entries that can touch the walked range, in any order. */
	constructor(aborted: readonly AbortedTransaction[]) {
		this.#aborted = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset)
	}

	/** Passes the control batch at `at`. True when nothing of its transaction was met: the marker may get its horizon. */
	passMarker(bytes: Buffer, at: number): boolean {
		this.keptEntry = null
		this.#consumeTo(batchLastOffset(bytes, at))
		// One that is empty was cleaned before.
		if (batchRecordCount(bytes, at) === 0) return true
		const marker = markerOf(bytes, at)
		// Of a kind that is not known here: stays.
		if (marker === null) return false
		const producerId = batchProducerId(bytes, at)
		if (!marker.isAbort) return !this.#ongoingCommitted.delete(producerId)
		const ongoing = this.#ongoingAborted.get(producerId)
		this.#ongoingAborted.delete(producerId)
		if (ongoing === undefined || !ongoing.hasData) return true
		this.keptEntry = ongoing.entry
		return false
	}

	/** Passes the data batch (magic 2) at `at`. True when it belongs to an aborted transaction. */
	passData(bytes: Buffer, at: number): boolean {
		this.#consumeTo(batchLastOffset(bytes, at))
		if ((batchAttributes(bytes, at) & TRANSACTIONAL_BIT) === 0 || !batchHasProducer(bytes, at)) return false
		const producerId = batchProducerId(bytes, at)
		const ongoing = this.#ongoingAborted.get(producerId)
		if (ongoing === undefined) {
			this.#ongoingCommitted.add(producerId)
			return false
		}
		ongoing.hasData = true
		return true
	}

	/** Aborted transactions that began at or below `offset` are under way from here on. */
	#consumeTo(offset: number): void {
		for (; this.#next < this.#aborted.length; this.#next++) {
			const entry = this.#aborted[this.#next] as AbortedTransaction
			if (entry.firstOffset > offset) return
			if (!this.#ongoingAborted.has(entry.producerId)) {
				this.#ongoingAborted.set(entry.producerId, { entry, hasData: false })
			}
		}
	}
}
