/**
 * Writes records to topics: a batch a partition is open at a time, is closed when full or old, and goes to
 * `producer-sender.ts`. There is no promise a record: a caller appends as long as {@link Producer.isFull} is false, is told
 * of failures by the tags it gave, and asks {@link Producer.flush} at the end.
 */

import type { CodecName } from '../base/compression.js'
import { ERROR } from '../protocol/errors.js'
import { apiVersions } from '../protocol/messages/handshake.js'
import { initProducerId } from '../protocol/messages/transactions.js'
import type { Timer } from '../runtime/ports.js'
import type { Cluster } from './cluster.js'
import { CLIENT_SOFTWARE } from './connection.js'
import { BrokerError } from './errors.js'
import { amongPartitions, type Partitioner, type PartitionerName, partitioner } from './partitioners.js'
import { ProducerBatch, type RecordHeaderInput } from './producer-batch.js'
import { type DeliveryFailure, PartitionQueue } from './producer-queue.js'
import { Sender } from './producer-sender.js'

export interface ProducerSettings {
	readonly acks: -1 | 0 | 1
	/** Sequences: retries make no duplicates and keep the order. Needs acks -1. */
	readonly isIdempotent: boolean
	/** A batch waits this long for more records. 0: each record goes at once. */
	readonly lingerMs: number
	/** A batch is closed at this size; a larger record makes a batch of its own. */
	readonly batchBytesMax: number
	/** Records that are not acknowledged take at most about this much memory. */
	readonly bufferBytesMax: number
	readonly ackTimeoutMs: number
	readonly deliveryTimeoutMs: number
	readonly compression: CodecName | 'none'
	/** Null: the codec's own default. */
	readonly compressionLevel: number | null
	readonly partitioner: PartitionerName
	/** The partitions that the partitioner chooses from; null for all. */
	readonly partitions: readonly number[] | null
	readonly onFailure: (failure: DeliveryFailure) => void
	/** Tags of records that are written now, with their first offset (-1: not told). Once a batch. */
	readonly onWritten?: (topic: string, partition: number, baseOffset: number, tags: readonly number[]) => void
}

export const PRODUCER_DEFAULTS = {
	acks: -1,
	isIdempotent: true,
	lingerMs: 5,
	batchBytesMax: 786_432,
	bufferBytesMax: 33_554_432,
	ackTimeoutMs: 30_000,
	deliveryTimeoutMs: 120_000,
	compression: 'none',
	compressionLevel: null,
	partitioner: 'java',
	partitions: null,
} as const

const REQUEST_BYTES_MAX = 8_388_608
const NO_HEADERS: readonly RecordHeaderInput[] = []

function noPartition(topic: string, count: number, index: number): RangeError {
	return new RangeError(`${topic} has partitions 0 to ${count - 1}, not ${index}`)
}

/** A topic that is written to. */
interface Target {
	readonly queues: PartitionQueue[]
	readonly partitioner: Partitioner
}

export class Producer {
	readonly #cluster: Cluster
	readonly #settings: ProducerSettings
	readonly #sender: Sender
	readonly #targets = new Map<string, Target>()
	readonly #open = new Set<PartitionQueue>()
	#buffered = 0
	#outstanding = 0
	#written = 0
	#failed = 0
	#order = 0
	#linger: Timer | null = null
	#waiters: (() => void)[] = []

	constructor(cluster: Cluster, settings: ProducerSettings) {
		this.#cluster = cluster
		this.#settings = settings
		this.#sender = new Sender(
			cluster,
			{
				acks: settings.acks,
				isIdempotent: settings.isIdempotent,
				ackTimeoutMs: settings.ackTimeoutMs,
				deliveryTimeoutMs: settings.deliveryTimeoutMs,
				requestBytesMax: REQUEST_BYTES_MAX,
				inFlightMax: settings.isIdempotent || settings.acks === 0 ? 5 : 1,
			},
			{
				done: (queue, batch, baseOffset) => {
					this.#written += batch.count
					this.#release(batch)
					this.#settings.onWritten?.(queue.topic, queue.index, baseOffset, batch.tags)
				},
				failed: (failure, batch) => {
					this.#failed += batch.count
					this.#release(batch)
					this.#settings.onFailure(failure)
				},
				split: (queue, halves) => {
					this.#outstanding++
					for (const half of halves) this.#seal(queue, half)
				},
				fatal: (error) => this.#dropOpen(error),
			},
		)
	}

	/** Records acknowledged, and given up, so far. */
	get writtenCount(): number {
		return this.#written
	}

	get failedCount(): number {
		return this.#failed
	}

	/** Why nothing more can be sent; null while all is well. */
	get fatal(): Error | null {
		return this.#sender.fatal
	}

	/** Appending more would go over the buffer's bound: await {@link room} first. */
	get isFull(): boolean {
		return this.#buffered >= this.#settings.bufferBytesMax
	}

	/** Asks the cluster for a producer id where needed. Rejects with {@link BrokerError} and others. */
	async start(): Promise<void> {
		if (!this.#settings.isIdempotent) return
		await this.#cluster.retry('InitProducerId', async () => {
			const connection = await this.#cluster.any()
			const answer = await connection.request(initProducerId, { transactionalId: null, transactionTimeoutMs: 60_000 })
			if (answer.errorCode !== ERROR.NONE) throw new BrokerError(answer.errorCode, 'InitProducerId')
			this.#sender.setProducer(answer.producerId, answer.producerEpoch)
		})
	}

	/** Learns a topic's partitions, once; their count. Rejects with {@link BrokerError} when there is no such topic, RangeError without a partition that was asked for. */
	async prepare(topic: string): Promise<number> {
		const known = this.#targets.get(topic)
		if (known !== undefined) return known.queues.length
		return await this.#cluster.retry(`Metadata ${topic}`, async () => {
			const answer = await this.#cluster.refresh([topic])
			const found = answer.topics.find(({ name }) => name === topic)
			const code = found?.errorCode ?? ERROR.UNKNOWN_TOPIC_OR_PARTITION
			if (found === undefined || code === ERROR.UNKNOWN_TOPIC_OR_PARTITION) throw new MissingTopic(topic)
			if (code !== ERROR.NONE) throw new BrokerError(code, `Metadata ${topic}`)
			const queues = found.partitions.map((_partition, index) => new PartitionQueue(topic, index))
			const random = (): number => this.#cluster.runtime.random.next()
			const { partitions } = this.#settings
			const missing = partitions?.find((each) => each >= queues.length)
			if (missing !== undefined) throw noPartition(topic, queues.length, missing)
			const chooser = partitioner(this.#settings.partitioner, random)
			this.#targets.set(topic, {
				queues,
				partitioner: partitions === null ? chooser : amongPartitions(partitions, chooser),
			})
			return queues.length
		})
	}

	/**
	 * Adds one record; its bytes are copied at once, the value being `value[from, end)`. `partition` -1 lets the
	 * partitioner choose. The topic has been prepared. Throws RangeError for a partition that is not there.
	 */
	append(
		topic: string,
		partition: number,
		timestamp: number,
		key: Buffer | null,
		value: Buffer | null,
		from: number,
		end: number,
		headers: readonly RecordHeaderInput[] | null,
		tag: number,
	): void {
		const target = this.#targets.get(topic) as Target
		const count = target.queues.length
		const index = partition >= 0 ? partition : target.partitioner.choose(key, count)
		const queue = target.queues[index]
		if (queue === undefined) throw noPartition(topic, count, index)
		const { batchBytesMax, lingerMs } = this.#settings
		let batch = queue.open
		const bound = (key === null ? 0 : key.length) + (end - from) + 36 + (headers === null ? 0 : headersBound(headers))
		if (batch !== null && batch.size + bound > batchBytesMax) {
			this.#close(queue, batch)
			if (key === null) target.partitioner.batchClosed()
			batch = null
		}
		if (batch === null) {
			batch = new ProducerBatch(this.#order++, this.#cluster.runtime.clock.monotonicMs())
			queue.open = batch
			this.#open.add(queue)
			this.#outstanding++
		}
		const before = batch.size
		batch.append(timestamp, key, value, from, end, headers ?? NO_HEADERS, tag)
		const added = batch.size - before
		batch.reservedBytes += added
		this.#buffered += added
		if (lingerMs === 0 || batch.size >= batchBytesMax) {
			this.#close(queue, batch)
			if (key === null) target.partitioner.batchClosed()
		} else if (this.#linger === null) {
			this.#linger = this.#cluster.runtime.clock.after(lingerMs, () => this.closeOpen())
		}
		if (this.#sender.fatal !== null) this.#dropOpen(this.#sender.fatal)
	}

	/** Settles when there is room for more, or nothing can be sent any more. */
	async room(): Promise<void> {
		while (this.isFull && this.#sender.fatal === null) await this.#changed()
	}

	/** Sends what is open now, without waiting for more. */
	closeOpen(): void {
		this.#linger?.cancel()
		this.#linger = null
		for (const queue of this.#open) if (queue.open !== null) this.#close(queue, queue.open)
		for (const target of this.#targets.values()) target.partitioner.batchClosed()
	}

	/** Settles when every record is acknowledged or has failed. */
	async flush(): Promise<void> {
		this.closeOpen()
		while (this.#outstanding > 0 && this.#sender.fatal === null) await this.#changed()
		if (this.#settings.acks === 0 && this.#sender.fatal === null) {
			await this.#sender.barrier((connection) => connection.send(apiVersions, 3, CLIENT_SOFTWARE))
		}
	}

	#close(queue: PartitionQueue, batch: ProducerBatch): void {
		queue.open = null
		this.#open.delete(queue)
		queue.waiting.push(batch)
		this.#seal(queue, batch)
	}

	#seal(queue: PartitionQueue, batch: ProducerBatch): void {
		const { compression, compressionLevel } = this.#settings
		const sealed = batch.seal(this.#cluster.runtime.compression, compression, compressionLevel)
		if (sealed === null) this.#sender.wake(queue)
		else {
			sealed.then(
				() => this.#sender.wake(queue),
				(error: Error) => this.#sender.abort(error),
			)
		}
	}

	#release(batch: ProducerBatch): void {
		this.#buffered -= batch.reservedBytes
		this.#outstanding--
		this.#notify()
	}

	/** After the end of all sending: what is open has failed too. */
	#dropOpen(error: Error): void {
		this.#linger?.cancel()
		this.#linger = null
		for (const queue of this.#open) {
			const batch = queue.open
			if (batch === null) continue
			queue.open = null
			this.#failed += batch.count
			this.#release(batch)
			const { topic, index: partition } = queue
			this.#settings.onFailure({
				topic,
				partition,
				error,
				tags: batch.tags,
				recordMessages: new Map(),
				isFatal: true,
			})
		}
		this.#open.clear()
		this.#notify()
	}

	#changed(): Promise<void> {
		return new Promise((resolve) => this.#waiters.push(resolve))
	}

	#notify(): void {
		for (const waiter of this.#waiters.splice(0)) waiter()
	}
}

function headersBound(headers: readonly RecordHeaderInput[]): number {
	let size = 0
	for (const { key, value } of headers) size += 10 + key.length + (value?.length ?? 0)
	return size
}

/** There is no topic of this name. */
export class MissingTopic extends Error {
	override readonly name = 'MissingTopic'
	constructor(readonly topic: string) {
		super(`there is no topic '${topic}'`)
	}
}
