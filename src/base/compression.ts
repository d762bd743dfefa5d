/**
 * The port to compression codecs. `runtime/node-compression.ts` implements it with native code where that loads;
 * `protocol/records/compression.ts` says which codec a batch names. It stands here since protocol may not know runtime.
 */

export type CodecName = 'gzip' | 'snappy' | 'lz4' | 'zstd'

/**
 * A stream cannot be read. `broken`: not what the codec writes; `tooLarge`: it would give more than the bound that the
 * caller set; `unavailable`: no implementation of this codec on this platform.
 */
export class CodecError extends Error {
	override readonly name = 'CodecError'
	constructor(
		readonly codec: CodecName,
		readonly reason: 'broken' | 'tooLarge' | 'unavailable',
		message: string,
		override readonly cause?: unknown,
	) {
		super(`${codec}: ${message}`)
	}
}

/**
 * Kafka's stream format of each codec: a gzip member; xerial-framed or raw snappy; an lz4 frame; a zstd frame. `Now`
 * runs on the caller's turn; the others leave the event loop. Every decoder stops at `bytesMax` and throws or rejects
 * with {@link CodecError}. The source may not change until a promise settles.
 */
export interface Compression {
	decompressNow(codec: CodecName, source: Buffer, bytesMax: number): Buffer
	decompress(codec: CodecName, source: Buffer, bytesMax: number): Promise<Buffer>
	/** `level` null is the codec's default. */
	compressNow(codec: CodecName, source: Buffer, level: number | null): Buffer
	compress(codec: CodecName, source: Buffer, level: number | null): Promise<Buffer>
}
