/** Client libraries of other languages against a broker of ours: librdkafka (confluent-kafka), kafka-python, kafkajs. */

import { fileURLToPath } from 'node:url'
import { CompressionTypes, Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CODECS, PYTHON, storedCodecs } from '../helpers/peers.js'
import { type BrokerProcess, Cleanup, run, startBrokerProcess } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const cleanup = new Cleanup()
let broker: BrokerProcess
let data = ''

beforeAll(async () => {
	data = `${cleanup.folder()}/data`
	broker = await startBrokerProcess(data)
	cleanup.add(() => broker.kill())
})
afterAll(() => cleanup.run())

describe.skipIf(PYTHON === null)('Python clients (KCLI_PYTHON)', () => {
	it('confluent-kafka and kafka-python produce, consume alone and in groups, and administrate', async () => {
		const script = fileURLToPath(new URL('clients.py', import.meta.url))
		const done = await run(PYTHON as string, [script, broker.bootstrap], { timeoutMs: 150_000 })
		expect(done.stderr.split('\n').filter((line) => /Error|Traceback/.test(line))).toEqual([])
		const result = JSON.parse(done.stdout.trim().split('\n').pop() as string)
		const all = [500, 0, 500, true, 500]
		expect(result.confluent).toEqual({ none: all, gzip: all, snappy: all, lz4: all, zstd: all })
		for (const codec of CODECS) {
			const codecs = [0, 1].flatMap((p) => storedCodecs(`${data}/ck-${codec}-${p}/00000000000000000000.log`))
			expect(new Set(codecs)).toEqual(new Set([CODECS.indexOf(codec)]))
		}
		expect(result.confluentAdmin).toMatchObject({ low: 10, retention: '604800000', byTime: 10, controller: 1 })
		expect(result.confluentAdmin.latest).toBe(result.confluentAdmin.watermarks[1])
		expect(result.confluentAdmin.groups).toContain('ck-group-zstd')
		expect(result.kafkaPython).toEqual([true, true, 300, 300, 0])
		// Message formats 0 and 1, up and down (semantics 2.5, 2.6).
		const both = [true, true]
		expect(result.oldKafkaPython).toEqual({ '0.8.2': both, '0.9': both, '0.10': both, '0.10.1': both, '0.11': both })
		expect(result.oldLibrdkafka).toEqual({ '0.8.2': both, '0.9.0': both })
	}, 160_000)
})

describe('kafkajs', () => {
	it('produces with gzip, consumes in a group of two, and administrates', async () => {
		const kafka = new Kafka({ brokers: [broker.bootstrap], logLevel: logLevel.NOTHING })
		const admin = kafka.admin()
		await admin.connect()
		await admin.createTopics({
			topics: [{ topic: 'kjs', numPartitions: 4, configEntries: [{ name: 'retention.ms', value: '1000' }] }],
		})
		const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
		await producer.connect()
		await producer.send({
			topic: 'kjs',
			compression: CompressionTypes.GZIP,
			messages: Array.from({ length: 400 }, (_, i) => ({ key: `k${i}`, value: `v${i}`, headers: { n: `${i}` } })),
		})
		await producer.disconnect()
		const got = new Set<string>()
		const consumers = await Promise.all(
			[1, 2].map(async () => {
				const consumer = kafka.consumer({ groupId: 'kjs-group' })
				await consumer.connect()
				await consumer.subscribe({ topic: 'kjs', fromBeginning: true })
				await consumer.run({ eachMessage: async ({ message }) => void got.add(`${message.key}=${message.value}`) })
				return consumer
			}),
		)
		await until('all records come', () => got.size === 400, 60_000)
		const described = await admin.describeGroups(['kjs-group'])
		expect(described.groups[0]?.state).toMatch(/Stable|PreparingRebalance|CompletingRebalance/)
		for (const consumer of consumers) await consumer.disconnect()
		const offsets = await admin.fetchOffsets({ groupId: 'kjs-group', topics: ['kjs'] })
		const committed = offsets[0]?.partitions.reduce((sum, { offset }) => sum + Number(offset), 0)
		expect(committed).toBe(400)
		const configs = await admin.describeConfigs({
			includeSynonyms: true,
			resources: [{ type: 2, name: 'kjs', configNames: ['retention.ms'] }],
		})
		expect(configs.resources[0]?.configEntries[0]?.configValue).toBe('1000')
		await admin.deleteTopics({ topics: ['kjs'] })
		expect(await admin.listTopics()).not.toContain('kjs')
		await admin.disconnect()
	}, 90_000)
})
