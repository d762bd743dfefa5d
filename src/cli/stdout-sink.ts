/**
 * Stdout for much data: records are copied into large chunks, chunks are written without holding the event loop (Node's
 * own stdout blocks on a pipe, which would stop heartbeats under a pager), and it is known when what was written has left
 * us. A reader that goes away is an orderly end.
 */

const CHUNK_BYTES = 262_144
const PENDING_BYTES_MAX = 4_194_304

export class StdoutSink {
	readonly #stream: NodeJS.WriteStream
	#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
	#at = 0
	#pending = 0
	#isGone = false
	#failure: Error | null = null
	#waiters: (() => void)[] = []
	#onGone: () => void = () => undefined

	constructor(stream: NodeJS.WriteStream = process.stdout) {
		this.#stream = stream
		const handle = (stream as unknown as { _handle?: { setBlocking?: (isOn: boolean) => void } })._handle
		if (!stream.isTTY) handle?.setBlocking?.(false)
		// In place of the launcher's handler, which would end the process before a group is left and a commit is made.
		stream.removeAllListeners('error')
		stream.on('error', (error: NodeJS.ErrnoException) => {
			this.#isGone = true
			if (error.code !== 'EPIPE') this.#failure = error
			this.#notify()
			this.#onGone()
		})
	}

	/** The reader of our pipe has gone, or writing failed: nothing more can be written. */
	get isGone(): boolean {
		return this.#isGone
	}

	/** Why writing failed, but for a closed pipe. */
	get failure(): Error | null {
		return this.#failure
	}

	/** Called once when the reader goes away. */
	onGone(listener: () => void): void {
		this.#onGone = listener
	}

	/** More is waiting than should: await {@link drain} before going on. */
	get isFull(): boolean {
		return this.#pending > PENDING_BYTES_MAX
	}

	/** Copies `source[from, end)`. */
	bytes(source: Buffer, from: number, end: number): void {
		let at = from
		while (at < end) {
			if (this.#at === this.#chunk.length) this.push()
			const length = Math.min(end - at, this.#chunk.length - this.#at)
			source.copy(this.#chunk, this.#at, at, at + length)
			this.#at += length
			at += length
		}
	}

	byte(value: number): void {
		if (this.#at === this.#chunk.length) this.push()
		this.#chunk[this.#at++] = value
	}

	text(value: string): void {
		if (value.length * 3 <= this.#chunk.length - this.#at) {
			this.#at += this.#chunk.write(value, this.#at)
			return
		}
		const bytes = Buffer.from(value)
		this.bytes(bytes, 0, bytes.length)
	}

	/** Hands what is collected to the system. */
	push(): void {
		if (this.#at === 0) return
		const bytes = this.#chunk.subarray(0, this.#at)
		this.#chunk = this.#chunk.subarray(this.#at)
		if (this.#chunk.length < CHUNK_BYTES / 2) this.#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
		this.#at = 0
		if (this.#isGone) return
		this.#pending += bytes.length
		this.#stream.write(bytes, () => {
			this.#pending -= bytes.length
			this.#notify()
		})
	}

	/** Settles when little is waiting. */
	async drain(): Promise<void> {
		while (this.isFull && !this.#isGone) await this.#changed()
	}

	/** Settles when all has left us, or the reader has gone. */
	async flush(): Promise<void> {
		this.push()
		while (this.#pending > 0 && !this.#isGone) await this.#changed()
	}

	#changed(): Promise<void> {
		return new Promise((resolve) => this.#waiters.push(resolve))
	}

	#notify(): void {
		for (const waiter of this.#waiters.splice(0)) waiter()
	}
}
