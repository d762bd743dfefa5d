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

import { readInt64, writeExactInt64, writeInt64 } from '../../base/bytes.js'
import type { CodecName, Compression } from '../../base/compression.js'
import { crc32 } from '../../base/crc32.js'
import { xxhash32 } from '../../base/xxhash32.js'
import { codecId, codecName, compressStream, decompressStream } from './compression.js'
import { RecordFormatError } from './fields.js'

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

/** Where the parts of each message of a set stand: a cursor that makes no objects. */
export class MessageFields {
	readonly bytes: Buffer
	/** Where the next message begins. */
	at = 0
	/** The message that was read last begins here. */
	start = 0
	magic: LegacyMagic = 0
	attributes = 0
	/** As its own bytes have it; inside a wrapper of format 1 it counts from 0. */
	offset = 0
	/** ms, -1 for format 0; beyond ±2^53 the nearest number. */
	timestamp = -1
	keyAt = 0
	/** -1 is null. */
	keyLength = -1
	valueAt = 0
	valueLength = -1

	constructor(bytes: Buffer) {
		this.bytes = bytes
	}

	/** Reads the message at `at`, whole. Throws {@link RecordFormatError}; a wrong CRC is not looked for. */
	read(): void {
		const { bytes, at } = this
		if (bytes.length - at < MESSAGE_BYTES_MIN) throw new RecordFormatError('message is cut')
		const end = at + CRC_AT + bytes.readInt32BE(at + 8)
		const magic = bytes.readInt8(at + MAGIC_AT)
		if (magic !== 0 && magic !== 1) throw new RecordFormatError(`magic ${magic} among messages of format 0 and 1`)
		const keyLengthAt = at + (HEAD_BYTES[magic] as number)
		if (end > bytes.length || end < keyLengthAt + 8) throw new RecordFormatError('message does not fit')
		this.keyLength = this.#length(keyLengthAt, end)
		this.keyAt = keyLengthAt + 4
		const valueLengthAt = this.keyAt + Math.max(0, this.keyLength)
		this.valueLength = this.#length(valueLengthAt, end)
		this.valueAt = valueLengthAt + 4
		const next = this.valueAt + Math.max(0, this.valueLength)
		if (next !== end) throw new RecordFormatError(`${end - next} bytes left in a message`)
		this.start = at
		this.magic = magic
		this.attributes = bytes.readInt8(at + ATTRIBUTES_AT)
		this.offset = readInt64(bytes, at)
		this.timestamp = magic === 1 ? readInt64(bytes, at + TIMESTAMP_AT) : -1
		this.at = end
	}

	get isCrcRight(): boolean {
		return crc32(this.bytes.subarray(this.start + MAGIC_AT, this.at)) === this.bytes.readUInt32BE(this.start + CRC_AT)
	}

	/** The timestamp with all its bits. */
	exactTimestamp(): bigint {
		return this.magic === 1 ? this.bytes.readBigInt64BE(this.start + TIMESTAMP_AT) : -1n
	}

	get key(): Buffer | null {
		return this.keyLength < 0 ? null : this.bytes.subarray(this.keyAt, this.keyAt + this.keyLength)
	}

	get value(): Buffer | null {
		return this.valueLength < 0 ? null : this.bytes.subarray(this.valueAt, this.valueAt + this.valueLength)
	}

	#length(at: number, end: number): number {
		if (at + 4 > end) throw new RecordFormatError('message is cut')
		const length = this.bytes.readInt32BE(at)
		if (length < -1 || length > end - at - 4) throw new RecordFormatError(`length ${length} does not fit`)
		return length
	}
}

/** The messages inside a wrapper, from its decompressed value, one after the other. Throws {@link RecordFormatError}. */
export class InnerMessages {
	readonly fields: MessageFields
	readonly #wrapper: ReadMessage

	constructor(wrapper: ReadMessage, plain: Buffer) {
		this.#wrapper = wrapper
		this.fields = new MessageFields(plain)
		if (plain.length === 0) throw new RecordFormatError('compressed message without messages')
	}

	/** Reads the next one; false after the last. */
	next(): boolean {
		if (this.fields.at >= this.fields.bytes.length) return false
		this.fields.read()
		if (this.fields.magic !== this.#wrapper.magic) throw new RecordFormatError('messages of two formats in one')
		if ((this.fields.attributes & CODEC_MASK) !== 0) throw new RecordFormatError('compressed message inside another')
		return true
	}
}

/** What turns offsets inside a wrapper into real ones, once the last of them is known. */
export function offsetShift(wrapper: ReadMessage, lastOffset: number): number {
	// An outer offset of 0 is what some clients sent: then those inside are as they are.
	return wrapper.magic === 0 || wrapper.offset === 0 ? 0 : wrapper.offset - lastOffset
}

/** The message at `at`, whole. Throws {@link RecordFormatError}; a wrong CRC is told, not thrown. */
export function readMessage(bytes: Buffer, at: number): ReadMessage {
	const fields = new MessageFields(bytes)
	fields.at = at
	fields.read()
	return messageOf(fields)
}

function messageOf(fields: MessageFields): ReadMessage {
	const { offset, attributes, timestamp, key, value, magic, at: end, isCrcRight } = fields
	return { offset, attributes, timestamp, key, value, magic, end, isCrcRight }
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
	const inner = new InnerMessages(wrapper, plain)
	const read: ReadMessage[] = []
	while (inner.next()) read.push(messageOf(inner.fields))
	const shift = offsetShift(wrapper, inner.fields.offset)
	const isAppendTime = wrapper.magic === 1 && hasAppendTime(wrapper)
	if (shift === 0 && !isAppendTime) return read
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

/** Bytes of a message with a key and a value of so many bytes, -1 for null. */
export function messageBytes(magic: LegacyMagic, keyLength: number, valueLength: number): number {
	return (HEAD_BYTES[magic] as number) + 8 + Math.max(0, keyLength) + Math.max(0, valueLength)
}

/** Writes head and CRC of the message of `size` bytes at `at`, whose key and value stand there already. */
function writeHead(
	into: Buffer,
	at: number,
	size: number,
	magic: LegacyMagic,
	offset: number,
	attributes: number,
	timestamp: number | bigint,
): void {
	writeInt64(into, offset, at)
	into.writeInt32BE(size - CRC_AT, at + 8)
	into.writeInt8(magic, at + MAGIC_AT)
	into.writeInt8(magic === 0 ? attributes & CODEC_MASK : attributes, at + ATTRIBUTES_AT)
	if (magic === 1) writeExactInt64(into, timestamp, at + TIMESTAMP_AT)
	into.writeUInt32BE(crc32(into.subarray(at + MAGIC_AT, at + size)), at + CRC_AT)
}

/** Where a key and a value stand: a record or a message that was read last. */
export interface PlacedFields {
	readonly bytes: Buffer
	readonly keyAt: number
	readonly keyLength: number
	readonly valueAt: number
	readonly valueLength: number
}

/** Writes one message with key and value from where they stand; returns the position after it. */
export function writeMessageFrom(
	into: Buffer,
	at: number,
	magic: LegacyMagic,
	fields: PlacedFields,
	offset: number,
	attributes: number,
	timestamp: number | bigint,
): number {
	let next = at + (HEAD_BYTES[magic] as number)
	into.writeInt32BE(fields.keyLength, next)
	next += 4
	if (fields.keyLength > 0) next += fields.bytes.copy(into, next, fields.keyAt, fields.keyAt + fields.keyLength)
	into.writeInt32BE(fields.valueLength, next)
	next += 4
	if (fields.valueLength > 0) next += fields.bytes.copy(into, next, fields.valueAt, fields.valueAt + fields.valueLength)
	writeHead(into, at, next - at, magic, offset, attributes, timestamp)
	return next
}

/** Plain messages, one after the other. */
export function writeMessages(magic: LegacyMagic, messages: readonly LegacyMessage[]): Buffer {
	let size = 0
	for (const { key, value } of messages) size += messageBytes(magic, key?.length ?? -1, value?.length ?? -1)
	const bytes = Buffer.allocUnsafe(size)
	let at = 0
	for (const { offset, attributes, timestamp, key, value } of messages) {
		const start = at
		at += HEAD_BYTES[magic] as number
		for (const field of [key, value]) {
			at = bytes.writeInt32BE(field?.length ?? -1, at)
			if (field !== null) at += field.copy(bytes, at)
		}
		writeHead(bytes, start, at - start, magic, offset, attributes, timestamp)
	}
	return bytes
}

/** Plain messages as one compressed message. Offset and timestamp are the wrapper's: of the last, and the latest. */
export async function wrapPlain(
	compression: Compression,
	magic: LegacyMagic,
	codec: CodecName,
	plain: Buffer,
	wrapper: { readonly offset: number; readonly timestamp: number | bigint; readonly isAppendTime: boolean },
): Promise<Buffer> {
	const stream = await compressStream(compression, codec, plain, null)
	const value = magic === 0 && codec === 'lz4' ? withLz4Header(stream, 0) : stream
	const bytes = Buffer.allocUnsafe(messageBytes(magic, -1, value.length))
	const fields = { bytes: value, keyAt: 0, keyLength: -1, valueAt: 0, valueLength: value.length }
	const attributes = codecId(codec) | (wrapper.isAppendTime ? APPEND_TIME_BIT : 0)
	writeMessageFrom(bytes, 0, magic, fields, wrapper.offset, attributes, wrapper.timestamp)
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
	const latest = messages.reduce((most, { timestamp }) => Math.max(most, timestamp), -1)
	return await wrapPlain(compression, magic, codec, plain, {
		offset: last.offset,
		timestamp: appendMs >= 0 ? appendMs : latest,
		isAppendTime: appendMs >= 0,
	})
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
