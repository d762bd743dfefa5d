/**
 * A growing buffer with a list of borrowed record slices. `finish` gives the parts in order, for a gather write: what
 * was encoded, then records as they are, then what was encoded after them.
 */

import { writeInt64, writeUnsignedVarint } from '../base/bytes.js'
import { type TopicId, topicIdToBytes, ZERO_TOPIC_ID } from '../base/ids.js'
import type { Records, RecordsSlice } from './schema.js'

export type Part = Buffer | RecordsSlice

/** Records up to this size are copied beside the rest: one write less is worth more than the copy. */
const COPY_MAX = 2048

export class Writer {
	#buffer: Buffer
	#from = 0
	#at = 0
	#parts: Part[] = []
	#before = 0

	/** `size` bytes at first: most answers to small requests fit, larger ones double. */
	constructor(size = 160) {
		this.#buffer = Buffer.allocUnsafe(size)
	}

	/** Bytes written so far, slices included. */
	get length(): number {
		return this.#before + this.#at - this.#from
	}

	/** All parts in order. The writer must not be used after it. */
	finish(): Part[] {
		this.#cut()
		return this.#parts
	}

	/** All bytes as one Buffer; only for messages without file slices. */
	finishBuffer(): Buffer {
		const parts = this.finish()
		if (parts.length === 1) return parts[0] as Buffer
		return Buffer.concat(parts as Buffer[])
	}

	bool(value: boolean): void {
		this.int8(value ? 1 : 0)
	}

	int8(value: number): void {
		const at = this.#room(1)
		this.#buffer.writeInt8(value, at)
	}

	int16(value: number): void {
		const at = this.#room(2)
		this.#buffer.writeInt16BE(value, at)
	}

	uint16(value: number): void {
		const at = this.#room(2)
		this.#buffer.writeUInt16BE(value, at)
	}

	int32(value: number): void {
		const at = this.#room(4)
		this.#buffer.writeInt32BE(value, at)
	}

	uint32(value: number): void {
		const at = this.#room(4)
		this.#buffer.writeUInt32BE(value, at)
	}

	int64(value: number): void {
		const at = this.#room(8)
		writeInt64(this.#buffer, value, at)
	}

	bigint64(value: bigint): void {
		const at = this.#room(8)
		this.#buffer.writeBigInt64BE(value, at)
	}

	float64(value: number): void {
		const at = this.#room(8)
		this.#buffer.writeDoubleBE(value, at)
	}

	uuid(value: TopicId): void {
		const at = this.#room(16)
		if (value === ZERO_TOPIC_ID) this.#buffer.fill(0, at, at + 16)
		else topicIdToBytes(value).copy(this.#buffer, at)
	}

	uvarint(value: number): void {
		const at = this.#room(5)
		this.#at = writeUnsignedVarint(this.#buffer, value, at)
	}

	string(value: string | null, flexible: boolean): void {
		if (value === null) {
			if (flexible) this.uvarint(0)
			else this.int16(-1)
			return
		}
		const length = Buffer.byteLength(value)
		if (flexible) this.uvarint(length + 1)
		else {
			if (length > 0x7fff) throw new RangeError(`string of ${length} bytes is over 32767`)
			this.int16(length)
		}
		const at = this.#room(length)
		this.#buffer.write(value, at, length, 'utf8')
	}

	byteString(value: Buffer | null, flexible: boolean): void {
		if (value === null) {
			this.length32(-1, flexible)
			return
		}
		this.length32(value.length, flexible)
		this.raw(value)
	}

	records(value: Records, flexible: boolean): void {
		if (value === null) {
			this.length32(-1, flexible)
			return
		}
		if (Buffer.isBuffer(value)) {
			this.length32(value.length, flexible)
			this.raw(value)
			return
		}
		this.length32(value.byteLength, flexible)
		for (const part of value.parts) {
			if (Buffer.isBuffer(part)) this.raw(part)
			else this.#borrow(part)
		}
	}

	/** Length of bytes, records or an array; -1 is null. */
	length32(length: number, flexible: boolean): void {
		if (flexible) this.uvarint(length + 1)
		else this.int32(length)
	}

	/** Bytes without a length: small ones are copied, large ones borrowed. */
	raw(bytes: Buffer): void {
		if (bytes.length > COPY_MAX) {
			this.#borrow(bytes)
			return
		}
		const at = this.#room(bytes.length)
		bytes.copy(this.#buffer, at)
	}

	#borrow(part: Part): void {
		this.#cut()
		this.#parts.push(part)
		this.#before += part.length
	}

	#cut(): void {
		if (this.#at === this.#from) return
		this.#parts.push(this.#buffer.subarray(this.#from, this.#at))
		this.#before += this.#at - this.#from
		this.#from = this.#at
	}

	#room(count: number): number {
		const at = this.#at
		if (at + count > this.#buffer.length) {
			const used = at - this.#from
			const grown = Buffer.allocUnsafe(Math.max(512, used * 2, used + count))
			this.#buffer.copy(grown, 0, this.#from, at)
			this.#buffer = grown
			this.#from = 0
			this.#at = used + count
			return used
		}
		this.#at = at + count
		return at
	}
}
