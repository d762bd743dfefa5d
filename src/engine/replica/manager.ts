/**
 * All replicas of this broker: follows the controller's orders, appends and reads by partition, and wakes what waits
 * when something moved. Handlers and coordinators reach logs only through here.
 */

import { type PartitionKey, partitionKey, type TopicId, type TopicPartition, ZERO_TOPIC_ID } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import type { leaderAndIsr, stopReplica } from '../../protocol/messages/replication.js'
import type { RequestInput, ResponseInput } from '../../protocol/schema.js'
import { errorText, type Logger } from '../../runtime/logger.js'
import type { Clock } from '../../runtime/ports.js'
import type { BrokerConfig } from '../config.js'
import type { LogManager } from '../log/manager.js'
import { Slices } from '../log/scan.js'
import type { MetadataCache, UpdateMetadataRequest } from '../metadata/cache.js'
import type { ConfigStore } from '../metadata/config-store.js'
import { logConfigOf } from './log-settings.js'
import { Partition } from './partition.js'
import { Purgatory } from './purgatory.js'

type LeaderAndIsrRequest = RequestInput<typeof leaderAndIsr>
type LeaderAndIsrResponse = ResponseInput<typeof leaderAndIsr>
type StopReplicaRequest = RequestInput<typeof stopReplica>
type StopReplicaResponse = ResponseInput<typeof stopReplica>
type PartitionOrder = NonNullable<LeaderAndIsrRequest['topicStates']>[number]['partitionStates'][number]

/** What coordinators want to hear of internal partitions. */
export interface LeadershipListener {
	gained(partition: Partition): void
	lost(topic: string, partition: number): void
	/** Partitions of any topic that are deleted. */
	gone(partitions: readonly { readonly topic: string; readonly partition: number }[]): void
}

export interface ReplicaParts {
	readonly brokerId: number
	readonly clock: Clock
	readonly log: Logger
	readonly logs: LogManager
	readonly config: BrokerConfig
	readonly configs: ConfigStore
	readonly metadata: MetadataCache
}

const UNDELETED = -1
const DURING_DELETE = -2

export class ReplicaManager {
	readonly produces: Purgatory
	readonly fetches: Purgatory
	readonly #parts: ReplicaParts
	readonly #partitions = new Map<PartitionKey, Partition>()
	/** Replicas on failed directories: they exist and answer 56. */
	readonly #offline = new Set<PartitionKey>()
	readonly #listeners: LeadershipListener[] = []
	#controllerEpoch = 0

	constructor(parts: ReplicaParts) {
		this.#parts = parts
		this.produces = new Purgatory(parts.clock)
		this.fetches = new Purgatory(parts.clock)
	}

	get partitions(): IterableIterator<Partition> {
		return this.#partitions.values()
	}

	onLeadership(listener: LeadershipListener): void {
		this.#listeners.push(listener)
	}

	/** The replica on this broker, or the code why there is none: 56 failed directory, 6 elsewhere, 3 unknown. */
	find(topic: string, partition: number): Partition | number {
		const key = partitionKey(topic, partition)
		const found = this.#partitions.get(key)
		if (found !== undefined) return found
		if (this.#offline.has(key)) return ERROR.KAFKA_STORAGE_ERROR
		const isKnown = this.#parts.metadata.partition(topic, partition) !== undefined
		return isKnown ? ERROR.NOT_LEADER_OR_FOLLOWER : ERROR.UNKNOWN_TOPIC_OR_PARTITION
	}

	/** As {@link find}, but only a replica that leads. */
	findLeader(topic: string, partition: number): Partition | number {
		const found = this.find(topic, partition)
		if (typeof found === 'number' || found.isLeader) return found
		return ERROR.NOT_LEADER_OR_FOLLOWER
	}

	/** ISR members that acks=all needs on this partition. */
	minIsrOf(partition: Partition): number {
		const { config, configs } = this.#parts
		return partition.minIsr(config.topicNumber('min.insync.replicas', configs.topic(partition.topic)))
	}

	/** Call after an append: moves the high watermark and wakes who waits for it or for data. */
	appended(partition: Partition): void {
		if (partition.maybeAdvanceHighWatermark()) this.produces.check(partition.key)
		this.fetches.check(partition.key)
	}

	/** LeaderAndIsr: takes roles at their epochs (semantics 14.3–14.6). */
	async applyLeaderAndIsr(request: LeaderAndIsrRequest): Promise<LeaderAndIsrResponse> {
		if (request.controllerEpoch < this.#controllerEpoch) {
			this.#parts.log.warn('order of an old controller refused', { epoch: request.controllerEpoch })
			return { errorCode: ERROR.STALE_CONTROLLER_EPOCH, topics: [] }
		}
		this.#controllerEpoch = request.controllerEpoch
		const topics = []
		// Thousands of partitions at once: logs are made and roles taken in slices, so that the loop (and the session) lives.
		const slices = new Slices(this.#parts.clock)
		for (const topic of request.topicStates ?? []) {
			const topicId = topic.topicId ?? ZERO_TOPIC_ID
			const partitionErrors = []
			for (const order of topic.partitionStates) {
				if (slices.isOver) await slices.giveWay()
				const isOld = request.controllerEpoch < this.#controllerEpoch
				const errorCode = isOld ? ERROR.STALE_CONTROLLER_EPOCH : await this.#apply(topic.topicName, topicId, order)
				partitionErrors.push({ partitionIndex: order.partitionIndex, errorCode })
			}
			topics.push({ topicId, partitionErrors })
		}
		return { errorCode: ERROR.NONE, topics }
	}

	async #apply(topic: string, topicId: TopicId, order: PartitionOrder): Promise<number> {
		const { brokerId, log } = this.#parts
		const index = order.partitionIndex
		const key = partitionKey(topic, index)
		if (!order.replicas.includes(brokerId)) return ERROR.UNKNOWN_TOPIC_OR_PARTITION
		if (this.#offline.has(key)) return ERROR.KAFKA_STORAGE_ERROR
		let partition = this.#partitions.get(key)
		const known = partition?.topicId ?? ZERO_TOPIC_ID
		if (topicId !== ZERO_TOPIC_ID && known !== ZERO_TOPIC_ID && known !== topicId) return ERROR.INCONSISTENT_TOPIC_ID
		if (partition !== undefined && order.leaderEpoch <= partition.leaderEpoch) {
			// The same order again (a broker that came back) changes nothing and is no fault.
			return order.leaderEpoch === partition.leaderEpoch ? ERROR.NONE : ERROR.STALE_CONTROLLER_EPOCH
		}
		try {
			const created = partition ?? (await this.#create(topic, index, topicId))
			if (typeof created === 'number') return created
			partition = created
		} catch (error) {
			// Whatever it is (a disk, a file of nonsense): the other partitions of the order must not suffer for it.
			log.error('replica not created', { topic, partition: index, reason: errorText(error) })
			this.#offline.add(key)
			return ERROR.KAFKA_STORAGE_ERROR
		}
		this.#takeRole(partition, order)
		return ERROR.NONE
	}

	async #create(topic: string, index: number, topicId: TopicId): Promise<Partition | number> {
		const { logs, config, configs, brokerId } = this.#parts
		const key = partitionKey(topic, index)
		const settings = logConfigOf(config, configs.topic(topic))
		const wanted = topicId === ZERO_TOPIC_ID ? null : topicId
		const log = await logs.getOrCreate({ topic, partition: index }, wanted, settings)
		if (topicId !== ZERO_TOPIC_ID && log.topicId !== null && log.topicId !== topicId) return ERROR.INCONSISTENT_TOPIC_ID
		const partition = new Partition(topic, index, key, log, brokerId)
		this.#partitions.set(key, partition)
		return partition
	}

	#takeRole(partition: Partition, order: PartitionOrder): void {
		const { brokerId, log } = this.#parts
		const role = order.leader === brokerId ? 'leader' : 'follower'
		const wasLeader = partition.isLeader
		if (role === 'leader') partition.makeLeader(order)
		else partition.makeFollower(order)
		log.info(`partition has a ${role}`, {
			topic: partition.topic,
			partition: partition.partition,
			leader: order.leader,
			epoch: order.leaderEpoch,
			isr: order.isr.join(','),
		})
		if (partition.isLeader) for (const listener of this.#listeners) listener.gained(partition)
		else if (wasLeader) for (const listener of this.#listeners) listener.lost(partition.topic, partition.partition)
		this.produces.check(partition.key)
		this.fetches.check(partition.key)
	}

	/** UpdateMetadata: the image. Coordinators hear of partitions that are gone (semantics 16.15). */
	applyUpdateMetadata(request: UpdateMetadataRequest): { errorCode: number } {
		if (request.controllerEpoch < this.#controllerEpoch) return { errorCode: ERROR.STALE_CONTROLLER_EPOCH }
		this.#controllerEpoch = request.controllerEpoch
		const gone = this.#parts.metadata.update(request)
		if (gone.length > 0) for (const listener of this.#listeners) listener.gone(gone)
		return { errorCode: ERROR.NONE }
	}

	/** StopReplica: lets replicas go, and deletes their logs where asked (semantics 14.8). */
	async applyStopReplica(request: StopReplicaRequest): Promise<StopReplicaResponse> {
		if (request.controllerEpoch < this.#controllerEpoch) {
			return { errorCode: ERROR.STALE_CONTROLLER_EPOCH, partitionErrors: [] }
		}
		this.#controllerEpoch = request.controllerEpoch
		const partitionErrors = []
		const slices = new Slices(this.#parts.clock)
		for (const { topicName, partitionStates } of request.topicStates ?? []) {
			for (const { partitionIndex, leaderEpoch, deletePartition } of partitionStates) {
				if (slices.isOver) await slices.giveWay()
				const isOld = request.controllerEpoch < this.#controllerEpoch
				const errorCode = isOld
					? ERROR.STALE_CONTROLLER_EPOCH
					: this.#stop(topicName, partitionIndex, leaderEpoch ?? UNDELETED, deletePartition)
				partitionErrors.push({ topicName, partitionIndex, errorCode })
			}
		}
		return { errorCode: ERROR.NONE, partitionErrors }
	}

	#stop(topic: string, index: number, leaderEpoch: number, shouldDelete: boolean): number {
		const key = partitionKey(topic, index)
		if (this.#offline.has(key)) return ERROR.KAFKA_STORAGE_ERROR
		const partition = this.#partitions.get(key)
		const isExempt = leaderEpoch === UNDELETED || leaderEpoch === DURING_DELETE
		if (partition !== undefined && !isExempt && leaderEpoch < partition.leaderEpoch) return ERROR.FENCED_LEADER_EPOCH
		this.#partitions.delete(key)
		if (partition?.isLeader === true) for (const listener of this.#listeners) listener.lost(topic, index)
		if (shouldDelete) {
			this.#parts.logs.delete(key)
			this.#parts.configs.forget(topic)
		}
		this.produces.check(key)
		this.fetches.check(key)
		return ERROR.NONE
	}

	/** A topic's settings changed: its logs take them over. */
	topicConfigChanged(topic: string): void {
		const { config, configs } = this.#parts
		const settings = logConfigOf(config, configs.topic(topic))
		for (const partition of this.#partitions.values()) {
			if (partition.topic === topic) partition.log.updateConfig(settings)
		}
	}

	brokerConfigChanged(): void {
		for (const topic of new Set([...this.#partitions.values()].map((each) => each.topic)))
			this.topicConfigChanged(topic)
	}

	/** A directory failed: its replicas answer 56 from now on. */
	directoryFailed(partitions: readonly TopicPartition[]): void {
		for (const { topic, partition: index } of partitions) {
			const key = partitionKey(topic, index)
			const partition = this.#partitions.get(key)
			this.#partitions.delete(key)
			this.#offline.add(key)
			if (partition?.isLeader === true) {
				for (const listener of this.#listeners) listener.lost(partition.topic, partition.partition)
			}
			this.produces.check(key)
			this.fetches.check(key)
		}
	}

	/** Ends all waits. */
	close(): void {
		this.produces.close()
		this.fetches.close()
	}
}
