/**
 * Memory of request frames, used again when the request has been answered. Each fresh buffer of a megabyte would cost page
 * faults and, every few dozen, a whole collection of the heap, since the engine counts memory outside it: a third of the
 * broker's time under load went there.
 *
 * Sizes are powers of two, and one that fits a producer's largest usual request. A frame that is not given back is left to
 * the collector.
 */

import { assert } from '../../base/assert.js'

const SIZE_MIN = 256
const SIZE_MAX = 2_097_152
/** A request of Java's `max.request.size` or librdkafka's `message.max.bytes`, with what stands around its records. */
const USUAL_SIZE = 1_310_720
/** Bytes kept for later, all sizes together. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024

/** Memory that was made here: nothing else may ever be given out. */
const ours = new WeakSet<ArrayBufferLike>()
const kept = new Map<number, Buffer[]>()
let keptBytes = 0

function sizeFor(bytes: number): number {
	if (bytes > SIZE_MAX / 2 && bytes <= USUAL_SIZE) return USUAL_SIZE
	let size = SIZE_MIN
	while (size < bytes) size *= 2
	return size
}

/** At least `bytes` bytes, with anything in them. */
export function takeFrame(bytes: number): Buffer {
	if (bytes < SIZE_MIN || bytes > SIZE_MAX) return Buffer.allocUnsafe(bytes)
	const size = sizeFor(bytes)
	const again = kept.get(size)?.pop()
	if (again !== undefined) {
		keptBytes -= size
		return again
	}
	const fresh = Buffer.allocUnsafeSlow(size)
	ours.add(fresh.buffer)
	return fresh
}

/** Nobody looks at `frame` any more, which {@link takeFrame} gave, whole or its first part. Others are let be. */
export function giveFrame(frame: Buffer): void {
	const memory = frame.buffer
	const size = memory.byteLength
	if (!ours.has(memory) || keptBytes + size > KEPT_BYTES_MAX) return
	const same = kept.get(size) ?? []
	if (same.length === 0) kept.set(size, same)
	assert(!same.some((other) => other.buffer === memory), 'a frame is given back twice')
	same.push(Buffer.from(memory, 0, size))
	keptBytes += size
}
