/** Cuts a stream of chunks into ZooKeeper frames, each with its four bytes of length. A claimed length reserves nothing. */

export class FrameSplitter {
	readonly #onFrame: (frame: Buffer) => void
	readonly #bytesMax: number
	#parts: Buffer[] = []
	#partBytes = 0
	#needBytes = 4

	constructor(onFrame: (frame: Buffer) => void, bytesMax = 64 << 20) {
		this.#onFrame = onFrame
		this.#bytesMax = bytesMax
	}

	/** False when the bytes are no frames: the connection is to be cut. */
	push(chunk: Buffer): boolean {
		let bytes = chunk
		if (this.#partBytes > 0) {
			this.#parts.push(chunk)
			this.#partBytes += chunk.length
			if (this.#partBytes < this.#needBytes) return true
			bytes = Buffer.concat(this.#parts)
			this.#parts = []
			this.#partBytes = 0
		}
		let at = 0
		while (bytes.length - at >= 4) {
			const length = bytes.readInt32BE(at)
			if (length < 0 || length > this.#bytesMax) return false
			if (bytes.length - at < 4 + length) break
			this.#onFrame(bytes.subarray(at, at + 4 + length))
			at += 4 + length
		}
		if (at === bytes.length) return true
		const rest = bytes.subarray(at)
		this.#parts = [rest]
		this.#partBytes = rest.length
		this.#needBytes = rest.length < 4 ? 4 : 4 + rest.readInt32BE(0)
		return true
	}
}
