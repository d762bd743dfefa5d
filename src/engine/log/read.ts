/**
 * Reads of one log: a few batches from the tail cache where it has them, else a slice of a segment file that the
 * connection reads when its socket has drained. No record byte is looked at (7.6).
 */

import { ERROR } from '../../protocol/errors.js'
import { DiskError, type File } from '../../runtime/ports.js'
import type { LogCore } from './log-core.js'
import { type BatchPlace, type Segment, SegmentDamage } from './segment.js'
import { IndexDamage } from './sparse-index.js'
import type { AbortedTransaction } from './txn-index.js'

/** Upper bound of a read: followers to the log end, consumers to the high watermark or the last stable offset (7.5). */
export type ReadBound = 'logEnd' | 'highWatermark' | 'lastStable'

export interface ReadRequest {
	readonly offset: number
	readonly maxBytes: number
	/** The first batch comes whole even when it is larger than `maxBytes` (KIP-74). */
	readonly minOneBatch: boolean
	readonly upTo: ReadBound
	/** Also list aborted transactions that overlap the data (read_committed). */
	readonly withAborted?: boolean
	/** Give a slice of the file even where the tail cache has the bytes: the asker must not hold memory. */
	readonly fromFile?: boolean
}

/** Bytes of a file that are yet to be read. The file is held open until `release`, which is called exactly once. */
export class FileSlice {
	readonly file: File
	readonly position: number
	readonly length: number
	#isHeld = true

	constructor(file: File, position: number, length: number) {
		file.retain()
		this.file = file
		this.position = position
		this.length = length
	}

	/** Lets go of the file; idempotent. */
	release(): void {
		if (!this.#isHeld) return
		this.#isHeld = false
		this.file.release()
	}
}

export interface ReadOutcome {
	/** 0, 1 (OFFSET_OUT_OF_RANGE), 2 (the stored bytes are damaged) or 56. */
	readonly errorCode: number
	/** One at most; a buffer is the receiver's. */
	readonly parts: readonly (Buffer | FileSlice)[]
	readonly bytes: number
	/** Base offset of the first batch, -1 when there is none. It may lie below the offset asked for. */
	readonly firstOffset: number
	readonly highWatermark: number
	readonly lastStableOffset: number
	readonly logStartOffset: number
	readonly logEndOffset: number
	/** By first offset; may name more than overlap, never fewer. Null unless asked for. */
	readonly aborted: readonly AbortedTransaction[] | null
}

const NO_PARTS: readonly (Buffer | FileSlice)[] = []
const NO_ABORTED: readonly AbortedTransaction[] = []

function boundOf(core: LogCore, upTo: ReadBound): number {
	if (upTo === 'logEnd') return core.logEndOffset
	return upTo === 'highWatermark' ? core.highWatermark : core.lastStableOffset
}

function outcome(
	core: LogCore,
	errorCode: number,
	parts: readonly (Buffer | FileSlice)[],
	bytes: number,
	firstOffset: number,
	aborted: readonly AbortedTransaction[] | null,
): ReadOutcome {
	return {
		errorCode,
		parts,
		bytes,
		firstOffset,
		highWatermark: core.highWatermark,
		lastStableOffset: core.lastStableOffset,
		logStartOffset: core.logStartOffset,
		logEndOffset: core.logEndOffset,
		aborted,
	}
}

/** Reads from one log. Never suspends: bytes that are not in memory are given as a slice of their file. */
export function readLog(core: LogCore, request: ReadRequest): ReadOutcome {
	if (core.fencedBy !== null || core.isClosed) return outcome(core, ERROR.KAFKA_STORAGE_ERROR, NO_PARTS, 0, -1, null)
	const { offset, withAborted } = request
	if (offset < core.logStartOffset || offset > core.logEndOffset) {
		return outcome(core, ERROR.OFFSET_OUT_OF_RANGE, NO_PARTS, 0, -1, null)
	}
	const upper = boundOf(core, request.upTo)
	const noAborted = withAborted === true ? NO_ABORTED : null
	if (offset >= upper) return outcome(core, 0, NO_PARTS, 0, -1, noAborted)
	try {
		return readBelow(core, request, upper, noAborted)
	} catch (error) {
		if (!(error instanceof SegmentDamage) && !(error instanceof IndexDamage)) return failed(core, error)
		core.services.logger.warn('indexes are made anew', { log: core.name, reason: error.message })
	}
	try {
		core.segments.floor(offset)?.rebuildIndexes(core.config)
		return readBelow(core, request, upper, noAborted)
	} catch (error) {
		return failed(core, error)
	}
}

function readBelow(
	core: LogCore,
	request: ReadRequest,
	upper: number,
	noAborted: readonly AbortedTransaction[] | null,
): ReadOutcome {
	const { offset, withAborted } = request
	const cached = request.fromFile === true ? null : core.tail.read(offset, upper, request.maxBytes, request.minOneBatch)
	if (cached !== null) {
		const aborted = withAborted === true ? abortedBetween(core, offset, upper) : null
		const parts = cached.bytes.length === 0 ? NO_PARTS : [cached.bytes]
		return outcome(core, 0, parts, cached.bytes.length, cached.baseOffset, aborted)
	}
	const found = readFile(core, request, upper)
	if (found === null) return outcome(core, 0, NO_PARTS, 0, -1, noAborted)
	const aborted = withAborted === true ? abortedBetween(core, offset, found.endOffset) : null
	return outcome(core, 0, [found.slice], found.slice.length, found.place.baseOffset, aborted)
}

function failed(core: LogCore, error: unknown): ReadOutcome {
	if (error instanceof SegmentDamage || error instanceof IndexDamage) {
		core.services.logger.error('stored bytes are damaged', { log: core.name, error: error.message })
		return outcome(core, ERROR.CORRUPT_MESSAGE, NO_PARTS, 0, -1, null)
	}
	if (!(error instanceof DiskError)) throw error
	core.fence(error)
	return outcome(core, ERROR.KAFKA_STORAGE_ERROR, NO_PARTS, 0, -1, null)
}

interface FoundSlice {
	readonly slice: FileSlice
	readonly place: BatchPlace
	readonly endOffset: number
}

function readFile(core: LogCore, request: ReadRequest, upper: number): FoundSlice | null {
	const { segments } = core
	let index = Math.max(0, segments.floorIndex(request.offset))
	for (; index < segments.all.length; index++) {
		const segment = segments.all[index] as Segment
		const place = segment.find(request.offset)
		if (place === null) continue
		if (place.lastOffset >= upper) return null
		const endOffset = Math.min(upper, segments.endOf(segment, core.logEndOffset))
		const end = endPosition(core, segment, endOffset, place.position)
		const fits = Math.min(end - place.position, request.maxBytes)
		let length = fits
		if (fits < place.bytes) {
			if (!request.minOneBatch) return null
			length = place.bytes
		}
		const slice = new FileSlice(segment.file(), place.position, length)
		// The slice holds the file; an old segment keeps no descriptor of its own between reads.
		if (segment !== segments.active) segment.close()
		return { slice, place, endOffset }
	}
	return null
}

/** File position where the batch with `offset` begins; the segment's size when it holds nothing so high. */
function endPosition(core: LogCore, segment: Segment, offset: number, from: number): number {
	if (offset >= core.segments.endOf(segment, core.logEndOffset)) return segment.size
	const indexed = segment.offsetIndex.lookup(offset)
	return segment.find(offset, Math.max(indexed, from))?.position ?? segment.size
}

/** Aborted transactions with a marker at or above `from` that began below `to` (7.13), by first offset. */
export function abortedBetween(core: LogCore, from: number, to: number): readonly AbortedTransaction[] {
	const found: AbortedTransaction[] = []
	const { segments } = core
	for (let index = Math.max(0, segments.floorIndex(from)); index < segments.all.length; index++) {
		const segment = segments.all[index] as Segment
		let isDone = false
		for (const entry of segment.txnIndex.entries()) {
			if (entry.lastOffset >= from && entry.firstOffset < to) found.push(entry)
			if (entry.lastStableOffset >= to) {
				isDone = true
				break
			}
		}
		if (isDone) break
	}
	if (found.length === 0) return NO_ABORTED
	return found.sort((a, b) => a.firstOffset - b.firstOffset)
}
