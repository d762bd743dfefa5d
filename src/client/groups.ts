/**
 * Consumer groups seen from outside: which there are, who is in them, what they committed. Each question goes to the broker
 * that coordinates the group. Works against any Kafka; groups of the new protocol (KIP-848) show as far as the classic calls
 * show them.
 */

import { ERROR } from '../protocol/errors.js'
import { describeGroups, listGroups } from '../protocol/messages/group.js'
import { offsetFetch } from '../protocol/messages/group-offsets.js'
import type { Decoded, Family } from '../protocol/schema.js'
import type { Cluster } from './cluster.js'
import { BrokerError, UnsupportedError } from './errors.js'

export interface GroupListing {
	readonly group: string
	readonly protocolType: string
	/** '' on brokers below 2.6. */
	readonly state: string
	/** `classic`, `consumer` …; '' on brokers below 3.8. */
	readonly type: string
	readonly coordinator: number
}

export type GroupDescription = Decoded<typeof describeGroups.response>['groups'][number]

export interface CommittedOffset {
	readonly topic: string
	readonly partition: number
	readonly offset: number
	/** -1: not known. */
	readonly leaderEpoch: number
	readonly metadata: string
	readonly errorCode: number
}

/** Groups of all brokers, by name. `states` empty: all. Rejects when a broker cannot be asked. */
export async function listAllGroups(
	cluster: Cluster,
	{ states = [], types = [] }: { readonly states?: readonly string[]; readonly types?: readonly string[] } = {},
): Promise<GroupListing[]> {
	if (cluster.nodes.length === 0) await cluster.refresh([])
	const answers = await Promise.all(
		cluster.nodes.map(({ id }) =>
			cluster.retry(`ListGroups of broker ${id}`, async () => {
				const connection = await cluster.broker(id)
				const version = connection.versionOf(listGroups as unknown as Family)
				if (version < 4 && states.length > 0) throw new UnsupportedError('brokers below 2.6 cannot filter by state')
				if (version < 5 && types.length > 0) throw new UnsupportedError('brokers below 3.8 cannot filter by type')
				const answer = await connection.request(listGroups, {
					...(version >= 4 ? { statesFilter: [...states] } : {}),
					...(version >= 5 ? { typesFilter: [...types] } : {}),
				})
				if (answer.errorCode !== ERROR.NONE) throw new BrokerError(answer.errorCode, `ListGroups of broker ${id}`)
				return answer.groups.map((each) => ({
					group: each.groupId,
					protocolType: each.protocolType,
					state: each.groupState,
					type: each.groupType,
					coordinator: id,
				}))
			}),
		),
	)
	return answers.flat().sort((a, b) => (a.group < b.group ? -1 : 1))
}

/** Members and state of groups; each asked of its coordinator. A group that is not there comes as `Dead` or with a code. */
export async function describeAllGroups(
	cluster: Cluster,
	groups: readonly string[],
): Promise<(GroupDescription & { readonly coordinator: number })[]> {
	return await Promise.all(
		groups.map((group) =>
			onCoordinator(cluster, group, 'DescribeGroups', async (coordinator) => {
				const answer = await cluster.ask(coordinator, describeGroups, { groups: [group] })
				const found = answer.groups[0]
				if (found === undefined) throw new BrokerError(ERROR.UNKNOWN_SERVER_ERROR, `DescribeGroups ${group}`)
				throwRetriable(found.errorCode, `DescribeGroups ${group}`)
				return { ...found, coordinator }
			}),
		),
	)
}

/** All offsets that a group committed, by topic and partition. Throws {@link BrokerError} for a code of the whole group. */
export async function fetchCommitted(cluster: Cluster, group: string): Promise<CommittedOffset[]> {
	return await onCoordinator(cluster, group, 'OffsetFetch', async (coordinator) => {
		const connection = await cluster.broker(coordinator)
		const version = connection.versionOf(offsetFetch as unknown as Family)
		if (version < 2) throw new UnsupportedError('brokers below 0.10.2 cannot list the offsets of a group')
		const answer = await connection.request(
			offsetFetch,
			version >= 8 ? { groups: [{ groupId: group, topics: null }] } : { groupId: group, topics: null },
		)
		const found = version >= 8 ? answer.groups[0] : answer
		const errorCode = found?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
		if (found === undefined || errorCode !== ERROR.NONE) throw new BrokerError(errorCode, `OffsetFetch ${group}`)
		return found.topics
			.flatMap(({ name, partitions }) =>
				partitions.map((each) => ({
					topic: name,
					partition: each.partitionIndex,
					offset: Number(each.committedOffset),
					leaderEpoch: each.committedLeaderEpoch,
					metadata: each.metadata ?? '',
					errorCode: each.errorCode,
				})),
			)
			.filter(({ offset }) => offset >= 0)
			.sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
	})
}

/** Looks the coordinator up anew at each try: it may have moved. */
async function onCoordinator<T>(
	cluster: Cluster,
	group: string,
	what: string,
	call: (coordinator: number) => Promise<T>,
): Promise<T> {
	return await cluster.retry(`${what} ${group}`, async () => await call(await cluster.coordinatorOf(group)))
}

function throwRetriable(errorCode: number, what: string): void {
	if (errorCode === ERROR.NONE) return
	const error = new BrokerError(errorCode, what)
	if (error.retriable) throw error
}
