/**
 * Fetch (key 1, versions 0–17), semantics 7 and 8. 3 response limit (KIP-74), 4 isolation level (KIP-98), 5 log start, 7
 * sessions (KIP-227), 9 leader epoch (KIP-320), 12 diverging epoch (KIP-595), 13 topic ids (KIP-516), 15 replica state
 * (KIP-903), 16 the new leader (KIP-951). Stored bytes leave as they are: from memory, or as slices of segment files that
 * the connection reads when its socket has room; versions 0–3 get them converted (`down-conversion.ts`). No preferred
 * read replica is ever named.
 */

import type { TopicId } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import { fetch } from '../../protocol/messages/fetch.js'
import type { Decoded, ResponseInput } from '../../protocol/schema.js'
import { FileSlice } from '../log/read.js'
import type { MetadataCache } from '../metadata/cache.js'
import type { FetchContext, FetchTarget } from '../replica/fetch-session.js'
import { type Handler, handler, type RequestContext } from './dispatch.js'
import {
	bytesOf,
	convertAll,
	type FetchParts,
	FORMAT_2_VERSION,
	mayComplete,
	type Reader,
	type Result,
	readAll,
	releaseOutcome,
} from './fetch-read.js'
import { SliceReply } from './slice-reply.js'

type Request = Decoded<typeof fetch.request>
type Response = ResponseInput<typeof fetch>
type PartitionAnswer = Response['responses'][number]['partitions'][number]

const READ_COMMITTED = 1
const DEBUGGING_CONSUMER = -2

export function fetchHandler(parts: FetchParts): Handler {
	return handler(fetch, {
		handle(request, context) {
			const replicaId = context.version >= 15 ? request.replicaState.replicaId : request.replicaId
			if (request.isolationLevel !== 0 && request.isolationLevel !== READ_COMMITTED) {
				return refuse(request, ERROR.UNKNOWN_SERVER_ERROR)
			}
			const opened = parts.sessions.open({
				version: context.version,
				sessionId: request.sessionId,
				sessionEpoch: request.sessionEpoch,
				isFollower: replicaId >= 0,
				targets: targetsOf(parts.metadata, request, context.version),
				forgotten: request.forgottenTopicsData.flatMap(({ topic, topicId, partitions }) =>
					partitions.map((partition) => ({ topic, topicId, partition })),
				),
			})
			if ('errorCode' in opened) {
				return { throttleTimeMs: 0, errorCode: opened.errorCode, sessionId: 0, responses: [] }
			}
			const isReadCommitted = request.isolationLevel === READ_COMMITTED && replicaId === -1
			const reader: Reader = {
				version: context.version,
				isFollower: replicaId >= 0,
				bound:
					replicaId >= 0 || replicaId === DEBUGGING_CONSUMER
						? 'logEnd'
						: isReadCommitted
							? 'lastStable'
							: 'highWatermark',
				isReadCommitted,
				maxBytes: Math.min(
					context.version >= 3 ? request.maxBytes : 0x7fffffff,
					parts.config.number('fetch.max.bytes'),
				),
			}
			return fetchNow(parts, request, reader, opened, context)
		},
		fail: (request, errorCode) => refuse(request, errorCode),
	})
}

function targetsOf(metadata: MetadataCache, request: Request, version: number): FetchTarget[] {
	return request.topics.flatMap(({ topic, topicId, partitions }) => {
		const name = version >= 13 ? (metadata.topicById(topicId)?.name ?? '') : topic
		return partitions.map((each) => ({
			topic: name,
			topicId,
			partition: each.partition,
			fetchOffset: each.fetchOffset,
			logStartOffset: each.logStartOffset,
			maxBytes: each.partitionMaxBytes,
			currentLeaderEpoch: each.currentLeaderEpoch,
			lastFetchedEpoch: each.lastFetchedEpoch,
		}))
	})
}

/** Answers at once where the rules say so, otherwise waits for data (semantics 7.10, 7.11). */
function fetchNow(
	parts: FetchParts,
	request: Request,
	reader: Reader,
	session: FetchContext,
	context: RequestContext,
): Response | Promise<Response> {
	const results = readAll(parts, reader, session.targets)
	const isDone =
		request.maxWaitMs <= 0 ||
		session.targets.length === 0 ||
		bytesOf(results) >= request.minBytes ||
		results.some(({ errorCode, diverging }) => errorCode !== ERROR.NONE || diverging !== null)
	if (isDone) return conclude(parts, reader, session, results, context)
	for (const { outcome } of results) releaseOutcome(outcome)
	return new Promise<Response>((resolve) => {
		const finish = (final: Result[]): void => resolve(conclude(parts, reader, session, final, context))
		parts.replicas.fetches.watch(
			{
				tryComplete: () => {
					if (!mayComplete(parts, reader, session.targets)) return false
					const again = readAll(parts, reader, session.targets)
					const enough =
						bytesOf(again) >= request.minBytes ||
						again.some(({ errorCode, diverging }) => errorCode !== ERROR.NONE || diverging !== null)
					if (enough) finish(again)
					else for (const { outcome } of again) releaseOutcome(outcome)
					return enough
				},
				expire: () => finish(readAll(parts, reader, session.targets)),
			},
			[...new Set(session.targets.map(({ topic, partition }) => `${topic}-${partition}`))],
			request.maxWaitMs,
		)
	})
}

function conclude(
	parts: FetchParts,
	reader: Reader,
	session: FetchContext,
	results: readonly Result[],
	context: RequestContext,
): Response | Promise<Response> {
	if (reader.version >= FORMAT_2_VERSION) return respond(parts, session, results, context)
	return convertAll(parts, reader, results).then((converted) => respond(parts, session, converted, context))
}

function respond(
	parts: FetchParts,
	session: FetchContext,
	results: readonly Result[],
	{ version, connection }: RequestContext,
): Response {
	type Topic = { topic: string; topicId: TopicId; partitions: PartitionAnswer[] }
	const topics: Topic[] = []
	const nodes = new Map<number, { nodeId: number; host: string; port: number; rack: string | null }>()
	for (const result of results) {
		const { target, outcome } = result
		const told = {
			errorCode: result.errorCode,
			highWatermark: outcome?.highWatermark ?? -1,
			logStartOffset: outcome?.logStartOffset ?? -1,
			hasRecords: (outcome?.bytes ?? 0) > 0,
			hasDivergingEpoch: result.diverging !== null,
			preferredReadReplica: -1,
		}
		if (!session.select(target, told)) continue
		let topic = topics[topics.length - 1]
		const isSame = topic !== undefined && topic.topic === target.topic && topic.topicId === target.topicId
		if (topic === undefined || !isSame) {
			topic = { topic: target.topic, topicId: target.topicId, partitions: [] }
			topics.push(topic)
		}
		const answer = answerOf(parts, result, version)
		const isMoved = result.errorCode === ERROR.NOT_LEADER_OR_FOLLOWER || result.errorCode === ERROR.FENCED_LEADER_EPOCH
		const known = isMoved && version >= 16 ? parts.metadata.partition(target.topic, target.partition) : undefined
		if (known === undefined) {
			topic.partitions.push(answer)
			continue
		}
		topic.partitions.push({ ...answer, currentLeader: { leaderId: known.leader, leaderEpoch: known.leaderEpoch } })
		const endpoint = parts.metadata.endpoint(known.leader, connection.listener)
		const rack = parts.metadata.image.brokers.get(known.leader)?.rack ?? null
		if (endpoint !== undefined) {
			nodes.set(known.leader, { nodeId: known.leader, host: endpoint.host, port: endpoint.port, rack })
		}
	}
	return {
		throttleTimeMs: 0,
		errorCode: ERROR.NONE,
		sessionId: session.sessionId,
		responses: topics,
		...(nodes.size === 0 ? {} : { nodeEndpoints: [...nodes.values()] }),
	}
}

const NO_RECORDS = Buffer.alloc(0)

function answerOf(parts: FetchParts, result: Result, version: number): PartitionAnswer {
	const { target, errorCode, outcome, diverging } = result
	// Version 5 and below do not know 56 (semantics 7.16).
	const code = errorCode === ERROR.KAFKA_STORAGE_ERROR && version < 6 ? ERROR.NOT_LEADER_OR_FOLLOWER : errorCode
	if (outcome === null) {
		return {
			partitionIndex: target.partition,
			errorCode: code,
			highWatermark: -1,
			abortedTransactions: null,
			records: NO_RECORDS,
			...(diverging === null ? {} : { divergingEpoch: diverging }),
		}
	}
	const { converted } = result
	const slices = (converted === undefined ? outcome.parts : []).map((part) =>
		part instanceof FileSlice ? new SliceReply(part, parts.clock, parts.reads) : part,
	)
	const only = slices.length === 1 ? slices[0] : undefined
	return {
		partitionIndex: target.partition,
		errorCode: code,
		highWatermark: outcome.highWatermark,
		lastStableOffset: outcome.lastStableOffset,
		logStartOffset: outcome.logStartOffset,
		abortedTransactions: outcome.aborted?.map(({ producerId, firstOffset }) => ({ producerId, firstOffset })) ?? null,
		records: converted?.records ?? (Buffer.isBuffer(only) ? only : { byteLength: outcome.bytes, parts: slices }),
	}
}

function refuse(request: Request, errorCode: number): Response {
	return {
		throttleTimeMs: 0,
		errorCode,
		sessionId: 0,
		responses: request.topics.map(({ topic, topicId, partitions }) => ({
			topic,
			topicId,
			partitions: partitions.map(({ partition }) => ({
				partitionIndex: partition,
				errorCode,
				highWatermark: -1,
				abortedTransactions: null,
				records: NO_RECORDS,
			})),
		})),
	}
}
