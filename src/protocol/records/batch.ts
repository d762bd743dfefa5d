/**
 * The header of a record batch (magic 2) as a view on bytes: where each field stands, readers, and the few fields that
 * a broker writes in place. Nothing here allocates, checks bounds against hostile lengths only where it says so, or
 * knows of compression.
 *
 * | offset | field                | type   |                                                        |
 * |--------|----------------------|--------|--------------------------------------------------------|
 * | 0      | baseOffset           | int64  | outside the CRC                                        |
 * | 8      | batchLength          | int32  | bytes after this field                                 |
 * | 12     | partitionLeaderEpoch | int32  | outside the CRC                                        |
 * | 16     | magic                | int8   | 2                                                      |
 * | 17     | crc                  | uint32 | CRC-32C of everything from byte 21                     |
 * | 21     | attributes           | int16  | 0-2 codec, 3 time type, 4 txn, 5 control, 6 horizon    |
 * | 23     | lastOffsetDelta      | int32  |                                                        |
 * | 27     | baseTimestamp        | int64  | ms                                                     |
 * | 35     | maxTimestamp         | int64  | ms, -1 none                                            |
 * | 43     | producerId           | int64  | -1 none                                                |
 * | 51     | producerEpoch        | int16  | -1 none                                                |
 * | 53     | baseSequence         | int32  | -1 none                                                |
 * | 57     | recordCount          | int32  |                                                        |
 * | 61     | records              |        | one compressed stream when a codec is set              |
 */

import { readInt64, writeExactInt64, writeInt64 } from '../../base/bytes.js'
import { crc32 } from '../../base/crc32.js'
import { crc32c } from '../../base/crc32c.js'

/** Bytes before the first record of a v2 batch. */
export const BATCH_HEADER_BYTES = 61
/** Bytes of offset and length: what a batch has beyond its `batchLength`. */
export const LOG_OVERHEAD_BYTES = 12
/** Smallest legal `batchLength` of any magic (an empty v0 message) and of magic 2. */
export const LEGACY_LENGTH_MIN = 14
export const BATCH_LENGTH_MIN = BATCH_HEADER_BYTES - LOG_OVERHEAD_BYTES
/** Bytes needed to know offset, length, epoch and magic. */
export const BATCH_PREFIX_BYTES = 17

const LENGTH_AT = 8
const EPOCH_AT = 12
const MAGIC_AT = 16
const CRC_AT = 17
export const ATTRIBUTES_AT = 21
const LAST_DELTA_AT = 23
const BASE_TIME_AT = 27
const MAX_TIME_AT = 35
const PRODUCER_ID_AT = 43
const PRODUCER_EPOCH_AT = 51
const BASE_SEQUENCE_AT = 53
const COUNT_AT = 57

export const CODEC_MASK = 0x07
export const LOG_APPEND_TIME_BIT = 0x08
export const TRANSACTIONAL_BIT = 0x10
export const CONTROL_BIT = 0x20
export const DELETE_HORIZON_BIT = 0x40

const SEQUENCES = 0x8000_0000

export const NO_PRODUCER_ID = -1n
export const NO_TIMESTAMP = -1

export function batchBaseOffset(bytes: Buffer, at: number): number {
	return readInt64(bytes, at)
}

/** Whole size of the batch at `at`, header included: 12 + batchLength. May be nonsense in hostile bytes. */
export function batchBytes(bytes: Buffer, at: number): number {
	return LOG_OVERHEAD_BYTES + bytes.readInt32BE(at + LENGTH_AT)
}

export function batchLeaderEpoch(bytes: Buffer, at: number): number {
	return bytes.readInt32BE(at + EPOCH_AT)
}

export function batchMagic(bytes: Buffer, at: number): number {
	return bytes.readInt8(at + MAGIC_AT)
}

export function batchCrc(bytes: Buffer, at: number): number {
	return bytes.readUInt32BE(at + CRC_AT)
}

export function batchAttributes(bytes: Buffer, at: number): number {
	return bytes.readInt16BE(at + ATTRIBUTES_AT)
}

export function batchLastOffsetDelta(bytes: Buffer, at: number): number {
	return bytes.readInt32BE(at + LAST_DELTA_AT)
}

export function batchBaseTimestamp(bytes: Buffer, at: number): number {
	return readInt64(bytes, at + BASE_TIME_AT)
}

/** Base and maximum timestamp with all their bits. */
export function exactBaseTimestamp(bytes: Buffer, at: number): bigint {
	return bytes.readBigInt64BE(at + BASE_TIME_AT)
}

export function exactMaxTimestamp(bytes: Buffer, at: number): bigint {
	return bytes.readBigInt64BE(at + MAX_TIME_AT)
}

export function batchMaxTimestamp(bytes: Buffer, at: number): number {
	return readInt64(bytes, at + MAX_TIME_AT)
}

/** True when the batch names a producer (id 0 or more), without making a bigint. */
export function batchHasProducer(bytes: Buffer, at: number): boolean {
	return bytes.readInt8(at + PRODUCER_ID_AT) >= 0
}

export function batchProducerId(bytes: Buffer, at: number): bigint {
	return bytes.readBigInt64BE(at + PRODUCER_ID_AT)
}

export function batchProducerEpoch(bytes: Buffer, at: number): number {
	return bytes.readInt16BE(at + PRODUCER_EPOCH_AT)
}

export function batchBaseSequence(bytes: Buffer, at: number): number {
	return bytes.readInt32BE(at + BASE_SEQUENCE_AT)
}

export function batchRecordCount(bytes: Buffer, at: number): number {
	return bytes.readInt32BE(at + COUNT_AT)
}

export function batchLastOffset(bytes: Buffer, at: number): number {
	return readInt64(bytes, at) + bytes.readInt32BE(at + LAST_DELTA_AT)
}

/** Sequence of the last record; -1 when the batch has none. */
export function batchLastSequence(bytes: Buffer, at: number): number {
	const base = batchBaseSequence(bytes, at)
	return base < 0 ? -1 : incrementSequence(base, batchLastOffsetDelta(bytes, at))
}

/** `sequence` + `by`, wrapping from 2^31-1 to 0. */
export function incrementSequence(sequence: number, by: number): number {
	const sum = sequence + by
	return sum >= SEQUENCES ? sum - SEQUENCES : sum
}

/** `sequence` - `by`, wrapping from 0 to 2^31-1. */
export function decrementSequence(sequence: number, by: number): number {
	return sequence >= by ? sequence - by : SEQUENCES + sequence - by
}

/** Writes base offset and leader epoch in place; neither is under the CRC. */
export function stampBatch(bytes: Buffer, at: number, baseOffset: number, leaderEpoch: number): void {
	writeInt64(bytes, baseOffset, at)
	bytes.writeInt32BE(leaderEpoch, at + EPOCH_AT)
}

/** Writes time type and maximum timestamp in place and the CRC anew. `end` is the end of the batch. */
export function stampTimestamps(
	bytes: Buffer,
	at: number,
	end: number,
	logAppendTime: boolean,
	maxMs: number | bigint,
): void {
	const attributes = batchAttributes(bytes, at)
	const wanted = logAppendTime ? attributes | LOG_APPEND_TIME_BIT : attributes & ~LOG_APPEND_TIME_BIT
	bytes.writeInt16BE(wanted, at + ATTRIBUTES_AT)
	writeExactInt64(bytes, maxMs, at + MAX_TIME_AT)
	writeBatchCrc(bytes, at, end)
}

/** CRC-32C of the batch that ends before `end`, as its header should have it. */
export function computeBatchCrc(bytes: Buffer, at: number, end: number): number {
	return crc32c(bytes.subarray(at + ATTRIBUTES_AT, end))
}

export function writeBatchCrc(bytes: Buffer, at: number, end: number): void {
	bytes.writeUInt32BE(computeBatchCrc(bytes, at, end), at + CRC_AT)
}

/** Whether the stored CRC is that of the bytes. The caller has checked that the whole batch is there. */
export function isBatchCrcRight(bytes: Buffer, at: number, end: number): boolean {
	return computeBatchCrc(bytes, at, end) === batchCrc(bytes, at)
}

/** The same for a batch of any magic: messages 0 and 1 have a CRC-32 of what follows it (2.2). */
export function isStoredCrcRight(bytes: Buffer, at: number, end: number): boolean {
	if (batchMagic(bytes, at) === 2) return isBatchCrcRight(bytes, at, end)
	return crc32(bytes.subarray(at + MAGIC_AT, end)) === bytes.readUInt32BE(at + EPOCH_AT)
}

/** What stands in a header, for builders. */
export interface BatchHeader {
	readonly baseOffset: number
	readonly leaderEpoch: number
	/** Codec, time type, transactional, control and horizon bits together. */
	readonly attributes: number
	readonly lastOffsetDelta: number
	/** A bigint where a number would not be exact. */
	readonly baseTimestamp: number | bigint
	readonly maxTimestamp: number | bigint
	readonly producerId: bigint
	readonly producerEpoch: number
	readonly baseSequence: number
	readonly recordCount: number
}

/** Writes header and CRC of a batch whose records already stand at `at` + 61 up to `end`. */
export function writeBatchHeader(bytes: Buffer, at: number, end: number, header: BatchHeader): void {
	writeInt64(bytes, header.baseOffset, at)
	bytes.writeInt32BE(end - at - LOG_OVERHEAD_BYTES, at + LENGTH_AT)
	bytes.writeInt32BE(header.leaderEpoch, at + EPOCH_AT)
	bytes.writeInt8(2, at + MAGIC_AT)
	bytes.writeInt16BE(header.attributes, at + ATTRIBUTES_AT)
	bytes.writeInt32BE(header.lastOffsetDelta, at + LAST_DELTA_AT)
	writeExactInt64(bytes, header.baseTimestamp, at + BASE_TIME_AT)
	writeExactInt64(bytes, header.maxTimestamp, at + MAX_TIME_AT)
	bytes.writeBigInt64BE(header.producerId, at + PRODUCER_ID_AT)
	bytes.writeInt16BE(header.producerEpoch, at + PRODUCER_EPOCH_AT)
	bytes.writeInt32BE(header.baseSequence, at + BASE_SEQUENCE_AT)
	bytes.writeInt32BE(header.recordCount, at + COUNT_AT)
	writeBatchCrc(bytes, at, end)
}

/**
 * Walks batches in `bytes` by their lengths. Returns the end of the whole batch at `at`, or 0 when it is cut by `end`,
 * or -1 when its length or magic cannot be (1.13).
 */
export function wholeBatchEnd(bytes: Buffer, at: number, end: number): number {
	if (end - at < BATCH_PREFIX_BYTES) return 0
	const length = bytes.readInt32BE(at + LENGTH_AT)
	if (length < LEGACY_LENGTH_MIN) return -1
	const magic = batchMagic(bytes, at)
	if (magic < 0 || magic > 2) return -1
	if (magic === 2 && length < BATCH_LENGTH_MIN) return -1
	const next = at + LOG_OVERHEAD_BYTES + length
	return next > end ? 0 : next
}
