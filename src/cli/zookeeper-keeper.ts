/**
 * Keeps the embedded ZooKeeper running for as long as its broker does: one that ends by itself is started again on the
 * same port and data, so that the broker's session goes on where it was.
 */

import type { Logger } from '../runtime/logger.js'
import { type EmbeddedZooKeeper, type EmbeddedZooKeeperOptions, startEmbeddedZooKeeper } from './embedded-zookeeper.js'

/** Wait before another try after one that failed. */
const RETRY_MS = 1000

export class ZooKeeperKeeper {
	readonly address: string
	readonly #options: EmbeddedZooKeeperOptions
	readonly #log: Logger
	#current: EmbeddedZooKeeper
	#isStopping = false
	#retry: NodeJS.Timeout | null = null

	private constructor(first: EmbeddedZooKeeper, options: EmbeddedZooKeeperOptions, log: Logger) {
		this.address = first.address
		this.#current = first
		// Port 0 was any; from now on it is this one.
		this.#options = { ...options, port: Number(/:(\d+)$/.exec(first.address)?.[1] ?? options.port) }
		this.#log = log
		this.#watch(first)
	}

	/** Starts the server. Rejects with `EmbeddedZooKeeperError`. */
	static async start(options: EmbeddedZooKeeperOptions, log: Logger): Promise<ZooKeeperKeeper> {
		return new ZooKeeperKeeper(await startEmbeddedZooKeeper(options), options, log)
	}

	get pid(): number {
		return this.#current.pid
	}

	/** Ends it flushed; it is not started again. */
	async stop(): Promise<void> {
		this.#isStopping = true
		if (this.#retry !== null) clearTimeout(this.#retry)
		await this.#current.stop()
	}

	#watch(server: EmbeddedZooKeeper): void {
		server.onExit(({ code, signal, message }) => {
			if (this.#isStopping) return
			this.#log.error('the embedded ZooKeeper ended, starting it again', { code, signal, reason: message })
			void this.#again()
		})
	}

	async #again(): Promise<void> {
		try {
			const server = await startEmbeddedZooKeeper(this.#options)
			this.#current = server
			if (this.#isStopping) {
				await server.stop()
				return
			}
			this.#log.info('the embedded ZooKeeper serves again', { address: server.address, pid: server.pid })
			this.#watch(server)
		} catch (error) {
			this.#log.error('the embedded ZooKeeper does not start', { reason: (error as Error).message })
			if (!this.#isStopping) this.#retry = setTimeout(() => void this.#again(), RETRY_MS)
		}
	}
}
