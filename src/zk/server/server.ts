/**
 * The embedded ZooKeeper server: one node, ZooKeeper's wire protocol, durable. Wires connections, sessions, processor
 * and storage; owns the handshake and four-letter words. Everything over `Runtime`, so it runs in the simulator too.
 *
 * In a process of its own it is started by `main.ts`; tests and the simulator call {@link startZkServer} directly.
 */

import type { HostClaim, Listener, Runtime, Socket, Timer } from '../../runtime/ports.js'
import { Connection } from './connection.js'
import type { DataTree } from './data-tree.js'
import { answerWord, isAllowedWord, isWord, RESETS, type ServerStatus } from './four-letter.js'
import { Handshake } from './handshake.js'
import { Processor } from './processor.js'
import { type Session, SessionTable } from './sessions.js'
import { Storage } from './storage.js'
import { Sweeper } from './sweeper.js'

export interface ZkServerOptions {
	readonly host: string
	/** 0 takes any free port. */
	readonly port: number
	readonly dataDir: string
	/** Unit of session expiry, in ms. Default 2,000, as ZooKeeper's. */
	readonly tickMs?: number
	/** Default 2 ticks. */
	readonly sessionTimeoutMinMs?: number
	/** Default 20 ticks. */
	readonly sessionTimeoutMaxMs?: number
	/** Largest frame taken from a client. Default 1,048,575 (`jute.maxbuffer`). */
	readonly frameBytesMax?: number
	/** Default 0: no limit. ZooKeeper's own is 60. */
	readonly connectionsPerAddressMax?: number
	/** Served four-letter words; `*` for all. Default ruok, srvr, mntr, stat, conf, isro. */
	readonly words?: readonly string[]
	/** Whether TTL nodes may be made (`zookeeper.extendedTypesEnabled`). Default false, as in Apache. */
	readonly hasTtlNodes?: boolean
	/** How often empty containers and old TTL nodes are looked for, in ms. Default 60,000 (`znode.container.checkIntervalMs`). */
	readonly sweepMs?: number
	/** Answers that wait for the log, above which no further requests are read (`globalOutstandingLimit`). Default 1,000. */
	readonly outstandingMax?: number
	readonly snapshotTransactions?: number
	readonly snapshotBytes?: number
	/** Told once when the disk failed: the server has stopped serving. */
	readonly onFailure?: (error: unknown) => void
}

export interface ZkServer {
	/** `host:port` as a client connects to it. */
	readonly address: string
	readonly host: string
	readonly port: number
	readonly status: ServerStatus
	/** What recovery found: bytes cut from the log's end, transactions replayed. */
	readonly recovered: { readonly zxid: number; readonly transactions: number; readonly cutBytes: number }
	/** Ends connections, writes what waits, closes the files. Sessions live on in the data directory. Idempotent. */
	stop(): Promise<void>
}

const DEFAULT_WORDS = ['ruok', 'srvr', 'mntr', 'stat', 'conf', 'isro']

/** How long a client may take to end its side after we ended ours. */
const LINGER_MS = 1000

const OUTSTANDING_MAX = 1000
const SWEEP_MS = 60_000

/** Another process serves from this data directory. */
export class DataDirInUseError extends Error {
	override readonly name = 'DataDirInUseError'
	constructor(readonly dataDir: string) {
		super(`data directory ${dataDir} is in use by another ZooKeeper`)
	}
}

/** What the server needs of the machine. */
export type ZkServerRuntime = Pick<Runtime, 'clock' | 'random' | 'disk' | 'network' | 'host'>

/**
 * Claims and recovers `dataDir` and serves. Rejects with {@link DataDirInUseError}, `NetworkError`, `DiskError` or
 * `StorageDamage`.
 */
export async function startZkServer(runtime: ZkServerRuntime, options: ZkServerOptions): Promise<ZkServer> {
	runtime.disk.makeDirectoryNow(options.dataDir)
	const claim = await runtime.host.claim(options.dataDir)
	if (claim === null) throw new DataDirInUseError(options.dataDir)
	try {
		const server = new Server(runtime, options, claim)
		await server.listen()
		return server
	} catch (error) {
		await claim.release()
		throw error
	}
}

class Server implements ZkServer {
	readonly recovered: ZkServer['recovered']
	readonly #runtime: ZkServerRuntime
	readonly #claim: HostClaim
	readonly #options: ZkServerOptions
	readonly #tickMs: number
	readonly #outstandingMax: number
	readonly #words: ReadonlySet<string>
	readonly #tree: DataTree
	readonly #sessions: SessionTable
	readonly #storage: Storage
	readonly #processor: Processor
	readonly #handshake: Handshake
	readonly #sweeper: Sweeper
	readonly #connections = new Set<Connection>()
	#dirty: Connection[] = []
	#held: Connection[] = []
	#listener: Listener | null = null
	#stopping: Promise<void> | null = null
	#received = 0
	#sentBefore = 0
	readonly #startedMs: number
	readonly #lingering = new Map<Connection, Timer>()

	constructor(runtime: ZkServerRuntime, options: ZkServerOptions, claim: HostClaim) {
		this.#runtime = runtime
		this.#claim = claim
		this.#options = options
		this.#tickMs = options.tickMs ?? 2000
		this.#outstandingMax = options.outstandingMax ?? OUTSTANDING_MAX
		this.#words = new Set(options.words ?? DEFAULT_WORDS)
		this.#startedMs = runtime.clock.monotonicMs()
		this.#sessions = new SessionTable(runtime.clock, this.#tickMs, (session) => this.#expire(session))
		const { storage, recovered } = Storage.open(
			runtime,
			{
				directory: options.dataDir,
				snapshotTransactions: options.snapshotTransactions ?? 100_000,
				snapshotBytes: options.snapshotBytes ?? 32 << 20,
			},
			{
				onDurable: (zxid) => {
					this.#processor.release(zxid)
					this.#flush()
					this.#letGo()
				},
				onFailure: (error) => this.#fail(error),
				snapshotHead: () => ({
					zxid: this.#processor.zxid,
					lastSessionId: this.#handshake.lastSessionId,
					sessions: [...this.#sessions.values()],
				}),
			},
		)
		this.recovered = { zxid: recovered.zxid, transactions: recovered.transactions, cutBytes: recovered.cutBytes }
		this.#storage = storage
		this.#tree = recovered.tree
		for (const { id, timeoutMs, password } of recovered.sessions.values()) this.#sessions.add(id, timeoutMs, password)
		this.#processor = new Processor(
			runtime.clock,
			recovered.tree,
			this.#sessions,
			storage,
			options.hasTtlNodes ?? false,
		)
		this.#handshake = new Handshake(runtime, this.#processor, this.#sessions, recovered.lastSessionId, {
			minMs: options.sessionTimeoutMinMs ?? this.#tickMs * 2,
			maxMs: options.sessionTimeoutMaxMs ?? this.#tickMs * 20,
		})
		this.#sweeper = new Sweeper(runtime.clock, recovered.tree, this.#processor, options.sweepMs ?? SWEEP_MS, () =>
			this.#settle(),
		)
	}

	async listen(): Promise<void> {
		try {
			const { host, port } = this.#options
			this.#listener = await this.#runtime.network.listen({ host, port }, (socket) => this.#accept(socket))
		} catch (error) {
			await this.#storage.close()
			throw error
		}
		this.#sessions.start()
		this.#sweeper.start()
	}

	get host(): string {
		return this.#listener?.address ?? this.#options.host
	}

	get port(): number {
		return this.#listener?.port ?? this.#options.port
	}

	get address(): string {
		return this.host.includes(':') ? `[${this.host}]:${this.port}` : `${this.host}:${this.port}`
	}

	stop(): Promise<void> {
		this.#stopping ??= this.#stop()
		return this.#stopping
	}

	async #stop(): Promise<void> {
		this.#sessions.stop()
		this.#sweeper.stop()
		const closed = this.#listener?.close()
		await this.#storage.close()
		for (const connection of this.#connections) connection.destroy()
		for (const timer of this.#lingering.values()) timer.cancel()
		await closed
		await this.#claim.release()
	}

	/** No reply may be given any more that the log does not hold: every connection is cut. */
	#fail(error: unknown): void {
		for (const connection of this.#connections) connection.destroy()
		void this.stop()
		this.#options.onFailure?.(error)
	}

	#accept(socket: Socket): void {
		const connection = new Connection(
			socket,
			{
				onWord: (each, word) => this.#onWord(each, word),
				onFrame: (each, frame) => this.#onFrame(each, frame),
				onChunkDone: (each) => {
					this.#settle()
					if (this.#processor.outstanding > this.#outstandingMax) this.#hold(each)
				},
				onDirty: (each) => this.#dirty.push(each),
				event: (each, type, path) => this.#processor.event(each, type, path),
				onFinish: (each) => this.#linger(each),
				onClose: (each) => this.#onClose(each),
			},
			this.#options.frameBytesMax ?? 0xfffff,
		)
		this.#connections.add(connection)
		const limit = this.#options.connectionsPerAddressMax ?? 0
		if (this.#stopping !== null || (limit > 0 && this.#countFrom(connection.address) > limit)) connection.destroy()
	}

	#countFrom(address: string): number {
		let count = 0
		for (const connection of this.#connections) if (connection.address === address) count++
		return count
	}

	#onWord(connection: Connection, word: string): boolean {
		if (!isWord(word)) return false
		if (RESETS.has(word) && isAllowedWord(word, this.#words)) this.#resetCounts(word)
		connection.send(Buffer.from(answerWord(word, this.#words, () => this.status)))
		connection.finish()
		return true
	}

	/** `crst`: the counts of each connection, not the totals; `srst`: the totals and latencies. */
	#resetCounts(word: string): void {
		if (word === 'srst') {
			this.#received = 0
			this.#sentBefore = 0
			for (const { sent } of this.#connections) this.#sentBefore -= sent
			this.#processor.resetLatency()
			return
		}
		for (const each of this.#connections) {
			this.#sentBefore += each.sent
			each.received = 0
			each.sent = 0
		}
	}

	#onFrame(connection: Connection, frame: Buffer): void {
		this.#received++
		const session = connection.session
		if (session === null) {
			if (!this.#handshake.accept(connection, frame)) connection.destroy()
			return
		}
		if (session.isClosing) return
		this.#sessions.touch(session)
		if (!this.#processor.handle(connection, session, frame)) connection.destroy()
	}

	#onClose(connection: Connection): void {
		this.#connections.delete(connection)
		this.#lingering.get(connection)?.cancel()
		this.#lingering.delete(connection)
		this.#sentBefore += connection.sent
		this.#processor.watches.clear(connection)
		this.#handshake.detach(connection)
	}

	#linger(connection: Connection): void {
		const timer = this.#runtime.clock.after(LINGER_MS, () => connection.destroy())
		this.#lingering.set(connection, timer)
	}

	#expire(session: Session): void {
		const peer = this.#handshake.peerOf(session.id)
		this.#processor.closeSession(session, 0)
		if (peer !== undefined) this.#processor.emit(peer, null)
		this.#settle()
	}

	#hold(connection: Connection): void {
		connection.hold()
		this.#held.push(connection)
	}

	#letGo(): void {
		if (this.#held.length === 0 || this.#processor.outstanding > this.#outstandingMax / 2) return
		for (const connection of this.#held.splice(0)) connection.letGo()
	}

	/** After any work: what was appended goes to the log, what may leave is sent. */
	#settle(): void {
		this.#storage.flush()
		this.#flush()
	}

	#flush(): void {
		const dirty = this.#dirty
		if (dirty.length === 0) return
		this.#dirty = []
		for (const connection of dirty) connection.flush()
	}

	get status(): ServerStatus {
		const connections = [...this.#connections]
		const watchesBySession = [...this.#processor.watches.byWatcher()].map(([peer, paths]) => ({
			sessionId: peer.sessionId,
			paths: [...paths],
		}))
		return {
			connections: connections.map((each) => ({
				remote: each.remote,
				received: each.received,
				sent: each.sent,
				sessionId: each.sessionId,
				timeoutMs: each.session?.timeoutMs ?? 0,
			})),
			received: this.#received,
			sent: this.#sentBefore + connections.reduce((sum, each) => sum + each.sent, 0),
			outstanding: this.#processor.outstanding,
			zxid: this.#processor.zxid,
			// Apache counts the root twice.
			nodes: this.#tree.size + 1,
			ephemerals: this.#tree.ephemeralCount,
			dataBytes: this.#tree.approximateBytes,
			sessions: this.#sessions.size,
			watches: this.#processor.watches.counts(),
			uptimeMs: this.#runtime.clock.monotonicMs() - this.#startedMs,
			latency: this.#processor.latency,
			fsyncs: this.#storage.syncs,
			disk: this.#storage.diskBytes,
			config: {
				port: this.port,
				dataDir: this.#options.dataDir,
				tickMs: this.#tickMs,
				connectionsPerAddressMax: this.#options.connectionsPerAddressMax ?? 0,
				sessionTimeoutMinMs: this.#options.sessionTimeoutMinMs ?? this.#tickMs * 2,
				sessionTimeoutMaxMs: this.#options.sessionTimeoutMaxMs ?? this.#tickMs * 20,
			},
			ephemeralsBySession: [...this.#tree.sessionsWithEphemerals()].map(([sessionId, paths]) => ({
				sessionId,
				paths: [...paths],
			})),
			watchesBySession,
		}
	}
}
