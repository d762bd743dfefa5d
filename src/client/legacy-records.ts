/** Messages of formats 0 and 1, which upgraded clusters still hold, as readers of v2 records see them. */

import type { Compression } from '../base/compression.js'
import { hasAppendTime, innerMessages, messageCodec, readMessage, wrappedStream } from '../protocol/records/legacy.js'
import { encodeRecords, type NewRecord } from '../protocol/records/record.js'
import { RecordReader } from './record-reader.js'

/** Reader over the one message in `bytes` and those inside it, and the offset of the last. Throws CodecError too. */
export function legacyReader(
	bytes: Buffer,
	compression: Compression,
	limits: { readonly decompressedBytesMax: number },
): { reader: RecordReader; lastOffset: number } {
	const outer = readMessage(bytes, 0)
	let messages = [outer]
	if (messageCodec(outer) !== 'none') {
		const { codec, stream } = wrappedStream(outer)
		messages = innerMessages(outer, compression.decompressNow(codec, stream, limits.decompressedBytesMax))
	}
	const baseOffset = (messages[0] ?? outer).offset
	const baseTimestamp = messages[0]?.timestamp ?? -1
	const records: NewRecord[] = messages.map(({ offset, timestamp, key, value }) => ({
		timestamp,
		key,
		value,
		offsetDelta: offset - baseOffset,
	}))
	const encoded = encodeRecords(records, baseTimestamp)
	const reader = new RecordReader(encoded, 0, encoded.length, {
		baseOffset,
		baseTimestamp,
		appendMs: outer.magic === 1 && hasAppendTime(outer) ? outer.timestamp : -1,
		recordCount: records.length,
		leaderEpoch: -1,
		isControl: false,
	})
	return { reader, lastOffset: outer.offset }
}
