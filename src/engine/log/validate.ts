/**
 * The checks of a produced record set before it is appended (semantics 4.4, 4.8–4.17, 4.19, 4.20), in Kafka's order and
 * with its codes. One allocation-free walk over an uncompressed batch; a compressed one is decompressed within bounds
 * and walked the same way. Bytes change here only where 3.9 changes them: maximum timestamp, time type and then the CRC.
 *
 * `validate` answers at once, or with a promise when decompression or recompression left the event loop.
 */

import { ERROR } from '../../protocol/errors.js'
import {
	BATCH_HEADER_BYTES,
	batchAttributes,
	batchBaseOffset,
	batchBytes,
	batchMagic,
	batchRecordCount,
	CODEC_MASK,
	isBatchCrcRight,
	wholeBatchEnd,
} from '../../protocol/records/batch.js'
import { ZSTD_ID } from '../../protocol/records/compression.js'
import { walkRecords } from '../../protocol/records/walk.js'
import type { LogConfig } from './log-config.js'
import type { LogServices } from './log-core.js'
import { validateCompressed } from './validate-compressed.js'
import { validateLegacy } from './validate-legacy.js'
import { checkHeader, finishWalk, latestOf, restamp, sharedWalk, startWalk } from './validate-records.js'
import { type ValidateOptions, Validation } from './validation.js'

/** Attributes of a message of format 0 or 1. */
const LEGACY_ATTRIBUTES_AT = 17

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
		restamp(records, at, batchEnd, latestOf(sharedWalk, records, at, records, at + BATCH_HEADER_BYTES), result.appendMs)
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
