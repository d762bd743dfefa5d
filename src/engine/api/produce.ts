/**
 * Produce (key 0, versions 0–11), semantics 4–6. 3 and up carry exactly one batch of magic 2 (KIP-98), 5 log start, 7 zstd
 * (KIP-110), 8 bad records named (KIP-467), 10 the new leader (KIP-951). Versions 0–2 carry magic 0 and 1 as well.
 * acks=0 never gets a reply; any error of it ends the connection. Appends happen in order of arrival; a request that waits
 * for the ISR does not hold up the append of the next.
 */

import { ERROR } from '../../protocol/errors.js'
import { produce } from '../../protocol/messages/produce.js'
import type { Decoded, ResponseInput } from '../../protocol/schema.js'
import { errorText, type Logger } from '../../runtime/logger.js'
import type { AppendOutcome } from '../log/append.js'
import { INTERNAL_TOPICS, type MetadataCache } from '../metadata/cache.js'
import { CLOSE } from '../net/connection.js'
import type { ReplicaManager } from '../replica/manager.js'
import type { Partition } from '../replica/partition.js'
import { type Handler, handler, type RequestContext } from './dispatch.js'

export interface ProduceParts {
	readonly replicas: ReplicaManager
	readonly metadata: MetadataCache
	readonly log: Logger
}

type Request = Decoded<typeof produce.request>
type Response = ResponseInput<typeof produce>
type PartitionAnswer = Response['responses'][number]['partitionResponses'][number]

/** One partition of a request: where it stands and what is known of its answer. */
interface Entry {
	readonly topic: string
	readonly index: number
	answer: PartitionAnswer
	/** Set while acks=all waits: the offset that the high watermark must pass. */
	waiting: { readonly partition: Partition; readonly endOffset: number } | null
}

const ADMIN_CLIENT = '__admin_client'
const ALL = -1

export function produceHandler(parts: ProduceParts): Handler {
	return handler(produce, {
		handle(request, context) {
			const acks = request.acks
			if (request.transactionalId === null && hasTransactionalBatch(request)) {
				return finish(acks, refuseAll(request, ERROR.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
			}
			const entries: Entry[] = []
			const pending: Promise<void>[] = []
			for (const { name, partitionData } of request.topicData) {
				for (const { index, records } of partitionData) {
					const entry: Entry = { topic: name, index, answer: answerOf(index, ERROR.NONE), waiting: null }
					entries.push(entry)
					const started = tryAppend(parts, entry, records as Buffer | null, acks, context)
					if (started !== null) pending.push(started)
				}
			}
			if (pending.length === 0) return settle(parts, request, acks, entries, context)
			return Promise.all(pending).then(() => settle(parts, request, acks, entries, context))
		},
		fail: (request, errorCode) => refuseAll(request, errorCode),
	})
}

function hasTransactionalBatch(request: Request): boolean {
	return request.topicData.some(({ partitionData }) =>
		partitionData.some(({ records }) => {
			const bytes = records as Buffer | null
			return bytes !== null && bytes.length >= 23 && bytes[16] === 2 && ((bytes[22] as number) & 0x10) !== 0
		}),
	)
}

function answerOf(index: number, errorCode: number, errorMessage: string | null = null): PartitionAnswer {
	return { index, errorCode, baseOffset: -1, logAppendTimeMs: -1, logStartOffset: -1, recordErrors: [], errorMessage }
}

/**
 * {@link startAppend}, and a fault of ours there is this partition's answer alone: the request's bytes are used again once
 * it is answered, so its answer waits for every partition.
 */
function tryAppend(
	parts: ProduceParts,
	entry: Entry,
	records: Buffer | null,
	acks: number,
	context: RequestContext,
): Promise<void> | null {
	const failed = (error: unknown): void => {
		parts.log.error('an append failed', { topic: entry.topic, partition: entry.index, reason: errorText(error) })
		entry.answer = answerOf(entry.index, ERROR.UNKNOWN_SERVER_ERROR)
		entry.waiting = null
	}
	try {
		return startAppend(parts, entry, records, acks, context)?.catch(failed) ?? null
	} catch (error) {
		failed(error)
		return null
	}
}

/** Begins one partition's append; null when its outcome is known at once. */
function startAppend(
	parts: ProduceParts,
	entry: Entry,
	records: Buffer | null,
	acks: number,
	context: RequestContext,
): Promise<void> | null {
	const { topic, index } = entry
	const refuse = (errorCode: number, message: string | null = null): null => {
		entry.answer = answerOf(index, errorCode, message)
		return null
	}
	if (parts.metadata.partition(topic, index) === undefined) return refuse(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
	if (INTERNAL_TOPICS.has(topic) && context.clientId !== ADMIN_CLIENT) return refuse(ERROR.INVALID_TOPIC_EXCEPTION)
	// A missing set of records never gets an answer from 3.9.2 (semantics 4.4); ours says what is wrong.
	if (records === null) return refuse(ERROR.INVALID_RECORD, 'The records field is null.')
	if (acks !== 0 && acks !== 1 && acks !== ALL) return refuse(ERROR.INVALID_REQUIRED_ACKS)
	const partition = parts.replicas.findLeader(topic, index)
	if (typeof partition === 'number') return refuse(partition)
	if (acks === ALL && partition.isr.length < parts.replicas.minIsrOf(partition))
		return refuse(ERROR.NOT_ENOUGH_REPLICAS)
	const outcome = partition.append(records, { origin: 'client', produceVersion: context.version })
	if (outcome instanceof Promise) {
		return outcome.then((settled) => appended(parts, entry, partition, settled, acks))
	}
	appended(parts, entry, partition, outcome, acks)
	return null
}

function appended(parts: ProduceParts, entry: Entry, partition: Partition, outcome: AppendOutcome, acks: number): void {
	entry.answer = {
		index: entry.index,
		errorCode: outcome.errorCode,
		baseOffset: outcome.firstOffset,
		logAppendTimeMs: outcome.logAppendTimeMs,
		logStartOffset: outcome.logStartOffset,
		recordErrors: outcome.recordErrors.map(({ batchIndex, message }) => ({
			batchIndex,
			batchIndexErrorMessage: message,
		})),
		errorMessage: outcome.message,
	}
	if (outcome.errorCode !== ERROR.NONE) return
	if (!outcome.duplicate) parts.replicas.appended(partition)
	if (acks === ALL && partition.log.highWatermark <= outcome.lastOffset) {
		entry.waiting = { partition, endOffset: outcome.lastOffset + 1 }
	}
}

function settle(
	parts: ProduceParts,
	request: Request,
	acks: number,
	entries: readonly Entry[],
	context: RequestContext,
): Response | null | typeof CLOSE | Promise<Response> {
	const waiting = entries.filter((entry) => entry.waiting !== null)
	if (waiting.length === 0) return finish(acks, respond(parts, request, entries, context))
	return new Promise<Response>((resolve) => {
		const done = (): void => resolve(respond(parts, request, entries, context))
		parts.replicas.produces.watch(
			{
				tryComplete: () => {
					for (const entry of waiting) tryEntry(parts, entry)
					if (waiting.some((entry) => entry.waiting !== null)) return false
					done()
					return true
				},
				expire: () => {
					for (const entry of waiting) {
						if (entry.waiting !== null) entry.answer = { ...entry.answer, errorCode: ERROR.REQUEST_TIMED_OUT }
						entry.waiting = null
					}
					done()
				},
			},
			waiting.map((entry) => entry.waiting?.partition.key ?? ''),
			request.timeoutMs,
		)
	})
}

/** Decides an entry that waits for the high watermark, if it can be decided (semantics 6.3–6.5). */
function tryEntry(parts: ProduceParts, entry: Entry): void {
	const { waiting } = entry
	if (waiting === null) return
	const { partition, endOffset } = waiting
	const decide = (errorCode: number): void => {
		entry.waiting = null
		if (errorCode !== ERROR.NONE) entry.answer = { ...entry.answer, errorCode }
	}
	const present = parts.replicas.findLeader(entry.topic, entry.index)
	if (typeof present === 'number') decide(present)
	// A leader that stays through a new epoch keeps its log; every loss of the role is seen here when it happens.
	else if (present !== partition) decide(ERROR.NOT_LEADER_OR_FOLLOWER)
	else if (partition.log.highWatermark >= endOffset) {
		const isShort = partition.isr.length < parts.replicas.minIsrOf(partition)
		decide(isShort ? ERROR.NOT_ENOUGH_REPLICAS_AFTER_APPEND : ERROR.NONE)
	}
}

/** acks=0: no reply, and the end of the connection when anything went wrong (semantics 6.1). */
function finish(acks: number, response: Response): Response | null | typeof CLOSE {
	if (acks !== 0) return response
	const failed = response.responses.some(({ partitionResponses }) =>
		partitionResponses.some(({ errorCode }) => errorCode !== ERROR.NONE),
	)
	return failed ? CLOSE : null
}

function respond(
	parts: ProduceParts,
	request: Request,
	entries: readonly Entry[],
	{ version, connection }: RequestContext,
): Response {
	let nodes: NodeEndpoints | null = null
	let next = 0
	const responses = request.topicData.map(({ name, partitionData }) => ({
		name,
		partitionResponses: partitionData.map(() => {
			const { answer } = entries[next++] as Entry
			if (version < 10 || answer.errorCode !== ERROR.NOT_LEADER_OR_FOLLOWER) return answer
			const known = parts.metadata.partition(name, answer.index)
			if (known === undefined) return answer
			const endpoint = parts.metadata.endpoint(known.leader, connection.listener)
			const rack = parts.metadata.image.brokers.get(known.leader)?.rack ?? null
			if (endpoint !== undefined) {
				nodes ??= new Map()
				nodes.set(known.leader, { nodeId: known.leader, host: endpoint.host, port: endpoint.port, rack })
			}
			return { ...answer, currentLeader: { leaderId: known.leader, leaderEpoch: known.leaderEpoch } }
		}),
	}))
	return { responses, throttleTimeMs: 0, ...(nodes === null ? {} : { nodeEndpoints: endpointsOf(nodes) }) }
}

type NodeEndpoints = Map<number, { nodeId: number; host: string; port: number; rack: string | null }>

function endpointsOf(nodes: NodeEndpoints) {
	return [...nodes.values()]
}

function refuseAll(request: Request, errorCode: number): Response {
	return {
		responses: request.topicData.map(({ name, partitionData }) => ({
			name,
			partitionResponses: partitionData.map(({ index }) => answerOf(index, errorCode)),
		})),
		throttleTimeMs: 0,
	}
}
