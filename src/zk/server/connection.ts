/**
 * One client connection of the server: bytes into frames, frames to the server, replies gathered and sent once a turn.
 * The first frame is a ConnectRequest, or the first four bytes are a four-letter word. A claimed length reserves nothing.
 */

import type { Socket } from '../../runtime/ports.js'
import type { Identity } from './acl.js'
import type { Peer } from './processor.js'
import type { Session } from './sessions.js'

/** Above this many unsent bytes a client's requests are left unread; above the second it is cut off. */
const SLOW_BYTES = 4 << 20
const HOPELESS_BYTES = 64 << 20

export interface ConnectionEvents {
	/** The first four bytes, when they may be a word. True when they were one. */
	onWord(connection: Connection, word: string): boolean
	onFrame(connection: Connection, frame: Buffer): void
	/** All frames of a chunk were told. */
	onChunkDone(connection: Connection): void
	/** Output waits for {@link Connection.flush}. */
	onDirty(connection: Connection): void
	event(connection: Connection, type: number, path: string): void
	/** Our side is ended: a peer that never ends its own is cut off in time. */
	onFinish(connection: Connection): void
	onClose(connection: Connection): void
}

export class Connection implements Peer {
	identities: readonly Identity[]
	session: Session | null = null
	readonly remote: string
	received = 0
	sent = 0
	readonly #socket: Socket
	readonly #events: ConnectionEvents
	readonly #frameBytesMax: number
	/** Chunks of a frame that is not whole yet, their bytes, and the bytes it takes. */
	#parts: Buffer[] = []
	#partBytes = 0
	#needBytes = 0
	#isFirst = true
	#out: Buffer[] = []
	#isDirty = false
	#isFinishing = false
	#isClosed = false
	/** Why reading is paused: its own output is not taken, or the server has too much to do. */
	#isSlow = false
	#isHeld = false

	constructor(socket: Socket, events: ConnectionEvents, frameBytesMax: number) {
		this.#socket = socket
		this.#events = events
		this.#frameBytesMax = frameBytesMax
		this.identities = [{ scheme: 'ip', id: socket.remoteAddress }]
		this.remote = `/${socket.remoteAddress}:${socket.remotePort}`
		socket.onData((chunk) => this.#onData(chunk))
		socket.onDrain(() => this.#onDrain())
		socket.onClose(() => {
			this.#isClosed = true
			events.onClose(this)
		})
	}

	get sessionId(): bigint {
		return this.session?.id ?? 0n
	}

	get isClosed(): boolean {
		return this.#isClosed || this.#isFinishing
	}

	get address(): string {
		return this.#socket.remoteAddress
	}

	send(frame: Buffer): void {
		if (this.#isClosed || this.#isFinishing) return
		this.#out.push(frame)
		this.sent++
		if (this.#isDirty) return
		this.#isDirty = true
		this.#events.onDirty(this)
	}

	event(type: number, path: string): void {
		this.#events.event(this, type, path)
	}

	/** Sends what was queued, in one write. */
	flush(): void {
		this.#isDirty = false
		if (this.#isClosed || this.#out.length === 0) return
		const out = this.#out
		this.#out = []
		const [only] = out
		this.#socket.write(out.length === 1 && only !== undefined ? out : [Buffer.concat(out)])
		const pending = this.#socket.pendingBytes
		if (pending > HOPELESS_BYTES) this.destroy()
		else if (pending > SLOW_BYTES && !this.#isSlow) {
			this.#isSlow = true
			this.#socket.pause()
		}
	}

	/** Leaves further requests unread until {@link letGo}. */
	hold(): void {
		if (this.#isHeld || this.isClosed) return
		this.#isHeld = true
		this.#socket.pause()
	}

	letGo(): void {
		this.#isHeld = false
		if (!this.#isSlow && !this.isClosed) this.#socket.resume()
	}

	finish(): void {
		if (this.isClosed) return
		this.flush()
		this.#isFinishing = true
		this.#socket.end()
		this.#events.onFinish(this)
	}

	destroy(): void {
		this.#isFinishing = true
		this.#out = []
		this.#socket.destroy()
	}

	#onDrain(): void {
		if (!this.#isSlow) return
		this.#isSlow = false
		if (!this.#isHeld) this.#socket.resume()
	}

	#onData(chunk: Buffer): void {
		if (this.isClosed) return
		let bytes = chunk
		if (this.#partBytes > 0) {
			this.#parts.push(chunk)
			this.#partBytes += chunk.length
			if (this.#partBytes < this.#needBytes) return
			bytes = Buffer.concat(this.#parts)
			this.#parts = []
			this.#partBytes = 0
		}
		this.#split(bytes)
		this.#events.onChunkDone(this)
	}

	#split(bytes: Buffer): void {
		let at = 0
		while (bytes.length - at >= 4 && !this.isClosed) {
			if (this.#isFirst && this.#events.onWord(this, bytes.toString('latin1', at, at + 4))) return
			const length = bytes.readInt32BE(at)
			if (length < 0 || length > this.#frameBytesMax) {
				this.destroy()
				return
			}
			if (bytes.length - at < 4 + length) break
			this.#isFirst = false
			this.received++
			this.#events.onFrame(this, bytes.subarray(at + 4, at + 4 + length))
			at += 4 + length
		}
		if (at === bytes.length || this.isClosed) return
		const rest = bytes.subarray(at)
		this.#parts = [rest]
		this.#partBytes = rest.length
		this.#needBytes = rest.length < 4 ? 4 : 4 + rest.readInt32BE(0)
	}
}
