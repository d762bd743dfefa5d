/** ListOffsets' questions to one log: first offset at or after a time, offset of the largest time, the old v0 form (10). */

import { CodecError } from '../../base/compression.js'
import { runTurns, type Turns } from '../../base/turns.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseTimestamp,
	batchMagic,
	batchMaxTimestamp,
	batchRecordCount,
	LOG_APPEND_TIME_BIT,
} from '../../protocol/records/batch.js'
import { batchCodec, codecName, withPlain } from '../../protocol/records/compression.js'
import { RecordFields } from '../../protocol/records/fields.js'
import {
	hasAppendTime,
	InnerMessages,
	messageCodec,
	offsetShift,
	type ReadMessage,
	readMessage,
	wrappedStream,
} from '../../protocol/records/legacy.js'
import type { LogCore } from './log-core.js'
import type { BatchPlace, Segment } from './segment.js'

/** An offset with its record's timestamp and leader epoch (-1 unknown). */
export interface TimedOffset {
	readonly offset: number
	readonly timestamp: number
	readonly leaderEpoch: number
}

async function firstAtOrAfter(
	core: LogCore,
	segment: Segment,
	place: BatchPlace,
	timestamp: number,
	from: number,
): Promise<TimedOffset | null> {
	const bytes = segment.readBatch(place)
	const { services } = core
	const soon = (next: () => void): void => services.clock.soon(next)
	const answer = (found: FoundRecord | null): TimedOffset | null =>
		found === null ? null : { ...found, leaderEpoch: core.epochs.epochOf(found.offset) }
	if (batchMagic(bytes, 0) < 2) {
		const outer = readMessage(bytes, 0)
		if (messageCodec(outer) === 'none')
			return answer(fits(outer, timestamp, from) ? { offset: outer.offset, timestamp: outer.timestamp } : null)
		const { codec, stream } = wrappedStream(outer)
		return answer(
			await withPlain(services, codec, stream, (plain) => runTurns(findMessage(outer, plain, timestamp, from), soon)),
		)
	}
	const codec = codecName(batchCodec(bytes, 0))
	const stream = bytes.subarray(BATCH_HEADER_BYTES)
	const find = (plain: Buffer) => runTurns(findRecord(bytes, plain, timestamp, from), soon)
	if (codec === null) throw new CodecError('gzip', 'broken', `unknown codec ${batchCodec(bytes, 0)}`)
	return answer(await (codec === 'none' ? find(stream) : withPlain(services, codec, stream, find)))
}

type FoundRecord = Pick<TimedOffset, 'offset' | 'timestamp'>

const RECORDS_A_TURN = 50_000

function fits(record: FoundRecord, timestamp: number, from: number): boolean {
	return record.timestamp >= timestamp && record.offset >= from
}

function* findRecord(batch: Buffer, plain: Buffer, timestamp: number, from: number): Turns<FoundRecord | null> {
	const fields = new RecordFields(plain, 0, plain.length)
	const isAppendTime = (batchAttributes(batch, 0) & LOG_APPEND_TIME_BIT) !== 0
	const count = batchRecordCount(batch, 0)
	for (let i = 1; i <= count; i++) {
		fields.read()
		const found = {
			offset: batchBaseOffset(batch, 0) + fields.offsetDelta,
			timestamp: isAppendTime ? batchMaxTimestamp(batch, 0) : batchBaseTimestamp(batch, 0) + fields.timestampDelta,
		}
		if (fits(found, timestamp, from)) return found
		if (i % RECORDS_A_TURN === 0) yield
	}
	return null
}

function* findMessage(outer: ReadMessage, plain: Buffer, timestamp: number, from: number): Turns<FoundRecord | null> {
	const isAppendTime = outer.magic === 1 && hasAppendTime(outer)
	const all = new InnerMessages(outer, plain)
	for (let i = 1; all.next(); i++) if (i % RECORDS_A_TURN === 0) yield
	const shift = offsetShift(outer, all.fields.offset)
	const inner = new InnerMessages(outer, plain)
	for (let i = 1; inner.next(); i++) {
		const { fields } = inner
		const found = { offset: fields.offset + shift, timestamp: isAppendTime ? outer.timestamp : fields.timestamp }
		if (fits(found, timestamp, from)) return found
		if (i % RECORDS_A_TURN === 0) yield
	}
	return null
}

/** Old segments keep no descriptor between queries. */
function letGo(core: LogCore, segment: Segment): void {
	if (segment !== core.segments.active) segment.close()
}

/**
 * First record at or above the log start whose timestamp is at or after `timestamp` (rounds up: kop#334); null when there
 * is none. The caller holds the answer against the reader's bound (10.2). Throws on damage and disk errors.
 */
export async function offsetForTimestamp(core: LogCore, timestamp: number): Promise<TimedOffset | null> {
	// By base offset: retention or compaction may take segments while one is read.
	let base = Number.NEGATIVE_INFINITY
	for (;;) {
		const segment = core.segments.from(base)
		if (segment === null) return null
		base = segment.baseOffset + 1
		if (segment.maxTimestamp < timestamp) {
			letGo(core, segment)
			continue
		}
		const from = core.logStartOffset
		// The last indexed time below the target: nothing before that batch can be late enough.
		const before = segment.timeIndex.lookup(timestamp - 1)
		let position = segment.offsetIndex.lookup(Math.max(before.offset, from))
		for (;;) {
			const place = segment.findTimestamp(timestamp, position)
			if (place === null) break
			const found = place.lastOffset < from ? null : await firstAtOrAfter(core, segment, place, timestamp, from)
			if (found !== null) {
				letGo(core, segment)
				return found
			}
			if (segment.isGone) {
				// One that was made from it may stand there, and begin earlier: its rest is looked for in that one.
				base = core.segments.floor(segment.baseOffset)?.baseOffset ?? segment.baseOffset
				break
			}
			position = place.position + place.bytes
		}
		letGo(core, segment)
	}
}

/** First record that has the log's largest timestamp (-3, KIP-734); null when no record has a time. */
export async function offsetOfMaxTimestamp(core: LogCore): Promise<TimedOffset | null> {
	let latest: Segment | null = null
	for (const segment of core.segments.all) {
		if (segment.size > 0 && segment.maxTimestamp > (latest?.maxTimestamp ?? -1)) latest = segment
	}
	if (latest === null) return null
	const timestamp = latest.maxTimestamp
	const position = latest.offsetIndex.lookup(latest.maxTimestampOffset)
	const place = latest.findTimestamp(timestamp, position) ?? latest.findTimestamp(timestamp, 0)
	return place === null ? null : firstAtOrAfter(core, latest, place, timestamp, core.logStartOffset)
}

/**
 * ListOffsets v0 (10.5): up to `countMax` offsets, newest first: the end and segment starts whose segment began at or
 * before `timestamp`; -1 means all, -2 the first alone. `endOffset` is the reader's bound.
 */
export function offsetsBefore(core: LogCore, timestamp: number, countMax: number, endOffset: number): number[] {
	const start = core.logStartOffset
	const candidates: { readonly offset: number; readonly timeMs: number }[] = []
	for (const segment of core.segments.all) {
		const offset = Math.max(segment.baseOffset, start)
		if (segment.size > 0 || candidates.length === 0) candidates.push({ offset, timeMs: segment.modifiedMs() })
	}
	if (core.segments.active.size > 0) {
		candidates.push({ offset: endOffset, timeMs: core.services.clock.wallMs() })
	}
	let from = candidates.length - 1
	if (timestamp === -2) from = 0
	else if (timestamp !== -1) while (from >= 0 && (candidates[from]?.timeMs ?? 0) > timestamp) from--
	const offsets: number[] = []
	for (let i = from; i >= 0 && offsets.length < countMax; i--) offsets.push(candidates[i]?.offset ?? start)
	return offsets.sort((a, b) => b - a)
}
