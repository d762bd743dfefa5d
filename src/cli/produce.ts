/** Behind `kcli produce`: what the flags say, the topic, and the exit code. */

import { BrokerError } from '../client/errors.js'
import type { PartitionerName } from '../client/partitioners.js'
import { MissingTopic, PRODUCER_DEFAULTS, Producer, type ProducerSettings } from '../client/producer.js'
import type { RecordHeaderInput } from '../client/producer-batch.js'
import { ERROR } from '../protocol/errors.js'
import { refuseWhenReadOnly } from './confirm.js'
import { CliError, usageError } from './errors.js'
import { Interrupt } from './interrupt.js'
import { readTime } from './offset-grammar.js'
import type { OutputForm } from './output.js'
import { parsePartitions } from './parse-records.js'
import { Outcome } from './produce-outcome.js'
import { ProduceRun } from './produce-run.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import { missingTopic } from './topic-lookup.js'

export interface ProduceChoice extends ConnectionChoice {
	readonly topic: string | undefined
	readonly partition: string | undefined
	readonly key: string | undefined
	readonly 'key-delimiter': string | undefined
	readonly delimiter: string | undefined
	readonly header: readonly string[] | undefined
	readonly null: boolean
	readonly 'null-value': string | undefined
	readonly input: string | undefined
	readonly format: string | undefined
	readonly template: string | undefined
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
	readonly output: string | undefined
	readonly json: boolean
	readonly human: boolean
	readonly raw: boolean
}

/** Sends what the input holds; the exit code. */
export async function produceRecords(argument: string | undefined, flags: ProduceChoice): Promise<number> {
	const topic = topicOf(argument, flags)
	const input = inputOf(flags)
	const form = formOf(flags)
	await checkTexts(flags)
	refuseWhenReadOnly(false)
	const fixed = fixedOf(flags)
	const rate = rateOf(flags.rate)
	const outcome = new Outcome(topic)
	return await withCluster(flags, async (session) => {
		const interrupt = new Interrupt()
		const producer = new Producer(session.cluster, settingsOf(flags, session, outcome))
		try {
			await openTopic(session, producer, topic, flags.create)
			await producer.start()
			const run = new ProduceRun(producer, { topic, input, flags, fixed, rate }, interrupt, outcome)
			const failure = await run.all()
			return await outcome.report(failure, form, session.cluster.clusterId, interrupt.code, flags)
		} finally {
			interrupt.dispose()
		}
	})
}

export type InputForm = 'lines' | 'file' | 'json' | 'csv' | 'format' | 'template'

/** What the input is, with every flag that would have no effect refused. */
function inputOf(flags: ProduceChoice): InputForm {
	const named = flags.format === undefined ? flags.input : (flags.input ?? 'format')
	const input = (flags.template === undefined ? (named ?? 'lines') : 'template') as InputForm
	if (input === 'template') {
		for (const name of ['input', 'format', 'file'] as const)
			if (flags[name] !== undefined) throw usageError(`--template makes the records itself: --${name} has no place`)
	}
	if (input === 'format' && flags.format === undefined)
		throw usageError('--input format wants a format', 'Add -f FORMAT.')
	if (input !== 'format' && flags.format !== undefined) throw usageError(`-f has no place beside --input ${input}`)
	const isGiven: readonly (readonly [string, boolean, readonly InputForm[]])[] = [
		['--key-delimiter (-K)', flags['key-delimiter'] !== undefined, ['lines']],
		['--delimiter (-D)', flags.delimiter !== undefined && !flags.tee, ['lines']],
		['--strict', flags.strict, ['json', 'csv']],
		['--keep-partition', flags['keep-partition'], ['json', 'csv', 'format']],
		['--null (-Z)', flags.null, ['lines', 'file', 'csv', 'format']],
		['--null-value', flags['null-value'] !== undefined, ['lines', 'csv', 'format']],
	]
	const idle = isGiven.find(([, given, forms]) => given && !forms.includes(input))
	if (idle !== undefined) {
		const which = input === 'template' ? '--template' : `--input ${input}`
		throw usageError(`${idle[0]} has no effect with ${which}`, `It is for --input ${idle[2].join(', ')}.`)
	}
	if (flags['key-delimiter'] === '') throw usageError('--key-delimiter (-K) must not be empty')
	if (flags.delimiter === '') throw usageError('--delimiter (-D) must not be empty')
	return input
}

/** A text that cannot be read is told before anything is made. */
async function checkTexts({ template, key, format }: ProduceChoice): Promise<void> {
	if (template !== undefined) {
		const { compileTemplate } = await import('./record-template.js')
		compileTemplate(template, '--template')
		if (key !== undefined) compileTemplate(key, '--key')
	} else if (format !== undefined) {
		const { checkFormat } = await import('./record-input-format.js')
		checkFormat(format)
	}
}

/** The form of the result; null: none was asked for, and none is printed. */
function formOf(flags: ProduceChoice): OutputForm | null {
	if (!flags.json && flags.output === undefined) return null
	if (!flags.tee) return flags.json ? 'json' : (flags.output as OutputForm)
	// The environment does not know that stdout is taken.
	if (!flags.json && flags.output === process.env['KCLI_OUTPUT']) return null
	throw usageError('--tee (-T) prints the records to stdout: there is no room for a result beside it')
}

function topicOf(argument: string | undefined, flags: ProduceChoice): string {
	if (argument !== undefined && flags.topic !== undefined && argument !== flags.topic) {
		throw usageError(`two topics are named: ${argument} and ${flags.topic}`)
	}
	const topic = argument ?? flags.topic
	if (topic === undefined) throw usageError('no topic is named', 'kcli produce TOPIC')
	if (topic === '') throw usageError('the topic name is empty', 'Is a variable not set?')
	return topic
}

/** What every record has that its line does not say. */
export interface Fixed {
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
	if (at === 0 || text === '') throw usageError(`--header (-H) wants NAME=VALUE, and '${text}' has no name`)
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

function settingsOf(flags: ProduceChoice, session: Session, outcome: Outcome): ProducerSettings {
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
		partitions: flags.partition === undefined ? null : parsePartitions(flags.partition),
		onFailure: (failure) => outcome.failed(failure),
		onWritten: (_topic, partition, baseOffset, tags) => outcome.written(partition, baseOffset, tags.length),
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
		if (error instanceof RangeError) throw new CliError(error.message)
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
				throw fault instanceof RangeError ? new CliError(fault.message) : fault
			})
		})
	}
}
