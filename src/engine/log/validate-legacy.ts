/**
 * Messages of formats 0 and 1 in a Produce request below version 3 (semantics 2.3–2.5): checked as 3.9 checks them, then
 * all of a partition become one v2 batch, compressed as the topic wants it. Clients of that age are few: records become
 * objects here.
 */

import { CodecError, type CodecName } from '../../base/compression.js'
import { ERROR } from '../../protocol/errors.js'
import { BATCH_HEADER_BYTES, batchBytes, batchMagic, isStoredCrcRight } from '../../protocol/records/batch.js'
import { compressStream, decompressStream } from '../../protocol/records/compression.js'
import {
	hasAppendTime,
	innerMessages,
	messageCodec,
	type ReadMessage,
	readMessage,
	wrappedStream,
} from '../../protocol/records/legacy.js'
import { rebuildBatch } from '../../protocol/records/rebuild.js'
import { buildBatch, RecordFormatError } from '../../protocol/records/record.js'
import type { LogConfig } from './log-config.js'
import type { LogServices } from './log-core.js'
import type { RecordError, Validation } from './validate.js'

/** Checks and converts `result.records`, whole messages of one format. */
export function validateLegacy(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	now: number,
): Validation | Promise<Validation> {
	const bytes = result.records
	const outers: ReadMessage[] = []
	const magic = batchMagic(bytes, 0)
	try {
		for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) {
			const size = batchBytes(bytes, at)
			if (size > config.maxMessageBytes) {
				const text = `Message of ${size} bytes is larger than max.message.bytes ${config.maxMessageBytes}`
				return result.fail(ERROR.MESSAGE_TOO_LARGE, text, false)
			}
			if (batchMagic(bytes, at) !== magic) {
				return result.fail(ERROR.INVALID_RECORD, `Message of another format than the first, ${magic}`, true)
			}
			if (!isStoredCrcRight(bytes, at, at + size)) {
				return result.fail(ERROR.CORRUPT_MESSAGE, 'Message CRC does not match', false)
			}
			outers.push(readMessage(bytes, at))
		}
		const wrapper = outers.find((outer) => messageCodec(outer) !== 'none')
		if (wrapper === undefined) return convert(services, config, result, outers, 'none', now)
		if (outers.length > 1) {
			return result.fail(ERROR.INVALID_RECORD, 'More than one message beside a compressed one', true)
		}
		const { codec, stream } = wrappedStream(wrapper)
		const plain = decompressStream(services.compression, codec, stream, services.decompressedBytesMax)
		if (!(plain instanceof Promise)) return convertInner(services, config, result, wrapper, plain, now)
		return plain.then(
			(done) => convertInner(services, config, result, wrapper, done, now),
			(error: unknown) => broken(result, error),
		)
	} catch (error) {
		return broken(result, error)
	}
}

function broken(result: Validation, error: unknown): Validation {
	if (!(error instanceof CodecError) && !(error instanceof RecordFormatError)) throw error
	return result.fail(ERROR.INVALID_RECORD, `Messages cannot be read: ${error.message}`, true)
}

function convertInner(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	wrapper: ReadMessage,
	plain: Buffer,
	now: number,
): Validation | Promise<Validation> {
	try {
		const inner = innerMessages(wrapper, plain)
		if (inner.some(({ isCrcRight }) => !isCrcRight)) {
			return result.fail(ERROR.CORRUPT_MESSAGE, 'CRC of a message inside a compressed one does not match', false)
		}
		const codec = messageCodec(wrapper) as CodecName
		const isAppendTime = hasAppendTime(wrapper)
		return convert(services, config, result, inner, codec, now, isAppendTime)
	} catch (error) {
		return broken(result, error)
	}
}

/** One v2 batch of all messages, offsets 0, 1, 2 …; times of format 0 stay unknown (-1). */
function convert(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	messages: readonly ReadMessage[],
	codec: CodecName | 'none',
	now: number,
	isAppendTime = messages.some(hasAppendTime),
): Validation | Promise<Validation> {
	const problem = recordErrors(config, messages, now)
	if (problem.errors.length > 0) {
		result.recordErrors = problem.errors
		const text = `${problem.errors.length} records have been rejected`
		return result.fail(problem.isOfTime ? ERROR.INVALID_TIMESTAMP : ERROR.INVALID_RECORD, text, true)
	}
	if (isAppendTime) {
		return result.fail(ERROR.INVALID_TIMESTAMP, 'Producers should not set the time type LogAppendTime', true)
	}
	const plain = buildBatch({ records: messages.map(({ timestamp, key, value }) => ({ timestamp, key, value })) })
	const wanted = config.compressionType === 'producer' ? codec : config.compressionType
	const latest = messages.reduce((most, { timestamp }) => Math.max(most, timestamp), -1)
	const finish = (stream: Buffer): Validation => {
		result.records = rebuildBatch(plain, stream, wanted, result.appendMs, latest)
		if (result.records.length <= config.maxMessageBytes) return result
		const text = `Converted batch of ${result.records.length} bytes is larger than max.message.bytes`
		return result.fail(ERROR.MESSAGE_TOO_LARGE, text, false)
	}
	const records = plain.subarray(BATCH_HEADER_BYTES)
	if (wanted === 'none') return finish(records)
	const level = wanted === 'gzip' ? config.gzipLevel : wanted === 'lz4' ? config.lz4Level : config.zstdLevel
	const stream = compressStream(services.compression, wanted, records, wanted === 'snappy' ? null : level)
	return stream instanceof Promise ? stream.then(finish) : finish(stream)
}

function recordErrors(
	config: LogConfig,
	messages: readonly ReadMessage[],
	now: number,
): { errors: readonly RecordError[]; isOfTime: boolean } {
	const earliest = now - config.timestampBeforeMaxMs
	const latest = now + config.timestampAfterMaxMs
	const errors: RecordError[] = []
	let isOfTime = false
	for (const [batchIndex, { key, timestamp }] of messages.entries()) {
		if (config.isCompacted && key === null) {
			errors.push({ batchIndex, message: 'Compacted topic cannot accept message without key' })
		} else if (config.timestampType === 'CreateTime' && timestamp !== -1) {
			if (timestamp >= earliest && timestamp <= latest) continue
			isOfTime = true
			const message = `Timestamp ${timestamp} of message with offset ${batchIndex} is out of range [${earliest}, ${latest}]`
			errors.push({ batchIndex, message })
		}
	}
	return { errors, isOfTime }
}
