/**
 * One v2 batch as the rules leave it (21.3–21.6): the same bytes, a batch made anew with fewer records or with a delete
 * horizon, an empty header, or nothing. Base offset, last offset delta, producer fields, leader epoch and codec stay
 * (21.4). Long batches give way to the event loop.
 */

import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseSequence,
	batchBytes,
	batchLastOffsetDelta,
	batchLeaderEpoch,
	batchProducerEpoch,
	batchProducerId,
	batchRecordCount,
	CODEC_MASK,
	CONTROL_BIT,
	DELETE_HORIZON_BIT,
	LOG_APPEND_TIME_BIT,
	TRANSACTIONAL_BIT,
	writeBatchCrc,
	writeBatchHeader,
} from '../../../protocol/records/batch.js'
import { codecName, compressStream } from '../../../protocol/records/compression.js'
import { RecordFormatError } from '../../../protocol/records/fields.js'
import type { Slices } from '../scan.js'
import { type BatchFate, horizonFor, keepsRecord } from './keep.js'
import type { OffsetMap } from './offset-map.js'
import { type PassServices, plainRecords } from './plain-records.js'
import { GROWTH_BYTES_MAX, RecordView } from './record-view.js'

/** What a whole pass knows that a batch does not. */
export interface FilterContext {
	readonly services: PassServices
	readonly map: OffsetMap
	readonly nowMs: number
	readonly deleteRetentionMs: number
	readonly slices: Slices
}

/** Fields that a header made by the cleaner takes over; all other bits were a client's. */
const KEPT_BITS = LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT
const BASE_TIME_AT = 27
const MAX_TIME_AT = 35
const RECORDS_A_LOOK = 512
const SAFE_SHIFT = 2n ** 50n

/** Horizon of the batch at `at`, ms; -1: none. */
export function deleteHorizonOf(bytes: Buffer, at: number): number {
	if ((batchAttributes(bytes, at) & DELETE_HORIZON_BIT) === 0) return -1
	return Number(bytes.readBigInt64BE(at + BASE_TIME_AT))
}

/**
 * The batch at `at` of `bytes` after `fate` and map have been asked. Null: nothing of it stays. The same `bytes`, sliced,
 * when all of it does. Throws `RecordFormatError` and `CodecError` for a batch that is broken.
 */
export async function filterBatch(
	context: FilterContext,
	bytes: Buffer,
	at: number,
	fate: BatchFate,
): Promise<Buffer | null> {
	const batch = bytes.subarray(at, at + batchBytes(bytes, at))
	if (fate.dropsRecords || batchRecordCount(batch, 0) === 0) return fate.keepsEmpty ? emptied(batch) : null
	const plain = await plainRecords(context.services, batch)
	const kept = await keptRecords(context, batch, plain)
	if (kept.places.length === 0) return fate.keepsEmpty ? emptied(batch) : null
	const before = deleteHorizonOf(batch, 0)
	const { nowMs, deleteRetentionMs } = context
	const horizon = horizonFor(before, kept.hasTombstone, fate.isMarkerOfNothing, nowMs, deleteRetentionMs)
	if (horizon === before && kept.places.length === batchRecordCount(batch, 0)) return batch
	const rewritten = await rewrite(context, batch, plain, kept.places, horizon)
	return await assemble(context.services, batch, rewritten)
}

interface KeptRecords {
	/** Positions in the plain bytes, in order. */
	readonly places: readonly number[]
	readonly hasTombstone: boolean
}

async function keptRecords(context: FilterContext, batch: Buffer, plain: Buffer): Promise<KeptRecords> {
	const { map, slices, nowMs } = context
	const isControl = (batchAttributes(batch, 0) & CONTROL_BIT) !== 0
	const horizon = deleteHorizonOf(batch, 0)
	const mayDropTombstone = horizon >= 0 && horizon <= nowMs
	const baseOffset = batchBaseOffset(batch, 0)
	const count = batchRecordCount(batch, 0)
	const view = new RecordView()
	const places: number[] = []
	let hasTombstone = false
	let at = 0
	for (let index = 0; index < count; index++) {
		if (index % RECORDS_A_LOOK === 0 && slices.isOver) await slices.giveWay()
		view.read(plain, at, plain.length, baseOffset)
		at = view.end
		if (!isControl) {
			if (view.hasKey && view.offset <= map.latestOffset) view.mappedOffset = map.get(plain, view.keyAt, view.keyEnd)
			if (!keepsRecord(view, map.latestOffset, mayDropTombstone)) continue
		}
		places.push(view.at)
		if (!view.hasValue) hasTombstone = true
	}
	if (at !== plain.length) throw new RecordFormatError('bytes left after the last record')
	return { places, hasTombstone }
}

interface Rewritten {
	/** Plain record bytes. */
	readonly records: Buffer
	readonly count: number
	readonly attributes: number
	readonly baseTimestamp: bigint
	readonly maxTimestamp: bigint
}

/** Records again, their times counted from the horizon, or from the first of them when there is none. */
async function rewrite(
	context: FilterContext,
	batch: Buffer,
	plain: Buffer,
	places: readonly number[],
	horizonMs: number,
): Promise<Rewritten> {
	const baseOffset = batchBaseOffset(batch, 0)
	const oldBase = batch.readBigInt64BE(BASE_TIME_AT)
	const isAppendTime = (batchAttributes(batch, 0) & LOG_APPEND_TIME_BIT) !== 0
	const appendTime = batch.readBigInt64BE(MAX_TIME_AT)
	const view = new RecordView()
	view.read(plain, places[0] as number, plain.length, baseOffset)
	let newestDelta = view.delta(plain)
	const firstTime = isAppendTime ? appendTime : oldBase + BigInt(newestDelta)
	const baseTimestamp = horizonMs >= 0 ? BigInt(horizonMs) : BigInt.asIntN(64, firstTime)
	const appendDelta = narrowed(appendTime - baseTimestamp)
	const shift = narrowed(oldBase - baseTimestamp)
	const records = Buffer.allocUnsafe(plain.length + places.length * GROWTH_BYTES_MAX)
	let at = 0
	for (let index = 0; index < places.length; index++) {
		view.read(plain, places[index] as number, plain.length, baseOffset)
		const delta = view.delta(plain)
		if (delta > newestDelta) newestDelta = delta
		at = view.write(plain, isAppendTime ? appendDelta : sum(delta, shift), records, at)
		if (index % RECORDS_A_LOOK === 0 && context.slices.isOver) await context.slices.giveWay()
	}
	const newest = oldBase + BigInt(newestDelta)
	const attributes = (batchAttributes(batch, 0) & (KEPT_BITS | CODEC_MASK)) | (horizonMs >= 0 ? DELETE_HORIZON_BIT : 0)
	return {
		records: records.subarray(0, at),
		count: places.length,
		attributes,
		baseTimestamp,
		maxTimestamp: isAppendTime ? appendTime : newest < -1n ? -1n : BigInt.asIntN(64, newest),
	}
}

/** As a number where sums with deltas of records stay exact, else as it wraps in 64 bits. */
function narrowed(value: bigint): number | bigint {
	return value > -SAFE_SHIFT && value < SAFE_SHIFT ? Number(value) : BigInt.asIntN(64, value)
}

function sum(a: number | bigint, b: number | bigint): number | bigint {
	if (typeof a === 'number' && typeof b === 'number') return a + b
	return BigInt.asIntN(64, BigInt(a) + BigInt(b))
}

/** Compresses as the batch was and puts the old header, with the new fields, in front. */
async function assemble(services: PassServices, batch: Buffer, rewritten: Rewritten): Promise<Buffer> {
	const codec = codecName(rewritten.attributes & CODEC_MASK)
	const stream =
		codec === 'none' || codec === null
			? rewritten.records
			: await compressStream(services.compression, codec, rewritten.records, null)
	const made = Buffer.allocUnsafe(BATCH_HEADER_BYTES + stream.length)
	stream.copy(made, BATCH_HEADER_BYTES)
	writeBatchHeader(made, 0, made.length, {
		...headerOf(batch),
		attributes: rewritten.attributes,
		baseTimestamp: 0,
		maxTimestamp: 0,
		recordCount: rewritten.count,
	})
	// Times may lie beyond what a number holds.
	made.writeBigInt64BE(rewritten.baseTimestamp, BASE_TIME_AT)
	made.writeBigInt64BE(rewritten.maxTimestamp, MAX_TIME_AT)
	writeBatchCrc(made, 0, made.length)
	return made
}

/** The header alone (1.10): what producer state needs of a batch whose records are gone. */
function emptied(batch: Buffer): Buffer {
	const made = Buffer.alloc(BATCH_HEADER_BYTES)
	writeBatchHeader(made, 0, made.length, {
		...headerOf(batch),
		attributes: batchAttributes(batch, 0) & KEPT_BITS,
		baseTimestamp: -1,
		maxTimestamp: 0,
		recordCount: 0,
	})
	batch.copy(made, MAX_TIME_AT, MAX_TIME_AT, MAX_TIME_AT + 8)
	writeBatchCrc(made, 0, made.length)
	return made
}

/** What no cleaning changes. */
function headerOf(batch: Buffer) {
	return {
		baseOffset: batchBaseOffset(batch, 0),
		leaderEpoch: batchLeaderEpoch(batch, 0),
		lastOffsetDelta: batchLastOffsetDelta(batch, 0),
		producerId: batchProducerId(batch, 0),
		producerEpoch: batchProducerEpoch(batch, 0),
		baseSequence: batchBaseSequence(batch, 0),
	}
}
