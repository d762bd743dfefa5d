/** Behind `kcli topic delete`. */

import type { Cluster } from '../client/cluster.js'
import { addOffsets, addSizes, isInternalName, type TopicView } from '../ops/topic-view.js'
import { awaitGone } from '../ops/topic-wait.js'
import { ERROR } from '../protocol/errors.js'
import { confirm } from './confirm.js'
import { CliError, EXIT } from './errors.js'
import { type ItemError, ItemErrors } from './item-error.js'
import { formOf, notice, type OutputChoice, printReport, tableOf } from './output.js'
import { withSpinner } from './progress.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import { humanBytes, humanCount } from './style.js'
import { chooseTopics, someNamesOf, type TopicNamesChoice } from './topic-names.js'

export interface TopicDeleteChoice extends ConnectionChoice, OutputChoice, TopicNamesChoice {
	readonly 'if-exists': boolean
	readonly wait: boolean
	readonly yes: boolean
	readonly 'dry-run': boolean
	readonly internal: boolean
}

/** The plan shows this many names, and counts the rest. */
const NAMES_SHOWN = 20

interface Deleted {
	readonly name: string
	readonly partitionCount: number
	readonly records: number | null
	readonly bytes: number | null
	readonly status: 'deleted' | 'would-delete' | 'absent'
}

/** Deletes topics after showing what would be lost; the exit code. */
export async function deleteTopics(argv: readonly string[], flags: TopicDeleteChoice): Promise<number> {
	const names = someNamesOf(argv, flags)
	return await withCluster(flags, async (session) => {
		const chosen = await chooseTopics(session.cluster, names, flags)
		refuseInternal(chosen.topics, flags.internal)
		const absent = flags['if-exists']
			? chosen.errors.filter(({ code }) => code === ERROR.UNKNOWN_TOPIC_OR_PARTITION)
			: []
		const errors = chosen.errors.filter((error) => !absent.includes(error))
		if (chosen.topics.length > 0) {
			await Promise.all([addOffsets(session.admin, chosen.topics), addSizes(session.admin, chosen.topics)])
			await confirm(`Delete ${countOf(chosen.topics.length, 'topic')}?`, planOf(chosen.topics), flags)
		}
		return await printOutcome(session, chosen.topics, absent, errors, flags)
	})
}

/** Kafka's own topics hold offsets and transactions: losing one by a pattern or a slip is never meant. */
function refuseInternal(topics: readonly TopicView[], isAllowed: boolean): void {
	const internal = topics.filter(({ internal, name }) => internal || isInternalName(name)).map(({ name }) => name)
	if (internal.length === 0 || isAllowed) return
	throw new CliError(
		`refused: ${internal.join(', ')} belongs to Kafka itself`,
		EXIT.usage,
		'--internal deletes it all the same',
		'KCLI_INTERNAL_TOPIC',
	)
}

function planOf(topics: readonly TopicView[]): string[] {
	const lines = topics
		.slice(0, NAMES_SHOWN)
		.map(
			({ name, partitionCount, records, bytes }) =>
				`  ${name}  ${countOf(partitionCount, 'partition')}, ${humanCount(records ?? 0)} records, ${humanBytes(bytes ?? 0)}`,
		)
	if (topics.length > NAMES_SHOWN) lines.push(`  … and ${topics.length - NAMES_SHOWN} more`)
	return ['These topics and all their records will be gone:', ...lines]
}

function countOf(count: number, what: string): string {
	return `${count} ${what}${count === 1 ? '' : 's'}`
}

async function printOutcome(
	{ admin, cluster }: Session,
	topics: readonly TopicView[],
	absent: readonly ItemError[],
	errors: readonly ItemError[],
	flags: TopicDeleteChoice,
): Promise<number> {
	const isDryRun = flags['dry-run']
	const failed = new ItemErrors()
	const gone = new Set<string>()
	if (!isDryRun && topics.length > 0) {
		for (const { name, errorCode, message } of await admin.deleteTopics(topics.map(({ name }) => name))) {
			if (!failed.add(name, errorCode, message, deletionHint(errorCode))) gone.add(name)
		}
	}
	if (flags.wait && gone.size > 0) await waitUntilGone(cluster, [...gone], flags)
	const items: Deleted[] = [
		...topics
			.filter(({ name }) => isDryRun || gone.has(name))
			.map(({ name, partitionCount, records, bytes }) => ({
				name,
				partitionCount,
				records: records ?? null,
				bytes: bytes ?? null,
				status: isDryRun ? ('would-delete' as const) : ('deleted' as const),
			})),
		...absent.map(({ item }) => ({
			name: item ?? '',
			partitionCount: 0,
			records: null,
			bytes: null,
			status: 'absent' as const,
		})),
	]
	if (isDryRun && formOf(flags) === 'table') notice('dry run: nothing was deleted', flags)
	return await printReport(
		{
			kind: 'TopicDelete',
			items,
			errors: [...errors, ...failed.list],
			clusterId: cluster.clusterId,
			dryRun: isDryRun,
			table: tableOf(items, [
				{ header: 'NAME', value: ({ name }) => name },
				{ header: 'STATUS', value: ({ status }) => status },
				{ header: 'PARTITIONS', value: ({ partitionCount }) => partitionCount },
				{ header: 'RECORDS', value: ({ records }) => records, unit: 'count' },
				{ header: 'SIZE', value: ({ bytes }) => bytes, unit: 'bytes' },
			]),
			nameOf: ({ name }) => name,
			whenEmpty: 'no topic fits',
		},
		flags,
	)
}

async function waitUntilGone(cluster: Cluster, names: readonly string[], flags: TopicDeleteChoice): Promise<void> {
	const known = await withSpinner('waiting until they are gone', flags.quiet, () => awaitGone(cluster, names))
	if (known.length === 0) return
	const text = `deleted, but still known after ${flags.timeout}: ${known.join(', ')}`
	throw new CliError(text, EXIT.timedOut, 'a broker with replicas may be down', 'KCLI_TIMED_OUT')
}

function deletionHint(errorCode: number): string | null {
	return errorCode === ERROR.TOPIC_DELETION_DISABLED ? 'the brokers run with delete.topic.enable=false' : null
}
