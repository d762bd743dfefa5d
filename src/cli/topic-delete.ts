/** Behind `kcli topic delete`. */

import type { Cluster } from '../client/cluster.js'
import { listGroupOffsetsOf, type TopicReader } from '../ops/group-view.js'
import { addOffsets, addOverrides, addSizes, isInternalName, type TopicView } from '../ops/topic-view.js'
import { awaitGone } from '../ops/topic-wait.js'
import { ERROR } from '../protocol/errors.js'
import { confirm } from './confirm.js'
import { CliError, EXIT } from './errors.js'
import { type ItemError, ItemErrors } from './item-error.js'
import { formOf, notice, type OutputChoice, printReport, tableOf } from './output.js'
import { withSpinner } from './progress.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import { humanBytes, humanCount } from './style.js'
import { backUp, backupFiles } from './topic-backup.js'
import { chooseTopics, someNamesOf, type TopicNamesChoice } from './topic-names.js'

export interface TopicDeleteChoice extends ConnectionChoice, OutputChoice, TopicNamesChoice {
	readonly 'if-exists': boolean
	readonly wait: boolean
	readonly backup: string | undefined
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
	/** Groups that have committed offsets in it. */
	readonly groups: readonly string[]
	/** Where its records are kept; null: nowhere. */
	readonly backup: string | null
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
			const files = flags.backup === undefined ? null : backupFiles(flags.backup, chosen.topics)
			const names = new Set(chosen.topics.map(({ name }) => name))
			const [, , , readers] = await Promise.all([
				addOffsets(session.admin, chosen.topics),
				addSizes(session.admin, chosen.topics),
				files === null ? null : addOverrides(session.admin, chosen.topics),
				// Groups are told where they can be asked; that they cannot is no reason to delete nothing.
				listGroupOffsetsOf(session.cluster, names).catch(() => new Map<string, readonly TopicReader[]>()),
			])
			const doomed = chosen.topics.map((topic): Doomed => {
				const groups = (readers.get(topic.name) ?? []).map(({ group }) => group).sort()
				return { ...topic, groups, backup: files?.get(topic.name) ?? null }
			})
			await confirm(`Delete ${countOf(doomed.length, 'topic')}?`, planOf(doomed), flags)
			if (files !== null && !flags['dry-run']) await keep(session, doomed, files, flags)
			return await printOutcome(session, doomed, absent, errors, flags)
		}
		return await printOutcome(session, [], absent, errors, flags)
	})
}

/** What is about to go, with what hangs on it. */
type Doomed = TopicView & Pick<Deleted, 'groups' | 'backup'>

async function keep(
	session: Session,
	topics: readonly Doomed[],
	files: ReadonlyMap<string, string>,
	flags: TopicDeleteChoice,
): Promise<void> {
	const done = await withSpinner('writing the backup', flags, () => backUp(session, topics, files))
	for (const { topic, file, records } of done) {
		notice(`${countOf(records, 'record')} of ${topic} kept in ${file}`, flags)
	}
	notice('back with:', flags)
	for (const topic of topics) {
		const file = files.get(topic.name) as string
		notice(`  ${creationOf(topic)}`, flags)
		notice(`  kcli produce ${topic.name} --input json --keep-partition -l ${word(file)}`, flags)
	}
}

/** The command that makes the topic as it was. */
function creationOf({ name, partitionCount, replicationFactor, overrides }: Doomed): string {
	const settings = (overrides ?? []).flatMap(({ name: key, value }) => ['-c', word(`${key}=${value ?? ''}`)])
	return ['kcli topic create', name, '-p', partitionCount, '-r', replicationFactor, ...settings].join(' ')
}

/** A word of a shell's command line. */
function word(text: string): string {
	return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
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

function planOf(topics: readonly Doomed[]): string[] {
	const lines = topics.slice(0, NAMES_SHOWN).map(({ name, partitionCount, records, bytes, groups }) => {
		const readers = groups.length === 0 ? '' : `, read by ${someOf(groups)}`
		return `  ${name}  ${countOf(partitionCount, 'partition')}, ${humanCount(records ?? 0)} records, ${humanBytes(bytes ?? 0)}${readers}`
	})
	if (topics.length > NAMES_SHOWN) lines.push(`  … and ${topics.length - NAMES_SHOWN} more`)
	return ['These topics and all their records will be gone:', ...lines]
}

/** `a, b, c and 2 more`. */
function someOf(names: readonly string[]): string {
	return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
}

function countOf(count: number, what: string): string {
	return `${count} ${what}${count === 1 ? '' : 's'}`
}

async function printOutcome(
	{ admin, cluster }: Session,
	topics: readonly Doomed[],
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
			.map(({ name, partitionCount, records, bytes, groups, backup }) => ({
				name,
				partitionCount,
				records: records ?? null,
				bytes: bytes ?? null,
				groups,
				backup,
				status: isDryRun ? ('would-delete' as const) : ('deleted' as const),
			})),
		...absent.map(({ item }) => ({
			name: item ?? '',
			partitionCount: 0,
			records: null,
			bytes: null,
			groups: [],
			backup: null,
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
				{ header: 'GROUPS', value: ({ groups }) => groups.join(',') || null, isWide: !isDryRun },
				{ header: 'BACKUP', value: ({ backup }) => backup, isWide: true },
			]),
			nameOf: ({ name }) => name,
			whenEmpty: 'no topic fits',
		},
		flags,
	)
}

async function waitUntilGone(cluster: Cluster, names: readonly string[], flags: TopicDeleteChoice): Promise<void> {
	const known = await withSpinner('waiting until they are gone', flags, () => awaitGone(cluster, names))
	if (known.length === 0) return
	const text = `deleted, but still known after ${flags.timeout}: ${known.join(', ')}`
	throw new CliError(text, EXIT.timedOut, 'a broker with replicas may be down', 'KCLI_TIMED_OUT')
}

function deletionHint(errorCode: number): string | null {
	return errorCode === ERROR.TOPIC_DELETION_DISABLED ? 'the brokers run with delete.topic.enable=false' : null
}
