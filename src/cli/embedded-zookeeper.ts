/**
 * The embedded ZooKeeper as a child process of a broker: started, its address awaited, ended with its parent. A process
 * of its own since libuv's thread pool is one a process, and a stalled broker must not expire its own session. The
 * child's stdin is a pipe of ours: when we die, however, it ends flushed within a second.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface EmbeddedZooKeeperOptions {
	readonly host: string
	/** 0 takes any free port. */
	readonly port: number
	readonly dataDir: string
	readonly tickMs?: number
	/** Whether TTL nodes may be made. Default false, as in Apache ZooKeeper. */
	readonly hasTtlNodes?: boolean
	/** How long the start may take, recovery included. Default 30,000. */
	readonly startTimeoutMs?: number
	/** The compiled entry; default is the one beside this file. */
	readonly entry?: string
}

export interface EmbeddedZooKeeper {
	/** `host:port` for `--zookeeper`. */
	readonly address: string
	readonly pid: number
	/** Ends it flushed and settles when it is gone. Idempotent. */
	stop(): Promise<void>
	/** Called once when it ends, asked for or not; at once when it has ended already. */
	onExit(handler: (exit: EmbeddedZooKeeperExit) => void): void
}

export interface EmbeddedZooKeeperExit {
	readonly code: number | null
	readonly signal: string | null
	/** Last lines of its stderr: why it ended. */
	readonly message: string
}

/** The server could not be started; the message is its own, one line. */
export class EmbeddedZooKeeperError extends Error {
	override readonly name = 'EmbeddedZooKeeperError'
	readonly code = 'KCLI_ZK_START_FAILED'
}

/** Hints for a small process: the tree of a cluster is a few megabytes. */
const NODE_FLAGS = ['--max-semi-space-size=2', '--stack-trace-limit=20']

/** A child that was told to stop and does not is killed after this time; what it acknowledged is in its log. */
const KILL_MS = 2000

const STDERR_KEPT = 4000

/** Starts the server and settles when it serves. Rejects with {@link EmbeddedZooKeeperError}. */
export function startEmbeddedZooKeeper(options: EmbeddedZooKeeperOptions): Promise<EmbeddedZooKeeper> {
	const entry = options.entry ?? fileURLToPath(new URL('../zk/server/main.js', import.meta.url))
	const host = options.host.includes(':') ? `[${options.host}]` : options.host
	const flags = ['--attached', '--listen', `${host}:${options.port}`, '--data-dir', options.dataDir]
	if (options.tickMs !== undefined) flags.push('--tick-ms', String(options.tickMs))
	if (options.hasTtlNodes === true) flags.push('--ttl-nodes')
	const child = spawn(process.execPath, [...NODE_FLAGS, entry, ...flags], {
		stdio: ['pipe', 'pipe', 'pipe'],
		// Its parent's NODE_OPTIONS (inspectors, loaders of tests) are not for it.
		env: { ...process.env, NODE_OPTIONS: '' },
	})
	const embedded = new Child(child)
	return embedded.started(options.startTimeoutMs ?? 30_000)
}

class Child implements EmbeddedZooKeeper {
	address = ''
	readonly #child: ChildProcess
	readonly #handlers: ((exit: EmbeddedZooKeeperExit) => void)[] = []
	#exit: EmbeddedZooKeeperExit | null = null
	#stderr = ''

	constructor(child: ChildProcess) {
		this.#child = child
		child.stdin?.on('error', () => undefined)
		child.stderr?.on('data', (chunk: Buffer) => {
			this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-STDERR_KEPT)
		})
		// `close` comes after the last of its output.
		child.once('close', (code, signal) => this.#ended({ code, signal, message: this.#stderr.trim() }))
		child.once('error', (error) => this.#ended({ code: null, signal: null, message: error.message }))
	}

	get pid(): number {
		return this.#child.pid ?? -1
	}

	started(timeoutMs: number): Promise<EmbeddedZooKeeper> {
		return new Promise((resolve, reject) => {
			let output = ''
			const timer = setTimeout(() => {
				this.#child.kill('SIGKILL')
				reject(new EmbeddedZooKeeperError(`the embedded ZooKeeper did not serve within ${timeoutMs} ms`))
			}, timeoutMs)
			this.#child.stdout?.on('data', (chunk: Buffer) => {
				if (this.address !== '') return
				output += chunk.toString('utf8')
				const line = /^zookeeper (\S+)\n/m.exec(output)
				if (line === null) return
				clearTimeout(timer)
				this.address = line[1] as string
				resolve(this)
			})
			this.onExit(({ code, signal, message }) => {
				clearTimeout(timer)
				const reason = message === '' ? `exit ${code ?? signal}` : message.replace(/^zookeeper: /, '')
				reject(new EmbeddedZooKeeperError(`the embedded ZooKeeper ended: ${reason}`))
			})
		})
	}

	stop(): Promise<void> {
		return new Promise<void>((resolve) => {
			const timer = setTimeout(() => this.#child.kill('SIGKILL'), KILL_MS)
			this.onExit(() => {
				clearTimeout(timer)
				resolve()
			})
			this.#child.stdin?.end()
		})
	}

	onExit(handler: (exit: EmbeddedZooKeeperExit) => void): void {
		if (this.#exit !== null) handler(this.#exit)
		else this.#handlers.push(handler)
	}

	#ended(exit: EmbeddedZooKeeperExit): void {
		if (this.#exit !== null) return
		this.#exit = exit
		for (const handler of this.#handlers.splice(0)) handler(exit)
	}
}
