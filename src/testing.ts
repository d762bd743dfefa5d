/**
 * `import { startCluster } from 'kcli/testing'`: a real Kafka for other people's tests. Real broker processes on free
 * ports with their own temporary folders; all of it is gone after `stop()`, and also when the test runner dies.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Admin } from './client/admin.js'
import { Cluster, parseBootstrap } from './client/cluster.js'
import { errorLabel } from './protocol/errors.js'
import { nodeRuntime } from './runtime/node-runtime.js'

export interface TopicOptions {
	readonly name: string
	/** Default 1. */
	readonly partitions?: number
	/** Default 1. */
	readonly replicationFactor?: number
	readonly configs?: Readonly<Record<string, string>>
}

export interface ClusterOptions {
	/** Number of brokers. Default 1; more than one is not served yet. */
	readonly brokers?: number
	/** Made before `startCluster` settles. */
	readonly topics?: readonly (string | TopicOptions)[]
	/** Broker settings, as in server.properties. */
	readonly configs?: Readonly<Record<string, string>>
}

export interface TestBroker {
	readonly id: number
	readonly host: string
	readonly port: number
	readonly pid: number
	/** SIGKILL: as a crash. Settles when it is gone. */
	kill(): Promise<void>
	/** SIGSTOP: alive, and silent, until `resume`. */
	pause(): void
	resume(): void
	/** Starts it again on the same port and data, after a clean stop if it still runs. Settles when it serves. */
	restart(): Promise<void>
}

export interface TestCluster {
	/** `host:port,…` for any Kafka client. */
	readonly bootstrapServers: string
	/** The broker of that id (1 …). Throws when there is none. */
	broker(id: number): TestBroker
	/** Ends everything and removes all files. Idempotent. */
	stop(): Promise<void>
}

const CLI = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const START_MS = 30_000
const OPTIONS: readonly string[] = ['brokers', 'topics', 'configs']

/** Starts a cluster; settles when it serves and its topics have leaders. Rejects with what the broker said. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
	for (const key of Object.keys(options)) {
		if (!OPTIONS.includes(key)) throw new TypeError(`startCluster has no option '${key}'; it has ${OPTIONS.join(', ')}`)
	}
	const count = options.brokers ?? 1
	if (!Number.isInteger(count) || count < 1) throw new RangeError(`brokers: ${count} is not a number of brokers`)
	if (count > 1) throw new RangeError(`brokers: ${count} is not possible yet; this version starts one`)
	const folder = mkdtempSync(join(tmpdir(), 'kcli-test-'))
	const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
	process.once('exit', remove)
	const broker = new Broker(1, folder, options.configs ?? {})
	try {
		await broker.start()
		await createTopics(broker.address, options.topics ?? [])
	} catch (error) {
		await broker.stop()
		remove()
		throw error
	}
	let stopping: Promise<void> | null = null
	return {
		bootstrapServers: broker.address,
		broker: (id) => {
			if (id !== 1) throw new RangeError(`there is no broker ${id}`)
			return broker
		},
		stop: () => {
			stopping ??= broker.stop().then(() => {
				process.off('exit', remove)
				remove()
			})
			return stopping
		},
	}
}

async function createTopics(address: string, topics: readonly (string | TopicOptions)[]): Promise<void> {
	if (topics.length === 0) return
	const cluster = new Cluster(nodeRuntime(), {
		bootstrap: parseBootstrap(address) ?? [],
		clientId: 'kcli-testing',
		connectTimeoutMs: 5000,
		requestTimeoutMs: START_MS,
		operationTimeoutMs: START_MS,
		retryBackoffMs: 20,
		retryBackoffMaxMs: 200,
	})
	try {
		const wanted = topics.map((topic) => (typeof topic === 'string' ? { name: topic } : topic))
		const results = await new Admin(cluster).createTopics(
			wanted.map((topic: TopicOptions) => ({
				name: topic.name,
				partitions: topic.partitions ?? 1,
				replicationFactor: topic.replicationFactor ?? 1,
				assignments: null,
				configs: new Map(Object.entries(topic.configs ?? {})),
			})),
			false,
		)
		const failed = results.find(({ errorCode }) => errorCode !== 0)
		if (failed !== undefined) {
			throw new Error(`topic ${failed.name} was not created: ${failed.message ?? ''} [${errorLabel(failed.errorCode)}]`)
		}
	} finally {
		await cluster.close()
	}
}

class Broker implements TestBroker {
	readonly id: number
	readonly host = '127.0.0.1'
	port = 0
	readonly #folder: string
	readonly #configs: Readonly<Record<string, string>>
	#child: ChildProcess | null = null
	#exited: Promise<void> = Promise.resolve()
	#stderr = ''

	constructor(id: number, folder: string, configs: Readonly<Record<string, string>>) {
		this.id = id
		this.#folder = folder
		this.#configs = configs
	}

	get address(): string {
		return `${this.host}:${this.port}`
	}

	get pid(): number {
		return this.#child?.pid ?? -1
	}

	async start(): Promise<void> {
		const args = ['broker', 'start', '--id', String(this.id), '--attached', '--log-level', 'warn']
		args.push('--listen', `PLAINTEXT://${this.host}:${this.port}`, '--zookeeper-port', '0')
		args.push('--data-dir', join(this.#folder, `broker-${this.id}`), '--scratch', this.#folder)
		for (const [key, value] of Object.entries(this.#configs)) args.push('-c', `${key}=${value}`)
		// stdin is a pipe of ours: when we die, the broker ends.
		const child = spawn(process.execPath, [CLI, ...args], {
			stdio: ['pipe', 'pipe', 'pipe'],
			env: { ...process.env, NODE_OPTIONS: '' },
		})
		this.#child = child
		this.#stderr = ''
		child.stdin?.on('error', () => undefined)
		child.stderr?.on('data', (chunk: Buffer) => {
			this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-4000)
		})
		this.#exited = new Promise((resolve) => child.once('close', () => resolve()))
		const line = await this.#readyLine(child)
		this.port = Number(/ listeners=[^ ,]*:(\d+)/.exec(line)?.[1])
	}

	#readyLine(child: ChildProcess): Promise<string> {
		return new Promise((resolve, reject) => {
			let output = ''
			const timer = setTimeout(() => {
				child.kill('SIGKILL')
				reject(new Error(`the broker did not serve within ${START_MS} ms\n${this.#stderr}`))
			}, START_MS)
			child.stdout?.on('data', (chunk: Buffer) => {
				output += chunk.toString('utf8')
				const end = output.indexOf('\n')
				if (end < 0) return
				clearTimeout(timer)
				resolve(output.slice(0, end))
			})
			void this.#exited.then(() => {
				clearTimeout(timer)
				reject(new Error(`the broker could not start\n${this.#stderr}`))
			})
		})
	}

	async kill(): Promise<void> {
		this.#child?.kill('SIGKILL')
		await this.#exited
	}

	pause(): void {
		this.#child?.kill('SIGSTOP')
	}

	resume(): void {
		this.#child?.kill('SIGCONT')
	}

	async restart(): Promise<void> {
		await this.stop()
		await this.start()
	}

	async stop(): Promise<void> {
		this.#child?.kill('SIGCONT')
		this.#child?.kill('SIGTERM')
		await this.#exited
	}
}
