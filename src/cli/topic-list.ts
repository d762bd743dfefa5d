/** Behind `kcli topic list`. */

import { largestLags, listGroupOffsetsOf } from '../ops/group-view.js'
import { addOffsets, addOverrides, addSizes, type TopicView } from '../ops/topic-view.js'
import { type Column, formOf, type OutputChoice, printReport, tableOf } from './output.js'
import { withSpinner } from './progress.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import { chooseTopics, namesOf, type TopicNamesChoice } from './topic-names.js'

export interface TopicListChoice extends ConnectionChoice, OutputChoice, TopicNamesChoice {
	readonly only: string | undefined
	readonly sort: string
	readonly size: boolean
	readonly count: boolean
	readonly lag: boolean
}

/** With the largest lag of a group that reads it; null: no group does. */
type ListedTopic = TopicView & { lag?: number | null }

/** Lists the topics of a cluster; the exit code. */
export async function listTopics(argv: readonly string[], flags: TopicListChoice): Promise<number> {
	return await withCluster(flags, async (session) => {
		const { topics, errors } = await chooseTopics(session.cluster, namesOf(argv, flags), flags)
		const isWide = formOf(flags) === 'wide'
		const needs = {
			sizes: flags.size || flags.sort === 'size' || isWide,
			offsets: flags.count || flags.sort === 'count' || flags.only === 'empty' || isWide,
			lags: flags.lag || flags.sort === 'lag' || flags.only === 'unread',
			settings: flags.only === 'overrides' || flags.only === 'min-isr',
		}
		await withSpinner('asking the brokers', flags, () => gather(session, topics, needs))
		const shown = sorted(await filtered(session, topics, flags.only), flags.sort)
		return await printReport(
			{
				kind: 'TopicList',
				items: shown.map(itemOf),
				errors,
				clusterId: session.cluster.clusterId,
				table: tableOf(shown, columnsFor(needs)),
				nameOf: ({ name }) => name,
				whenEmpty: flags.only === undefined ? 'no topics' : `no topics that are ${flags.only}`,
			},
			flags,
		)
	})
}

interface Needs {
	readonly sizes: boolean
	readonly offsets: boolean
	readonly lags: boolean
	readonly settings: boolean
}

async function gather({ admin, cluster }: Session, topics: readonly ListedTopic[], needs: Needs): Promise<void> {
	const [, , , readers] = await Promise.all([
		needs.sizes ? addSizes(admin, topics) : null,
		needs.offsets || needs.lags ? addOffsets(admin, topics) : null,
		needs.settings ? addOverrides(admin, topics) : null,
		needs.lags ? listGroupOffsetsOf(cluster, new Set(topics.map(({ name }) => name))) : null,
	])
	if (readers === null) return
	const byName = new Map(topics.map((topic) => [topic.name, topic]))
	const lags = largestLags(readers, (topic, partition) => {
		const found = byName.get(topic)?.partitions.find((each) => each.partition === partition)
		return found?.endOffset ?? null
	})
	for (const topic of topics) topic.lag = lags.get(topic.name) ?? null
}

async function filtered(
	{ admin }: Session,
	topics: readonly ListedTopic[],
	only: string | undefined,
): Promise<readonly ListedTopic[]> {
	switch (only) {
		case 'urp':
			return topics.filter(({ underReplicated }) => underReplicated > 0)
		case 'offline':
			return topics.filter(({ offline }) => offline > 0)
		case 'overrides':
			return topics.filter(({ overrides }) => (overrides ?? []).length > 0)
		case 'unread':
			return topics.filter(({ lag }) => lag === null)
		case 'empty':
			return topics.filter(({ records }) => records === 0)
		case 'min-isr': {
			// The effective value: a topic without its own has the broker's.
			const resources = await admin.describeConfigs(
				topics.map(({ name }) => ({ type: 2, name, keys: ['min.insync.replicas'] })),
			)
			const least = new Map(
				resources.map(({ resourceName, configs }) => [resourceName, Number(configs[0]?.value ?? 1)]),
			)
			return topics.filter(({ name, partitions }) => partitions.some(({ isr }) => isr.length < (least.get(name) ?? 1)))
		}
		default:
			return topics
	}
}

function sorted(topics: readonly ListedTopic[], by: string): ListedTopic[] {
	const key = (topic: ListedTopic): number => {
		if (by === 'size') return topic.bytes ?? -1
		if (by === 'count') return topic.records ?? -1
		if (by === 'lag') return topic.lag ?? -1
		return by === 'partitions' ? topic.partitionCount : 0
	}
	return [...topics].sort((a, b) => key(b) - key(a) || (a.name < b.name ? -1 : 1))
}

function itemOf(topic: ListedTopic): Omit<ListedTopic, 'partitions' | 'overrides'> {
	const { partitions: _partitions, overrides: _overrides, ...item } = topic
	return item
}

function columnsFor({ sizes, offsets, lags }: Needs): Column<ListedTopic>[] {
	return [
		{ header: 'NAME', value: ({ name }) => name },
		{ header: 'PARTITIONS', value: ({ partitionCount }) => partitionCount },
		{ header: 'REPLICAS', value: ({ replicationFactor }) => replicationFactor },
		{
			header: 'UNDER-REPLICATED',
			value: ({ underReplicated }) => underReplicated,
			isBad: ({ underReplicated }) => underReplicated > 0,
		},
		{ header: 'OFFLINE', value: ({ offline }) => offline, isBad: ({ offline }) => offline > 0 },
		...(sizes ? [{ header: 'SIZE', value: ({ bytes }: TopicView) => bytes, unit: 'bytes' as const }] : []),
		...(offsets ? [{ header: 'RECORDS', value: ({ records }: TopicView) => records, unit: 'count' as const }] : []),
		...(lags ? [{ header: 'LAG', value: ({ lag }: ListedTopic) => lag, unit: 'count' as const }] : []),
		{ header: 'INTERNAL', value: ({ internal }) => internal, isWide: true },
		{ header: 'TOPIC-ID', value: ({ topicId }) => topicId, isWide: true },
	]
}
