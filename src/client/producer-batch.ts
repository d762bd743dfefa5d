/**
 * A batch on its way to a broker: records are written into its buffer as they come, then it is sealed (compressed where
 * asked), stamped with producer and sequence, and sent, perhaps several times. Owned by `producer.ts`; sent by
 * `producer-sender.ts`. No object is kept a record but its tag.
 */

import { sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from '../base/bytes.js'
import type { CodecName, Compression } from '../base/compression.js'
import { BATCH_HEADER_BYTES, writeBatchHeader } from '../protocol/records/batch.js'
import { codecId, compressStream } from '../protocol/records/compression.js'
import { RecordReader } from './record-reader.js'

export interface RecordHeaderInput {
	readonly key: Uint8Array
	readonly value: Uint8Array | null
}

/** A record as it is given to the producer. Bytes are copied at once. */
export interface RecordInput {
	readonly key: Buffer | null
	readonly value: Buffer | null
	readonly headers: readonly RecordHeaderInput[]
	readonly timestamp: number
}

/** First buffer of a batch; it doubles as it fills. */
const FIRST_BYTES = 16_384

/** Up to this length a loop beats the call of a native copy. */
const LOOP_BYTES = 24

export class ProducerBatch {
	/** Any number a record, given by the caller: to say later which of its records failed. */
	readonly tags: number[] = []
	readonly createdMs: number
	/** Place among the batches of its partition; halves of a batch share its room of `orderWidth`. */
	readonly order: number
	readonly #orderWidth: number
	/** Bytes that count against the producer's buffer. */
	reservedBytes = 0
	baseSequence = -1
	#bytes: Buffer
	#at = BATCH_HEADER_BYTES
	#baseTimestamp = 0
	#maxTimestamp = -1
	#attributes = 0
	#isReady = false
	#plain: Buffer | null = null

	constructor(order: number, createdMs: number, bytesHint = FIRST_BYTES, orderWidth = 1) {
		this.order = order
		this.#orderWidth = orderWidth
		this.createdMs = createdMs
		this.#bytes = Buffer.allocUnsafe(Math.max(FIRST_BYTES, bytesHint))
	}

	get count(): number {
		return this.tags.length
	}

	/** Bytes so far, header included. */
	get size(): number {
		return this.#at
	}

	/** Sealed, and compressed where asked: may be sent. */
	get isReady(): boolean {
		return this.#isReady
	}

	/**
	 * Writes one record; key and value are ranges of their buffers, null for none. The caller has checked that the batch
	 * is not sealed.
	 */
	append(
		timestamp: number,
		key: Buffer | null,
		value: Buffer | null,
		valueFrom: number,
		valueEnd: number,
		headers: readonly RecordHeaderInput[],
		tag: number,
	): void {
		const index = this.tags.length
		if (index === 0) this.#baseTimestamp = timestamp
		if (timestamp > this.#maxTimestamp) this.#maxTimestamp = timestamp
		const timestampDelta = timestamp - this.#baseTimestamp
		const valueBytes = value === null ? -1 : valueEnd - valueFrom
		const keyBytes = key === null ? -1 : key.length
		let body = 1 + sizeOfVarlong(timestampDelta) + sizeOfVarint(index)
		body += keyBytes < 0 ? 1 : sizeOfVarint(keyBytes) + keyBytes
		body += valueBytes < 0 ? 1 : sizeOfVarint(valueBytes) + valueBytes
		body += headers.length === 0 ? 1 : headerBytes(headers)
		this.#room(body + 5)
		const bytes = this.#bytes
		let at = writeVarint(bytes, body, this.#at)
		bytes[at++] = 0
		at = writeVarlong(bytes, timestampDelta, at)
		at = writeVarint(bytes, index, at)
		at = writeVarint(bytes, keyBytes, at)
		if (key !== null) at = copy(key, 0, keyBytes, bytes, at)
		at = writeVarint(bytes, valueBytes, at)
		if (value !== null) at = copy(value, valueFrom, valueEnd, bytes, at)
		if (headers.length === 0) bytes[at++] = 0
		else at = writeHeaders(bytes, at, headers)
		this.#at = at
		this.tags.push(tag)
	}

	/** No more records. Compresses at once when the batch is small; else settles when it has. Rejects with CodecError. */
	seal(compression: Compression, codec: CodecName | 'none', level: number | null): Promise<void> | null {
		const records = this.#bytes.subarray(BATCH_HEADER_BYTES, this.#at)
		this.#attributes = codecId(codec)
		if (codec === 'none') {
			this.#isReady = true
			return null
		}
		this.#plain = records
		const stream = compressStream(compression, codec, records, level)
		if (Buffer.isBuffer(stream)) {
			this.#take(stream)
			return null
		}
		return stream.then((made) => this.#take(made))
	}

	/** Writes producer, epoch and sequence, and the CRC; gives the bytes to send. */
	stamp(producerId: bigint, producerEpoch: number, baseSequence: number): Buffer {
		this.baseSequence = baseSequence
		writeBatchHeader(this.#bytes, 0, this.#at, {
			baseOffset: 0,
			leaderEpoch: -1,
			attributes: this.#attributes,
			lastOffsetDelta: this.count - 1,
			baseTimestamp: this.#baseTimestamp,
			maxTimestamp: this.#maxTimestamp,
			producerId,
			producerEpoch,
			baseSequence,
			recordCount: this.count,
		})
		return this.#bytes.subarray(0, this.#at)
	}

	/** The same records in two batches, unsealed; for a broker that finds this one too large. Needs two records. */
	split(): [ProducerBatch, ProducerBatch] {
		const bytes = this.#plain ?? this.#bytes.subarray(BATCH_HEADER_BYTES, this.#at)
		const reader = new RecordReader(bytes, 0, bytes.length, {
			baseOffset: 0,
			baseTimestamp: this.#baseTimestamp,
			appendMs: -1,
			recordCount: this.count,
			leaderEpoch: -1,
			isControl: false,
		})
		const width = this.#orderWidth / 2
		const halves: [ProducerBatch, ProducerBatch] = [
			new ProducerBatch(this.order, this.createdMs, this.#at >> 1, width),
			new ProducerBatch(this.order + width, this.createdMs, this.#at >> 1, width),
		]
		const middle = Math.ceil(this.count / 2)
		for (let i = 0; reader.next(); i++) {
			const half = i < middle ? halves[0] : halves[1]
			const value = reader.valueLength < 0 ? null : reader.bytes
			const end = reader.valueAt + reader.valueLength
			const tag = this.tags[i] as number
			half.append(reader.timestamp, reader.key(), value, reader.valueAt, end, reader.headers(), tag)
		}
		halves[0].reservedBytes = Math.floor(this.reservedBytes / 2)
		halves[1].reservedBytes = this.reservedBytes - halves[0].reservedBytes
		return halves
	}

	#take(stream: Buffer): void {
		const bytes = Buffer.allocUnsafe(BATCH_HEADER_BYTES + stream.length)
		stream.copy(bytes, BATCH_HEADER_BYTES)
		this.#bytes = bytes
		this.#at = bytes.length
		this.#isReady = true
	}

	#room(count: number): void {
		const wanted = this.#at + count
		if (wanted <= this.#bytes.length) return
		const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, wanted))
		this.#bytes.copy(grown, 0, 0, this.#at)
		this.#bytes = grown
	}
}

function copy(source: Buffer, from: number, end: number, target: Buffer, at: number): number {
	const length = end - from
	if (length > LOOP_BYTES) {
		source.copy(target, at, from, end)
		return at + length
	}
	for (let i = 0; i < length; i++) target[at + i] = source[from + i] as number
	return at + length
}

function headerBytes(headers: readonly RecordHeaderInput[]): number {
	let size = sizeOfVarint(headers.length)
	for (const { key, value } of headers) {
		size += sizeOfVarint(key.length) + key.length
		size += value === null ? 1 : sizeOfVarint(value.length) + value.length
	}
	return size
}

function writeHeaders(bytes: Buffer, from: number, headers: readonly RecordHeaderInput[]): number {
	let at = writeVarint(bytes, headers.length, from)
	for (const { key, value } of headers) {
		at = writeVarint(bytes, key.length, at)
		bytes.set(key, at)
		at = writeVarint(bytes, value === null ? -1 : value.length, at + key.length)
		if (value !== null) {
			bytes.set(value, at)
			at += value.length
		}
	}
	return at
}
