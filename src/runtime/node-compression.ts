/**
 * The codecs, native where they load: zlib for gzip (and zstd where Node has it), prebuilt packages for snappy, lz4 and
 * zstd. Without a binary for the platform the portable decoders of `base` run, and encoders store; zstd falls back to wasm.
 * Whatever decodes, the output was bounded before (`tooLarge`), and promises work on the thread pool.
 */

import { createRequire } from 'node:module'
import * as zlib from 'node:zlib'
import { CodecError, type CodecName, type Compression } from '../base/compression.js'
import { decodeLz4Frame, frameLz4, lz4Pieces, measureLz4Frame } from '../base/lz4.js'
import { decodeSnappyBlock, frameSnappy, snappyBlocks, snappyPieces, storeSnappyBlock } from '../base/snappy.js'
import { measureZstd } from '../base/zstd-frame.js'

/** Where implementations come from; tests leave some out. */
export interface CodecSources {
	/** Loads a package, or throws. */
	readonly load: (name: string) => unknown
	/** Node's own module, with zstd or without. */
	readonly zlib: object
}

const EVERYTHING: CodecSources = { load: createRequire(import.meta.url), zlib }

function tryLoad<T>({ load }: CodecSources, name: string): T | null {
	try {
		return load(name) as T
	} catch {
		// No binary for this platform: the portable way is slower, and just as right.
		return null
	}
}

type Lz4 = typeof import('lz4-napi')
type Snappy = typeof import('snappy')
type Zstd = typeof import('@toondepauw/node-zstd')
type ZstdWasm = typeof import('@bokuweb/zstd-wasm')

/** Node's own zstd, since 22.15. */
interface ZlibZstd {
	zstdCompressSync(source: Buffer, options: object): Buffer
	zstdDecompressSync(source: Buffer, options: object): Buffer
	zstdCompress(source: Buffer, options: object, done: (error: Error | null, result: Buffer) => void): void
	zstdDecompress(source: Buffer, options: object, done: (error: Error | null, result: Buffer) => void): void
}

/** Blocks that a large stream may have over its bound and still be tried: the last one is seldom full. */
const ZSTD_SLACK = 131_072

interface Codec {
	decodeNow(source: Buffer, bytesMax: number): Buffer
	decode(source: Buffer, bytesMax: number): Promise<Buffer>
	encodeNow(source: Buffer, level: number | null): Buffer
	encode(source: Buffer, level: number | null): Promise<Buffer>
}

/** Wraps what a decoder throws, and holds the real size against the bound. */
function failed(codec: CodecName, error: unknown): CodecError {
	if (error instanceof CodecError) return error
	const code = (error as { code?: string } | null)?.code
	const reason = code === 'ERR_BUFFER_TOO_LARGE' ? 'tooLarge' : 'broken'
	return new CodecError(codec, reason, error instanceof Error ? error.message : String(error), error)
}

function bounded(codec: CodecName, plain: Buffer, bytesMax: number): Buffer {
	if (plain.length > bytesMax) throw new CodecError(codec, 'tooLarge', `gives ${plain.length} bytes`)
	return plain
}

function refuseAbove(codec: CodecName, most: number, bytesMax: number): void {
	if (most > bytesMax) throw new CodecError(codec, 'tooLarge', `may give ${most} bytes`)
}

function called(run: (done: (error: Error | null, result: Buffer) => void) => void): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		run((error, result) => (error === null ? resolve(result) : reject(error)))
	})
}

function gzip(): Codec {
	const optionsOf = (level: number | null) => (level === null || level === -1 ? {} : { level })
	return {
		decodeNow: (source, bytesMax) => zlib.gunzipSync(source, { maxOutputLength: Math.max(1, bytesMax) }),
		decode: (source, bytesMax) => called((done) => zlib.gunzip(source, { maxOutputLength: bytesMax }, done)),
		encodeNow: (source, level) => zlib.gzipSync(source, optionsOf(level)),
		encode: (source, level) => called((done) => zlib.gzip(source, optionsOf(level), done)),
	}
}

function snappy(sources: CodecSources): Codec {
	const native = tryLoad<Snappy>(sources, 'snappy')
	const decodeBlock =
		native === null ? decodeSnappyBlock : (block: Buffer) => native.uncompressSync(block, { asBuffer: true }) as Buffer
	const encodeBlock = native === null ? storeSnappyBlock : (piece: Buffer) => native.compressSync(piece)
	const joined = (plains: readonly Buffer[]): Buffer =>
		plains.length === 1 ? (plains[0] as Buffer) : Buffer.concat(plains)
	return {
		decodeNow: (source, bytesMax) => joined(snappyBlocks(source, bytesMax).map(decodeBlock)),
		decode: async (source, bytesMax) => {
			const blocks = snappyBlocks(source, bytesMax)
			if (native === null) return joined(blocks.map(decodeBlock))
			const plains = blocks.map((block) => native.uncompress(block, { asBuffer: true }) as Promise<Buffer>)
			return joined(await Promise.all(plains))
		},
		encodeNow: (source) => frameSnappy(snappyPieces(source).map(encodeBlock)),
		encode: async (source) => {
			if (native === null) return frameSnappy(snappyPieces(source).map(encodeBlock))
			return frameSnappy(await Promise.all(snappyPieces(source).map((piece) => native.compress(piece))))
		},
	}
}

/** The package puts the plain size before a block. */
const SIZE_PREFIX_BYTES = 4

function lz4(sources: CodecSources): Codec {
	const native = tryLoad<Lz4>(sources, 'lz4-napi')
	/** Largest block of a frame may be empty but for a few bytes; the real size is checked afterwards. */
	const check = (source: Buffer, bytesMax: number): void =>
		refuseAbove('lz4', measureLz4Frame(source), bytesMax + 4_194_304)
	if (native === null) {
		return {
			decodeNow: decodeLz4Frame,
			decode: async (source, bytesMax) => decodeLz4Frame(source, bytesMax),
			encodeNow: (source) => frameLz4(lz4Pieces(source), []),
			encode: async (source) => frameLz4(lz4Pieces(source), []),
		}
	}
	return {
		decodeNow: (source, bytesMax) => {
			refuseAbove('lz4', measureLz4Frame(source), bytesMax + 65_536)
			return bounded('lz4', native.decompressFrameSync(source), bytesMax)
		},
		decode: async (source, bytesMax) => {
			check(source, bytesMax)
			return bounded('lz4', await native.decompressFrame(source), bytesMax)
		},
		encodeNow: (source) => {
			const pieces = lz4Pieces(source)
			return frameLz4(
				pieces,
				pieces.map((piece) => native.compressSync(piece).subarray(SIZE_PREFIX_BYTES)),
			)
		},
		encode: async (source) => {
			const pieces = lz4Pieces(source)
			const blocks = await Promise.all(pieces.map((piece) => native.compress(piece)))
			return frameLz4(
				pieces,
				blocks.map((block) => block.subarray(SIZE_PREFIX_BYTES)),
			)
		},
	}
}

function zstd(sources: CodecSources): Codec {
	const inNode = sources.zlib as Partial<ZlibZstd>
	if (typeof inNode.zstdDecompressSync === 'function') return zstdOfNode(inNode as ZlibZstd)
	const native = tryLoad<Zstd>(sources, '@toondepauw/node-zstd')
	if (native === null) return zstdOfWasm(sources)
	const decoder = new native.Decoder()
	return {
		decodeNow: (source, bytesMax) => {
			refuseAbove('zstd', measureZstd(source), bytesMax + ZSTD_SLACK)
			return bounded('zstd', decoder.decodeSync(source), bytesMax)
		},
		decode: async (source, bytesMax) => {
			refuseAbove('zstd', measureZstd(source), bytesMax + ZSTD_SLACK)
			return bounded('zstd', await decoder.decode(source), bytesMax)
		},
		encodeNow: (source, level) => new native.Encoder(level ?? 3).encodeSync(source),
		encode: (source, level) => new native.Encoder(level ?? 3).encode(source),
	}
}

/** ZSTD_c_compressionLevel. */
const LEVEL_PARAMETER = 100

function zstdOfNode(node: ZlibZstd): Codec {
	const optionsOf = (level: number | null) => ({ params: { [LEVEL_PARAMETER]: level ?? 3 } })
	return {
		decodeNow: (source, bytesMax) => {
			refuseAbove('zstd', measureZstd(source), bytesMax + ZSTD_SLACK)
			return node.zstdDecompressSync(source, { maxOutputLength: Math.max(1, bytesMax) })
		},
		decode: (source, bytesMax) => called((done) => node.zstdDecompress(source, { maxOutputLength: bytesMax }, done)),
		encodeNow: (source, level) => node.zstdCompressSync(source, optionsOf(level)),
		encode: (source, level) => called((done) => node.zstdCompress(source, optionsOf(level), done)),
	}
}

/** Loads at first use, so `Now` sends its caller to the promise until then. */
function zstdOfWasm(sources: CodecSources): Codec {
	const wasm = tryLoad<ZstdWasm>(sources, '@bokuweb/zstd-wasm')
	let ready: Promise<void> | null = null
	const start = (): Promise<void> => {
		if (wasm === null) return Promise.reject(new CodecError('zstd', 'unavailable', 'no implementation loads'))
		ready ??= wasm.init()
		return ready
	}
	const later = (): never => {
		throw new CodecError('zstd', 'tooLarge', 'decoder is loading')
	}
	return {
		decodeNow: later,
		decode: async (source, bytesMax) => {
			refuseAbove('zstd', measureZstd(source), bytesMax + ZSTD_SLACK)
			await start()
			return bounded('zstd', Buffer.from((wasm as ZstdWasm).decompress(source)), bytesMax)
		},
		encodeNow: later,
		encode: async (source, level) => {
			await start()
			return Buffer.from((wasm as ZstdWasm).compress(source, level ?? 3))
		},
	}
}

const MAKERS: Readonly<Record<CodecName, (sources: CodecSources) => Codec>> = { gzip, snappy, lz4, zstd }

export class NodeCompression implements Compression {
	/** Made at first use: loading all native packages takes 10 ms, which most commands would spend for nothing. */
	readonly #made: Partial<Record<CodecName, Codec>> = {}
	readonly #sources: CodecSources

	constructor(sources: CodecSources = EVERYTHING) {
		this.#sources = sources
	}

	#codec(name: CodecName): Codec {
		let codec = this.#made[name]
		if (codec === undefined) {
			codec = MAKERS[name](this.#sources)
			this.#made[name] = codec
		}
		return codec
	}

	decompressNow(codec: CodecName, source: Buffer, bytesMax: number): Buffer {
		try {
			return this.#codec(codec).decodeNow(source, bytesMax)
		} catch (error) {
			throw failed(codec, error)
		}
	}

	async decompress(codec: CodecName, source: Buffer, bytesMax: number): Promise<Buffer> {
		try {
			return await this.#codec(codec).decode(source, bytesMax)
		} catch (error) {
			throw failed(codec, error)
		}
	}

	compressNow(codec: CodecName, source: Buffer, level: number | null): Buffer {
		return this.#codec(codec).encodeNow(source, level)
	}

	compress(codec: CodecName, source: Buffer, level: number | null): Promise<Buffer> {
		return this.#codec(codec).encode(source, level)
	}
}
