/** Part of the contract of a ZooKeeper server (`contract.ts`): session, order, four-letter words. */

import { describe, expect, test } from 'vitest'
import { JuteReader } from '../../src/zk/jute.js'
import { createRequest, ERR, FLAG, OP, statRecord, watchedPathRequest } from '../../src/zk/messages.js'
import type { Contract } from './contract-harness.js'
import { OPEN, RawClient } from './raw-client.js'

export function contractSessions(contract: Contract): void {
	const { promise } = contract

	describe('session', () => {
		promise('the greeting mirrors the read-only byte', async ({ address, zk }) => {
			expect(zk.greeting?.length).toBe(36)
			const other = await RawClient.open(address, { readOnly: false })
			expect(other.greeting?.length).toBe(37)
			await other.end()
		})
		promise('the timeout is bounded from below', async ({ address }) => {
			const other = await RawClient.open(address, { timeoutMs: 0 })
			expect(other.timeoutMs).toBeGreaterThan(0)
			await other.end()
		})
		promise(
			'is taken up on a new connection with its password, and the old one is closed',
			async ({ address, root, zk }) => {
				await zk.create(`${root}/e`, '', FLAG.ephemeral)
				const again = await RawClient.open(address, { sessionId: zk.sessionId, password: zk.password })
				expect(again.sessionId).toBe(zk.sessionId)
				await zk.closed()
				expect((await again.exists(`${root}/e`)).err).toBe(0)
				await again.end()
			},
		)
		promise('with a wrong password is refused with zeros', async ({ address, zk }) => {
			const other = await RawClient.open(address, { sessionId: zk.sessionId, password: Buffer.alloc(16, 1) })
			expect([other.timeoutMs, other.sessionId]).toEqual([0, 0n])
			await other.closed()
		})
		promise('unknown is refused with zeros', async ({ address }) => {
			const other = await RawClient.open(address, {
				sessionId: 0x1234n,
				password: Buffer.alloc(16, 1),
				readOnly: false,
			})
			expect([other.timeoutMs, other.sessionId, other.greeting?.length]).toEqual([0, 0n, 37])
			await other.closed()
		})
		promise('of a client from the future is closed without a word', async ({ address }) => {
			const other = await RawClient.dial(address)
			other.greet({ zxid: 2 ** 50 })
			await other.closed()
			expect(other.greeting).toBeNull()
		})
		promise('closed: its ephemeral nodes go, others are told, it cannot be taken up', async ({ address, root, zk }) => {
			const other = await RawClient.open(address)
			await other.create(`${root}/e`, '', FLAG.ephemeral)
			await zk.exists(`${root}/e`, true)
			await zk.children(root, true)
			await other.end()
			expect(await zk.events()).toEqual([`deleted ${root}/e`, `children ${root}`])
			const again = await RawClient.open(address, { sessionId: other.sessionId, password: other.password })
			expect(again.timeoutMs).toBe(0)
			await again.closed()
		})
		promise('expires when nothing is heard of it, not before its timeout', async ({ address, root, zk }) => {
			const other = await RawClient.open(address, { timeoutMs: 1 })
			await other.create(`${root}/e`, '', FLAG.ephemeral)
			const began = performance.now()
			await zk.exists(`${root}/e`, true)
			other.destroy()
			while ((await zk.exists(`${root}/e`)).err === 0) await zk.events()
			// The node went no earlier than the timeout after its last request.
			expect(performance.now() - began).toBeGreaterThan(other.timeoutMs - 50)
		})
		promise('requests behind the greeting wait for it', async ({ address, root }) => {
			const other = await RawClient.dial(address)
			other.greet({})
			const frame = await other.request(OP.exists, (writer) =>
				watchedPathRequest.write(writer, { path: root, watch: false }),
			)
			expect(frame.err).toBe(0)
			await other.end()
		})
		promise('a frame above the limit closes the connection', async ({ address }) => {
			const other = await RawClient.open(address)
			const header = Buffer.alloc(4)
			header.writeInt32BE(0x100000)
			other.write(header)
			await other.closed()
		})
		promise('any xid is echoed, also 0 and negative ones', async ({ root, zk }) => {
			for (const xid of [0, -5, 77, 0x7fffffff]) {
				zk.send(OP.exists, (writer) => watchedPathRequest.write(writer, { path: root, watch: false }), xid)
				expect((await zk.reply(xid)).err).toBe(0)
			}
		})
		promise('an unknown operation is answered, then the connection closed', async ({ address }) => {
			const other = await RawClient.open(address)
			const frame = await other.request(999)
			expect([frame.err, frame.zxid]).toEqual([ERR.unimplemented, -1])
			await other.closed()
		})
		promise('a request that cannot be read is an error, and the connection lives', async ({ root, zk }) => {
			expect((await zk.request(OP.create, (writer) => writer.int(1000))).err).toBe(ERR.marshalling)
			expect((await zk.exists(root)).err).toBe(0)
		})
	})

	describe('order', () => {
		promise('pipelined requests are answered in order and see one another', async ({ root, zk }) => {
			const xids = [
				zk.send(OP.create, (writer) =>
					createRequest.write(writer, { path: `${root}/a`, data: Buffer.from('1'), acl: OPEN, flags: 0 }),
				),
				zk.send(OP.exists, (writer) => watchedPathRequest.write(writer, { path: `${root}/a`, watch: false })),
				zk.send(OP.exists, (writer) => watchedPathRequest.write(writer, { path: `${root}/b`, watch: false })),
			]
			const frames = await Promise.all(xids.map((xid) => zk.reply(xid)))
			expect(frames.map(({ err }) => err)).toEqual([0, 0, -101])
			expect(zk.order.slice(-3)).toEqual(xids.map((xid) => `reply ${xid}`))
			const stat = statRecord.read(new JuteReader(frames[1]?.body ?? Buffer.alloc(0)))
			expect(stat.czxid).toBe(frames[0]?.zxid)
		})
	})

	describe('four-letter words', () => {
		const word = async (text: string): Promise<string> => {
			const client = await RawClient.dial(contract.address)
			client.write(Buffer.from(text))
			await client.closed()
			return client.text
		}
		test('ruok', async () => expect(await word('ruok')).toBe('imok'))
		test('srvr', async () => {
			const text = await word('srvr')
			expect(text).toMatch(/^Zookeeper version: 3\.\d+\.\d+/)
			expect(text).toMatch(/\nMode: standalone\nNode count: \d+\n$/)
		})
		test('mntr', async () => expect(await word('mntr')).toMatch(/^zk_version\t.*\nzk_server_state\tstandalone\n/))
		test('stat', async () => expect(await word('stat')).toMatch(/\nClients:\n[\s\S]*\nLatency min\/avg\/max: /))
		test('conf', async () => expect(await word('conf')).toMatch(/^clientPort=\d+\n/))
	})
}
