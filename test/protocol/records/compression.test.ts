/** Codecs round trip, native and portable, and stop at their bounds (semantics 3). */

import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteGate } from '../../../src/base/byte-gate.js'
import { CodecError, type CodecName } from '../../../src/base/compression.js'
import { decodeLz4Frame, frameLz4, lz4Pieces } from '../../../src/base/lz4.js'
import {
	decodeSnappyBlock,
	frameSnappy,
	snappyBlocks,
	snappyPieces,
	storeSnappyBlock,
} from '../../../src/base/snappy.js'
import { xxhash32 } from '../../../src/base/xxhash32.js'
import {
	codecId,
	codecName,
	compressStream,
	decompressStream,
	withPlain,
} from '../../../src/protocol/records/compression.js'
import { NodeCompression } from '../../../src/runtime/node-compression.js'

/** As on a platform for which no package has a binary, and with a Node that has no zstd. */
const portable = new NodeCompression({
	zlib: {},
	load: (name) => {
		if (name !== '@bokuweb/zstd-wasm') throw new Error(`no binary of ${name}`)
		return createRequire(import.meta.url)(name)
	},
})

const codecs = ['gzip', 'snappy', 'lz4', 'zstd'] as const
const native = new NodeCompression()
const MAX = 10_000_000

/** Bytes that compress somewhat: repeats among noise. */
const content = fc
	.array(fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 1, max: 400 })), { maxLength: 30 })
	.map((parts) =>
		Buffer.concat(parts.flatMap(([bytes, times]) => Array.from({ length: times }, () => Buffer.from(bytes)))),
	)

describe.each(codecs)('%s', (codec) => {
	test('1.5 gives back what went in, on the loop and off it', async () => {
		await fc.assert(
			fc.asyncProperty(content, async (plain) => {
				const stream = native.compressNow(codec, plain, null)
				const later = await native.compress(codec, plain, null)
				expect(native.decompressNow(codec, stream, MAX).equals(plain)).toBe(true)
				expect((await native.decompress(codec, later, MAX)).equals(plain)).toBe(true)
			}),
			{ numRuns: 60 },
		)
	})

	test('3.5 stops at its bound with tooLarge, on the loop and off it', async () => {
		const plain = Buffer.alloc(3_000_000, 'abcdef')
		const stream = native.compressNow(codec, plain, null)
		expect(() => native.decompressNow(codec, stream, 100_000)).toThrow(expect.objectContaining({ reason: 'tooLarge' }))
		await expect(native.decompress(codec, stream, 100_000)).rejects.toMatchObject({ reason: 'tooLarge' })
	})

	test('3.5 random and damaged streams throw a CodecError or give bounded bytes', async () => {
		const good = native.compressNow(codec, Buffer.alloc(5000, 'xyz1'), null)
		await fc.assert(
			fc.asyncProperty(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), async (at, value, cut) => {
				const bytes = Buffer.from(good)
				bytes[at] = value
				for (const one of [bytes, good.subarray(0, cut), bytes.subarray(at)]) {
					try {
						expect(native.decompressNow(codec, one, 6000).length).toBeLessThanOrEqual(6000)
					} catch (error) {
						expect(error).toBeInstanceOf(CodecError)
					}
				}
			}),
			{ numRuns: 300 },
		)
	})
})

test.each(codecs)('%s without native packages reads what they write, and they read what it writes', async (codec) => {
	await fc.assert(
		fc.asyncProperty(content, async (plain) => {
			const theirs = await native.compress(codec, plain, null)
			expect((await decompressStream(portable, codec, theirs, MAX)).equals(plain)).toBe(true)
			const ours = await compressStream(portable, codec, plain, null)
			expect(native.decompressNow(codec, ours, MAX).equals(plain)).toBe(true)
			expect((await portable.decompress(codec, ours, MAX)).equals(plain)).toBe(true)
		}),
		{ numRuns: 40 },
	)
	const large = await native.compress(codec, Buffer.alloc(3_000_000, 'abcdef'), null)
	await expect(portable.decompress(codec, large, 100_000)).rejects.toMatchObject({ reason: 'tooLarge' })
})

test('zstd says so where nothing at all can be loaded', async () => {
	const none = new NodeCompression({
		zlib: {},
		load: (name) => {
			throw new Error(`no ${name}`)
		},
	})
	await expect(none.compress('zstd', Buffer.from('x'), null)).rejects.toMatchObject({ reason: 'unavailable' })
})

test('3.3 the portable lz4 decoder reads native frames, and the native one stored frames', () => {
	fc.assert(
		fc.property(content, (plain) => {
			expect(decodeLz4Frame(native.compressNow('lz4', plain, null), MAX).equals(plain)).toBe(true)
			expect(native.decompressNow('lz4', frameLz4(lz4Pieces(plain), []), MAX).equals(plain)).toBe(true)
		}),
		{ numRuns: 60 },
	)
})

test('3.3 linked blocks, wrong header checksums, dictionaries and trailing bytes are refused', () => {
	const good = native.compressNow('lz4', Buffer.from('hello hello hello hello'), null)
	const edits: ((bytes: Buffer) => Buffer)[] = [
		(bytes) => {
			bytes[4] = 0x40
			bytes[6] = (xxhash32(bytes.subarray(4, 6)) >>> 8) & 0xff
			return bytes
		},
		(bytes) => {
			bytes[6] = (bytes[6] as number) ^ 1
			return bytes
		},
		(bytes) => Buffer.concat([bytes, Buffer.from([1])]),
		(bytes) => bytes.subarray(0, bytes.length - 1),
	]
	for (const edit of edits) {
		expect(() => decodeLz4Frame(edit(Buffer.from(good)), MAX)).toThrow(CodecError)
		expect(() => native.decompressNow('lz4', edit(Buffer.from(good)), MAX)).toThrow(CodecError)
	}
})

test('3.2 snappy: raw blocks and xerial frames, portable and native agree', () => {
	fc.assert(
		fc.property(content, (plain) => {
			const framed = native.compressNow('snappy', plain, null)
			expect(Buffer.concat(snappyBlocks(framed, MAX).map(decodeSnappyBlock)).equals(plain)).toBe(true)
			const stored = frameSnappy(snappyPieces(plain).map(storeSnappyBlock))
			expect(native.decompressNow('snappy', stored, MAX).equals(plain)).toBe(true)
			const piece = plain.subarray(0, 30_000)
			if (piece.length > 0)
				expect(native.decompressNow('snappy', storeSnappyBlock(piece), MAX).equals(piece)).toBe(true)
		}),
		{ numRuns: 60 },
	)
})

test('3.5 a snappy block that claims a gigabyte costs nothing', () => {
	const lie = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x03, 0, 0])
	expect(() => native.decompressNow('snappy', lie, MAX)).toThrow(CodecError)
})

test('3.1 a gzip stream of two members is read whole', () => {
	const stream = Buffer.concat([gzipSync('ab'), gzipSync('cd')])
	expect(native.decompressNow('gzip', stream, MAX).toString()).toBe('abcd')
})

test('xxhash32 agrees with its published values', () => {
	expect(xxhash32(Buffer.alloc(0))).toBe(0x02cc5d05)
	expect(xxhash32(Buffer.from('abc'))).toBe(0x32d153ff)
	expect(xxhash32(Buffer.from('Nobody inspects the spammish repetition'))).toBe(0xe2293b2f)
})

test('1.3 codec ids and names', () => {
	for (const [id, name] of ['none', 'gzip', 'snappy', 'lz4', 'zstd'].entries()) {
		expect(codecName(id)).toBe(name)
		expect(codecId(name as 'none')).toBe(id)
	}
	for (const id of [5, 6, 7]) expect(codecName(id)).toBeNull()
})

test('3.1 3.2 3.3 3.4 streams that Apache Kafka stored are read, also by the portable decoders', () => {
	const logs = join(import.meta.dirname, '../../fixtures/logs/clean')
	for (const codec of codecs) {
		const folder = join(logs, `codec-${codec}-0`)
		const name = readdirSync(folder).find((one) => one.endsWith('.log')) as string
		const log = readFileSync(join(folder, name))
		for (let at = 0; at < log.length; at += 12 + log.readInt32BE(at + 8)) {
			const stream = log.subarray(at + 61, at + 12 + log.readInt32BE(at + 8))
			const plain = native.decompressNow(codec, stream, MAX)
			expect(plain.length).toBeGreaterThan(10)
			if (codec === 'lz4') expect(decodeLz4Frame(stream, MAX).equals(plain)).toBe(true)
			if (codec === 'snappy')
				expect(Buffer.concat(snappyBlocks(stream, MAX).map(decodeSnappyBlock)).equals(plain)).toBe(true)
		}
	}
})

describe('plain bytes of strangers', () => {
	const PLAIN_MAX = 8_000_000
	/** Counts what has been decompressed and not been given up yet. */
	function counting(total: number) {
		const held = { now: 0, most: 0, calls: 0 }
		const parts = {
			compression: {
				decompressNow: (codec: CodecName, source: Buffer, bytesMax: number) =>
					native.decompressNow(codec, source, bytesMax),
				decompress: (codec: CodecName, source: Buffer, bytesMax: number) => {
					held.calls++
					return native.decompress(codec, source, bytesMax)
				},
				compressNow: native.compressNow.bind(native),
				compress: native.compress.bind(native),
			},
			decompressedBytesMax: PLAIN_MAX,
			plains: new ByteGate(total),
		}
		const use = async (plain: Buffer): Promise<number> => {
			held.now += plain.length
			held.most = Math.max(held.most, held.now)
			await new Promise<void>((resolve) => setImmediate(resolve))
			held.now -= plain.length
			return plain.length
		}
		return { held, parts, use }
	}

	test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
		'%s: never more at once than the gate lets in',
		async (codec) => {
			const { held, parts, use } = counting(2 * PLAIN_MAX)
			const stream = await native.compress(codec, Buffer.alloc(PLAIN_MAX - 10), null)
			const lengths = await Promise.all(Array.from({ length: 12 }, () => withPlain(parts, codec, stream, use)))
			expect(lengths).toEqual(Array.from({ length: 12 }, () => PLAIN_MAX - 10))
			expect(held.most).toBeLessThanOrEqual(2 * PLAIN_MAX)
			expect([held.now, parts.plains.heldBytes]).toEqual([0, 0])
		},
	)

	test('what fails gives its room back: too large, broken, refused by its user', async () => {
		const { parts } = counting(PLAIN_MAX)
		const large = await native.compress('gzip', Buffer.alloc(PLAIN_MAX + 1), null)
		await expect(withPlain(parts, 'gzip', large, () => 0)).rejects.toMatchObject({ reason: 'tooLarge' })
		const broken = Buffer.concat([large.subarray(0, 2000), Buffer.alloc(100_000, 7)])
		await expect(withPlain(parts, 'gzip', broken, () => 0)).rejects.toThrow(CodecError)
		const fine = await native.compress('gzip', Buffer.alloc(PLAIN_MAX - 1), null)
		await expect(withPlain(parts, 'gzip', fine, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
		expect(parts.plains.heldBytes).toBe(0)
	})

	test('what is small is used at once', () => {
		const { held, parts } = counting(1)
		const stream = native.compressNow('zstd', Buffer.from('small'), null)
		expect(withPlain(parts, 'zstd', stream, String)).toBe('small')
		expect(held.calls).toBe(0)
	})
})
