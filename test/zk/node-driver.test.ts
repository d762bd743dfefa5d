/** Defects of node-zookeeper-client 1.1.3 (numbers as in docs/zookeeper.md) that must not show through the driver. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as net from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseConnectString } from '../../src/zk/driver.js'
import { OP } from '../../src/zk/messages.js'
import { nodeDriverFactory } from '../../src/zk/node-driver.js'
import type { ZkSession } from '../../src/zk/port.js'
import { openZkSession } from '../../src/zk/session.js'
import { until } from '../helpers/until.js'
import { openSession, runtime, startServer } from './fixture.js'
import { FaultProxy, once, operationOf } from './proxy.js'

async function proxied(options: { sessionTimeoutMs?: number } = {}): Promise<{
	zk: ZkSession
	proxy: FaultProxy
	address: string
}> {
	const { address } = await startServer()
	const proxy = await FaultProxy.start(address)
	return { zk: await openSession(proxy.address, options), proxy, address }
}

test('the package is the one whose insides the driver knows', () => {
	const require = createRequire(import.meta.url)
	const digest = createHash('sha256')
	for (const file of ['ConnectionManager', 'PacketQueue', 'WatcherManager', 'jute/index']) {
		digest.update(readFileSync(require.resolve(`node-zookeeper-client/lib/${file}.js`)))
	}
	expect(digest.digest('hex')).toBe('379007b119216029c05a6e21267a027925a52b2910bb89fb865b67281b15818e')
})

test('N2: a frozen server is noticed, and another one taken within the session', async () => {
	const { address } = await startServer()
	const frozen = await FaultProxy.start(address)
	const healthy = await FaultProxy.start(address)
	healthy.refuses = true
	const zk = await openSession(`${frozen.address},${healthy.address}`, { sessionTimeoutMs: 900 })
	await zk.create('/e', null, { mode: 'ephemeral' })
	healthy.refuses = false
	frozen.isFrozen = true
	expect((await zk.exists('/e'))?.ephemeralOwner).toBe(zk.sessionId)
	expect(zk.generation).toBe(1)
})

test('N3: a server that accepts and stays silent does not hold the client for ever', async () => {
	const { address } = await startServer()
	const silent = net.createServer((socket) => socket.on('error', () => undefined))
	await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
	onTestFinished(() => void silent.close())
	const { port } = silent.address() as net.AddressInfo
	const zk = await openSession(`127.0.0.1:${port},${address}`, { sessionTimeoutMs: 1000 })
	expect(zk.state).toBe('connected')
})

test('N4: a reply torn in its middle does not spoil the next connection', async () => {
	const { zk, proxy } = await proxied()
	await zk.create('/a', Buffer.alloc(5000, 1))
	proxy.onReply = once((frame) => frame.length > 5000, 'tear')
	expect((await zk.get('/a'))?.data?.length).toBe(5000)
	expect(zk.generation).toBe(1)
})

test('N5: notifications alone do not keep a session from pinging', async () => {
	const { zk, address } = await proxied({ sessionTimeoutMs: 400 })
	const other = await openSession(address)
	await other.create('/a', null)
	const { leaseDeadlineMs } = zk
	const events: string[] = []
	zk.onEvent(({ type }) => void events.push(type))
	const watch = zk.watchData('/a', () => undefined)
	await watch.ready
	watch.close()
	await until('three timeouts', async () => {
		await other.set('/a', null, -1)
		return runtime.clock.monotonicMs() > leaseDeadlineMs + 1200
	})
	expect(events).toEqual([])
})

test('N6, N7: a call given up while there was no connection is never sent', async () => {
	const { zk, proxy, address } = await proxied()
	proxy.refuses = true
	proxy.cut()
	await until('the loss to be noticed', () => zk.state === 'disconnected')
	await expect(zk.create('/zombie', null, { timeoutMs: 30 })).rejects.toMatchObject({
		code: 'TIMEOUT',
		ambiguous: false,
	})
	proxy.refuses = false
	await zk.sync()
	const other = await openSession(address)
	expect(await other.exists('/zombie')).toBeNull()
})

describe('N8: what the package does not know', () => {
	for (const code of [-118, -122, -125, -127, -13, -4711]) {
		test(`error ${code} reaches the caller, and the connection lives`, async () => {
			const { zk, proxy } = await proxied()
			let isDone = false
			proxy.onReply = (frame) => {
				if (!isDone && frame.readInt32BE(4) > 0) {
					isDone = true
					frame.writeInt32BE(code, 16)
				}
				return 'pass'
			}
			await expect(zk.exists('/a')).rejects.toMatchObject({ code: 'UNKNOWN', wireCode: code })
			expect(await zk.exists('/a')).toBeNull()
			expect(proxy.accepted).toBe(1)
		})
	}

	test('a reply that cannot be read costs the connection, and the call is tried again', async () => {
		const { zk, proxy } = await proxied()
		await zk.create('/a', Buffer.from('x'))
		let isDone = false
		proxy.onReply = (frame) => {
			if (!isDone && frame.readInt32BE(4) > 0) {
				isDone = true
				frame.writeInt32BE(1000, 20)
			}
			return 'pass'
		}
		expect((await zk.get('/a'))?.data?.toString()).toBe('x')
		expect(proxy.accepted).toBe(2)
	})

	test('an event of an unknown type is passed over', async () => {
		const { zk, proxy } = await proxied()
		await zk.watchExists('/a', () => undefined).ready
		proxy.onReply = (frame) => {
			if (frame.readInt32BE(4) === -1) frame.writeInt32BE(99, 20)
			return 'pass'
		}
		await zk.create('/a', null)
		expect(await zk.exists('/a')).not.toBeNull()
		expect(proxy.accepted).toBe(1)
	})
})

test('N10: credentials go before the first request, on every connection', async () => {
	const { address } = await startServer()
	const proxy = await FaultProxy.start(address)
	const zk = await openSession(proxy.address, { auth: [{ scheme: 'digest', credentials: Buffer.from('u:p') }] })
	const acl = [{ perms: 31, scheme: 'auth', id: '' }]
	await zk.create('/mine', Buffer.from('x'), { acl })
	proxy.cut()
	expect((await zk.get('/mine'))?.data?.toString()).toBe('x')
	const other = await openSession(address)
	await expect(other.get('/mine')).rejects.toMatchObject({ code: 'NO_AUTH' })
})

test('N10: refused credentials end the session with a reason', async () => {
	const { address } = await startServer()
	const opening = openSession(address, { auth: [{ scheme: 'nonsense', credentials: Buffer.from('x') }] })
	// The server answers the handshake first; the refusal follows at once.
	const zk = await opening.catch((error: unknown) => error)
	if (zk instanceof Error) expect(zk).toMatchObject({ code: 'AUTH_FAILED' })
	else await until('the end', () => (zk as ZkSession).state === 'closed')
})

test('N11, N12: many watches come back in pieces, after however many attempts', async () => {
	const { zk, proxy, address } = await proxied()
	const name = 'x'.repeat(200)
	const seen = new Set<number>()
	const watches = Array.from({ length: 3000 }, (_, i) =>
		zk.watchExists(`/w${i}-${name}`, (stat) => {
			if (stat !== null) seen.add(i)
		}),
	)
	await Promise.all(watches.map(({ ready }) => ready))
	const sizes: number[] = []
	proxy.onRequest = (frame) => {
		if (operationOf(frame) === OP.setWatches) sizes.push(frame.length)
		return 'pass'
	}
	proxy.refuses = true
	proxy.cut()
	await until('some attempts', () => proxy.accepted > 4)
	proxy.refuses = false
	await zk.sync()
	expect(sizes.length).toBeGreaterThan(3)
	expect(sizes.length).toBeLessThan(10)
	expect(Math.max(...sizes)).toBeLessThan(140 * 1024)
	const other = await openSession(address)
	await other.create(`/w0-${name}`, null)
	await other.create(`/w2999-${name}`, null)
	await until('both events', () => seen.size === 2)
})

test('N13: a server that closes at once is not hammered', async () => {
	const { zk, proxy } = await proxied()
	proxy.refuses = true
	const { accepted } = proxy
	proxy.cut()
	const began = performance.now()
	await until('a while to pass', () => performance.now() - began > 700)
	expect(proxy.accepted - accepted).toBeLessThan(15)
	await zk.close()
})

describe('N14: close', () => {
	const options = {
		servers: [{ host: '127.0.0.1', port: 1 }],
		chroot: '',
		sessionTimeoutMs: 4000,
		auth: [],
		resume: null,
	}
	const silent = {
		onConnected: () => undefined,
		onDisconnected: () => undefined,
		onExpired: () => undefined,
		onAuthFailed: () => undefined,
		onAnswer: () => undefined,
		onWatch: () => undefined,
	}

	test('before a connection, twice, and without one', async () => {
		const driver = nodeDriverFactory(runtime)(options, silent)
		await driver.close(100)
		await driver.close(100)
		const started = nodeDriverFactory(runtime)(options, silent)
		started.start()
		await started.close(100)
	})

	test('with a silent server ends in time', async () => {
		const { zk, proxy } = await proxied()
		proxy.isFrozen = true
		const began = performance.now()
		await zk.close(100)
		expect(performance.now() - began).toBeLessThan(1000)
	})

	test('while connecting, and while disconnected', async () => {
		const { zk, proxy } = await proxied()
		proxy.refuses = true
		proxy.cut()
		await until('the loss', () => zk.state === 'disconnected')
		await zk.close(100)
		const { accepted } = proxy
		proxy.refuses = false
		const began = performance.now()
		await until('a while', () => performance.now() - began > 300)
		// The one that was under way may arrive after the close; a driver that went on would have come many times.
		expect(proxy.accepted - accepted).toBeLessThanOrEqual(1)
	})
})

test('N19: xids begin anew before they overflow, and every request has its answer', async () => {
	const { address } = await startServer()
	const zk = await openZkSession(runtime, nodeDriverFactory(runtime, 0x7ff0_0000 - 10), { connect: address })
	onTestFinished(() => zk.close(500))
	const names = Array.from({ length: 40 }, (_, i) => `/wrap-${i}`)
	expect(await Promise.all(names.map((name) => zk.create(name, Buffer.from(name))))).toEqual(names)
	const read = await Promise.all(names.map((name) => zk.get(name)))
	expect(read.map((found) => String(found?.data))).toEqual(names)
	expect(zk.generation).toBe(1)
})

test('N20: sync works', async () => {
	const { zk } = await proxied()
	await zk.sync()
})

test('N26: connect strings', () => {
	expect(parseConnectString('a:1, [::1]:2 ,c/k/x/')).toEqual({
		servers: [
			{ host: 'a', port: 1 },
			{ host: '::1', port: 2 },
			{ host: 'c', port: 2181 },
		],
		chroot: '/k/x',
	})
	for (const text of ['', '/x', 'a:b', 'a:70000', 'a//b', 'a:1:2'])
		expect(() => parseConnectString(text), text).toThrow()
})
