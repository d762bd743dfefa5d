/**
 * Topics as an operator looks at them: metadata with offsets, sizes and settings put beside it. Each part is asked for on
 * its own, since each costs another round to the brokers. Works against any Kafka.
 */

import { ZERO_TOPIC_ID } from '../base/ids.js'
import type { Admin } from '../client/admin.js'
import type { Cluster, TopicMetadata } from '../client/cluster.js'
import { ERROR } from '../protocol/errors.js'

export interface PartitionView {
	readonly partition: number
	/** Null: none. */
	readonly leader: number | null
	readonly leaderEpoch: number | null
	readonly replicas: readonly number[]
	readonly isr: readonly number[]
	readonly offlineReplicas: readonly number[]
	/** First offset that is still there; null when not asked or not known. */
	startOffset?: number | null
	/** Offset that the next record gets. */
	endOffset?: number | null
	/** End minus start: an upper bound where the log is compacted or holds transaction markers. */
	records?: number | null
	/** Of the largest replica. */
	bytes?: number | null
}

export interface TopicSetting {
	readonly name: string
	readonly value: string | null
	/** `topic`, `broker`, `brokers-default`, `static`, `default`. */
	readonly source: string
	readonly isSensitive: boolean
}

export interface TopicView {
	readonly name: string
	/** Null on brokers without topic ids (below 2.8). */
	readonly topicId: string | null
	readonly internal: boolean
	readonly partitionCount: number
	readonly replicationFactor: number
	/** Partitions with fewer replicas in sync than there are. */
	readonly underReplicated: number
	/** Partitions without a leader. */
	readonly offline: number
	/** Sum over partitions, one replica each. */
	bytes?: number | null
	records?: number | null
	/** Settings of its own. */
	overrides?: TopicSetting[]
	readonly partitions: readonly PartitionView[]
}

export interface Selection {
	/** Topics as they were asked for; internal ones only when named or wanted. */
	readonly includeInternal: boolean
	/** Names are regular expressions that must fit whole names. */
	readonly isRegex: boolean
}

export interface SelectedTopics {
	readonly topics: readonly TopicView[]
	/** Named topics that cannot be shown, with the broker's code. */
	readonly failed: readonly { readonly name: string; readonly errorCode: number }[]
	/** Every name of the cluster, where they were asked for: for close matches. */
	readonly allNames: readonly string[]
}

/** Names that belong to Kafka or to mirrors, not to people. */
export function isInternalName(name: string): boolean {
	return name.startsWith('__') || name.endsWith('.internal')
}

/**
 * Topics by name or pattern (none: all), by name. Throws a `SyntaxError` on a broken pattern. Never creates a topic.
 */
export async function selectTopics(
	cluster: Cluster,
	names: readonly string[],
	{ includeInternal, isRegex }: Selection,
): Promise<SelectedTopics> {
	const patterns = isRegex ? names.map((name) => new RegExp(`^(?:${name})$`)) : null
	const isLiteral = names.length > 0 && patterns === null
	const answer = await cluster.refresh(isLiteral ? [...new Set(names)] : null)
	const topics: TopicView[] = []
	const failed: { name: string; errorCode: number }[] = []
	for (const topic of answer.topics) {
		const name = topic.name ?? ''
		if (isLiteral && isMissing(topic)) {
			failed.push({ name, errorCode: topic.errorCode })
			continue
		}
		if (!isLiteral && !includeInternal && (topic.isInternal || isInternalName(name))) continue
		if (patterns !== null && patterns.length > 0 && !patterns.some((pattern) => pattern.test(name))) continue
		topics.push(viewOf(topic))
	}
	topics.sort((a, b) => (a.name < b.name ? -1 : 1))
	const all = failed.length > 0 ? (await cluster.refresh(null)).topics : answer.topics
	return { topics, failed, allNames: all.map(({ name }) => name ?? '') }
}

/** A topic with some partitions leaderless has its own code per partition; a code of the topic with none means it is not there. */
function isMissing({ errorCode, partitions }: TopicMetadata): boolean {
	return errorCode !== ERROR.NONE && partitions.length === 0
}

function viewOf(topic: TopicMetadata): TopicView {
	const partitions = topic.partitions
		.map((each) => ({
			partition: each.partitionIndex,
			leader: each.leaderId < 0 ? null : each.leaderId,
			leaderEpoch: each.leaderEpoch < 0 ? null : each.leaderEpoch,
			replicas: each.replicaNodes,
			isr: each.isrNodes,
			offlineReplicas: each.offlineReplicas,
		}))
		.sort((a, b) => a.partition - b.partition)
	return {
		name: topic.name ?? '',
		topicId: topic.topicId === ZERO_TOPIC_ID ? null : topic.topicId,
		internal: topic.isInternal,
		partitionCount: partitions.length,
		replicationFactor: Math.max(0, ...partitions.map(({ replicas }) => replicas.length)),
		underReplicated: partitions.filter(({ isr, replicas }) => isr.length < replicas.length).length,
		offline: partitions.filter(({ leader }) => leader === null).length,
		partitions,
	}
}

/** Puts first and next offsets, and their difference, into `topics`; partitions without a leader get null. */
export async function addOffsets(admin: Admin, topics: readonly TopicView[]): Promise<void> {
	const led = topics.flatMap((topic) =>
		topic.partitions.filter(({ leader }) => leader !== null).map((view) => ({ topic: topic.name, view })),
	)
	const ask = (timestamp: number) =>
		admin.listOffsets(led.map(({ topic, view }) => ({ topic, partition: view.partition, timestamp })))
	const [starts, ends] = led.length === 0 ? [[], []] : await Promise.all([ask(EARLIEST), ask(LATEST)])
	for (const [i, { view }] of led.entries()) {
		const start = starts[i]
		const end = ends[i]
		view.startOffset = start?.errorCode === ERROR.NONE ? start.offset : null
		view.endOffset = end?.errorCode === ERROR.NONE ? end.offset : null
		view.records =
			view.startOffset === null || view.endOffset === null ? null : Math.max(0, view.endOffset - view.startOffset)
	}
	for (const topic of topics) {
		for (const partition of topic.partitions) {
			partition.startOffset ??= null
			partition.endOffset ??= null
			partition.records ??= null
		}
		topic.records = sum(topic.partitions.map(({ records }) => records ?? null))
	}
}

const LATEST = -1
const EARLIEST = -2

/** Puts sizes on disk into `topics`: of the largest replica, since followers lag and segments differ. */
export async function addSizes(admin: Admin, topics: readonly TopicView[]): Promise<void> {
	const largest = new Map<string, number>()
	for (const { dirs } of await admin.describeLogDirs()) {
		for (const { topics: held } of dirs) {
			for (const { name, partitions } of held) {
				for (const { partitionIndex, partitionSize, isFutureKey } of partitions) {
					if (isFutureKey) continue
					const key = `${name}-${partitionIndex}`
					largest.set(key, Math.max(largest.get(key) ?? 0, partitionSize))
				}
			}
		}
	}
	for (const topic of topics) {
		for (const partition of topic.partitions) {
			partition.bytes = largest.get(`${topic.name}-${partition.partition}`) ?? null
		}
		topic.bytes = sum(topic.partitions.map(({ bytes }) => bytes ?? null))
	}
}

/** Puts the settings that a topic has of its own into `topics`. */
export async function addOverrides(admin: Admin, topics: readonly TopicView[]): Promise<void> {
	if (topics.length === 0) return
	const resources = await admin.describeConfigs(topics.map(({ name }) => ({ type: TOPIC, name, keys: null })))
	const byName = new Map(resources.map((resource) => [resource.resourceName, resource.configs]))
	for (const topic of topics) {
		topic.overrides = (byName.get(topic.name) ?? [])
			.filter(({ configSource, isDefault }) => (configSource === -1 ? !isDefault : configSource === OWN))
			.map(({ name, value, isSensitive }) => ({ name, value, isSensitive, source: 'topic' }))
			.sort((a, b) => (a.name < b.name ? -1 : 1))
	}
}

const TOPIC = 2
const OWN = 1

/** Sum of what is known; null when nothing is. */
function sum(values: readonly (number | null)[]): number | null {
	const known = values.filter((value) => value !== null)
	return known.length === 0 ? null : known.reduce((total, value) => total + value, 0)
}
