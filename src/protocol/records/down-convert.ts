/** One stored batch as a set of messages for clients that know formats 0 and 1 only (semantics 2.6, 2.7). */

import { CodecError, type Compression } from '../../base/compression.js'
import {
	batchAttributes,
	batchMagic,
	batchMaxTimestamp,
	CODEC_MASK,
	CONTROL_BIT,
	LOG_APPEND_TIME_BIT,
} from './batch.js'
import { codecName, recordsOf, ZSTD_ID } from './compression.js'
import {
	type LegacyMagic,
	type LegacyMessage,
	messageCodec,
	messagesOf,
	readMessage,
	wrapMessages,
	writeMessages,
} from './legacy.js'

const APPEND_TIME_ATTRIBUTE = 8

/** The batch has a codec that no old client can read (76). */
export class NoDownConversion extends Error {
	override readonly name = 'NoDownConversion'
}

/**
 * The whole batch `bytes`, of any format, in `magic` or older; null when nothing of it is for such a client. Records below
 * `firstOffset` are left out of batches that are not compressed. Throws {@link NoDownConversion}, CodecError and
 * RecordFormatError.
 */
export async function downConvert(
	compression: Compression,
	bytes: Buffer,
	magic: LegacyMagic,
	firstOffset: number,
	bytesMax: number,
): Promise<Buffer | null> {
	const stored = batchMagic(bytes, 0)
	if (stored <= magic) return bytes
	if (stored === 1) return await fromFormat1(compression, bytes, firstOffset, bytesMax)
	const attributes = batchAttributes(bytes, 0)
	if ((attributes & CONTROL_BIT) !== 0) return null
	if ((attributes & CODEC_MASK) === ZSTD_ID) throw new NoDownConversion('zstd')
	const codec = codecName(attributes & CODEC_MASK)
	if (codec === null) throw new CodecError('gzip', 'broken', `unknown codec ${attributes & CODEC_MASK}`)
	const appendMs = (attributes & LOG_APPEND_TIME_BIT) !== 0 ? batchMaxTimestamp(bytes, 0) : -1
	const time = appendMs >= 0 ? APPEND_TIME_ATTRIBUTE : 0
	const records = await recordsOf(compression, bytes, 0, bytesMax)
	const messages: LegacyMessage[] = []
	for (const { offset, timestamp, key, value } of records) {
		if (codec !== 'none' || offset >= firstOffset) messages.push({ offset, attributes: time, timestamp, key, value })
	}
	if (messages.length === 0) return null
	if (codec === 'none') return writeMessages(magic, messages)
	return await wrapMessages(compression, magic, codec, messages, appendMs)
}

/** Format 1 to format 0: times are lost. */
async function fromFormat1(
	compression: Compression,
	bytes: Buffer,
	firstOffset: number,
	bytesMax: number,
): Promise<Buffer | null> {
	const codec = messageCodec(readMessage(bytes, 0))
	const read = await messagesOf(compression, bytes, 0, bytesMax)
	const kept = read.filter(({ offset }) => codec !== 'none' || offset >= firstOffset)
	if (kept.length === 0) return null
	const messages = kept.map((message) => ({ ...message, attributes: 0 }))
	return codec === 'none' ? writeMessages(0, messages) : await wrapMessages(compression, 0, codec, messages, -1)
}
