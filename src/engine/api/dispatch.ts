/**
 * From a frame to a handler and back: header, version check, decode, call, encode (semantics 28). A request that is not
 * one of ours ends the connection; a handler that throws answers its own error response, and the connection lives on.
 */

import { requestCodec } from '../../protocol/compile.js'
import { ERROR } from '../../protocol/errors.js'
import { encodeResponse, readApiKeyAndVersion, readRequestHeader, requestHeaderVersion } from '../../protocol/frame.js'
import { ProtocolError, Reader } from '../../protocol/reader.js'
import { type Decoded, type Family, type Fields, type Input, inVersions } from '../../protocol/schema.js'
import { errorText, type Logger } from '../../runtime/logger.js'
import { DiskError, type Socket } from '../../runtime/ports.js'
import { CLOSE, type FrameHandler, type Reply, type ReplyPart } from '../net/connection.js'

/** What a handler knows of the request beside its body. */
export interface RequestContext {
	readonly version: number
	readonly clientId: string
	readonly connection: ConnectionContext
}

/** One client connection, as handlers see it. */
export interface ConnectionContext {
	readonly listener: string
	readonly remoteAddress: string
}

/** `null`: no reply (acks=0). `CLOSE`: the connection ends without one. */
export type Answer<P extends Fields> = Input<P> | null | typeof CLOSE

export interface Handler {
	readonly family: Family
	/** Highest version served. */
	readonly versionMax: number
	handle(request: unknown, context: RequestContext): Answer<Fields> | Promise<Answer<Fields>>
	/** The family's own response that says `errorCode` in every place that can. */
	fail(request: unknown, errorCode: number, context: RequestContext): Input<Fields>
}

/** Ties a family to its implementation; the types of both are held against the schema here and erased after it. */
export function handler<Q extends Fields, P extends Fields>(
	family: Family<Q, P>,
	implementation: {
		handle(request: Decoded<Q>, context: RequestContext): Answer<P> | Promise<Answer<P>>
		fail(request: Decoded<Q>, errorCode: number, context: RequestContext): Input<P>
	},
): Handler {
	return { family, versionMax: family.versions.max, ...implementation } as unknown as Handler
}

const PRODUCE = 0
const API_VERSIONS = 18

function isProduce(frame: Buffer): boolean {
	return frame.length >= 2 && frame.readInt16BE(0) === PRODUCE
}

/** The code that an exception of a handler becomes. */
export function errorCodeOf(error: unknown): number {
	if (error instanceof DiskError) return ERROR.KAFKA_STORAGE_ERROR
	return ERROR.UNKNOWN_SERVER_ERROR
}

export class Dispatcher {
	readonly #handlers = new Map<number, Handler>()
	readonly #log: Logger
	/** Requests that came before the broker serves wait for it; null once it does. */
	#opening: Promise<void> | null
	#open: () => void = () => undefined

	constructor(handlers: readonly Handler[], log: Logger) {
		for (const each of handlers) this.#handlers.set(each.family.key, each)
		this.#log = log
		this.#opening = new Promise((resolve) => {
			this.#open = resolve
		})
	}

	/** The broker serves: what waits is handled, in order. */
	open(): void {
		this.#opening = null
		this.#open()
	}

	/** The frame handler of one connection. */
	connection(socket: Socket, listener: string): FrameHandler {
		const connection: ConnectionContext = { listener, remoteAddress: socket.remoteAddress }
		return {
			overlaps: isProduce,
			// The log keeps nothing of what it appends, and nothing else of a Produce request is long.
			isFreeAfterReply: isProduce,
			handle: (frame) =>
				this.#opening === null
					? this.#handle(frame, connection)
					: this.#opening.then(() => this.#handle(frame, connection)),
		}
	}

	#handle(frame: Buffer, connection: ConnectionContext): Reply | Promise<Reply> {
		try {
			const { apiKey, apiVersion } = readApiKeyAndVersion(frame)
			const handler = this.#handlers.get(apiKey)
			if (handler === undefined) throw new ProtocolError(`api key ${apiKey} is not served`)
			const known = inVersions(handler.family.versions, apiVersion)
			if (!known && apiKey === API_VERSIONS) return this.#unknownApiVersions(frame, handler)
			if (!known) throw new ProtocolError(`${handler.family.name} has no version ${apiVersion}`)
			const reader = new Reader(frame)
			const header = readRequestHeader(reader, requestHeaderVersion(handler.family, apiVersion))
			const request = requestCodec(handler.family, apiVersion).read(reader)
			const context: RequestContext = { version: apiVersion, clientId: header.clientId, connection }
			return this.#call(handler, request, header.correlationId, context)
		} catch (error) {
			if (!(error instanceof ProtocolError)) throw error
			this.#log.info('connection closed: bad request', { peer: connection.remoteAddress, reason: error.message })
			return CLOSE
		}
	}

	#call(handler: Handler, request: unknown, correlationId: number, context: RequestContext): Reply | Promise<Reply> {
		const encode = (answer: Answer<Fields>): Reply =>
			answer === null || answer === CLOSE
				? answer
				: (encodeResponse(handler.family, context.version, correlationId, answer) as unknown as ReplyPart[])
		const failed = (error: unknown): Reply => {
			this.#log.error('request failed', { api: handler.family.name, reason: errorText(error), stack: stackOf(error) })
			return encode(handler.fail(request, errorCodeOf(error), context))
		}
		try {
			const answer = handler.handle(request, context)
			return answer instanceof Promise ? answer.then(encode).catch(failed) : encode(answer)
		} catch (error) {
			return failed(error)
		}
	}

	/** A version of ApiVersions that we do not know: header v2, body unread, v0 answer with the one entry (apis.md §4.2). */
	#unknownApiVersions(frame: Buffer, handler: Handler): Reply {
		// A negative version is older than the tag section.
		const header = readRequestHeader(new Reader(frame), frame.readInt16BE(2) < 0 ? 1 : 2)
		const answer = handler.fail(null, ERROR.UNSUPPORTED_VERSION, {
			version: 0,
			clientId: header.clientId,
			connection: { listener: '', remoteAddress: '' },
		})
		return encodeResponse(handler.family, 0, header.correlationId, answer) as unknown as ReplyPart[]
	}
}

function stackOf(error: unknown): string | null {
	return error instanceof Error ? (error.stack?.split('\n').slice(1, 4).join(' ').trim() ?? null) : null
}
