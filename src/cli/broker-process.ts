/**
 * A broker as a process of its own: settings from flags and file, the embedded ZooKeeper where none is named, the ready
 * line, signals. Behind `kcli broker start`.
 */

import { closeSync, existsSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Broker, startBroker } from '../engine/broker.js'
import type { BrokerConfig } from '../engine/config.js'
import { assertDirectoryFree } from '../engine/log/dir-lock.js'
import type { Logger } from '../runtime/logger.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import { nodeDriverFactory } from '../zk/node-driver.js'
import type { ZkSession } from '../zk/port.js'
import { openZkSession, type ZkCredentials } from '../zk/session.js'
import { explainStart } from './broker-failure.js'
import { checkedSettings, gatherSettings } from './broker-settings.js'
import { CleanerThreads } from './cleaner-threads.js'
import { EXIT, usageError } from './errors.js'
import { OwnFolder } from './own-folder.js'
import { ZooKeeperKeeper } from './zookeeper-keeper.js'

export interface BrokerFlags {
	readonly id: number | null
	readonly listen: readonly string[]
	readonly advertised: readonly string[]
	readonly dataDirs: readonly string[]
	/** `host:port/chroot`; null starts the embedded one unless the configuration names one. */
	readonly zookeeper: string | null
	readonly zookeeperPort: number
	readonly zookeeperDataDir: string | null
	readonly rack: string | null
	readonly configFile: string | null
	/** `key=value`, in order. */
	readonly settings: readonly string[]
	readonly readyFd: number | null
	readonly json: boolean
	/** Stop when stdin ends: the parent died. */
	readonly isAttached: boolean
	/** Folder to remove after a stop because the parent died. */
	readonly scratch: string | null
}

/**
 * Memory of small requests and answers comes in blocks of this size: at Node's 8 KiB, twenty thousand requests a second make
 * the collector sweep thousands of blocks at a time.
 */
const POOL_BYTES = 65_536
/** A ZooKeeper that has not answered after this time is spoken of. */
const UNANSWERED_MS = 1000

/** Runs a broker until it is told to stop; returns the exit code. Throws {@link CliError} when it cannot start. */
export async function runBroker(flags: BrokerFlags, log: Logger): Promise<number> {
	Buffer.poolSize = POOL_BYTES
	const given = gatherSettings(flags)
	const connect = flags.zookeeper ?? given.get('zookeeper.connect') ?? null
	const config = checkedSettings(flags, given, connect === null, log)
	const stopped = stopSignal(log, flags.isAttached)
	for (const each of config.list('log.dirs')) {
		if (existsSync(each) && !statSync(each).isDirectory()) throw usageError(`${each} is a file, not a data folder`)
	}
	const fatal = fatalEnd(log)
	let embedded: ZooKeeperKeeper | null = null
	let folder: OwnFolder | null = null
	let session: ZkSession | null = null
	let isOrphaned = false
	try {
		if (connect === null) {
			folder = await zooKeeperFolder(flags, config, log)
			const options = { host: '127.0.0.1', port: flags.zookeeperPort, dataDir: folder.path }
			embedded = await ZooKeeperKeeper.start(options, log.scoped('zookeeper'))
		}
		const address = connect ?? (embedded as ZooKeeperKeeper).address
		const runtime = nodeRuntime()
		const openSession = async (
			predecessor: ZkCredentials | null,
			onCredentials: (credentials: ZkCredentials) => void,
		): Promise<ZkSession> => {
			session = await openZkSession(runtime, nodeDriverFactory(runtime), {
				predecessor,
				onCredentials,
				...sessionOptions(config, address, log),
			})
			return session
		}
		const unanswered = setTimeout(() => {
			if (session !== null) return
			log.warn('ZooKeeper does not answer yet, trying on', { zookeeper: address, ...sessionPatience(config) })
		}, UNANSWERED_MS)
		const starting = startBroker({
			runtime,
			openSession,
			config,
			log,
			hostName: hostname(),
			cleanerPasses: new CleanerThreads(),
			onFatal: (reason) => fatal.tell(reason),
		}).finally(() => clearTimeout(unanswered))
		const broker = await Promise.race([starting, stopped])
		if (typeof broker === 'string') {
			await (session as ZkSession | null)?.close()
			return stoppedEarly(starting, broker, log)
		}
		announce(flags, broker, address, embedded !== null)
		const signal = await Promise.race([stopped, fatal.promise])
		isOrphaned = signal === 'orphaned'
		return await stop(broker, config, log, signal)
	} catch (error) {
		await (session as ZkSession | null)?.close()
		throw explainStart(error, flags, connect)
	} finally {
		await embedded?.stop()
		folder?.removeEmpty()
		if (isOrphaned && flags.scratch !== null) rmSync(flags.scratch, { recursive: true, force: true, maxRetries: 5 })
	}
}

/** A stop before the broker serves: nothing was acknowledged, so nothing has to be waited for. */
function stoppedEarly(starting: Promise<Broker>, signal: StopReason, log: Logger): number {
	// The start may fail yet, for want of what is being closed: nobody waits for it any more.
	starting.catch((error: Error) => log.debug('start given up', { reason: error.message }))
	log.info('stopped before it served')
	return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
}

function sessionPatience(config: BrokerConfig): { forMs: number } {
	return { forMs: sessionTimeouts(config).connectTimeoutMs }
}

function sessionTimeouts(config: BrokerConfig): { sessionTimeoutMs: number; connectTimeoutMs: number } {
	const sessionTimeoutMs = config.number('zookeeper.session.timeout.ms')
	return {
		sessionTimeoutMs,
		connectTimeoutMs: Number(config.text('zookeeper.connection.timeout.ms') ?? sessionTimeoutMs),
	}
}

function sessionOptions(config: BrokerConfig, connect: string, log: Logger) {
	return { connect, ...sessionTimeouts(config), logger: log.scoped('zookeeper') }
}

/** Where the embedded ZooKeeper keeps its data: checked, and made where it is not there. */
async function zooKeeperFolder(flags: BrokerFlags, config: BrokerConfig, log: Logger): Promise<OwnFolder> {
	const first = config.list('log.dirs')[0] as string
	const dataDir = resolve(flags.zookeeperDataDir ?? join(dirname(first), 'zookeeper'))
	if (dataDir === first || dataDir.startsWith(`${first}/`)) {
		throw usageError(`--zookeeper-data-dir ${dataDir} lies inside the data folder ${first}`)
	}
	// Whoever has the folder has most likely the ZooKeeper beside it too: the folder is the thing to name.
	const { disk, host } = nodeRuntime()
	for (const each of config.list('log.dirs')) await assertDirectoryFree(disk, host, each)
	const isNew = config.list('log.dirs').every((each) => !existsSync(join(each, 'meta.properties')))
	if (isNew && existsSync(dataDir) && readdirSync(dataDir).some((name) => name.startsWith('log.'))) {
		const advice = 'give another --zookeeper-data-dir for a cluster of its own'
		log.warn('new data folders with a ZooKeeper that was used before: topics it knows are empty here', {
			dataDir,
			advice,
		})
	}
	return OwnFolder.make(dataDir)
}

/** Prints the ready line: stdout, and the file descriptor that was asked for. */
function announce(flags: BrokerFlags, broker: Broker, zookeeper: string, isEmbedded: boolean): void {
	const { id, clusterId, endpoints } = broker.info
	const listeners = endpoints.map(({ listener, host, port }) => `${listener}://${host}:${port}`)
	const line = flags.json
		? JSON.stringify({ id, listeners, zookeeper, cluster: clusterId })
		: `ready id=${id} listeners=${listeners.join(',')} zookeeper=${zookeeper} cluster=${clusterId}`
	process.stdout.write(`${line}\n`)
	if (flags.readyFd !== null) {
		writeSync(flags.readyFd, `${line}\n`)
		closeSync(flags.readyFd)
	}
	if (isEmbedded) {
		process.stderr.write(`embedded ZooKeeper at ${zookeeper}; a second broker joins with: --zookeeper ${zookeeper}\n`)
	}
}

type StopReason = 'SIGINT' | 'SIGTERM' | 'orphaned' | 'fatal'

/** The broker's own wish to end, since it cannot go on. */
function fatalEnd(log: Logger): { promise: Promise<StopReason>; tell: (reason: string) => void } {
	let tell: (reason: string) => void = () => undefined
	const promise = new Promise<StopReason>((settle) => {
		tell = (reason) => {
			log.error('the broker cannot go on', { reason })
			process.stderr.write(`kcli: ${reason}\n`)
			settle('fatal')
		}
	})
	return { promise, tell }
}

/** Settles with the first reason to stop; a second one ends the process at once. */
function stopSignal(log: Logger, isAttached: boolean): Promise<StopReason> {
	return new Promise((settle) => {
		let isStopping = false
		const on = (signal: StopReason): void => {
			if (isStopping) process.exit(signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated)
			isStopping = true
			log.info('stopping', { signal })
			settle(signal)
		}
		process.on('SIGINT', () => on('SIGINT'))
		process.on('SIGTERM', () => on('SIGTERM'))
		if (!isAttached) return
		process.stdin.on('error', () => undefined)
		process.stdin.once('close', () => {
			if (!isStopping) on('orphaned')
		})
		process.stdin.resume()
	})
}

async function stop(broker: Broker, config: BrokerConfig, log: Logger, signal: string): Promise<number> {
	const patience = config.number('kcli.shutdown.timeout.ms')
	const late = new Promise<'late'>((resolve) => {
		setTimeout(() => resolve('late'), patience).unref()
	})
	const outcome = await Promise.race([broker.stop(), late])
	if (outcome === 'late') {
		const names = [...broker.replicas.partitions]
			.filter(({ log: each }) => each.recoveryPoint < each.logEndOffset)
			.map(({ key }) => key)
		process.stderr.write(`kcli: not stopped within ${patience} ms; not flushed: ${names.join(', ') || 'nothing'}\n`)
		return EXIT.failed
	}
	if (outcome.length > 0) {
		process.stderr.write(`kcli: stopped; not flushed: ${outcome.join(', ')}\n`)
		return EXIT.failed
	}
	log.info('stopped')
	if (signal === 'fatal') return EXIT.failed
	return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
}
