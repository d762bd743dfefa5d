/**
 * Which partition a record goes to, by its key: as Java's producer does it, and as librdkafka does. Pure but for the
 * random choice where there is no key.
 */

import { crc32 } from '../base/crc32.js'

/**
 * `java`: murmur2 of the key; records without one stay on a partition until its batch is sent (KIP-480, KIP-794).
 * `librdkafka`: CRC-32 of the key; records without key, or with an empty one, at random. `random` looks at no key.
 */
export type PartitionerName = 'java' | 'librdkafka' | 'random'

export interface Partitioner {
	/** Partition for a key, 0 to count - 1. */
	choose(key: Uint8Array | null, count: number): number
	/** The batch that records without key were put in has been closed: the next goes elsewhere. */
	batchClosed(): void
}

export function partitioner(name: PartitionerName, random: () => number): Partitioner {
	switch (name) {
		case 'java':
			return new StickyPartitioner(random)
		case 'librdkafka':
			return {
				choose: (key, count) => (key === null || key.length === 0 ? Math.floor(random() * count) : crc32(key) % count),
				batchClosed: () => undefined,
			}
		case 'random':
			return { choose: (_key, count) => Math.floor(random() * count), batchClosed: () => undefined }
	}
}

/** Of these partitions alone; `inner` chooses among their places in the list. */
export function amongPartitions(partitions: readonly number[], inner: Partitioner): Partitioner {
	return {
		choose: (key) => partitions[inner.choose(key, partitions.length)] as number,
		batchClosed: () => inner.batchClosed(),
	}
}

class StickyPartitioner implements Partitioner {
	readonly #random: () => number
	#current = -1

	constructor(random: () => number) {
		this.#random = random
	}

	choose(key: Uint8Array | null, count: number): number {
		if (key !== null) return (murmur2(key) & 0x7fffffff) % count
		if (this.#current < 0 || this.#current >= count) this.#current = Math.floor(this.#random() * count)
		return this.#current
	}

	batchClosed(): void {
		this.#current = -1
	}
}

/** Java's `Utils.murmur2`: a signed 32-bit hash. */
export function murmur2(data: Uint8Array): number {
	const length = data.length
	const m = 0x5bd1e995
	let h = 0x9747b28c ^ length
	const whole = length & ~3
	for (let i = 0; i < whole; i += 4) {
		let k = (data[i] as number) | ((data[i + 1] as number) << 8) | ((data[i + 2] as number) << 16)
		k |= (data[i + 3] as number) << 24
		k = Math.imul(k, m)
		k ^= k >>> 24
		k = Math.imul(k, m)
		h = Math.imul(h, m) ^ k
	}
	const left = length & 3
	if (left > 2) h ^= (data[whole + 2] as number) << 16
	if (left > 1) h ^= (data[whole + 1] as number) << 8
	if (left > 0) {
		h ^= data[whole] as number
		h = Math.imul(h, m)
	}
	h ^= h >>> 13
	h = Math.imul(h, m)
	h ^= h >>> 15
	return h | 0
}
