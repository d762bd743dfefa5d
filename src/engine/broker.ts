/**
 * A broker: everything wired, started and stopped in order (semantics 30). The first file to read of the engine.
 *
 *   ZooKeeper roots → cluster id → data folders locked → broker id → dynamic configs → logs → sockets bound, not served
 *   → registration → controller candidate → coordinators → config changes followed → requests served
 */

import { newTopicId, type TopicPartition } from '../base/ids.js'
import { errorText, type Logger } from '../runtime/logger.js'
import type { Runtime, Timer } from '../runtime/ports.js'
import type { ZkSession } from '../zk/port.js'
import { createRootNodes, generateBrokerId, readOrCreateClusterId, registerBroker } from '../zk/recipes.js'
import { allocateProducerIds, announce } from '../zk/recipes-config.js'
import { type BrokerEndpoint, featureZnode } from '../zk/znodes.js'
import { logDirEventZnode } from '../zk/znodes-admin.js'
import { Dispatcher } from './api/dispatch.js'
import { makeHandlers } from './api/handlers.js'
import { TopicAdmin } from './api/topic-admin.js'
import { TopicCreator } from './api/topic-creator.js'
import { type BrokerConfig, ConfigError } from './config.js'
import type { ControlEndpoint } from './controller/channel.js'
import { Controller } from './controller/controller.js'
import { GroupCoordinator } from './group/coordinator.js'
import { advertisedEndpoints, interBrokerListener, type ListenerSpec, parseListeners } from './listeners.js'
import type { PassRunner } from './log/cleaner/pass-job.js'
import { LogManager } from './log/manager.js'
import { logSettings } from './log-settings.js'
import { MetadataCache } from './metadata/cache.js'
import { ConfigStore } from './metadata/config-store.js'
import { MemoryBudget } from './net/budget.js'
import { NetListener } from './net/listener.js'
import { FetchSessions } from './replica/fetch-session.js'
import { logConfigOf } from './replica/log-settings.js'
import { ReplicaManager } from './replica/manager.js'
import { type SessionCredentials, SessionMemory } from './session-memory.js'
import { ProducerIds } from './txn/producer-ids.js'

export interface BrokerOptions {
	readonly runtime: Runtime
	/** Opens the ZooKeeper session; called once the data folders are locked. The broker closes it when it stops. */
	readonly openSession: OpenSession
	readonly config: BrokerConfig
	readonly log: Logger
	/** Advertised for a listener that binds all addresses. */
	readonly hostName: string
	/** The broker cannot go on: no data folder is left. The owner stops it. */
	readonly onFatal: (reason: string) => void
	/** Where compaction works; without it on the loop. */
	readonly cleanerPasses?: PassRunner
}

/**
 * `predecessor`: the session of a broker that is known to be dead (its data folders are ours now), to be ended first, so
 * that a restart after a crash need not wait for it to expire. `onCredentials`: told those of each new session.
 */
export type OpenSession = (
	predecessor: SessionCredentials | null,
	onCredentials: (credentials: SessionCredentials) => void,
) => Promise<ZkSession>

export interface BrokerInfo {
	readonly id: number
	readonly clusterId: string
	/** Advertised endpoints, real ports. */
	readonly endpoints: readonly BrokerEndpoint[]
	/** Bound sockets, real ports. */
	readonly listeners: readonly ListenerSpec[]
}

export class Broker {
	readonly info: BrokerInfo
	/** For tests and in-process tools: the parts that answer questions. */
	readonly metadata: MetadataCache
	readonly replicas: ReplicaManager
	readonly #parts: Started

	constructor(info: BrokerInfo, parts: Started) {
		this.info = info
		this.metadata = parts.metadata
		this.replicas = parts.replicas
		this.#parts = parts
	}

	/**
	 * Stops in the reverse order of start: no new requests, waits ended, logs flushed and closed, role and registration
	 * given up. Returns the names of logs that could not be flushed.
	 */
	async stop(): Promise<string[]> {
		const { listeners, controller, groups, replicas, configs, logs, timers, session, epoch } = this.#parts
		for (const timer of timers) timer.cancel()
		const closed = Promise.all(listeners.map((listener) => listener.close()))
		configs.close()
		groups.close()
		replicas.close()
		await controller.stop()
		await closed
		const unflushed = await logs.close(epoch())
		await session.close()
		return unflushed
	}
}

interface Started {
	readonly session: ZkSession
	readonly metadata: MetadataCache
	readonly replicas: ReplicaManager
	readonly controller: Controller
	readonly configs: ConfigStore
	readonly groups: GroupCoordinator
	readonly logs: LogManager
	readonly listeners: readonly NetListener[]
	readonly timers: Timer[]
	readonly epoch: () => bigint
}

/** Starts a broker; settles when it serves. Rejects with ConfigError, DirLockedError, NetworkError, ZkError and others. */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
	const { runtime, config, log } = options
	const specs = parseListeners(config)
	const interBroker = interBrokerListener(config, specs)
	const failures = new DirFailures(options)
	const logs = openLogManager(options, failures)
	failures.logs = logs
	await logs.lock()
	const bound: NetListener[] = []
	const timers: Timer[] = []
	try {
		const memory = new SessionMemory(runtime.disk, config.list('log.dirs')[0] ?? '.')
		const session = await options.openSession(memory.read(), (credentials) => memory.write(credentials))
		await createRootNodes(session)
		const stored = logs.storedIdentities()
		const storedCluster = stored.find((each) => each.clusterId !== null)?.clusterId ?? null
		const freshId = (): string => storedCluster ?? newTopicId((count) => runtime.random.bytes(count))
		const clusterId = await readOrCreateClusterId(session, freshId)
		const storedId = stored.find((each) => each.brokerId !== null)?.brokerId ?? null
		const brokerId = await decideBrokerId(config, session, storedId)
		const configs = new ConfigStore(session, runtime.clock, brokerId, config, log.scoped('config'))
		await configs.load()
		await logs.open({ clusterId, brokerId, configFor: (topic) => logConfigOf(config, configs.topic(topic)) })
		const metadata = new MetadataCache()
		const replicaManager = new ReplicaManager({
			brokerId,
			clock: runtime.clock,
			log: log.scoped('replica'),
			logs,
			config,
			configs,
			metadata,
		})
		failures.serve(replicaManager, session, brokerId)
		let registration: Promise<bigint> = Promise.resolve(-1n)
		const controller = new Controller({
			brokerId,
			session,
			clock: runtime.clock,
			random: runtime.random,
			log: log.scoped('controller'),
			interBrokerListener: interBroker,
			isTopicDeletionEnabled: () => config.boolean('delete.topic.enable'),
			allowsUnclean: (topic) => config.topicBoolean('unclean.leader.election.enable', configs.topic(topic)),
			whenRegistered: () => registration,
			endpointOf: () => localEndpoint(replicaManager),
		})
		const admin = new TopicAdmin({
			session,
			random: runtime.random,
			log: log.scoped('topic'),
			config,
			metadata,
			configs,
		})
		const creator = new TopicCreator(admin, config)
		const groups = new GroupCoordinator({
			clock: runtime.clock,
			random: runtime.random,
			compression: runtime.compression,
			log: log.scoped('group'),
			config,
			replicas: replicaManager,
			metadata,
		})
		replicaManager.onLeadership(groups)
		let featureEpoch = -1
		const budget = new MemoryBudget(config.number('kcli.memory.budget.bytes'))
		const dispatcher = new Dispatcher(
			makeHandlers({
				brokerId,
				clusterId,
				runtime,
				session,
				log,
				config,
				configs,
				metadata,
				replicas: replicaManager,
				logs,
				controller,
				admin,
				creator,
				groups,
				sessions: new FetchSessions(
					config.number('max.incremental.fetch.session.cache.slots'),
					runtime.clock,
					runtime.random,
				),
				budget,
				featureEpoch: () => featureEpoch,
				producerIds: new ProducerIds(() => allocateProducerIds(session, brokerId)),
			}),
			log.scoped('request'),
		)
		const ports = await bind(options, specs, dispatcher, budget, bound)
		const endpoints = advertisedEndpoints(config, specs, ports, options.hostName)
		const register = (): Promise<bigint> =>
			registerBroker(
				session,
				runtime.clock,
				brokerId,
				{
					endpoints,
					rack: config.text('broker.rack'),
					jmxPort: -1,
					timestamp: runtime.clock.wallMs(),
					features: new Map(),
				},
				config.number('zookeeper.session.timeout.ms') + 2000,
			)
		registration = register()
		let epoch = await registration
		session.onEvent(async (event) => {
			if (event.type !== 'connected' || !event.isNew) return
			registration = register()
			epoch = await registration
			log.info('registered again in a new ZooKeeper session', { broker: brokerId, epoch })
		})
		await controller.start()
		const feature = session.watchData(featureZnode.path, (node) => {
			featureEpoch = node?.stat.version ?? -1
		})
		await feature.ready
		await configs.follow(
			(topic) => replicaManager.topicConfigChanged(topic),
			() => {
				replicaManager.brokerConfigChanged()
				logs.wakeCleaner()
			},
		)
		checkpointForEver(options, logs, timers)
		groups.start()
		dispatcher.open()
		const listeners = specs.map((spec) => ({ ...spec, port: ports.get(spec.name) ?? spec.port }))
		const info: BrokerInfo = { id: brokerId, clusterId, endpoints, listeners }
		log.info('broker serves', { broker: brokerId, cluster: clusterId, epoch })
		return new Broker(info, {
			session,
			metadata,
			replicas: replicaManager,
			controller,
			configs,
			groups,
			logs,
			listeners: bound,
			timers,
			epoch: () => epoch,
		})
	} catch (error) {
		for (const listener of bound) await listener.close()
		await logs.close(-1n)
		throw error
	}
}

/** What follows from a data folder that fails: its replicas answer 56, the controller is told, and no folder left is the end. */
class DirFailures {
	logs: LogManager | null = null
	readonly #options: BrokerOptions
	#replicas: ReplicaManager | null = null
	#tell: () => void = () => undefined

	constructor(options: BrokerOptions) {
		this.#options = options
	}

	serve(replicas: ReplicaManager, session: ZkSession, brokerId: number): void {
		this.#replicas = replicas
		this.#tell = () => {
			announce(session, logDirEventZnode.prefix, logDirEventZnode.encode(brokerId)).catch((error: unknown) => {
				this.#options.log.error('the controller was not told of a failed data folder', { reason: errorText(error) })
			})
		}
	}

	failed(path: string, partitions: readonly TopicPartition[]): void {
		this.#replicas?.directoryFailed(partitions)
		const isOver = this.logs?.dirs().every((dir) => !dir.isOnline) === true
		if (isOver) this.#options.onFatal(`no data folder is left: ${path} has failed`)
		else this.#tell()
	}
}

function openLogManager({ runtime, config, log, cleanerPasses }: BrokerOptions, failures: DirFailures): LogManager {
	const settings = { ...logSettings(config), ...(cleanerPasses === undefined ? {} : { cleanerPasses }) }
	return new LogManager(runtime, settings, log, {
		onDirFailed: (path, partitions) => failures.failed(path, partitions),
	})
}

async function decideBrokerId(config: BrokerConfig, session: ZkSession, stored: number | null): Promise<number> {
	const given = config.number('broker.id')
	if (given >= 0) {
		const most = config.number('reserved.broker.max.id')
		if (config.boolean('broker.id.generation.enable') && given > most && given !== stored) {
			throw new ConfigError('broker.id', String(given), `is above reserved.broker.max.id, ${most}`)
		}
		return given
	}
	if (stored !== null) return stored
	if (!config.boolean('broker.id.generation.enable')) throw new ConfigError('broker.id', String(given), 'must be set')
	return await generateBrokerId(session, config.number('reserved.broker.max.id'))
}

/** Binds all listeners; their requests wait until the dispatcher is opened. Returns real ports by listener name. */
async function bind(
	{ runtime, config, log }: BrokerOptions,
	specs: readonly ListenerSpec[],
	dispatcher: Dispatcher,
	budget: MemoryBudget,
	bound: NetListener[],
): Promise<Map<string, number>> {
	const ports = new Map<string, number>()
	for (const { name, host, port } of specs) {
		const listener = new NetListener(runtime, {
			name,
			host: host === '' ? '0.0.0.0' : host,
			port,
			backlog: Math.max(511, config.number('socket.listen.backlog.size')),
			frameBytesMax: config.number('socket.request.max.bytes'),
			idleMs: config.number('connections.max.idle.ms'),
			connectionsMax: config.number('max.connections'),
			connectionsPerAddressMax: config.number('max.connections.per.ip'),
			budget,
			log: log.scoped('net'),
			handler: (socket) => dispatcher.connection(socket, name),
		})
		ports.set(name, await listener.listen())
		bound.push(listener)
	}
	return ports
}

/** This broker as its own controller reaches it. */
function localEndpoint(replicas: ReplicaManager): ControlEndpoint {
	return {
		leaderAndIsr: (request) => replicas.applyLeaderAndIsr(request),
		updateMetadata: async (request) => replicas.applyUpdateMetadata(request),
		stopReplica: (request) => replicas.applyStopReplica(request),
		close: () => undefined,
	}
}

function checkpointForEver({ runtime, config }: BrokerOptions, logs: LogManager, timers: Timer[]): void {
	const every = config.number('replica.high.watermark.checkpoint.interval.ms')
	const again = (): void => {
		timers.length = 0
		timers.push(
			runtime.clock.after(every, () => {
				logs.checkpointHighWatermarks()
				again()
			}),
		)
	}
	again()
}
