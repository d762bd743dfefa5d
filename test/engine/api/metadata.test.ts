/** Metadata, DescribeCluster, FindCoordinator: statements of semantics 11 that a single broker has. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TopicId, ZERO_TOPIC_ID } from '../../../src/base/ids.js'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { metadataHandler } from '../../../src/engine/api/metadata.js'
import { MetadataCache } from '../../../src/engine/metadata/cache.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { findCoordinator } from '../../../src/protocol/messages/group.js'
import { describeCluster, metadata } from '../../../src/protocol/messages/metadata.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { makeTopic } from '../../helpers/requests.js'
import { until } from '../../helpers/until.js'

let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker()
	connection = await broker.connect()
	await makeTopic(connection, 'known', 2)
})
afterAll(() => broker.stop())

const UNKNOWN_ID = 'MTIzNDU2Nzg5MDEyMzQ1Ng' as TopicId

describe('before the controller has told anything', () => {
	it('30.2 there are no brokers, no controller and no topics, and what is asked for is not there', async () => {
		const handler = metadataHandler({
			clusterId: 'c',
			metadata: new MetadataCache(),
			autoCreate: () => Promise.resolve(ERROR.LEADER_NOT_AVAILABLE),
			isAutoCreateEnabled: () => true,
		})
		const context = { version: 9, clientId: '', connection: { listener: 'PLAINTEXT', remoteAddress: '' } }
		const ask = (topics: unknown, allowAutoTopicCreation: boolean) =>
			handler.handle({ topics, allowAutoTopicCreation }, context)
		const empty = { brokers: [], controllerId: -1, clusterId: 'c' }
		expect(await ask(null, true)).toMatchObject({ ...empty, topics: [] })
		const one = [{ name: 't', topicId: ZERO_TOPIC_ID }]
		expect(await ask(one, false)).toMatchObject({ ...empty, topics: [{ name: 't', errorCode: 3, partitions: [] }] })
		expect(await ask(one, true)).toMatchObject({ ...empty, topics: [{ name: 't', errorCode: 5, partitions: [] }] })
	})
})

describe('metadata', () => {
	it('11.1 and 11.2 name the broker at its advertised address, the controller and the cluster', async () => {
		const answer = await connection.send(metadata, 12, { topics: [] })
		expect(answer.brokers).toEqual([{ nodeId: 1, host: '127.0.0.1', port: broker.port, rack: null }])
		expect([answer.controllerId, answer.clusterId]).toEqual([1, broker.broker.info.clusterId])
	})

	it('11.3 version 0 gives all for an empty list, later ones all for null and none for empty', async () => {
		const names = (answer: { topics: readonly { name: string | null }[] }) => answer.topics.map(({ name }) => name)
		expect(names(await connection.send(metadata, 0, { topics: [] }))).toEqual(['known'])
		expect(names(await connection.send(metadata, 1, { topics: null }))).toEqual(['known'])
		expect(names(await connection.send(metadata, 1, { topics: [] }))).toEqual([])
	})

	it('11.4 tells leader, epoch, replicas and ISR of every partition', async () => {
		const answer = await connection.send(metadata, 12, { topics: [{ name: 'known' }] })
		const partitions = answer.topics[0]?.partitions ?? []
		expect(partitions.map(({ partitionIndex }) => partitionIndex).sort()).toEqual([0, 1])
		for (const partition of partitions) {
			expect(partition).toMatchObject({
				errorCode: 0,
				leaderId: 1,
				leaderEpoch: 0,
				replicaNodes: [1],
				isrNodes: [1],
				offlineReplicas: [],
			})
		}
	})

	it('11.6 creates an unknown topic where it may, and answers 5 for it', async () => {
		const refused = await connection.send(metadata, 12, { topics: [{ name: 'auto' }], allowAutoTopicCreation: false })
		expect(refused.topics[0]?.errorCode).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
		const created = await connection.send(metadata, 12, { topics: [{ name: 'auto' }], allowAutoTopicCreation: true })
		expect(created.topics[0]?.errorCode).toBe(ERROR.LEADER_NOT_AVAILABLE)
		await until('it has a leader', async () => {
			const answer = await connection.send(metadata, 12, { topics: [{ name: 'auto' }] })
			return answer.topics[0]?.errorCode === ERROR.NONE
		})
	})

	it('11.7 of several that have one topic created, one is told 5 and the others 3', async () => {
		const asking = await Promise.all(Array.from({ length: 4 }, () => broker.connect()))
		const answers = await Promise.all(asking.map((each) => each.send(metadata, 12, { topics: [{ name: 'at-once' }] })))
		const codes = answers.map(({ topics }) => topics[0]?.errorCode).sort()
		expect(codes).toEqual([
			ERROR.UNKNOWN_TOPIC_OR_PARTITION,
			ERROR.UNKNOWN_TOPIC_OR_PARTITION,
			ERROR.UNKNOWN_TOPIC_OR_PARTITION,
			ERROR.LEADER_NOT_AVAILABLE,
		])
	})

	it('11.6 an illegal name is 17', async () => {
		for (const name of ['', '.', '..', 'a/b', 'x'.repeat(250)]) {
			const answer = await connection.send(metadata, 12, { topics: [{ name }] })
			expect(answer.topics[0]?.errorCode).toBe(ERROR.INVALID_TOPIC_EXCEPTION)
		}
	})

	it('11.8 by id: known ones answer name and id, unknown ones 100 without a name, below 12 the request is refused', async () => {
		const byName = await connection.send(metadata, 12, { topics: [{ name: 'known' }] })
		const topicId = byName.topics[0]?.topicId ?? ZERO_TOPIC_ID
		expect(topicId).not.toBe(ZERO_TOPIC_ID)
		const byId = await connection.send(metadata, 12, { topics: [{ topicId, name: null }] })
		expect([byId.topics[0]?.errorCode, byId.topics[0]?.name]).toEqual([0, 'known'])
		const unknown = await connection.send(metadata, 12, { topics: [{ topicId: UNKNOWN_ID, name: null }] })
		expect([unknown.topics[0]?.errorCode, unknown.topics[0]?.name]).toEqual([ERROR.UNKNOWN_TOPIC_ID, null])
		const old = await connection.send(metadata, 11, { topics: [{ topicId, name: 'known' }] })
		expect(old.topics[0]?.errorCode).toBe(ERROR.INVALID_REQUEST)
	})

	it('11.10 authorized operations are not told unless asked', async () => {
		const answer = await connection.send(metadata, 12, { topics: [{ name: 'known' }] })
		expect(answer.topics[0]?.topicAuthorizedOperations).toBe(-2147483648)
	})

	it('11.11 and 11.14 the internal topic is made at the first search for a coordinator', async () => {
		const first = await connection.send(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['g1', 'g2'] })
		expect(first.coordinators.map(({ errorCode, nodeId, host, port }) => [errorCode, nodeId, host, port])).toEqual([
			[ERROR.COORDINATOR_NOT_AVAILABLE, -1, '', -1],
			[ERROR.COORDINATOR_NOT_AVAILABLE, -1, '', -1],
		])
		await until('there is a coordinator', async () => {
			const found = await connection.send(findCoordinator, 3, { key: 'g1', keyType: 0 })
			return found.errorCode === ERROR.NONE && found.nodeId === 1 && found.port === broker.port
		})
		const answer = await connection.send(metadata, 12, { topics: null })
		expect(answer.topics.find(({ name }) => name === '__consumer_offsets')?.isInternal).toBe(true)
		expect(answer.topics.find(({ name }) => name === 'known')?.isInternal).toBe(false)
	})

	it('11.13 an unknown key type is 42', async () => {
		expect((await connection.send(findCoordinator, 3, { key: 'g', keyType: 9 })).errorCode).toBe(ERROR.INVALID_REQUEST)
	})

	it('11.16 DescribeCluster tells brokers, and refuses other endpoint types', async () => {
		const answer = await connection.send(describeCluster, 1, {
			includeClusterAuthorizedOperations: false,
			endpointType: 1,
		})
		expect([answer.errorCode, answer.controllerId, answer.brokers.length]).toEqual([0, 1, 1])
		const ask = (endpointType: number) =>
			connection.send(describeCluster, 1, { includeClusterAuthorizedOperations: false, endpointType })
		expect((await ask(2)).errorCode).toBe(ERROR.MISMATCHED_ENDPOINT_TYPE)
		expect((await ask(7)).errorCode).toBe(ERROR.UNSUPPORTED_ENDPOINT_TYPE)
	})
})
