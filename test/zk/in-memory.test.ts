/** Server, driver, session and recipes on a simulated clock, disk and network alone: what the simulator builds on. */

import { expect, test } from 'vitest'
import {
	type ConnectOptions,
	type Listener,
	type Network,
	NetworkError,
	type ReadSink,
	type Runtime,
	type Socket,
} from '../../src/runtime/ports.js'
import { nodeDriverFactory } from '../../src/zk/node-driver.js'
import type { ZkSession } from '../../src/zk/port.js'
import { electController, fencedMulti } from '../../src/zk/recipes.js'
import { startZkServer } from '../../src/zk/server/server.js'
import { openZkSession } from '../../src/zk/session.js'
import { ManualClock } from './manual-clock.js'
import { MemoryDisk } from './memory-disk.js'

const DELAY_MS = 1

/** One end of a connection; bytes reach the other end a millisecond later, unless the link is cut silently. */
class MemorySocket implements Socket {
	readonly remoteAddress = '127.0.0.1'
	readonly remotePort = 1
	readonly localAddress = '127.0.0.1'
	readonly localPort = 2
	readonly pendingBytes = 0
	other: MemorySocket | null = null
	isClosed = false
	#data: (chunk: Buffer) => void = () => undefined
	#close: (error: NetworkError | null) => void = () => undefined

	constructor(
		readonly clock: ManualClock,
		readonly network: MemoryNetwork,
	) {}

	onData(handler: (chunk: Buffer) => void): void {
		this.#data = handler
	}
	readInto(sink: ReadSink): void {
		this.#data = (chunk) => {
			for (let at = 0; at < chunk.length; ) {
				const copied = chunk.copy(sink.space(), 0, at)
				at += copied
				sink.received(copied)
			}
		}
	}
	onClose(handler: (error: NetworkError | null) => void): void {
		this.#close = handler
	}
	onDrain(): void {}
	pause(): void {}
	resume(): void {}

	write(chunks: readonly Uint8Array[], onSent?: () => void): boolean {
		const bytes = Buffer.concat(chunks)
		this.clock.after(DELAY_MS, () => {
			onSent?.()
			if (this.other?.isClosed === false && !this.network.isCut) this.other.#data(bytes)
		})
		return true
	}
	end(): void {
		this.clock.after(DELAY_MS * 2, () => this.destroy())
	}
	destroy(): void {
		if (this.isClosed) return
		this.isClosed = true
		this.clock.after(DELAY_MS, () => {
			this.#close(null)
			if (!this.network.isCut) this.other?.destroy()
		})
	}
}

class MemoryNetwork implements Network {
	isCut = false
	#accept: ((socket: Socket) => void) | null = null

	constructor(readonly clock: ManualClock) {}

	async listen(_: unknown, onSocket: (socket: Socket) => void): Promise<Listener> {
		this.#accept = onSocket
		return {
			address: '127.0.0.1',
			port: 2181,
			close: async () => {
				this.#accept = null
			},
		}
	}
	async connect(options: ConnectOptions): Promise<Socket> {
		if (this.isCut || this.#accept === null) throw new NetworkError('connect to', options.host, 'ECONNREFUSED')
		const near = new MemorySocket(this.clock, this)
		const far = new MemorySocket(this.clock, this)
		near.other = far
		far.other = near
		this.#accept(far)
		return near
	}
}

function world(): { clock: ManualClock; network: MemoryNetwork; disk: MemoryDisk; runtime: Runtime } {
	const clock = new ManualClock()
	clock.nowMs = 1_000_000
	const network = new MemoryNetwork(clock)
	const disk = new MemoryDisk()
	let seed = 1
	const next = (): number => {
		seed = (seed * 48_271) % 0x7fffffff
		return seed / 0x7fffffff
	}
	const random = { next, bytes: (count: number) => Buffer.from(Array.from({ length: count }, () => next() * 256)) }
	const claim = { release: async () => undefined }
	const host = { pid: 1, startedMs: 0, bootId: '', claim: async () => claim, lockHolder: () => null }
	const compression = null as unknown as Runtime['compression']
	return { clock, network, disk, runtime: { clock, network, disk, random, host, compression } }
}

/** The whole story as one text: what happened, and at what simulated time. */
async function story(): Promise<string[]> {
	const { clock, network, runtime } = world()
	const told: string[] = []
	const tell = (text: string): void => void told.push(`${clock.nowMs - 1_000_000} ${text}`)
	const wait = async <T>(promise: Promise<T>, ms = 60_000): Promise<T> => {
		let outcome: { value: T } | { error: unknown } | null = null
		promise.then(
			(value) => {
				outcome = { value }
			},
			(error: unknown) => {
				outcome = { error }
			},
		)
		await clock.runUntil(() => outcome !== null, ms)
		const settled = outcome as unknown as { value: T } | { error: unknown }
		if ('error' in settled) throw settled.error
		return settled.value
	}
	const server = await wait(startZkServer(runtime, { host: 'x', port: 0, dataDir: 'd', tickMs: 1000 }))
	const open = (name: string): Promise<ZkSession> =>
		wait(
			openZkSession(runtime, nodeDriverFactory(runtime), { connect: 'x:1', sessionTimeoutMs: 6000 }).then((session) => {
				session.onEvent((event) => tell(`${name} ${event.type}`))
				return session
			}),
		)
	const first = await open('first')
	const won = await wait(electController(first, clock, 1))
	tell(`elected ${JSON.stringify(won)}`)
	network.isCut = true
	await clock.runUntil(() => told.some((line) => line.endsWith('first expired')), 60_000)
	network.isCut = false
	await clock.runUntil(() => first.generation === 2, 60_000)
	tell(`again ${JSON.stringify(await wait(electController(first, clock, 1)))}`)
	const stale = fencedMulti(first, 1, [{ op: 'create', path: '/zombie', data: null }])
	tell(
		await wait(
			stale.then(
				() => 'written',
				(error: Error) => error.name,
			),
		),
	)
	await wait(first.close())
	await wait(server.stop())
	return told
}

test('a controller that loses its link loses its lease first, then its session, and cannot write under the old epoch', async () => {
	const told = await story()
	const events = told.map((line) => line.slice(line.indexOf(' ') + 1))
	expect(events).toEqual([
		'elected {"won":true,"epoch":1,"epochVersion":1}',
		'first disconnected',
		'first leaseLost',
		'first expired',
		'first connected',
		'again {"won":true,"epoch":2,"epochVersion":2}',
		'ControllerMovedError',
		'first closed',
	])
})

test('the same world tells the same story, to the millisecond', async () => {
	expect(await story()).toEqual(await story())
})
