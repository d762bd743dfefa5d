/** Topics created, grown and deleted over the wire: statements of semantics 16 that a single broker has. */

import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ZERO_TOPIC_ID } from '../../../src/base/ids.js'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { metadata } from '../../../src/protocol/messages/metadata.js'
import { createPartitions, createTopics, deleteTopics } from '../../../src/protocol/messages/topics.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../../helpers/requests.js'
import { until } from '../../helpers/until.js'

let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker({ 'log.segment.delete.delay.ms': '1' })
	connection = await broker.connect()
})
afterAll(() => broker.stop())

interface Wish {
	readonly name: string
	readonly partitions?: number
	readonly replicas?: number
	readonly configs?: readonly { name: string; value: string | null }[]
	readonly assignments?: readonly { partitionIndex: number; brokerIds: number[] }[]
}

async function create(wishes: readonly Wish[], options: { validateOnly?: boolean; timeoutMs?: number } = {}) {
	const answer = await connection.send(createTopics, 7, {
		topics: wishes.map(({ name, partitions, replicas, configs, assignments }) => ({
			name,
			numPartitions: partitions ?? (assignments === undefined ? 1 : -1),
			replicationFactor: replicas ?? (assignments === undefined ? 1 : -1),
			assignments: assignments ?? [],
			configs: configs ?? [],
		})),
		timeoutMs: options.timeoutMs ?? 10_000,
		validateOnly: options.validateOnly ?? false,
	})
	return answer.topics
}

const codeOf = async (wish: Wish): Promise<number | undefined> => (await create([wish]))[0]?.errorCode

describe('creating topics', () => {
	it('16.1 refuses names that are not legal or collide', async () => {
		for (const name of ['', '.', '..', 'a b', 'ü', 'x'.repeat(250)]) expect(await codeOf({ name })).toBe(17)
		await makeTopic(connection, 'with.dot')
		expect(await codeOf({ name: 'with_dot' })).toBe(ERROR.INVALID_TOPIC_EXCEPTION)
		expect(await codeOf({ name: '__cluster_metadata' })).toBe(ERROR.INVALID_REQUEST)
		expect(await codeOf({ name: 'y'.repeat(249) })).toBe(ERROR.NONE)
	})

	it('16.2 the same topic twice in a request is 42 for it', async () => {
		const topics = await create([{ name: 'twice' }, { name: 'twice' }, { name: 'beside' }])
		expect(topics.map(({ name, errorCode }) => [name, errorCode])).toEqual([
			['twice', 42],
			['beside', 0],
		])
	})

	it('16.3 existing topics, counts and assignments that cannot be', async () => {
		await makeTopic(connection, 'there')
		expect(await codeOf({ name: 'there' })).toBe(ERROR.TOPIC_ALREADY_EXISTS)
		expect(await codeOf({ name: 'none', partitions: 0 })).toBe(ERROR.INVALID_PARTITIONS)
		expect(await codeOf({ name: 'none', replicas: 0 })).toBe(ERROR.INVALID_REPLICATION_FACTOR)
		expect(await codeOf({ name: 'none', replicas: 2 })).toBe(ERROR.INVALID_REPLICATION_FACTOR)
		expect(await codeOf({ name: 'none', partitions: 1, assignments: [{ partitionIndex: 0, brokerIds: [1] }] })).toBe(42)
		expect(await codeOf({ name: 'none', assignments: [{ partitionIndex: 1, brokerIds: [1] }] })).toBe(39)
		expect(await codeOf({ name: 'none', assignments: [{ partitionIndex: 0, brokerIds: [1, 1] }] })).toBe(39)
		expect(await codeOf({ name: 'none', assignments: [{ partitionIndex: 0, brokerIds: [9] }] })).toBe(39)
		expect(await codeOf({ name: 'given', assignments: [{ partitionIndex: 0, brokerIds: [1] }] })).toBe(ERROR.NONE)
	})

	it('16.3 -1 takes the broker defaults', async () => {
		const [topic] = await create([{ name: 'defaults', partitions: -1, replicas: -1 }])
		expect([topic?.errorCode, topic?.numPartitions, topic?.replicationFactor]).toEqual([0, 1, 1])
	})

	it('16.4 unknown, bad and null configs are 40, and say which', async () => {
		const of = (name: string, value: string | null) => codeOf({ name: 'configured', configs: [{ name, value }] })
		expect(await of('no.such.key', '1')).toBe(ERROR.INVALID_CONFIG)
		expect(await of('retention.ms', 'soon')).toBe(ERROR.INVALID_CONFIG)
		expect(await of('segment.bytes', '3')).toBe(ERROR.INVALID_CONFIG)
		expect(await of('cleanup.policy', 'shred')).toBe(ERROR.INVALID_CONFIG)
		expect(await of('retention.ms', null)).toBe(ERROR.INVALID_CONFIG)
		expect(await of('remote.storage.enable', 'true')).toBe(ERROR.INVALID_CONFIG)
	})

	it('16.5 validateOnly checks everything and creates nothing', async () => {
		const [topic] = await create([{ name: 'dry', partitions: 3 }], { validateOnly: true })
		expect([topic?.errorCode, topic?.numPartitions, topic?.topicId]).toEqual([0, 3, ZERO_TOPIC_ID])
		const answer = await connection.send(metadata, 12, { topics: [{ name: 'dry' }], allowAutoTopicCreation: false })
		expect(answer.topics[0]?.errorCode).toBe(3)
	})

	it('16.6 a timeout of 0 answers 7, and the topic comes all the same', async () => {
		const [topic] = await create([{ name: 'hasty' }], { timeoutMs: 0 })
		expect(topic?.errorCode).toBe(ERROR.REQUEST_TIMED_OUT)
		await until('it is there', () => broker.broker.metadata.topic('hasty') !== undefined)
	})

	it('16.7 the answer tells id, counts and effective configs with their sources', async () => {
		const [topic] = await create([{ name: 'told', configs: [{ name: 'retention.ms', value: '5000' }] }])
		expect(topic?.topicId).not.toBe(ZERO_TOPIC_ID)
		const configs = new Map(topic?.configs?.map(({ name, value, configSource }) => [name, [value, configSource]]))
		expect(configs.get('retention.ms')).toEqual(['5000', 1])
		expect(configs.get('segment.bytes')).toEqual(['1073741824', 5])
	})

	it('29.2 a config given at creation holds from the first record', async () => {
		await makeTopic(connection, 'tight', 1, { 'max.message.bytes': '100' })
		expect((await send(connection, 'tight', batchOf(['x'.repeat(200)]))).errorCode).toBe(ERROR.MESSAGE_TOO_LARGE)
	})
})

describe('growing topics', () => {
	const grow = async (
		name: string,
		count: number,
		options: { assignments?: number[][]; validateOnly?: boolean } = {},
	) => {
		const answer = await connection.send(createPartitions, 3, {
			topics: [{ name, count, assignments: options.assignments?.map((brokerIds) => ({ brokerIds })) ?? null }],
			timeoutMs: 10_000,
			validateOnly: options.validateOnly ?? false,
		})
		return answer.results[0]?.errorCode
	}

	it('16.11 adds partitions that lead at once, and refuses what cannot be', async () => {
		await makeTopic(connection, 'growing', 2)
		expect(await grow('growing', 4, { validateOnly: true })).toBe(ERROR.NONE)
		expect(broker.broker.metadata.topic('growing')?.partitions.size).toBe(2)
		expect(await grow('growing', 4)).toBe(ERROR.NONE)
		expect((await send(connection, 'growing', batchOf(['a']), { partition: 3 })).errorCode).toBe(0)
		expect(await grow('growing', 4)).toBe(ERROR.INVALID_PARTITIONS)
		expect(await grow('growing', 3)).toBe(ERROR.INVALID_PARTITIONS)
		expect(await grow('nowhere', 3)).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
		expect(await grow('growing', 6, { assignments: [[1]] })).toBe(ERROR.INVALID_REPLICA_ASSIGNMENT)
		expect(await grow('growing', 5, { assignments: [[8]] })).toBe(ERROR.INVALID_REPLICA_ASSIGNMENT)
		expect(await grow('growing', 5, { assignments: [[1]] })).toBe(ERROR.NONE)
	})
})

describe('deleting topics', () => {
	it('16.12 by name and by id; unknown ones are 3 and 100; name and id together 42', async () => {
		await makeTopic(connection, 'doomed')
		await makeTopic(connection, 'doomed-too')
		const id = broker.broker.metadata.topic('doomed-too')?.topicId ?? ZERO_TOPIC_ID
		const remove = async (topics: { name: string | null; topicId: typeof ZERO_TOPIC_ID }[]) => {
			const answer = await connection.send(deleteTopics, 6, { topics, timeoutMs: 10_000 })
			return answer.responses.map(({ name, topicId, errorCode }) => [name, topicId, errorCode])
		}
		expect(await remove([{ name: 'doomed', topicId: ZERO_TOPIC_ID }])).toEqual([['doomed', ZERO_TOPIC_ID, 0]])
		expect(await remove([{ name: null, topicId: id }])).toEqual([['doomed-too', id, 0]])
		expect(await remove([{ name: 'nowhere', topicId: ZERO_TOPIC_ID }])).toEqual([['nowhere', ZERO_TOPIC_ID, 3]])
		expect(await remove([{ name: null, topicId: id }])).toEqual([[null, id, ERROR.UNKNOWN_TOPIC_ID]])
		expect(await remove([{ name: 'told', topicId: id }])).toEqual([['told', id, ERROR.INVALID_REQUEST]])
	})

	it('16.12 a name that no topic can have is 3, does no harm to the topic it would lie in, and spoils no other', async () => {
		await makeTopic(connection, 'intact')
		await makeTopic(connection, 'doomed')
		const names = ['', '/', 'intact/partitions', 'a\0b', 'doomed']
		const answer = await connection.send(deleteTopics, 3, { topicNames: names, timeoutMs: 10_000 })
		expect(answer.responses.map(({ errorCode }) => errorCode)).toEqual([3, 3, 3, 3, 0])
		expect((await broker.session.children('/admin/delete_topics'))?.names).toEqual([])
		const grown = await connection.send(createPartitions, 3, {
			topics: ['intact/partitions', '', 'intact'].map((name) => ({ name, count: 2, assignments: null })),
			timeoutMs: 10_000,
			validateOnly: false,
		})
		expect(grown.results.map(({ errorCode }) => errorCode)).toEqual([3, 3, 0])
	})

	it('16.1 names of one request that collide: the first is made, the second is 17', async () => {
		const topics = ['co.lli_de', 'co_lli.de', 'alone'].map((name) => ({
			name,
			numPartitions: 1,
			replicationFactor: 1,
			assignments: [],
			configs: [],
		}))
		const answer = await connection.send(createTopics, 7, { topics, timeoutMs: 10_000, validateOnly: false })
		expect(Object.fromEntries(answer.topics.map(({ name, errorCode }) => [name, errorCode]))).toEqual({
			'co.lli_de': 0,
			'co_lli.de': 17,
			alone: 0,
		})
	})

	it('16.2 a count that no znode could hold is refused at once', async () => {
		const topic = { name: 'vast', numPartitions: 2147483647, replicationFactor: 1, assignments: [], configs: [] }
		const began = performance.now()
		const answer = await connection.send(createTopics, 7, { topics: [topic], timeoutMs: 10_000, validateOnly: true })
		expect(answer.topics[0]?.errorCode).toBe(37)
		expect(performance.now() - began).toBeLessThan(1000)
	})

	it('16.13 several at once leave no failure of the controller behind', async () => {
		const names = ['gone-1', 'gone-2', 'gone-3']
		for (const name of names) await makeTopic(connection, name)
		const topics = names.map((name) => ({ name, topicId: ZERO_TOPIC_ID }))
		const answer = await connection.send(deleteTopics, 6, { topics, timeoutMs: 10_000 })
		expect(answer.responses.map(({ errorCode }) => errorCode)).toEqual([0, 0, 0])
		await until('all wishes are fulfilled', async () => {
			return (await broker.session.children('/admin/delete_topics'))?.names.length === 0
		})
		expect(broker.lines.filter(({ level }) => level === 'error')).toEqual([])
	})

	it('16.13 and 16.14 its folder and znodes go, and the same name comes anew, empty and with another id', async () => {
		await makeTopic(connection, 'again')
		await send(connection, 'again', batchOf(['old']))
		const before = broker.broker.metadata.topic('again')?.topicId
		await connection.send(deleteTopics, 6, { topics: [{ name: 'again', topicId: ZERO_TOPIC_ID }], timeoutMs: 10_000 })
		expect((await send(connection, 'again', batchOf(['x']))).errorCode).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
		expect(await broker.session.get('/brokers/topics/again')).toBeNull()
		await until(
			'the folder is gone',
			() => !readdirSync(`${broker.folder}/data`).some((name) => name.startsWith('again-0')),
		)
		await makeTopic(connection, 'again')
		expect(broker.broker.metadata.topic('again')?.topicId).not.toBe(before)
		expect(onlyPartition(await fetchFrom(connection, 'again', 0)).highWatermark).toBe(0)
		expect(existsSync(`${broker.folder}/data/again-0`)).toBe(true)
	})

	it('30 topics, their settings and records live through a restart', async () => {
		await makeTopic(connection, 'lasting', 2, { 'retention.ms': '123456' })
		await send(connection, 'lasting', batchOf(['a', 'b']), { partition: 1 })
		broker = await broker.restart()
		connection = await broker.connect()
		expect(broker.broker.metadata.topic('lasting')?.partitions.size).toBe(2)
		expect(onlyPartition(await fetchFrom(connection, 'lasting', 0, { partition: 1 })).highWatermark).toBe(2)
		expect((await send(connection, 'lasting', batchOf(['c']), { partition: 1 })).baseOffset).toBe(2)
	})
})
