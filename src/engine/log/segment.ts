/**
 * One `.log` file with its indexes (19.2–19.8): a run of offsets from `baseOffset`. Appends go to its end, readers ask
 * for the place of an offset or a time. Files are opened at first use, so that thousands of idle partitions cost little.
 * The partition log owns segments and is the only caller; nothing here knows of offsets outside the segment.
 */

import { assert } from '../../base/assert.js'
import { readInt64 } from '../../base/bytes.js'
import {
	BATCH_HEADER_BYTES,
	BATCH_PREFIX_BYTES,
	batchBaseOffset,
	batchLastOffset,
	batchMagic,
	batchMaxTimestamp,
	wholeBatchEnd,
} from '../../protocol/records/batch.js'
import type { Disk, File } from '../../runtime/ports.js'
import { IndexDamage, OffsetIndex, TimeIndex } from './sparse-index.js'
import { TxnIndex } from './txn-index.js'

/** A segment's bytes contradict the format at `position`. */
export class SegmentDamage extends Error {
	override readonly name = 'SegmentDamage'
	constructor(
		readonly path: string,
		readonly position: number,
		readonly problem: string,
	) {
		super(`${path} at ${position}: ${problem}`)
	}
}

/** Where a batch stands in its file. */
export interface BatchPlace {
	readonly position: number
	readonly bytes: number
	readonly baseOffset: number
	readonly lastOffset: number
	readonly maxTimestamp: number
	readonly magic: number
}

/** 20 digits, zero padded: the name of all files of a segment but the ending. */
export function segmentName(baseOffset: number): string {
	return String(baseOffset).padStart(20, '0')
}

/** Last offset of a batch of any magic; for v0 and v1 the offset field is it. */
export function lastOffsetOf(bytes: Buffer, at: number): number {
	return batchMagic(bytes, at) < 2 ? batchBaseOffset(bytes, at) : batchLastOffset(bytes, at)
}

/** Largest timestamp of a batch of any magic, -1 for v0. */
export function maxTimestampOf(bytes: Buffer, at: number): number {
	const magic = batchMagic(bytes, at)
	if (magic === 2) return batchMaxTimestamp(bytes, at)
	return magic === 1 ? readInt64(bytes, at + 18) : -1
}

/** What a segment needs of the topic's configuration. Read at each use, so a change takes effect at once. */
export interface SegmentLimits {
	readonly indexIntervalBytes: number
	readonly segmentIndexBytes: number
}

/** One read finds the header of any batch that begins in it: larger than an index interval. */
const scanBuffer = Buffer.alloc(8192)
/** Bytes that must be there to know all of {@link BatchPlace}. v0 and v1 messages may be shorter than a v2 header. */
const PLACE_BYTES = BATCH_HEADER_BYTES

export class Segment {
	readonly baseOffset: number
	readonly path: string
	readonly offsetIndex: OffsetIndex
	readonly timeIndex: TimeIndex
	readonly txnIndex: TxnIndex
	readonly createdMs: number
	readonly #disk: Disk
	#file: File | null = null
	#size: number
	#sinceIndex: number
	#maxTimestamp: number | null
	#maxTimestampOffset: number
	#firstTimestamp: number | null = null
	/** Was truncated: the time index no longer ends with the largest time. */
	#isCut = false
	#isGone = false

	/**
	 * `size` is that of the `.log` file, 0 for a new one. `createdMs` decides when a segment without times rolls. `suffix`
	 * ends all names of one that is not in place yet (19.2).
	 */
	constructor(
		disk: Disk,
		directory: string,
		baseOffset: number,
		size: number,
		limits: SegmentLimits,
		createdMs: number,
		suffix = '',
	) {
		const stem = disk.join(directory, segmentName(baseOffset))
		this.#disk = disk
		this.baseOffset = baseOffset
		this.path = `${stem}.log${suffix}`
		this.offsetIndex = new OffsetIndex(disk, `${stem}.index${suffix}`, baseOffset, limits.segmentIndexBytes)
		this.timeIndex = new TimeIndex(disk, `${stem}.timeindex${suffix}`, baseOffset, limits.segmentIndexBytes)
		this.txnIndex = new TxnIndex(disk, `${stem}.txnindex${suffix}`)
		this.createdMs = createdMs
		this.#size = size
		this.#sinceIndex = -1
		this.#maxTimestamp = size === 0 ? -1 : null
		this.#maxTimestampOffset = baseOffset
	}

	get size(): number {
		return this.#size
	}

	/** Its files are gone or let go for good: whoever waited meanwhile must leave it. */
	get isGone(): boolean {
		return this.#isGone
	}

	/** Largest timestamp so far, -1 when none. */
	get maxTimestamp(): number {
		return this.#maxTimestamp ?? this.#loadMaxTimestamp()
	}

	/** Last offset of the batch that has it. */
	get maxTimestampOffset(): number {
		if (this.#maxTimestamp === null) this.#loadMaxTimestamp()
		return this.#maxTimestampOffset
	}

	/** Largest timestamp of the first batch, -1 when empty or without times. */
	get firstTimestamp(): number {
		if (this.#firstTimestamp !== null) return this.#firstTimestamp
		if (this.#size === 0) return -1
		this.#firstTimestamp = this.placeAt(0)?.maxTimestamp ?? -1
		return this.#firstTimestamp
	}

	/** The open `.log` file. The segment keeps its own hold; retain it for longer use. */
	file(): File {
		assert(!this.#isGone, `use of ${this.path} after its end`)
		this.#file ??= this.#disk.openNow(this.path, 'create')
		return this.#file
	}

	/** Writes at the end, synchronously. On a disk error the bytes past `size` are unknown: the owner fences. */
	writeNow(chunks: readonly Uint8Array[]): void {
		this.file().writeNow(chunks, this.#size)
	}

	/** As `writeNow`, through the pool. */
	write(chunks: readonly Uint8Array[]): Promise<void> {
		return this.file().write(chunks, this.#size)
	}

	/**
	 * Counts bytes that were just written and keeps the indexes: an entry when more than `indexIntervalBytes` came since
	 * the last one. `lastOffset` is that of the set, `maxOffset` the last offset of the batch with `maxTimestamp`.
	 */
	added(bytes: number, lastOffset: number, maxTimestamp: number, maxOffset: number, limits: SegmentLimits): void {
		const position = this.#size
		if (position === 0) this.#firstTimestamp = maxTimestamp
		if (this.#sinceIndex < 0) this.#sinceIndex = position - this.offsetIndex.lastPosition()
		if (maxTimestamp > this.maxTimestamp) {
			this.#maxTimestamp = maxTimestamp
			this.#maxTimestampOffset = maxOffset
		}
		if (this.#sinceIndex > limits.indexIntervalBytes) {
			this.offsetIndex.append(lastOffset, position)
			this.timeIndex.appendIfLater(this.#maxTimestamp as number, this.#maxTimestampOffset)
			this.#sinceIndex = 0
		}
		this.#size += bytes
		this.#sinceIndex += bytes
	}

	/** Place of the batch that begins at `position`; null at the end or when it is cut there. Throws {@link SegmentDamage}. */
	placeAt(position: number): BatchPlace | null {
		const read = this.file().readNow(scanBuffer.subarray(0, PLACE_BYTES), position)
		return this.#place(scanBuffer, 0, read, position)
	}

	/**
	 * First batch whose last offset is at or above `offset`, searching from the index (or from `from`, a batch's
	 * position, when given); null when the segment has none.
	 */
	find(offset: number, from = -1): BatchPlace | null {
		if (this.#size === 0) return null
		const wasOpen = this.#file !== null
		const place = this.#search(offset, from)
		// Passed over, as at a gap that compaction left: no descriptor stays behind.
		if (place === null && !wasOpen) this.close()
		return place
	}

	#search(offset: number, from: number): BatchPlace | null {
		let position = from >= 0 ? from : this.#indexed(this.offsetIndex.lookup(offset))
		const file = this.file()
		while (position < this.#size) {
			const read = file.readNow(scanBuffer, position)
			let at = 0
			for (;;) {
				const place = this.#place(scanBuffer, at, read, position + at)
				if (place === null) {
					// Cut by the buffer: go on from here, unless the file itself ends.
					if (at === 0) return null
					break
				}
				if (place.lastOffset >= offset) return place
				at += place.bytes
				if (at + PLACE_BYTES > read) break
			}
			position += at
		}
		return null
	}

	/** First batch at or after `position` that has a timestamp at or above `timestamp`; null when there is none. */
	findTimestamp(timestamp: number, position: number): BatchPlace | null {
		let at = position
		while (at < this.#size) {
			const place = this.placeAt(at)
			if (place === null) return null
			if (place.maxTimestamp >= timestamp) return place
			at += place.bytes
		}
		return null
	}

	/** Whole bytes of the batch at `place`. */
	readBatch(place: BatchPlace): Buffer {
		const bytes = Buffer.allocUnsafe(place.bytes)
		const read = this.file().readNow(bytes, place.position)
		if (read < place.bytes) throw new SegmentDamage(this.path, place.position, 'batch is cut')
		return bytes
	}

	/** Next offset after the last batch, found from the last index entry on. Throws {@link SegmentDamage} when it is cut. */
	nextOffset(): number {
		let position = this.#indexed(this.offsetIndex.lastPosition())
		let next = this.baseOffset
		while (position < this.#size) {
			const place = this.placeAt(position)
			if (place === null) throw new SegmentDamage(this.path, position, 'batch is cut')
			next = place.lastOffset + 1
			position += place.bytes
		}
		return next
	}

	/** Makes offset and time index anew from the batches' headers; the log itself is trusted. Throws {@link SegmentDamage}. */
	rebuildIndexes(limits: SegmentLimits): void {
		const places: BatchPlace[] = []
		for (let at = 0; at < this.#size; ) {
			const place = this.placeAt(at)
			if (place === null) throw new SegmentDamage(this.path, at, 'batch is cut')
			places.push(place)
			at += place.bytes
		}
		this.offsetIndex.clear()
		this.timeIndex.clear()
		this.#size = 0
		this.#sinceIndex = 0
		this.#maxTimestamp = -1
		for (const { bytes, lastOffset, maxTimestamp } of places) {
			this.added(bytes, lastOffset, maxTimestamp, lastOffset, limits)
		}
	}

	/** Cuts the log at `position`, where the batch with `offset` began, and the indexes with it. */
	truncate(offset: number, position: number): void {
		assert(position <= this.#size, `truncate ${this.path} to ${position}, beyond ${this.#size}`)
		this.offsetIndex.truncate(offset, position)
		this.timeIndex.truncate(offset)
		this.txnIndex.truncate(offset)
		this.file().truncateNow(position)
		this.#size = position
		this.#sinceIndex = -1
		this.#isCut = true
		this.#maxTimestamp = position === 0 ? -1 : null
		this.#maxTimestampOffset = this.baseOffset
		if (position === 0) this.#firstTimestamp = null
	}

	/** After recovery has read every batch: what it found. The indexes were filled by `added`. */
	resetForRebuild(): void {
		this.offsetIndex.clear()
		this.timeIndex.clear()
		this.txnIndex.clear()
		this.#size = 0
		this.#sinceIndex = 0
		this.#maxTimestamp = -1
		this.#maxTimestampOffset = this.baseOffset
		this.#firstTimestamp = null
	}

	/** Cuts the file to what `added` has counted, after a rebuild or a failed write. */
	cutFile(): void {
		const file = this.file()
		if (file.sizeNow() !== this.#size) file.truncateNow(this.#size)
	}

	/** No more appends: the closing time entry, and both indexes cut to their entries (20.2). */
	seal(): void {
		if (this.#size > 0 && this.maxTimestamp >= 0) {
			this.timeIndex.appendIfLater(this.maxTimestamp, this.#maxTimestampOffset)
		}
		this.offsetIndex.trim()
		this.timeIndex.trim()
	}

	/** Log first, then indexes: an index never names bytes that are not there. */
	async sync(): Promise<void> {
		if (!this.#isGone) await this.file().sync()
		if (!this.#isGone) await this.offsetIndex.sync()
		if (!this.#isGone) await this.timeIndex.sync()
		if (!this.#isGone) await this.txnIndex.sync()
	}

	/** Lets go of all files until the next use; index entries that wait are written first. */
	close(): void {
		if (this.#isGone) return
		this.offsetIndex.close()
		this.timeIndex.close()
		this.#file?.closeNow()
		this.#file = null
	}

	/** The end of this object: lets go of all files without writing, and opens none again. */
	abandon(): void {
		this.#isGone = true
		this.offsetIndex.abandon()
		this.timeIndex.abandon()
		this.#file?.closeNow()
		this.#file = null
	}

	/** The files of this segment that may exist. */
	paths(): string[] {
		return [this.path, this.offsetIndex.path, this.timeIndex.path, this.txnIndex.path]
	}

	/** Time of the file's last change, for retention of records without times. */
	modifiedMs(): number {
		return this.#disk.statNow(this.path)?.modifiedMs ?? this.createdMs
	}

	#place(bytes: Buffer, at: number, read: number, position: number): BatchPlace | null {
		if (read - at < BATCH_PREFIX_BYTES) return null
		const end = wholeBatchEnd(bytes, at, Number.POSITIVE_INFINITY)
		if (end < 0) throw new SegmentDamage(this.path, position, 'length or magic cannot be')
		const size = end - at
		if (position + size > this.#size) return null
		const magic = batchMagic(bytes, at)
		if (magic > 0 && read - at < (magic === 2 ? PLACE_BYTES : 26)) return null
		return {
			position,
			bytes: size,
			baseOffset: batchBaseOffset(bytes, at),
			lastOffset: lastOffsetOf(bytes, at),
			maxTimestamp: maxTimestampOf(bytes, at),
			magic,
		}
	}

	/** An index may not name a place behind the log. */
	#indexed(position: number): number {
		if (position > 0 && position >= this.#size) {
			throw new IndexDamage(this.offsetIndex.path, `position ${position} lies behind the log's ${this.#size} bytes`)
		}
		return position
	}

	/** From the closing entry of the time index; after a cut, or without any entry, from the batches behind it too. */
	#loadMaxTimestamp(): number {
		let { timestamp, offset } = this.timeIndex.lastEntry()
		if (this.#isCut || timestamp < 0) {
			let position = this.offsetIndex.lookup(offset)
			while (position < this.#size) {
				const place = this.placeAt(position)
				if (place === null) break
				if (place.maxTimestamp > timestamp) {
					timestamp = place.maxTimestamp
					offset = place.lastOffset
				}
				position += place.bytes
			}
		}
		this.#maxTimestamp = timestamp
		this.#maxTimestampOffset = offset
		return timestamp
	}
}
