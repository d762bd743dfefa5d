/** A slice of a segment file as the connection sends it: on the loop where the page cache has it, else through the pool. */

import type { Clock } from '../../runtime/ports.js'
import type { FileSlice } from '../log/read.js'
import type { ReadMode } from '../log/read-mode.js'
import type { ReplySlice } from '../net/connection.js'

export class SliceReply implements ReplySlice {
	readonly #slice: FileSlice
	readonly #clock: Clock
	readonly #mode: ReadMode

	constructor(slice: FileSlice, clock: Clock, mode: ReadMode) {
		this.#slice = slice
		this.#clock = clock
		this.#mode = mode
	}

	get length(): number {
		return this.#slice.length
	}

	read(into: Buffer, offset: number): void | Promise<void> {
		const { file, position } = this.#slice
		if (this.#mode.usesPool()) return file.read(into, position + offset).then((read) => this.#check(read, into))
		const startedMs = this.#clock.monotonicMs()
		const read = file.readNow(into, position + offset)
		this.#mode.note(into.length, this.#clock.monotonicMs() - startedMs)
		this.#check(read, into)
	}

	#check(read: number, into: Buffer): void {
		if (read < into.length) throw new Error(`${this.#slice.file.path} ended ${into.length - read} bytes early`)
	}

	release(): void {
		this.#slice.release()
	}
}
