import { describe, expect, test } from 'vitest'
import { ensurePaths } from '../../src/zk/ensure-paths.js'
import { OP } from '../../src/zk/messages.js'
import type { ZkSession } from '../../src/zk/port.js'
import * as recipes from '../../src/zk/recipes.js'
import * as configs from '../../src/zk/recipes-config.js'
import { type BrokerInfo, controllerEpochZnode, ROOT_PATHS } from '../../src/zk/znodes.js'
import { until } from '../helpers/until.js'
import { openSession, runtime, startServer } from './fixture.js'
import { FaultProxy, loseReplyTo } from './proxy.js'

const { clock, random } = runtime

function brokerInfo(port: number): BrokerInfo {
	const endpoints = [{ listener: 'PLAINTEXT', securityProtocol: 'PLAINTEXT', host: '127.0.0.1', port }]
	return { endpoints, rack: null, jmxPort: -1, timestamp: 1, features: new Map() }
}

/** A server with the root nodes, a session to it, and one through a proxy. */
async function cluster(): Promise<{ zk: ZkSession; lossy: ZkSession; proxy: FaultProxy; address: string }> {
	const { address } = await startServer()
	const proxy = await FaultProxy.start(address)
	const zk = await openSession(address)
	const lossy = await openSession(proxy.address, { sessionTimeoutMs: 500 })
	await recipes.createRootNodes(zk)
	return { zk, lossy, proxy, address }
}

test('root nodes are made once, and made again without harm', async () => {
	const { zk } = await cluster()
	await recipes.createRootNodes(zk)
	for (const path of ROOT_PATHS) expect(await zk.get(path), path).toMatchObject({ data: null, stat: { version: 0 } })
})

test('the first cluster id stays', async () => {
	const { zk, lossy } = await cluster()
	const ids = await Promise.all([
		recipes.readOrCreateClusterId(zk, () => 'A'.repeat(22)),
		recipes.readOrCreateClusterId(lossy, () => 'B'.repeat(22)),
	])
	expect(ids[0]).toBe(ids[1])
	expect(await recipes.readOrCreateClusterId(zk, () => 'C')).toBe(ids[0])
})

test('broker ids are generated above the reserved ones, each once', async () => {
	const { zk, lossy } = await cluster()
	const ids = await Promise.all([zk, lossy, zk].map((session) => recipes.generateBrokerId(session, 1000)))
	expect(ids.sort()).toEqual([1001, 1002, 1003])
})

describe('registration', () => {
	test('gives the czxid as epoch, shows version 1, and is read back', async () => {
		const { zk } = await cluster()
		const epoch = await recipes.registerBroker(zk, clock, 1, brokerInfo(9092))
		const [broker] = await recipes.readBrokers(zk)
		expect(broker).toMatchObject({ id: 1, epoch, version: 1, info: { endpoints: [{ port: 9092 }] } })
		expect((await zk.exists('/brokers/ids/1'))?.ephemeralOwner).toBe(zk.sessionId)
		await recipes.updateBroker(zk, 1, brokerInfo(9093))
		expect(await recipes.readBroker(zk, 1)).toMatchObject({ epoch, version: 2 })
	})

	test('with a lost reply is taken as done', async () => {
		const { lossy, proxy } = await cluster()
		const wasLost = loseReplyTo(proxy, OP.multi)
		const epoch = await recipes.registerBroker(lossy, clock, 1, brokerInfo(9092))
		expect(wasLost()).toBe(true)
		expect((await lossy.exists('/brokers/ids/1'))?.czxid).toBe(epoch)
	})

	test('of another session is refused, or waited for', async () => {
		const { zk, lossy } = await cluster()
		await recipes.registerBroker(lossy, clock, 1, brokerInfo(9092))
		await expect(recipes.registerBroker(zk, clock, 1, brokerInfo(9092))).rejects.toBeInstanceOf(
			recipes.BrokerIdTakenError,
		)
		const registered = recipes.registerBroker(zk, clock, 1, brokerInfo(9092), 5000)
		await lossy.close()
		await registered
		expect((await zk.exists('/brokers/ids/1'))?.ephemeralOwner).toBe(zk.sessionId)
	})

	test('after a new session has a new epoch, and replaces what the old one left', async () => {
		const { zk, lossy, proxy } = await cluster()
		const first = await recipes.registerBroker(lossy, clock, 1, brokerInfo(9092))
		proxy.refuses = true
		proxy.cut()
		await until('the server to expire it', async () => (await zk.exists('/brokers/ids/1')) === null)
		proxy.refuses = false
		await until('a new session', () => lossy.generation === 2)
		expect(await recipes.registerBroker(lossy, clock, 1, brokerInfo(9092))).toBeGreaterThan(first)
	})

	test('an endpoint of another broker is found', async () => {
		const { zk } = await cluster()
		await recipes.registerBroker(zk, clock, 1, brokerInfo(9092))
		const brokers = await recipes.readBrokers(zk)
		const { endpoints } = brokerInfo(9092)
		expect(recipes.findEndpointConflict(brokers, 2, endpoints)?.broker.id).toBe(1)
		expect(recipes.findEndpointConflict(brokers, 1, endpoints)).toBeNull()
	})
})

describe('the controller', () => {
	test('is one of two, with epochs that rise by one', async () => {
		const { zk, lossy } = await cluster()
		const [a, b] = await Promise.all([recipes.electController(zk, clock, 1), recipes.electController(lossy, clock, 2)])
		expect([a?.won, b?.won].sort()).toEqual([false, true])
		const winner = a?.won ? zk : lossy
		const won = a?.won ? a : b
		expect(won).toMatchObject({ epoch: 1, epochVersion: 1 })
		await recipes.resignController(winner, 1)
		expect(await recipes.readController(zk)).toBeNull()
		expect(await recipes.electController(zk, clock, 1)).toEqual({ won: true, epoch: 2, epochVersion: 2 })
		expect(await recipes.electController(lossy, clock, 2)).toEqual({ won: false, controllerId: 1 })
	})

	test('that won with a lost reply knows it', async () => {
		const { lossy, proxy } = await cluster()
		const wasLost = loseReplyTo(proxy, OP.multi)
		expect(await recipes.electController(lossy, clock, 2)).toEqual({ won: true, epoch: 1, epochVersion: 1 })
		expect(wasLost()).toBe(true)
	})

	test('that was replaced without knowing cannot write, from the very first epoch on', async () => {
		const { zk, lossy } = await cluster()
		// The znode at version 0: the fence must hold there too.
		await zk.create(controllerEpochZnode.path, controllerEpochZnode.encode(0))
		expect(await recipes.fencedMulti(zk, 0, [{ op: 'create', path: '/a', data: null }])).toEqual([
			{ op: 'create', path: '/a' },
		])
		await recipes.electController(lossy, clock, 2)
		const write = recipes.fencedMulti(zk, 0, [{ op: 'create', path: '/b', data: null }])
		await expect(write).rejects.toMatchObject({ name: 'ControllerMovedError', reason: 'epoch' })
		expect(await zk.exists('/b')).toBeNull()
		// A zombie does not take the successor's role away.
		await recipes.resignController(zk, 0)
		expect(await recipes.readController(zk)).toBe(2)
	})

	test('sees an ordinary conflict as one, at its own index', async () => {
		const { zk } = await cluster()
		const won = await recipes.electController(zk, clock, 1)
		const epochVersion = won.won ? won.epochVersion : -2
		await zk.create('/a', null)
		const write = recipes.fencedMulti(zk, epochVersion, [
			{ op: 'create', path: '/b', data: null },
			{ op: 'set', path: '/a', data: null, version: 7 },
		])
		await expect(write).rejects.toMatchObject({ name: 'ZkMultiError', code: 'BAD_VERSION', index: 1, path: '/a' })
	})

	test('whose write lost its reply finds it done', async () => {
		const { lossy, proxy } = await cluster()
		const won = await recipes.electController(lossy, clock, 1)
		const epochVersion = won.won ? won.epochVersion : -2
		await lossy.create('/a', null)
		await lossy.create('/gone', null)
		const wasLost = loseReplyTo(proxy, OP.multi)
		const results = await recipes.fencedMulti(lossy, epochVersion, [
			{ op: 'set', path: '/a', data: Buffer.from('x'), version: 0 },
			{ op: 'create', path: '/b', data: Buffer.from('y') },
			{ op: 'remove', path: '/gone', version: -1 },
		])
		expect(wasLost()).toBe(true)
		expect(results).toMatchObject([{ op: 'set', stat: { version: 1 } }, { op: 'create', path: '/b' }, { op: 'remove' }])
	})

	test('without a lease begins no write', async () => {
		const { lossy, proxy } = await cluster()
		const won = await recipes.electController(lossy, clock, 1)
		const epochVersion = won.won ? won.epochVersion : -2
		proxy.isFrozen = true
		await until('the lease to run out', () => !lossy.hasLease())
		await expect(
			recipes.fencedMulti(lossy, epochVersion, [{ op: 'create', path: '/b', data: null }]),
		).rejects.toMatchObject({ name: 'ControllerMovedError', reason: 'lease' })
	})

	test('removes whole trees', async () => {
		const { zk } = await cluster()
		const won = await recipes.electController(zk, clock, 1)
		const epochVersion = won.won ? won.epochVersion : -2
		const paths = Array.from({ length: 600 }, (_, i) => `/brokers/topics/t/partitions/${i}/state`)
		await ensurePaths(zk, paths)
		await recipes.fencedRemoveTree(zk, epochVersion, '/brokers/topics/t')
		expect(await zk.exists('/brokers/topics/t')).toBeNull()
		expect(await zk.exists('/brokers/topics')).not.toBeNull()
	})
})

describe('configs', () => {
	test('are stored, announced and read; the guard refuses another controller node', async () => {
		const { zk } = await cluster()
		const config = new Map([['retention.ms', '1000']])
		await configs.writeConfig(zk, 'topics/t', config)
		expect(await configs.readConfig(zk, 'topics/t')).toEqual(config)
		expect((await zk.children('/config/changes'))?.names).toEqual(['config_change_0000000000'])
		await configs.writeConfig(zk, 'users/ann/clients/app', config)
		expect(await configs.readConfig(zk, 'users/ann')).toEqual(new Map())
		await recipes.electController(zk, clock, 1)
		await configs.writeConfig(zk, 'topics/t', new Map(), 0)
		await expect(configs.writeConfig(zk, 'topics/t', config, 3)).rejects.toMatchObject({ code: 'BAD_VERSION' })
		await configs.removeConfig(zk, 'users/ann')
		expect(await zk.exists('/config/users/ann')).not.toBeNull()
		await configs.removeConfig(zk, 'topics/t')
		expect(await zk.exists('/config/topics/t')).toBeNull()
	})

	test('changes are handled in order: those present at the start, then each new one, across lost links', async () => {
		const { zk, lossy, proxy } = await cluster()
		await configs.announceConfig(zk, 'topics/a')
		await configs.announceConfig(zk, 'topics/b')
		const handled: string[] = []
		const failed: string[] = []
		const reader = new configs.ChangeReader(lossy, clock, {
			root: '/config/changes',
			handle: (data) => {
				const { entity_path: path } = JSON.parse(data?.toString() ?? '{}')
				handled.push(path)
				if (path === 'topics/c') throw new Error('handler')
			},
			onError: (_, name) => failed.push(name),
		})
		await reader.start()
		expect(handled).toEqual(['topics/a', 'topics/b'])
		await configs.announceConfig(zk, 'topics/c')
		await until('the third', () => handled.length === 3)
		proxy.refuses = true
		proxy.cut()
		await configs.announceConfig(zk, 'topics/d')
		proxy.refuses = false
		await until('the fourth', () => handled.length === 4)
		expect(handled).toEqual(['topics/a', 'topics/b', 'topics/c', 'topics/d'])
		expect(failed).toEqual(['config_change_0000000002'])
		reader.close()
	})

	test('notifications of old are removed by whoever reads them', async () => {
		const { zk } = await cluster()
		await configs.announceConfig(zk, 'topics/a')
		const later = { ...clock, wallMs: () => clock.wallMs() + 16 * 60_000, monotonicMs: () => clock.monotonicMs() }
		const reader = new configs.ChangeReader(
			zk,
			{ ...later, after: clock.after.bind(clock), soon: clock.soon.bind(clock) },
			{
				root: '/config/changes',
				handle: () => undefined,
				onError: () => undefined,
			},
		)
		await reader.start()
		expect((await zk.children('/config/changes'))?.names).toEqual([])
		reader.close()
	})
})

test('conditional updates lose nothing between two writers', async () => {
	const { zk, lossy } = await cluster()
	const add = (session: ZkSession): Promise<number> =>
		configs.updateConditionally(session, clock, random, '/list', (current) =>
			Buffer.from(`${current?.toString() ?? ''}x`),
		)
	await Promise.all([add(zk), add(lossy), add(zk)])
	expect((await zk.get('/list'))?.data?.toString()).toBe('xxx')
	expect(await configs.updateConditionally(zk, clock, random, '/list', () => undefined)).toBe(-1)
	expect(await zk.exists('/list')).toBeNull()
})

test('blocks of producer ids are given out once, also when a reply is lost', async () => {
	const { zk, lossy, proxy } = await cluster()
	const wasLost = loseReplyTo(proxy, OP.setData)
	const blocks = [await configs.allocateProducerIds(zk, 1), await configs.allocateProducerIds(lossy, 2)]
	expect(wasLost()).toBe(true)
	blocks.push(await configs.allocateProducerIds(zk, 1))
	expect(blocks.map(({ first, last }) => [first, last])).toEqual([
		[0n, 999n],
		[1000n, 1999n],
		[2000n, 2999n],
	])
})
