/** A produced batch that is compressed, or will be: its plain records are checked, and kept or compressed anew (4.20). */

import { CodecError, type CodecName } from '../../base/compression.js'
import { runTurns } from '../../base/turns.js'
import { ERROR } from '../../protocol/errors.js'
import { BATCH_HEADER_BYTES, batchAttributes, batchRecordCount, CODEC_MASK } from '../../protocol/records/batch.js'
import { codecName, compressStream, INLINE_BYTES_MAX, withPlain } from '../../protocol/records/compression.js'
import { denseRecords, rebuildBatch } from '../../protocol/records/rebuild.js'
import { RecordWalk, walkRecords } from '../../protocol/records/walk.js'
import type { LogConfig } from './log-config.js'
import type { LogServices } from './log-core.js'
import { checkHeader, finishWalk, latestOf, restamp, sharedWalk, startWalk } from './validate-records.js'
import type { ValidateOptions, Validation } from './validation.js'

/** Records walked between two turns of the loop, for batches that were decompressed off it. */
const RECORDS_A_TURN = 50_000

/** Checks the one batch of `result`; answers at once where its records are few. */
export function validateCompressed(
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
	try {
		const done = withPlain(services, codec, stream, (plain) => walkPlain(services, config, result, plain, codec, now))
		return done instanceof Promise ? done.catch((error: unknown) => rejectStream(result, error)) : done
	} catch (error) {
		return rejectStream(result, error)
	}
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
		const latest = latestOf(sharedWalk, bytes, 0, plain, 0)
		return finishCompressed(services, config, result, plain, codec, sharedWalk.isDense, latest)
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
	return finishCompressed(services, config, result, plain, codec, walk.isDense, latestOf(walk, bytes, 0, plain, 0))
}

/** Keeps the batch as it came, or rebuilds it with the topic's codec (4.20). */
function finishCompressed(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	plain: Buffer,
	codec: CodecName | 'none',
	isDense: boolean,
	maxTimestamp: number | bigint,
): Validation | Promise<Validation> {
	const wanted = config.compressionType === 'producer' ? codec : config.compressionType
	if (wanted === codec) {
		if (!isDense && codec !== 'none') {
			return result.fail(ERROR.INVALID_RECORD, 'Records of a compressed batch have no incremental offsets', true)
		}
		restamp(result.records, 0, result.records.length, maxTimestamp, result.appendMs)
		return result
	}
	if (isDense) return recompress(services, config, result, plain, wanted, maxTimestamp)
	const dense = runTurns(denseRecords(plain, batchRecordCount(result.records, 0)), (next) => services.clock.soon(next))
	if (!(dense instanceof Promise)) return recompress(services, config, result, dense, wanted, maxTimestamp)
	return dense.then((records) => recompress(services, config, result, records, wanted, maxTimestamp))
}

function recompress(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	records: Buffer,
	wanted: CodecName | 'none',
	maxTimestamp: number | bigint,
): Validation | Promise<Validation> {
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
	maxTimestamp: number | bigint,
): Validation {
	const bytes = BATCH_HEADER_BYTES + stream.length
	if (bytes > config.maxMessageBytes) {
		const text = `Rebuilt batch of ${bytes} bytes is larger than max.message.bytes`
		return result.fail(ERROR.MESSAGE_TOO_LARGE, text, false)
	}
	result.records = rebuildBatch(result.records, stream, codec, result.appendMs, maxTimestamp)
	return result
}
