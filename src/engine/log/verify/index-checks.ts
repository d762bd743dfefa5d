/**
 * Index files held against the batches of their segment, in step with one pass over it. What counts is what a reader relies
 * on: an entry leads to the border of a batch, nothing that it skips is what was asked for, and times only rise.
 */

import { readInt64 } from '../../../base/bytes.js'
import { type Disk, DiskError } from '../../../runtime/ports.js'
import { type AbortedTransaction, decodeAborted } from '../txn-index.js'
import type { Faults } from './finding.js'

/** Content of a file, null when it is not there. */
export function readIfThere(disk: Disk, path: string): Buffer | null {
	try {
		return disk.readFileNow(path)
	} catch (error) {
		if (error instanceof DiskError && error.code === 'ENOENT') return null
		throw error
	}
}

/** Entries before the zero tail of a file that was made larger than it is filled. */
function filledCount(bytes: Buffer, entryBytes: number, isEmptyAt: (at: number) => boolean): number {
	let count = Math.floor(bytes.length / entryBytes)
	while (count > 0 && isEmptyAt((count - 1) * entryBytes)) count--
	// A first entry of zeros can be real (offset 0 at position 0) only where something follows it.
	return count
}

/** What a pass tells of each batch. */
export interface PassedBatch {
	readonly position: number
	readonly baseOffset: number
	readonly lastOffset: number
	readonly maxTimestamp: number
}

const OFFSET_ENTRY = 8
const TIME_ENTRY = 12
const TXN_ENTRY = 34

export class OffsetIndexCheck {
	readonly #bytes: Buffer
	readonly #count: number
	readonly #path: string
	readonly #base: number
	readonly #faults: Faults
	#next = 0
	/** Offset of an entry whose place was passed and whose batch is still to come; -1 none. */
	#awaited = -1
	#lastPosition = -1

	constructor(bytes: Buffer, path: string, base: number, faults: Faults) {
		this.#bytes = bytes
		this.#path = path
		this.#base = base
		this.#faults = faults
		this.#count = filledCount(
			bytes,
			OFFSET_ENTRY,
			(at) => bytes.readUInt32BE(at) === 0 && bytes.readUInt32BE(at + 4) === 0,
		)
		if (bytes.length % OFFSET_ENTRY !== 0) {
			faults.add('index', path, bytes.length, null, `${bytes.length} bytes are not whole entries of ${OFFSET_ENTRY}`)
		}
		this.#checkOrder()
	}

	#offset(index: number): number {
		return this.#base + this.#bytes.readInt32BE(index * OFFSET_ENTRY)
	}

	#position(index: number): number {
		return this.#bytes.readInt32BE(index * OFFSET_ENTRY + 4)
	}

	#checkOrder(): void {
		for (let i = 1; i < this.#count; i++) {
			if (this.#offset(i) > this.#offset(i - 1) && this.#position(i) > this.#position(i - 1)) continue
			const text = `entry ${i} (offset ${this.#offset(i)}, position ${this.#position(i)}) is not above the one before`
			this.#fault(i, text)
			return
		}
	}

	passed(batch: PassedBatch): void {
		this.#lastPosition = batch.position
		while (this.#next < this.#count && this.#position(this.#next) < batch.position) {
			this.#fault(
				this.#next,
				`entry ${this.#next} leads to position ${this.#position(this.#next)}, where no batch begins`,
			)
			this.#next++
		}
		if (this.#next < this.#count && this.#position(this.#next) === batch.position) {
			const offset = this.#offset(this.#next)
			if (offset < batch.baseOffset) {
				this.#fault(
					this.#next,
					`entry ${this.#next} leads offset ${offset} past its batch, to offset ${batch.baseOffset}`,
				)
			} else this.#awaited = offset
			this.#next++
		}
		if (this.#awaited < 0 || batch.lastOffset < this.#awaited) return
		if (batch.lastOffset !== this.#awaited) {
			this.#fault(this.#next - 1, `entry ${this.#next - 1} names offset ${this.#awaited}, where no batch ends`)
		}
		this.#awaited = -1
	}

	/** The segment is over; `isWhole` false when its rest could not be read. */
	ended(isWhole: boolean): void {
		if (!isWhole) return
		for (let i = this.#next; i < this.#count; i++) {
			this.#fault(
				i,
				`entry ${i} leads to position ${this.#position(i)}, behind the last batch at ${this.#lastPosition}`,
			)
		}
		if (this.#awaited >= 0) this.#fault(this.#next - 1, `entry names offset ${this.#awaited}, behind the last batch`)
	}

	#fault(index: number, problem: string): void {
		this.#faults.add('index', this.#path, index * OFFSET_ENTRY, this.#offset(index), problem)
	}
}

export class TimeIndexCheck {
	readonly #bytes: Buffer
	readonly #count: number
	readonly #path: string
	readonly #base: number
	readonly #faults: Faults
	#next = 0
	#latest = -1

	constructor(bytes: Buffer, path: string, base: number, faults: Faults) {
		this.#bytes = bytes
		this.#path = path
		this.#base = base
		this.#faults = faults
		this.#count = filledCount(
			bytes,
			TIME_ENTRY,
			(at) => bytes.readBigInt64BE(at) === 0n && bytes.readUInt32BE(at + 8) === 0,
		)
		if (bytes.length % TIME_ENTRY !== 0) {
			faults.add('timeindex', path, bytes.length, null, `${bytes.length} bytes are not whole entries of ${TIME_ENTRY}`)
		}
		for (let i = 1; i < this.#count; i++) {
			if (this.#timestamp(i) > this.#timestamp(i - 1) && this.#offset(i) > this.#offset(i - 1)) continue
			// The closing entry of Kafka may repeat the one before.
			if (this.#timestamp(i) === this.#timestamp(i - 1) && this.#offset(i) === this.#offset(i - 1)) continue
			this.#fault(i, `entry ${i} (time ${this.#timestamp(i)}, offset ${this.#offset(i)}) is not above the one before`)
			break
		}
	}

	#timestamp(index: number): number {
		return readInt64(this.#bytes, index * TIME_ENTRY)
	}

	#offset(index: number): number {
		return this.#base + this.#bytes.readInt32BE(index * TIME_ENTRY + 8)
	}

	passed(batch: PassedBatch): void {
		while (this.#next < this.#count && this.#offset(this.#next) <= batch.lastOffset) {
			const time = this.#timestamp(this.#next)
			const offset = this.#offset(this.#next)
			if (offset < batch.baseOffset)
				this.#fault(this.#next, `entry ${this.#next} names offset ${offset}, which no batch has`)
			else if (batch.maxTimestamp !== time) {
				this.#fault(
					this.#next,
					`entry ${this.#next} has time ${time}, the batch with offset ${offset} has ${batch.maxTimestamp}`,
				)
			} else if (this.#latest > time) {
				this.#fault(this.#next, `entry ${this.#next} has time ${time}, below ${this.#latest} of an earlier batch`)
			}
			this.#next++
		}
		if (batch.maxTimestamp > this.#latest) this.#latest = batch.maxTimestamp
	}

	ended(isWhole: boolean): void {
		if (!isWhole) return
		for (let i = this.#next; i < this.#count; i++) {
			this.#fault(i, `entry ${i} names offset ${this.#offset(i)}, behind the last batch`)
		}
	}

	#fault(index: number, problem: string): void {
		this.#faults.add('timeindex', this.#path, index * TIME_ENTRY, this.#offset(index), problem)
	}
}

/** Aborted transactions of a segment, as its markers tell them and as its index has them. */
export class TxnIndexCheck {
	readonly #path: string
	readonly #faults: Faults
	readonly #entries = new Map<number, { readonly entry: AbortedTransaction; readonly position: number }>()

	/** `bytes` null: there is no index file. */
	constructor(bytes: Buffer | null, path: string, faults: Faults) {
		this.#path = path
		this.#faults = faults
		const length = bytes?.length ?? 0
		if (length % TXN_ENTRY !== 0) {
			faults.add('txnindex', path, length, null, `${length} bytes are not whole entries of ${TXN_ENTRY}`)
		}
		for (let at = 0; bytes !== null && at + TXN_ENTRY <= length; at += TXN_ENTRY) {
			const version = bytes.readInt16BE(at)
			const entry = decodeAborted(bytes, at)
			if (version !== 0) faults.add('txnindex', path, at, null, `entry has version ${version}`)
			else this.#entries.set(entry.lastOffset, { entry, position: at })
		}
	}

	/** A marker that aborted a transaction with data here, from `firstOffset` on. */
	aborted(producerId: bigint, firstOffset: number, markerOffset: number): void {
		const found = this.#entries.get(markerOffset)
		this.#entries.delete(markerOffset)
		if (found === undefined) {
			const text = `no entry for the transaction of producer ${producerId} that the marker at ${markerOffset} aborted`
			this.#faults.add('txnindex', this.#path, null, markerOffset, text)
			return
		}
		const { entry, position } = found
		if (entry.producerId === producerId && entry.firstOffset === firstOffset) return
		const text = `entry has producer ${entry.producerId} from offset ${entry.firstOffset}, the log ${producerId} from ${firstOffset}`
		this.#faults.add('txnindex', this.#path, position, markerOffset, text)
	}

	/** `isComplete` false: the log does not begin with the transactions' data, or could not be read whole. */
	ended(isComplete: boolean): void {
		if (!isComplete) return
		for (const [offset, { position }] of this.#entries) {
			this.#faults.add(
				'txnindex',
				this.#path,
				position,
				offset,
				`entry names offset ${offset}, where no marker aborts anything`,
			)
		}
	}
}
