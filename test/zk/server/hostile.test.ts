/** Clients that mean no good: the server keeps its memory and its other clients. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OP } from '../../../src/zk/messages.js'
import { until } from '../../helpers/until.js'
import { openSession, startServer } from '../fixture.js'
import { RawClient } from '../raw-client.js'

test('random requests are answered or cut off, and a good client goes on', async () => {
	const { address } = await startServer()
	const good = await openSession(address)
	const types = Object.values(OP)
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.tuple(fc.constantFrom(...types, 999, -1, 0), fc.uint8Array({ maxLength: 60 })), { maxLength: 20 }),
			async (requests) => {
				const client = await RawClient.open(address)
				for (const [type, body] of requests) client.send(type, (writer) => writer.raw(body))
				client.send(OP.closeSession)
				await client.closed()
				expect(await good.exists('/zookeeper')).not.toBeNull()
			},
		),
		{ numRuns: 60 },
	)
})

test('random bytes instead of a greeting', async () => {
	const { address } = await startServer()
	const good = await openSession(address)
	await fc.assert(
		fc.asyncProperty(fc.uint8Array({ minLength: 8, maxLength: 80 }), async (bytes) => {
			const client = await RawClient.dial(address)
			client.write(Buffer.from(bytes))
			await good.sync()
			client.destroy()
		}),
		{ numRuns: 100 },
	)
	expect(await good.exists('/zookeeper')).not.toBeNull()
})

test('a claimed length reserves nothing', async () => {
	const server = await startServer()
	const header = Buffer.alloc(8)
	header.writeInt32BE(1_000_000)
	const before = process.memoryUsage().arrayBuffers
	const clients = await Promise.all(Array.from({ length: 200 }, () => RawClient.dial(server.address)))
	for (const client of clients) client.write(header)
	await until('all connections', () => server.status.connections.length === 200)
	expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 << 20)
	for (const client of clients) client.destroy()
	await until('all to be gone', () => server.status.connections.length === 0)
})

test('a client that asks for much and pipelines without end is read no faster than the log takes it', async () => {
	const { address } = await startServer()
	const client = await RawClient.open(address)
	const good = await openSession(address)
	await client.create('/many')
	for (let i = 0; i < 5000; i++) {
		client.send(OP.setData, (writer) => {
			writer.ustring('/many')
			writer.buffer(Buffer.alloc(100))
			writer.int(-1)
		})
	}
	expect((await good.exists('/many'))?.version).toBeGreaterThanOrEqual(0)
	await client.reply(5001)
	expect((await client.exists('/many')).stat.version).toBe(5000)
	await client.end()
})

test('connections of one address are bounded when asked for', async () => {
	const { address } = await startServer({ connectionsPerAddressMax: 2 })
	const first = await RawClient.open(address)
	const second = await RawClient.open(address)
	const third = await RawClient.dial(address)
	third.greet({})
	await third.closed()
	await first.end()
	await second.end()
})
