/**
 * A cluster seen from outside: who its brokers are, who leads what, who coordinates whom; one connection a broker; retry
 * and backoff in this one place. Works against any Kafka from 0.10 on.
 */

import { ERROR, errorInfo } from '../protocol/errors.js'
import { findCoordinator } from '../protocol/messages/group.js'
import { metadata } from '../protocol/messages/metadata.js'
import type { Decoded, Family, Fields, Input } from '../protocol/schema.js'
import { errorText } from '../runtime/logger.js'
import type { Runtime } from '../runtime/ports.js'
import { BrokerConnection, type ConnectionSettings } from './connection.js'
import { BrokerError, ConnectionError } from './errors.js'

export interface Address {
	readonly host: string
	readonly port: number
}

export interface ClusterSettings extends ConnectionSettings {
	readonly bootstrap: readonly Address[]
	/** Longest time over all tries of one operation. */
	readonly operationTimeoutMs: number
	readonly retryBackoffMs: number
	readonly retryBackoffMaxMs: number
}

export type MetadataResponse = Decoded<typeof metadata.response>
export type TopicMetadata = MetadataResponse['topics'][number]
export type PartitionMetadata = TopicMetadata['partitions'][number]

export interface ClusterNode extends Address {
	readonly id: number
	readonly rack: string | null
}

export class Cluster {
	readonly runtime: Runtime
	readonly settings: ClusterSettings
	readonly #connections = new Map<string, Promise<BrokerConnection>>()
	readonly #nodes = new Map<number, ClusterNode>()
	readonly #leaders = new Map<string, { leader: number; epoch: number }>()
	readonly #topicIds = new Map<string, string>()
	readonly #coordinators = new Map<string, number>()
	#controllerId = -1
	#clusterId: string | null = null
	#isClosed = false
	#wasReached = false

	constructor(runtime: Runtime, settings: ClusterSettings) {
		this.runtime = runtime
		this.settings = settings
	}

	get clusterId(): string | null {
		return this.#clusterId
	}

	get controllerId(): number {
		return this.#controllerId
	}

	get nodes(): readonly ClusterNode[] {
		return [...this.#nodes.values()].sort((a, b) => a.id - b.id)
	}

	/**
	 * Asks for metadata of `topics` (null: all), and remembers it. Never creates a topic unless `mayCreate`.
	 * Rejects when no broker can be reached.
	 */
	async refresh(topics: readonly string[] | null, mayCreate = false): Promise<MetadataResponse> {
		const answer = await this.#tryBrokers((connection) => {
			const version = connection.versionOf(metadata as unknown as Family)
			const asked = topics === null ? (version === 0 ? [] : null) : topics.map((name) => ({ name }))
			return connection.request(metadata, {
				topics: asked,
				...(version >= 4 ? { allowAutoTopicCreation: mayCreate } : {}),
			})
		})
		this.#remember(answer)
		return answer
	}

	#remember(answer: MetadataResponse): void {
		this.#wasReached = true
		this.#clusterId = answer.clusterId ?? this.#clusterId
		this.#controllerId = answer.controllerId
		this.#nodes.clear()
		for (const { nodeId, host, port, rack } of answer.brokers) {
			this.#nodes.set(nodeId, { id: nodeId, host, port, rack })
		}
		for (const topic of answer.topics) {
			if (topic.name === null) continue
			this.#topicIds.set(topic.name, topic.topicId)
			for (const { partitionIndex, leaderId, leaderEpoch } of topic.partitions) {
				this.#leaders.set(`${topic.name}-${partitionIndex}`, { leader: leaderId, epoch: leaderEpoch })
			}
		}
	}

	topicIdOf(topic: string): string | undefined {
		return this.#topicIds.get(topic)
	}

	/** Leader of a partition as last heard; undefined when it is not known or there is none. */
	leaderOf(topic: string, partition: number): { readonly leader: number; readonly epoch: number } | undefined {
		const known = this.#leaders.get(`${topic}-${partition}`)
		return known === undefined || known.leader < 0 ? undefined : known
	}

	/**
	 * A connection to a broker by id, opened when there is none. Rejects with {@link ConnectionError}. `lane` names a
	 * connection of its own: a fetch that waits for records would hold up all that comes behind it on the same one.
	 */
	async broker(id: number, lane = ''): Promise<BrokerConnection> {
		let node = this.#nodes.get(id)
		if (node === undefined) {
			await this.refresh([])
			node = this.#nodes.get(id)
		}
		if (node === undefined) throw new ConnectionError(`broker ${id}`, 'is not part of the cluster now')
		return await this.#connect(node, lane)
	}

	/** A connection to the controller. */
	async controller(): Promise<BrokerConnection> {
		if (this.#controllerId < 0) await this.refresh([])
		if (this.#controllerId < 0)
			throw new BrokerError(ERROR.BROKER_NOT_AVAILABLE, 'controller', 'There is no controller now.')
		return await this.broker(this.#controllerId)
	}

	/** A connection to any broker that answers. */
	any(): Promise<BrokerConnection> {
		return this.#tryBrokers((connection) => Promise.resolve(connection))
	}

	/** Id of the broker that coordinates a group (key type 0) or a transactional id (1). Waits until there is one. */
	async coordinatorOf(key: string, keyType = 0): Promise<number> {
		const known = this.#coordinators.get(`${keyType}${key}`)
		if (known !== undefined && this.#nodes.has(known)) return known
		return await this.retry(`coordinator of ${key}`, async () => {
			const connection = await this.any()
			const version = connection.versionOf(findCoordinator as unknown as Family)
			const answer = await connection.request(
				findCoordinator,
				version >= 4 ? { keyType, coordinatorKeys: [key], key: '' } : { key, keyType },
			)
			const found = version >= 4 ? answer.coordinators[0] : answer
			const code = found?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
			if (found === undefined || code !== ERROR.NONE) throw new BrokerError(code, `FindCoordinator ${key}`)
			this.#nodes.set(found.nodeId, { id: found.nodeId, host: found.host, port: found.port, rack: null })
			this.#coordinators.set(`${keyType}${key}`, found.nodeId)
			return found.nodeId
		})
	}

	/** Coordinators are asked for anew. */
	forgetCoordinators(): void {
		this.#coordinators.clear()
	}

	/**
	 * Runs `attempt` until it succeeds, fails for good, or the operation's time is over. Retried: broken connections and
	 * the codes that Kafka's own client retries. Metadata is asked anew where the code says so.
	 */
	async retry<T>(what: string, attempt: () => Promise<T>, timeoutMs = this.settings.operationTimeoutMs): Promise<T> {
		const { clock } = this.runtime
		const deadline = clock.monotonicMs() + timeoutMs
		let backoffMs = this.settings.retryBackoffMs
		for (;;) {
			try {
				return await attempt()
			} catch (error) {
				const isRetriable = error instanceof ConnectionError || (error instanceof BrokerError && error.retriable)
				const left = deadline - clock.monotonicMs()
				if (!isRetriable || left <= 0 || this.#isClosed) throw error
				// Nobody was ever there: a wrong address is told at once, not after all tries.
				if (error instanceof ConnectionError && !this.#wasReached) throw error
				const waitMs = Math.min(backoffMs, left)
				this.settings.logger?.info('tried again', {
					operation: what,
					error: errorText(error),
					inMs: Math.round(waitMs),
				})
				await this.#pause(waitMs)
				backoffMs = Math.min(backoffMs * 2, this.settings.retryBackoffMaxMs)
				if (isCoordinatorFault(error)) this.#coordinators.clear()
				const isStale = error instanceof ConnectionError || errorInfo(error.code).refreshesMetadata
				if (isStale) await this.refresh([]).catch(() => this.#forget(what))
			}
		}
	}

	/** As {@link retry}, against the controller, looked up anew each time. */
	onController<T>(what: string, call: (connection: BrokerConnection) => Promise<T>): Promise<T> {
		return this.retry(what, async () => {
			try {
				return await call(await this.controller())
			} catch (error) {
				if (error instanceof BrokerError && error.code === ERROR.NOT_CONTROLLER) this.#controllerId = -1
				throw error
			}
		})
	}

	/** One request to a named broker. */
	async ask<Q extends Fields, P extends Fields>(
		brokerId: number,
		family: Family<Q, P>,
		message: Input<Q>,
		waitMs = 0,
	): Promise<Decoded<P>> {
		const connection = await this.broker(brokerId)
		return await connection.request(family, message, { waitMs })
	}

	/** One request to whichever broker answers. */
	async askAny<Q extends Fields, P extends Fields>(family: Family<Q, P>, message: Input<Q>): Promise<Decoded<P>> {
		const connection = await this.any()
		return await connection.request(family, message)
	}

	async close(): Promise<void> {
		this.#isClosed = true
		const open = [...this.#connections.values()]
		this.#connections.clear()
		for (const connection of await Promise.allSettled(open)) {
			if (connection.status === 'fulfilled') connection.value.close()
		}
	}

	/** All that was known is doubtful: the bootstrap addresses are asked next. */
	#forget(_what: string): void {
		this.#nodes.clear()
		this.#controllerId = -1
	}

	#pause(ms: number): Promise<void> {
		return new Promise((resolve) => {
			this.runtime.clock.after(ms, resolve)
		})
	}

	/** Known brokers first, then the bootstrap list; the first that works is used. */
	async #tryBrokers<T>(use: (connection: BrokerConnection) => Promise<T>): Promise<T> {
		const failures: string[] = []
		let last: unknown
		const seen = new Set<string>()
		for (const address of [...this.#nodes.values(), ...this.settings.bootstrap]) {
			const key = `${address.host}:${address.port}`
			if (seen.has(key)) continue
			seen.add(key)
			try {
				return await use(await this.#connect(address))
			} catch (error) {
				if (!(error instanceof ConnectionError)) throw error
				last = error
				failures.push(error.message)
			}
		}
		if (failures.length === 1) throw last
		throw new ConnectionError('no broker can be reached', failures.join('; '), last)
	}

	#connect({ host, port }: Address, lane = ''): Promise<BrokerConnection> {
		const key = `${host}:${port}${lane}`
		const known = this.#connections.get(key)
		if (known !== undefined) return known
		const opening = BrokerConnection.open(this.runtime, host, port, this.settings).then(
			(connection) => {
				connection.onClosed(() => {
					if (this.#connections.get(key) === opening) this.#connections.delete(key)
				})
				return connection
			},
			(error: unknown) => {
				if (this.#connections.get(key) === opening) this.#connections.delete(key)
				throw error
			},
		)
		this.#connections.set(key, opening)
		return opening
	}
}

/** Who coordinates may have changed. */
function isCoordinatorFault(error: ConnectionError | BrokerError): boolean {
	if (error instanceof ConnectionError) return true
	return error.code === ERROR.NOT_COORDINATOR || error.code === ERROR.COORDINATOR_NOT_AVAILABLE
}

/** Parses `host[:port],…`; port 9092 by default, `[::1]:9092` for IPv6. Null when a part is not an address. */
export function parseBootstrap(text: string): Address[] | null {
	const addresses: Address[] = []
	for (const part of text
		.split(',')
		.map((each) => each.trim())
		.filter((each) => each !== '')) {
		const match = /^(?:[A-Za-z_]+:\/\/)?(?:\[([^\]]+)\]|([^:[\]/]+))(?::(\d{1,5}))?$/.exec(part)
		const port = Number(match?.[3] ?? 9092)
		if (match === null || port > 65_535) return null
		addresses.push({ host: (match[1] ?? match[2]) as string, port })
	}
	return addresses.length === 0 ? null : addresses
}
