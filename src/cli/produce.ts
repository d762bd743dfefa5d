/** Behind `kcli produce`: input → parser → producer; which line failed first; the exit code. */

import { createReadStream } from 'node:fs'
import { BrokerError } from '../client/errors.js'
import type { PartitionerName } from '../client/partitioners.js'
import { MissingTopic, PRODUCER_DEFAULTS, Producer, type ProducerSettings } from '../client/producer.js'
import type { RecordHeaderInput } from '../client/producer-batch.js'
import type { DeliveryFailure } from '../client/producer-queue.js'
import { ERROR } from '../protocol/errors.js'
import { refuseWhenReadOnly } from './confirm.js'
import { CliError, EXIT, usageError } from './errors.js'
import { Interrupt } from './interrupt.js'
import { readTime } from './offset-grammar.js'
import { Pace } from './pace.js'
import { unescapeText } from './parse-records.js'
import { type Emit, InputError, type InputParser, type InputRecord, lineParser, wholeParser } from './record-input.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import { StdoutSink } from './stdout-sink.js'
import { missingTopic } from './topic-lookup.js'

export interface ProduceChoice extends ConnectionChoice {
	readonly topic: string | undefined
	readonly partition: number | undefined
	readonly key: string | undefined
	readonly 'key-delimiter': string | undefined
	readonly delimiter: string | undefined
	readonly header: readonly string[] | undefined
	readonly null: boolean
	readonly 'null-value': string | undefined
	readonly input: string
	readonly file: readonly string[] | undefined
	readonly strict: boolean
	readonly 'keep-partition': boolean
	readonly compression: string
	readonly acks: string
	readonly idempotent: boolean | undefined
	readonly partitioner: string
	readonly timestamp: string | undefined
	readonly rate: string | undefined
	readonly repeat: number
	readonly create: boolean
	readonly 'stop-on-error': boolean
	readonly tee: boolean
	readonly unbuffered: boolean
	readonly quiet: boolean
}

/** Sends what the input holds; the exit code. */
export async function produceRecords(argument: string | undefined, flags: ProduceChoice): Promise<number> {
	const topic = topicOf(argument, flags)
	refuseWhenReadOnly(false)
	const fixed = fixedOf(flags)
	const rate = rateOf(flags.rate)
	const failures = new Failures()
	return await withCluster(flags, async (session) => {
		const interrupt = new Interrupt()
		const producer = new Producer(session.cluster, settingsOf(flags, session, failures))
		try {
			await openTopic(session, producer, topic, flags.create)
			await producer.start()
			const run = new Run(producer, topic, flags, fixed, rate, interrupt, failures)
			await run.all()
			return run.report()
		} finally {
			interrupt.dispose()
		}
	})
}

function topicOf(argument: string | undefined, flags: ProduceChoice): string {
	if (argument !== undefined && flags.topic !== undefined && argument !== flags.topic) {
		throw usageError(`two topics are named: ${argument} and ${flags.topic}`)
	}
	const topic = argument ?? flags.topic
	if (topic === undefined) throw usageError('no topic is named', 'kcli produce TOPIC')
	return topic
}

/** What every record has that its line does not say. */
interface Fixed {
	readonly key: Buffer | null
	readonly headers: readonly RecordHeaderInput[] | null
	/** -1: the time of sending. */
	readonly timestamp: number
}

function fixedOf(flags: ProduceChoice): Fixed {
	const headers = (flags.header ?? []).map(readHeader)
	let timestamp = -1
	if (flags.timestamp !== undefined) {
		const time = readTime(flags.timestamp, Date.now())
		if (time === null) throw usageError(`--timestamp wants a time such as 2024-05-01T10:00Z, not '${flags.timestamp}'`)
		timestamp = time.ms
	}
	return {
		key: flags.key === undefined ? null : Buffer.from(flags.key),
		headers: headers.length === 0 ? null : headers,
		timestamp,
	}
}

/** `name=value`, kcat's `name:value`, or a name alone for null; the first sign parts. */
function readHeader(text: string): RecordHeaderInput {
	const at = text.search(/[=:]/)
	if (at < 0) return { key: Buffer.from(text), value: null }
	return { key: Buffer.from(text.slice(0, at)), value: Buffer.from(text.slice(at + 1)) }
}

function rateOf(text: string | undefined): number | null {
	if (text === undefined) return null
	const match = /^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(text)
	const rate = Number(match?.[1])
	if (match === null || rate <= 0) throw usageError(`--rate wants records a second, such as 100, not '${text}'`)
	return rate
}

function settingsOf(flags: ProduceChoice, session: Session, failures: Failures): ProducerSettings {
	const acks = flags.acks === 'all' ? -1 : (Number(flags.acks) as -1 | 0 | 1)
	if (flags.idempotent === true && acks !== -1) throw usageError('--idempotent needs --acks all')
	return {
		...PRODUCER_DEFAULTS,
		...session.producerSettings,
		acks,
		isIdempotent: flags.idempotent ?? acks === -1,
		...(flags.unbuffered ? { lingerMs: 0 } : {}),
		compression: flags.compression as ProducerSettings['compression'],
		partitioner: flags.partitioner as PartitionerName,
		onFailure: (failure) => failures.add(failure),
	}
}

/** Looks the topic up; makes it when asked. */
async function openTopic(
	{ admin, cluster }: Session,
	producer: Producer,
	topic: string,
	mayCreate: boolean,
): Promise<void> {
	try {
		await producer.prepare(topic)
	} catch (error) {
		if (!(error instanceof MissingTopic)) throw error
		if (!mayCreate) throw await missingTopic(cluster, topic)
		const empty = { partitions: -1, replicationFactor: -1, assignments: null, configs: new Map<string, string>() }
		const [made] = await admin.createTopics([{ name: topic, ...empty }], false)
		const code = made?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
		if (code !== ERROR.NONE && code !== ERROR.TOPIC_ALREADY_EXISTS) {
			throw new BrokerError(code, `CreateTopics ${topic}`, made?.message ?? null)
		}
		await cluster.retry(`Metadata ${topic}`, async () => {
			await producer.prepare(topic).catch((fault: unknown) => {
				// The broker that answers may not have heard of it yet.
				if (fault instanceof MissingTopic) throw new BrokerError(ERROR.LEADER_NOT_AVAILABLE, `Metadata ${topic}`)
				throw fault
			})
		})
	}
}

/** What was refused: counted, the first line of all and why kept. */
class Failures {
	count = 0
	firstLine = Number.POSITIVE_INFINITY
	firstError: Error | null = null
	firstText = ''

	add({ tags, error, recordMessages, partition }: DeliveryFailure): void {
		this.count += tags.length
		// Where the broker says which records of the batch were bad, the first of those is named.
		let line = Number.POSITIVE_INFINITY
		let text = error.message
		for (const [index, message] of recordMessages) {
			const tag = tags[index]
			if (tag === undefined || tag >= line) continue
			line = tag
			text = `${error.message} (${message})`
		}
		if (line === Number.POSITIVE_INFINITY) for (const tag of tags) line = Math.min(line, tag)
		if (line >= this.firstLine) return
		this.firstLine = line
		this.firstError = error
		this.firstText = `${text}, partition ${partition}`
	}
}

class Run {
	readonly #producer: Producer
	readonly #topic: string
	readonly #flags: ProduceChoice
	readonly #fixed: Fixed
	readonly #pace: Pace | null
	readonly #interrupt: Interrupt
	readonly #failures: Failures
	readonly #tee: StdoutSink | null
	readonly #delimiter: Buffer
	#nowMs = Date.now()
	#inputError: InputError | null = null
	/** With a rate or repetition records wait here for their turn; else they go at once. */
	readonly #slow: { record: InputRecord; value: Buffer | null; line: number }[] | null

	constructor(
		producer: Producer,
		topic: string,
		flags: ProduceChoice,
		fixed: Fixed,
		rate: number | null,
		interrupt: Interrupt,
		failures: Failures,
	) {
		this.#producer = producer
		this.#topic = topic
		this.#flags = flags
		this.#fixed = fixed
		this.#pace = rate === null ? null : new Pace(rate)
		this.#interrupt = interrupt
		this.#failures = failures
		this.#tee = flags.tee ? new StdoutSink() : null
		this.#delimiter = Buffer.from(unescapeText(flags.delimiter ?? '\n'))
		this.#slow = rate !== null || flags.repeat > 1 ? [] : null
		interrupt.onSignal(() => this.#pace?.stop())
	}

	get #isEnding(): boolean {
		if (this.#interrupt.code !== null || this.#producer.fatal !== null || this.#inputError !== null) return true
		return this.#tee?.isGone === true || (this.#flags['stop-on-error'] && this.#failures.count > 0)
	}

	async all(): Promise<void> {
		const files = this.#flags.file ?? []
		try {
			if (files.length === 0) await this.#source(process.stdin, 'stdin')
			for (const file of files) {
				if (this.#isEnding) break
				const stream = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 1_048_576 })
				await this.#source(stream, file)
			}
		} catch (error) {
			if (!(error instanceof InputError)) throw error
			this.#inputError = error
		}
		await this.#producer.flush()
		await this.#tee?.flush()
	}

	async #source(stream: NodeJS.ReadableStream, name: string): Promise<void> {
		if (stream === process.stdin && process.stdin.isTTY === true && !this.#flags.quiet) {
			process.stderr.write(`kcli: type records for ${this.#topic}, one a line; Ctrl-D ends\n`)
		}
		const parser = await this.#parser()
		const stop = (): void => {
			;(stream as NodeJS.ReadableStream & { destroy(): void }).destroy()
		}
		this.#interrupt.onSignal(stop)
		try {
			for await (const chunk of stream) {
				this.#nowMs = Date.now()
				parser.push(chunk as Buffer)
				await this.#settle()
				if (this.#isEnding) break
			}
		} catch (error) {
			const { code, message } = error as NodeJS.ErrnoException
			if (this.#interrupt.code !== null || code === 'ERR_STREAM_PREMATURE_CLOSE') return
			if (code !== undefined && /^E[A-Z]+$/.test(code)) throw usageError(`${name} cannot be read: ${message}`)
			throw error
		}
		if (this.#isEnding) return
		parser.end()
		await this.#settle()
	}

	/** Gives way to the cluster and the clock after a chunk. */
	async #settle(): Promise<void> {
		if (this.#slow !== null) {
			for (const { record, value, line } of this.#slow.splice(0)) {
				for (let i = 0; i < this.#flags.repeat && !this.#isEnding; i++) {
					await this.#pace?.turn()
					if (this.#isEnding) break
					this.#nowMs = Date.now()
					this.#append(record, value, 0, value?.length ?? 0, line)
					if (this.#producer.isFull) await this.#producer.room()
				}
			}
		}
		if (this.#producer.isFull) await this.#producer.room()
		if (this.#tee !== null) {
			this.#tee.push()
			await this.#tee.drain()
		}
	}

	async #parser(): Promise<InputParser> {
		const { flags, emit } = { flags: this.#flags, emit: this.#emitter() }
		const shared = { isStrict: flags.strict, isPartitionKept: flags['keep-partition'], key: this.#fixed.key }
		if (flags.input === 'json') {
			const { jsonParser } = await import('./record-input-json.js')
			return jsonParser(shared, emit)
		}
		if (flags.input === 'csv') {
			const { csvParser } = await import('./record-input-csv.js')
			return csvParser({ ...shared, nullValue: flags['null-value'] ?? null, isEmptyNull: flags.null }, emit)
		}
		const keyDelimiter = flags['key-delimiter']
		const nullValue = flags['null-value']
		const options = {
			delimiter: this.#delimiter,
			keyDelimiter: keyDelimiter === undefined ? null : Buffer.from(unescapeText(keyDelimiter)),
			key: this.#fixed.key,
			isEmptyNull: flags.null,
			nullValue: nullValue === undefined ? null : Buffer.from(nullValue),
		}
		return flags.input === 'file' ? wholeParser(options, emit) : lineParser(options, emit)
	}

	#emitter(): Emit {
		const slow = this.#slow
		if (slow === null) return (record, value, from, end, line) => this.#append(record, value, from, end, line)
		return (record, value, from, end, line) => {
			slow.push({ record, value: value === null ? null : Buffer.from(value.subarray(from, end)), line })
		}
	}

	#append(record: InputRecord, value: Buffer | null, from: number, end: number, line: number): void {
		const { timestamp, headers } = this.#fixed
		const partition = this.#flags.partition ?? record.partition
		const time = timestamp >= 0 ? timestamp : record.timestamp >= 0 ? record.timestamp : this.#nowMs
		const all = headers === null ? record.headers : record.headers === null ? headers : [...record.headers, ...headers]
		try {
			this.#producer.append(this.#topic, partition, time, record.key, value, from, end, all, line)
		} catch (error) {
			if (error instanceof RangeError) throw new InputError(line, error.message)
			throw error
		}
		if (this.#tee !== null && value !== null) {
			this.#tee.bytes(value, from, end)
			this.#tee.bytes(this.#delimiter, 0, this.#delimiter.length)
		}
	}

	/** Tells what failed; the exit code. */
	report(): number {
		const { count, firstLine, firstError, firstText } = this.#failures
		const { writtenCount } = this.#producer
		if (count > 0) {
			const others = count > 1 ? `; ${count} records were not written, ${writtenCount} were` : ''
			throw new CliError(`line ${firstLine}: ${firstText}${others}`, EXIT.failed, hintFor(firstError), 'KCLI_DELIVERY')
		}
		if (this.#producer.fatal !== null) throw this.#producer.fatal
		if (this.#inputError !== null) {
			const { message, hint } = this.#inputError
			throw new CliError(`${message}; records before it, all written: ${writtenCount}`, EXIT.failed, hint, 'KCLI_INPUT')
		}
		if (this.#tee?.failure != null) throw this.#tee.failure
		if (process.stderr.isTTY && !this.#flags.quiet) {
			process.stderr.write(`kcli: ${writtenCount} record${writtenCount === 1 ? '' : 's'} to ${this.#topic}\n`)
		}
		return this.#interrupt.code ?? EXIT.done
	}
}

function hintFor(error: Error | null): string | null {
	if (!(error instanceof BrokerError)) return null
	if (error.code === ERROR.MESSAGE_TOO_LARGE) return "The topic's max.message.bytes says how large a batch may be."
	return null
}
