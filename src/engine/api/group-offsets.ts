/**
 * OffsetCommit (key 8, versions 0–9) and OffsetFetch (key 9, 0–9), semantics 23. OffsetCommit: 1 generation and member, 2–4
 * retention, 6 leader epoch (KIP-320), 7 instance id (KIP-345). OffsetFetch: 2 null for all, 5 leader epoch, 7 only stable
 * offsets (KIP-447), 8 many groups (KIP-709). Version 0 of both keeps offsets in ZooKeeper (23.13).
 */

import { ERROR } from '../../protocol/errors.js'
import { offsetCommit, offsetFetch } from '../../protocol/messages/group-offsets.js'
import type { Decoded, ResponseInput } from '../../protocol/schema.js'
import type { Clock, Runtime } from '../../runtime/ports.js'
import { ANY_VERSION, isZkError, type ZkSession } from '../../zk/port.js'
import { consumerOffsetZnode } from '../../zk/znodes-admin.js'
import type { BrokerConfig } from '../config.js'
import { commitOffsets, isUnstable, mayCommit, type OffsetToCommit } from '../group/commit.js'
import type { GroupCoordinator } from '../group/coordinator.js'
import type { MetadataCache } from '../metadata/cache.js'
import { type Handler, handler } from './dispatch.js'

export interface GroupOffsetParts {
	readonly groups: GroupCoordinator
	readonly metadata: MetadataCache
	readonly config: BrokerConfig
	readonly session: ZkSession
	readonly runtime: Runtime
}

type CommitRequest = Decoded<typeof offsetCommit.request>
type CommitPartition = CommitRequest['topics'][number]['partitions'][number]

export function groupOffsetHandlers(parts: GroupOffsetParts): Handler[] {
	return [offsetCommitHandler(parts), offsetFetchHandler(parts)]
}

function offsetCommitHandler(parts: GroupOffsetParts): Handler {
	const { groups, metadata, config, session } = parts
	const answerAll = (request: CommitRequest, codeOf: (topic: string, partition: number) => number) => ({
		throttleTimeMs: 0,
		topics: request.topics.map(({ name, partitions }) => ({
			name,
			partitions: partitions.map(({ partitionIndex }) => ({
				partitionIndex,
				errorCode: codeOf(name, partitionIndex),
			})),
		})),
	})
	return handler(offsetCommit, {
		async handle(request, { version }) {
			const { groupId } = request
			const code = groups.check(groupId, true)
			if (code !== ERROR.NONE) return answerAll(request, () => code)
			const claim = {
				memberId: request.memberId,
				instanceId: request.groupInstanceId,
				generation: version === 0 ? -1 : request.generationIdOrMemberEpoch,
			}
			const refused = version === 0 ? ERROR.NONE : mayCommit(groups, groupId, claim)
			if (refused !== ERROR.NONE) return answerAll(request, () => refused)
			const codes = new Map<string, number>()
			const accepted: OffsetToCommit[] = []
			for (const { name, partitions } of request.topics) {
				for (const each of partitions) {
					const key = `${name}/${each.partitionIndex}`
					const problem = problemOf(metadata, config, name, each)
					codes.set(key, problem)
					if (problem === ERROR.NONE) {
						const committed = committedOf(request, each, parts.runtime.clock, version)
						accepted.push({ topic: name, partition: each.partitionIndex, committed })
					}
				}
			}
			const stored =
				version === 0
					? await commitToZookeeper(session, groupId, accepted)
					: await commitOffsets(groups, groups.findOrMake(groupId), accepted)
			return answerAll(request, (topic, partition) => {
				const own = codes.get(`${topic}/${partition}`) ?? ERROR.NONE
				return own === ERROR.NONE ? stored : own
			})
		},
		fail: (request, errorCode) => answerAll(request, () => errorCode),
	})
}

function problemOf(metadata: MetadataCache, config: BrokerConfig, topic: string, each: CommitPartition): number {
	if (metadata.partition(topic, each.partitionIndex) === undefined) return ERROR.UNKNOWN_TOPIC_OR_PARTITION
	const metadataMax = config.number('offset.metadata.max.bytes')
	return (each.committedMetadata?.length ?? 0) > metadataMax ? ERROR.OFFSET_METADATA_TOO_LARGE : ERROR.NONE
}

function committedOf(request: CommitRequest, each: CommitPartition, clock: Clock, version: number) {
	const nowMs = clock.wallMs()
	const commitTimestamp = version === 1 && each.commitTimestamp >= 0 ? each.commitTimestamp : nowMs
	const keepsMs = request.retentionTimeMs
	return {
		offset: each.committedOffset,
		leaderEpoch: each.committedLeaderEpoch,
		metadata: each.committedMetadata ?? '',
		commitTimestamp,
		expireTimestamp: version >= 2 && version <= 4 && keepsMs !== -1 ? commitTimestamp + keepsMs : -1,
	}
}

async function commitToZookeeper(
	session: ZkSession,
	group: string,
	offsets: readonly OffsetToCommit[],
): Promise<number> {
	for (const { topic, partition, committed } of offsets) {
		const path = consumerOffsetZnode.path(group, topic, partition)
		const data = Buffer.from(committed.offset.toString())
		try {
			await session.set(path, data, ANY_VERSION)
		} catch (error) {
			if (!isZkError(error, 'NO_NODE')) throw error
			await session.create(path, data, { parents: true })
		}
	}
	return ERROR.NONE
}

type FetchResponse = ResponseInput<typeof offsetFetch>
type FetchTopics = NonNullable<FetchResponse['topics']>

function offsetFetchHandler({ groups, session }: GroupOffsetParts): Handler {
	const none = (partitionIndex: number, errorCode: number) => ({
		partitionIndex,
		committedOffset: -1n,
		committedLeaderEpoch: -1,
		metadata: '',
		errorCode,
	})
	type Asked = readonly { readonly name: string; readonly partitionIndexes: readonly number[] }[] | null
	/** Offsets of one group; null topics are all that it has. */
	const fetchGroup = (groupId: string, asked: Asked, requireStable: boolean): FetchTopics => {
		const entry = groups.find(groupId)
		const answer = (topic: string, partition: number) => {
			const key = `${topic}/${partition}`
			if (entry !== undefined && requireStable && isUnstable(entry, key)) {
				return none(partition, ERROR.UNSTABLE_OFFSET_COMMIT)
			}
			const committed = entry?.offsets.get(key)
			if (committed === undefined) return none(partition, ERROR.NONE)
			return {
				partitionIndex: partition,
				committedOffset: committed.offset,
				committedLeaderEpoch: committed.leaderEpoch,
				metadata: committed.metadata,
				errorCode: ERROR.NONE,
			}
		}
		const wanted = asked ?? allOf([...(entry?.offsets.keys() ?? [])])
		return wanted.map(({ name, partitionIndexes }) => ({
			name,
			partitions: partitionIndexes.map((partition) => answer(name, partition)),
		}))
	}
	return handler(offsetFetch, {
		async handle(request, { version }) {
			if (version >= 8) {
				const answered = request.groups.map(({ groupId, topics }) => {
					const errorCode = groups.check(groupId, true)
					if (errorCode !== ERROR.NONE) return { groupId, topics: [], errorCode }
					return { groupId, topics: fetchGroup(groupId, topics, request.requireStable), errorCode }
				})
				return { throttleTimeMs: 0, groups: answered }
			}
			if (version === 0) return { topics: await fetchFromZookeeper(session, request.groupId, request.topics ?? []) }
			const errorCode = groups.check(request.groupId, true)
			if (errorCode === ERROR.NONE) {
				return {
					throttleTimeMs: 0,
					topics: fetchGroup(request.groupId, request.topics, request.requireStable),
					errorCode,
				}
			}
			const topics =
				version >= 2
					? []
					: (request.topics ?? []).map(({ name, partitionIndexes }) => ({
							name,
							partitions: partitionIndexes.map((partition) => none(partition, errorCode)),
						}))
			return { throttleTimeMs: 0, topics, errorCode }
		},
		fail: (request, errorCode, { version }) =>
			version >= 8
				? { throttleTimeMs: 0, groups: request.groups.map(({ groupId }) => ({ groupId, topics: [], errorCode })) }
				: { throttleTimeMs: 0, topics: [], errorCode },
	})
}

function allOf(keys: readonly string[]): { name: string; partitionIndexes: number[] }[] {
	const byTopic = new Map<string, number[]>()
	for (const key of keys) {
		const slash = key.lastIndexOf('/')
		const name = key.slice(0, slash)
		byTopic.set(name, [...(byTopic.get(name) ?? []), Number(key.slice(slash + 1))])
	}
	return [...byTopic].map(([name, partitionIndexes]) => ({ name, partitionIndexes }))
}

async function fetchFromZookeeper(
	session: ZkSession,
	group: string,
	topics: readonly { readonly name: string; readonly partitionIndexes: readonly number[] }[],
): Promise<FetchTopics> {
	return await Promise.all(
		topics.map(async ({ name, partitionIndexes }) => ({
			name,
			partitions: await Promise.all(
				partitionIndexes.map(async (partitionIndex) => {
					const node = await session.get(consumerOffsetZnode.path(group, name, partitionIndex))
					const isThere = node?.data !== null && node?.data !== undefined
					return {
						partitionIndex,
						committedOffset: isThere ? BigInt(node.data.toString()) : -1n,
						metadata: '',
						errorCode: isThere ? ERROR.NONE : ERROR.UNKNOWN_TOPIC_OR_PARTITION,
					}
				}),
			),
		})),
	)
}
