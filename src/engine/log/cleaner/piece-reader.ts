/**
 * Reads the batches of a segment file in bounded pieces through the thread pool. Each batch is held against its length and
 * CRC before anyone sees it: what is damaged is never written again.
 */

import { isStoredCrcRight, wholeBatchEnd } from '../../../protocol/records/batch.js'
import type { File } from '../../../runtime/ports.js'
import { type Segment, SegmentDamage } from '../segment.js'

/** Grows by the batch that does not fit, and is then given back. */
const PREFIX_BYTES = 17

export class PieceReader {
	readonly #pieceBytes: number
	#buffer: Buffer
	/** The batch that `next` found is `bytes[at, end)`. */
	at = 0
	end = 0
	#filled = 0
	#segment: Segment | null = null
	#file: File | null = null
	/** File position of the buffer's start. */
	#position = 0
	#size = 0

	constructor(pieceBytes: number) {
		this.#pieceBytes = Math.max(pieceBytes, PREFIX_BYTES)
		this.#buffer = Buffer.allocUnsafeSlow(this.#pieceBytes)
	}

	get bytes(): Buffer {
		return this.#buffer
	}

	/** Bytes in the piece at hand. */
	get pieceBytes(): number {
		return this.#filled
	}

	/** Begins with `segment` at `position`, a batch's start. The file is held until `close`. */
	open(segment: Segment, position: number): void {
		this.close()
		const file = segment.file()
		file.retain()
		this.#segment = segment
		this.#file = file
		this.#size = segment.size
		this.#position = position
		this.at = 0
		this.end = 0
		this.#filled = 0
	}

	close(): void {
		this.#file?.release()
		this.#file = null
		this.#segment = null
	}

	/**
	 * Reads the next piece, which begins with a whole batch; false at the end of the segment. Slices of the piece before
	 * are void. Throws {@link SegmentDamage} when no batch is there.
	 */
	async nextPiece(): Promise<boolean> {
		this.#position += this.end
		this.at = 0
		this.end = 0
		this.#filled = 0
		const left = this.#size - this.#position
		if (left === 0) return false
		if (this.#buffer.length > this.#pieceBytes) this.#buffer = Buffer.allocUnsafeSlow(this.#pieceBytes)
		await this.#fill(Math.min(left, this.#buffer.length))
		if (wholeBatchEnd(this.#buffer, 0, this.#filled) !== 0) return true
		if (this.#filled < PREFIX_BYTES) throw this.damage('batch is cut')
		const bytes = 12 + this.#buffer.readInt32BE(8)
		if (bytes > left) throw this.damage('batch is cut')
		this.#buffer = Buffer.allocUnsafeSlow(bytes)
		await this.#fill(bytes)
		return true
	}

	/** Moves to the next whole batch of the piece; false when another piece is needed. Throws {@link SegmentDamage}. */
	nextBatch(): boolean {
		const next = wholeBatchEnd(this.#buffer, this.end, this.#filled)
		if (next === 0) return false
		if (next < 0) throw this.damage('length or magic cannot be')
		if (!isStoredCrcRight(this.#buffer, this.end, next)) throw this.damage('CRC does not match')
		this.at = this.end
		this.end = next
		return true
	}

	/** That the batch at hand, or the one after it, is not right. */
	damage(problem: string): SegmentDamage {
		return new SegmentDamage(this.#segment?.path ?? '', this.#position + this.end, problem)
	}

	async #fill(bytes: number): Promise<void> {
		this.#filled = await (this.#file as File).read(this.#buffer.subarray(0, bytes), this.#position)
	}
}
