/** A bare TCP connection for frames that no client of ours would send. */

import * as net from 'node:net'

export class RawSocket {
	readonly #socket: net.Socket
	#received = Buffer.alloc(0)
	#isClosed = false
	#wake: () => void = () => undefined

	private constructor(socket: net.Socket) {
		this.#socket = socket
		socket.on('data', (chunk: Buffer) => {
			this.#received = Buffer.concat([this.#received, chunk])
			this.#wake()
		})
		socket.on('error', () => undefined)
		socket.on('close', () => {
			this.#isClosed = true
			this.#wake()
		})
	}

	static open(port: number): Promise<RawSocket> {
		return new Promise((resolve, reject) => {
			const socket = net.connect({ host: '127.0.0.1', port })
			socket.once('error', reject)
			socket.once('connect', () => resolve(new RawSocket(socket)))
		})
	}

	get isClosed(): boolean {
		return this.#isClosed
	}

	send(bytes: Buffer): void {
		this.#socket.write(bytes)
	}

	/** The next whole frame (length included), or null when the peer closed first. */
	async frame(): Promise<Buffer | null> {
		for (;;) {
			if (this.#received.length >= 4) {
				const size = 4 + this.#received.readInt32BE(0)
				if (this.#received.length >= size) {
					const frame = this.#received.subarray(0, size)
					this.#received = this.#received.subarray(size)
					return frame
				}
			}
			if (this.#isClosed) return null
			await new Promise<void>((resolve) => {
				this.#wake = resolve
			})
		}
	}

	/** Settles when the peer has closed. */
	async closed(): Promise<void> {
		while (!this.#isClosed) {
			await new Promise<void>((resolve) => {
				this.#wake = resolve
			})
		}
	}

	pause(): void {
		this.#socket.pause()
	}

	destroy(): void {
		this.#socket.destroy()
	}
}
