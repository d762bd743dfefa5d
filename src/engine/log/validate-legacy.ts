/**
 * Messages of formats 0 and 1 in a Produce request below version 3 (semantics 2.3–2.5): checked as 3.9 checks them, then
 * all of a partition become one v2 batch, compressed as the topic wants it.
 */

import { CodecError, type CodecName } from '../../base/compression.js'
import { runTurns, type Turns } from '../../base/turns.js'
import { ERROR } from '../../protocol/errors.js'
import { BATCH_HEADER_BYTES, batchBytes, batchMagic, isStoredCrcRight } from '../../protocol/records/batch.js'
import { compressStream, withPlain } from '../../protocol/records/compression.js'
import { RecordFormatError } from '../../protocol/records/fields.js'
import {
	hasAppendTime,
	InnerMessages,
	MessageFields,
	messageCodec,
	type ReadMessage,
	readMessage,
	wrappedStream,
} from '../../protocol/records/legacy.js'
import { rebuildBatch } from '../../protocol/records/rebuild.js'
import { UpConversion, upConvert } from '../../protocol/records/up-convert.js'
import { BAD_RECORDS_MAX } from '../../protocol/records/walk.js'
import type { LogConfig } from './log-config.js'
import type { LogServices } from './log-core.js'
import type { RecordError, Validation } from './validation.js'

/** What one set of messages is checked and converted with. */
interface Job {
	readonly services: LogServices
	readonly config: LogConfig
	readonly result: Validation
	readonly now: number
	/** Of the messages, when they were compressed. */
	readonly codec: CodecName | 'none'
}

const MESSAGES_A_TURN = 20_000

/** Checks and converts `result.records`, whole messages of one format. */
export function validateLegacy(
	services: LogServices,
	config: LogConfig,
	result: Validation,
	now: number,
): Validation | Promise<Validation> {
	const soon = (next: () => void): void => services.clock.soon(next)
	const settled = guarded(result, () => {
		const done = runTurns(examineOuters(config, result), soon)
		const goOn = (wrapper: ReadMessage | null): Validation | Promise<Validation> => {
			if (result.code !== 0) return result
			if (wrapper === null) return convert({ services, config, result, now, codec: 'none' }, result.records, null)
			const { codec, stream } = wrappedStream(wrapper)
			const job = { services, config, result, now, codec }
			return withPlain(services, codec, stream, (plain) => convert(job, plain, wrapper))
		}
		return done instanceof Promise ? done.then(goOn) : goOn(done)
	})
	return settled
}

/** Turns what a broken set throws into its refusal. */
function guarded(result: Validation, run: () => Validation | Promise<Validation>): Validation | Promise<Validation> {
	try {
		const done = run()
		return done instanceof Promise ? done.catch((error: unknown) => broken(result, error)) : done
	} catch (error) {
		return broken(result, error)
	}
}

function broken(result: Validation, error: unknown): Validation {
	if (!(error instanceof CodecError) && !(error instanceof RecordFormatError)) throw error
	return result.fail(ERROR.INVALID_RECORD, `Messages cannot be read: ${error.message}`, true)
}

/** The messages as they came: size, format, CRC. Answers the one that holds the others, null when none is compressed. */
function* examineOuters(config: LogConfig, result: Validation): Turns<ReadMessage | null> {
	const bytes = result.records
	const magic = batchMagic(bytes, 0)
	let wrapper: ReadMessage | null = null
	let count = 0
	for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) {
		const size = batchBytes(bytes, at)
		if (size > config.maxMessageBytes) {
			const text = `Message of ${size} bytes is larger than max.message.bytes ${config.maxMessageBytes}`
			result.fail(ERROR.MESSAGE_TOO_LARGE, text, false)
			return null
		}
		if (batchMagic(bytes, at) !== magic) {
			result.fail(ERROR.INVALID_RECORD, `Message of another format than the first, ${magic}`, true)
			return null
		}
		if (!isStoredCrcRight(bytes, at, at + size)) {
			result.fail(ERROR.CORRUPT_MESSAGE, 'Message CRC does not match', false)
			return null
		}
		const message = readMessage(bytes, at)
		if (messageCodec(message) !== 'none') wrapper = message
		if (++count % MESSAGES_A_TURN === 0) yield
	}
	if (wrapper !== null && count > 1) {
		result.fail(ERROR.INVALID_RECORD, 'More than one message beside a compressed one', true)
	}
	return wrapper
}

/** One v2 batch of all messages in `bytes`, those of `wrapper` or none; times of format 0 stay unknown (-1). */
function convert(job: Job, bytes: Buffer, wrapper: ReadMessage | null): Validation | Promise<Validation> {
	const { services, result } = job
	const wanted = wantedCodec(job)
	const done = runTurns(checkAndConvert(job, bytes, wrapper), (next) => services.clock.soon(next))
	const goOn = (batch: Buffer | null): Validation | Promise<Validation> => {
		if (batch === null) return result
		if (wanted === 'none') return finish(job, batch, batch.subarray(BATCH_HEADER_BYTES))
		const { gzipLevel, lz4Level, zstdLevel } = job.config
		const level = { gzip: gzipLevel, lz4: lz4Level, zstd: zstdLevel, snappy: null }[wanted]
		const stream = compressStream(services.compression, wanted, batch.subarray(BATCH_HEADER_BYTES), level)
		return stream instanceof Promise ? stream.then((ready) => finish(job, batch, ready)) : finish(job, batch, stream)
	}
	return done instanceof Promise ? done.then(goOn) : goOn(done)
}

function wantedCodec({ config, codec }: Job): CodecName | 'none' {
	return config.compressionType === 'producer' ? codec : config.compressionType
}

function finish(job: Job, batch: Buffer, stream: Buffer): Validation {
	const { result } = job
	if (isTooLarge(job, BATCH_HEADER_BYTES + stream.length)) return result
	result.records = rebuildBatch(batch, stream, wantedCodec(job), result.appendMs, null)
	return result
}

function isTooLarge({ config, result }: Job, bytes: number): boolean {
	if (bytes <= config.maxMessageBytes) return false
	result.fail(ERROR.MESSAGE_TOO_LARGE, `Converted batch of ${bytes} bytes is larger than max.message.bytes`, false)
	return true
}

/** Null when the set is refused. */
function* checkAndConvert(job: Job, bytes: Buffer, wrapper: ReadMessage | null): Turns<Buffer | null> {
	const { config, result, now } = job
	const inner = wrapper === null ? null : new InnerMessages(wrapper, bytes)
	const fields = inner?.fields ?? new MessageFields(bytes)
	const sums = new UpConversion()
	const rules = new MessageRules(config, now)
	let isAppendTime = wrapper !== null && hasAppendTime(wrapper)
	while (inner === null ? fields.at < bytes.length : inner.next()) {
		if (inner === null) fields.read()
		else if (!fields.isCrcRight) {
			result.fail(ERROR.CORRUPT_MESSAGE, 'CRC of a message inside a compressed one does not match', false)
			return null
		}
		if (wrapper === null && hasAppendTime(fields)) isAppendTime = true
		rules.check(fields, sums.count)
		sums.add(fields)
		if (sums.count % MESSAGES_A_TURN === 0) yield
	}
	if (rules.errors.length > 0) {
		result.recordErrors = rules.errors
		const text = `${rules.errorCount} records have been rejected`
		result.fail(rules.isOfTime ? ERROR.INVALID_TIMESTAMP : ERROR.INVALID_RECORD, text, true)
		return null
	}
	if (isAppendTime) {
		result.fail(ERROR.INVALID_TIMESTAMP, 'Producers should not set the time type LogAppendTime', true)
		return null
	}
	if (wantedCodec(job) === 'none' && isTooLarge(job, BATCH_HEADER_BYTES + sums.bytes)) return null
	return yield* upConvert(bytes, sums)
}

/** What single messages must keep; those that do not are listed. */
class MessageRules {
	readonly errors: RecordError[] = []
	errorCount = 0
	isOfTime = false
	readonly #config: LogConfig
	readonly #earliest: number
	readonly #latest: number

	constructor(config: LogConfig, now: number) {
		this.#config = config
		this.#earliest = now - config.timestampBeforeMaxMs
		this.#latest = now + config.timestampAfterMaxMs
	}

	check({ keyLength, timestamp }: MessageFields, batchIndex: number): void {
		if (this.#config.isCompacted && keyLength < 0) {
			this.#add(batchIndex, 'Compacted topic cannot accept message without key')
		} else if (timestamp < -1) {
			this.isOfTime = true
			this.#add(batchIndex, `Timestamp ${timestamp} of message with offset ${batchIndex} is negative`)
		} else if (this.#config.timestampType === 'CreateTime' && timestamp !== -1) {
			if (timestamp >= this.#earliest && timestamp <= this.#latest) return
			this.isOfTime = true
			const range = `[${this.#earliest}, ${this.#latest}]`
			this.#add(batchIndex, `Timestamp ${timestamp} of message with offset ${batchIndex} is out of range ${range}`)
		}
	}

	#add(batchIndex: number, message: string): void {
		this.errorCount++
		if (this.errors.length < BAD_RECORDS_MAX) this.errors.push({ batchIndex, message })
	}
}
