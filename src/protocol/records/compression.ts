/**
 * Which codec a batch names, and its records in plain form. The codecs themselves are behind the `Compression` port
 * (`base/compression.ts`); the formats are semantics 3.
 */

import type { ByteGate } from '../../base/byte-gate.js'
import { CodecError, type CodecName, type Compression } from '../../base/compression.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseTimestamp,
	batchBytes,
	batchMaxTimestamp,
	batchRecordCount,
	CODEC_MASK,
	LOG_APPEND_TIME_BIT,
} from './batch.js'
import { type DecodedRecord, decodeRecords } from './record.js'

/** By the value of attribute bits 0-2; ids 5 to 7 name nothing. */
const CODECS: readonly (CodecName | 'none')[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

export const ZSTD_ID = 4

/** Streams longer than this, or that give more, leave the event loop. */
export const INLINE_BYTES_MAX = 65_536

export function codecName(id: number): CodecName | 'none' | null {
	return CODECS[id] ?? null
}

export function codecId(name: CodecName | 'none'): number {
	return CODECS.indexOf(name)
}

/** Codec bits of the batch at `at`. */
export function batchCodec(bytes: Buffer, at: number): number {
	return batchAttributes(bytes, at) & CODEC_MASK
}

/** Largest output that a stream claims, from what can be seen without decoding; Infinity when it does not say. */
function claimedBytes(codec: CodecName, stream: Buffer): number {
	// A gzip member ends with its size; the others are bounded by their decoders at once.
	if (codec === 'gzip' && stream.length >= 18) return stream.readUInt32LE(stream.length - 4)
	return 0
}

/**
 * Plain bytes of one compressed stream: at once when stream and output are small, else as a promise that settles off the
 * loop. Throws or rejects with {@link CodecError} beyond `bytesMax` and for a broken stream.
 */
export function decompressStream(
	compression: Compression,
	codec: CodecName,
	stream: Buffer,
	bytesMax: number,
): Buffer | Promise<Buffer> {
	if (stream.length <= INLINE_BYTES_MAX && claimedBytes(codec, stream) <= INLINE_BYTES_MAX) {
		const plain = smallPlain(compression, codec, stream, bytesMax)
		if (plain !== null) return plain
	}
	return compression.decompress(codec, stream, bytesMax)
}

/** What reading compressed batches of strangers needs: plain bytes of all at once are bounded by `plains`. */
export interface PlainParts {
	readonly compression: Compression
	/** The most bytes that one batch may decompress to. */
	readonly decompressedBytesMax: number
	readonly plains: ByteGate
}

/** Output of a stream that most streams stay below: so much is reserved first, in multiples of what came. */
const LIKELY_RATIO = 16
const LIKELY_BYTES_MIN = 1_048_576

/**
 * Calls `use` with the plain bytes of a stream, which are there until what it returns has settled: at once when stream and
 * output are small, else off the loop and when there is room for them. Throws or rejects with {@link CodecError}.
 */
export function withPlain<T>(
	parts: PlainParts,
	codec: CodecName,
	stream: Buffer,
	use: (plain: Buffer) => T | Promise<T>,
): T | Promise<T> {
	const { compression, decompressedBytesMax } = parts
	if (stream.length <= INLINE_BYTES_MAX && claimedBytes(codec, stream) <= INLINE_BYTES_MAX) {
		const plain = smallPlain(compression, codec, stream, decompressedBytesMax)
		if (plain !== null) return use(plain)
	}
	return withLarge(parts, codec, stream, use)
}

async function withLarge<T>(
	{ compression, decompressedBytesMax, plains }: PlainParts,
	codec: CodecName,
	stream: Buffer,
	use: (plain: Buffer) => T | Promise<T>,
): Promise<T> {
	const claimed = claimedBytes(codec, stream)
	const likely = Math.max(LIKELY_BYTES_MIN, LIKELY_RATIO * stream.length, claimed)
	let bound = Math.min(likely, decompressedBytesMax)
	for (;;) {
		await plains.enter(bound)
		try {
			return await use(await compression.decompress(codec, stream, bound))
		} catch (error) {
			if (!(error instanceof CodecError) || error.reason !== 'tooLarge' || bound === decompressedBytesMax) throw error
		} finally {
			plains.leave(bound)
		}
		bound = decompressedBytesMax
	}
}

/** Null when it is not small. */
function smallPlain(compression: Compression, codec: CodecName, stream: Buffer, bytesMax: number): Buffer | null {
	try {
		return compression.decompressNow(codec, stream, Math.min(INLINE_BYTES_MAX, bytesMax))
	} catch (error) {
		if (!(error instanceof CodecError) || error.reason !== 'tooLarge' || bytesMax <= INLINE_BYTES_MAX) throw error
		return null
	}
}

/** Compressed form of `plain`, at once when it is small. */
export function compressStream(
	compression: Compression,
	codec: CodecName,
	plain: Buffer,
	level: number | null,
): Buffer | Promise<Buffer> {
	if (plain.length <= INLINE_BYTES_MAX) {
		try {
			return compression.compressNow(codec, plain, level)
		} catch (error) {
			// An implementation that is still loading sends its caller to the promise.
			if (!(error instanceof CodecError) || error.reason !== 'tooLarge') throw error
		}
	}
	return compression.compress(codec, plain, level)
}

/**
 * Records of the whole v2 batch at `at`, decoded. Throws `RecordFormatError` and {@link CodecError}. For coordinators,
 * time queries and tools.
 */
export async function recordsOf(
	compression: Compression,
	bytes: Buffer,
	at: number,
	bytesMax: number,
): Promise<DecodedRecord[]> {
	const id = batchCodec(bytes, at)
	const codec = codecName(id)
	const end = at + batchBytes(bytes, at)
	const appendMs = (batchAttributes(bytes, at) & LOG_APPEND_TIME_BIT) !== 0 ? batchMaxTimestamp(bytes, at) : -1
	const shared = {
		count: batchRecordCount(bytes, at),
		baseOffset: batchBaseOffset(bytes, at),
		baseTimestamp: batchBaseTimestamp(bytes, at),
		appendMs,
	}
	if (codec === 'none') return decodeRecords({ ...shared, bytes, at: at + BATCH_HEADER_BYTES, end })
	if (codec === null) throw new CodecError('gzip', 'broken', `unknown codec ${id}`)
	const plain = await decompressStream(compression, codec, bytes.subarray(at + BATCH_HEADER_BYTES, end), bytesMax)
	return decodeRecords({ ...shared, bytes: plain, at: 0, end: plain.length })
}
