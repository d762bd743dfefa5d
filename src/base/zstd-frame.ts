/**
 * Bounds the output of a zstd stream from its frame and block headers, before any decoder sees it: raw and run-length
 * blocks state their size, a compressed block gives at most min(window, 128 KiB). A few bytes of run-length blocks can
 * otherwise give gigabytes.
 */

import { CodecError } from './compression.js'

const MAGIC = 0xfd2fb528
const BLOCK_MAX = 131_072

function broken(message: string): CodecError {
	return new CodecError('zstd', 'broken', message)
}

interface FrameHeader {
	readonly end: number
	readonly contentBytes: number | null
	readonly windowBytes: number
	readonly hasChecksum: boolean
}

function readHeader(source: Buffer, at: number): FrameHeader {
	if (source.length - at < 6 || source.readUInt32LE(at) !== MAGIC) throw broken('not a frame')
	const descriptor = source[at + 4] as number
	const isSingleSegment = (descriptor & 0x20) !== 0
	if ((descriptor & 0x08) !== 0) throw broken('reserved bit')
	const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] as number
	const sizeFlag = descriptor >>> 6
	const sizeBytes = sizeFlag === 0 ? (isSingleSegment ? 1 : 0) : 1 << sizeFlag
	let position = at + 5
	let windowBytes = 0
	if (!isSingleSegment) {
		const byte = source[position++] as number
		const base = 2 ** (10 + (byte >>> 3))
		windowBytes = base + (base / 8) * (byte & 7)
	}
	position += dictionaryBytes
	if (source.length - position < sizeBytes) throw broken('header is cut')
	let contentBytes: number | null = null
	if (sizeBytes === 1) contentBytes = source[position] as number
	else if (sizeBytes === 2) contentBytes = source.readUInt16LE(position) + 256
	else if (sizeBytes === 4) contentBytes = source.readUInt32LE(position)
	else if (sizeBytes === 8) contentBytes = Number(source.readBigUInt64LE(position))
	if (isSingleSegment) windowBytes = contentBytes ?? 0
	return { end: position + sizeBytes, contentBytes, windowBytes, hasChecksum: (descriptor & 4) !== 0 }
}

/** The most bytes that the stream can give. Throws {@link CodecError} when the headers do not fit the stream. */
export function measureZstd(source: Buffer): number {
	let at = 0
	let most = 0
	while (at < source.length) {
		const header = readHeader(source, at)
		const blockMax = Math.min(BLOCK_MAX, Math.max(1024, header.windowBytes))
		let frameMost = 0
		at = header.end
		for (;;) {
			if (source.length - at < 3) throw broken('block is cut')
			const word = source.readUIntLE(at, 3)
			at += 3
			const kind = (word >>> 1) & 3
			const size = word >>> 3
			if (kind === 3) throw broken('reserved block')
			frameMost += kind === 2 ? blockMax : size
			at += kind === 1 ? 1 : size
			if (at > source.length) throw broken('block does not fit')
			if ((word & 1) === 1) break
		}
		if (header.hasChecksum) at += 4
		if (at > source.length) throw broken('checksum is cut')
		most += header.contentBytes === null ? frameMost : Math.min(frameMost, header.contentBytes)
	}
	return most
}
