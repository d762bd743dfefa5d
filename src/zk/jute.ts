/**
 * Jute, ZooKeeper's serialization: big-endian numbers, length-prefixed buffers and strings (-1 is null), counted
 * vectors, records as their fields in order. A small field DSL gives a record its type, reader and writer at once.
 * Lengths and counts are held against the bytes left before anything is allocated.
 *
 * | type | bytes |
 * |---|---|
 * | bool | 1, 0 or 1 (any other value reads as true) |
 * | int | 4, signed |
 * | long | 8, signed: `bigint` for opaque ids, `safeLong` as number for times and counters |
 * | buffer | int length (-1 null), bytes |
 * | ustring | int length (-1 reads as empty), UTF-8 |
 * | vector | int count (-1 reads as empty), items |
 */

import { readInt64, writeInt64 } from '../base/bytes.js'

/** Bytes that are not what was expected: too short, or a length that lies. */
export class JuteError extends Error {
	override readonly name = 'JuteError'
}

/** Reads one frame from front to end. Buffers it gives out are slices of the frame. */
export class JuteReader {
	readonly #bytes: Buffer
	#at: number

	constructor(bytes: Buffer, at = 0) {
		this.#bytes = bytes
		this.#at = at
	}

	get left(): number {
		return this.#bytes.length - this.#at
	}

	bool(): boolean {
		return this.#bytes[this.#take(1)] !== 0
	}

	int(): number {
		return this.#bytes.readInt32BE(this.#take(4))
	}

	long(): bigint {
		return this.#bytes.readBigInt64BE(this.#take(8))
	}

	safeLong(): number {
		return readInt64(this.#bytes, this.#take(8))
	}

	buffer(): Buffer | null {
		const length = this.int()
		if (length === -1) return null
		if (length < 0) throw new JuteError(`negative length ${length}`)
		const from = this.#take(length)
		return this.#bytes.subarray(from, from + length)
	}

	ustring(): string {
		const length = this.int()
		if (length === -1) return ''
		if (length < 0) throw new JuteError(`negative length ${length}`)
		const from = this.#take(length)
		return this.#bytes.toString('utf8', from, from + length)
	}

	/** Count of a vector whose items take at least `itemBytes` each. */
	count(itemBytes: number): number {
		const count = this.int()
		if (count === -1) return 0
		if (count < 0 || count * itemBytes > this.left) throw new JuteError(`count ${count} in ${this.left} bytes`)
		return count
	}

	#take(bytes: number): number {
		const at = this.#at
		if (bytes > this.#bytes.length - at) throw new JuteError(`${bytes} bytes wanted, ${this.left} left`)
		this.#at = at + bytes
		return at
	}
}

/** Builds one frame (or body) in a buffer that grows. */
export class JuteWriter {
	#bytes: Buffer
	#at: number

	/** `reserve` bytes stay free at the front, for a length that is known at the end. */
	constructor(reserve = 0, capacity = 256) {
		this.#bytes = Buffer.allocUnsafe(capacity)
		this.#at = reserve
	}

	get length(): number {
		return this.#at
	}

	bool(value: boolean): void {
		this.#room(1)
		this.#bytes[this.#at++] = value ? 1 : 0
	}

	int(value: number): void {
		this.#room(4)
		this.#at = this.#bytes.writeInt32BE(value, this.#at)
	}

	long(value: bigint): void {
		this.#room(8)
		this.#at = this.#bytes.writeBigInt64BE(value, this.#at)
	}

	safeLong(value: number): void {
		this.#room(8)
		writeInt64(this.#bytes, value, this.#at)
		this.#at += 8
	}

	buffer(value: Uint8Array | null): void {
		if (value === null) {
			this.int(-1)
			return
		}
		this.int(value.length)
		this.raw(value)
	}

	ustring(value: string): void {
		// UTF-8 takes at most three bytes a UTF-16 unit.
		this.#room(4 + value.length * 3)
		const written = this.#bytes.write(value, this.#at + 4, 'utf8')
		this.#bytes.writeInt32BE(written, this.#at)
		this.#at += 4 + written
	}

	raw(value: Uint8Array): void {
		this.#room(value.length)
		this.#bytes.set(value, this.#at)
		this.#at += value.length
	}

	/** Sets an int that was left free or written before. */
	patchInt(at: number, value: number): void {
		this.#bytes.writeInt32BE(value, at)
	}

	/** What was written, without a copy: the writer is done. */
	finish(): Buffer {
		return this.#bytes.subarray(0, this.#at)
	}

	#room(bytes: number): void {
		const need = this.#at + bytes
		if (need <= this.#bytes.length) return
		const grown = Buffer.allocUnsafe(Math.max(need, this.#bytes.length * 2))
		this.#bytes.copy(grown, 0, 0, this.#at)
		this.#bytes = grown
	}
}

/** How a type stands on the wire. `leastBytes` bounds the count of a vector of it. */
export interface JuteType<T> {
	readonly leastBytes: number
	read(reader: JuteReader): T
	write(writer: JuteWriter, value: T): void
}

export type JuteValue<T> = T extends JuteType<infer V> ? V : never

export const bool: JuteType<boolean> = {
	leastBytes: 1,
	read: (reader) => reader.bool(),
	write: (writer, value) => writer.bool(value),
}

export const int: JuteType<number> = {
	leastBytes: 4,
	read: (reader) => reader.int(),
	write: (writer, value) => writer.int(value),
}

export const long: JuteType<bigint> = {
	leastBytes: 8,
	read: (reader) => reader.long(),
	write: (writer, value) => writer.long(value),
}

export const safeLong: JuteType<number> = {
	leastBytes: 8,
	read: (reader) => reader.safeLong(),
	write: (writer, value) => writer.safeLong(value),
}

export const buffer: JuteType<Buffer | null> = {
	leastBytes: 4,
	read: (reader) => reader.buffer(),
	write: (writer, value) => writer.buffer(value),
}

export const ustring: JuteType<string> = {
	leastBytes: 4,
	read: (reader) => reader.ustring(),
	write: (writer, value) => writer.ustring(value),
}

export function vector<T>(item: JuteType<T>): JuteType<readonly T[]> {
	return {
		leastBytes: 4,
		read: (reader) => {
			const count = reader.count(item.leastBytes)
			const items = new Array<T>(count)
			for (let i = 0; i < count; i++) items[i] = item.read(reader)
			return items
		},
		write: (writer, items) => {
			writer.int(items.length)
			for (const each of items) item.write(writer, each)
		},
	}
}

/** A record: named fields in wire order. */
export function record<T extends object>(fields: { readonly [K in keyof T]: JuteType<T[K]> }): JuteType<Readonly<T>> {
	const entries = Object.entries(fields) as [string, JuteType<unknown>][]
	let leastBytes = 0
	for (const [, type] of entries) leastBytes += type.leastBytes
	return {
		leastBytes,
		read: (reader) => {
			const value: Record<string, unknown> = {}
			for (const [name, type] of entries) value[name] = type.read(reader)
			return value as T
		},
		write: (writer, value) => {
			for (const [name, type] of entries) type.write(writer, (value as Record<string, unknown>)[name])
		},
	}
}
