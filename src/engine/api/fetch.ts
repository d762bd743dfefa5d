/**
 * Fetch (key 1, versions 0–17), semantics 7 and 8. 3 response limit (KIP-74), 4 isolation level (KIP-98), 5 log start, 7
 * sessions (KIP-227), 9 leader epoch (KIP-320), 12 diverging epoch (KIP-595), 13 topic ids (KIP-516), 15 replica state
 * (KIP-903), 16 the new leader (KIP-951). Stored bytes leave as they are: from memory, or as slices of segment files that
 * the connection reads when its socket has room. Left out until the next issue: old formats (versions 0–3 answer 35 where
 * there is data). No preferred read replica is ever named.
 */

import { type TopicId, ZERO_TOPIC_ID } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import { fetch } from '../../protocol/messages/fetch.js'
import type { Decoded, ResponseInput } from '../../protocol/schema.js'
import type { Clock } from '../../runtime/ports.js'
import type { BrokerConfig } from '../config.js'
import { FileSlice, type ReadBound, type ReadOutcome } from '../log/read.js'
import type { ReadMode } from '../log/read-mode.js'
import type { MetadataCache } from '../metadata/cache.js'
import type { ConfigStore } from '../metadata/config-store.js'
import type { MemoryBudget } from '../net/budget.js'
import type { ReplySlice } from '../net/connection.js'
import type { FetchContext, FetchSessions, FetchTarget } from '../replica/fetch-session.js'
import type { ReplicaManager } from '../replica/manager.js'
import type { Partition } from '../replica/partition.js'
import { type Handler, handler, type RequestContext } from './dispatch.js'

export interface FetchParts {
	readonly replicas: ReplicaManager
	readonly metadata: MetadataCache
	readonly sessions: FetchSessions
	readonly config: BrokerConfig
	readonly configs: ConfigStore
	readonly budget: MemoryBudget
	readonly clock: Clock
	readonly reads: ReadMode
}

type Request = Decoded<typeof fetch.request>
type Response = ResponseInput<typeof fetch>
type PartitionAnswer = Response['responses'][number]['partitions'][number]

/** The isolation and role of a request. */
interface Reader {
	readonly version: number
	readonly bound: ReadBound
	readonly isReadCommitted: boolean
	readonly maxBytes: number
}

/** Most bytes of records that an answer holds in memory: a peer that does not read would hold what it is given. */
const MEMORY_BYTES_MAX = 2 * 1024 * 1024
/** Above this share of the broker's budget answers hold no records in memory. */
const MEMORY_LOAD_MAX = 0.25

const READ_COMMITTED = 1
const DEBUGGING_CONSUMER = -2

/** One partition's part of an answer, with what it holds. */
interface Result {
	readonly target: FetchTarget
	readonly errorCode: number
	readonly outcome: ReadOutcome | null
	readonly diverging: { readonly epoch: number; readonly endOffset: number } | null
}

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
	if (isDone) return respond(parts, session, results, context)
	for (const { outcome } of results) releaseOutcome(outcome)
	return new Promise<Response>((resolve) => {
		const finish = (final: Result[]): void => resolve(respond(parts, session, final, context))
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

/** A cheap look before all is read again: has any partition data, or changed its role? */
function mayComplete(parts: FetchParts, reader: Reader, targets: readonly FetchTarget[]): boolean {
	for (const { topic, partition, fetchOffset, currentLeaderEpoch } of targets) {
		const found = parts.replicas.findLeader(topic, partition)
		if (typeof found === 'number' || found.epochError(currentLeaderEpoch) !== ERROR.NONE) return true
		if (boundOf(found, reader.bound) !== fetchOffset) return true
	}
	return false
}

function boundOf({ log }: Partition, bound: ReadBound): number {
	if (bound === 'logEnd') return log.logEndOffset
	return bound === 'highWatermark' ? log.highWatermark : log.lastStableOffset
}

function bytesOf(results: readonly Result[]): number {
	let sum = 0
	for (const { outcome } of results) sum += outcome?.bytes ?? 0
	return sum
}

function releaseOutcome(outcome: ReadOutcome | null): void {
	for (const part of outcome?.parts ?? []) if (part instanceof FileSlice) part.release()
}

function readAll(parts: FetchParts, reader: Reader, targets: readonly FetchTarget[]): Result[] {
	let left = reader.maxBytes
	let inMemory = 0
	let isFirst = true
	const results: Result[] = []
	for (const target of targets) {
		const fromFile = inMemory > MEMORY_BYTES_MAX || parts.budget.load > MEMORY_LOAD_MAX
		const result = readOne(parts, reader, target, { left, isFirst, fromFile })
		results.push(result)
		const bytes = result.outcome?.bytes ?? 0
		if (result.outcome?.parts.some(Buffer.isBuffer)) inMemory += bytes
		if (bytes > 0) isFirst = false
		left = Math.max(0, left - bytes)
	}
	return results
}

/** Where an answer stands when the next partition is read. */
interface SoFar {
	/** Bytes that the answer may still take. */
	readonly left: number
	readonly isFirst: boolean
	readonly fromFile: boolean
}

function readOne(parts: FetchParts, reader: Reader, target: FetchTarget, soFar: SoFar): Result {
	const failed = (errorCode: number): Result => ({ target, errorCode, outcome: null, diverging: null })
	if (target.topic === '' && target.topicId !== ZERO_TOPIC_ID) {
		// A session may learn the name later (semantics 8.9).
		target.topic = parts.metadata.topicById(target.topicId)?.name ?? ''
		if (target.topic === '') return failed(ERROR.UNKNOWN_TOPIC_ID)
	}
	const partition = parts.replicas.findLeader(target.topic, target.partition)
	if (typeof partition === 'number') return failed(partition)
	const known = partition.topicId
	if (target.topicId !== ZERO_TOPIC_ID && known !== null && known !== target.topicId) {
		return failed(ERROR.INCONSISTENT_TOPIC_ID)
	}
	const epochError = partition.epochError(target.currentLeaderEpoch)
	if (epochError !== ERROR.NONE) return failed(epochError)
	if (target.lastFetchedEpoch >= 0) {
		const diverging = divergence(partition, target)
		if (typeof diverging === 'number') return failed(diverging)
		if (diverging !== null) return { target, errorCode: ERROR.NONE, outcome: null, diverging }
	}
	if (reader.version < 10 && parts.config.topicText('compression.type', parts.configs.topic(target.topic)) === 'zstd') {
		return failed(ERROR.UNSUPPORTED_COMPRESSION_TYPE)
	}
	const outcome = partition.log.read({
		offset: target.fetchOffset,
		maxBytes: Math.max(0, Math.min(target.maxBytes, soFar.left)),
		minOneBatch: soFar.isFirst && reader.version >= 3,
		upTo: reader.bound,
		withAborted: reader.isReadCommitted,
		fromFile: soFar.fromFile,
	})
	if (outcome.errorCode !== ERROR.NONE) return failed(outcome.errorCode)
	if (reader.version < 4 && outcome.bytes > 0) {
		releaseOutcome(outcome)
		return failed(ERROR.UNSUPPORTED_VERSION)
	}
	return { target, errorCode: ERROR.NONE, outcome, diverging: null }
}

/** Where the fetcher's log parts from ours (semantics 7.9): null when it does not, or the code 1. */
function divergence(partition: Partition, target: FetchTarget): { epoch: number; endOffset: number } | null | number {
	const { epoch, endOffset } = partition.log.endOffsetForEpoch(target.lastFetchedEpoch)
	if (epoch < 0 || endOffset < 0 || target.fetchOffset < partition.log.logStartOffset) return ERROR.OFFSET_OUT_OF_RANGE
	if (epoch < target.lastFetchedEpoch || endOffset < target.fetchOffset) return { epoch, endOffset }
	return null
}

/** A slice of a segment file as the connection sends it. */
class SliceReply implements ReplySlice {
	readonly #slice: FileSlice
	readonly #clock: Clock
	readonly #mode: ReadMode

	constructor(slice: FileSlice, clock: Clock, mode: ReadMode) {
		this.#slice = slice
		this.#clock = clock
		this.#mode = mode
	}

	get length(): number {
		return this.#slice.length
	}

	read(into: Buffer, offset: number): void | Promise<void> {
		const { file, position } = this.#slice
		if (this.#mode.usesPool()) return file.read(into, position + offset).then((read) => this.#check(read, into))
		const startedMs = this.#clock.monotonicMs()
		const read = file.readNow(into, position + offset)
		this.#mode.note(into.length, this.#clock.monotonicMs() - startedMs)
		this.#check(read, into)
	}

	#check(read: number, into: Buffer): void {
		if (read < into.length) throw new Error(`${this.#slice.file.path} ended ${into.length - read} bytes early`)
	}

	release(): void {
		this.#slice.release()
	}
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
	const slices = outcome.parts.map((part) =>
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
		records: Buffer.isBuffer(only) ? only : { byteLength: outcome.bytes, parts: slices },
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
