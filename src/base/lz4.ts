/**
 * LZ4 frames as Kafka uses them (semantics 3.3): header checked, independent blocks, every length held against what is
 * left. Linked blocks are refused, since the Java consumer cannot read them. The portable decoder here is what runs where
 * no native one loads; `measureLz4Frame` bounds the output for either before a byte is decoded.
 *
 * magic 04 22 4D 18 | FLG | BD | [content size int64] | HC | blocks: int32 size (high bit: stored) + data
 * [+ checksum] … | int32 0 | [content checksum]
 */

import { CodecError } from './compression.js'
import { xxhash32 } from './xxhash32.js'

const MAGIC = 0x184d2204
const BLOCK_MAX: readonly number[] = [0, 0, 0, 0, 65_536, 262_144, 1_048_576, 4_194_304]

function broken(message: string): CodecError {
	return new CodecError('lz4', 'broken', message)
}

interface FrameHeader {
	readonly end: number
	readonly blockMax: number
	readonly hasBlockChecksum: boolean
	readonly hasContentChecksum: boolean
}

function readHeader(source: Buffer): FrameHeader {
	if (source.length < 7 || source.readUInt32LE(0) !== MAGIC) throw broken('not a frame')
	const flags = source[4] as number
	if (flags >>> 6 !== 1) throw broken(`version ${flags >>> 6}`)
	if ((flags & 0x20) === 0) throw broken('linked blocks')
	if ((flags & 0x01) !== 0) throw broken('dictionary')
	const blockMax = BLOCK_MAX[((source[5] as number) >>> 4) & 7] as number
	if (blockMax === 0) throw broken('block size')
	const end = (flags & 0x08) !== 0 ? 15 : 7
	if (source.length < end) throw broken('header is cut')
	const check = (xxhash32(source.subarray(4, end - 1)) >>> 8) & 0xff
	if (check !== source[end - 1]) throw broken('header checksum')
	return { end, blockMax, hasBlockChecksum: (flags & 0x10) !== 0, hasContentChecksum: (flags & 0x04) !== 0 }
}

/** Calls `visit` for each block; checks that the frame is whole and that nothing follows it. */
function walkBlocks(
	source: Buffer,
	header: FrameHeader,
	visit: (at: number, size: number, isStored: boolean) => void,
): void {
	let at = header.end
	for (;;) {
		if (source.length - at < 4) throw broken('block is cut')
		const word = source.readUInt32LE(at)
		at += 4
		if (word === 0) break
		const size = word & 0x7fff_ffff
		if (size > header.blockMax || size > source.length - at) throw broken('block does not fit')
		visit(at, size, word >= 0x8000_0000)
		at += size + (header.hasBlockChecksum ? 4 : 0)
	}
	if (header.hasContentChecksum) at += 4
	if (at !== source.length) throw broken('frame does not end with the stream')
}

/** The most bytes that the frame can give: a block of n bytes gives at most 255 n and at most the frame's block size. */
export function measureLz4Frame(source: Buffer): number {
	const header = readHeader(source)
	let most = 0
	walkBlocks(source, header, (_, size, isStored) => {
		most += isStored ? size : Math.min(header.blockMax, size * 255)
	})
	return most
}

/** Decodes one block into `into` from `from`, up to `limit`; returns the position after it. */
function decodeBlock(source: Buffer, start: number, end: number, into: Buffer, from: number, limit: number): number {
	let at = start
	let out = from
	while (at < end) {
		const token = source[at++] as number
		let literals = token >>> 4
		if (literals === 15) {
			let more: number
			do {
				if (at >= end) throw broken('literal length')
				more = source[at++] as number
				literals += more
			} while (more === 255)
		}
		if (literals > end - at || literals > limit - out) throw broken('literals do not fit')
		source.copy(into, out, at, at + literals)
		at += literals
		out += literals
		if (at === end) return out
		if (end - at < 2) throw broken('match is cut')
		const distance = (source[at] as number) | ((source[at + 1] as number) << 8)
		at += 2
		if (distance === 0 || distance > out - from) throw broken('match reaches before the block')
		let length = (token & 15) + 4
		if (length === 19) {
			let more: number
			do {
				if (at >= end) throw broken('match length')
				more = source[at++] as number
				length += more
			} while (more === 255)
		}
		if (length > limit - out) throw broken('match does not fit')
		if (distance >= length) into.copyWithin(out, out - distance, out - distance + length)
		else for (let i = 0; i < length; i++) into[out + i] = into[out + i - distance] as number
		out += length
	}
	return out
}

/** Plain bytes of a frame; throws {@link CodecError}, `tooLarge` beyond `bytesMax`. */
export function decodeLz4Frame(source: Buffer, bytesMax: number): Buffer {
	const header = readHeader(source)
	const most = measureLz4Frame(source)
	if (most > bytesMax + header.blockMax) throw new CodecError('lz4', 'tooLarge', `may give ${most} bytes`)
	const into = Buffer.allocUnsafe(most)
	let out = 0
	walkBlocks(source, header, (at, size, isStored) => {
		if (!isStored) {
			out = decodeBlock(source, at, at + size, into, out, Math.min(most, out + header.blockMax))
			return
		}
		source.copy(into, out, at, at + size)
		out += size
	})
	if (out > bytesMax) throw new CodecError('lz4', 'tooLarge', `gives ${out} bytes`)
	const plain = into.subarray(0, out)
	if (header.hasContentChecksum && xxhash32(plain) !== source.readUInt32LE(source.length - 4)) {
		throw broken('content checksum')
	}
	return plain
}

/** Largest block that is written. */
export const LZ4_BLOCK_BYTES = 65_536

/** Pieces of `plain` for the blocks of a frame. */
export function lz4Pieces(plain: Buffer): Buffer[] {
	const pieces: Buffer[] = []
	for (let at = 0; at < plain.length; at += LZ4_BLOCK_BYTES) pieces.push(plain.subarray(at, at + LZ4_BLOCK_BYTES))
	return pieces
}

/**
 * A frame as Kafka writes it: 64 KiB independent blocks, no checksums but the header's. `blocks[i]` is the compressed form
 * of `pieces[i]`; a piece without one, or whose block is no smaller, is stored as it is. Any reader takes that.
 */
export function frameLz4(pieces: readonly Buffer[], blocks: readonly Buffer[]): Buffer {
	const head = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0])
	head[6] = (xxhash32(head.subarray(4, 6)) >>> 8) & 0xff
	const parts: Buffer[] = [head]
	for (let i = 0; i < pieces.length; i++) {
		const piece = pieces[i] as Buffer
		const block = blocks[i]
		const size = Buffer.alloc(4)
		if (block !== undefined && block.length < piece.length) {
			size.writeUInt32LE(block.length)
			parts.push(size, block)
		} else {
			size.writeUInt32LE((piece.length | 0x8000_0000) >>> 0)
			parts.push(size, piece)
		}
	}
	parts.push(Buffer.alloc(4))
	return Buffer.concat(parts)
}
