/** One stored batch as a set of messages for clients that know formats 0 and 1 only (semantics 2.6, 2.7). */

import { CodecError, type CodecName } from '../../base/compression.js'
import { runTurns, type Turns } from '../../base/turns.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseTimestamp,
	batchMagic,
	batchMaxTimestamp,
	batchRecordCount,
	CODEC_MASK,
	CONTROL_BIT,
	exactBaseTimestamp,
	LOG_APPEND_TIME_BIT,
} from './batch.js'
import { codecName, type PlainParts, withPlain, ZSTD_ID } from './compression.js'
import { RecordFields, RecordFormatError } from './fields.js'
import {
	InnerMessages,
	type LegacyMagic,
	messageBytes,
	messageCodec,
	offsetShift,
	type PlacedFields,
	readMessage,
	wrapPlain,
	wrappedStream,
	writeMessageFrom,
} from './legacy.js'

const APPEND_TIME_ATTRIBUTE = 8
const RECORDS_A_TURN = 20_000

/** The batch has a codec that no old client can read (76). */
export class NoDownConversion extends Error {
	override readonly name = 'NoDownConversion'
}

export interface DownConversionParts extends PlainParts {
	/** Calls back on a later turn of the loop. */
	readonly soon: (next: () => void) => void
}

/** What is wanted of a batch. */
interface Wish {
	readonly magic: LegacyMagic
	/** Records below are for nobody: left out of a batch that is not compressed, and so is a batch of nothing else. */
	readonly firstOffset: number
	/** The most bytes of plain messages. */
	readonly bytesMax: number
}

/** Records of a batch, or messages inside another, one after the other. */
interface Source {
	readonly fields: PlacedFields
	/** Reads the next one; false after the last. */
	next(): boolean
	/** Of the one that was read last. */
	readonly offset: number
	readonly timestamp: number | bigint
}

/** Plain messages, with what their wrapper needs. */
interface Messages {
	readonly plain: Buffer
	readonly lastOffset: number
	readonly latest: number | bigint
}

/**
 * The whole batch `bytes`, of any format, in `magic` or older; null when nothing of it is for such a client. Records below
 * `firstOffset` are left out of batches that are not compressed. Throws {@link NoDownConversion}, CodecError and
 * RecordFormatError.
 */
export async function downConvert(
	parts: DownConversionParts,
	bytes: Buffer,
	magic: LegacyMagic,
	firstOffset: number,
): Promise<Buffer | null> {
	const stored = batchMagic(bytes, 0)
	if (stored <= magic) return bytes
	const wish: Wish = { magic, firstOffset, bytesMax: parts.decompressedBytesMax }
	if (stored === 1) return await fromFormat1(parts, bytes, wish)
	const attributes = batchAttributes(bytes, 0)
	if ((attributes & CONTROL_BIT) !== 0) return null
	if ((attributes & CODEC_MASK) === ZSTD_ID) throw new NoDownConversion('zstd')
	const codec = codecName(attributes & CODEC_MASK)
	if (codec === null) throw new CodecError('gzip', 'broken', `unknown codec ${attributes & CODEC_MASK}`)
	const appendMs = (attributes & LOG_APPEND_TIME_BIT) !== 0 ? batchMaxTimestamp(bytes, 0) : -1
	const stream = bytes.subarray(BATCH_HEADER_BYTES)
	if (codec === 'none') return await plainOf(parts, () => new RecordSource(bytes, stream, appendMs), wish, appendMs)
	return await withPlain(parts, codec, stream, (plain) =>
		wrapped(parts, codec, () => new RecordSource(bytes, plain, appendMs), wish, appendMs),
	)
}

/** Format 1 to format 0: times are lost. */
async function fromFormat1(parts: DownConversionParts, bytes: Buffer, wish: Wish): Promise<Buffer | null> {
	const outer = readMessage(bytes, 0)
	if (messageCodec(outer) === 'none') return await plainOf(parts, () => new MessageSource(bytes, outer, 0), wish, -1)
	const { codec, stream } = wrappedStream(outer)
	return await withPlain(parts, codec, stream, async (plain) => {
		const last = await runTurns(lastInnerOffset(new InnerMessages(outer, plain)), parts.soon)
		return wrapped(parts, codec, () => new MessageSource(plain, outer, offsetShift(outer, last)), wish, -1)
	})
}

function* lastInnerOffset(inner: InnerMessages): Turns<number> {
	for (let i = 1; inner.next(); i++) if (i % RECORDS_A_TURN === 0) yield
	return inner.fields.offset
}

async function plainOf(
	parts: DownConversionParts,
	open: () => Source,
	wish: Wish,
	appendMs: number,
): Promise<Buffer | null> {
	return (await runTurns(messagesFrom(open, wish, false, appendMs), parts.soon))?.plain ?? null
}

async function wrapped(
	parts: DownConversionParts,
	codec: CodecName,
	open: () => Source,
	wish: Wish,
	appendMs: number,
): Promise<Buffer | null> {
	const messages = await runTurns(messagesFrom(open, wish, true, appendMs), parts.soon)
	if (messages === null) return null
	return await wrapPlain(parts.compression, wish.magic, codec, messages.plain, {
		offset: messages.lastOffset,
		timestamp: appendMs >= 0 ? appendMs : messages.latest,
		isAppendTime: appendMs >= 0,
	})
}

/** The messages of one batch, measured first and written then; null when there are none at or above the first offset. */
function* messagesFrom(
	open: () => Source,
	{ magic, firstOffset, bytesMax }: Wish,
	isWrapped: boolean,
	appendMs: number,
): Turns<Messages | null> {
	let size = 0
	let firstKept = -1
	let lastOffset = -1
	let latest: number | bigint = -1
	const measured = open()
	for (let i = 1; measured.next(); i++) {
		const { offset, timestamp, fields } = measured
		// 3.9 keeps what is below the first offset where it is compressed (KAFKA-5316 left it so); a client passes over it.
		if (isWrapped || offset >= firstOffset) {
			size += messageBytes(magic, fields.keyLength, fields.valueLength)
			if (firstKept < 0) firstKept = offset
			lastOffset = offset
			if (timestamp > latest) latest = timestamp
		}
		if (i % RECORDS_A_TURN === 0) yield
	}
	// A compacted batch can end with offsets that are gone: a client that got no more than what it has would ask for ever.
	if (firstKept < 0 || lastOffset < firstOffset) return null
	if (size > bytesMax) throw new RecordFormatError(`${size} bytes of messages, more than a batch may give`)
	const plain = Buffer.allocUnsafeSlow(size)
	const attributes = appendMs >= 0 && magic === 1 ? APPEND_TIME_ATTRIBUTE : 0
	const base = isWrapped && magic === 1 ? firstKept : 0
	const source = open()
	let at = 0
	for (let i = 1; source.next(); i++) {
		const { offset, timestamp, fields } = source
		if (isWrapped || offset >= firstOffset) {
			at = writeMessageFrom(plain, at, magic, fields, offset - base, attributes, timestamp)
		}
		if (i % RECORDS_A_TURN === 0) yield
	}
	return { plain, lastOffset, latest }
}

class RecordSource implements Source {
	readonly fields: RecordFields
	offset = -1
	timestamp: number | bigint = -1
	readonly #batch: Buffer
	readonly #appendMs: number
	readonly #baseTimestamp: number
	#left: number

	constructor(batch: Buffer, plain: Buffer, appendMs: number) {
		this.fields = new RecordFields(plain, 0, plain.length)
		this.#batch = batch
		this.#appendMs = appendMs
		this.#baseTimestamp = batchBaseTimestamp(batch, 0)
		this.#left = batchRecordCount(batch, 0)
	}

	next(): boolean {
		const { fields } = this
		if (this.#left-- <= 0) {
			if (fields.at !== fields.end) throw new RecordFormatError('bytes left after the last record')
			return false
		}
		fields.read()
		this.offset = batchBaseOffset(this.#batch, 0) + fields.offsetDelta
		this.timestamp = this.#appendMs >= 0 ? this.#appendMs : this.#time()
		return true
	}

	#time(): number | bigint {
		const time = this.#baseTimestamp + this.fields.timestampDelta
		if (Number.isSafeInteger(time) && Number.isSafeInteger(this.#baseTimestamp)) return time
		return BigInt.asIntN(64, exactBaseTimestamp(this.#batch, 0) + this.fields.exactTimestampDelta())
	}
}

/** One message, or those inside a wrapper. */
class MessageSource implements Source {
	readonly #inner: InnerMessages
	readonly #shift: number

	constructor(bytes: Buffer, outer: ReturnType<typeof readMessage>, shift: number) {
		this.#inner = new InnerMessages(outer, bytes)
		this.#shift = shift
	}

	get fields(): PlacedFields {
		return this.#inner.fields
	}

	get offset(): number {
		return this.#inner.fields.offset + this.#shift
	}

	/** Format 0 has none. */
	get timestamp(): number {
		return -1
	}

	next(): boolean {
		return this.#inner.next()
	}
}
