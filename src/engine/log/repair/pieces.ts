/**
 * What is in a `.log` file, damaged or not: every batch whose CRC is right, and the stretches between that are none. Behind
 * damage the next batch is looked for byte by byte; first where the damaged batch says that it ends, so that a batch inside
 * of a record is not taken for one of the log.
 */

import type { Compression } from '../../../base/compression.js'
import {
	BATCH_PREFIX_BYTES,
	batchBaseOffset,
	batchLastOffsetDelta,
	batchLeaderEpoch,
	batchMagic,
	isStoredCrcRight,
	LEGACY_LENGTH_MIN,
	wholeBatchEnd,
} from '../../../protocol/records/batch.js'
import type { Clock, File } from '../../../runtime/ports.js'
import { Slices } from '../scan.js'
import { lastOffsetOf } from '../segment.js'
import { type RecordProblem, recordProblem } from '../verify/segment-check.js'

/** A batch with a right CRC. */
export interface Piece {
	readonly kind: 'batch'
	readonly position: number
	readonly bytes: number
	readonly baseOffset: number
	readonly lastOffset: number
	/** Offsets after the first: exact also where the base is out of all bounds. */
	readonly span: number
	/** -1 in old formats. */
	readonly leaderEpoch: number
	/** What is wrong with its records; null when nothing. */
	readonly records: RecordProblem | null
}

/** Bytes that are no batch, or one with a wrong CRC. */
export interface Stretch {
	readonly kind: 'stretch'
	readonly position: number
	readonly bytes: number
	readonly problem: string
}

/** Work in slices, on batches that decompress to at most so many bytes. */
export interface ReadParts {
	readonly clock: Clock
	readonly compression: Compression
	readonly decompressedBytesMax: number
}

const WINDOW_BYTES = 65_536

/** All of `file`, in order and without a gap. */
export async function readPieces(parts: ReadParts, file: File): Promise<(Piece | Stretch)[]> {
	const size = file.sizeNow()
	const slices = new Slices(parts.clock)
	const pieces: (Piece | Stretch)[] = []
	for (let at = 0; at < size; ) {
		const batch = readBatchAt(file, at, size)
		if (typeof batch !== 'string') {
			pieces.push({
				kind: 'batch',
				position: at,
				bytes: batch.length,
				baseOffset: batchBaseOffset(batch, 0),
				lastOffset: lastOffsetOf(batch, 0),
				span: batchMagic(batch, 0) === 2 ? batchLastOffsetDelta(batch, 0) : 0,
				leaderEpoch: batchMagic(batch, 0) === 2 ? batchLeaderEpoch(batch, 0) : -1,
				records: await recordProblem(parts.compression, batch, parts.decompressedBytesMax),
			})
			at += batch.length
		} else {
			const next = await nextBatch(file, at, size, slices)
			pieces.push({ kind: 'stretch', position: at, bytes: next - at, problem: batch })
			at = next
		}
		if (slices.isOver) await slices.giveWay()
	}
	return pieces
}

/** The batch at `position`, or why there is none. */
function readBatchAt(file: File, position: number, size: number): Buffer | string {
	const prefix = Buffer.alloc(BATCH_PREFIX_BYTES)
	if (file.readNow(prefix, position) < prefix.length) return 'batch is cut'
	const end = wholeBatchEnd(prefix, 0, Number.POSITIVE_INFINITY)
	if (end < 0) return 'length or magic cannot be'
	if (position + end > size) return 'batch is cut'
	const bytes = Buffer.allocUnsafe(end)
	file.readNow(bytes, position)
	return isStoredCrcRight(bytes, 0, end) ? bytes : 'CRC does not match'
}

/** Where the next right batch begins behind the damage at `position`; the end of the file when there is none. */
async function nextBatch(file: File, position: number, size: number, slices: Slices): Promise<number> {
	const prefix = Buffer.alloc(BATCH_PREFIX_BYTES)
	if (file.readNow(prefix, position) === prefix.length) {
		const claimed = position + wholeBatchEnd(prefix, 0, Number.POSITIVE_INFINITY)
		if (claimed > position && claimed < size && typeof readBatchAt(file, claimed, size) !== 'string') return claimed
	}
	const window = Buffer.alloc(WINDOW_BYTES)
	for (let from = position + 1; from < size; from += WINDOW_BYTES - BATCH_PREFIX_BYTES) {
		const read = file.readNow(window, from)
		for (let at = 0; at + BATCH_PREFIX_BYTES <= read; at++) {
			// Cheap looks first: magic, then a length that fits, then an offset of any sense.
			if ((window[at + 16] as number) > 2) continue
			const length = window.readInt32BE(at + 8)
			if (length < LEGACY_LENGTH_MIN || from + at + 12 + length > size || window.readUInt16BE(at) > 0x1f) continue
			if (typeof readBatchAt(file, from + at, size) !== 'string') return from + at
		}
		if (slices.isOver) await slices.giveWay()
	}
	return size
}
