/** A v2 batch made anew with another codec: same producer fields and times, offsets dense (4.20). */

import type { CodecName } from '../../base/compression.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseSequence,
	batchBaseTimestamp,
	batchLastOffsetDelta,
	batchLeaderEpoch,
	batchProducerEpoch,
	batchProducerId,
	batchRecordCount,
	CODEC_MASK,
	LOG_APPEND_TIME_BIT,
	writeBatchHeader,
} from './batch.js'
import { codecId } from './compression.js'
import { decodeRecords, encodeRecords, type NewRecord } from './record.js'

/** The plain records of a batch with offset deltas 0, 1, 2 …; `plain` has been walked and is right. */
export function rebuildRecords(plain: Buffer, count: number): Buffer {
	const shared = { baseOffset: 0, baseTimestamp: 0, appendMs: -1 }
	const records = decodeRecords({ ...shared, bytes: plain, at: 0, end: plain.length, count })
	const dense: NewRecord[] = records.map(({ timestamp, key, value, headers }) => ({ timestamp, key, value, headers }))
	return encodeRecords(dense, 0)
}

/** The batch `source` with `stream` for records, in `codec`. `appendMs` -1 keeps the records' own times. */
export function rebuildBatch(
	source: Buffer,
	stream: Buffer,
	codec: CodecName | 'none',
	appendMs: number,
	maxTimestamp: number,
): Buffer {
	const bytes = Buffer.allocUnsafe(BATCH_HEADER_BYTES + stream.length)
	stream.copy(bytes, BATCH_HEADER_BYTES)
	const kept = batchAttributes(source, 0) & ~(CODEC_MASK | LOG_APPEND_TIME_BIT)
	writeBatchHeader(bytes, 0, bytes.length, {
		baseOffset: batchBaseOffset(source, 0),
		leaderEpoch: batchLeaderEpoch(source, 0),
		attributes: kept | codecId(codec) | (appendMs >= 0 ? LOG_APPEND_TIME_BIT : 0),
		lastOffsetDelta: batchLastOffsetDelta(source, 0),
		baseTimestamp: batchBaseTimestamp(source, 0),
		maxTimestamp: appendMs >= 0 ? appendMs : maxTimestamp,
		producerId: batchProducerId(source, 0),
		producerEpoch: batchProducerEpoch(source, 0),
		baseSequence: batchBaseSequence(source, 0),
		recordCount: batchRecordCount(source, 0),
	})
	return bytes
}
