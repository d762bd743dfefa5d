/**
 * One record of a v2 batch as positions in its plain bytes, read without an object a record: what the offset map and the
 * rules ask for, and what writing it again under another base timestamp needs. Format: `protocol/records/walk.ts`.
 */

import { writeVarint, writeVarlong } from '../../../base/bytes.js'
import { RecordFormatError } from '../../../protocol/records/fields.js'

/** Deltas longer than so many bytes are read as bigint: a double would lose their low bits. */
const SAFE_VARLONG_BYTES = 7

/** Position after the number that was read last. */
let next = 0

function varint(bytes: Buffer, at: number, end: number): number {
	let raw = 0
	let position = at
	for (let shift = 0; shift <= 28; shift += 7) {
		if (position >= end) break
		const byte = bytes[position++] as number
		raw |= (byte & 0x7f) << shift
		if (byte < 0x80) {
			next = position
			return (raw >>> 1) ^ -(raw & 1)
		}
	}
	throw new RecordFormatError('varint is cut or too long')
}

/** Position after the varlong at `at`. */
function endOfVarlong(bytes: Buffer, at: number, end: number): number {
	for (let position = at; position < end && position < at + 10; position++) {
		if ((bytes[position] as number) < 0x80) return position + 1
	}
	throw new RecordFormatError('varlong is cut or too long')
}

export class RecordView {
	/** The whole record is `bytes[at, end)`. */
	at = 0
	end = 0
	#deltaAt = 0
	/** Offset delta and all that follows. */
	#offsetAt = 0
	offset = 0
	hasKey = false
	keyAt = 0
	keyEnd = 0
	hasValue = false
	/** Set by the walk: last offset of the key in the map. */
	mappedOffset = -1

	/** Reads the record at `at`. Throws {@link RecordFormatError} when it does not fit before `end`. */
	read(bytes: Buffer, at: number, end: number, baseOffset: number): void {
		const length = varint(bytes, at, end)
		const start = next
		if (length < 6 || length > end - start) throw new RecordFormatError(`record length ${length} does not fit`)
		this.at = at
		this.end = start + length
		this.#deltaAt = start + 1
		this.#offsetAt = endOfVarlong(bytes, this.#deltaAt, this.end)
		this.offset = baseOffset + varint(bytes, this.#offsetAt, this.end)
		const keyLength = varint(bytes, next, this.end)
		if (keyLength < -1 || keyLength > this.end - next) throw new RecordFormatError(`key length ${keyLength}`)
		this.hasKey = keyLength >= 0
		this.keyAt = next
		this.keyEnd = next + Math.max(0, keyLength)
		const valueLength = varint(bytes, this.keyEnd, this.end)
		if (valueLength < -1 || valueLength > this.end - next) throw new RecordFormatError(`value length ${valueLength}`)
		this.hasValue = valueLength >= 0
		this.mappedOffset = -1
	}

	/** Timestamp delta: a bigint where a number would not be exact. */
	delta(bytes: Buffer): number | bigint {
		if (this.#offsetAt - this.#deltaAt > SAFE_VARLONG_BYTES) return readVarlong(bytes, this.#deltaAt, this.#offsetAt)
		let raw = 0
		for (let at = this.#offsetAt - 1; at >= this.#deltaAt; at--) raw = raw * 128 + ((bytes[at] as number) & 0x7f)
		return raw % 2 === 1 ? -(raw + 1) / 2 : raw / 2
	}

	/** Writes the record with another timestamp delta (attributes 0); returns the position after it. */
	write(bytes: Buffer, delta: number | bigint, into: Buffer, at: number): number {
		const rest = this.end - this.#offsetAt
		const deltaBytes = typeof delta === 'number' ? writeVarlong(scratch, delta, 0) : writeBigVarlong(scratch, delta)
		let position = writeVarint(into, 1 + deltaBytes + rest, at)
		into[position++] = 0
		scratch.copy(into, position, 0, deltaBytes)
		position += deltaBytes
		bytes.copy(into, position, this.#offsetAt, this.end)
		return position + rest
	}
}

/** By how much a record may grow when it is written with another delta. */
export const GROWTH_BYTES_MAX = 14

const scratch = Buffer.alloc(10)

function readVarlong(bytes: Buffer, at: number, end: number): bigint {
	let raw = 0n
	for (let position = end - 1; position >= at; position--) {
		raw = (raw << 7n) | BigInt((bytes[position] as number) & 0x7f)
	}
	return BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n))
}

function writeBigVarlong(into: Buffer, value: bigint): number {
	let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
	let at = 0
	while (rest >= 0x80n) {
		into[at++] = Number(rest & 0x7fn) | 0x80
		rest >>= 7n
	}
	into[at++] = Number(rest)
	return at
}
