/** Behind `kcli topic list`. */

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
}

/** Lists the topics of a cluster; the exit code. */
export async function listTopics(argv: readonly string[], flags: TopicListChoice): Promise<number> {
	return await withCluster(flags, async (session) => {
		const { topics, errors } = await chooseTopics(session.cluster, namesOf(argv, flags), flags)
		const isWide = formOf(flags) === 'wide'
		const needs = {
			sizes: flags.size || flags.sort === 'size' || isWide,
			offsets: flags.count || flags.sort === 'count' || flags.only === 'empty' || isWide,
			settings: flags.only === 'overrides' || flags.only === 'min-isr',
		}
		await withSpinner('asking the brokers', flags.quiet, () => gather(session, topics, needs))
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

async function gather(
	{ admin }: Session,
	topics: readonly TopicView[],
	needs: { readonly sizes: boolean; readonly offsets: boolean; readonly settings: boolean },
): Promise<void> {
	await Promise.all([
		needs.sizes ? addSizes(admin, topics) : null,
		needs.offsets ? addOffsets(admin, topics) : null,
		needs.settings ? addOverrides(admin, topics) : null,
	])
}

async function filtered(
	{ admin }: Session,
	topics: readonly TopicView[],
	only: string | undefined,
): Promise<readonly TopicView[]> {
	switch (only) {
		case 'urp':
			return topics.filter(({ underReplicated }) => underReplicated > 0)
		case 'offline':
			return topics.filter(({ offline }) => offline > 0)
		case 'overrides':
			return topics.filter(({ overrides }) => (overrides ?? []).length > 0)
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

function sorted(topics: readonly TopicView[], by: string): TopicView[] {
	const key = (topic: TopicView): number => {
		if (by === 'size') return topic.bytes ?? -1
		if (by === 'count') return topic.records ?? -1
		return by === 'partitions' ? topic.partitionCount : 0
	}
	return [...topics].sort((a, b) => key(b) - key(a) || (a.name < b.name ? -1 : 1))
}

function itemOf(topic: TopicView): Omit<TopicView, 'partitions' | 'overrides'> {
	const { partitions: _partitions, overrides: _overrides, ...item } = topic
	return item
}

function columnsFor({ sizes, offsets }: { readonly sizes: boolean; readonly offsets: boolean }): Column<TopicView>[] {
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
		{ header: 'INTERNAL', value: ({ internal }) => internal, isWide: true },
		{ header: 'TOPIC-ID', value: ({ topicId }) => topicId, isWide: true },
	]
}
