/**
 * Records of a v2 batch as objects: decoded for coordinators, tools and the client, built for those who write. Never on
 * the produce or fetch path, where bytes pass as they are (`walk.ts`).
 */

import { sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from '../../base/bytes.js'
import { BATCH_HEADER_BYTES, type BatchHeader, CONTROL_BIT, TRANSACTIONAL_BIT, writeBatchHeader } from './batch.js'
import { RecordFields, RecordFormatError } from './fields.js'

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

const NO_HEADERS: readonly RecordHeader[] = []

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
	const { baseOffset, baseTimestamp, appendMs } = source
	const fields = new RecordFields(source.bytes, source.at, source.end)
	const records: DecodedRecord[] = []
	for (let i = 0; i < source.count; i++) {
		fields.read()
		records.push({
			offset: baseOffset + fields.offsetDelta,
			timestamp: appendMs >= 0 ? appendMs : baseTimestamp + fields.timestampDelta,
			key: fields.key,
			value: fields.value,
			headers: fields.headerCount === 0 ? NO_HEADERS : headersOf(fields),
		})
	}
	if (fields.at !== source.end) throw new RecordFormatError('bytes left after the last record')
	return records
}

function headersOf(fields: RecordFields): RecordHeader[] {
	const headers: RecordHeader[] = []
	fields.eachHeader((key, value) => headers.push({ key: key.toString('utf8'), value }))
	return headers
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
	const bytes = encodeRecords(batch.records, batch.records[0]?.timestamp ?? -1, BATCH_HEADER_BYTES)
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
