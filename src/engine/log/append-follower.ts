/**
 * Appends what a leader sent, bytes untouched (13.3): whole batches only, offsets rising, nothing below the log end. Gaps
 * are legal (a compacted leader). Producer rules that a leader would enforce are not held here (5.2).
 */

import { ERROR } from '../../protocol/errors.js'
import { batchBaseOffset, isStoredCrcRight, wholeBatchEnd } from '../../protocol/records/batch.js'
import { DiskError } from '../../runtime/ports.js'
import type { LogCore } from './log-core.js'
import { lastOffsetOf, maxTimestampOf } from './segment.js'
import { beginInsideBatch } from './truncate.js'

const SPAN_MAX = 0x7fff_ffff

/** `errorCode` 0: the log now ends at `logEndOffset`. 2: bytes are corrupt. 56: log is offline. 1: offsets do not fit. */
export interface FollowerOutcome {
	readonly errorCode: number
	readonly message: string | null
	/** First and last offset taken, -1 when there was no whole batch. */
	readonly firstOffset: number
	readonly lastOffset: number
	readonly logEndOffset: number
}

function refused(core: LogCore, errorCode: number, message: string): FollowerOutcome {
	return { errorCode, message, firstOffset: -1, lastOffset: -1, logEndOffset: core.logEndOffset }
}

/** `records` are the log's until the outcome is there. A cut batch at the end is left out. */
export function appendAsFollower(core: LogCore, records: Buffer): FollowerOutcome | Promise<FollowerOutcome> {
	if (core.fencedBy !== null || core.isClosed) {
		return refused(core, ERROR.KAFKA_STORAGE_ERROR, `Log ${core.name} is offline`)
	}
	let end = 0
	let expected = core.logEndOffset
	let maxTimestamp = -1
	while (end < records.length) {
		const next = wholeBatchEnd(records, end, records.length)
		if (next === 0) break
		if (next < 0 || !isStoredCrcRight(records, end, next)) {
			return refused(core, ERROR.CORRUPT_MESSAGE, `Batch at byte ${end} of the leader's records is corrupt`)
		}
		// For magic 0 and 1 the offset field is the last offset.
		const base = batchBaseOffset(records, end)
		const last = lastOffsetOf(records, end)
		const isInside = end === 0 && base < expected && last >= expected && core.logEndOffset === core.logStartOffset
		if ((base < expected && !isInside) || last < base) {
			const text = `Leader sent offsets ${base} to ${last} where ${expected} or more was expected`
			return refused(core, ERROR.OFFSET_OUT_OF_RANGE, text)
		}
		expected = last + 1
		maxTimestamp = Math.max(maxTimestamp, maxTimestampOf(records, end))
		end = next
	}
	if (end === 0) return { ...refused(core, 0, ''), message: null }
	const bytes = end < records.length ? records.subarray(0, end) : records
	const firstOffset = batchBaseOffset(bytes, 0)
	try {
		if (firstOffset < core.logEndOffset) beginInsideBatch(core, firstOffset)
		rollFor(core, bytes, firstOffset, expected - 1, maxTimestamp)
		core.noteEpochs(bytes)
		const start = core.services.clock.monotonicMs()
		if (core.services.writes.usesPool) return writeInPool(core, bytes, firstOffset, start)
		core.segments.active.writeNow([bytes])
		core.services.writes.note(bytes.length, core.services.clock.monotonicMs() - start)
		core.applyWritten(bytes)
	} catch (error) {
		return failed(core, error)
	}
	return taken(core, firstOffset)
}

/**
 * Rolls at the log end, so that a gap lies inside the new segment and recovery does not take it for a loss; at the first
 * offset of the set only where the old segment could not span it (KAFKA-4451).
 */
function rollFor(core: LogCore, bytes: Buffer, first: number, last: number, maxTimestamp: number): void {
	if (!core.shouldRoll(bytes.length, last, maxTimestamp)) return
	const isTooFar = last - core.segments.active.baseOffset > SPAN_MAX
	core.roll(isTooFar ? Math.max(first, core.logEndOffset) : core.logEndOffset)
}

async function writeInPool(core: LogCore, bytes: Buffer, first: number, start: number): Promise<FollowerOutcome> {
	try {
		await core.segments.active.write([bytes])
		core.services.writes.note(bytes.length, core.services.clock.monotonicMs() - start)
		core.applyWritten(bytes)
	} catch (error) {
		return failed(core, error)
	}
	return taken(core, first)
}

function taken(core: LogCore, firstOffset: number): FollowerOutcome {
	const logEndOffset = core.logEndOffset
	return { errorCode: 0, message: null, firstOffset, lastOffset: logEndOffset - 1, logEndOffset }
}

function failed(core: LogCore, error: unknown): FollowerOutcome {
	if (!(error instanceof DiskError)) throw error
	core.fence(error)
	return refused(core, ERROR.KAFKA_STORAGE_ERROR, `Log ${core.name} is offline`)
}
