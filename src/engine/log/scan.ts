/**
 * Walks the batches of a segment file from a position, whole and in order, with one buffer: for recovery, replay of
 * producer state, rebuilt indexes and the offline tools. Says where the bytes stop being batches; never goes on behind it.
 */

import { batchBaseOffset, isStoredCrcRight, wholeBatchEnd } from '../../protocol/records/batch.js'
import type { Clock, File } from '../../runtime/ports.js'
import { lastOffsetOf } from './segment.js'

const BLOCK_BYTES = 262_144

export class SegmentScan {
	readonly #file: File
	readonly #size: number
	#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
	/** File position of the block's first byte, and how much of it is read. */
	#blockAt: number
	#filled = 0
	/** The batch that `next` found stands in `bytes[at, end)`, at `position` in the file. */
	at = 0
	end = 0
	position: number
	/** Why `next` was false before the end of the file; null while all is well. */
	damage: string | null = null

	/** Scans `file` from `position` to `size`, both at batch borders unless the file is damaged. */
	constructor(file: File, position: number, size: number) {
		this.#file = file
		this.#size = size
		this.#blockAt = position
		this.position = position
	}

	get bytes(): Buffer {
		return this.#block
	}

	/** Position after the last whole batch. */
	get endPosition(): number {
		return this.#blockAt + this.end
	}

	/** Moves to the next whole batch; false at the end and at the first damage. */
	next(): boolean {
		const start = this.endPosition
		if (start >= this.#size || this.damage !== null) return false
		let next = wholeBatchEnd(this.#block, this.end, this.#filled)
		if (next === 0) {
			this.#fill(start)
			next = wholeBatchEnd(this.#block, 0, this.#filled)
			if (next === 0) next = this.#fillLarge(start)
		}
		if (next < 0) {
			this.damage = 'length or magic cannot be'
			return false
		}
		if (next === 0) {
			this.damage = 'batch is cut'
			return false
		}
		this.at = this.end
		this.end = next
		this.position = start
		return true
	}

	/** Holds the batch against CRC and offsets: `expected` is the least its base offset may be. Null when it is right. */
	problem(expected: number, offsetMax: number): string | null {
		const { at, end } = this
		const base = batchBaseOffset(this.#block, at)
		const last = lastOffsetOf(this.#block, at)
		if (base < expected || last < base) return `offsets ${base} to ${last} where ${expected} or more was expected`
		if (last > offsetMax) return `last offset ${last} is too far from the segment's base`
		if (!isStoredCrcRight(this.#block, at, end)) return 'CRC does not match'
		return null
	}

	/** Reads a block that begins with the batch at file position `start`. */
	#fill(start: number): void {
		this.#blockAt = start
		this.end = 0
		const wanted = Math.min(this.#block.length, this.#size - start)
		this.#filled = this.#file.readNow(this.#block.subarray(0, wanted), start)
	}

	/** The batch is larger than the block: a larger block, if the file has so much. */
	#fillLarge(start: number): number {
		if (this.#filled < 17) return 0
		const bytes = 12 + this.#block.readInt32BE(8)
		if (bytes <= this.#block.length || bytes > this.#size - start) return 0
		this.#block = Buffer.allocUnsafeSlow(bytes)
		this.#fill(start)
		return wholeBatchEnd(this.#block, 0, this.#filled)
	}
}

/** Gives way to the event loop when a stretch of work has taken its share of the turn. */
export class Slices {
	readonly #clock: Clock
	#until: number

	constructor(clock: Clock) {
		this.#clock = clock
		this.#until = clock.monotonicMs() + SLICE_MS
	}

	get isOver(): boolean {
		return this.#clock.monotonicMs() >= this.#until
	}

	async giveWay(): Promise<void> {
		await new Promise<void>((resolve) => this.#clock.soon(resolve))
		this.#until = this.#clock.monotonicMs() + SLICE_MS
	}
}

const SLICE_MS = 5
