/**
 * Bytes → frames. A frame that lies whole in one chunk is a slice of it; one that spans chunks is joined once, when its
 * last byte is here. The size is checked before anything is kept, and a claimed size reserves no memory.
 */

/** The peer does not speak the protocol: the connection is closed without an answer (semantics 28.1). */
export class FrameError extends Error {
	override readonly name = 'FrameError'
}

export class Framer {
	readonly #frameBytesMax: number
	#chunks: Buffer[] = []
	#held = 0
	/** Size of the frame that is being read; -1 while its four length bytes are not here. */
	#wanted = -1

	constructor(frameBytesMax: number) {
		this.#frameBytesMax = frameBytesMax
	}

	/** Bytes kept of a frame that is not whole yet. */
	get heldBytes(): number {
		return this.#held
	}

	/** Bytes that the frame being read still lacks; 0 between frames. */
	get missingBytes(): number {
		return this.#held === 0 ? 0 : this.#wanted < 0 ? 4 - this.#held : this.#wanted - this.#held
	}

	/**
	 * Takes a chunk and calls `onFrame` with each whole frame (without its length). `chunkBytes` is how much of a shared
	 * chunk the frame pins. Throws {@link FrameError} on a negative, zero or oversized length.
	 */
	push(chunk: Buffer, onFrame: (frame: Buffer) => void): void {
		let at = 0
		while (at < chunk.length) {
			if (this.#wanted < 0) {
				const length = this.#length(chunk, at)
				if (length === null) return
				at = length.at
				this.#wanted = length.value
			}
			const missing = this.#wanted - this.#held
			const left = chunk.length - at
			if (left < missing) {
				this.#keep(at === 0 ? chunk : chunk.subarray(at))
				return
			}
			const last = chunk.subarray(at, at + missing)
			at += missing
			const frame = this.#held === 0 ? last : this.#join(last)
			this.#wanted = -1
			onFrame(frame)
		}
	}

	/** Reads the length at `at`, which may have begun in an earlier chunk. Null when it is not whole yet. */
	#length(chunk: Buffer, at: number): { value: number; at: number } | null {
		let value: number
		let next: number
		if (this.#held === 0 && chunk.length - at >= 4) {
			value = chunk.readInt32BE(at)
			next = at + 4
		} else {
			const missing = 4 - this.#held
			if (chunk.length - at < missing) {
				this.#keep(chunk.subarray(at))
				return null
			}
			value = this.#join(chunk.subarray(at, at + missing)).readInt32BE(0)
			next = at + missing
		}
		if (value <= 0 || value > this.#frameBytesMax) throw new FrameError(`frame of ${value} bytes`)
		return { value, at: next }
	}

	#keep(chunk: Buffer): void {
		this.#chunks.push(chunk)
		this.#held += chunk.length
	}

	#join(last: Buffer): Buffer {
		this.#chunks.push(last)
		const joined = this.#chunks.length === 1 ? last : Buffer.concat(this.#chunks)
		this.#chunks = []
		this.#held = 0
		return joined
	}
}
