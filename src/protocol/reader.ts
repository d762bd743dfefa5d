/**
 * A bounds-checked cursor over one Buffer. Slices, never copies: bytes and records fields stay borrowed from the frame.
 * Every length is held against the bytes left before anything is made from it, so a lying peer costs nothing.
 */

import { readInt64 } from '../base/bytes.js'
import { type TopicId, topicIdFromBytes, ZERO_TOPIC_ID } from '../base/ids.js'

/** The bytes are not a message of the claimed kind. The connection that sent them is closed (semantics 28.2). */
export class ProtocolError extends Error {
	override readonly name = 'ProtocolError'
}

/**
 * Most array elements in one message. A frame of 100 MB could claim 50 million of them, each far larger decoded than on
 * the wire; no honest request comes near this.
 */
const ELEMENTS_MAX = 2_000_000

export class Reader {
	readonly bytes: Buffer
	at: number
	readonly end: number
	#elementsLeft = ELEMENTS_MAX

	constructor(bytes: Buffer, at = 0, end = bytes.length) {
		this.bytes = bytes
		this.at = at
		this.end = end
	}

	get left(): number {
		return this.end - this.at
	}

	/** Moves on by `count` bytes and returns where they start. */
	take(count: number): number {
		const at = this.at
		if (count > this.end - at) throw new ProtocolError(`${count} bytes wanted at ${at}, ${this.end - at} left`)
		this.at = at + count
		return at
	}

	bool(): boolean {
		return this.bytes[this.take(1)] !== 0
	}

	int8(): number {
		return this.bytes.readInt8(this.take(1))
	}

	int16(): number {
		return this.bytes.readInt16BE(this.take(2))
	}

	uint16(): number {
		return this.bytes.readUInt16BE(this.take(2))
	}

	int32(): number {
		return this.bytes.readInt32BE(this.take(4))
	}

	uint32(): number {
		return this.bytes.readUInt32BE(this.take(4))
	}

	int64(): number {
		return readInt64(this.bytes, this.take(8))
	}

	bigint64(): bigint {
		return this.bytes.readBigInt64BE(this.take(8))
	}

	float64(): number {
		return this.bytes.readDoubleBE(this.take(8))
	}

	uuid(): TopicId {
		const at = this.take(16)
		const bytes = this.bytes
		if (bytes.readUInt32BE(at) === 0 && bytes.readUInt32BE(at + 4) === 0) {
			if (bytes.readUInt32BE(at + 8) === 0 && bytes.readUInt32BE(at + 12) === 0) return ZERO_TOPIC_ID
		}
		return topicIdFromBytes(bytes.subarray(at, at + 16))
	}

	/** Unsigned varint, at most five bytes. */
	uvarint(): number {
		let value = 0
		let shift = 0
		for (;;) {
			const byte = this.bytes[this.take(1)] as number
			if (shift === 28) {
				if (byte > 0x0f) throw new ProtocolError(`varint over 32 bits at ${this.at - 1}`)
				return (value | (byte << 28)) >>> 0
			}
			value |= (byte & 0x7f) << shift
			if (byte < 0x80) return value
			shift += 7
		}
	}

	/** Length of a string: -1 for null. */
	stringLength(flexible: boolean): number {
		return flexible ? this.uvarint() - 1 : this.int16()
	}

	/** Length of bytes, records or an array: -1 for null. */
	longLength(flexible: boolean): number {
		return flexible ? this.uvarint() - 1 : this.int32()
	}

	text(length: number): string {
		const at = this.take(length)
		return this.bytes.toString('utf8', at, at + length)
	}

	slice(length: number): Buffer {
		const at = this.take(length)
		return this.bytes.subarray(at, at + length)
	}

	/** Fails unless `count` elements of at least `sizeMin` bytes each can still come and the message's total is sane. */
	expect(count: number, sizeMin: number): void {
		this.#elementsLeft -= count
		if (this.#elementsLeft < 0) throw new ProtocolError(`more than ${ELEMENTS_MAX} array elements`)
		if (count * sizeMin > this.end - this.at) {
			throw new ProtocolError(`array of ${count} claimed at ${this.at}, ${this.end - this.at} bytes left`)
		}
	}

	/** Steps over a tag section whose tags are all unknown. */
	skipTags(): void {
		for (let count = this.uvarint(); count > 0; count--) {
			this.uvarint()
			this.take(this.uvarint())
		}
	}
}
