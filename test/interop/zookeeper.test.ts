/**
 * ZooKeeper both ways: our broker on Apache ZooKeeper, Apache Kafka's broker on our ZooKeeper, and the contract of our
 * server held by the real one.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import * as net from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { startZkServer } from '../../src/zk/server/server.js'
import { HAS_JAVA, javaTool, peers } from '../helpers/peers.js'
import { CLI, Cleanup, isInstalled, ROOT, run, startBrokerProcess } from '../helpers/processes.js'
import { until } from '../helpers/until.js'
import { zooKeeperContract } from '../zk/contract.js'
import { transcript } from '../zk/differential.js'

const PEERS = `${ROOT}/bench/peers/peers`

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
	return new Promise((resolve) => {
		const server = net.createServer()
		server.listen(0, '127.0.0.1', () => {
			const { port } = server.address() as net.AddressInfo
			server.close(() => resolve(port))
		})
	})
}

/** What a server answers to a four-letter word; nothing when it does not answer in time, as one that is only starting may. */
function word(port: number, text: string): Promise<string> {
	return new Promise((resolve, reject) => {
		let answer = ''
		const socket = net.connect({ host: '127.0.0.1', port }, () => socket.write(text))
		socket.on('data', (chunk: Buffer) => {
			answer += chunk.toString('utf8')
		})
		socket.setTimeout(2000, () => socket.destroy())
		socket.once('error', reject)
		socket.once('close', () => resolve(answer))
	})
}

describe.skipIf(!HAS_JAVA)('Apache ZooKeeper keeps our contract', () => {
	const cleanup = new Cleanup()
	afterAll(() => cleanup.run())
	zooKeeperContract({
		start: async ({ hasTtlNodes }) => {
			const folder = cleanup.folder()
			const port = await freePort()
			const flags = '-Dzookeeper.extendedTypesEnabled=true -Dznode.container.checkIntervalMs=100'
			await run('bash', [PEERS, 'zk', folder, String(port)], hasTtlNodes ? { env: { JAVA_TOOL_OPTIONS: flags } } : {})
			await until('it serves', async () => (await word(port, 'srvr')).includes('Mode: standalone'), 30_000)
			return { address: `127.0.0.1:${port}`, stop: async () => void (await peers(['stop', folder])) }
		},
	})
})

/** Scripts of random operations; `KCLI_ZK_SCRIPTS` plays more. */
const SCRIPTS = Number(process.env['KCLI_ZK_SCRIPTS'] ?? 120)
const STEPS = 60
const LANES = 4

describe.skipIf(!HAS_JAVA)('random scripts of three clients', () => {
	const cleanup = new Cleanup()
	afterAll(() => cleanup.run())

	it(`${SCRIPTS} of ${STEPS} steps: our server and Apache ZooKeeper answer and tell events alike`, async () => {
		const folder = cleanup.folder()
		const port = await freePort()
		cleanup.add(() => peers(['stop', folder]))
		await peers(['zk', folder, String(port)])
		await until('it serves', async () => (await word(port, 'srvr')).includes('Mode: standalone'), 30_000)
		const ours = await startZkServer(nodeRuntime(), { host: '127.0.0.1', port: 0, dataDir: cleanup.folder() })
		cleanup.add(() => ours.stop())
		const lane = async (first: number): Promise<void> => {
			for (let seed = first; seed < SCRIPTS; seed += LANES) {
				const [mine, theirs] = await Promise.all(
					[ours.address, `127.0.0.1:${port}`].map((address) => transcript(address, seed, STEPS)),
				)
				// The first line that differs, with what led to it.
				const at = (mine as string[]).findIndex((line, i) => line !== theirs?.[i])
				if (at < 0) expect(mine?.length).toBe(theirs?.length)
				else expect({ seed, lines: mine?.slice(0, at + 1) }).toEqual({ seed, lines: theirs?.slice(0, at + 1) })
			}
		}
		await Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)))
	}, 600_000)
})

describe.skipIf(!HAS_JAVA || !isInstalled('kcat'))('our broker on Apache ZooKeeper', () => {
	const cleanup = new Cleanup()
	let address = ''
	beforeAll(async () => {
		const folder = cleanup.folder()
		const port = await freePort()
		cleanup.add(() => peers(['stop', folder]))
		await peers(['zk', folder, String(port)])
		address = `127.0.0.1:${port}`
	})
	afterAll(() => cleanup.run())

	it('serves, keeps its data over kill -9, and stops clean; the chroot is made', async () => {
		const folder = `${cleanup.folder()}/data`
		const args = ['--zookeeper', `${address}/deep/root`, '-c', 'offsets.topic.replication.factor=1', '--id', '7']
		const first = await startBrokerProcess(folder, args)
		const at = first.bootstrap
		expect((await run('kcat', ['-P', '-b', at, '-t', 'zk'], { input: 'one\n' })).code).toBe(0)
		await first.kill()
		const second = await startBrokerProcess(folder, [...args, '--listen', `PLAINTEXT://${at}`])
		cleanup.add(() => second.kill())
		expect((await run('kcat', ['-P', '-b', at, '-t', 'zk'], { input: 'two\n' })).code).toBe(0)
		expect((await run('kcat', ['-C', '-b', at, '-t', 'zk', '-e', '-q'])).stdout).toBe('one\ntwo\n')
		const shell = await javaTool('tool', 'zookeeper-shell', ['-server', `${address}/deep/root`, 'ls', '/brokers/ids'])
		expect(shell.stdout).toContain('[7]')
		expect(await second.stop()).toBe(143)
	})
})

describe.skipIf(!HAS_JAVA || !isInstalled('kcat'))('an Apache Kafka 3.9.2 broker on our ZooKeeper', () => {
	const cleanup = new Cleanup()
	afterEach(() => cleanup.run())

	const startOurs = (dataDir: string, port: number): Promise<ChildProcess> =>
		new Promise((resolve, reject) => {
			const child = spawn(
				process.execPath,
				[CLI, 'zk', 'start', '--listen', `127.0.0.1:${port}`, '--data-dir', dataDir],
				{
					stdio: ['ignore', 'pipe', 'inherit'],
				},
			)
			child.stdout?.once('data', () => resolve(child))
			child.once('exit', (code) => reject(new Error(`zk start ended with ${code}`)))
		})
	const ended = (child: ChildProcess): Promise<void> => new Promise((resolve) => child.once('exit', () => resolve()))

	it('creates topics, produces, consumes in a group, and lives through a restart of the server', async () => {
		const zookeeper = cleanup.folder()
		const kafka = cleanup.folder()
		const port = await freePort()
		const brokerPort = await freePort()
		let server = await startOurs(zookeeper, port)
		cleanup.add(async () => {
			const gone = ended(server)
			server.kill('SIGTERM')
			await gone
		})
		cleanup.add(() => peers(['stop', kafka]))
		const started = await peers(['broker', kafka, '1', String(brokerPort), `127.0.0.1:${port}`])
		expect(started.code).toBe(0)
		const at = ['--bootstrap-server', `127.0.0.1:${brokerPort}`]
		const created = await javaTool('tool', 'topics', [
			...at,
			'--create',
			'--topic',
			'theirs',
			'--partitions',
			'3',
			'--config',
			'retention.ms=1000000',
		])
		expect(created.stdout).toContain('Created topic theirs.')
		expect(
			(await run('kcat', ['-P', '-b', `127.0.0.1:${brokerPort}`, '-t', 'theirs'], { input: 'a\nb\nc\n' })).code,
		).toBe(0)
		const gone = ended(server)
		server.kill('SIGKILL')
		await gone
		server = await startOurs(zookeeper, port)
		await javaTool('tool', 'topics', [...at, '--create', '--topic', 'later', '--partitions', '1'])
		const listed = await javaTool('tool', 'topics', [...at, '--list'])
		expect(listed.stdout).toContain('later')
		const group = await run('kcat', [
			'-b',
			`127.0.0.1:${brokerPort}`,
			'-X',
			'auto.offset.reset=earliest',
			'-G',
			'g',
			'-q',
			'-e',
			'theirs',
		])
		expect(group.stdout.trim().split('\n').sort()).toEqual(['a', 'b', 'c'])
		const deleted = await javaTool('tool', 'topics', [...at, '--delete', '--topic', 'later'])
		expect(deleted.code).toBe(0)
	})
})
