/** What waits for a partition's leader, in order, and what a sender tells of it. Used by `producer-sender.ts` and `producer.ts`. */

import type { ProducerBatch } from './producer-batch.js'

/** Batches of one partition, oldest first. */
export class PartitionQueue {
	open: ProducerBatch | null = null
	readonly waiting: ProducerBatch[] = []
	readonly inFlight: ProducerBatch[] = []
	/** Sequence that the broker wants next, as far as it has answered. */
	expectedSequence = 0
	nextSequence = 0
	retryAtMs = 0
	attempts = 0
	isHalted = false
	/**
	 * The broker has taken a batch of ours. Before that it takes any sequence as the first (it knows of none), so a second
	 * batch in flight would be stored in place of a first one that fails.
	 */
	isEstablished = false

	constructor(
		readonly topic: string,
		readonly index: number,
	) {}
}

export interface SenderSettings {
	readonly acks: -1 | 0 | 1
	readonly isIdempotent: boolean
	/** How long the broker may wait for its replicas. */
	readonly ackTimeoutMs: number
	/** How long a batch is tried in all. */
	readonly deliveryTimeoutMs: number
	readonly requestBytesMax: number
	/** Batches of one partition in flight; 1 where order is not kept by sequences. */
	readonly inFlightMax: number
}

/** Records that the cluster did not take. */
export interface DeliveryFailure {
	readonly topic: string
	readonly partition: number
	readonly error: Error
	/** Tags of the records, in order. */
	readonly tags: readonly number[]
	/** The broker's words on single records, by place in `tags`. */
	readonly recordMessages: ReadonlyMap<number, string>
	/** Nothing more can be sent. */
	readonly isFatal: boolean
}

export interface SenderEvents {
	/** Of one batch: it is written (`baseOffset` -1 where the broker does not say). */
	done(queue: PartitionQueue, batch: ProducerBatch, baseOffset: number): void
	failed(failure: DeliveryFailure, batch: ProducerBatch): void
	/** A batch was parted in two, which stand in its place and must be sealed. */
	split(queue: PartitionQueue, halves: readonly ProducerBatch[]): void
	/** Nothing more can be sent; all that was given to the sender has been told as failed. */
	fatal(error: Error): void
}

/** One more batch may be in flight. */
export function hasRoom(queue: PartitionQueue, inFlightMax: number): boolean {
	return queue.inFlight.length < (queue.isEstablished ? inFlightMax : 1)
}

/** Another batch of the partition may go into the next request at once. */
export function isSendable(queue: PartitionQueue, inFlightMax: number): boolean {
	return queue.waiting[0]?.isReady === true && hasRoom(queue, inFlightMax) && !queue.isHalted
}

/** Takes a batch out of a list that may hold it. */
export function removeBatch(list: ProducerBatch[], batch: ProducerBatch): void {
	const at = list.indexOf(batch)
	if (at >= 0) list.splice(at, 1)
}

/** Puts batches back in their place: before all that came after them. */
export function insertBatches(waiting: ProducerBatch[], batches: readonly ProducerBatch[]): void {
	const order = (batches[0] as ProducerBatch).order
	let at = 0
	while (at < waiting.length && (waiting[at] as ProducerBatch).order < order) at++
	waiting.splice(at, 0, ...batches)
}
