/** The work of `kcli produce`: sources → parser → producer, with a rate, repetition and a copy to stdout where wanted. */

import { createReadStream } from 'node:fs'
import type { Producer } from '../client/producer.js'
import { CliError, EXIT, usageError } from './errors.js'
import type { Interrupt } from './interrupt.js'
import { Pace } from './pace.js'
import { unescapeText } from './parse-records.js'
import type { Fixed, InputForm, ProduceChoice } from './produce.js'
import type { Outcome } from './produce-outcome.js'
import { type Emit, InputError, type InputParser, type InputRecord, lineParser, wholeParser } from './record-input.js'
import { StdoutSink } from './stdout-sink.js'

export interface ProducePlan {
	readonly topic: string
	readonly input: InputForm
	readonly flags: ProduceChoice
	readonly fixed: Fixed
	/** Records a second; null: as fast as it goes. */
	readonly rate: number | null
}

/** Records of a template between two looks at the producer. */
const TEMPLATE_STEP = 1000

export class ProduceRun {
	readonly #producer: Producer
	readonly #plan: ProducePlan
	readonly #flags: ProduceChoice
	readonly #pace: Pace | null
	readonly #interrupt: Interrupt
	readonly #outcome: Outcome
	readonly #tee: StdoutSink | null
	readonly #delimiter: Buffer
	#nowMs = Date.now()
	#inputError: InputError | null = null
	/** With a rate or repetition records wait here for their turn; else they go at once. */
	readonly #slow: { record: InputRecord; value: Buffer | null; line: number }[] | null

	constructor(producer: Producer, plan: ProducePlan, interrupt: Interrupt, outcome: Outcome) {
		const { flags, rate } = plan
		this.#producer = producer
		this.#plan = plan
		this.#flags = flags
		this.#pace = rate === null ? null : new Pace(rate)
		this.#interrupt = interrupt
		this.#outcome = outcome
		this.#tee = flags.tee ? new StdoutSink() : null
		this.#delimiter = Buffer.from(unescapeText(flags.delimiter ?? '\n'))
		this.#slow = plan.input !== 'template' && (rate !== null || flags.repeat > 1) ? [] : null
		interrupt.onSignal(() => this.#pace?.stop())
	}

	get #isEnding(): boolean {
		if (this.#interrupt.code !== null || this.#producer.fatal !== null || this.#inputError !== null) return true
		return this.#tee?.isGone === true || (this.#flags['stop-on-error'] && this.#outcome.failedCount > 0)
	}

	/** Sends all there is; what went wrong, or null. */
	async all(): Promise<CliError | null> {
		const files = this.#flags.file ?? []
		try {
			if (this.#plan.input === 'template') await this.#template()
			else if (files.length === 0) await this.#source(process.stdin, 'stdin')
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
		return this.#failure()
	}

	/** Records made from a text, `--repeat` of them. */
	async #template(): Promise<void> {
		const { compileTemplate } = await import('./record-template.js')
		const { template = '', key, repeat } = this.#flags
		const nextValue = compileTemplate(template, '--template')
		const nextKey = key === undefined ? null : compileTemplate(key, '--key')
		for (let i = 1; i <= repeat && !this.#isEnding; i++) {
			await this.#pace?.turn()
			if (this.#isEnding) return
			if (i % TEMPLATE_STEP === 0) await this.#breathe()
			this.#nowMs = Date.now()
			const value = Buffer.from(nextValue(i, this.#nowMs))
			const made = nextKey === null ? null : Buffer.from(nextKey(i, this.#nowMs))
			this.#append({ key: made, headers: null, partition: -1, timestamp: -1 }, value, 0, value.length, i)
			if (this.#producer.isFull) await this.#producer.room()
		}
	}

	/** Lets signals and the cluster in. */
	async #breathe(): Promise<void> {
		await new Promise<void>((resolve) => setImmediate(resolve))
		this.#tee?.push()
		await this.#tee?.drain()
	}

	async #source(stream: NodeJS.ReadableStream, name: string): Promise<void> {
		if (
			stream === process.stdin &&
			process.stdin.isTTY === true &&
			this.#plan.input === 'lines' &&
			!this.#flags.quiet
		) {
			process.stderr.write(`kcli: type records for ${this.#plan.topic}, one a line; Ctrl-D ends\n`)
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
		const flags = this.#flags
		const emit = this.#emitter()
		const { input, fixed } = this.#plan
		const shared = { isStrict: flags.strict, isPartitionKept: flags['keep-partition'], key: fixed.key }
		if (input === 'json') {
			const { jsonParser } = await import('./record-input-json.js')
			return jsonParser(shared, emit)
		}
		if (input === 'csv') {
			const { csvParser } = await import('./record-input-csv.js')
			return csvParser({ ...shared, nullValue: flags['null-value'] ?? null, isEmptyNull: flags.null }, emit)
		}
		const keyDelimiter = flags['key-delimiter']
		const nullValue = flags['null-value']
		const options = {
			delimiter: this.#delimiter,
			keyDelimiter: keyDelimiter === undefined ? null : Buffer.from(unescapeText(keyDelimiter)),
			key: fixed.key,
			isEmptyNull: flags.null,
			nullValue: nullValue === undefined ? null : Buffer.from(nullValue),
		}
		if (input === 'format') {
			const { formatParser } = await import('./record-input-format.js')
			return formatParser(flags.format as string, { ...options, isPartitionKept: flags['keep-partition'] }, emit)
		}
		return input === 'file' ? wholeParser(options, emit) : lineParser(options, emit)
	}

	#emitter(): Emit {
		const slow = this.#slow
		if (slow === null) return (record, value, from, end, line) => this.#append(record, value, from, end, line)
		return (record, value, from, end, line) => {
			slow.push({ record, value: value === null ? null : Buffer.from(value.subarray(from, end)), line })
		}
	}

	#append(record: InputRecord, value: Buffer | null, from: number, end: number, line: number): void {
		const { timestamp, headers } = this.#plan.fixed
		const time = timestamp >= 0 ? timestamp : record.timestamp >= 0 ? record.timestamp : this.#nowMs
		const all = headers === null ? record.headers : record.headers === null ? headers : [...record.headers, ...headers]
		try {
			this.#producer.append(this.#plan.topic, record.partition, time, record.key, value, from, end, all, line)
		} catch (error) {
			if (error instanceof RangeError) throw new InputError(line, error.message)
			throw error
		}
		this.#outcome.bytes += (record.key?.length ?? 0) + (end - from)
		if (this.#tee !== null && value !== null) {
			this.#tee.bytes(value, from, end)
			this.#tee.bytes(this.#delimiter, 0, this.#delimiter.length)
		}
	}

	#failure(): CliError | null {
		const refused = this.#outcome.deliveryFailure()
		if (refused !== null) return refused
		if (this.#producer.fatal !== null) throw this.#producer.fatal
		if (this.#inputError !== null) {
			const { message, hint } = this.#inputError
			const text = `${message}; records before it, all written: ${this.#outcome.writtenCount}`
			return new CliError(text, EXIT.failed, hint, 'KCLI_INPUT')
		}
		if (this.#tee?.failure != null) throw this.#tee.failure
		return null
	}
}
