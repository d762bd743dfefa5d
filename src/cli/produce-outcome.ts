/** What became of the records of `kcli produce`: written by partition, refused by line; and how that is told. */

import { BrokerError } from '../client/errors.js'
import type { DeliveryFailure } from '../client/producer-queue.js'
import { ERROR, errorInfo } from '../protocol/errors.js'
import { CliError, EXIT, type ExitCode } from './errors.js'
import type { ItemError } from './item-error.js'
import { type OutputForm, printReport, tableOf } from './output.js'
import { isRetriable } from './own-codes.js'
import { humanBytes, humanCount } from './style.js'

/** What to do about a refusal, by its code. */
const HINTS: Readonly<Record<number, string>> = {
	[ERROR.MESSAGE_TOO_LARGE]:
		"Compress with -z zstd, or raise the topic's max.message.bytes: the most a batch may have.",
	[ERROR.RECORD_LIST_TOO_LARGE]: "A batch must fit into the topic's segment.bytes: -X batch.size=N makes smaller ones.",
}

interface WrittenPartition {
	readonly topic: string
	readonly partition: number
	readonly records: number
	/** Null: nobody told (acks 0). */
	readonly firstOffset: number | null
	readonly lastOffset: number | null
}

export class Outcome {
	readonly topic: string
	/** Records that were refused. */
	failedCount = 0
	/** Bytes of keys and values that were handed over. */
	bytes = 0
	readonly #partitions = new Map<number, WrittenPartition>()
	readonly #startedMs = performance.now()
	#firstLine = Number.POSITIVE_INFINITY
	#firstError: Error | null = null
	#firstText = ''

	constructor(topic: string) {
		this.topic = topic
	}

	get writtenCount(): number {
		let sum = 0
		for (const { records } of this.#partitions.values()) sum += records
		return sum
	}

	/** A batch is written; `baseOffset` -1: not told. */
	written(partition: number, baseOffset: number, count: number): void {
		const before = this.#partitions.get(partition)
		const isTold = baseOffset >= 0
		this.#partitions.set(partition, {
			topic: this.topic,
			partition,
			records: (before?.records ?? 0) + count,
			firstOffset: before?.firstOffset ?? (isTold ? baseOffset : null),
			lastOffset: isTold ? baseOffset + count - 1 : (before?.lastOffset ?? null),
		})
	}

	/** Records are refused: counted, the first line of all and why kept. */
	failed({ tags, error, recordMessages, partition }: DeliveryFailure): void {
		this.failedCount += tags.length
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
		if (line >= this.#firstLine) return
		this.#firstLine = line
		this.#firstError = error
		this.#firstText = `${text}, partition ${partition}`
	}

	/** Refused records as an error; null when all were taken. */
	deliveryFailure(): CliError | null {
		if (this.failedCount === 0) return null
		const others =
			this.failedCount > 1 ? `; ${this.failedCount} records were not written, ${this.writtenCount} were` : ''
		const hint = this.#firstError instanceof BrokerError ? (HINTS[this.#firstError.code] ?? null) : null
		return new CliError(`line ${this.#firstLine}: ${this.#firstText}${others}`, EXIT.failed, hint, 'KCLI_DELIVERY')
	}

	/** Tells what was done, in the form that was asked for or in a line to a person; the exit code. Throws `failure`. */
	async report(
		failure: CliError | null,
		form: OutputForm | null,
		clusterId: string | null,
		interrupted: ExitCode | null,
		choice: { readonly quiet: boolean; readonly human: boolean; readonly raw: boolean },
	): Promise<number> {
		if (form === null) {
			if (failure !== null) throw failure
			if (process.stderr.isTTY === true && !choice.quiet) process.stderr.write(`kcli: ${this.#summary()}\n`)
			return interrupted ?? EXIT.done
		}
		const items = [...this.#partitions.values()].sort((a, b) => a.partition - b.partition)
		const code = await printReport(
			{
				kind: 'Produce',
				items,
				errors: failure === null ? [] : [this.#itemOf(failure)],
				clusterId,
				dryRun: false,
				table: tableOf(items, [
					{ header: 'TOPIC', value: ({ topic }) => topic },
					{ header: 'PARTITION', value: ({ partition }) => partition },
					{ header: 'RECORDS', value: ({ records }) => records, unit: 'count' },
					{ header: 'FIRST', value: ({ firstOffset }) => firstOffset },
					{ header: 'LAST', value: ({ lastOffset }) => lastOffset },
				]),
				nameOf: ({ topic, partition }) => `${topic}-${partition}`,
				whenEmpty: 'nothing was written',
			},
			{ output: form, json: form === 'json', ...choice },
		)
		return code === EXIT.done ? (interrupted ?? EXIT.done) : code
	}

	#summary(): string {
		const count = this.writtenCount
		const partitions = this.#partitions.size
		const seconds = (performance.now() - this.#startedMs) / 1000
		const rate = `${humanCount(Math.round(count / Math.max(seconds, 0.001)))}/s`
		const where = partitions === 1 ? `partition ${[...this.#partitions.keys()][0]}` : `${partitions} partitions`
		if (count === 0) return `nothing written to ${this.topic}`
		const records = `${humanCount(count)} record${count === 1 ? '' : 's'}`
		return `${records}, ${humanBytes(this.bytes)} written to ${this.topic}, ${where}, in ${seconds.toFixed(1)} s (${rate})`
	}

	#itemOf(failure: CliError): ItemError {
		const isLine = failure.code === 'KCLI_DELIVERY'
		const error = isLine && this.#firstError instanceof BrokerError ? this.#firstError : null
		const code = error === null ? failure.code : error.code
		return {
			item: isLine ? `line ${this.#firstLine}` : null,
			code,
			name: typeof code === 'number' ? errorInfo(code).name : code,
			message: isLine ? failure.message.replace(/^line \d+: /, '') : failure.message,
			retriable: isRetriable(code),
			hint: failure.hint,
		}
	}
}
