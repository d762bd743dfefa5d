/**
 * Messages of formats 0 and 1 (before Kafka 0.11), which upgraded clusters still hold: rewritten as records of a v2
 * batch, so that readers know one shape only.
 *
 * | offset | field      | type   |                                                    |
 * |--------|------------|--------|----------------------------------------------------|
 * | 0      | offset     | int64  | of the last message inside, when compressed        |
 * | 8      | size       | int32  | bytes after this field                             |
 * | 12     | crc        | uint32 | CRC-32 of everything after it                      |
 * | 16     | magic      | int8   | 0 or 1                                             |
 * | 17     | attributes | int8   | 0-2 codec, 3 time type (1)                         |
 * | 18     | timestamp  | int64  | format 1 only                                      |
 * |        | key        | bytes  | int32 length, -1 null                              |
 * |        | value      | bytes  | a set of messages when compressed                  |
 */

import { readInt64 } from '../base/bytes.js'
import type { Compression } from '../base/compression.js'
import { codecName } from '../protocol/records/compression.js'
import { encodeRecords, type NewRecord, RecordFormatError } from '../protocol/records/record.js'
import { RecordReader } from './record-reader.js'

interface Message {
	readonly offset: number
	readonly attributes: number
	readonly magic: number
	readonly timestamp: number
	readonly key: Buffer | null
	readonly value: Buffer | null
}

function messageAt(bytes: Buffer, at: number): { message: Message; end: number } {
	if (bytes.length - at < 26) throw new RecordFormatError('message is cut')
	const end = at + 12 + bytes.readInt32BE(at + 8)
	const magic = bytes.readInt8(at + 16)
	if (magic < 0 || magic > 1 || end > bytes.length) throw new RecordFormatError('message does not fit')
	let next = magic === 1 ? at + 26 : at + 18
	const slice = (): Buffer | null => {
		if (next + 4 > end) throw new RecordFormatError('message is cut')
		const length = bytes.readInt32BE(next)
		next += 4
		if (length === -1) return null
		if (length < 0 || length > end - next) throw new RecordFormatError(`length ${length} does not fit`)
		next += length
		return bytes.subarray(next - length, next)
	}
	const key = slice()
	const value = slice()
	return {
		message: {
			offset: readInt64(bytes, at),
			attributes: bytes.readInt8(at + 17),
			magic,
			timestamp: magic === 1 ? readInt64(bytes, at + 18) : -1,
			key,
			value,
		},
		end,
	}
}

/** Reader over the one message in `bytes` and those inside it, and the offset of the last. Throws CodecError too. */
export function legacyReader(
	bytes: Buffer,
	compression: Compression,
	limits: { readonly decompressedBytesMax: number },
): { reader: RecordReader; lastOffset: number } {
	const { message: outer } = messageAt(bytes, 0)
	const codec = codecName(outer.attributes & 7)
	if (codec === null) throw new RecordFormatError(`unknown codec ${outer.attributes & 7}`)
	let messages = [outer]
	if (codec !== 'none') {
		const plain = compression.decompressNow(codec, outer.value ?? Buffer.alloc(0), limits.decompressedBytesMax)
		messages = []
		for (let at = 0; at < plain.length; ) {
			const { message, end } = messageAt(plain, at)
			messages.push(message)
			at = end
		}
	}
	// Format 1 counts inside from 0, the last being the outer offset; format 0 has real offsets.
	const last = messages[messages.length - 1] ?? outer
	const shift = outer.magic === 1 && codec !== 'none' ? outer.offset - last.offset : 0
	const baseOffset = (messages[0] ?? outer).offset + shift
	const isAppendTime = outer.magic === 1 && (outer.attributes & 8) !== 0
	const records: NewRecord[] = messages.map(({ offset, timestamp, key, value }) => ({
		timestamp,
		key,
		value,
		offsetDelta: offset + shift - baseOffset,
	}))
	const baseTimestamp = messages[0]?.timestamp ?? -1
	const encoded = encodeRecords(records, baseTimestamp)
	const reader = new RecordReader(encoded, 0, encoded.length, {
		baseOffset,
		baseTimestamp,
		appendMs: isAppendTime ? outer.timestamp : -1,
		recordCount: records.length,
		leaderEpoch: -1,
		isControl: false,
	})
	return { reader, lastOffset: outer.offset }
}
