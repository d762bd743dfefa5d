/**
 * Key → last offset of the dirty part of one log (21.3), in two flat tables of 24 bytes a slot together: 16 of the key's
 * hash, 8 of the offset. Open addressing; nothing is ever taken out. A pass makes one, fills it, asks it, and drops it.
 */

import { assert } from '../../../base/assert.js'
import { KeyHash } from './key-hash.js'

export const SLOT_BYTES = 24

/** Kafka's bound on the buffer of one cleaner thread: an array's length. */
const BUFFER_BYTES_MAX = 0x7fff_ffff

/**
 * Slots for a pass over `offsetCount` offsets: as many as it can need, within `bufferBytes` (log.cleaner.dedupe.buffer.size
 * of one thread). At least two.
 */
export function slotsFor(bufferBytes: number, loadFactor: number, offsetCount: number): number {
	const most = Math.floor(Math.min(bufferBytes, BUFFER_BYTES_MAX) / SLOT_BYTES)
	return Math.max(2, Math.min(most, Math.ceil(offsetCount / loadFactor) + 1))
}

export class OffsetMap {
	readonly #slots: number
	readonly #hash: KeyHash
	/** Four words a slot. */
	readonly #hashes: Int32Array
	/** Offset + 1; 0 is an empty slot. */
	readonly #offsets: Float64Array
	/** Entries that it takes: slots by load factor. */
	readonly entriesMax: number
	#size = 0
	/** Everything up to here is mapped; -1 when nothing is. */
	latestOffset = -1

	/** `hashKey` is secret, 16 bytes. */
	constructor(slots: number, loadFactor: number, hashKey: Buffer) {
		assert(slots >= 2, `a map of ${slots} slots`)
		this.#slots = slots
		this.#hash = new KeyHash(hashKey)
		this.#hashes = new Int32Array(slots * 4)
		this.#offsets = new Float64Array(slots)
		// One slot stays free, so that every search ends.
		this.entriesMax = Math.max(1, Math.min(slots - 1, Math.floor(slots * loadFactor)))
	}

	get size(): number {
		return this.#size
	}

	get isFull(): boolean {
		return this.#size >= this.entriesMax
	}

	/** Notes that the key `bytes[from, to)` stands at `offset`. Offsets rise. False, and nothing done, when it is full. */
	put(bytes: Uint8Array, from: number, to: number, offset: number): boolean {
		if (this.isFull) return false
		const slot = this.#find(bytes, from, to)
		if (this.#offsets[slot] === 0) {
			this.#hashes.set(this.#hash.words, slot * 4)
			this.#size++
		}
		this.#offsets[slot] = offset + 1
		this.latestOffset = offset
		return true
	}

	/** Last offset of the key, -1 when it is not in the map. */
	get(bytes: Uint8Array, from: number, to: number): number {
		return (this.#offsets[this.#find(bytes, from, to)] as number) - 1
	}

	/** Raises `latestOffset`: what lies up to there has no key that counts. */
	advance(offset: number): void {
		if (offset > this.latestOffset) this.latestOffset = offset
	}

	/** Slot that holds the key, or the empty one where it belongs. */
	#find(bytes: Uint8Array, from: number, to: number): number {
		this.#hash.hash(bytes, from, to)
		const words = this.#hash.words
		const a = words[0] as number
		const b = words[1] as number
		const c = words[2] as number
		const d = words[3] as number
		const slots = this.#slots
		// The hash's words in turn, then on from the last one.
		for (let attempt = 0; ; attempt++) {
			const word = attempt === 0 ? a : attempt === 1 ? b : attempt === 2 ? c : d
			const slot = ((word >>> 0) + Math.max(0, attempt - 3)) % slots
			if (this.#offsets[slot] === 0) return slot
			const at = slot * 4
			const hashes = this.#hashes
			if (hashes[at] === a && hashes[at + 1] === b && hashes[at + 2] === c && hashes[at + 3] === d) return slot
		}
	}
}
