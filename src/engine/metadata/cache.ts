/**
 * The cluster as the controller last told this broker (UpdateMetadata, semantics 14.9): live brokers, topics, leaders.
 * An image is never changed: an update makes a new one and swaps it whole, so that a handler sees one state throughout.
 */

import { type TopicId, ZERO_TOPIC_ID } from '../../base/ids.js'
import type { updateMetadata } from '../../protocol/messages/replication.js'
import type { RequestInput } from '../../protocol/schema.js'

export interface EndpointView {
	readonly listener: string
	readonly host: string
	readonly port: number
	/** 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL. */
	readonly securityProtocol: number
}

export interface BrokerView {
	readonly id: number
	readonly endpoints: readonly EndpointView[]
	readonly rack: string | null
}

export interface PartitionView {
	readonly partition: number
	/** -1: none. */
	readonly leader: number
	readonly leaderEpoch: number
	readonly controllerEpoch: number
	readonly partitionEpoch: number
	readonly replicas: readonly number[]
	readonly isr: readonly number[]
	readonly offlineReplicas: readonly number[]
}

export interface TopicView {
	readonly name: string
	readonly topicId: TopicId
	readonly partitions: ReadonlyMap<number, PartitionView>
}

export interface MetadataImage {
	/** -1: unknown. */
	readonly controllerId: number
	readonly brokers: ReadonlyMap<number, BrokerView>
	readonly topics: ReadonlyMap<string, TopicView>
	readonly topicNames: ReadonlyMap<TopicId, string>
}

const EMPTY: MetadataImage = { controllerId: -1, brokers: new Map(), topics: new Map(), topicNames: new Map() }

/** Leader value by which UpdateMetadata says that a partition is being deleted. */
export const LEADER_DURING_DELETE = -2

export const INTERNAL_TOPICS: ReadonlySet<string> = new Set(['__consumer_offsets', '__transaction_state'])

export type UpdateMetadataRequest = RequestInput<typeof updateMetadata>

export class MetadataCache {
	#image: MetadataImage = EMPTY
	readonly #listeners = new Set<(image: MetadataImage) => void>()

	get image(): MetadataImage {
		return this.#image
	}

	topic(name: string): TopicView | undefined {
		return this.#image.topics.get(name)
	}

	/** Undefined for an unknown id and for the zero id. */
	topicById(id: TopicId): TopicView | undefined {
		const name = this.#image.topicNames.get(id)
		return name === undefined ? undefined : this.#image.topics.get(name)
	}

	partition(topic: string, partition: number): PartitionView | undefined {
		return this.#image.topics.get(topic)?.partitions.get(partition)
	}

	/** The endpoint of a live broker on a listener; undefined when it is not live or has no such listener. */
	endpoint(brokerId: number, listener: string): EndpointView | undefined {
		return this.#image.brokers.get(brokerId)?.endpoints.find((endpoint) => endpoint.listener === listener)
	}

	/** Called after each change, until the returned function is called. */
	onChange(listener: (image: MetadataImage) => void): () => void {
		this.#listeners.add(listener)
		return () => this.#listeners.delete(listener)
	}

	/** Takes an UpdateMetadata (grouped form). Returns the partitions that are gone by it. */
	update(request: UpdateMetadataRequest): { topic: string; partition: number }[] {
		const gone: { topic: string; partition: number }[] = []
		const topics = new Map(this.#image.topics)
		const topicNames = new Map(this.#image.topicNames)
		for (const state of request.topicStates ?? []) {
			const before = topics.get(state.topicName)
			const topicId = state.topicId ?? ZERO_TOPIC_ID
			// The same name under a new id is another topic: nothing of the old one stays.
			const isSame = before !== undefined && (topicId === ZERO_TOPIC_ID || before.topicId === topicId)
			const partitions = new Map(isSame ? before.partitions : [])
			for (const given of state.partitionStates) {
				if (given.leader === LEADER_DURING_DELETE) {
					partitions.delete(given.partitionIndex)
					gone.push({ topic: state.topicName, partition: given.partitionIndex })
				} else {
					partitions.set(given.partitionIndex, {
						partition: given.partitionIndex,
						leader: given.leader,
						leaderEpoch: given.leaderEpoch,
						controllerEpoch: given.controllerEpoch,
						partitionEpoch: given.zkVersion,
						replicas: given.replicas,
						isr: given.isr,
						offlineReplicas: given.offlineReplicas ?? [],
					})
				}
			}
			if (before !== undefined && topicNames.get(before.topicId) === before.name) topicNames.delete(before.topicId)
			if (partitions.size === 0) topics.delete(state.topicName)
			else {
				topics.set(state.topicName, { name: state.topicName, topicId, partitions })
				if (topicId !== ZERO_TOPIC_ID) topicNames.set(topicId, state.topicName)
			}
		}
		const brokers = new Map(request.liveBrokers.map((broker) => [broker.id, brokerView(broker)]))
		this.#image = { controllerId: request.controllerId, brokers, topics, topicNames }
		for (const listener of [...this.#listeners]) listener(this.#image)
		return gone
	}
}

function brokerView(broker: UpdateMetadataRequest['liveBrokers'][number]): BrokerView {
	const endpoints = (broker.endpoints ?? []).map((endpoint) => ({
		listener: endpoint.listener ?? '',
		host: endpoint.host ?? '',
		port: endpoint.port ?? -1,
		securityProtocol: endpoint.securityProtocol ?? 0,
	}))
	return { id: broker.id, endpoints, rack: broker.rack ?? null }
}
