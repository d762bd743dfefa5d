/**
 * Metadata (key 3, versions 0–12) and DescribeCluster (key 60, versions 0–1), semantics 11.
 * Metadata: 0 an empty list means all topics; 1 null means all, rack, controller, is_internal; 2 cluster id; 4 may forbid
 * auto-creation (KIP-204); 5 offline replicas; 7 leader epoch (KIP-320); 8 authorized operations (KIP-430); 10 topic id
 * in the answer, 12 in the question (KIP-516). Answers come from the image that the controller last sent.
 * Left out: authorized operations are never computed while there is no authorizer; the "not asked" value stands.
 */

import { type TopicId, ZERO_TOPIC_ID } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import { describeCluster, metadata } from '../../protocol/messages/metadata.js'
import type { ResponseInput } from '../../protocol/schema.js'
import { INTERNAL_TOPICS, type MetadataCache, type MetadataImage, type TopicView } from '../metadata/cache.js'
import { type Handler, handler, type RequestContext } from './dispatch.js'
import { topicNameProblem } from './topic-admin.js'

export interface MetadataParts {
	readonly clusterId: string
	readonly metadata: MetadataCache
	/** Creates a topic that a client asked about; the code to answer: 5 when it was made, or why not. */
	readonly autoCreate: (topic: string) => Promise<number>
	readonly isAutoCreateEnabled: () => boolean
}

type MetadataResponse = ResponseInput<typeof metadata>
type TopicAnswer = MetadataResponse['topics'][number]

export function metadataHandler(parts: MetadataParts): Handler {
	return handler(metadata, {
		async handle(request, context) {
			const { image } = parts.metadata
			const answer = (topics: TopicAnswer[]): MetadataResponse => ({
				throttleTimeMs: 0,
				brokers: brokersFor(image, context.connection.listener),
				clusterId: parts.clusterId,
				controllerId: image.brokers.has(image.controllerId) ? image.controllerId : -1,
				topics,
			})
			const asksAll = request.topics === null || (context.version === 0 && request.topics.length === 0)
			if (asksAll) return answer([...image.topics.values()].map((topic) => topicAnswer(image, topic, context)))
			const asked = request.topics ?? []
			const byId = asked.some((topic) => topic.name === null || topic.topicId !== ZERO_TOPIC_ID)
			if (byId && context.version < 12) {
				return answer(asked.map(({ name, topicId }) => unknown(name ?? '', topicId, ERROR.INVALID_REQUEST)))
			}
			const mayCreate = request.allowAutoTopicCreation && parts.isAutoCreateEnabled()
			const topics: TopicAnswer[] = []
			for (const { name, topicId } of asked)
				topics.push(await answerOne(parts, image, name, topicId, mayCreate, context))
			return answer(topics)
		},
		fail: (request, errorCode) => ({
			throttleTimeMs: 0,
			brokers: [],
			topics: (request.topics ?? []).map(({ name, topicId }) => unknown(name ?? '', topicId, errorCode)),
		}),
	})
}

async function answerOne(
	parts: MetadataParts,
	image: MetadataImage,
	name: string | null,
	topicId: TopicId,
	mayCreate: boolean,
	context: RequestContext,
): Promise<TopicAnswer> {
	if (name === null || topicId !== ZERO_TOPIC_ID) {
		const found = image.topicNames.get(topicId)
		const topic = found === undefined ? undefined : image.topics.get(found)
		if (topic === undefined) return unknown(null, topicId, ERROR.UNKNOWN_TOPIC_ID)
		return topicAnswer(image, topic, context)
	}
	const topic = image.topics.get(name)
	if (topic !== undefined) return topicAnswer(image, topic, context)
	if (topicNameProblem(name) !== null) return unknown(name, ZERO_TOPIC_ID, ERROR.INVALID_TOPIC_EXCEPTION)
	const code = mayCreate ? await parts.autoCreate(name) : ERROR.UNKNOWN_TOPIC_OR_PARTITION
	return unknown(name, ZERO_TOPIC_ID, code)
}

function unknown(name: string | null, topicId: TopicId, errorCode: number): TopicAnswer {
	const isInternal = name !== null && INTERNAL_TOPICS.has(name)
	return { errorCode, name, topicId, isInternal, partitions: [] }
}

function brokersFor(image: MetadataImage, listener: string): MetadataResponse['brokers'] {
	const brokers: { nodeId: number; host: string; port: number; rack: string | null }[] = []
	for (const { id, endpoints, rack } of image.brokers.values()) {
		const endpoint = endpoints.find((each) => each.listener === listener)
		if (endpoint !== undefined) brokers.push({ nodeId: id, host: endpoint.host, port: endpoint.port, rack })
	}
	return brokers
}

function topicAnswer(image: MetadataImage, topic: TopicView, { version, connection }: RequestContext): TopicAnswer {
	const partitions = [...topic.partitions.values()].map((partition) => {
		const leader = image.brokers.get(partition.leader)
		const isReachable = leader?.endpoints.some((endpoint) => endpoint.listener === connection.listener) === true
		const isAlive = (id: number): boolean => image.brokers.has(id)
		// Version 0 cannot name dead replicas (semantics 11.4).
		const replicas = version === 0 ? partition.replicas.filter(isAlive) : partition.replicas
		const isr = version === 0 ? partition.isr.filter(isAlive) : partition.isr
		let errorCode: number = ERROR.NONE
		if (leader === undefined) errorCode = ERROR.LEADER_NOT_AVAILABLE
		else if (!isReachable) errorCode = version >= 6 ? ERROR.LISTENER_NOT_FOUND : ERROR.LEADER_NOT_AVAILABLE
		else if (replicas.length < partition.replicas.length) errorCode = ERROR.REPLICA_NOT_AVAILABLE
		return {
			errorCode,
			partitionIndex: partition.partition,
			leaderId: isReachable ? partition.leader : -1,
			leaderEpoch: partition.leaderEpoch,
			replicaNodes: replicas,
			isrNodes: isr,
			offlineReplicas: partition.offlineReplicas,
		}
	})
	return {
		errorCode: ERROR.NONE,
		name: topic.name,
		topicId: topic.topicId,
		isInternal: INTERNAL_TOPICS.has(topic.name),
		partitions,
	}
}

const BROKERS = 1
const CONTROLLERS = 2

export function describeClusterHandler(parts: Pick<MetadataParts, 'clusterId' | 'metadata'>): Handler {
	return handler(describeCluster, {
		handle(request, { connection, version }) {
			if (request.endpointType !== BROKERS) {
				const isKnown = request.endpointType === CONTROLLERS
				const code = isKnown ? ERROR.MISMATCHED_ENDPOINT_TYPE : ERROR.UNSUPPORTED_ENDPOINT_TYPE
				return failed(version === 0 ? ERROR.INVALID_REQUEST : code, request.endpointType)
			}
			const { image } = parts.metadata
			return {
				throttleTimeMs: 0,
				errorCode: ERROR.NONE,
				endpointType: BROKERS,
				clusterId: parts.clusterId,
				controllerId: image.brokers.has(image.controllerId) ? image.controllerId : -1,
				brokers: brokersFor(image, connection.listener).map(({ nodeId, ...rest }) => ({ brokerId: nodeId, ...rest })),
			}
		},
		fail: (request, errorCode) => failed(errorCode, request.endpointType),
	})
}

function failed(errorCode: number, endpointType: number): ResponseInput<typeof describeCluster> {
	const errorMessage = `endpoint type ${endpointType} cannot be described here`
	return { throttleTimeMs: 0, errorCode, errorMessage, clusterId: '', brokers: [] }
}
