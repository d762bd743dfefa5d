/** Consumer groups as an operator looks at them: state, members, what they own, how far they are behind. */

import type { Admin } from '../client/admin.js'
import type { Cluster } from '../client/cluster.js'
import { describeAllGroups, fetchCommitted, type GroupDescription, listAllGroups } from '../client/groups.js'
import { ERROR } from '../protocol/errors.js'
import { assignedPartitions } from './consumer-protocol.js'

export interface GroupOffset {
	readonly topic: string
	readonly partition: number
	/** Null: nothing committed. */
	readonly offset: number | null
	/** Null: not known (no leader, topic gone). */
	readonly endOffset: number | null
	readonly lag: number | null
	readonly metadata: string | null
	/** Member that reads the partition now. */
	readonly memberId: string | null
	readonly clientId: string | null
	readonly host: string | null
}

export interface GroupMember {
	readonly memberId: string
	readonly instanceId: string | null
	readonly clientId: string
	readonly host: string
	readonly partitions: readonly { readonly topic: string; readonly partitions: readonly number[] }[]
}

export interface GroupView {
	readonly group: string
	readonly state: string
	readonly protocolType: string
	/** Assignor in use, `range` for instance. */
	readonly protocol: string
	readonly coordinator: number
	/** Null for groups of the new protocol (KIP-848), whose members the classic call does not tell. */
	readonly memberCount: number | null
	readonly members: readonly GroupMember[]
	readonly offsets: readonly GroupOffset[]
	/** See {@link sumOfLags}. */
	readonly lag: number | null
}

/** A group's part in one topic. */
export interface TopicReader {
	readonly group: string
	readonly offsets: readonly { readonly partition: number; readonly offset: number }[]
	readonly lag: number | null
}

/** Everything about the named groups. Groups that are not there are left out; `missing` names them. */
export async function describeGroupViews(
	cluster: Cluster,
	admin: Admin,
	names: readonly string[],
): Promise<{
	readonly views: GroupView[]
	readonly missing: string[]
	readonly failed: { name: string; errorCode: number }[]
}> {
	const described = await describeAllGroups(cluster, names)
	const views: GroupView[] = []
	const missing: string[] = []
	const failed: { name: string; errorCode: number }[] = []
	for (const each of described) {
		if (each.errorCode !== ERROR.NONE && each.errorCode !== ERROR.GROUP_ID_NOT_FOUND) {
			failed.push({ name: each.groupId, errorCode: each.errorCode })
			continue
		}
		const committed = await fetchCommitted(cluster, each.groupId)
		if (
			each.members.length === 0 &&
			committed.length === 0 &&
			(each.errorCode !== ERROR.NONE || each.groupState === 'Dead')
		) {
			missing.push(each.groupId)
			continue
		}
		const view = await viewOf(cluster, admin, each, committed)
		// Brokers say `Dead` of a group that the classic call does not know, 4.0 and later a code.
		const isUnknown = each.errorCode !== ERROR.NONE || each.groupState === 'Dead'
		views.push(isUnknown ? await withListedState(cluster, view) : view)
	}
	return { views, missing, failed }
}

/** A group that only the listing knows: it speaks the new protocol, and there is more to it than can be asked here. */
async function withListedState(cluster: Cluster, view: GroupView): Promise<GroupView> {
	const listed = (await listAllGroups(cluster)).find(({ group }) => group === view.group)
	if (listed === undefined) return view
	return { ...view, state: listed.state, protocolType: listed.protocolType, protocol: listed.type, memberCount: null }
}

async function viewOf(
	cluster: Cluster,
	admin: Admin,
	described: GroupDescription & { readonly coordinator: number },
	committed: Awaited<ReturnType<typeof fetchCommitted>>,
): Promise<GroupView> {
	const members: GroupMember[] = described.members.map((each) => ({
		memberId: each.memberId,
		instanceId: each.groupInstanceId,
		clientId: each.clientId,
		host: each.clientHost.replace(/^\//, ''),
		partitions: described.protocolType === 'consumer' ? assignedPartitions(each.memberAssignment) : [],
	}))
	const owners = new Map<string, GroupMember>()
	for (const member of members) {
		for (const { topic, partitions } of member.partitions) {
			for (const partition of partitions) owners.set(`${topic}-${partition}`, member)
		}
	}
	const places = new Map(committed.map((each) => [`${each.topic}-${each.partition}`, each]))
	const partitions = [
		...committed.map(({ topic, partition }) => ({ topic, partition })),
		...members.flatMap((member) =>
			member.partitions.flatMap(({ topic, partitions: owned }) =>
				owned.filter((partition) => !places.has(`${topic}-${partition}`)).map((partition) => ({ topic, partition })),
			),
		),
	].sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
	const ends = await endOffsets(cluster, admin, partitions)
	const offsets = partitions.map(({ topic, partition }) => {
		const key = `${topic}-${partition}`
		const place = places.get(key)
		const owner = owners.get(key)
		const endOffset = ends.get(key) ?? null
		const offset = place?.offset ?? null
		return {
			topic,
			partition,
			offset,
			endOffset,
			lag: offset === null || endOffset === null ? null : Math.max(0, endOffset - offset),
			metadata: place?.metadata ?? null,
			memberId: owner?.memberId ?? null,
			clientId: owner?.clientId ?? null,
			host: owner?.host ?? null,
		}
	})
	return {
		group: described.groupId,
		state: described.groupState,
		protocolType: described.protocolType,
		protocol: described.protocolData,
		coordinator: described.coordinator,
		memberCount: members.length,
		members,
		offsets,
		lag: sumOfLags(offsets),
	}
}

/**
 * How far a group is behind over several partitions. Null when it cannot be told: nothing is known, or a partition with
 * records has no committed offset (its members' `auto.offset.reset` says where they would begin). Partitions that are gone
 * count for nothing.
 */
export function sumOfLags(offsets: readonly Pick<GroupOffset, 'offset' | 'endOffset' | 'lag'>[]): number | null {
	const known = offsets.filter(({ endOffset }) => endOffset !== null)
	if (known.length === 0 || known.some(({ offset, endOffset }) => offset === null && endOffset !== 0)) return null
	return known.reduce((sum, { lag }) => sum + (lag ?? 0), 0)
}

/** Next offsets by `topic-partition`; partitions that are gone or have no leader are left out, and not waited for. */
export async function endOffsets(
	cluster: Cluster,
	admin: Admin,
	partitions: readonly { readonly topic: string; readonly partition: number }[],
): Promise<ReadonlyMap<string, number>> {
	if (partitions.length === 0) return new Map()
	const answer = await cluster.refresh([...new Set(partitions.map(({ topic }) => topic))])
	const led = new Set(
		answer.topics.flatMap(({ name, partitions: known }) =>
			known.filter(({ leaderId }) => leaderId >= 0).map(({ partitionIndex }) => `${name}-${partitionIndex}`),
		),
	)
	const asked = partitions.filter(({ topic, partition }) => led.has(`${topic}-${partition}`))
	if (asked.length === 0) return new Map()
	const results = await admin.listOffsets(asked.map((each) => ({ ...each, timestamp: -1 })))
	return new Map(
		results
			.filter(({ errorCode }) => errorCode === ERROR.NONE)
			.map(({ topic, partition, offset }) => [`${topic}-${partition}`, offset]),
	)
}

/** Who committed offsets in `topics`, by topic. Groups that cannot be asked are left out. */
export async function listGroupOffsetsOf(
	cluster: Cluster,
	topics: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly TopicReader[]>> {
	const readers = new Map<string, TopicReader[]>()
	const groups = (await listAllGroups(cluster)).filter(
		({ protocolType }) => protocolType === 'consumer' || protocolType === '',
	)
	for (const { group } of groups) {
		const byTopic = new Map<string, { partition: number; offset: number }[]>()
		for (const { topic, partition, offset } of await fetchCommitted(cluster, group)) {
			if (!topics.has(topic)) continue
			byTopic.set(topic, [...(byTopic.get(topic) ?? []), { partition, offset }])
		}
		for (const [topic, offsets] of byTopic) {
			readers.set(topic, [...(readers.get(topic) ?? []), { group, offsets, lag: null }])
		}
	}
	return readers
}

/** How far the groups of a topic are behind, by topic: the largest lag; topics that no group reads are left out. */
export function largestLags(
	readers: ReadonlyMap<string, readonly TopicReader[]>,
	endOf: (topic: string, partition: number) => number | null,
): ReadonlyMap<string, number> {
	const lags = new Map<string, number>()
	for (const [topic, groups] of readers) {
		for (const { offsets } of groups) {
			let lag = 0
			for (const { partition, offset } of offsets) lag += Math.max(0, (endOf(topic, partition) ?? offset) - offset)
			lags.set(topic, Math.max(lags.get(topic) ?? 0, lag))
		}
	}
	return lags
}
