/**
 * Records of a v2 batch as objects: decoded for coordinators, tools and the client, built for those who write. Never on
 * the produce or fetch path, where bytes pass as they are (`walk.ts`).
 */

import { sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from '../../base/bytes.js'
import { BATCH_HEADER_BYTES, type BatchHeader, CONTROL_BIT, TRANSACTIONAL_BIT, writeBatchHeader } from './batch.js'

export interface RecordHeader {
	readonly key: string
	readonly value: Buffer | null
}

/** One decoded record. Key, value and header values are slices of the source: copy what must live longer. */
export interface DecodedRecord {
	readonly offset: number
	readonly timestamp: number
	readonly key: Buffer | null
	readonly value: Buffer | null
	readonly headers: readonly RecordHeader[]
}

/** The bytes of a record sequence are not what the format says. */
export class RecordFormatError extends Error {
	override readonly name = 'RecordFormatError'
}

const NO_HEADERS: readonly RecordHeader[] = []

/** A bounds-checked cursor over records. */
class RecordCursor {
	at: number
	constructor(
		readonly bytes: Buffer,
		at: number,
		readonly end: number,
	) {
		this.at = at
	}

	byte(): number {
		if (this.at >= this.end) throw new RecordFormatError('record is cut')
		return this.bytes[this.at++] as number
	}

	varint(): number {
		let raw = 0
		for (let shift = 0; shift <= 28; shift += 7) {
			const byte = this.byte()
			raw |= (byte & 0x7f) << shift
			if (byte < 0x80) return (raw >>> 1) ^ -(raw & 1)
		}
		throw new RecordFormatError('varint is too long')
	}

	varlong(): number {
		const start = this.at
		let raw = 0
		let scale = 1
		for (let i = 0; i < 10; i++) {
			const byte = this.byte()
			raw += (byte & 0x7f) * scale
			if (byte < 0x80) return ((this.bytes[start] as number) & 1) === 1 ? -(raw - 1) / 2 - 1 : raw / 2
			scale *= 128
		}
		throw new RecordFormatError('varlong is too long')
	}

	/** A length and its bytes; null for -1. */
	slice(): Buffer | null {
		const length = this.varint()
		if (length === -1) return null
		if (length < 0 || length > this.end - this.at) throw new RecordFormatError(`length ${length} does not fit`)
		this.at += length
		return this.bytes.subarray(this.at - length, this.at)
	}
}

function decodeOne(cursor: RecordCursor, baseOffset: number, baseTimestamp: number, appendMs: number): DecodedRecord {
	const length = cursor.varint()
	const end = cursor.at + length
	if (length < 0 || end > cursor.end) throw new RecordFormatError(`record length ${length} does not fit`)
	cursor.byte()
	const timestampDelta = cursor.varlong()
	const offset = baseOffset + cursor.varint()
	const key = cursor.slice()
	const value = cursor.slice()
	const headerCount = cursor.varint()
	if (headerCount < 0 || headerCount > end - cursor.at) throw new RecordFormatError(`header count ${headerCount}`)
	let headers = NO_HEADERS
	if (headerCount > 0) {
		const read: RecordHeader[] = []
		for (let i = 0; i < headerCount; i++) {
			const name = cursor.slice()
			if (name === null) throw new RecordFormatError('header without key')
			read.push({ key: name.toString('utf8'), value: cursor.slice() })
		}
		headers = read
	}
	if (cursor.at !== end) throw new RecordFormatError('record length differs from its content')
	return { offset, timestamp: appendMs >= 0 ? appendMs : baseTimestamp + timestampDelta, key, value, headers }
}

/** Where records stand and what their batch says of them. */
export interface RecordSource {
	/** Uncompressed record bytes are `bytes[at, end)`. */
	readonly bytes: Buffer
	readonly at: number
	readonly end: number
	readonly count: number
	readonly baseOffset: number
	readonly baseTimestamp: number
	/** Time of every record of a LogAppendTime batch; -1 for CreateTime. */
	readonly appendMs: number
}

/** Decodes `source.count` records. Throws {@link RecordFormatError}, also when bytes are left over. */
export function decodeRecords(source: RecordSource): DecodedRecord[] {
	const cursor = new RecordCursor(source.bytes, source.at, source.end)
	const records: DecodedRecord[] = []
	for (let i = 0; i < source.count; i++) {
		records.push(decodeOne(cursor, source.baseOffset, source.baseTimestamp, source.appendMs))
	}
	if (cursor.at !== source.end) throw new RecordFormatError('bytes left after the last record')
	return records
}

/** A record to write. Absent headers are none. */
export interface NewRecord {
	readonly timestamp: number
	readonly key: Uint8Array | null
	readonly value: Uint8Array | null
	readonly headers?: readonly { readonly key: string; readonly value: Uint8Array | null }[]
	/** Default: its place in the batch. */
	readonly offsetDelta?: number
}

const sizeOfBytes = (value: Uint8Array | null): number =>
	value === null ? 1 : sizeOfVarint(value.length) + value.length

function bodySize(record: NewRecord, timestampDelta: number, offsetDelta: number): number {
	const headers = record.headers ?? []
	let size = 1 + sizeOfVarlong(timestampDelta) + sizeOfVarint(offsetDelta)
	size += sizeOfBytes(record.key) + sizeOfBytes(record.value) + sizeOfVarint(headers.length)
	for (const header of headers) {
		const keyBytes = Buffer.byteLength(header.key)
		size += sizeOfVarint(keyBytes) + keyBytes + sizeOfBytes(header.value)
	}
	return size
}

function writeBytes(into: Buffer, value: Uint8Array | null, at: number): number {
	if (value === null) return writeVarint(into, -1, at)
	const start = writeVarint(into, value.length, at)
	into.set(value, start)
	return start + value.length
}

/** Encodes records one after the other, `reserve` bytes of room before them. */
export function encodeRecords(records: readonly NewRecord[], baseTimestamp: number, reserve = 0): Buffer {
	let size = reserve
	for (let i = 0; i < records.length; i++) {
		const record = records[i] as NewRecord
		const body = bodySize(record, record.timestamp - baseTimestamp, record.offsetDelta ?? i)
		size += sizeOfVarint(body) + body
	}
	const bytes = Buffer.allocUnsafe(size)
	let at = reserve
	for (let i = 0; i < records.length; i++) {
		const record = records[i] as NewRecord
		const headers = record.headers ?? []
		const timestampDelta = record.timestamp - baseTimestamp
		const offsetDelta = record.offsetDelta ?? i
		at = writeVarint(bytes, bodySize(record, timestampDelta, offsetDelta), at)
		bytes[at++] = 0
		at = writeVarlong(bytes, timestampDelta, at)
		at = writeVarint(bytes, offsetDelta, at)
		at = writeBytes(bytes, record.key, at)
		at = writeBytes(bytes, record.value, at)
		at = writeVarint(bytes, headers.length, at)
		for (const header of headers) {
			at = writeBytes(bytes, Buffer.from(header.key), at)
			at = writeBytes(bytes, header.value, at)
		}
	}
	return bytes
}

/** What an uncompressed batch is built from; absent fields are those of a plain producer. */
export interface NewBatch {
	readonly records: readonly NewRecord[]
	readonly baseOffset?: number
	readonly leaderEpoch?: number
	readonly producerId?: bigint
	readonly producerEpoch?: number
	readonly baseSequence?: number
	/** Further attribute bits: transactional, control. */
	readonly attributes?: number
}

/** Base and maximum timestamp, and last delta, of `records` (at least one). */
function bounds(records: readonly NewRecord[]): { base: number; max: number; lastDelta: number } {
	const base = records[0]?.timestamp ?? -1
	let max = -1
	for (const record of records) if (record.timestamp > max) max = record.timestamp
	const lastDelta = records[records.length - 1]?.offsetDelta ?? records.length - 1
	return { base, max, lastDelta }
}

export function headerOf(batch: NewBatch): BatchHeader {
	const { base, max, lastDelta } = bounds(batch.records)
	return {
		baseOffset: batch.baseOffset ?? 0,
		leaderEpoch: batch.leaderEpoch ?? -1,
		attributes: batch.attributes ?? 0,
		lastOffsetDelta: lastDelta,
		baseTimestamp: base,
		maxTimestamp: max,
		producerId: batch.producerId ?? -1n,
		producerEpoch: batch.producerEpoch ?? -1,
		baseSequence: batch.baseSequence ?? -1,
		recordCount: batch.records.length,
	}
}

/** Builds an uncompressed v2 batch in one buffer. */
export function buildBatch(batch: NewBatch): Buffer {
	const header = headerOf(batch)
	const bytes = encodeRecords(batch.records, header.baseTimestamp, BATCH_HEADER_BYTES)
	writeBatchHeader(bytes, 0, bytes.length, header)
	return bytes
}

/** Type of a transaction marker. */
export type MarkerType = 'commit' | 'abort'

/** Builds the control batch that ends a transaction (1.11). */
export function buildMarker(
	type: MarkerType,
	fields: {
		readonly producerId: bigint
		readonly producerEpoch: number
		readonly coordinatorEpoch: number
		readonly timestamp: number
		readonly leaderEpoch?: number
	},
): Buffer {
	const key = Buffer.alloc(4)
	key.writeInt16BE(type === 'commit' ? 1 : 0, 2)
	const value = Buffer.alloc(6)
	value.writeInt32BE(fields.coordinatorEpoch, 2)
	return buildBatch({
		records: [{ timestamp: fields.timestamp, key, value }],
		producerId: fields.producerId,
		producerEpoch: fields.producerEpoch,
		attributes: TRANSACTIONAL_BIT | CONTROL_BIT,
		leaderEpoch: fields.leaderEpoch ?? -1,
	})
}

/** Reads a control record's type and coordinator epoch; null when it is not a transaction marker. */
export function readMarker(record: DecodedRecord): { type: MarkerType; coordinatorEpoch: number } | null {
	if (record.key === null || record.key.length < 4 || record.value === null || record.value.length < 6) return null
	const type = record.key.readInt16BE(2)
	if (type !== 0 && type !== 1) return null
	return { type: type === 1 ? 'commit' : 'abort', coordinatorEpoch: record.value.readInt32BE(2) }
}
