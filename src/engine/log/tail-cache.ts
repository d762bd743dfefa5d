/**
 * Newest small appends of all logs of a broker in memory, under one budget. A log's tail is a run of slabs that ends at its
 * log end; slabs grow with the log's use, and those of the largest size are used again. Reads are copies, so that a slab
 * can be dropped at any time. Over the budget, the log that was used longest ago loses its oldest slab.
 *
 * It exists for readers that follow small appends: a copy costs less than a read of the file. Large appends and large
 * reads gain nothing here; they go by the page cache, and a large append empties its log's tail.
 *
 *     log:   [slab 32 KiB][slab 64 KiB][slab 64 KiB, partly used]   → log end
 *             base 100 …   base 180 …   base 1,180 …
 */

import { batchBaseOffset, batchBytes } from '../../protocol/records/batch.js'
import { lastOffsetOf } from './segment.js'

const SLAB_BYTES_MIN = 512
const SLAB_BYTES_MAX = 131_072
/** Larger appends are not kept. */
export const APPEND_BYTES_MAX = 32_768
/** Larger reads go to the file. */
export const READ_BYTES_MAX = 65_536

/** Slabs kept to be used again: dropping and filling go hand in hand. */
const FREE_MAX = 64

class Chunk {
	readonly bytes: Buffer
	readonly baseOffset: number
	used = 0
	/** Offset after the last in it. */
	endOffset: number

	constructor(bytes: Buffer, baseOffset: number) {
		this.bytes = bytes
		this.baseOffset = baseOffset
		this.endOffset = baseOffset
	}
}

/** What a read of the cache gives: whole batches, copied. */
export interface CachedRead {
	readonly bytes: Buffer
	/** Of the first batch, -1 when there is none. */
	readonly baseOffset: number
}

const NOTHING: CachedRead = { bytes: Buffer.alloc(0), baseOffset: -1 }

/** All logs' tails together: the budget and the order of use. */
export class TailCache {
	readonly #bytesMax: number
	#bytes = 0
	/** Tails that hold something, by use: a list through the tails, since a Map leaves garbage at every append. */
	#leastRecent: LogTail | null = null
	#mostRecent: LogTail | null = null
	/** Memory of dropped slabs of the largest size. */
	readonly #free: Buffer[] = []

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
		if (tail === this.#mostRecent) return
		this.forget(tail)
		tail.older = this.#mostRecent
		if (this.#mostRecent === null) this.#leastRecent = tail
		else this.#mostRecent.newer = tail
		this.#mostRecent = tail
	}

	/** Counts more bytes and drops old chunks until all fit. */
	charge(bytes: number): void {
		this.#bytes += bytes
		while (this.#bytes > this.#bytesMax) {
			const oldest = this.#leastRecent
			if (oldest === null) return
			if (!oldest.dropOldest()) this.forget(oldest)
		}
	}

	credit(bytes: number): void {
		this.#bytes -= bytes
	}

	/** Memory for a slab. */
	slab(size: number): Buffer {
		return (size === SLAB_BYTES_MAX ? this.#free.pop() : undefined) ?? Buffer.allocUnsafeSlow(size)
	}

	/** A slab that nothing refers to any more. */
	free(slab: Buffer): void {
		if (slab.length === SLAB_BYTES_MAX && this.#free.length < FREE_MAX) this.#free.push(slab)
	}

	/** Takes the tail out of the order of use, if it is in it. */
	forget(tail: LogTail): void {
		const { older, newer } = tail
		if (older !== null) older.newer = newer
		else if (this.#leastRecent === tail) this.#leastRecent = newer
		if (newer !== null) newer.older = older
		else if (this.#mostRecent === tail) this.#mostRecent = older
		tail.older = null
		tail.newer = null
	}
}

/** The tail of one log. Offsets in it are contiguous with the log end, or it is empty. */
export class LogTail {
	readonly #cache: TailCache
	#chunks: Chunk[] = []
	#head = 0
	#slab: Chunk | null = null
	/** Neighbours in the order of use; the cache's. */
	older: LogTail | null = null
	newer: LogTail | null = null

	constructor(cache: TailCache) {
		this.#cache = cache
	}

	/** First offset held, Infinity when empty. */
	get startOffset(): number {
		return this.#chunks[this.#head]?.baseOffset ?? Number.POSITIVE_INFINITY
	}

	/** Takes whole batches that were just written, offsets [baseOffset, endOffset). They are copied or, if large, left out. */
	add(bytes: Buffer, baseOffset: number, endOffset: number): void {
		const length = bytes.length
		if (length > APPEND_BYTES_MAX) {
			this.clear()
			return
		}
		this.#cache.touch(this)
		let slab = this.#slab
		if (slab === null || slab.used + length > slab.bytes.length) {
			const wanted = slab === null ? SLAB_BYTES_MIN : slab.bytes.length * 2
			const size = Math.max(Math.min(SLAB_BYTES_MAX, wanted), length)
			slab = new Chunk(this.#cache.slab(size), baseOffset)
			this.#slab = slab
			this.#chunks.push(slab)
		}
		bytes.copy(slab.bytes, slab.used)
		slab.used += length
		slab.endOffset = endOffset
		// Only now: under a small budget the slab just made is itself the oldest.
		if (slab.used === length) this.#cache.charge(slab.bytes.length)
	}

	/**
	 * Whole batches from the one that holds `offset`, up to `bytesMax` and below `endOffset`; at least one batch when
	 * `minOneBatch`. Null when `offset` is not held, or the read is large.
	 */
	read(offset: number, endOffset: number, bytesMax: number, minOneBatch: boolean): CachedRead | null {
		if (offset < this.startOffset) return null
		let index = this.#indexOf(offset)
		if (index < 0) return null
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
				if (total > READ_BYTES_MAX) return null
			}
			if (to < chunk.used || chunk.endOffset >= endOffset) break
		}
		this.#cache.touch(this)
		if (total === 0) return NOTHING
		const bytes = Buffer.allocUnsafe(total)
		let at = 0
		for (const part of parts) at += part.copy(bytes, at)
		return { bytes, baseOffset }
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
		this.#cache.credit(chunk.bytes.length)
		this.#cache.free(chunk.bytes)
		return true
	}

	/** Drops what begins below `offset`: the log has other bytes there now. */
	dropBelow(offset: number): void {
		while (this.startOffset < offset && this.dropOldest());
	}

	/** Empties it: the log was truncated or closed. */
	clear(): void {
		while (this.dropOldest());
		this.#slab = null
		this.#cache.forget(this)
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
