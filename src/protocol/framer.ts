/**
 * Bytes → frames, read straight into place. Between frames the socket reads into one buffer that all framers share; a
 * frame that is whole in it is copied out, one that is not gets memory of its own, which grows with what has come, and the
 * rest is read directly into that. A claimed size reserves nothing but what has come allows.
 */

/** The peer does not speak the protocol: the connection is closed without an answer (semantics 28.1). */
export class FrameError extends Error {
	override readonly name = 'FrameError'
}

/** Read into between frames. Shared: what stands in it is copied out before anything else is read. */
const SHARED = Buffer.allocUnsafeSlow(32_768)

/**
 * A frame up to this size gets its memory at once when its beginning is here: a producer's largest usual request. Pages
 * that no byte has come to are not touched, so that even this claim costs address space only.
 */
const AT_ONCE_BYTES = 1_310_720

export class Framer {
	readonly #frameBytesMax: number
	readonly #allocate: (bytes: number) => Buffer
	/** The length prefix as far as it is here. */
	readonly #prefix = Buffer.alloc(4)
	#prefixBytes = 0
	/** Memory of the frame that is being read; null between frames. */
	#frame: Buffer | null = null
	#filled = 0
	/** Size of the frame that is being read; 0 while its length is not known. */
	#wanted = 0

	/** `allocate` gives the memory of a frame: at least so many bytes, which the receiver of the frame then has. */
	constructor(frameBytesMax: number, allocate: (bytes: number) => Buffer = Buffer.allocUnsafe) {
		this.#frameBytesMax = frameBytesMax
		this.#allocate = allocate
	}

	/** Bytes kept of a frame that is not whole yet. */
	get heldBytes(): number {
		return this.#filled + this.#prefixBytes
	}

	/** Bytes that the frame being read still lacks; 0 between frames. */
	get missingBytes(): number {
		return this.#wanted === 0 ? 0 : this.#wanted - this.#filled
	}

	/** Room for the next bytes: tell what came by {@link received}. */
	space(): Buffer {
		if (this.#frame === null) return SHARED
		if (this.#filled === this.#frame.length) this.#grow()
		return this.#frame.subarray(this.#filled, this.#wanted)
	}

	/**
	 * `count` bytes were read into {@link space}. Calls `onFrame` with each whole frame (without its length); the frame is
	 * the receiver's. Throws {@link FrameError} on a negative, zero or oversized length.
	 */
	received(count: number, onFrame: (frame: Buffer) => void): void {
		if (this.#frame === null) {
			this.#take(SHARED, count, onFrame)
			return
		}
		this.#filled += count
		if (this.#filled < this.#wanted) return
		this.#emit(onFrame)
	}

	/** As {@link received}, for bytes that stand elsewhere. */
	push(chunk: Buffer, onFrame: (frame: Buffer) => void): void {
		let at = 0
		while (this.#frame !== null && at < chunk.length) {
			const copied = chunk.copy(this.space(), 0, at)
			at += copied
			this.received(copied, onFrame)
		}
		if (at < chunk.length) this.#take(at === 0 ? chunk : chunk.subarray(at), chunk.length - at, onFrame)
	}

	/** Parts bytes that begin between frames. */
	#take(bytes: Buffer, count: number, onFrame: (frame: Buffer) => void): void {
		let at = 0
		while (at < count) {
			if (this.#prefixBytes < 4) {
				const copied = bytes.copy(this.#prefix, this.#prefixBytes, at, Math.min(count, at + 4 - this.#prefixBytes))
				this.#prefixBytes += copied
				at += copied
				if (this.#prefixBytes < 4) return
				this.#begin(this.#prefix.readInt32BE(0))
			}
			const here = Math.min(count - at, this.#wanted)
			const isWhole = here === this.#wanted
			this.#frame = this.#allocate(isWhole ? here : firstRoom(this.#wanted, here))
			bytes.copy(this.#frame, 0, at, at + here)
			this.#filled = here
			at += here
			if (isWhole) this.#emit(onFrame)
		}
	}

	#begin(length: number): void {
		if (length <= 0 || length > this.#frameBytesMax) throw new FrameError(`frame of ${length} bytes`)
		this.#wanted = length
	}

	#emit(onFrame: (frame: Buffer) => void): void {
		const memory = this.#frame as Buffer
		const frame = memory.length === this.#wanted ? memory : memory.subarray(0, this.#wanted)
		this.#frame = null
		this.#filled = 0
		this.#wanted = 0
		this.#prefixBytes = 0
		onFrame(frame)
	}

	/** More memory for the frame: four times what has come, so that all growing together copies a third of it. */
	#grow(): void {
		const grown = Buffer.allocUnsafeSlow(Math.min(this.#wanted, this.#filled * 4))
		;(this.#frame as Buffer).copy(grown, 0, 0, this.#filled)
		this.#frame = grown
	}
}

function firstRoom(wanted: number, here: number): number {
	if (wanted <= AT_ONCE_BYTES) return wanted
	return Math.min(wanted, Math.max(AT_ONCE_BYTES, here * 4))
}
