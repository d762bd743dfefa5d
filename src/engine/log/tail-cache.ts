/**
 * Newest bytes of all logs of a broker in memory, under one budget. Each log has a run of chunks that ends at its log
 * end: large appends are kept as handed over (the log owns them), small ones are copied into slabs that grow with the
 * log's use, so that they pin no socket chunk. Over the budget, the log that was used longest ago loses its oldest chunks.
 *
 *     log:   [chunk 16 KiB slab][chunk 1 MiB as handed over][slab, partly used]   → log end
 *             base 100 …         base 180 …                  base 1,180 …
 */

import { batchBaseOffset, batchBytes } from '../../protocol/records/batch.js'
import { lastOffsetOf } from './segment.js'

const SLAB_BYTES_MIN = 512
const SLAB_BYTES_MAX = 65_536
/** Larger appends are not copied, unless they pin much more than themselves. */
const COPY_BYTES_MAX = 16_384

class Chunk {
	readonly bytes: Buffer
	/** What the budget counts. */
	readonly charge: number
	readonly baseOffset: number
	used: number
	/** Offset after the last in it. */
	endOffset: number

	constructor(bytes: Buffer, used: number, charge: number, baseOffset: number, endOffset: number) {
		this.bytes = bytes
		this.charge = charge
		this.baseOffset = baseOffset
		this.used = used
		this.endOffset = endOffset
	}
}

/** What a read of the cache gives. */
export interface CachedRead {
	readonly parts: Buffer[]
	readonly bytes: number
	readonly baseOffset: number
}

/** All logs' tails together: the budget and the order of use. */
export class TailCache {
	readonly #bytesMax: number
	#bytes = 0
	/** Least recently used first; a Map keeps insertion order. */
	readonly #logs = new Map<LogTail, true>()

	constructor(bytesMax: number) {
		this.#bytesMax = bytesMax
	}

	get bytes(): number {
		return this.#bytes
	}

	tail(): LogTail {
		return new LogTail(this)
	}

	/** Marks the tail as used just now. */
	touch(tail: LogTail): void {
		this.#logs.delete(tail)
		this.#logs.set(tail, true)
	}

	/** Counts more bytes and drops old chunks until all fit. */
	charge(bytes: number): void {
		this.#bytes += bytes
		while (this.#bytes > this.#bytesMax) {
			const oldest = this.#logs.keys().next().value
			if (oldest === undefined) return
			if (!oldest.dropOldest()) this.#logs.delete(oldest)
		}
	}

	credit(bytes: number): void {
		this.#bytes -= bytes
	}

	forget(tail: LogTail): void {
		this.#logs.delete(tail)
	}
}

/** The tail of one log. Offsets in it are contiguous with the log end, or it is empty. */
export class LogTail {
	readonly #cache: TailCache
	#chunks: Chunk[] = []
	#head = 0
	#slab: Chunk | null = null

	constructor(cache: TailCache) {
		this.#cache = cache
	}

	/** First offset held, Infinity when empty. */
	get startOffset(): number {
		return this.#chunks[this.#head]?.baseOffset ?? Number.POSITIVE_INFINITY
	}

	/** Takes whole batches that were just written: offsets [baseOffset, endOffset). */
	add(bytes: Buffer, baseOffset: number, endOffset: number): void {
		this.#cache.touch(this)
		const length = bytes.length
		if (length > COPY_BYTES_MAX) {
			// A slice of a much larger buffer would keep all of it.
			const owned = bytes.buffer.byteLength > length * 2 ? Buffer.from(bytes) : bytes
			this.#slab = null
			this.#push(new Chunk(owned, length, length, baseOffset, endOffset))
			return
		}
		let slab = this.#slab
		if (slab === null || slab.used + length > slab.bytes.length) {
			const wanted = slab === null ? SLAB_BYTES_MIN : slab.bytes.length * 2
			const size = Math.max(Math.min(SLAB_BYTES_MAX, wanted), length)
			slab = new Chunk(Buffer.allocUnsafeSlow(size), 0, size, baseOffset, baseOffset)
			this.#slab = slab
			bytes.copy(slab.bytes, 0)
			slab.used = length
			slab.endOffset = endOffset
			this.#push(slab)
			return
		}
		bytes.copy(slab.bytes, slab.used)
		slab.used += length
		slab.endOffset = endOffset
	}

	/**
	 * Whole batches from the one that holds `offset`, up to `bytesMax` and below `endOffset`; at least one batch when
	 * `minOneBatch`. Null when `offset` is not held.
	 */
	read(offset: number, endOffset: number, bytesMax: number, minOneBatch: boolean): CachedRead | null {
		if (offset < this.startOffset) return null
		let index = this.#indexOf(offset)
		if (index < 0) return null
		this.#cache.touch(this)
		const parts: Buffer[] = []
		let total = 0
		let baseOffset = -1
		for (; index < this.#chunks.length; index++) {
			const chunk = this.#chunks[index] as Chunk
			const from = baseOffset < 0 ? startIn(chunk, offset) : 0
			const room = bytesMax - total
			let to: number
			if (chunk.endOffset <= endOffset && chunk.used - from <= room) to = chunk.used
			else to = endIn(chunk, from, room, endOffset, minOneBatch && total === 0)
			if (baseOffset < 0) baseOffset = batchBaseOffset(chunk.bytes, from)
			if (to > from) {
				parts.push(chunk.bytes.subarray(from, to))
				total += to - from
			}
			if (to < chunk.used || chunk.endOffset >= endOffset) break
		}
		return { parts, bytes: total, baseOffset }
	}

	/** Drops the oldest chunk; false when there is none. */
	dropOldest(): boolean {
		const chunk = this.#chunks[this.#head]
		if (chunk === undefined) return false
		this.#chunks[this.#head] = undefined as unknown as Chunk
		this.#head++
		if (chunk === this.#slab) this.#slab = null
		if (this.#head === this.#chunks.length) {
			this.#chunks = []
			this.#head = 0
		} else if (this.#head > 64 && this.#head * 2 > this.#chunks.length) {
			this.#chunks = this.#chunks.slice(this.#head)
			this.#head = 0
		}
		this.#cache.credit(chunk.charge)
		return true
	}

	/** Empties it: the log was truncated or closed. */
	clear(): void {
		while (this.dropOldest());
		this.#slab = null
		this.#cache.forget(this)
	}

	#push(chunk: Chunk): void {
		this.#chunks.push(chunk)
		this.#cache.charge(chunk.charge)
	}

	/** Index of the chunk that holds `offset`, -1 when it lies behind the end. */
	#indexOf(offset: number): number {
		let low = this.#head
		let high = this.#chunks.length
		while (low < high) {
			const middle = (low + high) >>> 1
			if ((this.#chunks[middle] as Chunk).endOffset <= offset) low = middle + 1
			else high = middle
		}
		return low < this.#chunks.length ? low : -1
	}
}

/** Position of the batch that holds `offset`. */
function startIn(chunk: Chunk, offset: number): number {
	let at = 0
	while (at < chunk.used && lastOffsetOf(chunk.bytes, at) < offset) at += batchBytes(chunk.bytes, at)
	return at
}

/** End of the last whole batch from `from` that fits in `room` bytes and lies below `endOffset`. */
function endIn(chunk: Chunk, from: number, room: number, endOffset: number, firstAnyway: boolean): number {
	let at = from
	while (at < chunk.used) {
		const next = at + batchBytes(chunk.bytes, at)
		if (lastOffsetOf(chunk.bytes, at) >= endOffset) break
		if (next - from > room && !(firstAnyway && at === from)) break
		at = next
	}
	return at
}
