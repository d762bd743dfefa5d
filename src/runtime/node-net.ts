/** The network port over Node's `net` and `tls`: gathered writes, drain, errors as one type. */

import * as net from 'node:net'
import * as tls from 'node:tls'
import {
	type ConnectOptions,
	type Listener,
	type ListenOptions,
	type Network,
	NetworkError,
	type Socket,
	type TlsOptions,
} from './ports.js'

function codeOf(error: unknown): string {
	return (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'
}

function at(host: string, port: number): string {
	return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

class NodeSocket implements Socket {
	readonly remoteAddress: string
	readonly remotePort: number
	readonly localAddress: string
	readonly localPort: number
	readonly #socket: net.Socket
	#error: NetworkError | null = null
	#closed = false

	constructor(socket: net.Socket) {
		this.#socket = socket
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
		this.#socket.on('data', handler)
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

	write(chunks: readonly Uint8Array[]): boolean {
		if (this.#closed || this.#socket.destroyed) return true
		if (chunks.length === 1) return this.#socket.write(chunks[0] as Uint8Array)
		this.#socket.cork()
		let ready = true
		for (const chunk of chunks) ready = this.#socket.write(chunk)
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
		...(net.isIP(name) === 0 ? { servername: name } : {}),
		rejectUnauthorized: options.verify !== false,
	}
}

export class NodeNetwork implements Network {
	listen(options: ListenOptions, onSocket: (socket: Socket) => void): Promise<Listener> {
		return new Promise<Listener>((resolve, reject) => {
			const server =
				options.tls === undefined
					? net.createServer({ noDelay: true })
					: tls.createServer({ ...serverTls(options.tls), noDelay: true })
			const take = (socket: net.Socket): void => onSocket(new NodeSocket(socket))
			if (options.tls === undefined) server.on('connection', take)
			else server.on('secureConnection', take)
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
