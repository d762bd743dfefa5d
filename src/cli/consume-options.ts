/** What the flags of `kcli consume` ask for, checked and compiled, and the line on stderr that says it. */

import type { OffsetReset } from '../client/consumer-settings.js'
import { refuseWhenReadOnly } from './confirm.js'
import { planNotes } from './consume-notes.js'
import type { PartitionName, PartitionPlan } from './consume-plan.js'
import { CliError, EXIT, usageError } from './errors.js'
import { type OffsetRange, parseOffset, parseOffsets } from './offset-grammar.js'
import { parseDuration } from './parse.js'
import { parsePartitions, unescapeText } from './parse-records.js'
import { compileFilters, type RecordFilter } from './record-filter.js'
import { compileFormat, type RecordFormat } from './record-format.js'
import type { ConnectionChoice } from './session.js'
import { streamFormOfEnvironment } from './stream-form.js'

export interface ConsumeChoice extends ConnectionChoice {
	readonly topic: readonly string[] | undefined
	readonly regex: boolean
	readonly internal: boolean
	readonly partition: string | undefined
	readonly offset: readonly string[] | undefined
	readonly to: string | undefined
	readonly 'from-beginning': boolean
	readonly 'latest-per-key': boolean
	readonly merge: boolean
	readonly rack: string | undefined
	readonly decode: string | undefined
	readonly count: number | undefined
	readonly exit: boolean
	readonly tail: number | undefined
	readonly idle: string | undefined
	readonly group: string | undefined
	readonly commit: boolean
	readonly format: string | undefined
	readonly json: boolean
	readonly output: string | undefined
	readonly 'meta-only': boolean
	readonly 'key-delimiter': string | undefined
	readonly delimiter: string | undefined
	readonly 'null-value': string | undefined
	readonly grep: readonly string[] | undefined
	readonly 'filter-key': readonly string[] | undefined
	readonly 'filter-value': readonly string[] | undefined
	readonly 'filter-header': readonly string[] | undefined
	readonly isolation: string
	readonly control: boolean
	readonly quiet: boolean
}

export interface ConsumeOptions {
	readonly topics: readonly string[]
	readonly isRegex: boolean
	readonly hasInternal: boolean
	/** Null: all. */
	readonly partitions: readonly number[] | null
	readonly range: OffsetRange
	/** `-e`: each partition ends where it ends at the start of reading. */
	readonly endsNow: boolean
	/** Each partition has an end of its own. */
	readonly hasEnd: boolean
	readonly count: number | null
	readonly tail: number | null
	readonly isLatestOnly: boolean
	readonly isMerged: boolean
	/** Rack to read from; null: whatever the leaders are in. */
	readonly rack: string | null
	/** Kafka's own records in words. */
	readonly decode: 'offsets' | 'txn' | null
	readonly idleMs: number | null
	readonly group: string | null
	readonly isCommitting: boolean
	readonly filter: RecordFilter | null
	readonly format: RecordFormat
	readonly isJson: boolean
	readonly isBare: boolean
	readonly nullText: string
	readonly isolation: 0 | 1
	readonly isControlShown: boolean
	/** One line that says where reading starts and how it will end. */
	tell(plans: readonly PartitionPlan[]): void
	tellReset(reset: OffsetReset): void
	note(text: string): void
	/** Throws when a partition that was asked for is in none of the topics. */
	checkPartitions(there: readonly PartitionName[]): void
}

/** Throws usage errors. */
export function optionsOf(args: readonly string[], flags: ConsumeChoice, nowMs: number): ConsumeOptions {
	const topics = [...args, ...(flags.topic ?? [])]
	if (topics.length === 0) throw usageError('no topic is named', 'kcli consume TOPIC…')
	if (topics.some((topic) => topic === '')) throw usageError('a topic name is empty', 'Is a variable not set?')
	const isJson = isJsonWanted(flags)
	const texts = flags['from-beginning'] ? ['start'] : (flags.offset ?? [])
	const range = endedBy(parseOffsets(texts, nowMs), flags.to, nowMs)
	if (range.from.kind === 'stored' && flags.group === undefined) {
		throw usageError("-o stored needs a group: what is stored is the group's", 'Add -g GROUP.')
	}
	const partitions = flags.partition === undefined ? null : parsePartitions(flags.partition)
	const group = flags.group ?? null
	if (group === '') throw usageError('-g wants a name')
	const note = (text: string): void => {
		if (!flags.quiet) process.stderr.write(`kcli: ${text}\n`)
	}
	// What is last of a key is only known at an end.
	const endsNow = flags.exit || flags['latest-per-key']
	const hasEnd = endsNow || range.to !== null
	if (flags.merge && !hasEnd) throw usageError('--merge needs an end: the oldest record may be yet to come', 'Add -e.')
	const count = flags.count ?? null
	const idleMs = flags.idle === undefined ? null : idleOf(flags.idle)
	for (const each of range.notes) note(each)
	return {
		topics,
		isRegex: flags.regex,
		hasInternal: flags.internal,
		partitions,
		range,
		endsNow,
		hasEnd,
		count,
		tail: flags.tail ?? null,
		isLatestOnly: flags['latest-per-key'],
		isMerged: flags.merge,
		rack: flags.rack ?? null,
		decode: (flags.decode as ConsumeOptions['decode']) ?? null,
		idleMs,
		group,
		isCommitting: isCommitting(group, flags.commit),
		filter: compileFilters(filtersOf(flags)),
		format: compileFormat(formatOf(flags)),
		isJson: isJson || flags['meta-only'] || flags.decode !== undefined,
		isBare: flags['meta-only'],
		nullText: flags['null-value'] ?? '',
		isolation: flags.isolation === 'committed' ? 1 : 0,
		isControlShown: flags.control,
		note,
		tell: (plans) => {
			for (const each of planNotes(plans, range, endsNow, Date.now())) note(each)
			note(`${startText(plans, group)}; ${endText(count, idleMs, endsNow, hasEnd)}`)
		},
		tellReset: ({ topic, partition, from, to }) =>
			note(`${topic}-${partition}: offset ${from} is no longer there, going on at ${to}`),
		checkPartitions: (there) => {
			const missing = (partitions ?? []).filter((index) => !there.some(({ partition }) => partition === index))
			if (missing.length === 0) return
			const last = Math.max(...there.map(({ partition }) => partition))
			throw new CliError(
				`there is no partition ${missing.join(', ')} in ${topics.join(', ')}`,
				EXIT.failed,
				`Partitions are 0 to ${last}.`,
			)
		},
	}
}

/** `--to` as the end of a range that has none yet. */
function endedBy(range: OffsetRange, text: string | undefined, nowMs: number): OffsetRange {
	if (text === undefined) return range
	if (range.to !== null) throw usageError(`two ends are given: the range has one, and --to ${text}`)
	const { from: to, to: second, notes } = parseOffset(text, nowMs)
	if (second !== null || to.kind === 'start' || to.kind === 'stored') {
		throw usageError(`--to wants one place: end, N, -N, +N or @TIME; not '${text}'`)
	}
	const { from } = range
	const isReversed =
		(from.kind === 'offset' && to.kind === 'offset' && to.offset < from.offset) ||
		(from.kind === 'time' && to.kind === 'time' && to.ms < from.ms)
	if (isReversed) throw usageError(`--to ${text}: the range ends before it begins`)
	return { from, to, notes: [...range.notes, ...notes] }
}

function filtersOf(flags: ConsumeChoice): string[] {
	return [
		...(flags.grep ?? []),
		...(flags['filter-key'] ?? []).map((each) => `k:${each}`),
		...(flags['filter-value'] ?? []).map((each) => `v:${each}`),
		...(flags['filter-header'] ?? []).map((each) => `h:${each}`),
	]
}

function idleOf(text: string): number {
	return /^\d+$/.test(text) ? Number(text) : parseDuration(text, '--idle')
}

/** By flag, else by the environment where no flag says how a record is printed. */
function isJsonWanted(flags: ConsumeChoice): boolean {
	const shaping = [flags.format, flags['key-delimiter'], flags.delimiter, flags['null-value']]
	const isShaped = shaping.some((each) => each !== undefined)
	if (flags.json || flags.output === 'ndjson' || flags.output === 'json') {
		if (flags.format !== undefined) throw usageError('--json (-J) and --format (-f) exclude each other')
		return true
	}
	if (flags.output !== undefined || isShaped || flags['meta-only'] || flags.decode !== undefined) return false
	return streamFormOfEnvironment('consume', 'value') === 'ndjson'
}

/** `-K` and `-D` shape the default format. */
function formatOf(flags: ConsumeChoice): string {
	if (flags.format !== undefined) {
		if (flags['key-delimiter'] !== undefined || flags.delimiter !== undefined) {
			throw usageError('-f says all: -K and -D have no place beside it')
		}
		return flags.format
	}
	const literal = (text: string): string => unescapeText(text).replaceAll('\\', '\\\\').replaceAll('%', '%%')
	const key = flags['key-delimiter']
	return `${key === undefined ? '' : `%k${literal(key)}`}%s${flags.delimiter === undefined ? '\\n' : literal(flags.delimiter)}`
}

/** Committing changes the cluster: refused when the environment says read only. */
function isCommitting(group: string | null, isWanted: boolean): boolean {
	if (group === null || !isWanted) return false
	refuseWhenReadOnly(false)
	return true
}

/** `orders: 3 partitions, 0 from 5 of …`. */
function startText(plans: readonly PartitionPlan[], group: string | null): string {
	const topics = [...new Set(plans.map(({ topic }) => topic))]
	const named = topics.length > 3 ? `${topics.slice(0, 3).join(', ')} and ${topics.length - 3} more` : topics.join(', ')
	const reader = group === null ? '' : ` as ${group}`
	if (plans.length === 0) return `reading nothing${reader}: no partition is assigned`
	const where =
		plans.length === 1
			? `partition ${plans[0]?.partition} from offset ${plans[0]?.from}`
			: plans.length <= 4
				? `partitions from ${plans.map(({ topic, partition, from }) => `${topics.length > 1 ? `${topic}-` : ''}${partition}@${from}`).join(' ')}`
				: `${plans.length} partitions`
	return `reading ${named}${reader}: ${where}`
}

function endText(count: number | null, idleMs: number | null, isExit: boolean, hasEnd: boolean): string {
	const ends: string[] = []
	if (count !== null) ends.push(`after ${count} record${count === 1 ? '' : 's'}`)
	if (isExit) ends.push('at the present end')
	else if (hasEnd) ends.push('at the end of the range')
	if (idleMs !== null) ends.push(`when nothing comes for ${idleMs} ms`)
	return ends.length === 0 ? 'follows until Ctrl-C' : `ends ${ends.join(' or ')}`
}
