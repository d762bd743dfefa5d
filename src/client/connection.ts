/**
 * One socket to a broker: versions negotiated, SASL done where asked, requests pipelined and matched by correlation id.
 * Used by `cluster.ts`, and by brokers among themselves.
 */

import { ERROR } from '../protocol/errors.js'
import { decodeResponse, encodeRequest } from '../protocol/frame.js'
import { Framer } from '../protocol/framer.js'
import { apiVersions } from '../protocol/messages/handshake.js'
import type { Decoded, Family, Fields, Input } from '../protocol/schema.js'
import type { Logger } from '../runtime/logger.js'
import { NetworkError, type Runtime, type Socket, type Timer, type TlsOptions } from '../runtime/ports.js'
import { AuthenticationError, ConnectionError, UnsupportedError } from './errors.js'

export interface ConnectionSettings {
	readonly clientId: string
	readonly connectTimeoutMs: number
	/** For an answer; a request's own waiting time comes on top. */
	readonly requestTimeoutMs: number
	/** Told of connections, and of each request at its lowest level. */
	readonly logger?: Logger
	readonly tls?: TlsOptions
	/** Authenticates a fresh connection before anything else is sent. */
	readonly authenticate?: (connection: BrokerConnection) => Promise<void>
}

interface Pending {
	readonly family: Family
	readonly version: number
	readonly sentMs: number
	readonly resolve: (message: unknown) => void
	readonly reject: (error: Error) => void
	readonly timer: Timer
}

/** Responses larger than this are not answers to us. */
const FRAME_BYTES_MAX = 0x7fffffff

export const CLIENT_SOFTWARE = { clientSoftwareName: 'kcli', clientSoftwareVersion: '0.1.0' }

export class BrokerConnection {
	/** `host:port` as dialled. */
	readonly address: string
	readonly #runtime: Runtime
	readonly #settings: ConnectionSettings
	readonly #socket: Socket
	readonly #pending = new Map<number, Pending>()
	readonly #framer = new Framer(FRAME_BYTES_MAX)
	#versions = new Map<number, { min: number; max: number }>()
	#nextCorrelation = 1
	#closed: ConnectionError | AuthenticationError | null = null
	#isNegotiated = false
	#onClosed: () => void = () => undefined

	private constructor(runtime: Runtime, address: string, settings: ConnectionSettings, socket: Socket) {
		this.#runtime = runtime
		this.address = address
		this.#settings = settings
		this.#socket = socket
		socket.onData((chunk) => this.#onData(chunk))
		socket.onDrain(() => undefined)
		socket.onClose((error) =>
			this.#fail(
				(error === null ? null : tlsFault(address, error)) ??
					new ConnectionError(address, error?.message ?? this.#closedText(), error),
			),
		)
	}

	/** Dials, authenticates and learns the broker's versions. Rejects with {@link ConnectionError} and others. */
	static async open(
		runtime: Runtime,
		host: string,
		port: number,
		settings: ConnectionSettings,
	): Promise<BrokerConnection> {
		const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
		const beganMs = runtime.clock.monotonicMs()
		let socket: Socket
		try {
			socket = await runtime.network.connect({
				host,
				port,
				timeoutMs: settings.connectTimeoutMs,
				...(settings.tls === undefined ? {} : { tls: settings.tls }),
			})
		} catch (error) {
			if (!(error instanceof NetworkError)) throw error
			throw tlsFault(address, error) ?? new ConnectionError(address, connectText(error), error)
		}
		const connection = new BrokerConnection(runtime, address, settings, socket)
		try {
			await connection.#negotiate()
			await settings.authenticate?.(connection)
		} catch (error) {
			connection.close()
			throw error
		}
		const ms = Math.round(runtime.clock.monotonicMs() - beganMs)
		settings.logger?.info('connected', { broker: address, ms, tls: settings.tls !== undefined })
		return connection
	}

	get isOpen(): boolean {
		return this.#closed === null
	}

	onClosed(listener: () => void): void {
		this.#onClosed = listener
	}

	/** What the broker serves, by api key. */
	get versions(): ReadonlyMap<number, { readonly min: number; readonly max: number }> {
		return this.#versions
	}

	/** Highest version of a family that both sides speak, at most `atMost`; throws {@link UnsupportedError}. */
	versionOf(family: Family, atMost = Number.POSITIVE_INFINITY): number {
		const theirs = this.#versions.get(family.key)
		if (theirs === undefined) throw new UnsupportedError(`${this.address} does not serve ${family.name}`)
		const version = Math.min(theirs.max, family.versions.max, atMost)
		if (version < theirs.min || version < family.versions.min) {
			const range = `${theirs.min}-${theirs.max}`
			throw new UnsupportedError(`${this.address} serves ${family.name} only in versions ${range}`)
		}
		return version
	}

	/** Sends a request in the highest common version and waits for its answer. `waitMs`: how long the broker may hold it. */
	async request<Q extends Fields, P extends Fields>(
		family: Family<Q, P>,
		message: Input<Q>,
		options: { readonly waitMs?: number; readonly atMost?: number } = {},
	): Promise<Decoded<P>> {
		const version = this.versionOf(family as unknown as Family, options.atMost)
		return await this.send(family, version, message, options.waitMs ?? 0)
	}

	/** As {@link request}, in a version that the caller chose. */
	send<Q extends Fields, P extends Fields>(
		family: Family<Q, P>,
		version: number,
		message: Input<Q>,
		waitMs = 0,
	): Promise<Decoded<P>> {
		if (this.#closed !== null) return Promise.reject(this.#closed)
		const correlationId = this.#nextCorrelation
		this.#nextCorrelation = correlationId === 0x7fffffff ? 1 : correlationId + 1
		const parts = encodeRequest(family, version, correlationId, this.#settings.clientId, message) as Buffer[]
		return new Promise<Decoded<P>>((resolve, reject) => {
			const timeoutMs = this.#settings.requestTimeoutMs + waitMs
			const timer = this.#runtime.clock.after(timeoutMs, () => {
				this.#fail(new ConnectionError(this.address, `no answer to ${family.name} within ${timeoutMs} ms`))
				this.#socket.destroy()
			})
			this.#pending.set(correlationId, {
				family: family as unknown as Family,
				version,
				sentMs: this.#runtime.clock.monotonicMs(),
				resolve: resolve as (message: unknown) => void,
				reject,
				timer,
			})
			this.#socket.write(parts)
		})
	}

	/** Sends a request that has no answer (Produce with acks=0). */
	sendWithoutAnswer<Q extends Fields, P extends Fields>(
		family: Family<Q, P>,
		version: number,
		message: Input<Q>,
	): void {
		if (this.#closed !== null) throw this.#closed
		const correlationId = this.#nextCorrelation++
		this.#socket.write(encodeRequest(family, version, correlationId, this.#settings.clientId, message) as Buffer[])
	}

	/** Bytes that the socket has not taken yet. */
	get pendingBytes(): number {
		return this.#socket.pendingBytes
	}

	close(): void {
		this.#fail(new ConnectionError(this.address, 'closed'))
		this.#socket.destroy()
	}

	async #negotiate(): Promise<void> {
		let answer = await this.send(apiVersions, 3, CLIENT_SOFTWARE)
		if (answer.errorCode === ERROR.UNSUPPORTED_VERSION) answer = await this.send(apiVersions, 0, {})
		if (answer.errorCode !== ERROR.NONE) {
			throw new UnsupportedError(`${this.address} refuses ApiVersions with code ${answer.errorCode}`)
		}
		this.#versions = new Map(
			answer.apiKeys.map(({ apiKey, minVersion, maxVersion }) => [apiKey, { min: minVersion, max: maxVersion }]),
		)
		this.#isNegotiated = true
	}

	#onData(chunk: Buffer): void {
		try {
			this.#framer.push(chunk, (frame) => this.#onFrame(frame))
		} catch (error) {
			this.#fail(new ConnectionError(this.address, `this is not a Kafka broker: ${(error as Error).message}`, error))
			this.#socket.destroy()
		}
	}

	#onFrame(frame: Buffer): void {
		const correlationId = frame.length < 4 ? -1 : frame.readInt32BE(0)
		const pending = this.#pending.get(correlationId)
		if (pending === undefined) throw new Error(`answer to an unknown request ${correlationId}`)
		this.#pending.delete(correlationId)
		pending.timer.cancel()
		// A broker that lacks our ApiVersions version answers in the layout of version 0.
		const isRefused = pending.family.key === apiVersions.key && frame.readInt16BE(4) === ERROR.UNSUPPORTED_VERSION
		try {
			this.#settings.logger?.debug('answered', {
				request: `${pending.family.name}-${pending.version}`,
				broker: this.address,
				ms: Math.round((this.#runtime.clock.monotonicMs() - pending.sentMs) * 10) / 10,
				bytes: frame.length,
			})
			pending.resolve(decodeResponse(pending.family, isRefused ? 0 : pending.version, frame).message)
		} catch (error) {
			pending.reject(
				new ConnectionError(this.address, `bad answer to ${pending.family.name}: ${(error as Error).message}`, error),
			)
			throw error
		}
	}

	#closedText(): string {
		if (this.#isNegotiated) return 'the broker closed the connection'
		return `the broker closed the connection at once (${this.#settings.tls === undefined ? 'does this listener want TLS?' : 'does it want a client certificate?'})`
	}

	#fail(error: ConnectionError | AuthenticationError): void {
		if (this.#closed !== null) return
		this.#closed = error
		this.#settings.logger?.info('connection ended', { reason: error.message })
		for (const pending of this.#pending.values()) {
			pending.timer.cancel()
			pending.reject(error)
		}
		this.#pending.clear()
		this.#onClosed()
	}
}

/** A handshake that fails for who somebody is, or for what is spoken: trying again changes nothing. Null: another fault. */
function tlsFault(address: string, { code, cause }: NetworkError): AuthenticationError | null {
	const detail = cause instanceof Error ? cause.message : code
	if (/^(?:CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|ERR_OSSL)/.test(code)) {
		return new AuthenticationError(`${address}: the broker's certificate is not accepted: ${detail} [${code}]`)
	}
	if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
		return new AuthenticationError(`${address}: no TLS is spoken there: ${detail} [${code}]`)
	}
	if (code.startsWith('ERR_SSL_')) return new AuthenticationError(`${address}: TLS was refused: ${detail} [${code}]`)
	return null
}

function connectText(error: NetworkError): string {
	switch (error.code) {
		case 'ECONNREFUSED':
			return 'nothing listens there'
		case 'ETIMEDOUT':
			return 'no connection in time'
		case 'ENOTFOUND':
		case 'EAI_AGAIN':
			return 'the host name is not known'
		case 'ECONNRESET':
			return 'closed during the handshake (is this a TLS listener?)'
		default:
			return error.code
	}
}
