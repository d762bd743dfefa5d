/**
 * Snappy streams as Kafka uses them (semantics 3.2): xerial framing of raw blocks, or one raw block. The framing and a
 * portable block decoder stand here; the block functions of a native package replace the portable ones where they load.
 *
 * xerial: 82 53 4E 41 50 50 59 00 | int32 version | int32 compatible | blocks: int32 length + raw block
 */

import { CodecError } from './compression.js'

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])
const HEADER_BYTES = 16
const BLOCK_BYTES = 32_768

function broken(message: string): CodecError {
	return new CodecError('snappy', 'broken', message)
}

/** Decodes one raw block whose size was read and bounded before. */
export type BlockDecoder = (block: Buffer) => Buffer

/** Uncompressed size that a raw block claims. A wrong claim is found by the decoder. */
export function snappyBlockSize(block: Buffer): number {
	let size = 0
	let scale = 1
	for (let i = 0; i < 5; i++) {
		if (i >= block.length) throw broken('size is cut')
		const byte = block[i] as number
		size += (byte & 0x7f) * scale
		if (byte < 0x80) {
			// A copy of three bytes gives at most 64: a claim beyond that is a lie.
			if (size > block.length * 64) throw broken(`size ${size} of ${block.length} bytes`)
			return size
		}
		scale *= 128
	}
	throw broken('size is no varint')
}

export function isXerial(stream: Buffer): boolean {
	return stream.length >= HEADER_BYTES && stream.compare(XERIAL, 0, 8, 0, 8) === 0
}

/** The raw blocks of a stream, checked to be whole and to give at most `bytesMax` together. */
export function snappyBlocks(stream: Buffer, bytesMax: number): Buffer[] {
	const blocks: Buffer[] = []
	let total = 0
	if (!isXerial(stream)) {
		blocks.push(stream)
		total = snappyBlockSize(stream)
	} else {
		for (let at = HEADER_BYTES; at < stream.length; ) {
			if (stream.length - at < 4) throw broken('block length is cut')
			const length = stream.readInt32BE(at)
			at += 4
			if (length <= 0 || length > stream.length - at) throw broken('block does not fit')
			const block = stream.subarray(at, at + length)
			total += snappyBlockSize(block)
			if (total > bytesMax) break
			blocks.push(block)
			at += length
		}
	}
	if (total > bytesMax) throw new CodecError('snappy', 'tooLarge', `gives ${total} bytes or more`)
	return blocks
}

/** Portable decoder of one raw block. */
export function decodeSnappyBlock(block: Buffer): Buffer {
	const size = snappyBlockSize(block)
	const into = Buffer.allocUnsafe(size)
	let at = 1
	while ((block[at - 1] as number) >= 0x80) at++
	let out = 0
	const end = block.length
	while (at < end) {
		const tag = block[at++] as number
		const kind = tag & 3
		let length: number
		if (kind === 0) {
			length = (tag >>> 2) + 1
			if (length > 60) {
				const extra = length - 60
				if (extra > end - at) throw broken('literal length is cut')
				length = block.readUIntLE(at, extra) + 1
				at += extra
			}
			if (length > end - at || length > size - out) throw broken('literal does not fit')
			block.copy(into, out, at, at + length)
			at += length
			out += length
			continue
		}
		const bytes = kind === 1 ? 1 : kind === 2 ? 2 : 4
		if (bytes > end - at) throw broken('copy is cut')
		const distance = kind === 1 ? ((tag >>> 5) << 8) | (block[at] as number) : block.readUIntLE(at, bytes)
		at += bytes
		length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
		if (distance === 0 || distance > out || length > size - out) throw broken('copy does not fit')
		for (let i = 0; i < length; i++) into[out + i] = into[out + i - distance] as number
		out += length
	}
	if (out !== size) throw broken('block is shorter than it says')
	return into
}

/** A raw block that holds its bytes as they are: written where no native encoder loads. */
export function storeSnappyBlock(plain: Buffer): Buffer {
	const size: number[] = []
	let rest = plain.length
	while (rest >= 0x80) {
		size.push((rest & 0x7f) | 0x80)
		rest >>>= 7
	}
	size.push(rest)
	if (plain.length === 0) return Buffer.from(size)
	const tag = Buffer.alloc(3)
	tag[0] = 61 << 2
	tag.writeUInt16LE(plain.length - 1, 1)
	return Buffer.concat([Buffer.from(size), tag, plain])
}

/** Pieces of `plain` for the blocks of a stream. */
export function snappyPieces(plain: Buffer): Buffer[] {
	const pieces: Buffer[] = []
	for (let at = 0; at < plain.length; at += BLOCK_BYTES) pieces.push(plain.subarray(at, at + BLOCK_BYTES))
	return pieces
}

/** Frames raw blocks as snappy-java does. */
export function frameSnappy(blocks: readonly Buffer[]): Buffer {
	const head = Buffer.alloc(HEADER_BYTES)
	XERIAL.copy(head)
	head.writeInt32BE(1, 8)
	head.writeInt32BE(1, 12)
	const parts: Buffer[] = [head]
	for (const block of blocks) {
		const length = Buffer.alloc(4)
		length.writeInt32BE(block.length)
		parts.push(length, block)
	}
	return Buffer.concat(parts)
}
