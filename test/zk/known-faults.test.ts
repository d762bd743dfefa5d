/** What others got wrong between a ZooKeeper and its clients, by the reports it is known from. */

import * as net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseConnectString } from '../../src/zk/driver.js'
import { until } from '../helpers/until.js'
import { openSession, startServer, temporaryFolder } from './fixture.js'
import { FaultProxy } from './proxy.js'

const NONE = Buffer.alloc(0)

test('an empty frame costs the connection and nothing else (node-zookeeper-client#39, ZOOKEEPER-2775)', async () => {
	const { address } = await startServer()
	const [host, port] = address.split(':') as [string, string]
	// Passes bytes on; after the first handshake an empty frame comes before whatever the server says.
	let isSent = false
	const liar = net.createServer((client) => {
		const server = net.connect(Number(port), host)
		let isConnected = false
		for (const socket of [client, server]) socket.on('error', () => undefined)
		client.on('close', () => server.destroy())
		server.on('close', () => client.destroy())
		client.on('data', (chunk: Buffer) => void server.write(chunk))
		server.on('data', (chunk: Buffer) => {
			if (isConnected && !isSent) {
				isSent = true
				client.write(Buffer.alloc(4))
			}
			isConnected = true
			client.write(chunk)
		})
	})
	await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
	onTestFinished(() => void liar.close())
	const zk = await openSession(`127.0.0.1:${(liar.address() as net.AddressInfo).port}`)
	expect(await zk.create('/a', NONE)).toBe('/a')
	expect([isSent, zk.generation, (await zk.exists('/a'))?.version]).toEqual([true, 1, 0])
})

test('replies in another order than the requests cost the connection (node-zookeeper-client#24, ZOOKEEPER-1863)', async () => {
	const { address } = await startServer()
	const proxy = await FaultProxy.start(address)
	const zk = await openSession(proxy.address)
	await zk.create('/a', Buffer.from('1'))
	let isSwapped = false
	proxy.onReply = (frame) => {
		if (isSwapped || frame.length < 20) return 'pass'
		isSwapped = true
		// The number of a request that nobody made.
		frame.writeInt32BE(frame.readInt32BE(4) + 1, 4)
		return 'pass'
	}
	const answers = await Promise.all([zk.get('/a'), zk.exists('/b'), zk.get('/a')])
	expect([isSwapped, answers.map((answer) => answer !== null)]).toEqual([true, [true, false, true]])
})

test('a chroot given behind every server is refused, not glued to the first (alibaba/node-hbase-client#22)', () => {
	expect(() => parseConnectString('a:1/k,b:2/k')).toThrow('a chroot stands once, behind the last address')
})

test('a server that lost its data ends the sessions it does not know (kazoo#42)', async () => {
	const first = await startServer()
	const proxy = await FaultProxy.start(first.address)
	const zk = await openSession(proxy.address, { sessionTimeoutMs: 20_000 })
	for (let i = 0; i < 5; i++) await zk.create(`/n${i}`, null)
	await first.stop()
	proxy.retarget((await startServer()).address)
	// Long before its time is over: the server says that the session is gone.
	await until('a new session', () => zk.generation === 2, 5000)
	expect(await zk.create('/n0', null)).toBe('/n0')
})

test('numbers of sequential nodes never come again, restarts between (ZOOKEEPER-1046)', async () => {
	const dataDir = temporaryFolder()
	const seen = new Set<string>()
	for (let round = 0; round < 4; round++) {
		const server = await startServer({ dataDir })
		const zk = await openSession(server.address)
		if (round === 0) await zk.create('/q', null)
		for (let i = 0; i < 10; i++) {
			const made = await zk.create('/q/n-', null, { mode: 'persistentSequential' })
			expect(seen).not.toContain(made)
			seen.add(made)
			if (i % 3 !== round % 3) await zk.remove(made, 0)
		}
		await zk.close()
		await server.stop()
	}
	expect(seen.size).toBe(40)
})

test('a snapshot taken while a subtree comes and goes is started from (ZOOKEEPER-1573)', async () => {
	const dataDir = temporaryFolder()
	// Snapshots every few transactions, so that many are taken in the middle of a burst.
	for (let round = 0; round < 5; round++) {
		const server = await startServer({ dataDir, snapshotTransactions: 7 })
		const zk = await openSession(server.address)
		await Promise.all(
			Array.from({ length: 10 }, async (_, i) => {
				await zk.create(`/t${i}`, null)
				await zk.create(`/t${i}/child`, Buffer.from(String(round)))
				await zk.remove(`/t${i}/child`, 0)
				await zk.remove(`/t${i}`, 0)
			}),
		)
		await zk.create(`/kept${round}`, null)
		await zk.close()
		await server.stop()
	}
	const server = await startServer({ dataDir })
	const zk = await openSession(server.address)
	expect((await zk.children('/'))?.names.filter((name) => name !== 'zookeeper')).toEqual(
		[0, 1, 2, 3, 4].map((round) => `kept${round}`),
	)
})

test('a client under a chroot asks for no right on the root (KAFKA-12866)', async () => {
	const { address } = await startServer()
	const owner = await openSession(address, { auth: [{ scheme: 'digest', credentials: Buffer.from('owner:secret') }] })
	await owner.create('/app', null)
	await owner.setAcl('/', [{ perms: 31, scheme: 'auth', id: '' }], -1)
	const zk = await openSession(`${address}/app`)
	expect(await zk.create('/a/b', null, { parents: true })).toBe('/a/b')
	expect((await zk.children('/'))?.names).toEqual(['a'])
	const outside = await openSession(address)
	expect(await outside.create('/app/x/y', null, { parents: true })).toBe('/app/x/y')
	await expect(outside.create('/other', null)).rejects.toMatchObject({ code: 'NO_AUTH' })
})
