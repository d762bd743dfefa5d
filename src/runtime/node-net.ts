/** The network port over Node's `net` and `tls`: gathered writes, drain, errors as one type. */

import * as net from 'node:net'
import * as tls from 'node:tls'
import { assert } from '../base/assert.js'
import {
	type ConnectOptions,
	type Listener,
	type ListenOptions,
	type Network,
	NetworkError,
	type ReadSink,
	type Socket,
	type TlsOptions,
} from './ports.js'

function codeOf(error: unknown): string {
	return (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'
}

function at(host: string, port: number): string {
	return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** The link between Node's `onread` option, which is fixed when a socket is made, and the sink that comes later. */
interface DirectReads {
	sink: ReadSink | null
}

interface InnerSocket extends net.Socket {
	_handle: unknown
	_server: unknown
	server: unknown
}

/**
 * Makes an accepted socket anew with Node's `onread` option, which servers do not offer: reads then go straight into the
 * owner's memory. It moves the handle and the server's count from one socket to the other; where Node's insides differ
 * from those of 20 to 24 the socket stays as it is, and only speed is lost.
 */
function withDirectReads(accepted: net.Socket): { socket: net.Socket; direct: DirectReads } | null {
	const inner = accepted as InnerSocket
	const handle = inner._handle
	if (handle === null || handle === undefined || !('_server' in inner)) return null
	const direct: DirectReads = { sink: null }
	const options = {
		handle,
		allowHalfOpen: false,
		pauseOnCreate: true,
		readable: true,
		writable: true,
		onread: {
			buffer: () => direct.sink?.space() ?? SPARE,
			callback: (count: number, bytes: Uint8Array) => {
				if (bytes === SPARE) copyInto(direct.sink, SPARE.subarray(0, count))
				else direct.sink?.received(count)
				return true
			},
		},
	}
	const socket = new net.Socket(options as unknown as net.SocketConstructorOpts) as InnerSocket
	socket._server = inner._server
	socket.server = inner.server
	inner._server = null
	inner._handle = null
	accepted.destroy()
	return { socket, direct }
}

/** Node asks for memory once before the sink can be known: the first read of a socket goes here, and is copied. */
const SPARE = Buffer.allocUnsafeSlow(65_536)

function copyInto(sink: ReadSink | null, chunk: Buffer): void {
	for (let at = 0; at < chunk.length && sink !== null; ) {
		const copied = chunk.copy(sink.space(), 0, at)
		at += copied
		sink.received(copied)
	}
}

class NodeSocket implements Socket {
	readonly remoteAddress: string
	readonly remotePort: number
	readonly localAddress: string
	readonly localPort: number
	readonly #socket: net.Socket
	/** Set when the socket reads into its owner's memory. */
	readonly #direct: DirectReads | null
	#error: NetworkError | null = null
	#closed = false

	constructor(socket: net.Socket, direct: DirectReads | null = null) {
		this.#socket = socket
		this.#direct = direct
		this.remoteAddress = (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
		this.remotePort = socket.remotePort ?? 0
		this.localAddress = (socket.localAddress ?? '').replace(/^::ffff:/, '')
		this.localPort = socket.localPort ?? 0
		socket.setNoDelay(true)
		socket.setKeepAlive(true, 60_000)
		socket.on('error', (error) => {
			this.#error = new NetworkError('connection', at(this.remoteAddress, this.remotePort), codeOf(error), error)
		})
	}

	onData(handler: (chunk: Buffer) => void): void {
		assert(this.#direct === null, 'a listener that reads into memory gives no chunks')
		this.#socket.on('data', handler)
	}

	readInto(sink: ReadSink): void {
		if (this.#direct !== null) {
			this.#direct.sink = sink
			this.#socket.resume()
			return
		}
		this.#socket.on('data', (chunk: Buffer) => {
			// Where direct reads cannot be had (TLS): the same, with one copy.
			if (!this.#socket.destroyed) copyInto(sink, chunk)
		})
	}

	onClose(handler: (error: NetworkError | null) => void): void {
		// The peer's end ends our side too: nothing here speaks half-closed.
		this.#socket.on('close', () => {
			this.#closed = true
			handler(this.#error)
		})
	}

	onDrain(handler: () => void): void {
		this.#socket.on('drain', handler)
	}

	write(chunks: readonly Uint8Array[], onSent?: () => void): boolean {
		if (this.#closed || this.#socket.destroyed) {
			onSent?.()
			return true
		}
		// Node calls back with an error when the connection breaks: either way the memory is free.
		const sent = onSent === undefined ? undefined : (): void => onSent()
		if (chunks.length === 1) return this.#socket.write(chunks[0] as Uint8Array, sent)
		this.#socket.cork()
		let ready = true
		const last = chunks.length - 1
		for (let i = 0; i < last; i++) this.#socket.write(chunks[i] as Uint8Array)
		ready = this.#socket.write(chunks[last] as Uint8Array, sent)
		this.#socket.uncork()
		return ready
	}

	get pendingBytes(): number {
		return this.#socket.writableLength
	}

	pause(): void {
		this.#socket.pause()
	}

	resume(): void {
		this.#socket.resume()
	}

	end(): void {
		this.#socket.end()
	}

	destroy(): void {
		this.#socket.destroy()
	}
}

function serverTls(options: TlsOptions): tls.TlsOptions {
	return {
		...(options.ca === undefined ? {} : { ca: options.ca }),
		...(options.cert === undefined ? {} : { cert: options.cert }),
		...(options.key === undefined ? {} : { key: options.key }),
		...(options.passphrase === undefined ? {} : { passphrase: options.passphrase }),
		requestCert: options.clientAuth === 'requested' || options.clientAuth === 'required',
		rejectUnauthorized: options.clientAuth === 'required',
	}
}

function clientTls(options: TlsOptions, host: string): tls.ConnectionOptions {
	const name = options.serverName ?? host
	return {
		...(options.ca === undefined ? {} : { ca: options.ca }),
		...(options.cert === undefined ? {} : { cert: options.cert }),
		...(options.key === undefined ? {} : { key: options.key }),
		...(options.passphrase === undefined ? {} : { passphrase: options.passphrase }),
		...(options.pkcs12 === undefined ? {} : { pfx: options.pkcs12 }),
		...(net.isIP(name) === 0 ? { servername: name } : {}),
		...(options.verifyHost === false ? { checkServerIdentity: () => undefined } : {}),
		rejectUnauthorized: options.verify !== false,
	}
}

export class NodeNetwork implements Network {
	listen(options: ListenOptions, onSocket: (socket: Socket) => void): Promise<Listener> {
		return new Promise<Listener>((resolve, reject) => {
			const server =
				options.tls === undefined
					? net.createServer({ noDelay: true, pauseOnConnect: options.readsIntoMemory === true })
					: tls.createServer({ ...serverTls(options.tls), noDelay: true })
			if (options.tls === undefined) {
				server.on('connection', (socket: net.Socket) => {
					const direct = options.readsIntoMemory === true ? withDirectReads(socket) : null
					if (direct !== null) onSocket(new NodeSocket(direct.socket, direct.direct))
					else onSocket(new NodeSocket(socket))
				})
			} else server.on('secureConnection', (socket: net.Socket) => onSocket(new NodeSocket(socket)))
			// A failed handshake is the peer's affair: its socket is closed, nobody else hears of it.
			server.on('tlsClientError', (_error: Error, socket: tls.TLSSocket) => socket.destroy())
			const fail = (error: Error): void =>
				reject(new NetworkError('listen on', at(options.host, options.port), codeOf(error), error))
			server.once('error', fail)
			server.listen({ host: options.host, port: options.port, backlog: options.backlog ?? 511 }, () => {
				server.off('error', fail)
				// After it listens an error can only be a failed accept (EMFILE): that socket is lost, the server lives.
				server.on('error', () => undefined)
				const address = server.address() as net.AddressInfo
				resolve({
					address: address.address,
					port: address.port,
					close: () => new Promise<void>((closed) => server.close(() => closed())),
				})
			})
		})
	}

	connect(options: ConnectOptions): Promise<Socket> {
		const address = at(options.host, options.port)
		return new Promise<Socket>((resolve, reject) => {
			const socket =
				options.tls === undefined
					? net.connect({ host: options.host, port: options.port, noDelay: true })
					: tls.connect({ host: options.host, port: options.port, ...clientTls(options.tls, options.host) })
			const timer = setTimeout(
				() => fail(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })),
				options.timeoutMs,
			)
			const fail = (error: Error): void => {
				clearTimeout(timer)
				socket.destroy()
				reject(new NetworkError('connect to', address, codeOf(error), error))
			}
			socket.once('error', fail)
			const ended = (): void => fail(Object.assign(new Error('closed by the peer'), { code: 'ECONNRESET' }))
			socket.once('close', ended)
			socket.once(options.tls === undefined ? 'connect' : 'secureConnect', () => {
				clearTimeout(timer)
				socket.off('error', fail)
				socket.off('close', ended)
				resolve(new NodeSocket(socket))
			})
		})
	}
}
