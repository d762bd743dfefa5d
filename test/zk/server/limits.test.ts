/** Limits that an owner sets: which words are told, how much may wait for the log. */

import { expect, test } from 'vitest'
import { OP, setDataRequest } from '../../../src/zk/messages.js'
import { startZkServer } from '../../../src/zk/server/server.js'
import { until } from '../../helpers/until.js'
import { runtime, startServer, temporaryFolder } from '../fixture.js'
import { MemoryDisk } from '../memory-disk.js'
import { RawClient } from '../raw-client.js'

async function wordOf(address: string, word: string): Promise<string> {
	const client = await RawClient.dial(address)
	client.write(Buffer.from(word))
	await client.closed()
	return client.text
}

const REFUSED = / is not executed because it is not in the whitelist\.\n$/

test('words that were not allowed are named and refused', async () => {
	const { address } = await startServer()
	for (const word of ['ruok', 'srvr', 'mntr', 'stat', 'conf', 'isro'])
		expect(await wordOf(address, word)).not.toMatch(REFUSED)
	for (const word of ['cons', 'envi', 'wchs', 'wchc', 'wchp', 'dump', 'dirs', 'crst', 'srst', 'gtmk', 'stmk', 'hash'])
		expect(await wordOf(address, word)).toBe(`${word} is not executed because it is not in the whitelist.\n`)
})

test('only the words that were asked for are served', async () => {
	const { address } = await startServer({ words: ['srvr'] })
	expect(await wordOf(address, 'srvr')).toMatch(/^Zookeeper version/)
	expect(await wordOf(address, 'ruok')).toMatch(REFUSED)
})

test('crst sets the counts of connections back, srst those of the server; a refused one does neither', async () => {
	const server = await startServer({ words: ['crst', 'srst'] })
	const client = await RawClient.open(server.address)
	for (let i = 0; i < 20; i++) await client.exists('/')
	expect(server.status.received).toBeGreaterThan(20)
	await wordOf(server.address, 'crst')
	expect(server.status.connections.map(({ received }) => received)).toEqual([0])
	expect(server.status.sent).toBeGreaterThan(20)
	await wordOf(server.address, 'srst')
	expect(server.status.received).toBe(0)
	await client.exists('/')
	expect([server.status.received, server.status.connections[0]?.received]).toEqual([1, 1])
	const closed = await startServer({ words: ['srvr'] })
	const other = await RawClient.open(closed.address)
	await other.exists('/')
	const before = closed.status.received
	await wordOf(closed.address, 'srst')
	expect(closed.status.received).toBeGreaterThanOrEqual(before)
})

test('no more is read than may wait for the log, and all is answered when the log goes on', async () => {
	const disk = new MemoryDisk()
	const options = { host: '127.0.0.1', port: 0, dataDir: temporaryFolder(), outstandingMax: 10, tickMs: 2000 }
	const server = await startZkServer({ ...runtime, disk }, options)
	try {
		const client = await RawClient.open(server.address)
		await client.create('/n')
		disk.holdsSyncs = true
		const count = 3000
		const data = Buffer.alloc(4000)
		for (let i = 0; i < count; i++)
			client.send(OP.setData, (writer) => setDataRequest.write(writer, { path: '/n', data, version: -1 }))
		await until('the first of them', () => server.status.outstanding > 10)
		// Round trips of another connection: time in which the server would have read on.
		for (let i = 0; i < 50; i++) await wordOf(server.address, 'ruok')
		expect(server.status.outstanding).toBeLessThan(100)
		disk.holdsSyncs = false
		disk.releaseSyncs()
		await until('all answers', () => client.frames.length === count)
		expect((await client.exists('/n')).stat.version).toBe(count)
	} finally {
		await server.stop()
	}
})
