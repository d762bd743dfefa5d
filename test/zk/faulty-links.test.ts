/**
 * The session over links that fail: cut after every single byte of either direction, closed on one side only, in pieces of
 * one byte. Whatever happens, every call settles with what really was done, and nothing is done twice.
 */

import * as net from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ZkSession } from '../../src/zk/port.js'
import type { ZkServer } from '../../src/zk/server/server.js'
import { openSession, startServer } from './fixture.js'

type Direction = 'toServer' | 'toClient'

interface Fault {
	readonly direction: Direction
	/** The link fails when so many bytes have passed; those after them are lost. */
	readonly afterBytes: number
	/** `cut`: both sides are gone. `half`: the client's side is closed, what it still sends goes nowhere. */
	readonly kind: 'cut' | 'half'
}

/** Passes bytes on; the first link fails as `fault` says, later ones are whole. */
class Link {
	readonly counts: Record<Direction, number> = { toServer: 0, toClient: 0 }
	isFailed = false
	readonly #server: net.Server
	readonly #fault: Fault | null
	readonly #isTrickling: boolean
	readonly #target: string

	private constructor(target: string, fault: Fault | null, isTrickling: boolean) {
		this.#target = target
		this.#fault = fault
		this.#isTrickling = isTrickling
		this.#server = net.createServer({ allowHalfOpen: true }, (client) => this.#accept(client))
	}

	static async start(target: string, fault: Fault | null, isTrickling = false): Promise<Link> {
		const link = new Link(target, fault, isTrickling)
		await new Promise<void>((resolve) => link.#server.listen(0, '127.0.0.1', resolve))
		onTestFinished(() => void link.#server.close())
		return link
	}

	get address(): string {
		return `127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`
	}

	#accept(client: net.Socket): void {
		const [host, port] = this.#target.split(':') as [string, string]
		const server = net.connect(Number(port), host)
		for (const socket of [client, server]) {
			socket.setNoDelay(true)
			socket.on('error', () => undefined)
		}
		client.on('close', () => server.destroy())
		client.on('end', () => client.destroy())
		server.on('close', () => client.destroy())
		this.#pass(client, server, 'toServer', client, server)
		this.#pass(server, client, 'toClient', client, server)
	}

	#pass(from: net.Socket, to: net.Socket, direction: Direction, client: net.Socket, server: net.Socket): void {
		from.on('data', (chunk: Buffer) => {
			const before = this.counts[direction]
			this.counts[direction] += chunk.length
			const fault = this.isFailed || this.#fault?.direction !== direction ? null : this.#fault
			if (fault === null || this.counts[direction] < fault.afterBytes) {
				this.#write(to, chunk)
				return
			}
			this.isFailed = true
			to.write(chunk.subarray(0, fault.afterBytes - before), () => {
				server.destroy()
				if (fault.kind === 'cut') client.destroy()
				else client.end()
			})
		})
	}

	#write(to: net.Socket, chunk: Buffer): void {
		if (!this.#isTrickling) to.write(chunk)
		else for (let at = 0; at < chunk.length; at++) to.write(chunk.subarray(at, at + 1))
	}
}

const bytes = (text: string): Buffer => Buffer.from(text)

/** One of each call; answers what they said. */
async function script(zk: ZkSession): Promise<unknown[]> {
	const said: unknown[] = []
	said.push(await zk.create('/a', bytes('x')))
	said.push(await zk.create('/e', bytes('mine'), { mode: 'ephemeral' }))
	said.push((await zk.set('/a', bytes('y'), 0, { identified: true })).version)
	const verify = async () => {
		const [a, b] = [await zk.get('/a'), await zk.exists('/b')]
		if (b === null || a?.data?.toString() !== 'z') return null
		return [{ op: 'create', path: '/b' } as const, { op: 'set', stat: a.stat } as const]
	}
	const results = await zk.multi(
		[
			{ op: 'create', path: '/b', data: null },
			{ op: 'set', path: '/a', data: bytes('z'), version: 1 },
		],
		{ verify },
	)
	said.push(results.map(({ op }) => op))
	said.push((await zk.children('/'))?.names)
	said.push((await zk.get('/a'))?.data?.toString())
	await zk.remove('/b', 0)
	await zk.sync()
	said.push((await zk.children('/'))?.names, (await zk.exists('/a'))?.version)
	return said
}

const EXPECTED = ['/a', '/e', 1, ['create', 'set'], ['a', 'b', 'e'], 'z', ['a', 'e'], 2]

async function run(server: ZkServer, name: string, fault: Fault | null, isTrickling = false): Promise<Link> {
	const link = await Link.start(server.address, fault, isTrickling)
	const zk = await openSession(`${link.address}/${name}`)
	expect([name, fault, await script(zk)]).toEqual([name, fault, EXPECTED])
	expect([zk.generation, (await zk.exists('/e'))?.ephemeralOwner]).toEqual([1, zk.sessionId])
	await zk.close()
	return link
}

const TOGETHER = 16

describe.each(['toServer', 'toClient'] as const)('a link that fails %s', (direction) => {
	test.each(['cut', 'half'] as const)(
		'%s after any byte',
		async (kind) => {
			const server = await startServer()
			const whole = await run(server, 'whole', null)
			const faults = Array.from(
				{ length: whole.counts[direction] },
				(_, i): Fault => ({ direction, afterBytes: i + 1, kind }),
			)
			let failed = 0
			for (let at = 0; at < faults.length; at += TOGETHER) {
				const links = await Promise.all(
					faults.slice(at, at + TOGETHER).map((fault) => run(server, `n${fault.afterBytes}`, fault)),
				)
				failed += links.filter(({ isFailed }) => isFailed).length
			}
			// The last bytes are those of a clean end, which a session may come to by other ways.
			expect(failed).toBeGreaterThan(faults.length * 0.9)
		},
		60_000,
	)
})

test('a link that gives one byte at a time', async () => {
	await run(await startServer(), 'slow', null, true)
})
