/**
 * A data folder goes from our broker to Apache Kafka's and back: every codec, several segments, deleted records, tombstones, what
 * compaction left, idempotent producers. Kafka serves the same records and goes on writing; ours then opens what it left.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Admin } from '../../src/client/admin.js'
import { Cluster } from '../../src/client/cluster.js'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { CLIENT } from '../helpers/broker.js'
import { freePorts } from '../helpers/free-port.js'
import { HAS_JAVA, peers, storedCodecs } from '../helpers/peers.js'
import { CLI, Cleanup, kcli, startBrokerProcess } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
const SETTINGS = ['log.cleaner.backoff.ms=100', 'offsets.topic.num.partitions=1']
const OUR_SETTINGS = SETTINGS.flatMap((each) => ['-c', each])

async function startZooKeeper(): Promise<string> {
	const args = [CLI, 'zk', 'start', '--listen', '127.0.0.1:0', '--data-dir', `${cleanup.folder()}/zk`]
	const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
	cleanup.add(async () => {
		const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
		child.kill('SIGTERM')
		await gone
	})
	let output = ''
	child.stdout?.on('data', (chunk: Buffer) => {
		output += chunk.toString('utf8')
	})
	await until('ZooKeeper', () => output.includes('\n'), 30_000)
	return /^zookeeper (\S+)/.exec(output)?.[1] as string
}

/** Everything in the topics, as `consume -J` tells it, in the order of offsets. */
async function contents(bootstrap: string, topics: readonly string[]): Promise<Record<string, string[]>> {
	const all: Record<string, string[]> = {}
	for (const topic of topics) {
		const { code, stdout, stderr } = await kcli(['consume', topic, '-e', '-J', '-q', '-b', bootstrap])
		expect([code, stderr], `${topic} at ${bootstrap}`).toEqual([0, ''])
		// The leader's epoch is not the record's.
		all[topic] = stdout
			.trim()
			.split('\n')
			.map((line) => line.replace(/"leaderEpoch":\d+,/, ''))
	}
	return all
}

async function deleteBefore(bootstrap: string, topic: string, offset: number): Promise<void> {
	const [host, port] = bootstrap.split(':') as [string, string]
	const cluster = new Cluster(nodeRuntime(), {
		...CLIENT,
		bootstrap: [{ host, port: Number(port) }],
		operationTimeoutMs: 10_000,
		retryBackoffMs: 20,
		retryBackoffMaxMs: 200,
	})
	try {
		const [deleted] = await new Admin(cluster).deleteRecords([{ topic, partition: 0, offset }])
		expect(deleted).toMatchObject({ errorCode: 0, lowWatermark: offset })
	} finally {
		await cluster.close()
	}
}

describe.skipIf(!HAS_JAVA)('a data folder of ours', () => {
	it('is opened, served and written to by Apache Kafka, and then by ours again', async () => {
		const zookeeper = await startZooKeeper()
		const home = cleanup.folder()
		const data = join(home, 'logs')
		const topics = [...CODECS.map((codec) => `plain-${codec}`), 'compacted', 'trimmed']
		let ours = await startBrokerProcess(data, ['--id', '1', '--zookeeper', zookeeper, ...OUR_SETTINGS])
		cleanup.add(() => ours.kill())
		const put = async (bootstrap: string, topic: string, from: number, count: number, codec: string) => {
			const lines = Array.from({ length: count }, (_, i) => `key-${(from + i) % 40}:${from + i} ${'x'.repeat(60)}`)
			const input = `${[...lines, `key-${from % 7}:`].join('\n')}\n`
			// An empty value is a tombstone; idempotent, as by default.
			const args = ['-K', ':', '-Z', '-H', 'h=1', '-z', codec, '-X', 'batch.size=2000']
			const done = await kcli(['produce', topic, ...args, '-b', bootstrap], { input })
			expect([done.code, done.stderr]).toEqual([0, expect.any(String)])
		}
		for (const topic of topics) {
			const policy = topic === 'compacted' ? ['cleanup.policy=compact', 'min.cleanable.dirty.ratio=0.01'] : []
			const settings = ['segment.bytes=20000', ...policy].flatMap((each) => ['-c', each])
			const made = await kcli(['topic', 'create', topic, ...settings, '-b', ours.bootstrap])
			expect(made.code).toBe(0)
			for (let round = 0; round < 2; round++) {
				const codec = topic.startsWith('plain-') ? topic.slice(6) : (CODECS[round * 2] as string)
				await put(ours.bootstrap, topic, round * 400, 400, codec)
			}
		}
		await deleteBefore(ours.bootstrap, 'trimmed', 333)
		await until('compaction', () => {
			const checkpoint = readFileSync(join(data, 'cleaner-offset-checkpoint'), 'utf8')
			return Number(/^compacted 0 (\d+)$/m.exec(checkpoint)?.[1] ?? 0) > 400
		})
		for (const [id, codec] of CODECS.entries()) {
			const stored = storedCodecs(join(data, `plain-${codec}-0`, '00000000000000000000.log'))
			expect(new Set(stored)).toEqual(new Set([id]))
		}
		expect(await ours.stop()).toBe(143)
		const left = cleanup.folder()
		cpSync(data, join(left, 'logs'), { recursive: true })
		ours = await startBrokerProcess(data, ['--id', '1', '--zookeeper', zookeeper, ...OUR_SETTINGS])
		const before = await contents(ours.bootstrap, topics)
		expect(before['trimmed']?.length).toBe(802 - 333)
		expect(before['compacted']?.length).toBeLessThan(700)
		expect(await ours.stop()).toBe(143)

		const port = String((await freePorts(1))[0])
		cleanup.add(() => peers(['stop', home]))
		expect((await peers(['broker', home, '1', port, zookeeper, ...SETTINGS])).code).toBe(0)
		const kafka = `127.0.0.1:${port}`
		// It takes connections before its controller has told it of any topic.
		await until('its topics', async () => {
			const { stdout } = await kcli(['topic', 'list', '--only', 'offline', '-o', 'name', '-b', kafka])
			const { stdout: all } = await kcli(['topic', 'list', '-o', 'name', '-b', kafka])
			return stdout === '' && topics.every((topic) => all.split('\n').includes(topic))
		})
		expect(
			await contents(
				kafka,
				CODECS.map((codec) => `plain-${codec}`),
			),
		).toEqual(Object.fromEntries(CODECS.map((codec) => [`plain-${codec}`, before[`plain-${codec}`]])))
		expect(await contents(kafka, ['trimmed'])).toEqual({ trimmed: before['trimmed'] })
		// Its cleaner may already have been over the rest: what counts is the last of each key.
		expect(latest((await contents(kafka, ['compacted']))['compacted'])).toEqual(latest(before['compacted']))
		for (const topic of topics) await put(kafka, topic, 5000, 200, topic === 'plain-zstd' ? 'zstd' : 'lz4')
		const after = await contents(kafka, topics)
		expect((await peers(['stop', home])).code).toBe(0)

		ours = await startBrokerProcess(data, ['--id', '1', '--zookeeper', zookeeper, ...OUR_SETTINGS])
		const again = await contents(ours.bootstrap, topics)
		for (const topic of topics.filter((each) => each !== 'compacted')) expect(again[topic], topic).toEqual(after[topic])
		expect(latest(again['compacted'])).toEqual(latest(after['compacted']))
		for (const topic of topics) await put(ours.bootstrap, topic, 9000, 50, 'gzip')
		expect(await ours.stop()).toBe(143)
		const verified = await kcli(['log', 'verify', data, '--json'])
		expect([verified.code, JSON.parse(verified.stdout).errors]).toEqual([0, []])
		for (const codec of CODECS) {
			const folders = [left, home].map((folder) => join(folder, 'logs', `plain-${codec}-0`))
			const compared = await kcli(['log', 'compare', ...folders, '--json'])
			expect(JSON.parse(compared.stdout).items, codec).toMatchObject([{ kind: 'only-b', offset: 802, count: 252 }])
		}
	}, 180_000)
})

/** What a reader of a compacted topic makes of it: key to value, without what a tombstone took. */
function latest(lines: readonly string[] = []): Record<string, string> {
	const state: Record<string, string> = {}
	for (const line of lines) {
		const { key, value } = JSON.parse(line) as { key: string; value: string | null }
		if (value === null) delete state[key]
		else state[key] = value
	}
	return state
}
