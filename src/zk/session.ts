/**
 * The port (`port.ts`) over a driver: sessions one after the other, lease, retries with ambiguous writes resolved by
 * reading, watches armed for ever. Used by the broker and the operations layer through {@link openZkSession}.
 *
 * States: connecting → connected ⇄ disconnected → expired → connecting …; closed from any.
 */

import type { Logger } from '../runtime/logger.js'
import { errorText, SILENT } from '../runtime/logger.js'
import type { Runtime, Timer } from '../runtime/ports.js'
import {
	type DriverEvents,
	type DriverFactory,
	type DriverOptions,
	parseConnectString,
	type ZkDriver,
} from './driver.js'
import { ensurePaths } from './ensure-paths.js'
import type { ZkState, ZkSubscription, ZkWatch } from './port.js'
import { type ZkChildren, type ZkData, ZkError, type ZkSession, type ZkSessionEvent, type ZkStat } from './port.js'
import { CallLine } from './session-calls.js'
import { type SessionFacts, SessionOps } from './session-ops.js'
import { WatchHub } from './session-watches.js'

export interface ZkCredentials {
	readonly sessionId: bigint
	readonly password: Buffer
}

export interface ZkSessionOptions {
	/** `host:port,host:port/chroot`. */
	readonly connect: string
	/** Asked of the server, which may bound it. Default 18,000. */
	readonly sessionTimeoutMs?: number
	/** For the first connection. Default 18,000. */
	readonly connectTimeoutMs?: number
	/** Makes the chroot when it is missing. Default true. */
	readonly createChroot?: boolean
	readonly inFlightMax?: number
	readonly auth?: DriverOptions['auth']
	/**
	 * Session of a predecessor that is known to be dead (a killed broker with our data folder): it is ended first, so
	 * that its ephemeral nodes go at once and not only with its timeout.
	 */
	readonly predecessor?: ZkCredentials | null
	/** Told the credentials of each new session, to be the predecessor of a later process. */
	readonly onCredentials?: (credentials: ZkCredentials) => void
	readonly logger?: Logger
}

const DEFAULT_TIMEOUT_MS = 18_000

/** Opens a session and resolves when it is first connected. Rejects with {@link ZkError} TIMEOUT or AUTH_FAILED. */
export async function openZkSession(
	runtime: Runtime,
	makeDriver: DriverFactory,
	options: ZkSessionOptions,
): Promise<ZkSession> {
	const target = parseConnectString(options.connect)
	const connectTimeoutMs = options.connectTimeoutMs ?? DEFAULT_TIMEOUT_MS
	const base: DriverOptions = {
		...target,
		sessionTimeoutMs: options.sessionTimeoutMs ?? DEFAULT_TIMEOUT_MS,
		auth: options.auth ?? [],
		resume: null,
	}
	const predecessor = options.predecessor ?? null
	if (predecessor !== null) await endSession(runtime, makeDriver, { ...base, resume: predecessor }, connectTimeoutMs)
	if (target.chroot !== '' && options.createChroot !== false) {
		const root = new DriverSession(runtime, makeDriver, { ...base, chroot: '' }, options)
		try {
			await root.open(connectTimeoutMs)
			await ensurePaths(root, [target.chroot])
		} finally {
			await root.close()
		}
	}
	const session = new DriverSession(runtime, makeDriver, base, options)
	await session.open(connectTimeoutMs)
	return session
}

/** Takes up a session and ends it. Settles when it is gone, was gone already, or cannot be reached within the time. */
function endSession(
	runtime: Runtime,
	makeDriver: DriverFactory,
	options: DriverOptions,
	timeoutMs: number,
): Promise<void> {
	return new Promise<void>((resolve) => {
		const end = (): void => {
			timer.cancel()
			void driver.close(timeoutMs).then(resolve)
		}
		const timer = runtime.clock.after(timeoutMs, end)
		const driver = makeDriver(options, {
			onConnected: end,
			onDisconnected: () => undefined,
			onExpired: end,
			onAuthFailed: end,
			onAnswer: () => undefined,
			onWatch: () => undefined,
		})
		driver.start()
	})
}

class DriverSession extends SessionOps implements ZkSession {
	readonly #runtime: Runtime
	readonly #makeDriver: DriverFactory
	readonly #driverOptions: DriverOptions
	readonly #onCredentials: (credentials: ZkCredentials) => void
	readonly #logger: Logger
	readonly #line: CallLine
	readonly #watches: WatchHub
	readonly #listeners = new Set<(event: ZkSessionEvent) => void | Promise<void>>()
	readonly #ownIds = new Set<bigint>()
	#driver: ZkDriver | null = null
	#state: ZkState = 'connecting'
	#generation = 0
	#sessionId = 0n
	#timeoutMs: number
	#leaseDeadlineMs = 0
	#isLeaseTold = false
	#leaseTimer: Timer | null = null
	#patience: Timer | null = null
	#opened: { resolve: () => void; reject: (error: ZkError) => void } | null = null

	constructor(runtime: Runtime, makeDriver: DriverFactory, driverOptions: DriverOptions, options: ZkSessionOptions) {
		const line = new CallLine(runtime.clock, options.inFlightMax ?? 256)
		const facts: SessionFacts = {
			generation: () => this.#generation,
			sessionId: () => this.#sessionId,
			wasOurs: (id) => this.wasOurs(id),
			defaultTimeoutMs: () => this.#timeoutMs + (options.connectTimeoutMs ?? DEFAULT_TIMEOUT_MS),
		}
		super(line, facts)
		this.#runtime = runtime
		this.#makeDriver = makeDriver
		this.#driverOptions = driverOptions
		this.#onCredentials = options.onCredentials ?? (() => undefined)
		this.#logger = options.logger ?? SILENT
		this.#timeoutMs = driverOptions.sessionTimeoutMs
		this.#line = line
		this.#watches = new WatchHub(runtime.clock, (request) =>
			line.submit(request, { timeoutMs: facts.defaultTimeoutMs(), generation: null, retryLost: true }),
		)
	}

	/** Settles with the first connection. */
	async open(timeoutMs: number): Promise<void> {
		const opened = new Promise<void>((resolve, reject) => {
			this.#opened = { resolve, reject }
		})
		const servers = this.#driverOptions.servers.map(({ host, port }) => `${host}:${port}`).join(',')
		const timer = this.#runtime.clock.after(timeoutMs, () => {
			this.#opened?.reject(new ZkError('TIMEOUT', 'connect', servers))
		})
		this.#begin()
		try {
			await opened
		} catch (error) {
			await this.close(0)
			throw error
		} finally {
			timer.cancel()
			this.#opened = null
		}
	}

	get state(): ZkState {
		return this.#state
	}

	get generation(): number {
		return this.#generation
	}

	get sessionId(): bigint {
		return this.#sessionId
	}

	get timeoutMs(): number {
		return this.#timeoutMs
	}

	get leaseDeadlineMs(): number {
		return this.#leaseDeadlineMs
	}

	hasLease(): boolean {
		return this.#runtime.clock.monotonicMs() < this.#leaseDeadlineMs
	}

	wasOurs(sessionId: bigint): boolean {
		return sessionId !== this.#sessionId && this.#ownIds.has(sessionId)
	}

	watchData(path: string, callback: (value: ZkData | null) => void): ZkWatch {
		return this.#watches.add('get', path, callback)
	}

	watchExists(path: string, callback: (value: ZkStat | null) => void): ZkWatch {
		return this.#watches.add('exists', path, callback)
	}

	watchChildren(path: string, callback: (value: ZkChildren | null) => void): ZkWatch {
		return this.#watches.add('children', path, callback)
	}

	onEvent(listener: (event: ZkSessionEvent) => void | Promise<void>): ZkSubscription {
		// A wrapper, so that the same function may listen twice.
		const own = (event: ZkSessionEvent): void | Promise<void> => listener(event)
		this.#listeners.add(own)
		return { close: () => void this.#listeners.delete(own) }
	}

	async close(timeoutMs = 2000): Promise<void> {
		await this.#close('requested', timeoutMs)
	}

	async #close(reason: 'requested' | 'authFailed', timeoutMs: number): Promise<void> {
		if (this.#state === 'closed') return
		this.#state = 'closed'
		this.#leaseDeadlineMs = 0
		this.#leaseTimer?.cancel()
		this.#patience?.cancel()
		const driver = this.#driver
		this.#driver = null
		this.#watches.close()
		this.#line.close()
		await driver?.close(timeoutMs)
		void this.#emit({ type: 'closed', reason })
		this.#opened?.reject(new ZkError(reason === 'authFailed' ? 'AUTH_FAILED' : 'CLOSED', 'connect', ''))
	}

	/** A new driver, hence a new session. */
	#begin(): void {
		this.#state = 'connecting'
		let isNew = true
		const own = (act: () => void) => (): void => {
			if (driver === this.#driver) act()
		}
		const events: DriverEvents = {
			onConnected: (session) => {
				if (driver !== this.#driver) return
				this.#onConnected(driver, session, isNew)
				isNew = false
			},
			onDisconnected: own(() => this.#onDisconnected()),
			onExpired: own(() => void this.#expire('told by the server')),
			onAuthFailed: own(() => void this.#close('authFailed', 0)),
			onAnswer: (sentMs) => {
				if (driver === this.#driver) this.#extendLease(sentMs)
			},
			onWatch: (type, path) => {
				if (driver === this.#driver) this.#watches.onWatch(type, path)
			},
		}
		const driver = this.#makeDriver(this.#driverOptions, events)
		this.#driver = driver
		driver.start()
	}

	#onConnected(
		driver: ZkDriver,
		session: { sessionId: bigint; password: Buffer; timeoutMs: number },
		isNew: boolean,
	): void {
		this.#patience?.cancel()
		this.#timeoutMs = session.timeoutMs
		if (isNew) {
			this.#generation++
			this.#sessionId = session.sessionId
			this.#ownIds.add(session.sessionId)
			this.#onCredentials({ sessionId: session.sessionId, password: session.password })
		}
		this.#state = 'connected'
		this.#isLeaseTold = false
		this.#logger.info(isNew ? 'session established' : 'session taken up again', {
			session: `0x${session.sessionId.toString(16)}`,
			timeoutMs: session.timeoutMs,
			generation: this.#generation,
		})
		this.#armLease()
		void this.#emit({ type: 'connected', generation: this.#generation, sessionId: this.#sessionId, isNew })
		this.#line.connected(driver, this.#generation)
		if (isNew && this.#generation > 1) {
			// First up to date, so that no subscriber sees an older state than before.
			void this.sync().catch(() => undefined)
			this.#watches.rearm()
		}
		this.#opened?.resolve()
	}

	#onDisconnected(): void {
		this.#line.disconnected()
		this.#state = 'disconnected'
		this.#logger.warn('connection to ZooKeeper lost', { generation: this.#generation })
		// A session that could not be taken up for so long is over, whatever the server thinks of it.
		this.#patience?.cancel()
		this.#patience = this.#runtime.clock.after((this.#timeoutMs * 4) / 3, () => void this.#expire('not reconnected'))
		void this.#emit({ type: 'disconnected', generation: this.#generation })
	}

	async #expire(reason: string): Promise<void> {
		const driver = this.#driver
		this.#driver = null
		this.#patience?.cancel()
		this.#leaseTimer?.cancel()
		this.#leaseDeadlineMs = 0
		this.#logger.warn('session expired', { reason, generation: this.#generation })
		this.#tellLeaseLost()
		this.#state = 'expired'
		void driver?.close(0)
		this.#line.expired()
		await this.#emit({ type: 'expired', generation: this.#generation })
		if (this.#state === 'expired') this.#begin()
	}

	/**
	 * The server cannot have given up the session before `sentMs` and the timeout. The margin is for ensembles, whose
	 * members report touched sessions to the leader only now and then.
	 */
	#extendLease(sentMs: number): void {
		const timeoutMs = this.#timeoutMs
		const marginMs = Math.max(timeoutMs * 0.1, Math.min(2000, timeoutMs / 4))
		this.#leaseDeadlineMs = Math.max(this.#leaseDeadlineMs, sentMs + timeoutMs - marginMs)
	}

	#armLease(): void {
		this.#leaseTimer?.cancel()
		const leftMs = this.#leaseDeadlineMs - this.#runtime.clock.monotonicMs()
		this.#leaseTimer = this.#runtime.clock.after(Math.max(0, leftMs), () => {
			if (this.hasLease()) {
				this.#armLease()
				return
			}
			this.#tellLeaseLost()
			// Still connected, yet no answer for so long: only a new connection can tell.
			if (this.#state === 'connected') this.#driver?.reconnect()
		})
	}

	#tellLeaseLost(): void {
		if (this.#isLeaseTold || this.#generation === 0) return
		this.#isLeaseTold = true
		void this.#emit({ type: 'leaseLost', generation: this.#generation })
	}

	/** Tells all listeners; settles when the promises they returned have. */
	async #emit(event: ZkSessionEvent): Promise<void> {
		const pending: Promise<void>[] = []
		const told = (error: unknown): void =>
			this.#logger.error('session listener failed', { event: event.type, error: errorText(error) })
		for (const listener of [...this.#listeners]) {
			try {
				const result = listener(event)
				if (result !== undefined) pending.push(result.catch(told))
			} catch (error) {
				told(error)
			}
		}
		await Promise.all(pending)
	}
}
