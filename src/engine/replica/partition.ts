/**
 * One replica of a partition on this broker: its role, leader epoch, ISR and high watermark over its log (semantics 12).
 * Only `manager.ts` and the handlers through it use this.
 */

import type { PartitionKey, TopicId } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import type { AppendOutcome, LeaderAppendOptions } from '../log/append.js'
import type { PartitionLog } from '../log/partition-log.js'

/** A partition's state as the controller orders it (LeaderAndIsr). */
export interface LeadershipOrder {
	readonly leader: number
	readonly leaderEpoch: number
	readonly partitionEpoch: number
	readonly replicas: readonly number[]
	readonly isr: readonly number[]
}

export class Partition {
	readonly topic: string
	readonly partition: number
	readonly key: PartitionKey
	readonly log: PartitionLog
	readonly #brokerId: number
	#order: LeadershipOrder | null = null
	/** Log end of each other replica, as its fetches told; only while leader. */
	#remoteEnds = new Map<number, number>()
	/** Log end when this leadership began: a follower joins the ISR only past it. */
	#epochStart = 0

	constructor(topic: string, partition: number, key: PartitionKey, log: PartitionLog, brokerId: number) {
		this.topic = topic
		this.partition = partition
		this.key = key
		this.log = log
		this.#brokerId = brokerId
	}

	get isLeader(): boolean {
		return this.#order?.leader === this.#brokerId
	}

	/** -1 before the first order. */
	get leaderEpoch(): number {
		return this.#order?.leaderEpoch ?? -1
	}

	get leaderId(): number {
		return this.#order?.leader ?? -1
	}

	get isr(): readonly number[] {
		return this.#order?.isr ?? []
	}

	get replicas(): readonly number[] {
		return this.#order?.replicas ?? []
	}

	get topicId(): TopicId | null {
		return this.log.topicId
	}

	get epochStart(): number {
		return this.#epochStart
	}

	/** Takes the leader's role at an epoch: the epoch is noted before any append (semantics 12.10). */
	makeLeader(order: LeadershipOrder): void {
		const isNewEpoch = this.leaderEpoch !== order.leaderEpoch
		this.#order = order
		if (isNewEpoch) {
			this.#epochStart = this.log.logEndOffset
			this.log.beginEpoch(order.leaderEpoch)
			this.#remoteEnds = new Map()
		}
		this.maybeAdvanceHighWatermark()
	}

	makeFollower(order: LeadershipOrder): void {
		this.#order = order
		this.#remoteEnds = new Map()
	}

	/**
	 * The code that answers a request which names the leader epoch it knows (semantics 7.2): 74 older than ours, 75 newer,
	 * 0 otherwise or when it names none (-1).
	 */
	epochError(currentLeaderEpoch: number): number {
		if (currentLeaderEpoch === -1 || currentLeaderEpoch === this.leaderEpoch) return ERROR.NONE
		return currentLeaderEpoch < this.leaderEpoch ? ERROR.FENCED_LEADER_EPOCH : ERROR.UNKNOWN_LEADER_EPOCH
	}

	/** ISR members that acks=all needs: the topic's setting, but never more than there are replicas (semantics 4.7). */
	minIsr(configured: number): number {
		return Math.min(configured, this.replicas.length)
	}

	append(records: Buffer, options: Omit<LeaderAppendOptions, 'leaderEpoch'>): AppendOutcome | Promise<AppendOutcome> {
		const { origin, produceVersion } = options
		// Written out: a spread with a field after it makes a hidden class at every call, which lives until a whole collection.
		return this.log.appendAsLeader(records, { leaderEpoch: this.leaderEpoch, origin, produceVersion })
	}

	/** Moves the high watermark to the smallest log end of the ISR. True when it moved. */
	maybeAdvanceHighWatermark(): boolean {
		if (!this.isLeader) return false
		let end = this.log.logEndOffset
		for (const replica of this.isr) {
			if (replica === this.#brokerId) continue
			end = Math.min(end, this.#remoteEnds.get(replica) ?? 0)
		}
		if (end <= this.log.highWatermark) return false
		this.log.advanceHighWatermark(end)
		return true
	}
}
