/**
 * The defects of node-zookeeper-client 1.1.3 that docs/zookeeper.md lists, shown on the package as it comes. What ours does
 * instead stands beside it, or in `node-driver.test.ts`, `session.test.ts` and `recipes.test.ts` where it is a subject of its
 * own. A new version of the package in which one of these fails has mended that defect.
 */

import * as net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { OP } from '../../src/zk/messages.js'
import { ANY_VERSION, type ZkSession } from '../../src/zk/port.js'
import { until } from '../helpers/until.js'
import { bare, bareClient, called, connected, makeNode } from './bare-package.js'
import { openSession, runtime, startServer } from './fixture.js'
import { FaultProxy, loseReplyTo, once, operationOf } from './proxy.js'

const NONE = Buffer.alloc(0)
const { monotonicMs } = runtime.clock

async function proxied(): Promise<{ proxy: FaultProxy; address: string }> {
	const { address } = await startServer()
	return { proxy: await FaultProxy.start(address), address }
}

/** Settles once `ms` have gone by on the clock. */
async function past(ms: number): Promise<void> {
	const end = monotonicMs.call(runtime.clock) + ms
	await until(`${ms} ms`, () => monotonicMs.call(runtime.clock) > end)
}

/** Settles when the connection is lost: it comes back too soon to be seen. */
function lossOf(zk: ZkSession): Promise<void> {
	return new Promise((resolve) => {
		const listening = zk.onEvent(({ type }) => {
			if (type !== 'disconnected') return
			listening.close()
			resolve()
		})
	})
}

test('N1: version 0 in a transaction is taken for any version; ours is refused', async () => {
	const { address } = await startServer()
	const client = await connected(address)
	await makeNode(client, '/a')
	for (const version of [0, 1]) await called((done) => client.setData('/a', NONE, version, done))
	await called((done) => client.transaction().setData('/a', Buffer.from('overwritten'), 0).commit(done))
	const zk = await openSession(address)
	expect((await zk.get('/a'))?.data?.toString()).toBe('overwritten')
	await expect(zk.multi([{ op: 'set', path: '/a', data: NONE, version: 0 }])).rejects.toMatchObject({
		code: 'BAD_VERSION',
		index: 0,
	})
})

test('N2: a server that falls silent is not noticed', async () => {
	const { proxy } = await proxied()
	const client = await connected(proxy.address, { sessionTimeout: 300 })
	proxy.isFrozen = true
	let isSettled = false
	client.exists('/', null, () => {
		isSettled = true
	})
	await past(900)
	expect([isSettled, client.getState().name]).toEqual([false, 'SYNC_CONNECTED'])
})

test('N3: a server that accepts and stays silent is waited for without end', async () => {
	const silent = net.createServer((socket) => socket.on('error', () => undefined))
	await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
	onTestFinished(() => void silent.close())
	const client = bareClient(`127.0.0.1:${(silent.address() as net.AddressInfo).port}`, { sessionTimeout: 200 })
	client.connect()
	await past(800)
	expect(client.getState().name).toBe('DISCONNECTED')
})

test('N4: half a frame of one connection stands in front of the next', async () => {
	const { proxy } = await proxied()
	const client = await connected(proxy.address)
	await makeNode(client, '/a', Buffer.alloc(5000, 1))
	let connections = 0
	client.on('connected', () => {
		connections++
	})
	proxy.onReply = once((frame) => frame.length > 5000, 'tear')
	await expect(called((done) => client.getData('/a', null, done))).rejects.toThrow('CONNECTION_LOSS')
	await past(1000)
	expect(connections).toBe(0)
})

test('N5: notifications keep it from pinging, and the session ends', async () => {
	const { address } = await startServer()
	const client = await connected(address, { sessionTimeout: 400 })
	const zk = await openSession(address)
	await zk.create('/a', null)
	let isLost = false
	client.on('disconnected', () => {
		isLost = true
	})
	// Each notification arms the next without a request: the package gives one more listener to the same watch.
	const names = Array.from({ length: 400 }, (_, i) => `/w${i}`)
	for (const name of names) await called((done) => client.exists(name, () => undefined, done))
	await until('the session to be lost', async () => {
		const name = names.pop()
		if (name !== undefined) await zk.create(name, null)
		return isLost
	})
	expect(names.length).toBeGreaterThan(0)
})

test('N6, N9: a call that waits is not settled when the session is over, and nobody is told that it is', async () => {
	const { proxy, address } = await proxied()
	const client = await connected(proxy.address, { sessionTimeout: 200 })
	await makeNode(client, '/e', NONE, bare.CreateMode.EPHEMERAL)
	const zk = await openSession(address)
	let isExpired = false
	client.on('expired', () => {
		isExpired = true
	})
	proxy.refuses = true
	proxy.cut()
	await until('the loss', () => client.getState().name === 'DISCONNECTED')
	let isSettled = false
	client.exists('/', null, () => {
		isSettled = true
	})
	await until('the end of the session', async () => (await zk.exists('/e')) === null)
	expect([isExpired, isSettled]).toEqual([false, false])
	proxy.refuses = false
	await until('it to be told', () => isExpired)
	expect([isSettled, client.connectionManager.packetQueue.queue.length]).toEqual([false, 1])
})

test('N7: a call that was given up is sent when the link is back', async () => {
	const { proxy, address } = await proxied()
	const client = await connected(proxy.address)
	proxy.refuses = true
	proxy.cut()
	await until('the loss', () => client.getState().name === 'DISCONNECTED')
	void makeNode(client, '/zombie').catch(() => undefined)
	await past(100)
	proxy.refuses = false
	const zk = await openSession(address)
	await until('the node that nobody waits for', async () => (await zk.exists('/zombie')) !== null)
})

test('N8: an error code that it does not know is thrown where nobody can catch it', async () => {
	const { address } = await startServer()
	const client = await connected(address)
	const { connectionManager } = client
	client.exists('/', null, () => undefined)
	await until('it to be sent', () => connectionManager.pendingQueue.length === 1)
	const reply = Buffer.alloc(20)
	reply.writeInt32BE(16, 0)
	reply.writeInt32BE(connectionManager.xid - 1, 4)
	reply.writeInt32BE(-118, 16)
	expect(() => connectionManager.onSocketData(reply)).toThrow()
})

test('N10: credentials go behind what waits', async () => {
	const { address } = await startServer()
	const client = bareClient(address)
	const made = called<string>((done) => client.create('/mine', NONE, bare.ACL.CREATOR_ALL_ACL, 0, done))
	client.addAuthInfo('digest', Buffer.from('me:secret'))
	client.connect()
	await expect(made).rejects.toThrow('INVALID_ACL')
})

test('N11: each attempt to connect leaves one more renewal of the watches in line', async () => {
	const { proxy } = await proxied()
	const client = await connected(proxy.address)
	await called((done) => client.exists('/a', () => undefined, done))
	const SET_WATCHES = 101
	// Connections come up and the session does not: each one queues its renewal.
	proxy.onRequest = (frame) => (operationOf(frame) === 0 ? 'lose' : 'pass')
	proxy.cut()
	await until('a line of them', () => {
		const { queue } = client.connectionManager.packetQueue
		return queue.filter(({ request }) => request.header.type === SET_WATCHES).length > 2
	})
})

test('N12: all watches are renewed in one frame, however large', async () => {
	const { proxy } = await proxied()
	const client = await connected(proxy.address)
	const path = (i: number) => `/${String(i).padStart(400, 'w')}`
	await Promise.all(
		Array.from({ length: 3000 }, (_, i) => called((done) => client.exists(path(i), () => undefined, done))),
	)
	let largest = 0
	proxy.onRequest = (frame) => {
		largest = Math.max(largest, frame.length)
		return 'pass'
	}
	proxy.cut()
	await until('the renewal', () => largest > 1_048_575)
})

test('N13: a server that closes at once is asked again at once', async () => {
	const { proxy } = await proxied()
	proxy.refuses = true
	const client = bareClient(proxy.address, { spinDelay: 1 })
	client.connect()
	await until('attempts without growing pauses', () => proxy.accepted > 30, 5000)
})

test('N14: close throws before a connection, and never ends with a silent server', async () => {
	const { proxy } = await proxied()
	expect(() => bareClient(proxy.address).close()).toThrow(TypeError)
	const client = await connected(proxy.address, { sessionTimeout: 300 })
	proxy.isFrozen = true
	let isEnded = false
	client.on('disconnected', () => {
		isEnded = true
	})
	client.close()
	await past(900)
	expect(isEnded).toBe(false)
	proxy.cut()
})

test('N15: a second connect makes a second socket; ours makes one for each link that was lost', async () => {
	const { proxy } = await proxied()
	const client = await connected(proxy.address)
	client.connect()
	await until('the second', () => proxy.accepted > 1)
	const other = await proxied()
	const zk = await openSession(other.proxy.address)
	for (let i = 0; i < 3; i++) {
		const lost = lossOf(zk)
		other.proxy.cut()
		await lost
		await zk.sync()
	}
	expect(other.proxy.accepted).toBe(4)
})

test('N16: its own retries repeat a sequential create that was done', async () => {
	const { proxy, address } = await proxied()
	const client = await connected(proxy.address, { retries: 2 })
	await makeNode(client, '/a')
	loseReplyTo(proxy, OP.create)
	await makeNode(client, '/a/s', NONE, bare.CreateMode.PERSISTENT_SEQUENTIAL)
	const zk = await openSession(address)
	expect((await zk.children('/a'))?.names.length).toBe(2)
})

test('N17, N18: after its end the session is "disconnected", calls fail as if trying again helped, and connect revives nothing', async () => {
	const { proxy, address } = await proxied()
	const client = await connected(proxy.address, { sessionTimeout: 200 })
	await makeNode(client, '/e', NONE, bare.CreateMode.EPHEMERAL)
	const zk = await openSession(address)
	const told: string[] = []
	for (const event of ['expired', 'disconnected']) client.on(event, () => void told.push(event))
	proxy.refuses = true
	proxy.cut()
	await until('the end of the session', async () => (await zk.exists('/e')) === null)
	proxy.refuses = false
	await until('it to be told, and more', () => told.at(-1) === 'disconnected' && told.includes('expired'))
	expect(client.getState().name).not.toBe('EXPIRED')
	const before = told.length
	client.connect()
	await until('it to end again', () => told.slice(before).includes('expired'))
})

test('N19: the last request number ends in an exception', async () => {
	const { address } = await startServer()
	const client = await connected(address)
	client.connectionManager.xid = 2 ** 31
	expect(() => client.exists('/', null, () => undefined)).toThrow(RangeError)
})

test('N20, N30: it has no sync, and its errors no path; ours have operation and path', async () => {
	const { address } = await startServer()
	const client = await connected(address)
	expect('sync' in client).toBe(false)
	const failed = called((done) => client.getData('/not/there', null, done)).catch((error: Error) => error)
	expect(Object.values((await failed) as object).some((value) => value === '/not/there')).toBe(false)
	const zk = await openSession(address)
	await expect(zk.remove('/not/there', ANY_VERSION)).rejects.toMatchObject({
		code: 'NO_NODE',
		operation: 'remove',
		path: '/not/there',
	})
})

test('N21, N22: recursive removal sees one level; mkdirp gives every ancestor the data of the last', async () => {
	const { address } = await startServer()
	const client = await connected(address)
	await called<string>((done) => client.mkdirp('/x/y/z', Buffer.from('last'), done))
	const zk = await openSession(address)
	expect((await zk.get('/x'))?.data?.toString()).toBe('last')
	await expect(called<void>((done) => client.removeRecursive('/x', done))).rejects.toThrow('NOT_EMPTY')
	await zk.create('/p/q/r', Buffer.from('last'), { parents: true })
	expect((await zk.get('/p'))?.data).toBeNull()
})

test('N23, N24: null data and bad arguments are thrown; ours keeps null, and rejects', async () => {
	const { address } = await startServer()
	const client = await connected(address)
	await makeNode(client, '/a')
	expect(() => client.setData('/a', null, -1, () => undefined)).toThrow(TypeError)
	expect(() => client.exists('no-slash', null, () => undefined)).toThrow()
	const zk = await openSession(address)
	await zk.create('/n', null)
	expect([(await zk.get('/n'))?.data, (await zk.get('/a'))?.data]).toEqual([null, NONE])
	expect(await called((done) => client.getData('/n', null, done))).toBeUndefined()
	await expect(zk.exists('no-slash')).rejects.toMatchObject({ code: 'BAD_ARGUMENTS' })
})

test('N25: a frame that the server refuses is sent, and takes all calls with it; ours is refused alone', async () => {
	const { proxy, address } = await proxied()
	const client = await connected(proxy.address)
	const innocent = called((done) => client.exists('/', null, done))
	const large = called((done) => client.transaction().create('/a', Buffer.alloc(1_048_570)).commit(done))
	proxy.onReply = () => 'pass'
	await expect(large).rejects.toThrow('CONNECTION_LOSS')
	await innocent.catch(() => undefined)
	const zk = await openSession(address)
	const [refused, fine] = await Promise.allSettled([
		zk.multi([{ op: 'create', path: '/a', data: Buffer.alloc(1_048_570) }]),
		zk.exists('/'),
	])
	expect(refused).toMatchObject({ reason: { code: 'TOO_LARGE' } })
	expect([fine.status, zk.state]).toEqual(['fulfilled', 'connected'])
})

test('N26: connect strings with IPv6 or a slash at the end', () => {
	expect(() => bare.createClient('127.0.0.1:1/chroot/')).toThrow()
	const { connectionManager } = bare.createClient('[::1]:2181') as unknown as {
		connectionManager: { servers: { host: string }[] }
	}
	expect(connectionManager.servers.map(({ host }) => host)).not.toContain('::1')
})

test('N27: many watchers of one path are many listeners; ours may be many, and each can end', async () => {
	const { address } = await startServer()
	const client = await connected(address)
	const warned = new Promise<string>((resolve) => process.once('warning', ({ name }) => resolve(name)))
	for (let i = 0; i < 12; i++) await called((done) => client.exists('/a', () => undefined, done))
	expect(await warned).toBe('MaxListenersExceededWarning')
	const warnings: string[] = []
	const onWarning = ({ name }: Error): void => void warnings.push(name)
	process.on('warning', onWarning)
	onTestFinished(() => void process.off('warning', onWarning))
	const zk = await openSession(address)
	const told = Array.from({ length: 12 }, () => 0)
	const watches = told.map((_, i) =>
		zk.watchExists('/b', () => {
			told[i] = (told[i] as number) + 1
		}),
	)
	await Promise.all(watches.map(({ ready }) => ready))
	for (const watch of watches.slice(1)) watch.close()
	await zk.create('/b', null)
	await until('the one that is left', () => told[0] === 2)
	expect([told.slice(1).every((count) => count === 1), warnings]).toEqual([true, []])
})

test('N28: watches are gone with the session', async () => {
	const { proxy, address } = await proxied()
	const client = await connected(proxy.address, { sessionTimeout: 200 })
	await makeNode(client, '/e', NONE, bare.CreateMode.EPHEMERAL)
	const zk = await openSession(address)
	let isTold = false
	let isExpired = false
	await called((done) =>
		client.exists(
			'/later',
			() => {
				isTold = true
			},
			done,
		),
	)
	client.on('expired', () => {
		isExpired = true
	})
	proxy.refuses = true
	proxy.cut()
	await until('the end of the session', async () => (await zk.exists('/e')) === null)
	proxy.refuses = false
	await until('it to be told', () => isExpired)
	await zk.create('/later', null)
	await past(300)
	expect(isTold).toBe(false)
})

test('N29: 64-bit values are buffers; ours are bigints', async () => {
	const { address } = await startServer()
	const client = await connected(address)
	expect((await called<{ czxid: unknown } | null>((done) => client.exists('/', null, done)))?.czxid).toBeInstanceOf(
		Buffer,
	)
	const zk = await openSession(address)
	expect(typeof (await zk.exists('/'))?.czxid).toBe('bigint')
})

test('N33: a server that refuses its session without a word is tried without end, and nobody is told; ours begins anew', async () => {
	// As Apache ZooKeeper does with those who have seen newer data than it has: the connection ends at the handshake.
	const { proxy } = await proxied()
	const client = await connected(proxy.address, { sessionTimeout: 200 })
	const told: string[] = []
	for (const event of ['expired', 'connected']) client.on(event, () => void told.push(event))
	const refuse = (frame: Buffer) =>
		operationOf(frame) === 0 && frame.readBigInt64BE(20) !== 0n ? ('lose' as const) : ('pass' as const)
	proxy.onRequest = refuse
	proxy.cut()
	const before = proxy.accepted
	await until('many attempts', () => proxy.accepted > before + 10)
	expect(told).toEqual([])
	const other = await proxied()
	const zk = await openSession(other.proxy.address, { sessionTimeoutMs: 300 })
	other.proxy.onRequest = refuse
	other.proxy.cut()
	await until('a new session', () => zk.generation === 2)
	expect(await zk.exists('/')).not.toBeNull()
})

test('N34: it asks for the timeout that was granted; ours for the one that is wanted', async () => {
	const { address } = await startServer({ tickMs: 1000 })
	const wishes = async (proxy: FaultProxy, lose: () => Promise<void>): Promise<number[]> => {
		const asked: number[] = []
		proxy.onRequest = (frame) => {
			// ConnectRequest: length, protocol version, last zxid, timeout.
			if (operationOf(frame) === 0) asked.push(frame.readInt32BE(16))
			return 'pass'
		}
		await lose()
		return asked
	}
	const theirs = await FaultProxy.start(address)
	const client = await connected(theirs.address, { sessionTimeout: 500 })
	expect(
		await wishes(theirs, async () => {
			const isBack = new Promise<void>((resolve) => client.once('connected', resolve))
			theirs.cut()
			await isBack
		}),
	).toEqual([2000])
	const ours = await FaultProxy.start(address)
	const zk = await openSession(ours.address, { sessionTimeoutMs: 500 })
	expect(zk.timeoutMs).toBe(2000)
	expect(
		await wishes(ours, async () => {
			const lost = lossOf(zk)
			ours.cut()
			await lost
			await zk.sync()
		}),
	).toEqual([500])
})

test('N35: events of ours come one after the other to every listener, before the calls that wait', async () => {
	const { proxy } = await proxied()
	const zk = await openSession(proxy.address)
	const order: string[] = []
	for (const name of ['first', 'second']) {
		zk.onEvent(({ type }) => void order.push(`${name} ${type}`))
	}
	const lost = lossOf(zk)
	proxy.cut()
	await lost
	await zk.exists('/').then(() => order.push('call'))
	expect(order).toEqual(['first disconnected', 'second disconnected', 'first connected', 'second connected', 'call'])
})
