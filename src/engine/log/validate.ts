/**
 * The checks of a produced record set before it is appended (semantics 4.4, 4.8–4.17, 4.19, 4.20), in Kafka's order and
 * with its codes. One allocation-free walk over an uncompressed batch; a compressed one is decompressed within bounds
 * and walked the same way. Bytes change here only where 3.9 changes them: maximum timestamp, time type and then the CRC.
 *
 * `validate` answers at once, or with a promise when decompression or recompression left the event loop.
 */

import { CodecError, type CodecName } from '../../base/compression.js'
import { ERROR } from '../../protocol/errors.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBaseSequence,
	batchBaseTimestamp,
	batchBytes,
	batchHasProducer,
	batchLastOffsetDelta,
	batchMagic,
	batchMaxTimestamp,
	batchRecordCount,
	CODEC_MASK,
	CONTROL_BIT,
	isBatchCrcRight,
	LOG_APPEND_TIME_BIT,
	stampTimestamps,
	wholeBatchEnd,
} from '../../protocol/records/batch.js'
import {
	codecName,
	compressStream,
	decompressStream,
	INLINE_BYTES_MAX,
	ZSTD_ID,
} from '../../protocol/records/compression.js'
import { rebuildBatch, rebuildRecords } from '../../protocol/records/rebuild.js'
import { RecordWalk, walkRecords } from '../../protocol/records/walk.js'
import type { LogConfig } from './log-config.js'
import type { LogServices } from './log-core.js'
import { validateLegacy } from './validate-legacy.js'

export interface RecordError {
	readonly batchIndex: number
	readonly message: string
}

export interface ValidateOptions {
	readonly origin: 'client' | 'coordinator'
	/** Version of the Produce request; for coordinators the newest. */
	readonly produceVersion: number
}

const NO_ERRORS: readonly RecordError[] = []

/** What validation found: a record set fit to append, or why not. */
export class Validation {
	/** 0, or the error code. */
	code = 0
	message: string | null = null
	recordErrors: readonly RecordError[] = NO_ERRORS
	/** The error was found inside the log: the answer then carries the log start offset (4.22). */
	isInsideLog = false
	/** Whole batches to append; the same buffer as came unless it was rebuilt. */
	records: Buffer
	/** Time given to all records of a LogAppendTime topic, else -1. */
	appendMs = -1

	constructor(records: Buffer) {
		this.records = records
	}

	fail(code: number, message: string, isInsideLog: boolean): this {
		this.code = code
		this.message = message
		this.isInsideLog = isInsideLog
		return this
	}
}

/** Records walked between two turns of the loop, for batches that were decompressed off it. */
const RECORDS_A_TURN = 50_000

/** Attributes of a message of format 0 or 1. */
const LEGACY_ATTRIBUTES_AT = 17

/** One walk for all synchronous validation: nothing else can run in between. */
const sharedWalk = new RecordWalk()

/** Checks `records`, one partition's field of a Produce request. They may change, and are read until the result is there. */
export function validate(
	services: LogServices,
	config: LogConfig,
	records: Buffer,
	options: ValidateOptions,
): Validation | Promise<Validation> {
	const result = new Validation(records)
	const end = checkShape(result, records, options)
	if (result.code !== 0) return result
	if (end < records.length) result.records = records.subarray(0, end)
	const now = services.clock.wallMs()
	if (config.timestampType === 'LogAppendTime') result.appendMs = now
	if (batchMagic(records, 0) < 2) return validateLegacy(services, config, result, now)
	let batches = 0
	let isCompressed = false
	for (let at = 0; at < end; at += batchBytes(records, at)) {
		checkInLog(result, records, at, config, options)
		if (result.code !== 0) return result
		if ((batchAttributes(records, at) & CODEC_MASK) !== 0) isCompressed = true
		batches++
	}
	const wanted = config.compressionType
	if (isCompressed || (wanted !== 'producer' && wanted !== 'none')) {
		if (batches > 1) return result.fail(ERROR.INVALID_RECORD, 'More than one batch with a compressed one', true)
		return validateCompressed(services, config, result, now, options)
	}
	for (let at = 0; at < end; at += batchBytes(records, at)) {
		checkHeader(result, records, at, options)
		if (result.code !== 0) return result
		const batchEnd = at + batchBytes(records, at)
		startWalk(sharedWalk, records, at, at + BATCH_HEADER_BYTES, config, now)
		walkRecords(records, sharedWalk, batchEnd, batchRecordCount(records, at))
		finishWalk(result, sharedWalk, records, at, batchEnd, config, now)
		if (result.code !== 0) return result
		restamp(records, at, batchEnd, sharedWalk.maxTimestamp, result.appendMs)
	}
	return result
}

/** 4.4, 4.11: what the request's version allows. Returns the end of the last whole batch. */
function checkShape(result: Validation, records: Buffer, options: ValidateOptions): number {
	const isStrict = options.origin === 'client' && options.produceVersion >= 3
	let at = 0
	let count = 0
	while (at < records.length) {
		const next = wholeBatchEnd(records, at, records.length)
		if (next < 0) {
			result.fail(ERROR.CORRUPT_MESSAGE, 'Record batch length or magic is impossible', false)
			return 0
		}
		if (next === 0) break
		if (batchMagic(records, at) < 2) {
			if (isStrict) {
				result.fail(ERROR.INVALID_RECORD, 'Produce requests from version 3 on take magic 2 only', false)
				return 0
			}
		}
		if (options.origin === 'client' && options.produceVersion < 7) {
			if (codecIdAt(records, at) === ZSTD_ID) {
				result.fail(ERROR.UNSUPPORTED_COMPRESSION_TYPE, 'Produce requests below version 7 take no zstd', false)
				return 0
			}
		}
		count++
		if (isStrict && count > 1) {
			result.fail(ERROR.INVALID_RECORD, 'Produce requests from version 3 on take exactly one batch', false)
			return 0
		}
		at = next
	}
	if (count === 0) result.fail(ERROR.INVALID_RECORD, 'Produce request without a whole record batch', false)
	return at
}

/** Codec bits of a batch or message of any format. */
function codecIdAt(bytes: Buffer, at: number): number {
	return (
		(batchMagic(bytes, at) < 2 ? (bytes[at + LEGACY_ATTRIBUTES_AT] as number) : batchAttributes(bytes, at)) & CODEC_MASK
	)
}

/** 4.8–4.10. */
function checkInLog(result: Validation, bytes: Buffer, at: number, config: LogConfig, options: ValidateOptions): void {
	if (batchMagic(bytes, at) < 2) {
		result.fail(ERROR.INVALID_RECORD, 'Message of format 0 or 1 behind a batch of format 2', true)
		return
	}
	if (options.origin === 'client' && batchBaseOffset(bytes, at) !== 0) {
		result.fail(ERROR.INVALID_RECORD, `Base offset is ${batchBaseOffset(bytes, at)}, it should be 0`, true)
		return
	}
	const size = batchBytes(bytes, at)
	if (size > config.maxMessageBytes) {
		const text = `Record batch of ${size} bytes is larger than max.message.bytes ${config.maxMessageBytes}`
		result.fail(ERROR.MESSAGE_TOO_LARGE, text, false)
		return
	}
	if (!isBatchCrcRight(bytes, at, at + size)) {
		result.fail(ERROR.CORRUPT_MESSAGE, 'Record batch CRC does not match', false)
	}
}

/** 4.12. */
function checkHeader(result: Validation, bytes: Buffer, at: number, options: ValidateOptions): void {
	const count = batchRecordCount(bytes, at)
	const lastDelta = batchLastOffsetDelta(bytes, at)
	let problem: string | null = null
	if (count <= 0) problem = `Record count is ${count}`
	else if (lastDelta < 0) problem = `Last offset delta is ${lastDelta}`
	else if (options.origin === 'client') {
		if (lastDelta !== count - 1) problem = `Last offset delta ${lastDelta} does not fit ${count} records`
		else if ((batchAttributes(bytes, at) & CONTROL_BIT) !== 0) problem = 'Clients may not write control batches'
		else if (batchHasProducer(bytes, at) && batchBaseSequence(bytes, at) < 0) {
			problem = `Base sequence is ${batchBaseSequence(bytes, at)} with a producer id`
		}
	}
	if (problem !== null) result.fail(ERROR.INVALID_RECORD, problem, true)
}

function startWalk(walk: RecordWalk, bytes: Buffer, at: number, from: number, config: LogConfig, now: number): void {
	const isCreateTime = config.timestampType === 'CreateTime'
	const earliest = isCreateTime ? now - config.timestampBeforeMaxMs : Number.NEGATIVE_INFINITY
	const latest = isCreateTime ? now + config.timestampAfterMaxMs : Number.POSITIVE_INFINITY
	walk.reset(from, batchBaseTimestamp(bytes, at), earliest, latest, config.isCompacted)
}

/** Shape, left-over bytes, bad records and time type after all records were walked (4.13–4.17). */
function finishWalk(
	result: Validation,
	walk: RecordWalk,
	bytes: Buffer,
	at: number,
	end: number,
	config: LogConfig,
	now: number,
): void {
	if (walk.failure !== null) {
		result.fail(ERROR.INVALID_RECORD, `Record ${walk.index} of the batch is broken: ${walk.failure}`, true)
		return
	}
	if (walk.at !== end) {
		result.fail(ERROR.INVALID_RECORD, `${end - walk.at} bytes left after the last record`, true)
		return
	}
	if (walk.bad !== null) {
		rejectRecords(result, walk, config, now)
		return
	}
	if ((batchAttributes(bytes, at) & LOG_APPEND_TIME_BIT) === 0) return
	if (result.appendMs >= 0 || walk.hasNoTimestamp || batchMaxTimestamp(bytes, at) === -1) {
		result.fail(ERROR.INVALID_TIMESTAMP, 'Producers should not set the time type LogAppendTime', true)
	}
}

function rejectRecords(result: Validation, walk: RecordWalk, config: LogConfig, now: number): void {
	const errors: RecordError[] = []
	let hasTimeError = false
	const range = `[${now - config.timestampBeforeMaxMs}, ${now + config.timestampAfterMaxMs}]`
	for (const bad of walk.bad ?? []) {
		if (bad.reason === 'key') {
			errors.push({ batchIndex: bad.batchIndex, message: 'Compacted topic cannot accept message without key' })
			continue
		}
		hasTimeError = true
		const message = `Timestamp ${bad.timestamp} of message with offset ${bad.batchIndex} is out of range ${range}`
		errors.push({ batchIndex: bad.batchIndex, message })
	}
	result.recordErrors = errors
	if (hasTimeError) {
		const text = 'One or more records have been rejected due to invalid timestamp'
		result.fail(ERROR.INVALID_TIMESTAMP, text, true)
	} else {
		result.fail(ERROR.INVALID_RECORD, `${errors.length} records have been rejected`, true)
	}
}

/** 4.19. The CRC is made anew only when something under it changes. */
function restamp(bytes: Buffer, at: number, end: number, maxTimestamp: number, appendMs: number): void {
	if (appendMs >= 0) {
		stampTimestamps(bytes, at, end, true, appendMs)
		return
	}
	const hasAppendBit = (batchAttributes(bytes, at) & LOG_APPEND_TIME_BIT) !== 0
	if (hasAppendBit || batchMaxTimestamp(bytes, at) !== maxTimestamp)
		stampTimestamps(bytes, at, end, false, maxTimestamp)
}

/** A batch that is compressed, or will be: its plain records are needed. */
function validateCompressed(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	now: number,
	options: ValidateOptions,
): Validation | Promise<Validation> {
	const bytes = result.records
	checkHeader(result, bytes, 0, options)
	if (result.code !== 0) return result
	const id = batchAttributes(bytes, 0) & CODEC_MASK
	const codec = codecName(id)
	if (codec === null) return result.fail(ERROR.INVALID_RECORD, `Codec ${id} is unknown`, true)
	const stream = bytes.subarray(BATCH_HEADER_BYTES)
	if (codec === 'none') return walkPlain(services, config, result, stream, codec, now)
	let plain: Buffer | Promise<Buffer>
	try {
		plain = decompressStream(services.compression, codec, stream, services.decompressedBytesMax)
	} catch (error) {
		return rejectStream(result, error)
	}
	if (!(plain instanceof Promise)) return walkPlain(services, config, result, plain, codec, now)
	return plain.then(
		(records) => walkPlain(services, config, result, records, codec, now),
		(error: unknown) => rejectStream(result, error),
	)
}

function rejectStream(result: Validation, error: unknown): Validation {
	if (!(error instanceof CodecError)) throw error
	return result.fail(ERROR.INVALID_RECORD, `Records cannot be decompressed: ${error.message}`, true)
}

function walkPlain(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	plain: Buffer,
	codec: CodecName | 'none',
	now: number,
): Validation | Promise<Validation> {
	const bytes = result.records
	const count = batchRecordCount(bytes, 0)
	if (plain.length <= INLINE_BYTES_MAX || count <= RECORDS_A_TURN) {
		startWalk(sharedWalk, bytes, 0, 0, config, now)
		walkRecords(plain, sharedWalk, plain.length, count)
		finishWalk(result, sharedWalk, bytes, 0, plain.length, config, now)
		if (result.code !== 0) return result
		return finishCompressed(services, config, result, plain, codec, sharedWalk.isDense, sharedWalk.maxTimestamp)
	}
	return walkInTurns(services, config, result, plain, codec, now)
}

async function walkInTurns(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	plain: Buffer,
	codec: CodecName | 'none',
	now: number,
): Promise<Validation> {
	const bytes = result.records
	const count = batchRecordCount(bytes, 0)
	const walk = new RecordWalk()
	startWalk(walk, bytes, 0, 0, config, now)
	while (walk.index < count) {
		if (!walkRecords(plain, walk, plain.length, Math.min(count, walk.index + RECORDS_A_TURN))) break
		await new Promise<void>((resolve) => services.clock.soon(resolve))
	}
	finishWalk(result, walk, bytes, 0, plain.length, config, now)
	if (result.code !== 0) return result
	return finishCompressed(services, config, result, plain, codec, walk.isDense, walk.maxTimestamp)
}

/** Keeps the batch as it came, or rebuilds it with the topic's codec (4.20). */
function finishCompressed(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	plain: Buffer,
	codec: CodecName | 'none',
	isDense: boolean,
	maxTimestamp: number,
): Validation | Promise<Validation> {
	const wanted = config.compressionType === 'producer' ? codec : config.compressionType
	if (wanted === codec) {
		if (!isDense && codec !== 'none') {
			return result.fail(ERROR.INVALID_RECORD, 'Records of a compressed batch have no incremental offsets', true)
		}
		restamp(result.records, 0, result.records.length, maxTimestamp, result.appendMs)
		return result
	}
	const records = isDense ? plain : rebuildRecords(plain, batchRecordCount(result.records, 0))
	if (wanted === 'none') return finishRebuilt(config, result, records, wanted, maxTimestamp)
	const level = wanted === 'gzip' ? config.gzipLevel : wanted === 'lz4' ? config.lz4Level : config.zstdLevel
	const stream = compressStream(services.compression, wanted, records, wanted === 'snappy' ? null : level)
	if (!(stream instanceof Promise)) return finishRebuilt(config, result, stream, wanted, maxTimestamp)
	return stream.then((done) => finishRebuilt(config, result, done, wanted, maxTimestamp))
}

function finishRebuilt(
	config: LogConfig,
	result: Validation,
	stream: Buffer,
	codec: CodecName | 'none',
	maxTimestamp: number,
): Validation {
	result.records = rebuildBatch(result.records, stream, codec, result.appendMs, maxTimestamp)
	if (result.records.length > config.maxMessageBytes) {
		const text = `Rebuilt batch of ${result.records.length} bytes is larger than max.message.bytes`
		return result.fail(ERROR.MESSAGE_TOO_LARGE, text, false)
	}
	return result
}
