/**
 * What one Fetch answer holds of one partition, read batch by batch: checked, decompressed within a bound, aborted
 * transactions and control batches left out where asked (KIP-98). Made by `consumer.ts`, read by its caller.
 */

import { CodecError, type Compression } from '../base/compression.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseTimestamp,
	batchBytes,
	batchLastOffset,
	batchLeaderEpoch,
	batchMagic,
	batchMaxTimestamp,
	batchProducerId,
	batchRecordCount,
	CODEC_MASK,
	CONTROL_BIT,
	isStoredCrcRight,
	LOG_APPEND_TIME_BIT,
	TRANSACTIONAL_BIT,
	wholeBatchEnd,
} from '../protocol/records/batch.js'
import { codecName, decompressStream } from '../protocol/records/compression.js'
import { legacyReader } from './legacy-records.js'
import { type BatchFacts, RecordReader } from './record-reader.js'

export interface AbortedTransaction {
	readonly producerId: bigint
	readonly firstOffset: number
}

export interface FetchedFacts {
	readonly topic: string
	readonly partition: number
	/** Records below it are in the first batch by chance: the reader skips them. */
	readonly fetchOffset: number
	readonly highWatermark: number
	/** -1: not told. */
	readonly lastStableOffset: number
	readonly logStartOffset: number
	/** Null: nothing is to be left out (read uncommitted). */
	readonly aborted: readonly AbortedTransaction[] | null
	/** Control records are given too. */
	readonly isControlShown: boolean
	readonly decompressedBytesMax: number
}

/** A stored batch cannot be read. */
export class CorruptBatch extends Error {
	override readonly name = 'CorruptBatch'
	constructor(
		readonly topic: string,
		readonly partition: number,
		readonly offset: number,
		/** Where what follows it begins, if its header is to be trusted. */
		readonly nextOffset: number,
		why: string,
		override readonly cause?: unknown,
	) {
		super(`${topic}-${partition}: the batch at offset ${offset} cannot be read: ${why}`)
	}
}

export class Fetched {
	readonly facts: FetchedFacts
	readonly #bytes: Buffer
	readonly #compression: Compression
	readonly #aborted: AbortedTransaction[]
	readonly #abortedIds = new Set<bigint>()
	#at = 0
	/** Offset after the batch that was given last: where reading goes on once its records are done. */
	nextOffset: number

	constructor(facts: FetchedFacts, bytes: Buffer, compression: Compression) {
		this.facts = facts
		this.#bytes = bytes
		this.#compression = compression
		this.#aborted = [...(facts.aborted ?? [])].sort((a, b) => a.firstOffset - b.firstOffset)
		this.nextOffset = facts.fetchOffset
	}

	get topic(): string {
		return this.facts.topic
	}

	get partition(): number {
		return this.facts.partition
	}

	/**
	 * The next batch's records; null after the last whole one. A promise only when a large batch is decompressed. Throws or
	 * rejects with {@link CorruptBatch}.
	 */
	nextBatch(): RecordReader | Promise<RecordReader> | null {
		for (;;) {
			const at = this.#at
			const end = wholeBatchEnd(this.#bytes, at, this.#bytes.length)
			if (end === 0) return null
			if (end < 0) throw this.#corrupt(at, 'its length or format cannot be')
			if (!isStoredCrcRight(this.#bytes, at, end)) throw this.#corrupt(at, 'its checksum is wrong')
			this.#at = end
			if (batchMagic(this.#bytes, at) < 2) {
				const reader = this.#legacy(at, end)
				if (reader !== null) return reader
				continue
			}
			const last = batchLastOffset(this.#bytes, at)
			this.nextOffset = last + 1
			if (last < this.facts.fetchOffset || this.#isLeftOut(at, last)) continue
			return this.#reader(at, end)
		}
	}

	/** Keeps the books of aborted transactions; true when the batch is not for the caller. */
	#isLeftOut(at: number, last: number): boolean {
		const attributes = batchAttributes(this.#bytes, at)
		const isControl = (attributes & CONTROL_BIT) !== 0
		while (this.#aborted.length > 0 && (this.#aborted[0] as AbortedTransaction).firstOffset <= last) {
			this.#abortedIds.add((this.#aborted.shift() as AbortedTransaction).producerId)
		}
		if (isControl) {
			// Any marker ends the producer's transaction; what it writes after it is another one.
			this.#abortedIds.delete(batchProducerId(this.#bytes, at))
			return !this.facts.isControlShown
		}
		if (this.facts.aborted === null || (attributes & TRANSACTIONAL_BIT) === 0) return false
		return this.#abortedIds.size > 0 && this.#abortedIds.has(batchProducerId(this.#bytes, at))
	}

	#reader(at: number, end: number): RecordReader | Promise<RecordReader> {
		const bytes = this.#bytes
		const attributes = batchAttributes(bytes, at)
		const facts: BatchFacts = {
			baseOffset: batchBaseOffset(bytes, at),
			baseTimestamp: batchBaseTimestamp(bytes, at),
			appendMs: (attributes & LOG_APPEND_TIME_BIT) !== 0 ? batchMaxTimestamp(bytes, at) : -1,
			recordCount: batchRecordCount(bytes, at),
			leaderEpoch: batchLeaderEpoch(bytes, at),
			isControl: (attributes & CONTROL_BIT) !== 0,
		}
		const codec = codecName(attributes & CODEC_MASK)
		if (codec === null) throw this.#corrupt(at, `unknown codec ${attributes & CODEC_MASK}`)
		if (codec === 'none') return new RecordReader(bytes, at + BATCH_HEADER_BYTES, end, facts)
		const stream = bytes.subarray(at + BATCH_HEADER_BYTES, end)
		try {
			const plain = decompressStream(this.#compression, codec, stream, this.facts.decompressedBytesMax)
			if (Buffer.isBuffer(plain)) return new RecordReader(plain, 0, plain.length, facts)
			return plain.then(
				(made) => new RecordReader(made, 0, made.length, facts),
				(error: unknown) => {
					throw this.#codecFault(at, error)
				},
			)
		} catch (error) {
			throw this.#codecFault(at, error)
		}
	}

	/** A message of the formats before 0.11; a compressed one holds a set of them. */
	#legacy(at: number, end: number): RecordReader | null {
		try {
			const { reader, lastOffset } = legacyReader(this.#bytes.subarray(at, end), this.#compression, this.facts)
			this.nextOffset = lastOffset + 1
			return lastOffset < this.facts.fetchOffset ? null : reader
		} catch (error) {
			throw this.#codecFault(at, error)
		}
	}

	#codecFault(at: number, error: unknown): Error {
		if (!(error instanceof CodecError)) return error as Error
		const limit = this.facts.decompressedBytesMax
		return this.#corrupt(
			at,
			error.reason === 'tooLarge' ? `it unpacks to more than ${limit} bytes` : error.message,
			error,
		)
	}

	#corrupt(at: number, why: string, cause?: unknown): CorruptBatch {
		const end = wholeBatchEnd(this.#bytes, at, this.#bytes.length)
		const { nextOffset } = endOfBatches(this.#bytes.subarray(at, Math.max(at, end)), 0)
		return new CorruptBatch(this.topic, this.partition, batchBaseOffset(this.#bytes, at), nextOffset, why, cause)
	}
}

/** Where the next fetch goes on after `bytes`, and how many whole bytes they hold. Looks at headers only. */
export function endOfBatches(bytes: Buffer, fetchOffset: number): { nextOffset: number; wholeBytes: number } {
	let at = 0
	let nextOffset = fetchOffset
	for (;;) {
		const end = wholeBatchEnd(bytes, at, bytes.length)
		if (end <= 0) return { nextOffset, wholeBytes: at }
		// An old message's offset is that of its last record.
		const last = batchMagic(bytes, at) < 2 ? batchBaseOffset(bytes, at) : batchLastOffset(bytes, at)
		nextOffset = Math.max(nextOffset, last + 1)
		at += batchBytes(bytes, at)
	}
}
