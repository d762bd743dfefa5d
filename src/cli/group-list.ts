/** Behind `kcli group list`. */

import { fetchCommitted, type GroupListing, listAllGroups } from '../client/groups.js'
import { endOffsets, sumOfLags } from '../ops/group-view.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { type CliError, usageError } from './errors.js'
import { lastActivity } from './group-activity.js'
import { type Column, type OutputChoice, printReport, tableOf } from './output.js'
import { parseDuration } from './parse.js'
import { withSpinner } from './progress.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'

export interface GroupListChoice extends ConnectionChoice, OutputChoice {
	readonly state: readonly string[] | undefined
	readonly type: readonly string[] | undefined
	readonly topic: readonly string[] | undefined
	readonly regex: boolean
	readonly lag: boolean
	readonly idle: string | undefined
}

interface ListedGroup extends GroupListing {
	/** Topics with committed offsets; null when not asked for. */
	topics?: readonly string[]
	/** Sum over partitions; null when nothing is committed. */
	lag?: number | null
	/** Epoch ms of its newest commit or change; null when none is known, absent when not asked for. */
	lastActive?: number | null
}

/** Lists the groups of a cluster; the exit code. */
export async function listGroups(words: readonly string[], flags: GroupListChoice): Promise<number> {
	const accepts = filterOf(words, flags.regex)
	const filters = { states: parts(flags.state).map(stateName), types: parts(flags.type).map(typeName) }
	const idleMs = flags.idle === undefined ? null : parseDuration(flags.idle, '--idle')
	return await withCluster(flags, async (session) => {
		const groups: ListedGroup[] = (await listAllGroups(session.cluster, filters)).filter(({ group }) => accepts(group))
		const topics = parts(flags.topic)
		const needsOffsets = flags.lag || topics.length > 0
		if (needsOffsets) await withSpinner('asking the coordinators', flags, () => addLag(session, groups))
		let shown =
			topics.length === 0 ? groups : groups.filter((each) => each.topics?.some((topic) => topics.includes(topic)))
		if (idleMs !== null) {
			shown = await withSpinner('reading what groups wrote', flags, () => idleOnes(session, shown, idleMs))
		}
		return await printReport(
			{
				kind: 'GroupList',
				items: shown,
				errors: [],
				clusterId: session.cluster.clusterId,
				table: tableOf(shown, columnsFor(needsOffsets, idleMs !== null)),
				nameOf: ({ group }) => group,
				whenEmpty: idleMs === null ? 'no groups' : `no groups that are idle for ${flags.idle}`,
			},
			flags,
		)
	})
}

function filterOf(words: readonly string[], isRegex: boolean): (group: string) => boolean {
	if (words.length === 0) return () => true
	if (words.includes('')) throw usageError('a group name is empty', 'Is a variable not set?')
	if (!isRegex) return (group) => words.includes(group)
	try {
		const patterns = words.map((word) => new RegExp(`^(?:${word})$`))
		return (group) => patterns.some((pattern) => pattern.test(group))
	} catch (error) {
		throw usageError(`not a regular expression: ${(error as Error).message}`)
	}
}

function parts(texts: readonly string[] | undefined): string[] {
	return (texts ?? []).flatMap((text) => text.split(',')).filter((text) => text !== '')
}

/** Brokers compare states by letter case: `stable` is meant as `Stable`. */
function stateName(text: string): string {
	const found = STATES.find((state) => state.toLowerCase() === text.toLowerCase().replaceAll(/[-_]/g, ''))
	if (found === undefined) throw noSuch('--state', text, STATES)
	return found
}

const STATES = [
	'Stable',
	'Empty',
	'PreparingRebalance',
	'CompletingRebalance',
	'Dead',
	'Assigning',
	'Reconciling',
	'NotReady',
] as const
const TYPES = ['classic', 'consumer', 'share', 'streams'] as const

function typeName(text: string): string {
	const found = TYPES.find((type) => type === text.toLowerCase())
	if (found === undefined) throw noSuch('--type', text, TYPES)
	return found
}

/** A slip would show as "no groups". */
function noSuch(flag: string, text: string, known: readonly string[]): CliError {
	const hint = didYouMean(closeMatches(text, known))
	return usageError(`${flag} is one of ${known.join(', ')}; not '${text}'`, hint)
}

/** Those that have done nothing for `idleMs`. One of which nothing is known is not called idle. */
async function idleOnes(session: Session, groups: readonly ListedGroup[], idleMs: number): Promise<ListedGroup[]> {
	const last = await lastActivity(
		session,
		groups.map(({ group }) => group),
	)
	const nowMs = Date.now()
	return groups.flatMap((each) => {
		const lastActive = last.get(each.group) ?? null
		return lastActive !== null && nowMs - lastActive >= idleMs ? [{ ...each, lastActive }] : []
	})
}

async function addLag({ cluster, admin }: Session, groups: readonly ListedGroup[]): Promise<void> {
	const committed = await Promise.all(groups.map(({ group }) => fetchCommitted(cluster, group)))
	const ends = await endOffsets(cluster, admin, distinct(committed.flat()))
	for (const [i, group] of groups.entries()) {
		const offsets = committed[i] ?? []
		group.topics = [...new Set(offsets.map(({ topic }) => topic))]
		group.lag = sumOfLags(
			offsets.map(({ topic, partition, offset }) => {
				const endOffset = ends.get(`${topic}-${partition}`) ?? null
				return { offset, endOffset, lag: endOffset === null ? null : Math.max(0, endOffset - offset) }
			}),
		)
	}
}

function distinct<T extends { readonly topic: string; readonly partition: number }>(places: readonly T[]): T[] {
	return [...new Map(places.map((place) => [`${place.topic}-${place.partition}`, place])).values()]
}

function columnsFor(hasLag: boolean, hasActivity: boolean): Column<ListedGroup>[] {
	return [
		{ header: 'GROUP', value: ({ group }) => group },
		{ header: 'STATE', value: ({ state }) => state || null },
		{ header: 'TYPE', value: ({ type, protocolType }) => type || protocolType || null },
		{ header: 'COORDINATOR', value: ({ coordinator }) => coordinator },
		...(hasLag
			? [
					{ header: 'LAG', value: ({ lag }: ListedGroup) => lag, unit: 'count' as const },
					{ header: 'TOPICS', value: ({ topics }: ListedGroup) => topics?.join(','), isWide: true },
				]
			: []),
		...(hasActivity
			? [
					{
						header: 'LAST-ACTIVE',
						value: ({ lastActive }: ListedGroup) =>
							lastActive === undefined || lastActive === null ? null : new Date(lastActive).toISOString(),
					},
				]
			: []),
		{ header: 'PROTOCOL-TYPE', value: ({ protocolType }) => protocolType, isWide: true },
	]
}
