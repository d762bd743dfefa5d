/**
 * ConnectRequest to ConnectResponse: new sessions, sessions taken up again, refusals; and which connection a session has.
 *
 * A refusal carries timeout 0 and session 0, since clients look at either. A known session is taken up only with its
 * password, checked before its old connection is closed. A client whose last zxid lies ahead of ours is cut off without
 * a word, as Apache does, unless it brings a session that nobody knows: then the data directory was replaced, and a
 * refusal lets it begin anew instead of trying for ever.
 */

import type { Clock, Random } from '../../runtime/ports.js'
import { JuteError, JuteReader, JuteWriter } from '../jute.js'
import { connectRequest } from '../messages.js'
import type { Connection } from './connection.js'
import type { Processor } from './processor.js'
import type { Session, SessionTable } from './sessions.js'

const PASSWORD_BYTES = 16

export class Handshake {
	readonly #random: Random
	readonly #processor: Processor
	readonly #sessions: SessionTable
	readonly #timeouts: { readonly minMs: number; readonly maxMs: number }
	readonly #attached = new Map<bigint, Connection>()
	#lastSessionId: bigint

	constructor(
		runtime: { readonly clock: Clock; readonly random: Random },
		processor: Processor,
		sessions: SessionTable,
		lastSessionId: bigint,
		timeouts: { readonly minMs: number; readonly maxMs: number },
	) {
		this.#random = runtime.random
		this.#processor = processor
		this.#sessions = sessions
		this.#timeouts = timeouts
		// As Apache's: server id, 40 bits of the start's time, a counter. Never below one that was given before.
		const started = (1n << 56n) | ((BigInt(runtime.clock.wallMs()) & 0xff_ffff_ffffn) << 16n)
		this.#lastSessionId = started > lastSessionId ? started : lastSessionId
	}

	/** Highest session id given so far. */
	get lastSessionId(): bigint {
		return this.#lastSessionId
	}

	peerOf(sessionId: bigint): Connection | undefined {
		return this.#attached.get(sessionId)
	}

	/** The connection is gone; its session lives on. */
	detach(connection: Connection): void {
		const { session } = connection
		if (session !== null && this.#attached.get(session.id) === connection) this.#attached.delete(session.id)
	}

	/** Answers a ConnectRequest. False: close without an answer. */
	accept(connection: Connection, frame: Buffer): boolean {
		let request: ReturnType<typeof connectRequest.read>
		let hasReadOnly: boolean
		try {
			const reader = new JuteReader(frame)
			request = connectRequest.read(reader)
			hasReadOnly = reader.left > 0
		} catch (error) {
			if (error instanceof JuteError) return false
			throw error
		}
		const known = this.#sessions.get(request.sessionId)
		const isAhead = request.lastZxidSeen > this.#processor.zxid
		if (isAhead && (request.sessionId === 0n || known !== undefined)) return false
		const timeoutMs = Math.min(this.#timeouts.maxMs, Math.max(this.#timeouts.minMs, request.timeoutMs))
		let session: Session | null = null
		if (request.sessionId === 0n) session = this.#open(timeoutMs)
		else if (known !== undefined && !known.isClosing && isEqual(known.password, request.password)) {
			session = known
			session.timeoutMs = timeoutMs
			this.#sessions.touch(session)
			this.#attached.get(session.id)?.destroy()
		}
		if (session === null) {
			this.#processor.emit(connection, connectFrame(0, 0n, Buffer.alloc(PASSWORD_BYTES), hasReadOnly))
			this.#processor.emit(connection, null)
			return true
		}
		connection.session = session
		this.#attached.set(session.id, connection)
		this.#processor.emit(connection, connectFrame(timeoutMs, session.id, session.password, hasReadOnly))
		return true
	}

	#open(timeoutMs: number): Session {
		this.#lastSessionId += 1n
		const session = this.#sessions.add(this.#lastSessionId, timeoutMs, this.#random.bytes(PASSWORD_BYTES))
		this.#processor.openSession(session)
		return session
	}
}

/** Equality in time that does not depend on where the two differ. */
function isEqual(password: Buffer, claimed: Buffer | null): boolean {
	if (claimed === null || claimed.length !== password.length) return false
	let difference = 0
	for (const [index, byte] of password.entries()) difference |= byte ^ (claimed[index] as number)
	return difference === 0
}

function connectFrame(timeoutMs: number, sessionId: bigint, password: Buffer, hasReadOnly: boolean): Buffer {
	const writer = new JuteWriter(4, 64)
	writer.int(0)
	writer.int(timeoutMs)
	writer.long(sessionId)
	writer.buffer(password)
	if (hasReadOnly) writer.bool(false)
	writer.patchInt(0, writer.length - 4)
	return writer.finish()
}
