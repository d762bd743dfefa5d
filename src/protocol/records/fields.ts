/** Where the parts of each record of a v2 batch stand: a cursor over plain record bytes that makes no objects. */

import { readBigVarlong } from '../../base/bytes.js'

/** The bytes of a record sequence are not what the format says. */
export class RecordFormatError extends Error {
	override readonly name = 'RecordFormatError'
}

export class RecordFields {
	readonly bytes: Buffer
	/** No record goes beyond. */
	readonly end: number
	/** Where the next record begins. */
	at: number
	/** The record that was read last: its timestamp delta (exact to ±2^53) begins at `timeAt`, and so on. */
	timeAt = 0
	timestampDelta = 0
	offsetAt = 0
	offsetDelta = 0
	/** Key, value and headers, up to `recordEnd`. */
	bodyAt = 0
	keyAt = 0
	/** -1 is null. */
	keyLength = -1
	valueAt = 0
	valueLength = -1
	headersAt = 0
	headerCount = 0
	recordEnd = 0

	constructor(bytes: Buffer, at: number, end: number) {
		this.bytes = bytes
		this.at = at
		this.end = end
	}

	/** Reads the record at `at`. Throws {@link RecordFormatError}. */
	read(): void {
		const length = this.varint()
		const end = this.at + length
		if (length < 0 || end > this.end) throw new RecordFormatError(`record length ${length} does not fit`)
		this.recordEnd = end
		this.#byte()
		this.timeAt = this.at
		this.timestampDelta = this.#varlong()
		this.offsetAt = this.at
		this.offsetDelta = this.varint()
		this.bodyAt = this.at
		this.keyLength = this.#part()
		this.keyAt = this.at - Math.max(0, this.keyLength)
		this.valueLength = this.#part()
		this.valueAt = this.at - Math.max(0, this.valueLength)
		this.headersAt = this.at
		this.headerCount = this.varint()
		if (this.headerCount < 0 || this.headerCount > end - this.at) {
			throw new RecordFormatError(`header count ${this.headerCount}`)
		}
		for (let i = 0; i < this.headerCount; i++) {
			if (this.#part() < 0) throw new RecordFormatError('header without key')
			this.#part()
		}
		if (this.at !== end) throw new RecordFormatError('record length differs from its content')
	}

	get key(): Buffer | null {
		return this.keyLength < 0 ? null : this.bytes.subarray(this.keyAt, this.keyAt + this.keyLength)
	}

	get value(): Buffer | null {
		return this.valueLength < 0 ? null : this.bytes.subarray(this.valueAt, this.valueAt + this.valueLength)
	}

	/** Calls `each` with the parts of every header of the record that was read last. */
	eachHeader(each: (key: Buffer, value: Buffer | null) => void): void {
		const next = this.at
		this.at = this.headersAt
		const count = this.varint()
		for (let i = 0; i < count; i++) {
			const keyLength = this.#part()
			const key = this.bytes.subarray(this.at - keyLength, this.at)
			const valueLength = this.#part()
			each(key, valueLength < 0 ? null : this.bytes.subarray(this.at - valueLength, this.at))
		}
		this.at = next
	}

	/** The timestamp delta with all its bits. */
	exactTimestampDelta(): bigint {
		return readBigVarlong(this.bytes, this.timeAt)
	}

	#byte(): number {
		if (this.at >= this.end) throw new RecordFormatError('record is cut')
		return this.bytes[this.at++] as number
	}

	/** Reads one varint at `at`. */
	varint(): number {
		let raw = 0
		for (let shift = 0; shift <= 28; shift += 7) {
			const byte = this.#byte()
			raw |= (byte & 0x7f) << shift
			if (byte < 0x80) return (raw >>> 1) ^ -(raw & 1)
		}
		throw new RecordFormatError('varint is too long')
	}

	/** The sign is the lowest bit: kept apart, the rest is exact to 2^53. */
	#varlong(): number {
		let byte = this.#byte()
		const isNegative = (byte & 1) === 1
		let rest = (byte & 0x7f) >>> 1
		let scale = 64
		for (let i = 1; byte >= 0x80; i++) {
			if (i === 10) throw new RecordFormatError('varlong is too long')
			byte = this.#byte()
			rest += (byte & 0x7f) * scale
			scale *= 128
		}
		return isNegative ? -rest - 1 : rest
	}

	/** Passes over a length and its bytes; -1 for null. */
	#part(): number {
		const length = this.varint()
		if (length === -1) return -1
		if (length < 0 || length > this.recordEnd - this.at) throw new RecordFormatError(`length ${length} does not fit`)
		this.at += length
		return length
	}
}
