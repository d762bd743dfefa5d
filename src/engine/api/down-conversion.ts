/**
 * Records for clients that know message formats 0 and 1 only (Fetch below version 4; semantics 2.6–2.8). A batch is
 * converted when the connection has room for it, one at a time, so that an answer holds no more than one in memory. Its
 * length must be told before: it is what the stored bytes have, or what the first batch becomes if that is more; what is
 * left at the end is filled with the beginning of a message that is larger than any answer, which clients leave out.
 */

import { CodecError } from '../../base/compression.js'
import { ERROR } from '../../protocol/errors.js'
import { batchBytes, wholeBatchEnd } from '../../protocol/records/batch.js'
import { type DownConversionParts, downConvert, NoDownConversion } from '../../protocol/records/down-convert.js'
import { RecordFormatError } from '../../protocol/records/fields.js'
import type { LegacyMagic } from '../../protocol/records/legacy.js'
import type { Records } from '../../protocol/schema.js'
import { FileSlice, type ReadOutcome } from '../log/read.js'
import { lastOffsetOf } from '../log/segment.js'
import type { ReplySlice } from '../net/connection.js'

export interface ConversionParts extends DownConversionParts {
	/** Reads on from an offset, within the bounds of the request. */
	readonly readFrom: (offset: number) => ReadOutcome
}

/** What the answer says of the partition. */
export interface Converted {
	readonly errorCode: number
	readonly records: Records
}

type Source = Buffer | FileSlice

const BLOCK_BYTES = 262_144
const FILLER_BYTES = 65_536
/** Bytes of offset and length: enough for a client to see that a message is too large. */
const OVERFLOW_BYTES_MIN = 12
/** A whole batch cannot be shorter: clients check that. */
const BATCH_BYTES_MIN = 61
/** Stored bytes that are looked through for the first record of an answer. */
const SCAN_BYTES_MAX = 16 * 1024 * 1024

const NOTHING: Converted = { errorCode: ERROR.NONE, records: Buffer.alloc(0) }

/** Whole batches of a slice, in order, one in memory at a time. */
class BatchReader {
	readonly #source: Source
	readonly #length: number
	#block: Buffer = Buffer.alloc(0)
	#blockAt = 0
	/** Place of the next batch in the source. */
	position: number

	constructor(source: Source, position: number) {
		this.#source = source
		this.#length = source.length
		this.position = position
	}

	/** Null at the end, and at a batch that is cut there. */
	async next(): Promise<Buffer | null> {
		let end = wholeBatchEnd(this.#block, this.position - this.#blockAt, this.#block.length)
		if (end === 0) {
			await this.#fill(BLOCK_BYTES)
			end = wholeBatchEnd(this.#block, 0, this.#block.length)
			if (end === 0 && this.#block.length >= OVERFLOW_BYTES_MIN) {
				await this.#fill(batchBytes(this.#block, 0))
				end = wholeBatchEnd(this.#block, 0, this.#block.length)
			}
		}
		if (end < 0) throw new RecordFormatError('length or magic cannot be')
		if (end === 0) return null
		const batch = this.#block.subarray(this.position - this.#blockAt, end)
		this.position += batch.length
		return batch
	}

	async #fill(wanted: number): Promise<void> {
		const source = this.#source
		const size = Math.max(0, Math.min(wanted, this.#length - this.position))
		this.#blockAt = this.position
		if (Buffer.isBuffer(source)) {
			this.#block = source.subarray(this.position, this.position + size)
			return
		}
		const block = Buffer.allocUnsafeSlow(size)
		const read = await source.file.read(block, source.position + this.position)
		this.#block = block.subarray(0, read)
	}
}

/** Converts as it is read, from the batch at `position` of `source` on. */
class ConvertedSlice implements ReplySlice {
	readonly length: number
	readonly #parts: ConversionParts
	readonly #source: Source | null
	readonly #reader: BatchReader | null
	readonly #magic: LegacyMagic
	readonly #firstOffset: number
	#piece: Buffer = Buffer.alloc(0)
	#made = 0
	#isOver = false
	#isFilling = false

	/** `source` null: nothing but filler. */
	constructor(
		parts: ConversionParts,
		source: Source | null,
		position: number,
		magic: LegacyMagic,
		firstOffset: number,
		length: number,
	) {
		this.#parts = parts
		this.#source = source
		this.#reader = source === null ? null : new BatchReader(source, position)
		this.#magic = magic
		this.#firstOffset = firstOffset
		this.length = length
	}

	async read(into: Buffer): Promise<void> {
		for (let at = 0; at < into.length; ) {
			if (this.#piece.length === 0) this.#piece = await this.#next()
			const copied = this.#piece.copy(into, at)
			this.#piece = this.#piece.subarray(copied)
			at += copied
			this.#made += copied
		}
	}

	release(): void {
		if (this.#source instanceof FileSlice) this.#source.release()
	}

	async #next(): Promise<Buffer> {
		while (!this.#isOver && this.#reader !== null) {
			const piece = await this.#convert(this.#reader)
			if (piece !== null) return piece
		}
		return this.#filler()
	}

	/** The next batch; null when it has nothing for the client, or there is none. */
	async #convert(reader: BatchReader): Promise<Buffer | null> {
		try {
			const batch = await reader.next()
			if (batch !== null) {
				return await downConvert(this.#parts, batch, this.#magic, this.#firstOffset)
			}
		} catch (error) {
			// Its own error is the answer of the next fetch, which begins with it.
			if (!isOfBatch(error)) throw error
		}
		this.#isOver = true
		return null
	}

	/** Begins a message that goes beyond the answer, and goes on with zeros. */
	#filler(): Buffer {
		const left = this.length - this.#made
		const bytes = Buffer.alloc(Math.max(OVERFLOW_BYTES_MIN, Math.min(left, FILLER_BYTES)))
		if (!this.#isFilling) {
			bytes.writeBigInt64BE(-1n, 0)
			bytes.writeInt32BE(Math.max(left + 1, BATCH_BYTES_MIN), 8)
		}
		this.#isFilling = true
		return bytes.subarray(0, Math.min(left, bytes.length))
	}
}

function isOfBatch(error: unknown): boolean {
	return error instanceof NoDownConversion || error instanceof CodecError || error instanceof RecordFormatError
}

/** A message that is larger than what the client asked for: it says so, instead of asking for ever. */
export function overflow(parts: ConversionParts, bytes: number): Converted {
	const length = Math.max(OVERFLOW_BYTES_MIN, bytes)
	const slice = new ConvertedSlice(parts, null, 0, 0, 0, length)
	return { errorCode: ERROR.NONE, records: { byteLength: length, parts: [slice] } }
}

/**
 * The records of one partition in `magic` or older. `outcome` was read from `offset` on; it is used up here. Batches that
 * have nothing for such a client (markers) are passed over, up to the reader's bound.
 */
export async function convertRecords(
	parts: ConversionParts,
	outcome: ReadOutcome,
	offset: number,
	magic: LegacyMagic,
): Promise<Converted> {
	let source = outcome.parts[0]
	let bytes = outcome.bytes
	let scanned = 0
	let next = offset
	for (;;) {
		if (source === undefined) return NOTHING
		const began = next
		const reader = new BatchReader(source, 0)
		try {
			for (;;) {
				const position = reader.position
				const batch = await reader.next()
				if (batch === null) break
				next = lastOffsetOf(batch, 0) + 1
				const first = await downConvert(parts, batch, magic, offset)
				if (first === null) continue
				const length = Math.max(bytes - position, first.length)
				const slice = new ConvertedSlice(parts, source, position, magic, offset, length)
				source = undefined
				return { errorCode: ERROR.NONE, records: { byteLength: length, parts: [slice] } }
			}
		} catch (error) {
			if (!isOfBatch(error)) throw error
			const errorCode = error instanceof NoDownConversion ? ERROR.UNSUPPORTED_COMPRESSION_TYPE : ERROR.CORRUPT_MESSAGE
			return { errorCode, records: NOTHING.records }
		} finally {
			if (source instanceof FileSlice) source.release()
		}
		scanned += bytes
		if (next === began || scanned > SCAN_BYTES_MAX) return overflow(parts, bytes)
		const more = parts.readFrom(next)
		if (more.errorCode !== ERROR.NONE) return { errorCode: more.errorCode, records: NOTHING.records }
		source = more.parts[0]
		bytes = more.bytes
	}
}
