/**
 * SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012): what the offset map keeps of a key. Apache Kafka takes
 * MD5, for which collisions can be made, and one means a lost record. This one has a secret key, drawn anew for each pass,
 * so nobody can aim at it; and it runs on the caller's turn without an object a record.
 *
 * 64-bit words stand as two 32-bit halves, since that is what JavaScript adds and turns fast.
 */

import { assert } from '../../../base/assert.js'

export const HASH_KEY_BYTES = 16

export class KeyHash {
	readonly #key: Int32Array
	/** The hash of the last `hash`, least significant word first. */
	readonly words = new Int32Array(4)

	/** `key` is secret, {@link HASH_KEY_BYTES} long; it is copied. */
	constructor(key: Buffer) {
		assert(key.length === HASH_KEY_BYTES, `a hash key of ${key.length} bytes`)
		this.#key = Int32Array.from([0, 4, 8, 12], (at) => key.readInt32LE(at))
	}

	/** Hashes `bytes[from, to)` into `words`. */
	hash(bytes: Uint8Array, from: number, to: number): void {
		const k0l = this.#key[0] as number
		const k0h = this.#key[1] as number
		const k1l = this.#key[2] as number
		const k1h = this.#key[3] as number
		let v0l = k0l ^ 0x70736575
		let v0h = k0h ^ 0x736f6d65
		let v1l = k1l ^ 0x6e646f6d ^ 0xee
		let v1h = k1h ^ 0x646f7261
		let v2l = k0l ^ 0x6e657261
		let v2h = k0h ^ 0x6c796765
		let v3l = k1l ^ 0x79746573
		let v3h = k1h ^ 0x74656462
		const length = to - from
		const blockRounds = ((length >>> 3) + 1) * 2
		const roundsMax = blockRounds + 8
		let at = from
		let ml = 0
		let mh = 0
		for (let round = 0; round < roundsMax; round++) {
			if (round < blockRounds) {
				if ((round & 1) === 0) {
					if (to - at >= 8) {
						ml = word(bytes, at)
						mh = word(bytes, at + 4)
						at += 8
					} else {
						ml = tail(bytes, at, Math.min(to, at + 4))
						mh = tail(bytes, at + 4, to) | (length << 24)
					}
					v3l ^= ml
					v3h ^= mh
				}
			} else if (round === blockRounds) v2l ^= 0xee
			else if (round === blockRounds + 4) {
				this.words[0] = v0l ^ v1l ^ v2l ^ v3l
				this.words[1] = v0h ^ v1h ^ v2h ^ v3h
				v1l ^= 0xdd
			}
			// v0 += v1, v1 <<<= 13, v1 ^= v0, v0 <<<= 32
			let low = (v0l >>> 0) + (v1l >>> 0)
			let high = (v0h + v1h + (low > 0xffffffff ? 1 : 0)) | 0
			let turned = (v1l << 13) | (v1h >>> 19)
			v1h = ((v1h << 13) | (v1l >>> 19)) ^ high
			v1l = turned ^ low
			v0l = high
			v0h = low | 0
			// v2 += v3, v3 <<<= 16, v3 ^= v2
			low = (v2l >>> 0) + (v3l >>> 0)
			v2h = (v2h + v3h + (low > 0xffffffff ? 1 : 0)) | 0
			v2l = low | 0
			turned = (v3l << 16) | (v3h >>> 16)
			v3h = ((v3h << 16) | (v3l >>> 16)) ^ v2h
			v3l = turned ^ v2l
			// v0 += v3, v3 <<<= 21, v3 ^= v0
			low = (v0l >>> 0) + (v3l >>> 0)
			v0h = (v0h + v3h + (low > 0xffffffff ? 1 : 0)) | 0
			v0l = low | 0
			turned = (v3l << 21) | (v3h >>> 11)
			v3h = ((v3h << 21) | (v3l >>> 11)) ^ v0h
			v3l = turned ^ v0l
			// v2 += v1, v1 <<<= 17, v1 ^= v2, v2 <<<= 32
			low = (v2l >>> 0) + (v1l >>> 0)
			high = (v2h + v1h + (low > 0xffffffff ? 1 : 0)) | 0
			turned = (v1l << 17) | (v1h >>> 15)
			v1h = ((v1h << 17) | (v1l >>> 15)) ^ high
			v1l = turned ^ low
			v2l = high
			v2h = low | 0
			if (round < blockRounds && (round & 1) === 1) {
				v0l ^= ml
				v0h ^= mh
			}
		}
		this.words[2] = v0l ^ v1l ^ v2l ^ v3l
		this.words[3] = v0h ^ v1h ^ v2h ^ v3h
	}
}

function word(bytes: Uint8Array, at: number): number {
	return (
		(bytes[at] as number) |
		((bytes[at + 1] as number) << 8) |
		((bytes[at + 2] as number) << 16) |
		((bytes[at + 3] as number) << 24)
	)
}

/** At most four bytes, the first lowest. */
function tail(bytes: Uint8Array, from: number, to: number): number {
	let value = 0
	for (let at = to - 1; at >= from; at--) value = (value << 8) | (bytes[at] as number)
	return value
}
