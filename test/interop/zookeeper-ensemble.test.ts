/** Apache ZooKeeper, three of them, of which the leader is killed: our session and our broker go on, and nothing is lost. */

import * as net from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { nodeDriverFactory } from '../../src/zk/node-driver.js'
import type { ZkSession } from '../../src/zk/port.js'
import { openZkSession } from '../../src/zk/session.js'
import { HAS_JAVA, peers } from '../helpers/peers.js'
import { Cleanup, kcli, startBrokerProcess } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const runtime = nodeRuntime()
const cleanup = new Cleanup()
afterEach(() => cleanup.run())

function isFree(port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const server = net.createServer()
		server.once('error', () => resolve(false))
		server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
	})
}

/** A port below the ephemeral ones; it, the next two, and those of the ensemble's own traffic are free. */
async function ensemblePort(): Promise<number> {
	for (let port = 21_000 + (process.pid % 100) * 10; port < 32_000; port += 10) {
		const ports = [0, 1, 2, 101, 102, 103, 201, 202, 203].map((more) => port + more)
		if ((await Promise.all(ports.map(isFree))).every(Boolean)) return port
	}
	throw new Error('no free ports')
}

/** What a server answers to `srvr`; empty when it is not there. */
function status(port: number): Promise<string> {
	return new Promise((resolve) => {
		let answer = ''
		const socket = net.connect({ host: '127.0.0.1', port }, () => socket.write('srvr'))
		socket.on('data', (chunk: Buffer) => {
			answer += chunk.toString()
		})
		socket.on('error', () => undefined)
		socket.once('close', () => resolve(answer))
	})
}

interface Ensemble {
	readonly connect: string
	/** `kill -9` for the server that leads; answers once another does. */
	killLeader(): Promise<void>
}

async function startEnsemble(): Promise<Ensemble> {
	const folder = cleanup.folder()
	const port = await ensemblePort()
	const members = [1, 2, 3].map((id) => ({ folder: join(folder, String(id)), port: port + id - 1 }))
	for (const { folder: own } of members) cleanup.add(() => peers(['stop', own]))
	expect((await peers(['zk-ensemble', folder, String(port)])).code).toBe(0)
	const leader = async () => {
		for (const member of members) if ((await status(member.port)).includes('Mode: leader')) return member
		return null
	}
	return {
		connect: members.map((member) => `127.0.0.1:${member.port}`).join(','),
		killLeader: async () => {
			const victim = await until('a leader', leader, 30_000)
			await peers(['kill', victim.folder])
			await until('another leader', async () => ((await leader()) ?? victim) !== victim, 30_000)
		},
	}
}

async function open(connect: string): Promise<ZkSession> {
	const session = await openZkSession(runtime, nodeDriverFactory(runtime), {
		connect,
		sessionTimeoutMs: 20_000,
		connectTimeoutMs: 20_000,
	})
	cleanup.add(() => session.close(500))
	return session
}

describe.skipIf(!HAS_JAVA)('an ensemble of three', () => {
	it('loses its leader: every write is done once, the session and its watches live on', async () => {
		const ensemble = await startEnsemble()
		const zk = await open(`${ensemble.connect}/app/deep`)
		await zk.create('/e', null, { mode: 'ephemeral' })
		await zk.create('/counter', Buffer.from('0'))
		const seen: number[] = []
		await zk.watchData('/counter', (node) => seen.push(Number(node?.data?.toString()))).ready
		let isOver = false
		let count = 0
		let made = 0
		const counting = (async () => {
			// Each set names its turn, so that one whose reply was lost is known.
			for (; !isOver || count < 50; count++) {
				await zk.set('/counter', Buffer.from(String(count + 1)), count, { identified: true })
			}
		})()
		const making = (async () => {
			for (; !isOver || made < 50; made++) await zk.create(`/n${made}`, null)
		})()
		await until('writes to flow', () => count > 20 && made > 20)
		await ensemble.killLeader()
		const [countThen, madeThen] = [count, made]
		await until('writes to flow again', () => count > countThen + 20 && made > madeThen + 20, 30_000)
		isOver = true
		await Promise.all([counting, making])
		const other = await open(`${ensemble.connect}/app/deep`)
		const counter = await other.get('/counter')
		expect([counter?.data?.toString(), counter?.stat.version]).toEqual([String(count), count])
		const names = (await other.children('/'))?.names.filter((name) => name.startsWith('n'))
		expect(names?.length).toBe(made)
		expect((await other.exists('/e'))?.ephemeralOwner).toBe(zk.sessionId)
		expect(zk.generation).toBe(1)
		await until('the watch to tell the last', () => seen.at(-1) === count)
		expect(seen).toEqual([...seen].sort((a, b) => a - b))
	}, 120_000)

	it('loses its leader under our broker: records flow, topics are made, nobody else becomes controller', async () => {
		const ensemble = await startEnsemble()
		const folder = `${cleanup.folder()}/data`
		const broker = await startBrokerProcess(folder, ['--zookeeper', `${ensemble.connect}/kafka`])
		cleanup.add(() => broker.kill())
		const at = ['-b', broker.bootstrap]
		expect(await kcli(['topic', 'create', 'before', ...at])).toMatchObject({ code: 0 })
		const epoch = async () => {
			const zk = await open(`${ensemble.connect}/kafka`)
			return (await zk.get('/controller_epoch'))?.data?.toString()
		}
		expect(await epoch()).toBe('1')
		await ensemble.killLeader()
		expect(await kcli(['produce', 'before', ...at], { input: 'one\ntwo\n' })).toMatchObject({ code: 0 })
		expect((await kcli(['consume', 'before', '-e', '-q', ...at])).stdout).toBe('one\ntwo\n')
		expect(await kcli(['topic', 'create', 'after', '--wait', ...at])).toMatchObject({ code: 0 })
		expect((await kcli(['topic', 'list', '-o', 'name', ...at])).stdout).toBe('after\nbefore\n')
		expect(await epoch()).toBe('1')
		expect(await broker.stop()).toBe(143)
	}, 120_000)
})
