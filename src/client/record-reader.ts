/**
 * A cursor over the records of one batch: it moves from record to record and says where key, value and headers stand,
 * without making an object a record. For readers of many records (`consumer.ts`); tools that want objects use
 * `protocol/records/record.ts`.
 */

import { RecordFormatError } from '../protocol/records/fields.js'

/** One header as bytes: names are text by custom only, and a value may be null. */
export interface HeaderBytes {
	readonly key: Buffer
	readonly value: Buffer | null
}

/** What a batch says of its records. */
export interface BatchFacts {
	readonly baseOffset: number
	readonly baseTimestamp: number
	/** Time of every record of a LogAppendTime batch; -1 for CreateTime. */
	readonly appendMs: number
	readonly recordCount: number
	readonly leaderEpoch: number
	readonly isControl: boolean
}

/** A length of -1 means null. */
const NULL = -1

export class RecordReader {
	/** Holds the records, uncompressed. All positions below are positions in it. */
	readonly bytes: Buffer
	readonly facts: BatchFacts
	offset = -1
	timestamp = -1
	keyAt = 0
	/** -1: null. */
	keyLength = NULL
	valueAt = 0
	/** -1: null. */
	valueLength = NULL
	headerCount = 0
	#headersAt = 0
	#at: number
	readonly #end: number
	#left: number

	/** Records are `bytes[at, end)`. */
	constructor(bytes: Buffer, at: number, end: number, facts: BatchFacts) {
		this.bytes = bytes
		this.facts = facts
		this.#at = at
		this.#end = end
		this.#left = facts.recordCount
	}

	get timestampType(): 'CreateTime' | 'LogAppendTime' {
		return this.facts.appendMs >= 0 ? 'LogAppendTime' : 'CreateTime'
	}

	/** Moves to the next record; false after the last. Throws {@link RecordFormatError}. */
	next(): boolean {
		if (this.#left === 0) return false
		this.#left--
		const length = this.#varint(this.#end)
		const end = this.#at + length
		if (length < 0 || end > this.#end) throw new RecordFormatError(`record length ${length} does not fit`)
		this.#at++
		const delta = this.#varlong(end)
		this.timestamp = this.facts.appendMs >= 0 ? this.facts.appendMs : this.facts.baseTimestamp + delta
		this.offset = this.facts.baseOffset + this.#varint(end)
		this.keyLength = this.#length(end)
		this.keyAt = this.#at
		if (this.keyLength > 0) this.#at += this.keyLength
		this.valueLength = this.#length(end)
		this.valueAt = this.#at
		if (this.valueLength > 0) this.#at += this.valueLength
		this.headerCount = this.#varint(end)
		this.#headersAt = this.#at
		this.#at = end
		return true
	}

	/** The key as a slice of {@link bytes}. */
	key(): Buffer | null {
		return this.keyLength < 0 ? null : this.bytes.subarray(this.keyAt, this.keyAt + this.keyLength)
	}

	value(): Buffer | null {
		return this.valueLength < 0 ? null : this.bytes.subarray(this.valueAt, this.valueAt + this.valueLength)
	}

	/** All headers in their order, repeated names kept. Throws {@link RecordFormatError}. */
	headers(): HeaderBytes[] {
		const end = this.#at
		const headers: HeaderBytes[] = []
		this.#at = this.#headersAt
		try {
			if (this.headerCount < 0) throw new RecordFormatError(`header count ${this.headerCount}`)
			for (let i = 0; i < this.headerCount; i++) {
				const key = this.#slice(end)
				if (key === null) throw new RecordFormatError('header without name')
				headers.push({ key, value: this.#slice(end) })
			}
		} finally {
			this.#at = end
		}
		return headers
	}

	#slice(end: number): Buffer | null {
		const length = this.#length(end)
		if (length < 0) return null
		this.#at += length
		return this.bytes.subarray(this.#at - length, this.#at)
	}

	#length(end: number): number {
		const length = this.#varint(end)
		if (length < -1 || length > end - this.#at) throw new RecordFormatError(`length ${length} does not fit`)
		return length
	}

	#varint(end: number): number {
		const bytes = this.bytes
		let at = this.#at
		let raw = 0
		for (let shift = 0; shift <= 28; shift += 7) {
			if (at >= end) throw new RecordFormatError('record is cut')
			const byte = bytes[at++] as number
			raw |= (byte & 0x7f) << shift
			if (byte < 0x80) {
				this.#at = at
				return (raw >>> 1) ^ -(raw & 1)
			}
		}
		throw new RecordFormatError('varint is too long')
	}

	#varlong(end: number): number {
		const bytes = this.bytes
		const start = this.#at
		let at = start
		let raw = 0
		let scale = 1
		while (at - start < 10) {
			if (at >= end) throw new RecordFormatError('record is cut')
			const byte = bytes[at++] as number
			raw += (byte & 0x7f) * scale
			if (byte < 0x80) {
				this.#at = at
				return ((bytes[start] as number) & 1) === 1 ? -(raw - 1) / 2 - 1 : raw / 2
			}
			scale *= 128
		}
		throw new RecordFormatError('varlong is too long')
	}
}
