/** Fetch and fetch sessions over the wire: statements of semantics 7 and 8 that a single broker has. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TopicId } from '../../../src/base/ids.js'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { fetch } from '../../../src/protocol/messages/fetch.js'
import { metadata } from '../../../src/protocol/messages/metadata.js'
import { deleteRecords, deleteTopics } from '../../../src/protocol/messages/topics.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../../helpers/requests.js'
import { until } from '../../helpers/until.js'

let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker()
	connection = await broker.connect()
	await makeTopic(connection, 'data')
	for (const value of ['one', 'two', 'three']) await send(connection, 'data', batchOf([value, value]))
})
afterAll(() => broker.stop())

async function idOf(topic: string) {
	const answer = await connection.request(metadata, { topics: [{ name: topic }] })
	const id = answer.topics[0]?.topicId
	if (id === undefined) throw new Error('no id')
	return id
}

describe('fetch', () => {
	it('7.5 and 7.6 serves whole batches up to the high watermark, unchanged', async () => {
		const { records, highWatermark, errorCode } = onlyPartition(await fetchFrom(connection, 'data', 0))
		expect([errorCode, highWatermark]).toEqual([0, 6])
		const sent = batchOf(['one', 'one'])
		sent.writeInt32BE(0, 12) // the leader epoch is stamped
		expect((records as Buffer).subarray(0, sent.length).toString('hex')).toBe(sent.toString('hex'))
	})

	it('7.6 begins with the batch that holds the offset', async () => {
		const { records } = onlyPartition(await fetchFrom(connection, 'data', 3))
		expect((records as Buffer).readBigInt64BE(0)).toBe(2n)
	})

	it('7.4 outside the log is 1, at its end is empty', async () => {
		const beyond = onlyPartition(await fetchFrom(connection, 'data', 7))
		expect([beyond.errorCode, beyond.highWatermark, beyond.lastStableOffset, beyond.logStartOffset]).toEqual([
			1, -1, -1, -1,
		])
		expect(onlyPartition(await fetchFrom(connection, 'data', -5)).errorCode).toBe(ERROR.OFFSET_OUT_OF_RANGE)
		const end = onlyPartition(await fetchFrom(connection, 'data', 6))
		expect([end.errorCode, (end.records as Buffer).length]).toEqual([0, 0])
	})

	it('7.1 unknown topics are 3, by id 100, another id of the same name 103', async () => {
		expect(onlyPartition(await fetchFrom(connection, 'nowhere', 0)).errorCode).toBe(3)
		expect(onlyPartition(await fetchFrom(connection, 'data', 0, { partition: 4 })).errorCode).toBe(3)
		const byId = await connection.send(fetch, 17, {
			maxWaitMs: 0,
			minBytes: 1,
			topics: [
				{
					topicId: 'MTIzNDU2Nzg5MDEyMzQ1Ng' as Awaited<ReturnType<typeof idOf>>,
					partitions: [{ partition: 0, fetchOffset: 0, lastFetchedEpoch: -1, partitionMaxBytes: 1000 }],
				},
			],
			forgottenTopicsData: [],
		})
		expect(byId.responses[0]?.partitions[0]?.errorCode).toBe(ERROR.UNKNOWN_TOPIC_ID)
	})

	it('7.2 checks the leader epoch that the request names', async () => {
		expect(onlyPartition(await fetchFrom(connection, 'data', 0, { leaderEpoch: 0 })).errorCode).toBe(0)
		const newer = onlyPartition(await fetchFrom(connection, 'data', 0, { leaderEpoch: 9 }))
		expect(newer.errorCode).toBe(ERROR.UNKNOWN_LEADER_EPOCH)
	})

	it('7.7 the first batch comes whole whatever the limits, the next must fit', async () => {
		const tiny = onlyPartition(await fetchFrom(connection, 'data', 0, { partitionMaxBytes: 1, maxBytes: 1 }))
		const records = tiny.records as Buffer
		expect(records.length).toBe(12 + records.readInt32BE(8))
	})

	it('7.9 a fetcher with a later epoch than ours is told where it parts', async () => {
		const answer = onlyPartition(await fetchFrom(connection, 'data', 4, { lastFetchedEpoch: 5 }))
		expect(answer.errorCode).toBe(ERROR.OFFSET_OUT_OF_RANGE)
		const same = onlyPartition(await fetchFrom(connection, 'data', 4, { lastFetchedEpoch: 0 }))
		expect([same.errorCode, same.divergingEpoch.epoch]).toEqual([0, -1])
	})

	it('7.10 and 7.11 waits for data and answers when it comes', async () => {
		await makeTopic(connection, 'waiting')
		const waiter = await broker.connect()
		const pending = fetchFrom(waiter, 'waiting', 0, { maxWaitMs: 8000 })
		await send(connection, 'waiting', batchOf(['now']))
		const partition = onlyPartition(await pending)
		expect([partition.errorCode, partition.highWatermark]).toEqual([0, 1])
		expect((partition.records as Buffer).length).toBeGreaterThan(61)
	})

	it('7.11 answers empty when the time is over', async () => {
		const started = performance.now()
		const partition = onlyPartition(await fetchFrom(connection, 'data', 6, { maxWaitMs: 120 }))
		expect((partition.records as Buffer).length).toBe(0)
		expect(performance.now() - started).toBeGreaterThan(100)
	})

	it('7.12 waits until MinBytes are there', async () => {
		await makeTopic(connection, 'minimum')
		const waiter = await broker.connect()
		const pending = fetchFrom(waiter, 'minimum', 0, { maxWaitMs: 8000, minBytes: 200 })
		const one = batchOf(['x'.repeat(60)])
		await send(connection, 'minimum', Buffer.from(one))
		await send(connection, 'minimum', Buffer.from(one))
		expect((onlyPartition(await pending).records as Buffer).length).toBe(one.length * 2)
	})

	it('7.13 the aborted list is null for read_uncommitted and a list for read_committed', async () => {
		expect(onlyPartition(await fetchFrom(connection, 'data', 0)).abortedTransactions).toBeNull()
		const committed = onlyPartition(await fetchFrom(connection, 'data', 0, { isolation: 1 }))
		expect([committed.abortedTransactions, committed.lastStableOffset]).toEqual([[], 6])
	})

	it('7.15 a zstd topic is 76 below version 10', async () => {
		await makeTopic(connection, 'zstd', 1, { 'compression.type': 'zstd' })
		await send(connection, 'zstd', batchOf(['a']))
		expect(onlyPartition(await fetchFrom(connection, 'zstd', 0, { version: 9 })).errorCode).toBe(76)
		expect(onlyPartition(await fetchFrom(connection, 'zstd', 0, { version: 10 })).errorCode).toBe(0)
	})

	/** One partition's part of a fetch of several. */
	const part = (partition: number, fetchOffset = 0) => ({
		partition,
		fetchOffset,
		lastFetchedEpoch: -1,
		partitionMaxBytes: 1_000_000,
	})

	const ofMany = (partitions: readonly number[], maxBytes: number) =>
		connection.send(fetch, 12, {
			replicaId: -1,
			maxWaitMs: 0,
			minBytes: 1,
			maxBytes,
			sessionId: 0,
			sessionEpoch: -1,
			topics: [{ topic: 'many', partitions: partitions.map((each) => part(each)) }],
			forgottenTopicsData: [],
		})

	it('7.8 partitions are served in the order of the request', async () => {
		await makeTopic(connection, 'many', 3)
		for (const partition of [0, 1, 2]) await send(connection, 'many', batchOf(['x'.repeat(500)]), { partition })
		for (const order of [
			[2, 0, 1],
			[1, 2, 0],
		]) {
			const answered = (await ofMany(order, 700)).responses[0]?.partitions ?? []
			expect(answered.map(({ partitionIndex }) => partitionIndex)).toEqual(order)
			expect(answered.map(({ records }) => (records as Buffer).length > 0)).toEqual([true, false, false])
		}
	})

	it('28.9 an answer is held to fetch.max.bytes, whatever the request asks for', async () => {
		const small = await startTestBroker({ 'fetch.max.bytes': '2048' })
		try {
			const client = await small.connect()
			await makeTopic(client, 'big')
			for (let i = 0; i < 10; i++) await send(client, 'big', batchOf(['x'.repeat(500)]))
			const one = batchOf(['x'.repeat(500)]).length
			const most = { maxBytes: 0x7fffffff, partitionMaxBytes: 0x7fffffff }
			const { records } = onlyPartition(await fetchFrom(client, 'big', 0, most))
			// Cut at 2048 bytes: whole batches and the beginning of one more, as Kafka cuts.
			expect((records as Buffer).length).toBeGreaterThanOrEqual(3 * one)
			expect((records as Buffer).length).toBeLessThanOrEqual(2048)
		} finally {
			await small.stop()
		}
	})

	it('7.14 tells the log start from version 5, and that no other replica is preferred', async () => {
		await makeTopic(connection, 'started')
		for (const value of ['a', 'b', 'c']) await send(connection, 'started', batchOf([value]))
		await connection.request(deleteRecords, {
			topics: [{ name: 'started', partitions: [{ partitionIndex: 0, offset: 2 }] }],
			timeoutMs: 5000,
		})
		expect(onlyPartition(await fetchFrom(connection, 'started', 2, { version: 5 })).logStartOffset).toBe(2)
		const newest = onlyPartition(await fetchFrom(connection, 'started', 2, { version: 12 }))
		expect([newest.logStartOffset, newest.preferredReadReplica]).toEqual([2, -1])
		expect(onlyPartition(await fetchFrom(connection, 'started', 1)).errorCode).toBe(ERROR.OFFSET_OUT_OF_RANGE)
	})

	it('7.19 a debugging consumer (-2) reads without being a replica, whatever the isolation', async () => {
		const debugging = onlyPartition(await fetchFrom(connection, 'data', 0, { replicaId: -2, isolation: 1 }))
		expect([debugging.errorCode, debugging.abortedTransactions]).toEqual([0, null])
		expect((debugging.records as Buffer).length).toBeGreaterThan(61)
	})

	it('6.8 a fetch that waits holds back what comes after it on its connection', async () => {
		await makeTopic(connection, 'held')
		const own = await broker.connect()
		const done: string[] = []
		const fetched = fetchFrom(own, 'held', 0, { maxWaitMs: 8000 }).then(() => done.push('fetch'))
		const asked = own.request(metadata, { topics: [] }).then(() => done.push('metadata'))
		// Another connection is answered meanwhile.
		await connection.request(metadata, { topics: [] })
		expect(done).toEqual([])
		await makeTopic(connection, 'elsewhere')
		expect(done).toEqual([])
		await send(connection, 'held', batchOf(['late']))
		await Promise.all([fetched, asked])
		expect(done).toEqual(['fetch', 'metadata'])
	})

	it('28.4 an unknown isolation level is -1 at the top and for every partition', async () => {
		const answer = await fetchFrom(connection, 'data', 0, { isolation: 7 as 0 })
		expect([answer.errorCode, onlyPartition(answer).errorCode]).toEqual([-1, -1])
	})
})

describe('fetch sessions', () => {
	const session = (sessionId: number, sessionEpoch: number, offset: number | null, version = 12) =>
		connection.send(fetch, version, {
			replicaId: -1,
			maxWaitMs: 0,
			minBytes: 1,
			sessionId,
			sessionEpoch,
			topics:
				offset === null
					? []
					: [
							{
								topic: 'data',
								partitions: [{ partition: 0, fetchOffset: offset, lastFetchedEpoch: -1, partitionMaxBytes: 1000 }],
							},
						],
			forgottenTopicsData: [],
		})

	it('8.2 and 8.7 remembers partitions and repeats nothing that did not change', async () => {
		const full = await session(0, 0, 6)
		expect(full.sessionId).toBeGreaterThan(0)
		expect(full.responses.length).toBe(1)
		const nothing = await session(full.sessionId, 1, null)
		expect([nothing.errorCode, nothing.sessionId, nothing.responses]).toEqual([0, full.sessionId, []])
		await send(connection, 'data', batchOf(['four']))
		const news = await session(full.sessionId, 2, null)
		expect(onlyPartition(news).highWatermark).toBe(7)
	})

	it('8.4 refuses unknown sessions and wrong epochs', async () => {
		expect((await session(12_345, 1, null)).errorCode).toBe(ERROR.FETCH_SESSION_ID_NOT_FOUND)
		const full = await session(0, 0, 0)
		expect((await session(full.sessionId, 5, null)).errorCode).toBe(ERROR.INVALID_FETCH_SESSION_EPOCH)
		const wrong = await connection.send(fetch, 13, {
			replicaId: -1,
			maxWaitMs: 0,
			minBytes: 1,
			sessionId: full.sessionId,
			sessionEpoch: 1,
			topics: [],
			forgottenTopicsData: [],
		})
		expect(wrong.errorCode).toBe(ERROR.FETCH_SESSION_TOPIC_ID_ERROR)
	})

	it('8.3 epoch -1 closes the session', async () => {
		const full = await session(0, 0, 0)
		expect((await session(full.sessionId, -1, 0)).sessionId).toBe(0)
		expect((await session(full.sessionId, 1, null)).errorCode).toBe(ERROR.FETCH_SESSION_ID_NOT_FOUND)
	})

	it('8.5 forgets partitions, and ends when none is left', async () => {
		const full = await session(0, 0, 0)
		const answer = await connection.send(fetch, 12, {
			replicaId: -1,
			maxWaitMs: 0,
			minBytes: 1,
			sessionId: full.sessionId,
			sessionEpoch: 1,
			topics: [],
			forgottenTopicsData: [{ topic: 'data', partitions: [0] }],
		})
		expect([answer.sessionId, answer.responses]).toEqual([0, []])
	})

	const byId = (sessionId: number, sessionEpoch: number, ids: readonly TopicId[]) =>
		connection.send(fetch, 13, {
			replicaId: -1,
			maxWaitMs: 0,
			minBytes: 1,
			sessionId,
			sessionEpoch,
			topics: ids.map((topicId) => ({
				topicId,
				partitions: [{ partition: 0, fetchOffset: 0, lastFetchedEpoch: -1, partitionMaxBytes: 1000 }],
			})),
			forgottenTopicsData: [],
		})

	it('8.9 holds ids that are not known, and knows a deleted topic by its name', async () => {
		await makeTopic(connection, 'short-lived')
		const id = await idOf('short-lived')
		const unknown = 'MTIzNDU2Nzg5MDEyMzQ1Ng' as TopicId
		const full = await byId(0, 0, [id, unknown])
		const codes = (answer: typeof full) => answer.responses.map(({ partitions }) => partitions[0]?.errorCode)
		expect(codes(full)).toEqual([0, ERROR.UNKNOWN_TOPIC_ID])
		expect(codes(await byId(full.sessionId, 1, []))).toEqual([ERROR.UNKNOWN_TOPIC_ID])
		await connection.request(deleteTopics, { topics: [{ topicId: id }], timeoutMs: 5000 })
		await until('the topic is gone', async () => codes(await byId(0, -1, [id]))[0] === ERROR.UNKNOWN_TOPIC_ID)
		expect(codes(await byId(full.sessionId, 2, []))).toEqual([ERROR.UNKNOWN_TOPIC_OR_PARTITION, ERROR.UNKNOWN_TOPIC_ID])
	})
})
