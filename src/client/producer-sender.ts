/**
 * Sends sealed batches to the partitions' leaders and deals with what comes back: retries in order, leader changes,
 * duplicates, batches that are too large. Owned by `producer.ts`, which fills the queues.
 *
 * ```
 * waiting ──(head, leader known, room in flight)──► in flight ──answer ok──► done
 *    ▲                                                 │
 *    └────────── retriable: back in its place ─────────┤
 *                the partition halts until all         └──refused──► failed
 *                its batches in flight are answered
 * ```
 *
 * Sequences are given when a batch is sent, from `expectedSequence` on after each halt: a batch whose answer was lost
 * gets the same numbers again (the broker then answers as if it were new), and batches behind one that was refused move
 * up into its place.
 */

import { ERROR, errorInfo } from '../protocol/errors.js'
import { produce } from '../protocol/messages/produce.js'
import { incrementSequence } from '../protocol/records/batch.js'
import type { Decoded, Family } from '../protocol/schema.js'
import type { Cluster } from './cluster.js'
import type { BrokerConnection } from './connection.js'
import { BrokerError, ConnectionError } from './errors.js'
import type { ProducerBatch } from './producer-batch.js'
import {
	hasRoom,
	insertBatches,
	isSendable,
	type PartitionQueue,
	removeBatch,
	type SenderEvents,
	type SenderSettings,
} from './producer-queue.js'
import { WakeTimer } from './wake-timer.js'

type PartitionAnswer = Decoded<typeof produce.response>['responses'][number]['partitionResponses'][number]

/** Requests to one broker that are not answered yet. */
interface Lane {
	inFlight: number
	connection: BrokerConnection | null
	isOpening: boolean
}

const LANE_REQUESTS_MAX = 5
/** With acks=0 nothing is answered: this much may wait in the socket. */
const UNANSWERED_BYTES_MAX = 4_194_304

export class Sender {
	readonly #cluster: Cluster
	readonly #settings: SenderSettings
	readonly #events: SenderEvents
	readonly #lanes = new Map<number, Lane>()
	readonly #active = new Set<PartitionQueue>()
	#producerId = -1n
	#producerEpoch = -1
	#fatal: Error | null = null
	#lastError: Error | null = null
	readonly #timer: WakeTimer
	#isRefreshing = false

	constructor(cluster: Cluster, settings: SenderSettings, events: SenderEvents) {
		this.#cluster = cluster
		this.#settings = settings
		this.#events = events
		this.#timer = new WakeTimer(cluster.runtime.clock, () => this.pump())
	}

	get fatal(): Error | null {
		return this.#fatal
	}

	setProducer(id: bigint, epoch: number): void {
		this.#producerId = id
		this.#producerEpoch = epoch
	}

	/** A batch waits in this queue. */
	wake(queue: PartitionQueue): void {
		this.#active.add(queue)
		this.pump()
	}

	/** Sends all that can be sent now. */
	pump(): void {
		if (this.#fatal !== null) return
		const now = this.#cluster.runtime.clock.monotonicMs()
		let isLeaderMissing = false
		let wakeAtMs = Number.POSITIVE_INFINITY
		const byLeader = new Map<number, PartitionQueue[]>()
		for (const queue of this.#active) {
			const head = queue.waiting[0]
			if (head === undefined) {
				if (queue.inFlight.length === 0) this.#active.delete(queue)
				continue
			}
			if (queue.inFlight.length === 0 && now - head.createdMs > this.#settings.deliveryTimeoutMs) {
				this.#giveUp(queue)
				return
			}
			if (!head.isReady || !hasRoom(queue, this.#settings.inFlightMax)) continue
			if (queue.isHalted && queue.inFlight.length > 0) continue
			if (queue.retryAtMs > now) {
				wakeAtMs = Math.min(wakeAtMs, queue.retryAtMs)
				continue
			}
			const leader = this.#cluster.leaderOf(queue.topic, queue.index)?.leader
			if (leader === undefined) {
				isLeaderMissing = true
				continue
			}
			const queues = byLeader.get(leader)
			if (queues === undefined) byLeader.set(leader, [queue])
			else queues.push(queue)
		}
		for (const [leader, queues] of byLeader) this.#serve(leader, queues)
		if (isLeaderMissing) this.#refreshSoon()
		if (wakeAtMs !== Number.POSITIVE_INFINITY) this.#timer.within(wakeAtMs - now)
	}

	/** Ends all sending: something that is not the cluster's fault broke. */
	abort(error: Error): void {
		this.#fail(error)
	}

	/** Settles when what was sent without an answer (acks=0) has been read by the brokers. */
	async barrier(check: (connection: BrokerConnection) => Promise<unknown>): Promise<void> {
		for (const lane of this.#lanes.values()) if (lane.connection?.isOpen === true) await check(lane.connection)
	}

	#serve(leader: number, queues: readonly PartitionQueue[]): void {
		let lane = this.#lanes.get(leader)
		if (lane === undefined) {
			lane = { inFlight: 0, connection: null, isOpening: false }
			this.#lanes.set(leader, lane)
		}
		if (lane.connection === null || !lane.connection.isOpen) {
			this.#open(leader, lane, queues)
			return
		}
		if (this.#settings.acks === 0 && lane.connection.pendingBytes > UNANSWERED_BYTES_MAX) {
			this.#timer.within(1)
			return
		}
		let left = [...queues]
		while (left.length > 0 && lane.inFlight < LANE_REQUESTS_MAX) {
			let bytes = 0
			const taken: { queue: PartitionQueue; batch: ProducerBatch; records: Buffer }[] = []
			for (const queue of left) {
				const head = queue.waiting[0] as ProducerBatch
				if (taken.length > 0 && bytes + head.size > this.#settings.requestBytesMax) break
				bytes += head.size
				taken.push(this.#take(queue))
			}
			this.#send(leader, lane, lane.connection, taken)
			left = left.filter((queue) => isSendable(queue, this.#settings.inFlightMax))
			if (this.#settings.acks === 0 && lane.connection.pendingBytes > UNANSWERED_BYTES_MAX) {
				this.#timer.within(1)
				return
			}
		}
	}

	#take(queue: PartitionQueue): { queue: PartitionQueue; batch: ProducerBatch; records: Buffer } {
		const batch = queue.waiting.shift() as ProducerBatch
		if (queue.isHalted) {
			queue.isHalted = false
			queue.nextSequence = queue.expectedSequence
		}
		const sequence = this.#settings.isIdempotent ? queue.nextSequence : -1
		if (sequence >= 0) queue.nextSequence = incrementSequence(sequence, batch.count)
		queue.inFlight.push(batch)
		return { queue, batch, records: batch.stamp(this.#producerId, this.#producerEpoch, sequence) }
	}

	#open(leader: number, lane: Lane, queues: readonly PartitionQueue[]): void {
		if (lane.isOpening) return
		lane.isOpening = true
		this.#cluster.broker(leader).then(
			(connection) => {
				lane.connection = connection
				lane.isOpening = false
				this.pump()
			},
			(error: unknown) => {
				lane.isOpening = false
				if (!(error instanceof ConnectionError)) {
					this.#fail(error as Error)
					return
				}
				this.#lastError = error
				for (const queue of queues) this.#backOff(queue)
				this.#refreshSoon()
			},
		)
	}

	#send(
		leader: number,
		lane: Lane,
		connection: BrokerConnection,
		taken: readonly { queue: PartitionQueue; batch: ProducerBatch; records: Buffer }[],
	): void {
		const topics = new Map<string, { index: number; records: Buffer }[]>()
		for (const { queue, records } of taken) {
			const partitions = topics.get(queue.topic)
			if (partitions === undefined) topics.set(queue.topic, [{ index: queue.index, records }])
			else partitions.push({ index: queue.index, records })
		}
		const { acks, ackTimeoutMs } = this.#settings
		const message = {
			acks,
			timeoutMs: ackTimeoutMs,
			topicData: [...topics].map(([name, partitionData]) => ({ name, partitionData })),
		}
		let version: number
		try {
			version = connection.versionOf(produce as unknown as Family)
			if (acks === 0) {
				connection.sendWithoutAnswer(produce, version, message)
				for (const { queue, batch } of taken) this.#done(queue, batch, -1)
				return
			}
		} catch (error) {
			this.#broken(taken, error as Error)
			return
		}
		lane.inFlight++
		connection.send(produce, version, message, ackTimeoutMs).then(
			(answer) => {
				lane.inFlight--
				const answers = new Map<string, PartitionAnswer>()
				for (const { name, partitionResponses } of answer.responses) {
					for (const each of partitionResponses) answers.set(`${name}-${each.index}`, each)
				}
				for (const { queue, batch } of taken) {
					this.#onAnswer(queue, batch, answers.get(`${queue.topic}-${queue.index}`))
				}
				this.pump()
			},
			(error: unknown) => {
				lane.inFlight--
				this.#lanes.delete(leader)
				this.#broken(taken, error as Error)
			},
		)
	}

	#onAnswer(queue: PartitionQueue, batch: ProducerBatch, answer: PartitionAnswer | undefined): void {
		if (this.#fatal !== null) return
		const code = answer?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
		if (code === ERROR.NONE || code === ERROR.DUPLICATE_SEQUENCE_NUMBER) {
			this.#done(queue, batch, answer?.baseOffset ?? -1)
			return
		}
		const what = `Produce ${queue.topic}-${queue.index}`
		const error = new BrokerError(code, what, answer?.errorMessage ?? null)
		// Behind a batch that failed every later one is out of order: it goes again when its turn comes.
		const isBehind = code === ERROR.OUT_OF_ORDER_SEQUENCE_NUMBER && batch.baseSequence !== queue.expectedSequence
		if (isBehind) this.#putBack(queue, batch)
		else if (error.retriable) {
			this.#lastError = error
			this.#putBack(queue, batch)
			this.#backOff(queue)
			if (errorInfo(code).refreshesMetadata) this.#refreshSoon()
		} else if (code === ERROR.MESSAGE_TOO_LARGE && batch.count > 1) {
			removeBatch(queue.inFlight, batch)
			const halves = batch.split()
			queue.isHalted = true
			insertBatches(queue.waiting, halves)
			this.#events.split(queue, halves)
		} else if (PRODUCER_LOST.has(code)) this.#fail(error)
		else this.#refused(queue, batch, error, answer)
	}

	#done(queue: PartitionQueue, batch: ProducerBatch, baseOffset: number): void {
		removeBatch(queue.inFlight, batch)
		if (batch.baseSequence >= 0) {
			queue.expectedSequence = incrementSequence(batch.baseSequence, batch.count)
		}
		queue.attempts = 0
		queue.isEstablished = true
		this.#events.done(queue, batch, baseOffset)
	}

	/** The broker will not have this batch: those behind it move up. */
	#refused(queue: PartitionQueue, batch: ProducerBatch, error: BrokerError, answer: PartitionAnswer | undefined): void {
		removeBatch(queue.inFlight, batch)
		if (batch.baseSequence >= 0) queue.isHalted = true
		const recordMessages = new Map<number, string>()
		for (const { batchIndex, batchIndexErrorMessage } of answer?.recordErrors ?? []) {
			recordMessages.set(batchIndex, batchIndexErrorMessage ?? error.message)
		}
		const { topic, index: partition } = queue
		const { tags } = batch
		this.#events.failed({ topic, partition, error, tags, recordMessages, isFatal: false }, batch)
	}

	/** The request broke: nobody knows what became of its batches, so all go again with the same numbers. */
	#broken(taken: readonly { queue: PartitionQueue; batch: ProducerBatch }[], error: Error): void {
		if (this.#fatal !== null) return
		if (!(error instanceof ConnectionError)) {
			this.#fail(error)
			return
		}
		this.#lastError = error
		for (const { queue, batch } of taken) {
			this.#putBack(queue, batch)
			this.#backOff(queue)
		}
		this.#refreshSoon()
	}

	#putBack(queue: PartitionQueue, batch: ProducerBatch): void {
		removeBatch(queue.inFlight, batch)
		queue.isHalted = true
		insertBatches(queue.waiting, [batch])
	}

	#backOff(queue: PartitionQueue): void {
		const { retryBackoffMs, retryBackoffMaxMs } = this.#cluster.settings
		const ms = Math.min(retryBackoffMs * 2 ** Math.min(queue.attempts++, 10), retryBackoffMaxMs)
		queue.retryAtMs = this.#cluster.runtime.clock.monotonicMs() + ms
		this.#active.add(queue)
		this.#timer.within(ms)
	}

	#giveUp(queue: PartitionQueue): void {
		const seconds = Math.round(this.#settings.deliveryTimeoutMs / 1000)
		const why = this.#lastError === null ? 'its leader is not known' : this.#lastError.message
		const text = `${queue.topic}-${queue.index} took nothing for ${seconds} s: ${why}`
		this.#fail(new ConnectionError('produce', text, this.#lastError))
	}

	/** Nothing more can be sent: all that is not acknowledged has failed. */
	#fail(error: Error): void {
		if (this.#fatal !== null) return
		this.#fatal = error
		this.#timer.cancel()
		const queues = [...this.#active]
		this.#active.clear()
		for (const queue of queues) {
			const batches = [...queue.inFlight.splice(0), ...queue.waiting.splice(0)]
			for (const batch of batches) {
				const { topic, index: partition } = queue
				const failure = { topic, partition, error, tags: batch.tags, recordMessages: new Map(), isFatal: true }
				this.#events.failed(failure, batch)
			}
		}
		this.#events.fatal(error)
	}

	#refreshSoon(): void {
		if (this.#isRefreshing || this.#fatal !== null) return
		this.#isRefreshing = true
		const topics = [...new Set([...this.#active].map(({ topic }) => topic))]
		this.#cluster.refresh(topics).then(
			() => {
				this.#isRefreshing = false
				this.#timer.within(this.#cluster.settings.retryBackoffMs)
			},
			(error: unknown) => {
				this.#isRefreshing = false
				if (error instanceof ConnectionError || error instanceof BrokerError) {
					this.#lastError = error
					this.#timer.within(this.#cluster.settings.retryBackoffMaxMs)
				} else this.#fail(error as Error)
			},
		)
	}
}

/** The broker does not know this producer, or knows more than we: what was written is not certain any more. */
const PRODUCER_LOST: ReadonlySet<number> = new Set([
	ERROR.OUT_OF_ORDER_SEQUENCE_NUMBER,
	ERROR.UNKNOWN_PRODUCER_ID,
	ERROR.INVALID_PRODUCER_EPOCH,
	ERROR.PRODUCER_FENCED,
	ERROR.INVALID_PRODUCER_ID_MAPPING,
])
