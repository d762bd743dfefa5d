/**
 * All that the controller knows, in one place: live brokers, topics, leaders. Only the controller's mailbox touches it.
 * `checkInvariants` is run after each event in tests.
 */

import { type PartitionKey, parsePartitionKey, partitionKey, type TopicId } from '../../base/ids.js'
import type { RegisteredBroker } from '../../zk/recipes.js'
import type { PartitionState, TopicInfo } from '../../zk/znodes.js'

export interface TopicRecord {
	readonly name: string
	readonly topicId: TopicId
	readonly info: TopicInfo
}

/** `new`: has no leader yet; `online`: led by a live broker; `offline`: its leader is gone and none could be elected. */
export type PartitionStatus = 'new' | 'online' | 'offline'

export interface LeadershipRecord {
	readonly state: PartitionState
	/** Data version of the state znode. */
	readonly partitionEpoch: number
}

export class ControllerContext {
	readonly epoch: number
	/** Version of `/controller_epoch`: the fence of every write. */
	readonly epochVersion: number
	readonly brokers = new Map<number, RegisteredBroker>()
	readonly topics = new Map<string, TopicRecord>()
	readonly leadership = new Map<PartitionKey, LeadershipRecord>()
	readonly status = new Map<PartitionKey, PartitionStatus>()
	/** Topics whose deletion was asked for and is not done. */
	readonly deleting = new Set<string>()
	/** Replicas on failed directories, by broker. */
	readonly offlineReplicas = new Map<number, Set<PartitionKey>>()
	/** Brokers that asked to stop (ControlledShutdown). */
	readonly stopping = new Set<number>()

	constructor(epoch: number, epochVersion: number) {
		this.epoch = epoch
		this.epochVersion = epochVersion
	}

	isLive(broker: number): boolean {
		return this.brokers.has(broker)
	}

	/** The broker lives and the replica's directory is not known to have failed. */
	isReplicaLive(broker: number, key: PartitionKey): boolean {
		return this.isLive(broker) && this.offlineReplicas.get(broker)?.has(key) !== true
	}

	replicasOf(topic: string, partition: number): readonly number[] {
		return this.topics.get(topic)?.info.partitions.get(partition) ?? []
	}

	*partitionsOf(
		topic: string,
	): IterableIterator<{ key: PartitionKey; partition: number; replicas: readonly number[] }> {
		for (const [partition, replicas] of this.topics.get(topic)?.info.partitions ?? []) {
			yield { key: partitionKey(topic, partition), partition, replicas }
		}
	}

	forgetTopic(topic: string): void {
		for (const { key } of this.partitionsOf(topic)) {
			this.leadership.delete(key)
			this.status.delete(key)
			for (const offline of this.offlineReplicas.values()) offline.delete(key)
		}
		this.topics.delete(topic)
		this.deleting.delete(topic)
	}

	/** What is wrong with this state, in words; empty when it is sound. */
	checkInvariants(): string[] {
		const wrong: string[] = []
		for (const [key, { state }] of this.leadership) {
			const parsed = parsePartitionKey(key)
			const replicas = parsed === null ? [] : this.replicasOf(parsed.topic, parsed.partition)
			if (replicas.length === 0) wrong.push(`${key}: leadership of an unknown partition`)
			if (state.isr.some((replica) => !replicas.includes(replica))) wrong.push(`${key}: ISR outside the replicas`)
			if (state.leader >= 0 && !state.isr.includes(state.leader)) wrong.push(`${key}: leader outside the ISR`)
			if (state.controllerEpoch > this.epoch) wrong.push(`${key}: written by a later controller`)
			if (this.status.get(key) === 'online' && !this.isLive(state.leader)) wrong.push(`${key}: online without leader`)
		}
		return wrong
	}
}
