/** Reading and writing a group's offsets, by a member or, with generation -1, by hand for a group without members. */

import { ERROR } from '../protocol/errors.js'
import { offsetCommit, offsetFetch } from '../protocol/messages/group-offsets.js'
import type { Family } from '../protocol/schema.js'
import type { Cluster } from './cluster.js'
import { BrokerError } from './errors.js'

export interface PartitionOffset {
	readonly topic: string
	readonly partition: number
	readonly offset: number
}

export interface CommitIdentity {
	readonly generationId: number
	readonly memberId: string
	readonly instanceId: string | null
}

/** A committer that is no member: only a group without members takes it. */
export const BY_HAND: CommitIdentity = { generationId: -1, memberId: '', instanceId: null }

function byTopic<T extends { readonly topic: string }>(list: readonly T[]): Map<string, T[]> {
	const topics = new Map<string, T[]>()
	for (const each of list) {
		const theirs = topics.get(each.topic)
		if (theirs === undefined) topics.set(each.topic, [each])
		else theirs.push(each)
	}
	return topics
}

/** Offsets that the group has committed, by `topic-partition`; those without one are not there. Rejects with BrokerError. */
export async function fetchOffsets(
	cluster: Cluster,
	groupId: string,
	partitions: readonly { readonly topic: string; readonly partition: number }[],
): Promise<Map<string, number>> {
	const what = `OffsetFetch ${groupId}`
	return await cluster.retry(what, async () => {
		const connection = await cluster.broker(await cluster.coordinatorOf(groupId))
		const version = connection.versionOf(offsetFetch as unknown as Family)
		const topics = [...byTopic(partitions)].map(([name, theirs]) => ({
			name,
			partitionIndexes: theirs.map(({ partition }) => partition),
		}))
		const answer = await connection.send(
			offsetFetch,
			version,
			version >= 8
				? { groups: [{ groupId, topics }], requireStable: true }
				: { groupId, topics, ...(version >= 7 ? { requireStable: true } : {}) },
		)
		const group = version >= 8 ? answer.groups[0] : answer
		const code = group?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
		if (group === undefined || code !== ERROR.NONE) throw new BrokerError(code, what)
		const found = new Map<string, number>()
		for (const { name, partitions: theirs } of group.topics) {
			for (const { partitionIndex, committedOffset, errorCode } of theirs) {
				if (errorCode !== ERROR.NONE) throw new BrokerError(errorCode, `${what} ${name}-${partitionIndex}`)
				if (committedOffset >= 0n) found.set(`${name}-${partitionIndex}`, Number(committedOffset))
			}
		}
		return found
	})
}

/** Commits. Rejects with the first code that concerns the group or one of the partitions. */
export async function commitOffsets(
	cluster: Cluster,
	groupId: string,
	identity: CommitIdentity,
	offsets: readonly PartitionOffset[],
): Promise<void> {
	if (offsets.length === 0) return
	const what = `OffsetCommit ${groupId}`
	await cluster.retry(what, async () => {
		const connection = await cluster.broker(await cluster.coordinatorOf(groupId))
		const version = connection.versionOf(offsetCommit as unknown as Family)
		const answer = await connection.send(offsetCommit, version, {
			groupId,
			generationIdOrMemberEpoch: identity.generationId,
			memberId: identity.memberId,
			...(version >= 7 ? { groupInstanceId: identity.instanceId } : {}),
			topics: [...byTopic(offsets)].map(([name, theirs]) => ({
				name,
				partitions: theirs.map(({ partition, offset }) => ({
					partitionIndex: partition,
					committedOffset: BigInt(offset),
					committedMetadata: '',
				})),
			})),
		})
		for (const { name, partitions } of answer.topics) {
			for (const { partitionIndex, errorCode } of partitions) {
				if (errorCode !== ERROR.NONE) throw new BrokerError(errorCode, `${what} ${name}-${partitionIndex}`)
			}
		}
	})
}
