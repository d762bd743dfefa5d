import { describe, expect, it } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { MissingTopic, PRODUCER_DEFAULTS, Producer, type ProducerSettings } from '../../src/client/producer.js'
import { ERROR } from '../../src/protocol/errors.js'
import { produce } from '../../src/protocol/messages/produce.js'
import { initProducerId } from '../../src/protocol/messages/transactions.js'
import { batchBaseSequence, batchRecordCount } from '../../src/protocol/records/batch.js'
import type { Decoded, Family } from '../../src/protocol/schema.js'
import { type Answer, scriptedRuntime } from '../helpers/scripted-broker.js'

type Request = Decoded<typeof produce.request>

/** What a request holds for partition 0: sequence and values of its batch. */
interface Seen {
	readonly sequence: number
	readonly count: number
}

const seenIn = (request: Request): Seen => {
	const bytes = request.topicData[0]?.partitionData[0]?.records as Buffer
	return { sequence: batchBaseSequence(bytes, 0), count: batchRecordCount(bytes, 0) }
}

const answer = (errorCode: number, more: Record<string, unknown> = {}): Answer => ({
	responses: [{ name: 't', partitionResponses: [{ index: 0, errorCode, baseOffset: 0, ...more }] }],
})

/** A producer against a broker that gives `answers` in turn, then takes everything. */
async function scripted(
	answers: readonly (number | 'drop' | 'silence' | Answer)[],
	settings: Partial<ProducerSettings> = {},
	partitionCode = 0,
) {
	const left = [...answers]
	const seen: Seen[] = []
	const failed: { tags: readonly number[]; code: unknown; isFatal: boolean }[] = []
	const runtime = scriptedRuntime({
		topics: { t: 1 },
		partitionCode,
		handlers: [
			[
				produce as unknown as Family,
				(request: Request) => {
					seen.push(seenIn(request))
					const next = left.shift() ?? 0
					return typeof next === 'number' ? answer(next) : next
				},
			],
			[initProducerId as unknown as Family, () => ({ errorCode: 0, producerId: 5n, producerEpoch: 0 })],
		],
	})
	const cluster = new Cluster(runtime, {
		bootstrap: [{ host: 'scripted', port: 9092 }],
		clientId: 'test',
		connectTimeoutMs: 1000,
		requestTimeoutMs: 200,
		operationTimeoutMs: 1000,
		retryBackoffMs: 1,
		retryBackoffMaxMs: 4,
	})
	const producer = new Producer(cluster, {
		...PRODUCER_DEFAULTS,
		ackTimeoutMs: 0,
		...settings,
		onFailure: ({ tags, error, isFatal }) =>
			failed.push({ tags, code: (error as { code?: number }).code ?? error.name, isFatal }),
	})
	await producer.start()
	await producer.prepare('t')
	/** Batches of one record each, tagged from 1. */
	const send = async (count: number): Promise<void> => {
		for (let tag = 1; tag <= count; tag++) {
			producer.append('t', -1, 1000, null, Buffer.from(`v${tag}`), 0, 2, null, tag)
			producer.closeOpen()
		}
		await producer.flush()
		await cluster.close()
	}
	return { producer, seen, failed, send }
}

describe('producer', () => {
	it('sends batches with rising sequences, and counts what is written', async () => {
		const { producer, seen, send } = await scripted([])
		await send(3)
		expect(seen).toEqual([0, 1, 2].map((sequence) => ({ sequence, count: 1 })))
		expect([producer.writtenCount, producer.failedCount]).toEqual([3, 0])
	})

	it('11.5 writes to a partition of which a replica is not available: it has a leader', async () => {
		const { producer, failed, send } = await scripted([], {}, ERROR.REPLICA_NOT_AVAILABLE)
		await send(2)
		expect([producer.writtenCount, failed]).toEqual([2, []])
	})

	it.each<[string, number | 'drop' | 'silence']>([
		['a leader that has moved', ERROR.NOT_LEADER_OR_FOLLOWER],
		['replicas that are too few', ERROR.NOT_ENOUGH_REPLICAS],
		['a broken connection', 'drop'],
		['an answer that does not come', 'silence'],
	])('tries again after %s, with the same sequence', async (_what, fault) => {
		const { producer, seen, failed, send } = await scripted([fault, fault, 0])
		await send(1)
		expect(seen.map(({ sequence }) => sequence)).toEqual([0, 0, 0])
		expect([producer.writtenCount, failed]).toEqual([1, []])
	})

	it('keeps the order when one of several in flight fails', async () => {
		// First batch taken; of the next three the first fails, those behind it are out of order, then all go again.
		const { producer, seen, send } = await scripted([0, ERROR.NOT_LEADER_OR_FOLLOWER, 45, 45])
		await send(4)
		expect(seen.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3, 1, 2, 3])
		expect(producer.writtenCount).toBe(4)
	})

	it('a duplicate is a success: the first answer was lost', async () => {
		const { producer, failed, send } = await scripted(['drop', ERROR.DUPLICATE_SEQUENCE_NUMBER])
		await send(1)
		expect([producer.writtenCount, failed]).toEqual([1, []])
	})

	it('a refused batch is told by its tags, and those behind it move up into its sequence', async () => {
		const { producer, seen, failed, send } = await scripted([0, ERROR.INVALID_RECORD, 45, 45])
		await send(4)
		expect(seen.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3, 1, 2])
		expect(failed).toEqual([{ tags: [2], code: ERROR.INVALID_RECORD, isFatal: false }])
		expect([producer.writtenCount, producer.failedCount]).toEqual([3, 1])
	})

	it('a batch that is too large is parted until it fits, a single record fails', async () => {
		const { producer, seen, failed } = await scripted([10, 10, 0, 10, 45])
		for (let tag = 1; tag <= 3; tag++) producer.append('t', 0, 1000, null, Buffer.from('v'), 0, 1, null, tag)
		await producer.flush()
		expect(seen).toEqual([
			{ sequence: 0, count: 3 },
			{ sequence: 0, count: 2 },
			{ sequence: 0, count: 1 },
			{ sequence: 1, count: 1 },
			{ sequence: 2, count: 1 },
			{ sequence: 1, count: 1 },
		])
		expect(failed).toEqual([{ tags: [2], code: 10, isFatal: false }])
		expect(producer.writtenCount).toBe(2)
	})

	it('a producer that the broker lost is the end: all that is not acknowledged has failed', async () => {
		const { producer, failed, send } = await scripted([0, ERROR.OUT_OF_ORDER_SEQUENCE_NUMBER])
		await send(3)
		expect(failed.map(({ tags }) => tags)).toEqual([[2], [3]])
		expect(failed.every(({ isFatal }) => isFatal)).toBe(true)
		expect(producer.fatal).toMatchObject({ code: ERROR.OUT_OF_ORDER_SEQUENCE_NUMBER })
	})

	it('gives up when the time of delivery is over, and says why', async () => {
		const { producer, failed, send } = await scripted(
			Array.from({ length: 100 }, () => ERROR.NOT_ENOUGH_REPLICAS),
			{ deliveryTimeoutMs: 20 },
		)
		await send(2)
		expect(failed.flatMap(({ tags }) => tags)).toEqual([1, 2])
		expect(producer.fatal?.message).toMatch(/NOT_ENOUGH_REPLICAS/)
	})

	it('is full at its bound, and has room again when batches are acknowledged', async () => {
		const { producer } = await scripted([], { bufferBytesMax: 2000, batchBytesMax: 500 })
		const value = Buffer.alloc(100)
		let count = 0
		while (!producer.isFull) producer.append('t', 0, 1000, null, value, 0, 100, null, ++count)
		expect(count).toBeLessThan(25)
		await producer.room()
		expect(producer.isFull).toBe(false)
		await producer.flush()
		expect(producer.writtenCount).toBe(count)
	})

	it('without sequences one batch is in flight at a time, so that retries keep the order', async () => {
		const { producer, seen, send } = await scripted([ERROR.NOT_LEADER_OR_FOLLOWER], { acks: 1, isIdempotent: false })
		await send(3)
		expect(seen.length).toBe(4)
		expect(seen.every(({ sequence }) => sequence === -1)).toBe(true)
		expect(producer.writtenCount).toBe(3)
	})

	it('a topic that is not there is told at once', async () => {
		const { producer } = await scripted([])
		await expect(producer.prepare('other')).rejects.toThrow(MissingTopic)
	})
})
