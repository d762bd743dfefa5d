/**
 * ListOffsets (key 2, versions 0–9) and OffsetForLeaderEpoch (key 23, 0–4), DeleteRecords (key 21, 0–2); semantics 10.
 * ListOffsets: 0 a list of segment starts, 1 one offset by time (KIP-79), 2 isolation, 4 leader epoch (KIP-320), 7 the
 * largest timestamp (KIP-734), 8 earliest local, 9 latest tiered (KIP-405; there is no tiered storage: -1).
 */

import { repeated } from '../../base/repeated.js'
import { ERROR } from '../../protocol/errors.js'
import { listOffsets, offsetForLeaderEpoch } from '../../protocol/messages/offsets.js'
import { deleteRecords } from '../../protocol/messages/topics.js'
import type { Decoded, ResponseInput } from '../../protocol/schema.js'
import type { BrokerConfig } from '../config.js'
import { INTERNAL_TOPICS } from '../metadata/cache.js'
import type { ConfigStore } from '../metadata/config-store.js'
import type { ReplicaManager } from '../replica/manager.js'
import type { Partition } from '../replica/partition.js'
import { type Handler, handler, type RequestContext } from './dispatch.js'

export interface OffsetParts {
	readonly replicas: ReplicaManager
	readonly config: BrokerConfig
	readonly configs: ConfigStore
}

const LATEST = -1
const EARLIEST = -2
const MAX_TIMESTAMP = -3
const EARLIEST_LOCAL = -4
const LATEST_TIERED = -5
const DEBUGGING_CONSUMER = -2
const READ_COMMITTED = 1

type ListRequest = Decoded<typeof listOffsets.request>
type Question = ListRequest['topics'][number]['partitions'][number]
type ListAnswer = ResponseInput<typeof listOffsets>['topics'][number]['partitions'][number]

export function listOffsetsHandler(parts: OffsetParts): Handler {
	const one = async (
		topic: string,
		question: Question,
		request: ListRequest,
		context: RequestContext,
	): Promise<ListAnswer> => {
		const { partitionIndex } = question
		const mayAskAny = request.replicaId === DEBUGGING_CONSUMER
		const partition = mayAskAny
			? parts.replicas.find(topic, partitionIndex)
			: parts.replicas.findLeader(topic, partitionIndex)
		if (typeof partition === 'number') return refused(partitionIndex, partition)
		const epochError = partition.epochError(question.currentLeaderEpoch)
		if (epochError !== ERROR.NONE) return refused(partitionIndex, epochError)
		const bound = boundOf(partition, request, context.version)
		if (context.version === 0) return answerOld(partition, question, bound)
		return await answer(partition, question, bound)
	}
	return handler(listOffsets, {
		async handle(request, context) {
			if (context.version >= 2 && request.isolationLevel !== 0 && request.isolationLevel !== READ_COMMITTED) {
				return refusedAll(request, ERROR.UNKNOWN_SERVER_ERROR)
			}
			const topics = []
			for (const { name, partitions } of request.topics) {
				const twice = repeated(partitions.map(({ partitionIndex }) => partitionIndex))
				const answers: ListAnswer[] = []
				for (const question of partitions) {
					const isRefused = context.version >= 1 && twice.has(question.partitionIndex)
					answers.push(
						isRefused
							? refused(question.partitionIndex, ERROR.INVALID_REQUEST)
							: await one(name, question, request, context),
					)
				}
				topics.push({ name, partitions: answers })
			}
			return { throttleTimeMs: 0, topics }
		},
		fail: refusedAll,
	})
}

function refusedAll(request: ListRequest, errorCode: number) {
	return {
		throttleTimeMs: 0,
		topics: request.topics.map(({ name, partitions }) => ({
			name,
			partitions: partitions.map(({ partitionIndex }) => refused(partitionIndex, errorCode)),
		})),
	}
}

function refused(partitionIndex: number, errorCode: number): ListAnswer {
	return { partitionIndex, errorCode, oldStyleOffsets: [], timestamp: -1, offset: -1, leaderEpoch: -1 }
}

/** End of what the asker may see: followers and debuggers the log end, consumers by isolation. */
function boundOf({ log }: Partition, request: ListRequest, version: number): number {
	if (request.replicaId >= 0 || request.replicaId === DEBUGGING_CONSUMER) return log.logEndOffset
	return version >= 2 && request.isolationLevel === READ_COMMITTED ? log.lastStableOffset : log.highWatermark
}

function answerOld(
	{ log }: Partition,
	{ partitionIndex, timestamp, maxNumOffsets }: Question,
	bound: number,
): ListAnswer {
	const oldStyleOffsets = log.offsetsBefore(timestamp, maxNumOffsets, bound)
	return { partitionIndex, errorCode: ERROR.NONE, oldStyleOffsets }
}

async function answer({ log }: Partition, question: Question, bound: number): Promise<ListAnswer> {
	const { partitionIndex, timestamp } = question
	const found = (offset: number, at: number): ListAnswer => ({
		partitionIndex,
		errorCode: ERROR.NONE,
		timestamp: at,
		offset,
		leaderEpoch:
			offset < 0 ? -1 : log.epochOf(offset === log.logEndOffset ? Math.max(offset - 1, log.logStartOffset) : offset),
	})
	const none: ListAnswer = { partitionIndex, errorCode: ERROR.NONE, timestamp: -1, offset: -1, leaderEpoch: -1 }
	if (timestamp === LATEST) return { ...found(bound, -1), leaderEpoch: log.latestEpoch }
	if (timestamp === EARLIEST || timestamp === EARLIEST_LOCAL) return found(log.logStartOffset, -1)
	if (timestamp === LATEST_TIERED) return none
	if (timestamp < MAX_TIMESTAMP) return refused(partitionIndex, ERROR.UNSUPPORTED_VERSION)
	const match = timestamp === MAX_TIMESTAMP ? await log.offsetOfMaxTimestamp() : await log.offsetForTimestamp(timestamp)
	if (match === null || match.offset >= bound) return none
	return found(match.offset, match.timestamp)
}

export function offsetForLeaderEpochHandler(parts: OffsetParts): Handler {
	return handler(offsetForLeaderEpoch, {
		handle: (request) => ({
			throttleTimeMs: 0,
			topics: request.topics.map(({ topic, partitions }) => ({
				topic,
				partitions: partitions.map(({ partition: index, currentLeaderEpoch, leaderEpoch }) => {
					const none = { partition: index, leaderEpoch: -1, endOffset: -1 }
					const partition = parts.replicas.findLeader(topic, index)
					if (typeof partition === 'number') return { ...none, errorCode: partition }
					const epochError = partition.epochError(currentLeaderEpoch)
					if (epochError !== ERROR.NONE) return { ...none, errorCode: epochError }
					const end = partition.log.endOffsetForEpoch(leaderEpoch)
					return { errorCode: ERROR.NONE, partition: index, leaderEpoch: end.epoch, endOffset: end.endOffset }
				}),
			})),
		}),
		fail: (request, errorCode) => ({
			throttleTimeMs: 0,
			topics: request.topics.map(({ topic, partitions }) => ({
				topic,
				partitions: partitions.map(({ partition }) => ({ errorCode, partition, leaderEpoch: -1, endOffset: -1 })),
			})),
		}),
	})
}

const HIGH_WATERMARK = -1

export function deleteRecordsHandler(parts: OffsetParts): Handler {
	const one = (topic: string, index: number, offset: number): { lowWatermark: number; errorCode: number } => {
		const refuse = (errorCode: number) => ({ lowWatermark: -1, errorCode })
		if (INTERNAL_TOPICS.has(topic)) return refuse(ERROR.INVALID_TOPIC_EXCEPTION)
		const partition = parts.replicas.findLeader(topic, index)
		if (typeof partition === 'number') return refuse(partition)
		const policy = parts.config.topicText('cleanup.policy', parts.configs.topic(topic))
		if (!policy.includes('delete')) return refuse(ERROR.POLICY_VIOLATION)
		const { log } = partition
		const target = offset === HIGH_WATERMARK ? log.highWatermark : offset
		if (target < 0 || target > log.highWatermark) return refuse(ERROR.OFFSET_OUT_OF_RANGE)
		log.deleteRecordsTo(target)
		parts.replicas.fetches.check(partition.key)
		return { lowWatermark: log.logStartOffset, errorCode: ERROR.NONE }
	}
	return handler(deleteRecords, {
		handle: (request) => ({
			throttleTimeMs: 0,
			topics: request.topics.map(({ name, partitions }) => ({
				name,
				partitions: partitions.map(({ partitionIndex, offset }) => ({
					partitionIndex,
					...one(name, partitionIndex, offset),
				})),
			})),
		}),
		fail: (request, errorCode) => ({
			throttleTimeMs: 0,
			topics: request.topics.map(({ name, partitions }) => ({
				name,
				partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, lowWatermark: -1, errorCode })),
			})),
		}),
	})
}
