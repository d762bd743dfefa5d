/**
 * One client connection: frames in, replies out, in order. It knows frames and a handler function, nothing of Kafka.
 *
 * - A request that `overlaps` may start while earlier overlapping ones are unanswered (Produce waiting for the ISR); any
 *   other starts when all before it are answered. Replies leave in the order of the requests.
 * - At most {@link REQUESTS_MAX} requests or {@link BYTES_MAX} bytes are in flight; beyond that, and while the broker's
 *   memory budget is used up, the socket is paused.
 * - Replies are lists of buffers and file slices. A slice is read, at most 1 MiB at a time, only when the socket has
 *   drained, so that a peer that never reads costs nothing.
 */

import { Deque } from '../../base/queues.js'
import { FrameError, Framer } from '../../protocol/framer.js'
import { errorText, type Logger } from '../../runtime/logger.js'
import type { Clock, Socket, Timer } from '../../runtime/ports.js'
import type { MemoryBudget } from './budget.js'
import { giveFrame, takeFrame } from './frame-buffers.js'
import { givePiece, PIECE_BYTES, takePiece } from './slice-buffers.js'

/** A part of a reply that lies in a file; released once when sent or dropped. */
export interface ReplySlice {
	readonly length: number
	/** Reads into `into` from `offset` bytes into the slice; all of it. Throws or rejects when it cannot. */
	read(into: Buffer, offset: number): void | Promise<void>
	release(): void
}

export type ReplyPart = Buffer | ReplySlice

/** What a request leads to: a reply, nothing (acks=0), or the end of the connection. */
export type Reply = readonly ReplyPart[] | null | typeof CLOSE

export const CLOSE = Symbol('close the connection')

export interface FrameHandler {
	/** True when the request may start while earlier overlapping ones are unanswered. */
	overlaps(frame: Buffer): boolean
	/** True when nothing of the frame is looked at once its reply is there: its memory is used again. */
	isFreeAfterReply(frame: Buffer): boolean
	/** Starts a request. Never throws and never rejects. */
	handle(frame: Buffer): Reply | Promise<Reply>
}

export interface ConnectionOptions {
	readonly frameBytesMax: number
	readonly idleMs: number
	readonly budget: MemoryBudget
	readonly clock: Clock
	readonly log: Logger
	readonly onClosed: (connection: Connection) => void
}

const REQUESTS_MAX = 16
const BYTES_MAX = 32 * 1024 * 1024
/** Longest turn of one connection while the budget is used up by frames that are not whole. */
const TURN_MS = 5000
/** Bytes of file slices that are read ahead of what the socket has taken. */
const AHEAD_BYTES = PIECE_BYTES

interface Slot {
	/** Null when the request has its reply. */
	frame: Buffer | null
	reply: Reply | undefined
}

export class Connection {
	readonly socket: Socket
	readonly #handler: FrameHandler
	readonly #options: ConnectionOptions
	readonly #framer: Framer
	/** Frames read, not started. */
	readonly #waiting = new Deque<Buffer>()
	/** Requests started, replies not sent. */
	readonly #slots = new Deque<Slot>()
	#bytesInFlight = 0
	/** Bytes of replies that the socket has not taken yet. */
	#unsent = 0
	#unfinished = 0
	#lastOverlaps = true
	#charged = 0
	#paused = false
	#sending = false
	#blocked = false
	#closed = false
	#ending = false
	#drainWaiters: (() => void)[] = []
	#turnTimer: Timer | null = null
	#lastActiveMs: number
	#idleTimer: Timer
	readonly #wake = (): void => this.#resumeIfRoom()

	constructor(socket: Socket, handler: FrameHandler, options: ConnectionOptions) {
		this.socket = socket
		this.#handler = handler
		this.#options = options
		this.#framer = new Framer(options.frameBytesMax, takeFrame)
		this.#lastActiveMs = options.clock.monotonicMs()
		this.#idleTimer = this.#armIdle(options.idleMs)
		socket.readInto({ space: () => this.#framer.space(), received: (count) => this.#onBytes(count) })
		socket.onDrain(() => {
			this.#blocked = false
			this.#charge(-this.#unsent)
			this.#unsent = 0
			this.#wakeDrainWaiters()
			this.#send()
		})
		socket.onClose(() => this.#onClose())
	}

	get isClosed(): boolean {
		return this.#closed
	}

	/** Bytes received of a frame that is not whole. */
	get heldBytes(): number {
		return this.#framer.heldBytes
	}

	/** Closes at once; replies that wait are dropped. */
	destroy(): void {
		this.socket.destroy()
	}

	#onBytes(count: number): void {
		if (this.#closed || this.#ending) return
		this.#lastActiveMs = this.#options.clock.monotonicMs()
		const held = this.#framer.heldBytes
		try {
			this.#framer.received(count, (frame) => {
				this.#waiting.push(frame)
				this.#bytesInFlight += frame.length
				this.#charge(frame.length)
			})
		} catch (error) {
			if (!(error instanceof FrameError)) throw error
			this.#options.log.info('connection closed: not a Kafka frame', {
				peer: `${this.socket.remoteAddress}:${this.socket.remotePort}`,
				reason: errorText(error),
			})
			this.destroy()
			return
		}
		this.#charge(this.#framer.heldBytes - held)
		if (this.#turnTimer !== null && this.#framer.heldBytes === 0) this.#endTurn()
		this.#start()
		this.#pauseIfFull()
	}

	/** Starts what may start now. */
	#start(): void {
		while (!this.#closed && !this.#ending) {
			const frame = this.#waiting.peek()
			if (frame === undefined) return
			const overlaps = this.#handler.overlaps(frame)
			if (this.#unfinished > 0 && !(overlaps && this.#lastOverlaps)) return
			if (this.#slots.length >= REQUESTS_MAX) return
			this.#waiting.shift()
			this.#lastOverlaps = overlaps
			this.#startOne(frame)
		}
	}

	#startOne(frame: Buffer): void {
		const slot: Slot = { frame, reply: undefined }
		this.#slots.push(slot)
		this.#unfinished++
		const reply = this.#handler.handle(frame)
		if (reply instanceof Promise) {
			void reply.then((settled) => {
				this.#finish(slot, settled)
				this.#start()
			})
		} else this.#finish(slot, reply)
	}

	#finish(slot: Slot, reply: Reply): void {
		const frame = slot.frame as Buffer
		slot.frame = null
		this.#unfinished--
		this.#bytesInFlight -= frame.length
		this.#charge(-frame.length)
		if (this.#handler.isFreeAfterReply(frame)) giveFrame(frame)
		if (this.#closed) {
			releaseParts(reply)
			return
		}
		slot.reply = reply
		this.#charge(memoryOf(reply))
		this.#send()
		this.#resumeIfRoom()
	}

	/** Sends replies from the head as long as they are ready and the socket takes them. */
	#send(): void {
		if (this.#sending || this.#closed) return
		for (;;) {
			if (this.#blocked) return
			const slot = this.#slots.peek()
			if (slot === undefined || slot.reply === undefined) return
			const reply = slot.reply
			if (reply === CLOSE) {
				this.#ending = true
				this.socket.end()
				return
			}
			this.#slots.shift()
			if (reply === null) continue
			this.#lastActiveMs = this.#options.clock.monotonicMs()
			if (reply.every(Buffer.isBuffer)) {
				const bytes = memoryOf(reply)
				if (this.socket.write(reply as readonly Buffer[])) this.#charge(-bytes)
				else {
					this.#blocked = true
					this.#unsent += bytes
				}
				continue
			}
			this.#sending = true
			void this.#sendSlices(reply).then(() => {
				this.#sending = false
				this.#send()
				this.#start()
			})
			return
		}
	}

	/** Sends a reply that has file slices: a few pieces ahead of what the socket has taken. */
	async #sendSlices(parts: readonly ReplyPart[]): Promise<void> {
		let gathered: Buffer[] = []
		for (const [i, part] of parts.entries()) {
			if (Buffer.isBuffer(part)) {
				gathered.push(part)
				continue
			}
			try {
				for (let offset = 0; offset < part.length; ) {
					if (this.socket.pendingBytes > AHEAD_BYTES) await this.#drained()
					if (this.#closed) break
					offset += await this.#sendPiece(part, offset, gathered)
					gathered = []
				}
			} catch (error) {
				// The length is promised already: the only honest answer left is to end the connection.
				this.#options.log.error('connection closed: reading records failed', { reason: errorText(error) })
				this.destroy()
			}
			if (this.#closed) {
				releaseParts(parts.slice(i))
				return
			}
			part.release()
		}
		if (gathered.length > 0) this.#write(gathered)
		this.#charge(-memoryOf(parts))
	}

	/** Reads one piece of a slice and sends it behind `before`; returns its length. */
	async #sendPiece(slice: ReplySlice, offset: number, before: readonly Buffer[]): Promise<number> {
		const buffer = takePiece()
		const piece = buffer.subarray(0, Math.min(buffer.length, slice.length - offset))
		try {
			const reading = slice.read(piece, offset)
			if (reading !== undefined) await reading
		} catch (error) {
			givePiece(buffer)
			throw error
		}
		this.#write([...before, piece], () => {
			givePiece(buffer)
			if (this.socket.pendingBytes <= AHEAD_BYTES) this.#wakeDrainWaiters()
		})
		return piece.length
	}

	#write(chunks: readonly Buffer[], onSent?: () => void): void {
		this.#lastActiveMs = this.#options.clock.monotonicMs()
		if (!this.socket.write(chunks, onSent)) this.#blocked = true
	}

	#drained(): Promise<void> {
		return new Promise((resolve) => this.#drainWaiters.push(resolve))
	}

	#wakeDrainWaiters(): void {
		const waiters = this.#drainWaiters
		this.#drainWaiters = []
		for (const wake of waiters) wake()
	}

	/** Counts bytes against the budget; what is held at the close is given back there, whole. */
	#charge(bytes: number): void {
		if (this.#closed) return
		this.#charged += bytes
		if (bytes >= 0) this.#options.budget.charge(bytes)
		else this.#options.budget.release(-bytes)
	}

	#isFull(): boolean {
		return this.#slots.length + this.#waiting.length >= REQUESTS_MAX || this.#bytesInFlight > BYTES_MAX
	}

	#pauseIfFull(): void {
		if (this.#paused || this.#closed) return
		if (this.#isFull()) {
			this.#paused = true
			this.socket.pause()
		} else if (this.#options.budget.isExhausted && !this.#takeTurn()) {
			this.#paused = true
			this.socket.pause()
			this.#options.budget.whenRoom(this.#wake)
		}
	}

	/** With the budget used up: true when this connection may finish the frame that it has begun. */
	#takeTurn(): boolean {
		const { budget, clock } = this.#options
		if (this.#framer.heldBytes === 0 || !budget.takeTurn(this)) return false
		this.#turnTimer ??= clock.after(TURN_MS, () => {
			// It used its turn for too long: the next one, and this one waits at the end of the line.
			this.#endTurn()
			this.#pauseIfFull()
		})
		return true
	}

	#endTurn(): void {
		this.#turnTimer?.cancel()
		this.#turnTimer = null
		this.#options.budget.endTurn(this)
	}

	#resumeIfRoom(): void {
		if (!this.#paused || this.#closed) return
		if (this.#isFull()) return
		if (this.#options.budget.isExhausted && !this.#takeTurn()) {
			this.#options.budget.whenRoom(this.#wake)
			return
		}
		this.#paused = false
		this.socket.resume()
	}

	#armIdle(ms: number): Timer {
		return this.#options.clock.after(ms, () => {
			const quietMs = this.#options.clock.monotonicMs() - this.#lastActiveMs
			const left = this.#options.idleMs - quietMs
			// A request that waits (a long fetch) keeps the connection alive (semantics 28.5).
			if (left > 0 || this.#unfinished > 0) this.#idleTimer = this.#armIdle(Math.max(1, left))
			else this.destroy()
		})
	}

	#onClose(): void {
		if (this.#closed) return
		this.#closed = true
		this.#idleTimer.cancel()
		this.#options.budget.forget(this.#wake)
		this.#endTurn()
		for (const slot of this.#slots) if (slot.reply !== undefined) releaseParts(slot.reply)
		this.#slots.clear()
		this.#waiting.clear()
		this.#wakeDrainWaiters()
		const charged = this.#charged
		this.#charged = 0
		this.#options.budget.release(charged)
		this.#options.onClosed(this)
	}
}

/** Bytes of a reply that stand in memory. */
function memoryOf(reply: Reply): number {
	if (reply === null || reply === CLOSE) return 0
	let bytes = 0
	for (const part of reply) if (Buffer.isBuffer(part)) bytes += part.length
	return bytes
}

function releaseParts(reply: Reply): void {
	if (reply === null || reply === CLOSE) return
	for (const part of reply) if (!Buffer.isBuffer(part)) part.release()
}
