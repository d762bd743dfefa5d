/** `kcli/testing` as others use it: from the built package, with a client that is not ours. */

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { afterEach, describe, expect, it } from 'vitest'
import { type ClusterOptions, startCluster, type TestCluster } from '../dist/testing.js'
import { ROOT } from './helpers/processes.js'
import { until } from './helpers/until.js'

let cluster: TestCluster | null = null
afterEach(async () => {
	await cluster?.stop()
	cluster = null
})

it('refuses an option that it does not have', async () => {
	await expect(startCluster({ topic: ['a'] } as ClusterOptions)).rejects.toThrow(
		"startCluster has no option 'topic'; it has brokers, topics, configs",
	)
})

async function start(options: ClusterOptions): Promise<TestCluster> {
	cluster = await startCluster(options)
	return cluster
}

function client(bootstrap: string): Kafka {
	return new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING, retry: { retries: 10, initialRetryTime: 50 } })
}

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0)
		return true
	} catch {
		return false
	}
}

describe('startCluster', () => {
	it('gives a broker with its topics that kafkajs produces to and consumes from', async () => {
		const { bootstrapServers } = await start({
			topics: ['plain', { name: 'wide', partitions: 4, configs: { 'retention.ms': '1000000' } }],
		})
		const kafka = client(bootstrapServers)
		const admin = kafka.admin()
		await admin.connect()
		const { topics } = await admin.fetchTopicMetadata({ topics: ['plain', 'wide'] })
		expect(Object.fromEntries(topics.map(({ name, partitions }) => [name, partitions.length]))).toEqual({
			plain: 1,
			wide: 4,
		})
		await admin.disconnect()
		const producer = kafka.producer()
		await producer.connect()
		await producer.send({ topic: 'plain', messages: [{ key: 'k', value: 'v', headers: { h: 'x' } }] })
		await producer.disconnect()
		const consumer = kafka.consumer({ groupId: 'g' })
		await consumer.connect()
		await consumer.subscribe({ topic: 'plain', fromBeginning: true })
		const got: string[] = []
		await consumer.run({
			eachMessage: async ({ message }) => {
				got.push(`${message.key}=${message.value} ${message.headers?.['h']}`)
			},
		})
		await until('the record comes', () => got.length > 0, 20_000)
		await consumer.disconnect()
		expect(got).toEqual(['k=v x'])
	})

	it('keeps records over kill and restart, on the same port', async () => {
		const { bootstrapServers, broker } = await start({ topics: ['kept'] })
		const producer = client(bootstrapServers).producer()
		await producer.connect()
		await producer.send({ topic: 'kept', acks: 1, messages: [{ value: 'before' }] })
		const before = broker(1).pid
		await broker(1).kill()
		expect(isAlive(before)).toBe(false)
		await broker(1).restart()
		await producer.send({ topic: 'kept', messages: [{ value: 'after' }] })
		await producer.disconnect()
		const admin = client(bootstrapServers).admin()
		await admin.connect()
		expect((await admin.fetchTopicOffsets('kept'))[0]?.high).toBe('2')
		await admin.disconnect()
	})

	it('says what is wrong with its options', async () => {
		await expect(startCluster({ brokers: 3 })).rejects.toThrow('not possible yet')
		await expect(startCluster({ configs: { 'num.partitions': 'many' } })).rejects.toThrow(
			"'many' is not a whole number",
		)
	})

	it('leaves no process and no folder when the test runner dies', async () => {
		const script = `import('${ROOT}dist/testing.js').then(async ({ startCluster }) => {
			const cluster = await startCluster({})
			console.log(cluster.broker(1).pid)
			setInterval(() => undefined, 1000)
		})`
		const folder = mkdtempSync(join(tmpdir(), 'kcli-runner-'))
		const runner = spawn(process.execPath, ['-e', script], {
			stdio: ['ignore', 'pipe', 'inherit'],
			env: { ...process.env, TMPDIR: folder, NODE_OPTIONS: '' },
		})
		const pid = await new Promise<number>((resolve) =>
			runner.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))),
		)
		expect(isAlive(pid)).toBe(true)
		runner.kill('SIGKILL')
		await until('the broker ends by itself', () => !isAlive(pid), 10_000)
		await until(
			'its folder is gone',
			() => readdirSync(folder).filter((name) => name.startsWith('kcli-test-')).length === 0,
		)
		rmSync(folder, { recursive: true, force: true })
	})

	it('removes its folder at the end', async () => {
		const made = await start({})
		await made.stop()
		expect(existsSync(`/proc/${made.broker(1).pid}`)).toBe(false)
	})
})
