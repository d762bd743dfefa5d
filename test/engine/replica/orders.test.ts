/**
 * What a controller's orders do to a broker and to those who wait on it. The orders are given straight to the broker, as if
 * there were a broker 2: roles, ISR and image are then what a larger cluster would have.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { fetch } from '../../../src/protocol/messages/fetch.js'
import { metadata } from '../../../src/protocol/messages/metadata.js'
import { produce } from '../../../src/protocol/messages/produce.js'
import { deleteTopics } from '../../../src/protocol/messages/topics.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../../helpers/requests.js'
import { until } from '../../helpers/until.js'

let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker()
	connection = await broker.connect()
})
afterAll(() => broker.stop())

const CONTROLLER_EPOCH = 1

interface Roles {
	readonly leader: number
	readonly leaderEpoch: number
	readonly isr: readonly number[]
}

const shared = (roles: Roles) => ({
	partitionIndex: 0,
	controllerEpoch: CONTROLLER_EPOCH,
	leader: roles.leader,
	leaderEpoch: roles.leaderEpoch,
	isr: [...roles.isr],
	replicas: [1, 2],
})

/** LeaderAndIsr for partition 0 of a topic with replicas on 1 and 2. */
async function order(topic: string, roles: Roles): Promise<void> {
	const topicId = broker.broker.metadata.topic(topic)?.topicId
	const answer = await broker.broker.replicas.applyLeaderAndIsr({
		controllerId: 1,
		controllerEpoch: CONTROLLER_EPOCH,
		topicStates: [
			{ topicName: topic, topicId: topicId as string, partitionStates: [{ ...shared(roles), partitionEpoch: 7 }] },
		],
		liveLeaders: [],
	} as never)
	expect(answer.topics?.[0]?.partitionErrors).toEqual([{ partitionIndex: 0, errorCode: 0 }])
}

const endpoint = (host: string, port: number) => ({ host, port, listener: 'PLAINTEXT', securityProtocol: 0 })

/** UpdateMetadata: these topics, and these brokers. */
function update(topicStates: readonly unknown[], others: readonly unknown[]): void {
	broker.broker.replicas.applyUpdateMetadata({
		controllerId: 1,
		controllerEpoch: CONTROLLER_EPOCH,
		topicStates,
		liveBrokers: [{ id: 1, endpoints: [endpoint('127.0.0.1', broker.port)], rack: null }, ...others],
	} as never)
}

/** The same roles for all to see, with broker 2 at `two.example`. */
function tell(topic: string, roles: Roles): void {
	const topicId = broker.broker.metadata.topic(topic)?.topicId
	update(
		[{ topicName: topic, topicId, partitionStates: [{ ...shared(roles), zkVersion: 7 }] }],
		[{ id: 2, endpoints: [endpoint('two.example', 9999)], rack: 'r2' }],
	)
}

const waitingOn = (topic: string): number => broker.broker.replicas.produces.waitingFor(`${topic}-0`)

/** A topic whose ISR has a second member that never fetches: the high watermark stays. */
async function lonely(topic: string): Promise<void> {
	// Broker 2 is no place for the topic's only replica.
	update([], [])
	await makeTopic(connection, topic)
	await send(connection, topic, batchOf(['before']))
	await order(topic, { leader: 1, leaderEpoch: 10, isr: [1, 2] })
}

const all = (topic: string, timeoutMs = 20_000, version = 9) =>
	send(connection, topic, batchOf(['a', 'b']), { acks: -1, timeoutMs, version })

describe('acks=all that waits', () => {
	it('6.3 6.5 waits for the ISR; at the end of its time it is 7 with the real offset, and the data stays', async () => {
		await lonely('slow')
		expect(await all('slow', 200)).toMatchObject({ errorCode: ERROR.REQUEST_TIMED_OUT, baseOffset: 1 })
		const { records, highWatermark } = onlyPartition(await fetchFrom(connection, 'slow', 0))
		expect(highWatermark).toBe(1)
		// Consumers do not see it; it is in the log.
		expect((records as Buffer).equals(Buffer.alloc(0))).toBe(false)
		expect(broker.broker.replicas.find('slow', 0)).toMatchObject({ log: { logEndOffset: 3, highWatermark: 1 } })
		const debug = onlyPartition(await fetchFrom(connection, 'slow', 1, { replicaId: -2 }))
		expect((debug.records as Buffer).length).toBeGreaterThan(0)
	})

	it('6.5 a leader that moves answers 6 at once, with the real offset', async () => {
		await lonely('moved')
		const answer = all('moved')
		await until('it waits', () => waitingOn('moved') === 1)
		await order('moved', { leader: 2, leaderEpoch: 11, isr: [1, 2] })
		expect(await answer).toMatchObject({ errorCode: ERROR.NOT_LEADER_OR_FOLLOWER, baseOffset: 1 })
	})

	it('6.5 a topic that is deleted answers 3 at once', async () => {
		await lonely('deleted')
		const answer = all('deleted')
		await until('it waits', () => waitingOn('deleted') === 1)
		const other = await broker.connect()
		await other.send(deleteTopics, 3, { topicNames: ['deleted'], timeoutMs: 10_000 })
		expect((await answer).errorCode).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
	})

	it('6.7 an ISR that shrinks to those who have it completes it, under a new epoch of the same leader too', async () => {
		await lonely('shrunk')
		const answer = all('shrunk')
		await until('it waits', () => waitingOn('shrunk') === 1)
		await order('shrunk', { leader: 1, leaderEpoch: 11, isr: [1] })
		expect(await answer).toMatchObject({ errorCode: 0, baseOffset: 1 })
	})

	it('6.6 partitions that are decided at once wait for the answer of the rest', async () => {
		await lonely('partly')
		await makeTopic(connection, 'whole')
		const answer = connection.send(produce, 9, {
			transactionalId: null,
			acks: -1,
			timeoutMs: 20_000,
			topicData: ['whole', 'nowhere', 'partly'].map((name) => ({
				name,
				partitionData: [{ index: 0, records: batchOf(['x']) }],
			})),
		})
		await until('it waits', () => waitingOn('partly') === 1)
		await order('partly', { leader: 1, leaderEpoch: 11, isr: [1] })
		const codes = (await answer).responses.map(({ name, partitionResponses }) => [
			name,
			partitionResponses[0]?.errorCode,
		])
		expect(codes).toEqual([
			['whole', 0],
			['nowhere', ERROR.UNKNOWN_TOPIC_OR_PARTITION],
			['partly', 0],
		])
	})
})

describe('a leader elsewhere', () => {
	it('7.17 fetch 16 and produce 10 name the new leader and where it is; older versions do not', async () => {
		await lonely('gone')
		await order('gone', { leader: 2, leaderEpoch: 12, isr: [1, 2] })
		tell('gone', { leader: 2, leaderEpoch: 12, isr: [1, 2] })
		const topicId = broker.broker.metadata.topic('gone')?.topicId as string
		const ask = (version: number) =>
			connection.send(fetch, version, {
				maxWaitMs: 0,
				minBytes: 1,
				maxBytes: 1000,
				isolationLevel: 0,
				sessionId: 0,
				sessionEpoch: -1,
				topics: [
					{
						...(version >= 13 ? { topicId } : { topic: 'gone' }),
						partitions: [
							{ partition: 0, currentLeaderEpoch: -1, fetchOffset: 0, lastFetchedEpoch: -1, partitionMaxBytes: 1000 },
						],
					},
				],
				forgottenTopicsData: [],
				...(version < 15 ? { replicaId: -1 } : {}),
			} as never)
		const fetched = await ask(16)
		expect(onlyPartition(fetched)).toMatchObject({ errorCode: 6, currentLeader: { leaderId: 2, leaderEpoch: 12 } })
		const there = [{ nodeId: 2, host: 'two.example', port: 9999, rack: 'r2' }]
		expect(fetched.nodeEndpoints).toEqual(there)
		const older = await ask(12)
		expect(onlyPartition(older).errorCode).toBe(ERROR.NOT_LEADER_OR_FOLLOWER)
		expect(JSON.stringify(older, (_, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain(
			'two',
		)
		const produced = await connection.send(produce, 10, {
			transactionalId: null,
			acks: 1,
			timeoutMs: 1000,
			topicData: [{ name: 'gone', partitionData: [{ index: 0, records: batchOf(['x']) }] }],
		})
		expect(produced.responses[0]?.partitionResponses[0]).toMatchObject({
			errorCode: 6,
			currentLeader: { leaderId: 2, leaderEpoch: 12 },
		})
		expect(produced.nodeEndpoints).toEqual(there)
	})

	it('6.7 a fetch that waits is answered when the leader moves', async () => {
		await lonely('left')
		const other = await broker.connect()
		const waiting = fetchFrom(other, 'left', 1, { maxWaitMs: 20_000 })
		await until('it waits', () => broker.broker.replicas.fetches.waitingFor('left-0') === 1)
		await order('left', { leader: 2, leaderEpoch: 11, isr: [1, 2] })
		expect(onlyPartition(await waiting).errorCode).toBe(ERROR.NOT_LEADER_OR_FOLLOWER)
	})

	it('11.12 metadata is what the controller told last, whatever this broker leads', async () => {
		await lonely('told')
		tell('told', { leader: 2, leaderEpoch: 20, isr: [2] })
		const { brokers, topics } = await connection.send(metadata, 9, {
			topics: [{ name: 'told' }],
			allowAutoTopicCreation: false,
		} as never)
		expect(brokers.map(({ nodeId, host, port, rack }) => [nodeId, host, port, rack])).toEqual([
			[1, '127.0.0.1', broker.port, null],
			[2, 'two.example', 9999, 'r2'],
		])
		expect(topics[0]?.partitions[0]).toMatchObject({
			leaderId: 2,
			leaderEpoch: 20,
			isrNodes: [2],
			replicaNodes: [1, 2],
		})
		expect((await send(connection, 'told', batchOf(['still ours']))).errorCode).toBe(0)
	})
})

describe('an order of very many partitions', () => {
	it('is carried out in slices: the loop, and with it the session, lives', async () => {
		update([], [])
		const before = [...broker.broker.replicas.partitions].length
		const seen = new Set<number>()
		let isOver = false
		const watch = (): void => {
			seen.add([...broker.broker.replicas.partitions].length - before)
			if (!isOver) setImmediate(watch)
		}
		setImmediate(watch)
		await makeTopic(connection, 'wide', 400)
		isOver = true
		expect([...broker.broker.replicas.partitions].length - before).toBe(400)
		expect([...seen].filter((count) => count > 0 && count < 400).length).toBeGreaterThan(10)
	}, 60_000)
})
