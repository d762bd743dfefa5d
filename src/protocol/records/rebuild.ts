/** A v2 batch made anew with another codec: same producer fields and times, offsets dense (4.20). */

import { sizeOfVarint, writeVarint } from '../../base/bytes.js'
import type { CodecName } from '../../base/compression.js'
import type { Turns } from '../../base/turns.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseSequence,
	batchLastOffsetDelta,
	batchLeaderEpoch,
	batchProducerEpoch,
	batchProducerId,
	batchRecordCount,
	CODEC_MASK,
	exactBaseTimestamp,
	exactMaxTimestamp,
	LOG_APPEND_TIME_BIT,
	writeBatchHeader,
} from './batch.js'
import { codecId } from './compression.js'
import { RecordFields } from './fields.js'

const RECORDS_A_TURN = 50_000

/** The plain records of a batch with offset deltas 0, 1, 2 …; `plain` has been walked and is right. */
export function* denseRecords(plain: Buffer, count: number): Turns<Buffer> {
	let size = 0
	const sums = new RecordFields(plain, 0, plain.length)
	for (let i = 0; i < count; i++) {
		sums.read()
		const body = bodyBytes(sums, i)
		size += sizeOfVarint(body) + body
		if (i % RECORDS_A_TURN === RECORDS_A_TURN - 1) yield
	}
	const dense = Buffer.allocUnsafeSlow(size)
	const fields = new RecordFields(plain, 0, plain.length)
	let at = 0
	for (let i = 0; i < count; i++) {
		fields.read()
		at = writeVarint(dense, bodyBytes(fields, i), at)
		dense[at++] = 0
		at += plain.copy(dense, at, fields.timeAt, fields.offsetAt)
		at = writeVarint(dense, i, at)
		at += plain.copy(dense, at, fields.bodyAt, fields.recordEnd)
		if (i % RECORDS_A_TURN === RECORDS_A_TURN - 1) yield
	}
	return dense
}

function bodyBytes(fields: RecordFields, index: number): number {
	return 1 + fields.offsetAt - fields.timeAt + sizeOfVarint(index) + fields.recordEnd - fields.bodyAt
}

/**
 * The batch `source` with `stream` for records, in `codec`. `appendMs` -1 keeps the records' own times; then `maxTimestamp`
 * is the largest of them, null where `source` has it.
 */
export function rebuildBatch(
	source: Buffer,
	stream: Buffer,
	codec: CodecName | 'none',
	appendMs: number,
	maxTimestamp: number | bigint | null,
): Buffer {
	const bytes = Buffer.allocUnsafe(BATCH_HEADER_BYTES + stream.length)
	stream.copy(bytes, BATCH_HEADER_BYTES)
	const kept = batchAttributes(source, 0) & ~(CODEC_MASK | LOG_APPEND_TIME_BIT)
	writeBatchHeader(bytes, 0, bytes.length, {
		baseOffset: batchBaseOffset(source, 0),
		leaderEpoch: batchLeaderEpoch(source, 0),
		attributes: kept | codecId(codec) | (appendMs >= 0 ? LOG_APPEND_TIME_BIT : 0),
		lastOffsetDelta: batchLastOffsetDelta(source, 0),
		baseTimestamp: exactBaseTimestamp(source, 0),
		maxTimestamp: appendMs >= 0 ? appendMs : (maxTimestamp ?? exactMaxTimestamp(source, 0)),
		producerId: batchProducerId(source, 0),
		producerEpoch: batchProducerEpoch(source, 0),
		baseSequence: batchBaseSequence(source, 0),
		recordCount: batchRecordCount(source, 0),
	})
	return bytes
}
