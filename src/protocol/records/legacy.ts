/**
 * Messages of formats 0 and 1 (before Kafka 0.11; semantics 2.2–2.4): upgraded clusters still hold them, and clients of
 * that age send and want them.
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
 *
 * A compressed set is one message whose value holds the others, one level deep. Inside, format 0 has real offsets; format
 * 1 counts from 0, the outer offset being that of the last.
 */

import { readInt64, writeInt64 } from '../../base/bytes.js'
import type { CodecName, Compression } from '../../base/compression.js'
import { crc32 } from '../../base/crc32.js'
import { xxhash32 } from '../../base/xxhash32.js'
import { codecId, codecName, compressStream, decompressStream } from './compression.js'
import { RecordFormatError } from './record.js'

export type LegacyMagic = 0 | 1

/** One message, as it stands or as its wrapper makes it. */
export interface LegacyMessage {
	readonly offset: number
	readonly attributes: number
	/** ms, -1 for format 0. */
	readonly timestamp: number
	readonly key: Buffer | null
	readonly value: Buffer | null
}

/** A message that was read, with what only its own bytes tell. */
export interface ReadMessage extends LegacyMessage {
	readonly magic: LegacyMagic
	readonly end: number
	readonly isCrcRight: boolean
}

const CODEC_MASK = 7
const APPEND_TIME_BIT = 8
const CRC_AT = 12
const MAGIC_AT = 16
const ATTRIBUTES_AT = 17
const TIMESTAMP_AT = 18
/** Bytes of a message before its key's length. */
const HEAD_BYTES: readonly number[] = [18, 26]
/** An empty message of format 0. */
const MESSAGE_BYTES_MIN = 26

/** The message at `at`, whole. Throws {@link RecordFormatError}; a wrong CRC is told, not thrown. */
export function readMessage(bytes: Buffer, at: number): ReadMessage {
	if (bytes.length - at < MESSAGE_BYTES_MIN) throw new RecordFormatError('message is cut')
	const end = at + CRC_AT + bytes.readInt32BE(at + 8)
	const magic = bytes.readInt8(at + MAGIC_AT)
	if (magic !== 0 && magic !== 1) throw new RecordFormatError(`magic ${magic} among messages of format 0 and 1`)
	let next = at + (HEAD_BYTES[magic] as number)
	if (end > bytes.length || end < next + 8) throw new RecordFormatError('message does not fit')
	const field = (): Buffer | null => {
		if (next + 4 > end) throw new RecordFormatError('message is cut')
		const length = bytes.readInt32BE(next)
		next += 4
		if (length === -1) return null
		if (length < 0 || length > end - next) throw new RecordFormatError(`length ${length} does not fit`)
		next += length
		return bytes.subarray(next - length, next)
	}
	const key = field()
	const value = field()
	if (next !== end) throw new RecordFormatError(`${end - next} bytes left in a message`)
	return {
		offset: readInt64(bytes, at),
		attributes: bytes.readInt8(at + ATTRIBUTES_AT),
		timestamp: magic === 1 ? readInt64(bytes, at + TIMESTAMP_AT) : -1,
		key,
		value,
		magic,
		end,
		isCrcRight: crc32(bytes.subarray(at + MAGIC_AT, end)) === bytes.readUInt32BE(at + CRC_AT),
	}
}

/** Codec of a message's value, 'none' for a plain one. Throws {@link RecordFormatError} for those that cannot be. */
export function messageCodec({ attributes }: { readonly attributes: number }): CodecName | 'none' {
	const codec = codecName(attributes & CODEC_MASK)
	if (codec === null || codec === 'zstd') throw new RecordFormatError(`codec ${attributes & CODEC_MASK} in a message`)
	return codec
}

export function hasAppendTime({ attributes }: { readonly attributes: number }): boolean {
	return (attributes & APPEND_TIME_BIT) !== 0
}

/** The compressed stream that a wrapper holds. Throws {@link RecordFormatError}. */
export function wrappedStream(wrapper: ReadMessage): { readonly codec: CodecName; readonly stream: Buffer } {
	const codec = messageCodec(wrapper)
	if (codec === 'none' || wrapper.value === null) throw new RecordFormatError('compressed message without a value')
	const isOddLz4 = wrapper.magic === 0 && codec === 'lz4'
	return { codec, stream: isOddLz4 ? withLz4Header(wrapper.value, 4) : wrapper.value }
}

/** The messages inside a wrapper, from its decompressed value: real offsets and times. Throws {@link RecordFormatError}. */
export function innerMessages(wrapper: ReadMessage, plain: Buffer): ReadMessage[] {
	const read: ReadMessage[] = []
	for (let at = 0; at < plain.length; ) {
		const message = readMessage(plain, at)
		if (message.magic !== wrapper.magic) throw new RecordFormatError('messages of two formats in one')
		if ((message.attributes & CODEC_MASK) !== 0) throw new RecordFormatError('compressed message inside another')
		read.push(message)
		at = message.end
	}
	const last = read[read.length - 1]
	if (last === undefined) throw new RecordFormatError('compressed message without messages')
	if (wrapper.magic === 0) return read
	// An outer offset of 0 is what some clients sent: then those inside are as they are.
	const shift = wrapper.offset === 0 ? 0 : wrapper.offset - last.offset
	const isAppendTime = hasAppendTime(wrapper)
	return read.map((message) => ({
		...message,
		offset: message.offset + shift,
		timestamp: isAppendTime ? wrapper.timestamp : message.timestamp,
	}))
}

/** The message at `at` and, when it is compressed, those inside instead. Throws RecordFormatError and CodecError. */
export async function messagesOf(
	compression: Compression,
	bytes: Buffer,
	at: number,
	bytesMax: number,
): Promise<readonly ReadMessage[]> {
	const outer = readMessage(bytes, at)
	if (messageCodec(outer) === 'none') return [outer]
	const { codec, stream } = wrappedStream(outer)
	return innerMessages(outer, await decompressStream(compression, codec, stream, bytesMax))
}

function sizeOf(magic: LegacyMagic, { key, value }: LegacyMessage): number {
	return (HEAD_BYTES[magic] as number) + 8 + (key?.length ?? 0) + (value?.length ?? 0)
}

function writeMessage(into: Buffer, at: number, magic: LegacyMagic, message: LegacyMessage): number {
	const end = at + sizeOf(magic, message)
	writeInt64(into, message.offset, at)
	into.writeInt32BE(end - at - CRC_AT, at + 8)
	into.writeInt8(magic, at + MAGIC_AT)
	into.writeInt8(magic === 0 ? message.attributes & CODEC_MASK : message.attributes, at + ATTRIBUTES_AT)
	if (magic === 1) writeInt64(into, message.timestamp, at + TIMESTAMP_AT)
	let next = at + (HEAD_BYTES[magic] as number)
	for (const field of [message.key, message.value]) {
		into.writeInt32BE(field?.length ?? -1, next)
		next += 4
		if (field === null) continue
		field.copy(into, next)
		next += field.length
	}
	into.writeUInt32BE(crc32(into.subarray(at + MAGIC_AT, end)), at + CRC_AT)
	return end
}

/** Plain messages, one after the other. */
export function writeMessages(magic: LegacyMagic, messages: readonly LegacyMessage[]): Buffer {
	let size = 0
	for (const message of messages) size += sizeOf(magic, message)
	const bytes = Buffer.allocUnsafe(size)
	let at = 0
	for (const message of messages) at = writeMessage(bytes, at, magic, message)
	return bytes
}

/** Messages (at least one, offsets rising) as one compressed message. `appendMs` -1: the times are the producer's. */
export async function wrapMessages(
	compression: Compression,
	magic: LegacyMagic,
	codec: CodecName,
	messages: readonly LegacyMessage[],
	appendMs: number,
): Promise<Buffer> {
	const first = messages[0] as LegacyMessage
	const last = messages[messages.length - 1] as LegacyMessage
	const base = magic === 1 ? first.offset : 0
	const plain = writeMessages(
		magic,
		messages.map((message) => ({ ...message, offset: message.offset - base })),
	)
	const stream = await compressStream(compression, codec, plain, null)
	const latest = messages.reduce((most, { timestamp }) => Math.max(most, timestamp), -1)
	return writeMessages(magic, [
		{
			offset: last.offset,
			attributes: codecId(codec) | (appendMs >= 0 ? APPEND_TIME_BIT : 0),
			timestamp: appendMs >= 0 ? appendMs : latest,
			key: null,
			value: magic === 0 && codec === 'lz4' ? withLz4Header(stream, 0) : stream,
		},
	])
}

/**
 * An LZ4 frame with its header's checksum made anew over the bytes from `from`: 4 is right; 0, over the magic number too,
 * is what format 0 has (semantics 3.3, KAFKA-3160).
 */
function withLz4Header(stream: Buffer, from: 0 | 4): Buffer {
	if (stream.length < 7) return stream
	const end = ((stream[4] as number) & 0x08) !== 0 ? 15 : 7
	if (stream.length < end) return stream
	const fixed = Buffer.from(stream)
	fixed[end - 1] = (xxhash32(fixed.subarray(from, end - 1)) >>> 8) & 0xff
	return fixed
}
