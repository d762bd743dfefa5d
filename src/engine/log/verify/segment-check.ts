/** One pass over a `.log` file: every batch whole, its CRC, offsets and records, and the indexes beside it. */

import { CodecError, type Compression } from '../../../base/compression.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseTimestamp,
	batchLastOffsetDelta,
	batchLeaderEpoch,
	batchMagic,
	batchMaxTimestamp,
	batchRecordCount,
	CODEC_MASK,
	CONTROL_BIT,
	LOG_APPEND_TIME_BIT,
} from '../../../protocol/records/batch.js'
import { codecName, decompressStream } from '../../../protocol/records/compression.js'
import { RecordFormatError } from '../../../protocol/records/fields.js'
import { messagesOf } from '../../../protocol/records/legacy.js'
import { RecordWalk, walkRecords } from '../../../protocol/records/walk.js'
import type { Clock, Disk } from '../../../runtime/ports.js'
import { markerOf } from '../marker.js'
import type { CompletedTransaction, ProducerState } from '../producer-state.js'
import { SegmentScan, Slices } from '../scan.js'
import { lastOffsetOf, maxTimestampOf, segmentName } from '../segment.js'
import type { Faults } from './finding.js'
import { OffsetIndexCheck, readIfThere, TimeIndexCheck, TxnIndexCheck } from './index-checks.js'

export interface SegmentCheckParts {
	readonly disk: Disk
	readonly clock: Clock
	readonly compression: Compression
	/** The most bytes that one batch may decompress to. */
	readonly decompressedBytesMax: number
	/** Records are read too, not only batches. */
	readonly isDeep: boolean
	readonly faults: Faults
	/** Followed over all segments. */
	readonly producers: ProducerState
	/** Told of each batch's first offset and leader epoch. */
	readonly onEpoch: (path: string, position: number, offset: number, epoch: number) => void
	/** The log has all data of the transactions whose markers it has. */
	readonly isFromStart: boolean
}

export interface CheckedSegment {
	readonly batches: number
	readonly records: number
	/** Next offset after the last good batch; the base when there is none. */
	readonly nextOffset: number
	/** The whole file is batches. */
	readonly isWhole: boolean
}

const SPAN_MAX = 0x7fff_ffff
const walk = new RecordWalk()

/** Checks the segment at `base` in `directory`. */
export async function checkSegment(parts: SegmentCheckParts, directory: string, base: number): Promise<CheckedSegment> {
	const { disk, faults, producers, clock } = parts
	const stem = disk.join(directory, segmentName(base))
	const path = `${stem}.log`
	const file = disk.openNow(path, 'read')
	try {
		const size = file.sizeNow()
		const indexes = openIndexes(parts, stem, base, size)
		const scan = new SegmentScan(file, 0, size)
		const slices = new Slices(clock)
		let batches = 0
		let records = 0
		let nextOffset = base
		while (scan.next()) {
			const { bytes, at, end, position } = scan
			const problem = scan.problem(nextOffset, base + SPAN_MAX)
			const baseOffset = batchBaseOffset(bytes, at)
			const lastOffset = lastOffsetOf(bytes, at)
			if (problem !== null) {
				const isCrc = problem === 'CRC does not match'
				faults.add(isCrc ? 'crc' : 'order', path, position, isCrc ? nextOffset : baseOffset, problem)
				// A damaged batch says nothing that can be relied on; with a right CRC only its place is wrong.
				if (isCrc) {
					batches++
					if (lastOffset >= nextOffset && lastOffset - base <= SPAN_MAX) nextOffset = lastOffset + 1
					continue
				}
			} else if (parts.isDeep) await checkRecords(parts, path, bytes.subarray(at, end), position)
			const passed = { position, baseOffset, lastOffset, maxTimestamp: maxTimestampOf(bytes, at) }
			indexes.offsets?.passed(passed)
			indexes.times?.passed(passed)
			if (batchMagic(bytes, at) === 2) {
				parts.onEpoch(path, position, baseOffset, batchLeaderEpoch(bytes, at))
				records += batchRecordCount(bytes, at)
				const completed = track(producers, bytes, at)
				if (completed?.isAborted)
					indexes.txns.aborted(completed.producerId, completed.firstOffset, completed.lastOffset)
			} else records++
			batches++
			if (lastOffset >= nextOffset) nextOffset = lastOffset + 1
			if (slices.isOver) await slices.giveWay()
		}
		const isWhole = scan.damage === null
		if (!isWhole) {
			const text = `${scan.damage}: ${size - scan.endPosition} bytes from here to the end`
			faults.add('batch', path, scan.endPosition, nextOffset, text)
		}
		indexes.offsets?.ended(isWhole)
		indexes.times?.ended(isWhole)
		indexes.txns.ended(isWhole && parts.isFromStart)
		return { batches, records, nextOffset, isWhole }
	} finally {
		file.closeNow()
	}
}

function track(producers: ProducerState, bytes: Buffer, at: number): CompletedTransaction | null {
	const isControl = (batchAttributes(bytes, at) & CONTROL_BIT) !== 0
	const completed = producers.add(bytes, at, isControl ? markerOf(bytes, at) : null)
	if (completed !== null) producers.complete(completed)
	return completed
}

function openIndexes({ disk, faults }: SegmentCheckParts, stem: string, base: number, size: number) {
	const open = (ending: string): Buffer | null => {
		const bytes = readIfThere(disk, `${stem}${ending}`)
		if (bytes === null && size > 0) faults.add('missing', `${stem}${ending}`, null, base, 'index file is not there')
		return bytes
	}
	const offsets = open('.index')
	const times = open('.timeindex')
	return {
		offsets: offsets === null ? null : new OffsetIndexCheck(offsets, `${stem}.index`, base, faults),
		times: times === null ? null : new TimeIndexCheck(times, `${stem}.timeindex`, base, faults),
		txns: new TxnIndexCheck(readIfThere(disk, `${stem}.txnindex`), `${stem}.txnindex`, faults),
	}
}

async function checkRecords(parts: SegmentCheckParts, path: string, batch: Buffer, position: number): Promise<void> {
	const found = await recordProblem(parts.compression, batch, parts.decompressedBytesMax)
	if (found !== null) parts.faults.add('record', path, position, batchBaseOffset(batch, 0), found.problem)
}

export interface RecordProblem {
	readonly problem: string
	/** All that is wrong is the header's largest time: what it should be. Null for anything else. */
	readonly largestTimestamp: number | null
}

/** The records of one batch against its header; null when they are right. Reads all of them. */
export async function recordProblem(
	compression: Compression,
	batch: Buffer,
	decompressedBytesMax: number,
): Promise<RecordProblem | null> {
	const wrong = (problem: string): RecordProblem => ({ problem, largestTimestamp: null })
	try {
		if (batchMagic(batch, 0) < 2) {
			const messages = await messagesOf(compression, batch, 0, decompressedBytesMax)
			const broken = messages.find(({ isCrcRight }) => !isCrcRight)
			return broken === undefined ? null : wrong(`CRC of the message with offset ${broken.offset} does not match`)
		}
		const codec = codecName(batchAttributes(batch, 0) & CODEC_MASK)
		if (codec === null) return wrong(`unknown codec ${batchAttributes(batch, 0) & CODEC_MASK}`)
		const stream = batch.subarray(BATCH_HEADER_BYTES)
		const plain = codec === 'none' ? stream : await decompressStream(compression, codec, stream, decompressedBytesMax)
		const count = batchRecordCount(batch, 0)
		const baseTimestamp = batchBaseTimestamp(batch, 0)
		walk.reset(0, baseTimestamp, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, false)
		walkRecords(plain, walk, plain.length, count)
		if (walk.failure !== null) return wrong(`record ${walk.index} is broken: ${walk.failure}`)
		if (walk.at !== plain.length) return wrong(`${plain.length - walk.at} bytes left after the last record`)
		if (count - 1 > batchLastOffsetDelta(batch, 0)) {
			return wrong(`${count} records do not fit a last offset delta of ${batchLastOffsetDelta(batch, 0)}`)
		}
		if (!isTimeWrong(batch, count)) return null
		const problem = `largest time is ${walk.maxTimestamp}, the header has ${batchMaxTimestamp(batch, 0)}`
		return { problem, largestTimestamp: walk.maxTimestamp }
	} catch (error) {
		if (!(error instanceof CodecError) && !(error instanceof RecordFormatError)) throw error
		return wrong(error.message)
	}
}

/** The maximum of a compacted batch may be one of a record that is gone: it is never below those that stay. */
function isTimeWrong(batch: Buffer, count: number): boolean {
	const attributes = batchAttributes(batch, 0)
	if (count === 0 || (attributes & (LOG_APPEND_TIME_BIT | CONTROL_BIT)) !== 0) return false
	return walk.maxTimestamp > batchMaxTimestamp(batch, 0)
}
