/** Accepts connections for one listener and keeps count of them: limits of all, of one address, and stop. */

import type { Logger } from '../../runtime/logger.js'
import type { Listener as PortListener, Runtime, Socket, TlsOptions } from '../../runtime/ports.js'
import type { MemoryBudget } from './budget.js'
import { Connection, type FrameHandler } from './connection.js'

export interface ListenerOptions {
	readonly name: string
	readonly host: string
	readonly port: number
	readonly backlog: number
	readonly tls?: TlsOptions
	readonly frameBytesMax: number
	readonly idleMs: number
	readonly connectionsMax: number
	readonly connectionsPerAddressMax: number
	readonly budget: MemoryBudget
	readonly log: Logger
	/** Makes the handler of one connection. */
	readonly handler: (socket: Socket) => FrameHandler
}

export class NetListener {
	readonly name: string
	readonly #runtime: Runtime
	readonly #options: ListenerOptions
	readonly #connections = new Set<Connection>()
	readonly #byAddress = new Map<string, number>()
	#port: PortListener | null = null

	constructor(runtime: Runtime, options: ListenerOptions) {
		this.name = options.name
		this.#runtime = runtime
		this.#options = options
	}

	/** Binds. Rejects with NetworkError (EADDRINUSE …). Returns the real port. */
	async listen(): Promise<number> {
		const { host, port, backlog, tls } = this.#options
		this.#port = await this.#runtime.network.listen(
			{ host, port, backlog, readsIntoMemory: true, ...(tls === undefined ? {} : { tls }) },
			(socket) => this.#accept(socket),
		)
		return this.#port.port
	}

	get connectionCount(): number {
		return this.#connections.size
	}

	/** Stops accepting, then closes every connection. */
	async close(): Promise<void> {
		const closed = this.#port?.close()
		for (const connection of [...this.#connections]) connection.destroy()
		await closed
	}

	#accept(socket: Socket): void {
		const address = socket.remoteAddress
		const count = this.#byAddress.get(address) ?? 0
		if (this.#connections.size >= this.#options.connectionsMax || count >= this.#options.connectionsPerAddressMax) {
			this.#options.log.warn('connection refused: limit reached', {
				listener: this.name,
				peer: address,
				connections: this.#connections.size,
			})
			socket.destroy()
			return
		}
		this.#byAddress.set(address, count + 1)
		const connection = new Connection(socket, this.#options.handler(socket), {
			frameBytesMax: this.#options.frameBytesMax,
			idleMs: this.#options.idleMs,
			budget: this.#options.budget,
			clock: this.#runtime.clock,
			log: this.#options.log,
			onClosed: (closed) => {
				this.#connections.delete(closed)
				const left = (this.#byAddress.get(address) ?? 1) - 1
				if (left === 0) this.#byAddress.delete(address)
				else this.#byAddress.set(address, left)
			},
		})
		this.#connections.add(connection)
	}
}
