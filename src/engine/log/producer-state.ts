/**
 * What a partition knows of idempotent and transactional producers (semantics 5; KIP-98, KIP-360): epochs, the last five
 * batches of each for duplicates and sequences, open transactions, and from them the first unstable offset. Rebuilt from
 * a snapshot and the log behind it; pure but for the log lines of what a follower lets pass.
 *
 * A producer, per epoch:  unknown → known(sequence) → known(sequence+n) …   marker: transaction closed, sequence stays
 * new epoch: sequences begin at 0 again, remembered batches go.
 */

import { ERROR } from '../../protocol/errors.js'
import {
	batchAttributes,
	batchBaseOffset,
	batchBaseSequence,
	batchHasProducer,
	batchLastOffset,
	batchLastSequence,
	batchMaxTimestamp,
	batchProducerEpoch,
	batchProducerId,
	CONTROL_BIT,
	decrementSequence,
	TRANSACTIONAL_BIT,
} from '../../protocol/records/batch.js'
import type { ProducerSnapshotEntry } from './producer-snapshot.js'

/** Who wrote a batch: what is an error for a client only passes for a follower (5.2). */
export type AppendOrigin = 'client' | 'coordinator' | 'replication'

interface BatchMemory {
	readonly lastSequence: number
	readonly lastOffset: number
	readonly offsetDelta: number
	readonly timestamp: number
}

const BATCHES_KEPT = 5
const NO_EPOCH = -1
const SEQUENCE_MAX = 0x7fff_ffff

class ProducerEntry {
	readonly producerId: bigint
	epoch = NO_EPOCH
	coordinatorEpoch = -1
	lastTimestamp = -1
	/** -1: no open transaction. */
	transactionFirstOffset = -1
	batches: BatchMemory[] = []

	constructor(producerId: bigint) {
		this.producerId = producerId
	}

	get lastBatch(): BatchMemory | undefined {
		return this.batches[this.batches.length - 1]
	}

	setEpoch(epoch: number): void {
		if (epoch === this.epoch) return
		this.batches = []
		this.epoch = epoch
	}
}

/** A producer as DescribeProducers shows it. */
export interface ActiveProducer {
	readonly producerId: bigint
	readonly producerEpoch: number
	readonly lastSequence: number
	readonly lastTimestamp: number
	readonly coordinatorEpoch: number
	/** -1: none is open. */
	readonly currentTxnStartOffset: number
}

/** A transaction whose marker was just appended. */
export interface CompletedTransaction {
	readonly producerId: bigint
	readonly firstOffset: number
	readonly lastOffset: number
	readonly isAborted: boolean
}

/** Fields of a transaction marker that the state needs. */
export interface MarkerFields {
	readonly isAbort: boolean
	readonly coordinatorEpoch: number
}

export class ProducerState {
	readonly #producers = new Map<bigint, ProducerEntry>()
	/** First offset → producer of open transactions, in offset order. */
	readonly #open = new Map<number, bigint>()
	/** Completed transactions whose marker is not below the high watermark yet. */
	#unreplicated: CompletedTransaction[] = []
	#firstUnstable = Number.POSITIVE_INFINITY
	/** State covers the log up to here. */
	endOffset = 0
	/** What the last failed `check` found. */
	message = ''
	/** Offsets of the batch that the last `check` took for a duplicate. */
	duplicateFirst = -1
	duplicateLast = -1
	duplicateTimestamp = -1

	get size(): number {
		return this.#producers.size
	}

	/** Smallest first offset of open transactions and of completed ones that are not replicated; Infinity when none (5.15). */
	get firstUnstableOffset(): number {
		return this.#firstUnstable
	}

	/**
	 * Checks the batch at `at` of `bytes` against what is known, before its append. Returns 0, an error code
	 * (`message` says why), or -2 for a duplicate (`duplicate*` say of what). Changes nothing.
	 */
	check(bytes: Buffer, at: number, origin: AppendOrigin, marker: MarkerFields | null): number {
		if (!batchHasProducer(bytes, at)) return 0
		const entry = this.#producers.get(batchProducerId(bytes, at))
		const epoch = batchProducerEpoch(bytes, at)
		if (origin === 'client' && entry !== undefined && entry.epoch === epoch) {
			if (this.#isDuplicate(entry, batchBaseSequence(bytes, at), batchLastSequence(bytes, at))) return -2
		}
		if (origin === 'replication' || entry === undefined) return 0
		if (epoch < entry.epoch) {
			this.message = `Epoch ${epoch} of producer ${entry.producerId} is smaller than the last seen epoch ${entry.epoch}`
			return ERROR.INVALID_PRODUCER_EPOCH
		}
		if (marker !== null) return this.#checkMarker(entry, marker)
		if (origin === 'client') {
			const code = this.#checkSequence(entry, epoch, batchBaseSequence(bytes, at))
			if (code !== 0) return code
		}
		if (entry.transactionFirstOffset >= 0 && (batchAttributes(bytes, at) & TRANSACTIONAL_BIT) === 0) {
			this.message = `Producer ${entry.producerId} has an open transaction and sent a batch outside of it`
			return ERROR.INVALID_TXN_STATE
		}
		return 0
	}

	/**
	 * Takes in the batch at `at`, with its final offsets. Returns the transaction that a marker ended, or null. The
	 * caller then writes an index entry for an aborted one, with {@link lastStableOffsetAfter}, and calls `complete`.
	 */
	add(bytes: Buffer, at: number, marker: MarkerFields | null): CompletedTransaction | null {
		const lastOffset = batchLastOffset(bytes, at)
		this.endOffset = lastOffset + 1
		if (!batchHasProducer(bytes, at)) return null
		const producerId = batchProducerId(bytes, at)
		let entry = this.#producers.get(producerId)
		if (entry === undefined) {
			entry = new ProducerEntry(producerId)
			this.#producers.set(producerId, entry)
		}
		const attributes = batchAttributes(bytes, at)
		const timestamp = batchMaxTimestamp(bytes, at)
		entry.setEpoch(batchProducerEpoch(bytes, at))
		entry.lastTimestamp = timestamp
		const firstOffset = batchBaseOffset(bytes, at)
		if ((attributes & CONTROL_BIT) !== 0) {
			if (marker === null) return null
			return this.#addMarker(entry, marker, firstOffset)
		}
		const batches = entry.batches
		if (batches.length === BATCHES_KEPT) batches.shift()
		batches.push({
			lastSequence: batchLastSequence(bytes, at),
			lastOffset,
			offsetDelta: lastOffset - firstOffset,
			timestamp,
		})
		if ((attributes & TRANSACTIONAL_BIT) !== 0 && entry.transactionFirstOffset < 0) {
			entry.transactionFirstOffset = firstOffset
			this.#open.set(firstOffset, producerId)
			if (firstOffset < this.#firstUnstable) this.#firstUnstable = firstOffset
		}
		return null
	}

	/** First offset that is still undecided once `completed` is: what the transaction index stores. */
	lastStableOffsetAfter(completed: CompletedTransaction): number {
		for (const [offset, producerId] of this.#open) if (producerId !== completed.producerId) return offset
		return completed.lastOffset + 1
	}

	/** Moves a transaction from open to completed-but-not-replicated. */
	complete(completed: CompletedTransaction): void {
		this.#open.delete(completed.firstOffset)
		this.#unreplicated.push(completed)
		this.#refresh()
	}

	/** Completed transactions whose marker lies below the high watermark no longer hold back the stable offset. */
	onHighWatermark(highWatermark: number): void {
		if (this.#unreplicated.length === 0) return
		const kept = this.#unreplicated.filter((transaction) => transaction.lastOffset >= highWatermark)
		if (kept.length === this.#unreplicated.length) return
		this.#unreplicated = kept
		this.#refresh()
	}

	/** Forgets producers without an open transaction that have been idle for `expirationMs` (5.16). Returns how many. */
	expire(nowMs: number, expirationMs: number): number {
		let expired = 0
		for (const [id, entry] of this.#producers) {
			if (entry.transactionFirstOffset >= 0 || nowMs - entry.lastTimestamp < expirationMs) continue
			this.#producers.delete(id)
			expired++
		}
		return expired
	}

	clear(endOffset: number): void {
		this.#producers.clear()
		this.#open.clear()
		this.#unreplicated = []
		this.#firstUnstable = Number.POSITIVE_INFINITY
		this.endOffset = endOffset
	}

	/** Replaces everything by a snapshot taken at `endOffset`; producers that have expired by `nowMs` are left out. */
	load(entries: readonly ProducerSnapshotEntry[], endOffset: number, nowMs: number, expirationMs: number): void {
		this.clear(endOffset)
		for (const stored of entries) {
			if (stored.currentTxnFirstOffset < 0 && nowMs - stored.timestamp >= expirationMs) continue
			const entry = new ProducerEntry(stored.producerId)
			entry.epoch = stored.producerEpoch
			entry.coordinatorEpoch = stored.coordinatorEpoch
			entry.lastTimestamp = stored.timestamp
			entry.transactionFirstOffset = stored.currentTxnFirstOffset
			if (stored.lastOffset >= 0) {
				const { lastSequence, lastOffset, offsetDelta, timestamp } = stored
				entry.batches.push({ lastSequence, lastOffset, offsetDelta, timestamp })
			}
			this.#producers.set(stored.producerId, entry)
		}
		const open = [...this.#producers.values()].filter((entry) => entry.transactionFirstOffset >= 0)
		open.sort((a, b) => a.transactionFirstOffset - b.transactionFirstOffset)
		for (const entry of open) this.#open.set(entry.transactionFirstOffset, entry.producerId)
		this.#refresh()
	}

	/** All states as a snapshot stores them. */
	snapshot(): ProducerSnapshotEntry[] {
		const entries: ProducerSnapshotEntry[] = []
		for (const entry of this.#producers.values()) {
			const last = entry.lastBatch
			entries.push({
				producerId: entry.producerId,
				producerEpoch: entry.epoch,
				lastSequence: last?.lastSequence ?? -1,
				lastOffset: last?.lastOffset ?? -1,
				offsetDelta: last?.offsetDelta ?? 0,
				timestamp: entry.lastTimestamp,
				coordinatorEpoch: entry.coordinatorEpoch,
				currentTxnFirstOffset: entry.transactionFirstOffset,
			})
		}
		return entries
	}

	/** What the cleaner must leave of each producer, for its state to be found again in the log (21.4, 21.6). */
	lastRecords(): Map<bigint, { readonly lastDataOffset: number; readonly producerEpoch: number }> {
		const last = new Map<bigint, { lastDataOffset: number; producerEpoch: number }>()
		for (const [id, { lastBatch, epoch }] of this.#producers) {
			last.set(id, { lastDataOffset: lastBatch?.lastOffset ?? -1, producerEpoch: epoch })
		}
		return last
	}

	/** True when the producer has an open transaction here. */
	hasOpenTransaction(producerId: bigint): boolean {
		return (this.#producers.get(producerId)?.transactionFirstOffset ?? -1) >= 0
	}

	active(): ActiveProducer[] {
		const all: ActiveProducer[] = []
		for (const entry of this.#producers.values()) {
			all.push({
				producerId: entry.producerId,
				producerEpoch: entry.epoch,
				lastSequence: entry.lastBatch?.lastSequence ?? -1,
				lastTimestamp: entry.lastTimestamp,
				coordinatorEpoch: entry.coordinatorEpoch,
				currentTxnStartOffset: entry.transactionFirstOffset,
			})
		}
		return all
	}

	#isDuplicate(entry: ProducerEntry, first: number, last: number): boolean {
		for (const batch of entry.batches) {
			if (batch.lastSequence !== last) continue
			if (decrementSequence(batch.lastSequence, batch.offsetDelta) !== first) continue
			this.duplicateFirst = batch.lastOffset - batch.offsetDelta
			this.duplicateLast = batch.lastOffset
			this.duplicateTimestamp = batch.timestamp
			return true
		}
		return false
	}

	#checkSequence(entry: ProducerEntry, epoch: number, first: number): number {
		if (epoch !== entry.epoch) {
			if (first === 0 || entry.epoch === NO_EPOCH) return 0
			this.message = `Producer ${entry.producerId} begins epoch ${epoch} with sequence ${first}, not 0`
			return ERROR.OUT_OF_ORDER_SEQUENCE_NUMBER
		}
		const last = entry.lastBatch?.lastSequence ?? -1
		if (first === last + 1 || (first === 0 && last === SEQUENCE_MAX)) return 0
		this.message = `Producer ${entry.producerId} sent sequence ${first} where ${last} was the last`
		return ERROR.OUT_OF_ORDER_SEQUENCE_NUMBER
	}

	#checkMarker(entry: ProducerEntry, marker: MarkerFields): number {
		if (entry.coordinatorEpoch <= marker.coordinatorEpoch) return 0
		this.message = `Coordinator epoch ${marker.coordinatorEpoch} is older than ${entry.coordinatorEpoch}`
		return ERROR.TRANSACTION_COORDINATOR_FENCED
	}

	#addMarker(entry: ProducerEntry, marker: MarkerFields, offset: number): CompletedTransaction | null {
		const firstOffset = entry.transactionFirstOffset
		entry.coordinatorEpoch = marker.coordinatorEpoch
		entry.transactionFirstOffset = -1
		if (firstOffset < 0) return null
		return { producerId: entry.producerId, firstOffset, lastOffset: offset, isAborted: marker.isAbort }
	}

	#refresh(): void {
		let first = Number.POSITIVE_INFINITY
		for (const offset of this.#open.keys()) {
			first = offset
			break
		}
		for (const transaction of this.#unreplicated) if (transaction.firstOffset < first) first = transaction.firstOffset
		this.#firstUnstable = first
	}
}
