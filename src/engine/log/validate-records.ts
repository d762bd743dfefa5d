/** The checks of one batch and its records (semantics 4.12–4.17), and what of its header they correct (4.19). */

import { ERROR } from '../../protocol/errors.js'
import {
	batchAttributes,
	batchBaseSequence,
	batchBaseTimestamp,
	batchHasProducer,
	batchLastOffsetDelta,
	batchMaxTimestamp,
	batchRecordCount,
	CONTROL_BIT,
	exactBaseTimestamp,
	exactMaxTimestamp,
	LOG_APPEND_TIME_BIT,
	stampTimestamps,
} from '../../protocol/records/batch.js'
import { RecordFields } from '../../protocol/records/fields.js'
import { RecordWalk } from '../../protocol/records/walk.js'
import type { LogConfig } from './log-config.js'
import type { RecordError, ValidateOptions, Validation } from './validation.js'

/** One walk for all synchronous validation: nothing else can run in between. */
export const sharedWalk = new RecordWalk()

/** 4.12. */
export function checkHeader(result: Validation, bytes: Buffer, at: number, options: ValidateOptions): void {
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

export function startWalk(
	walk: RecordWalk,
	bytes: Buffer,
	at: number,
	from: number,
	config: LogConfig,
	now: number,
): void {
	const isCreateTime = config.timestampType === 'CreateTime'
	const earliest = isCreateTime ? now - config.timestampBeforeMaxMs : Number.NEGATIVE_INFINITY
	const latest = isCreateTime ? now + config.timestampAfterMaxMs : Number.POSITIVE_INFINITY
	walk.reset(from, batchBaseTimestamp(bytes, at), earliest, latest, config.isCompacted)
}

/** Shape, left-over bytes, bad records and time type after all records were walked (4.13–4.17). */
export function finishWalk(
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
		result.fail(ERROR.INVALID_RECORD, `${walk.badCount} records have been rejected`, true)
	}
}

/** 4.19. The CRC is made anew only when something under it changes. */
export function restamp(bytes: Buffer, at: number, end: number, maxTimestamp: number | bigint, appendMs: number): void {
	if (appendMs >= 0) {
		stampTimestamps(bytes, at, end, true, appendMs)
		return
	}
	const hasAppendBit = (batchAttributes(bytes, at) & LOG_APPEND_TIME_BIT) !== 0
	const stored = typeof maxTimestamp === 'bigint' ? exactMaxTimestamp(bytes, at) : batchMaxTimestamp(bytes, at)
	if (hasAppendBit || stored !== maxTimestamp) stampTimestamps(bytes, at, end, false, maxTimestamp)
}

/**
 * The largest timestamp of the records of the batch at `at`, which stand in `plain` and were walked. Some clients send
 * nanoseconds: those are beyond what a number has exactly, and are looked at again.
 */
export function latestOf(walk: RecordWalk, bytes: Buffer, at: number, plain: Buffer, from: number): number | bigint {
	if (walk.maxTimestamp <= Number.MAX_SAFE_INTEGER) return walk.maxTimestamp
	const base = exactBaseTimestamp(bytes, at)
	const fields = new RecordFields(plain, from, plain.length)
	let latest = -1n
	for (let i = 0; i < walk.index; i++) {
		fields.read()
		const timestamp = BigInt.asIntN(64, base + fields.exactTimestampDelta())
		if (timestamp > latest) latest = timestamp
	}
	return latest
}
