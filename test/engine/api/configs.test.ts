/** Configs over the wire: semantics 29.1, 29.2, configs.md §1. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { alterConfigs, describeConfigs, incrementalAlterConfigs } from '../../../src/protocol/messages/configs.js'
import { describeLogDirs } from '../../../src/protocol/messages/reassignment.js'
import { describeProducers } from '../../../src/protocol/messages/transactions.js'
import { writeConfig } from '../../../src/zk/recipes-config.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { batchOf, makeTopic, send } from '../../helpers/requests.js'
import { until } from '../../helpers/until.js'

let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker({ 'log.retention.hours': '5' })
	connection = await broker.connect()
	await makeTopic(connection, 'configured', 1, { 'max.message.bytes': '2000' })
})
afterAll(() => broker.stop())

const TOPIC = 2
const BROKER = 4

async function describeOne(type: number, name: string, keys: string[] | null = null) {
	const answer = await connection.send(describeConfigs, 4, {
		resources: [{ resourceType: type, resourceName: name, configurationKeys: keys }],
		includeSynonyms: true,
		includeDocumentation: true,
	})
	const result = answer.results[0]
	if (result === undefined) throw new Error('no result')
	return result
}

type Operation = [key: string, operation: number, value: string | null]

async function alter(
	type: number,
	name: string,
	operations: Operation[],
	validateOnly = false,
): Promise<number | undefined> {
	const answer = await connection.send(incrementalAlterConfigs, 1, {
		resources: [
			{
				resourceType: type,
				resourceName: name,
				configs: operations.map(([key, configOperation, value]) => ({ name: key, configOperation, value })),
			},
		],
		validateOnly,
	})
	return answer.responses[0]?.errorCode
}

const value = async (type: number, name: string, key: string) =>
	(await describeOne(type, name, [key])).configs[0]?.value

describe('describe configs', () => {
	it('29.1 a topic shows every key with value, source, type and synonyms', async () => {
		const { configs, errorCode } = await describeOne(TOPIC, 'configured')
		expect(errorCode).toBe(0)
		const byName = new Map(configs.map((config) => [config.name, config]))
		expect(configs.length).toBe(36)
		expect(byName.get('max.message.bytes')).toMatchObject({
			value: '2000',
			configSource: 1,
			configType: 3,
			readOnly: false,
		})
		expect(byName.get('max.message.bytes')?.synonyms).toEqual([
			{ name: 'max.message.bytes', value: '2000', source: 1 },
			{ name: 'message.max.bytes', value: '1048588', source: 5 },
		])
		// Inherited in another unit: five hours of the broker are milliseconds of the topic.
		expect(byName.get('retention.ms')).toMatchObject({ value: '18000000', configSource: 4 })
		expect(byName.get('segment.bytes')?.synonyms).toEqual([
			{ name: 'log.segment.bytes', value: '1073741824', source: 5 },
		])
		expect(byName.get('segment.ms')?.synonyms).toEqual([])
	})

	it('29.1 every topic key says what it means, where asked', async () => {
		const { configs } = await describeOne(TOPIC, 'configured')
		expect(configs.filter(({ documentation }) => (documentation ?? '') === '').map(({ name }) => name)).toEqual([])
	})

	it('29.1 asks for some keys, unknown topics, other brokers, other resources', async () => {
		expect(
			(await describeOne(TOPIC, 'configured', ['retention.ms', 'no.such'])).configs.map(({ name }) => name),
		).toEqual(['retention.ms'])
		expect((await describeOne(TOPIC, 'nowhere')).errorCode).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
		expect((await describeOne(TOPIC, 'a/b')).errorCode).toBe(ERROR.INVALID_TOPIC_EXCEPTION)
		expect((await describeOne(BROKER, '7')).errorCode).toBe(ERROR.INVALID_REQUEST)
		expect((await describeOne(99, 'x')).errorCode).toBe(ERROR.INVALID_REQUEST)
		const own = await describeOne(BROKER, '1', ['log.retention.hours', 'num.io.threads', 'ssl.keystore.password'])
		const byName = new Map(own.configs.map((config) => [config.name, config]))
		expect(byName.get('log.retention.hours')).toMatchObject({ value: '5', configSource: 4, readOnly: true })
		expect(byName.get('ssl.keystore.password')).toMatchObject({ value: null, isSensitive: true })
	})
})

describe('alter configs', () => {
	it('29.2 sets and deletes, and holds at once for the next append', async () => {
		const large = batchOf(['x'.repeat(1000)])
		expect((await send(connection, 'configured', Buffer.from(large))).errorCode).toBe(0)
		expect(await alter(TOPIC, 'configured', [['max.message.bytes', 0, '500']])).toBe(0)
		await until(
			'it holds',
			async () => (await send(connection, 'configured', Buffer.from(large))).errorCode === ERROR.MESSAGE_TOO_LARGE,
		)
		expect(await alter(TOPIC, 'configured', [['max.message.bytes', 1, null]])).toBe(0)
		await until('it is gone', async () => (await send(connection, 'configured', Buffer.from(large))).errorCode === 0)
	})

	it('29.2 a change that any tool writes to ZooKeeper holds as well', async () => {
		await makeTopic(connection, 'from-outside')
		await writeConfig(broker.session, 'topics/from-outside', new Map([['retention.ms', '777']]))
		await until('it holds', async () => (await value(TOPIC, 'from-outside', 'retention.ms')) === '777')
	})

	it('29.2 appends to and subtracts from lists only', async () => {
		await makeTopic(connection, 'lists')
		expect(await alter(TOPIC, 'lists', [['cleanup.policy', 2, 'compact']])).toBe(0)
		await until('both', async () => (await value(TOPIC, 'lists', 'cleanup.policy')) === 'delete,compact')
		expect(await alter(TOPIC, 'lists', [['cleanup.policy', 3, 'delete']])).toBe(0)
		await until('one', async () => (await value(TOPIC, 'lists', 'cleanup.policy')) === 'compact')
		expect(await alter(TOPIC, 'lists', [['retention.ms', 2, '5']])).toBe(ERROR.INVALID_CONFIG)
	})

	it('29.2 refuses doubled keys, nulls, unknown names and bad values', async () => {
		expect(
			await alter(TOPIC, 'lists', [
				['retention.ms', 0, '5'],
				['retention.ms', 0, '6'],
			]),
		).toBe(ERROR.INVALID_REQUEST)
		expect(await alter(TOPIC, 'lists', [['retention.ms', 0, null]])).toBe(ERROR.INVALID_REQUEST)
		expect(await alter(TOPIC, 'lists', [['no.such', 0, '5']])).toBe(ERROR.INVALID_CONFIG)
		expect(await alter(TOPIC, 'lists', [['retention.ms', 0, 'soon']])).toBe(ERROR.INVALID_CONFIG)
		expect(await alter(TOPIC, 'nowhere', [['retention.ms', 0, '5']])).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
	})

	it('29.2 every refusal on a broker is 42', async () => {
		expect(await alter(BROKER, '1', [['broker.id', 0, '5']])).toBe(ERROR.INVALID_REQUEST)
		expect(await alter(BROKER, '', [['listeners', 0, 'PLAINTEXT://:1']])).toBe(ERROR.INVALID_REQUEST)
		expect(await alter(BROKER, '1', [['log.segment.bytes', 0, 'x']])).toBe(ERROR.INVALID_REQUEST)
		expect(await alter(BROKER, '9', [['log.segment.bytes', 0, '5000']])).toBe(ERROR.INVALID_REQUEST)
	})

	it('29.2 a pool goes to between half and double of its size at a time, and back by steps too', async () => {
		const set = (threads: string, broker = '1') => alter(BROKER, broker, [['num.io.threads', 0, threads]])
		for (const refused of ['3', '17', '0']) expect(await set(refused)).toBe(ERROR.INVALID_REQUEST)
		expect(await set('16', '')).toBe(0)
		expect(await set('32')).toBe(0)
		// The cluster's default is shadowed by the broker's own; taking that away would go from 64 to 16 at once.
		expect(await set('64')).toBe(0)
		expect(await alter(BROKER, '1', [['num.io.threads', 1, null]])).toBe(ERROR.INVALID_REQUEST)
		expect(await set('32')).toBe(0)
		expect(await alter(BROKER, '1', [['num.io.threads', 1, null]])).toBe(0)
		expect(await value(BROKER, '1', 'num.io.threads')).toBe('16')
		expect(await alter(BROKER, '', [['num.io.threads', 1, null]])).toBe(0)
	})

	it('29.2 throttled replicas and the message format are checked', async () => {
		await makeTopic(connection, 'checked')
		const set = (key: string, text: string) => alter(TOPIC, 'checked', [[key, 0, text]])
		for (const side of ['leader', 'follower']) {
			const key = `${side}.replication.throttled.replicas`
			for (const good of ['*', '', '0:1', '0:1,12:3']) expect([good, await set(key, good)]).toEqual([good, 0])
			for (const bad of ['0', '0:', '0:1,*', 'a:b', '0:1;1:2']) {
				expect([bad, await set(key, bad)]).toEqual([bad, ERROR.INVALID_CONFIG])
			}
		}
		for (const good of ['0.8.2', '0.10.1-IV2', '2.8', '2.8.1', '3.9-IV0', '3.0-IV1']) {
			expect([good, await set('message.format.version', good)]).toEqual([good, 0])
		}
		for (const bad of ['', '3', '2.9', '4.0', '2.8-IV9', 'v2', '0.10']) {
			expect([bad, await set('message.format.version', bad)]).toEqual([bad, ERROR.INVALID_CONFIG])
		}
	})

	it('29.2 dynamic broker values reach topics: the broker beats the cluster default', async () => {
		await makeTopic(connection, 'inherits')
		expect(await alter(BROKER, '', [['log.segment.bytes', 0, '111111']])).toBe(0)
		await until('the default', async () => (await value(TOPIC, 'inherits', 'segment.bytes')) === '111111')
		expect(await alter(BROKER, '1', [['log.segment.bytes', 0, '222222']])).toBe(0)
		await until('the broker', async () => (await value(TOPIC, 'inherits', 'segment.bytes')) === '222222')
		const { configs } = await describeOne(BROKER, '1', ['log.segment.bytes'])
		expect(configs[0]?.synonyms.map(({ value: each, source }) => [each, source])).toEqual([
			['222222', 2],
			['111111', 3],
			['1073741824', 5],
		])
	})

	it('29.2 validateOnly changes nothing', async () => {
		expect(await alter(TOPIC, 'lists', [['retention.ms', 0, '99']], true)).toBe(0)
		expect(await alter(TOPIC, 'lists', [['retention.ms', 0, 'bad']], true)).toBe(ERROR.INVALID_CONFIG)
		expect(await value(TOPIC, 'lists', 'retention.ms')).toBe('18000000')
	})

	it('29.2 AlterConfigs replaces the whole set', async () => {
		await makeTopic(connection, 'replaced', 1, { 'retention.ms': '1', 'segment.bytes': '5000' })
		const answer = await connection.send(alterConfigs, 2, {
			resources: [
				{ resourceType: TOPIC, resourceName: 'replaced', configs: [{ name: 'segment.bytes', value: '6000' }] },
			],
			validateOnly: false,
		})
		expect(answer.responses[0]?.errorCode).toBe(0)
		await until('replaced', async () => (await value(TOPIC, 'replaced', 'segment.bytes')) === '6000')
		expect(await value(TOPIC, 'replaced', 'retention.ms')).toBe('18000000')
	})
})

describe('what the logs hold', () => {
	it('29.5 log dirs tell path, sizes and space', async () => {
		const answer = await connection.send(describeLogDirs, 4, { topics: null })
		const dir = answer.results[0]
		expect([answer.errorCode, dir?.errorCode, dir?.logDir]).toEqual([0, 0, `${broker.folder}/data`])
		const topic = dir?.topics.find(({ name }) => name === 'configured')
		expect(topic?.partitions[0]).toMatchObject({ partitionIndex: 0, offsetLag: 0, isFutureKey: false })
		expect(topic?.partitions[0]?.partitionSize).toBeGreaterThan(1000)
		expect(dir?.totalBytes).toBeGreaterThan(0)
		const some = await connection.send(describeLogDirs, 4, { topics: [{ topic: 'lists', partitions: [0] }] })
		expect(some.results[0]?.topics.map(({ name }) => name)).toEqual(['lists'])
	})

	it('29.6 active producers are listed with their last sequence', async () => {
		await makeTopic(connection, 'produced')
		await send(connection, 'produced', batchOf(['a', 'b'], { producerId: 9n, producerEpoch: 1, baseSequence: 0 }))
		const answer = await connection.send(describeProducers, 0, {
			topics: [{ name: 'produced', partitionIndexes: [0, 4] }],
		})
		const partitions = answer.topics[0]?.partitions ?? []
		expect(partitions.map(({ errorCode }) => errorCode)).toEqual([0, 3])
		expect(partitions[0]?.activeProducers).toMatchObject([
			{ producerId: 9n, producerEpoch: 1, lastSequence: 1, coordinatorEpoch: -1, currentTxnStartOffset: -1 },
		])
	})
})

describe('what is altered', () => {
	it('29.1 is described at once', async () => {
		await makeTopic(connection, 'read-back')
		for (let i = 1; i <= 20; i++) {
			expect(await alter(TOPIC, 'read-back', [['retention.ms', 0, String(i * 1000)]])).toBe(0)
			expect(await value(TOPIC, 'read-back', 'retention.ms')).toBe(String(i * 1000))
		}
	})

	it('29.2 is named once: a resource or a key twice is 42', async () => {
		const resource = (configs: { name: string; value: string }[]) => ({
			resourceType: TOPIC,
			resourceName: 'read-back',
			configs,
		})
		const one = { name: 'retention.ms', value: '77' }
		const key = await connection.send(alterConfigs, 1, { resources: [resource([one, one])], validateOnly: false })
		expect(key.responses.map(({ errorCode }) => errorCode)).toEqual([42])
		const twice = [resource([one]), resource([one])]
		const both = await connection.send(alterConfigs, 1, { resources: twice, validateOnly: false })
		expect(both.responses.map(({ errorCode }) => errorCode)).toEqual([42, 42])
		expect(await value(TOPIC, 'read-back', 'retention.ms')).toBe('20000')
	})

	it('29.2 a gzip level is -1 or from 1 to 9', async () => {
		for (const [level, code] of [
			['0', 40],
			['10', 40],
			['-1', 0],
			['9', 0],
		] as const) {
			expect(await alter(TOPIC, 'read-back', [['compression.gzip.level', 0, level]]), level).toBe(code)
		}
	})
})
