/**
 * The driver over the npm package `node-zookeeper-client` 1.1.3: the only file that names it. The package encodes and
 * decodes, keeps watches and counts xids; its failure paths are replaced, on the instance, by those below. Numbers
 * (N1 …) are the package's defects as listed in `docs/zookeeper.md`, each with a test.
 *
 * Sockets, timers and randomness come from `Runtime`, so this very driver runs on simulated ones too.
 */

import PackagedManager from 'node-zookeeper-client/lib/ConnectionManager.js'
import packagedJute from 'node-zookeeper-client/lib/jute/index.js'
import { readInt64 } from '../base/bytes.js'
import type { Runtime, Socket, Timer } from '../runtime/ports.js'
import type { DriverEvents, DriverFactory, DriverOptions, DriverOutcome, DriverRequest, ZkDriver } from './driver.js'
import { FrameSplitter } from './frame-splitter.js'
import { ERR, OP, XID } from './messages.js'
import {
	decodeReply,
	encodeRequest,
	failure,
	opCodeOf,
	type PackageJute,
	type PackageManager,
	type PackageManagerClass,
	type PackageRecord,
	type Packet,
	packageRecord,
	setWatchesRecords,
	type WatchEvent,
	wireFailure,
} from './node-package.js'
import type { ZkErrorCode } from './port.js'
import { Watchdog } from './watchdog.js'

const jute = packagedJute as PackageJute
const Manager = PackagedManager as PackageManagerClass
const { CONNECTING, CONNECTED, DISCONNECTED, SESSION_EXPIRED, AUTHENTICATION_FAILED } = Manager.STATES

/** Below the server's limit of 1,048,575, so that no request ends the connection for all others (N25). */
const FRAME_BYTES_MAX = 1_000_000
/** SetWatches goes in pieces of about this many bytes of paths (N12). */
const SET_WATCHES_BYTES = 128 * 1024
const XID_MAX = 0x7ff0_0000 // Above this xids begin anew (N19).
const BACKOFF_FIRST_MS = 20
const BACKOFF_MAX_MS = 1000

export class NodeZkDriver implements ZkDriver {
	readonly #runtime: Runtime
	readonly #options: DriverOptions
	readonly #events: DriverEvents
	readonly #manager: PackageManager
	#socket: Socket | null = null
	#frames: FrameSplitter
	#outgoing: Buffer[] = []
	#isFull = false
	#next: number
	#attempts = 0
	#isEnded = false
	#connectTimer: Timer | null = null
	#retryTimer: Timer | null = null
	#watchdog: Watchdog | null = null
	#lastSentMs = 0
	#lastReceivedMs = 0
	#connectSentMs = 0
	#pingsSentMs: number[] = []

	constructor(runtime: Runtime, options: DriverOptions, events: DriverEvents, firstXid: number) {
		this.#runtime = runtime
		this.#options = options
		this.#events = events
		this.#next = Math.floor(runtime.random.next() * options.servers.length)
		this.#frames = new FrameSplitter(() => undefined)
		const settings = { sessionTimeout: options.sessionTimeoutMs, spinDelay: 0, retries: 0 }
		const manager = new Manager('placeholder:1', settings, () => undefined)
		manager.chrootPath = options.chroot === '' ? undefined : options.chroot
		// xid 0 is miscounted by old servers (N19).
		manager.xid = firstXid
		if (options.resume !== null) {
			manager.sessionId.writeBigInt64BE(options.resume.sessionId)
			options.resume.password.copy(manager.sessionPassword)
		}
		manager.packetQueue.removeAllListeners('readable')
		manager.packetQueue.on('readable', () => this.#pump())
		manager.onPacketQueueReadable = () => this.#pump()
		this.#manager = manager
	}

	start(): void {
		this.#connect()
	}

	request(request: DriverRequest, done: (outcome: DriverOutcome) => void): void {
		const isConnected = !this.#isEnded && this.#manager.state === CONNECTED
		const payload = encodeRequest(jute, request)
		if (this.#manager.chrootPath !== undefined) payload.setChrootPath(this.#manager.chrootPath)
		if (!isConnected || payload.byteLength() > FRAME_BYTES_MAX) {
			const code = isConnected ? 'TOO_LARGE' : 'CONNECTION_LOSS'
			this.#runtime.clock.soon(() => done(failure(code, false)))
			return
		}
		let isDone = false
		this.#manager.packetQueue.push(
			this.#packet(opCodeOf(request), payload, (error, response) => {
				if (isDone) return
				isDone = true
				const outcome =
					error === null ? decodeReply(request, response?.payload ?? null) : (error as ReturnType<typeof failure>)
				// Noted before the next frame is looked at: that may be the watch's event.
				this.#noteWatch(request, outcome)
				done(outcome)
			}),
		)
	}

	reconnect(): void {
		this.#socket?.destroy()
	}

	close(timeoutMs: number): Promise<void> {
		if (this.#isEnded || this.#manager.state !== CONNECTED) {
			this.#end('CLOSED')
			return Promise.resolve()
		}
		return new Promise<void>((resolve) => {
			const end = (): void => {
				timer.cancel()
				this.#end('CLOSED')
				resolve()
			}
			// Answered, cut off or late: in each case the driver lets go (N14).
			const timer = this.#runtime.clock.after(timeoutMs, end)
			this.#manager.packetQueue.push(this.#packet(OP.closeSession, null, end))
		})
	}

	#packet(type: number, payload: PackageRecord | null, callback: Packet['callback'], xid = 0): Packet {
		return { request: new jute.Request(packageRecord(jute, 'RequestHeader', xid, type), payload), callback }
	}

	/** One attempt at a time, at the next server; a pause after each round (N13, N15). */
	#connect(): void {
		if (this.#isEnded) return
		const { servers, sessionTimeoutMs } = this.#options
		const server = servers[this.#next % servers.length] as { host: string; port: number }
		this.#next++
		this.#attempts++
		this.#manager.setState(CONNECTING)
		// Room to try every server within half the session (N3).
		const timeoutMs = Math.max(100, Math.floor(sessionTimeoutMs / servers.length / 2))
		this.#runtime.network.connect({ ...server, timeoutMs }).then(
			(socket) => {
				if (this.#isEnded) socket.destroy()
				else this.#attach(socket, timeoutMs)
			},
			() => this.#retry(),
		)
	}

	#retry(): void {
		if (this.#isEnded) return
		const round = Math.max(0, Math.ceil(this.#attempts / this.#options.servers.length) - 1)
		const pause = this.#attempts === 0 ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(round, 10))
		const waitMs = pause * (0.5 + this.#runtime.random.next() / 2)
		this.#retryTimer = this.#runtime.clock.after(waitMs, () => this.#connect())
	}

	#attach(socket: Socket, timeoutMs: number): void {
		const manager = this.#manager
		this.#socket = socket
		// Nothing of an earlier connection may be glued to this one's bytes (N4).
		manager.pendingBuffer = null
		this.#frames = new FrameSplitter((frame) => this.#onFrame(socket, frame))
		this.#outgoing = []
		this.#isFull = false
		this.#pingsSentMs = []
		manager.socket = {
			write: (bytes) => {
				this.#write(socket, bytes)
				return !this.#isFull
			},
			destroy: () => socket.destroy(),
			setTimeout: () => undefined, // The package's own ping timer looks at idleness alone (N5).
		}
		socket.onData((chunk) => {
			if (socket !== this.#socket) return
			this.#lastReceivedMs = this.#runtime.clock.monotonicMs()
			if (!this.#frames.push(chunk)) socket.destroy()
		})
		socket.onDrain(() => this.#onDrain())
		socket.onClose(() => this.#onSocketClosed(socket))
		// Until the session is confirmed, not only until TCP is (N3).
		this.#connectTimer = this.#runtime.clock.after(timeoutMs, () => socket.destroy())
		this.#greet(socket)
	}

	/** ConnectRequest, then what must stand in front of every waiting request (N10, N11, N34). */
	#greet(socket: Socket): void {
		const manager = this.#manager
		const { sessionTimeoutMs } = this.#options
		this.#connectSentMs = this.#runtime.clock.monotonicMs()
		const { zxid, sessionId, sessionPassword } = manager
		const greeting = packageRecord(jute, 'ConnectRequest', 0, zxid, sessionTimeoutMs, sessionId, sessionPassword)
		this.#write(socket, new jute.Request(null, greeting).toBuffer())
		manager.packetQueue.queue = [...this.#authPackets(), ...this.#setWatchesPackets()]
	}

	#authPackets(): Packet[] {
		return this.#options.auth.map(({ scheme, credentials }) =>
			this.#packet(OP.auth, packageRecord(jute, 'AuthPacket', 0, scheme, credentials), () => undefined, XID.auth),
		)
	}

	#setWatchesPackets(): Packet[] {
		return setWatchesRecords(jute, this.#manager, SET_WATCHES_BYTES).map((payload) =>
			this.#packet(OP.setWatches, payload, () => undefined),
		)
	}

	#write(socket: Socket, bytes: Buffer): void {
		this.#lastSentMs = this.#runtime.clock.monotonicMs()
		this.#outgoing.push(bytes)
		if (this.#outgoing.length > 1) return
		// All requests of one turn leave in one write.
		void Promise.resolve().then(() => {
			const chunks = this.#outgoing
			this.#outgoing = []
			if (socket === this.#socket && !socket.write([Buffer.concat(chunks)])) this.#isFull = true
		})
	}

	/** Hands waiting packets to the socket, in place of the package's own loop (N14, N19). */
	#pump(): void {
		const manager = this.#manager
		const socket = this.#socket
		while (socket !== null && !this.#isFull && manager.state === CONNECTED) {
			const packet = manager.packetQueue.shift()
			if (packet === undefined) return
			if (packet.request.header.type !== OP.auth) {
				if (manager.xid > XID_MAX) manager.xid = 1
				packet.request.header.xid = manager.xid++
				manager.pendingQueue.push(packet)
			}
			packet.sentMs = this.#runtime.clock.monotonicMs()
			this.#write(socket, packet.request.toBuffer())
		}
	}

	#onDrain(): void {
		this.#isFull = false
		this.#pump()
	}

	#onFrame(socket: Socket, frame: Buffer): void {
		if (socket !== this.#socket || this.#isEnded) return
		try {
			if (this.#manager.state === CONNECTING) this.#onGreeted(socket, frame)
			else this.#onReply(socket, frame)
		} catch {
			// The package throws at what it does not know (N8): this connection cannot be trusted any more.
			socket.destroy()
		}
	}

	#onGreeted(socket: Socket, frame: Buffer): void {
		const manager = this.#manager
		this.#connectTimer?.cancel()
		Manager.prototype.onSocketData.call(manager, frame)
		if (manager.state === SESSION_EXPIRED) {
			this.#end('SESSION_EXPIRED')
			this.#events.onExpired()
			return
		}
		this.#attempts = 0
		this.#watch(socket)
		this.#events.onAnswer(this.#connectSentMs)
		this.#events.onConnected({
			sessionId: manager.sessionId.readBigInt64BE(),
			password: Buffer.from(manager.sessionPassword),
			timeoutMs: manager.sessionTimeout,
		})
		this.#pump()
	}

	#onReply(socket: Socket, frame: Buffer): void {
		const manager = this.#manager
		if (frame.length < 20) {
			socket.destroy()
			return
		}
		const xid = frame.readInt32BE(4)
		const err = frame.readInt32BE(16)
		if (xid === XID.notification) {
			const type = frame.readInt32BE(20)
			if (type >= 1 && type <= 4) Manager.prototype.onSocketData.call(manager, frame)
		} else if (xid === XID.ping) {
			const sentMs = this.#pingsSentMs.shift()
			if (sentMs !== undefined) this.#events.onAnswer(sentMs)
		} else if (xid === XID.auth) {
			if (err === ERR.ok) return
			manager.setState(AUTHENTICATION_FAILED)
			this.#end('AUTH_FAILED')
			this.#events.onAuthFailed()
		} else this.#onAnswer(socket, frame, xid, err)
	}

	#onAnswer(socket: Socket, frame: Buffer, xid: number, err: number): void {
		const manager = this.#manager
		const packet = manager.pendingQueue[0]
		if (packet === undefined || packet.request.header.xid !== xid) {
			socket.destroy()
			return
		}
		if (packet.sentMs !== undefined) this.#events.onAnswer(packet.sentMs)
		// Errors, and kinds of reply that the package does not know, are taken here (N8, N20).
		if (err === ERR.ok && packet.request.header.type !== OP.sync) {
			try {
				Manager.prototype.onSocketData.call(manager, frame)
			} finally {
				// No effect once it was called; a reply that cannot be decoded must not leave its request open.
				if (manager.pendingQueue[0] !== packet) packet.callback(failure('CONNECTION_LOSS', true))
			}
			return
		}
		manager.pendingQueue.shift()
		if (readInt64(frame, 8) > 0) manager.zxid = Buffer.from(frame.subarray(8, 16))
		if (err === ERR.ok) packet.callback(null, { payload: null })
		else packet.callback(wireFailure(err))
	}

	#noteWatch(request: DriverRequest, outcome: DriverOutcome): void {
		if (!('watch' in request) || !request.watch) return
		const manager = this.#manager
		if (request.op === 'children') {
			if (outcome.ok) manager.registerChildWatcher(request.path, this.#onWatch)
		} else if (outcome.ok) manager.registerDataWatcher(request.path, this.#onWatch)
		else if (request.op === 'exists' && outcome.failure.code === 'NO_NODE') {
			manager.registerExistenceWatcher(request.path, this.#onWatch)
		}
	}

	/** One function for all paths: the package keeps it once a path (N27). */
	readonly #onWatch = (event: WatchEvent): void => {
		if (!this.#isEnded) this.#events.onWatch(event.type, event.path)
	}

	#onSocketClosed(socket: Socket): void {
		if (socket !== this.#socket || this.#isEnded) return
		this.#socket = null
		this.#connectTimer?.cancel()
		this.#watchdog?.stop()
		const wasConnected = this.#manager.state === CONNECTED
		this.#manager.setState(DISCONNECTED)
		// Told first, so that no request that is now settled is made again on this connection.
		if (wasConnected) this.#events.onDisconnected()
		this.#failAll('CONNECTION_LOSS')
		this.#retry()
	}

	/** Settles every request: those that were written may have been done, those that wait were not (N6). */
	#failAll(code: ZkErrorCode): void {
		const sent = this.#manager.pendingQueue
		const waiting = this.#manager.packetQueue.queue
		this.#manager.pendingQueue = []
		this.#manager.packetQueue.queue = []
		for (const packet of sent) packet.callback(failure(code, true))
		for (const packet of waiting) packet.callback(failure(code, false))
	}

	/** Final (N17, N18). */
	#end(code: ZkErrorCode): void {
		if (this.#isEnded) return
		this.#isEnded = true
		this.#retryTimer?.cancel()
		this.#connectTimer?.cancel()
		this.#watchdog?.stop()
		this.#socket?.destroy()
		this.#socket = null
		this.#failAll(code)
	}

	#watch(socket: Socket): void {
		this.#watchdog = new Watchdog(this.#runtime.clock, this.#manager.sessionTimeout, {
			lastSentMs: () => this.#lastSentMs,
			lastReceivedMs: () => this.#lastReceivedMs,
			ping: () => this.#ping(),
			cut: () => socket.destroy(),
		})
	}

	#ping(): void {
		if (this.#socket === null) return
		this.#pingsSentMs.push(this.#runtime.clock.monotonicMs())
		this.#write(this.#socket, this.#packet(OP.ping, null, () => undefined, XID.ping).request.toBuffer())
	}
}

/** Makes drivers over the package, for `openZkSession`. Tests begin at other xids. */
export function nodeDriverFactory(runtime: Runtime, firstXid = 1): DriverFactory {
	return (options, events) => new NodeZkDriver(runtime, options, events, firstXid)
}
