/**
 * Offset and time index of one segment: files of fixed-width entries, sorted, searched by bisection (19.4–19.7).
 *
 * `.index`      int32 offset - base, int32 file position                                            8 bytes
 * `.timeindex`  int64 largest timestamp so far, int32 (last offset of the batch that has it) - base  12 bytes
 *
 * New entries wait in memory and go to the file 4 KiB at a time, at the latest on flush, roll and close: a process crash
 * loses them together with the segment's "flushed" mark, and recovery makes them anew. A foreign file may be longer than
 * its entries (Kafka preallocates with zeros); the zero tail is cut when the index is first used. The owner rebuilds an
 * index that is found to be wrong ({@link IndexDamage}); nothing here trusts one.
 */

import { readInt64, writeInt64 } from '../../base/bytes.js'
import { type Disk, DiskError, type File } from '../../runtime/ports.js'

/** An index file contradicts itself or its segment. */
export class IndexDamage extends Error {
	override readonly name = 'IndexDamage'
	constructor(
		readonly path: string,
		readonly problem: string,
	) {
		super(`${path}: ${problem}`)
	}
}

const PENDING_BYTES = 4096

/** Entries of fixed width: a file and what is not written to it yet. */
class EntryFile {
	readonly path: string
	readonly #disk: Disk
	readonly #entryBytes: number
	#file: File | null = null
	/** Entries in the file; -1 until it was looked at. */
	#stored = -1
	#pending: Buffer | null = null
	#pendingBytes = 0
	readonly #scratch: Buffer

	constructor(disk: Disk, path: string, entryBytes: number) {
		this.#disk = disk
		this.path = path
		this.#entryBytes = entryBytes
		this.#scratch = Buffer.alloc(entryBytes)
	}

	get count(): number {
		return this.#storedCount() + this.#pendingBytes / this.#entryBytes
	}

	/** The entry at `index`, as a buffer and the position in it; valid until the next call. */
	read(index: number): Buffer {
		const stored = this.#storedCount()
		if (index >= stored) {
			const at = (index - stored) * this.#entryBytes
			return (this.#pending as Buffer).subarray(at, at + this.#entryBytes)
		}
		const read = this.#open().readNow(this.#scratch, index * this.#entryBytes)
		if (read < this.#entryBytes) throw new IndexDamage(this.path, `entry ${index} is cut`)
		return this.#scratch
	}

	/** Room for one more entry, which the caller fills at once. */
	add(): Buffer {
		this.#storedCount()
		if (this.#pendingBytes + this.#entryBytes > (this.#pending?.length ?? 0)) this.#grow()
		const at = this.#pendingBytes
		this.#pendingBytes += this.#entryBytes
		return (this.#pending as Buffer).subarray(at, at + this.#entryBytes)
	}

	/** Writes what waits. */
	write(): void {
		if (this.#pendingBytes === 0) {
			if (this.#stored < 0) this.#storedCount()
			return
		}
		const stored = this.#storedCount()
		const file = this.#open()
		file.writeNow([(this.#pending as Buffer).subarray(0, this.#pendingBytes)], stored * this.#entryBytes)
		this.#stored = stored + this.#pendingBytes / this.#entryBytes
		this.#pendingBytes = 0
	}

	/** Writes what waits and cuts the file to its entries. Makes the file when there is none. */
	trim(): void {
		this.write()
		const size = this.#storedCount() * this.#entryBytes
		const file = this.#open()
		if (file.sizeNow() !== size) file.truncateNow(size)
	}

	/** Keeps the first `count` entries. */
	truncate(count: number): void {
		const stored = this.#storedCount()
		if (count < stored) {
			this.#pendingBytes = 0
			this.#stored = count
			this.#open().truncateNow(count * this.#entryBytes)
		} else {
			this.#pendingBytes = Math.min(this.#pendingBytes, (count - stored) * this.#entryBytes)
		}
	}

	async sync(): Promise<void> {
		this.write()
		if (this.#file !== null) await this.#file.sync()
	}

	/** Lets go of descriptor and buffer; entries that wait are written first. */
	close(): void {
		this.write()
		this.#pending = null
		this.abandon()
	}

	/** Lets go without writing: after a disk error, or when the files go away. */
	abandon(): void {
		this.#pendingBytes = 0
		this.#file?.closeNow()
		this.#file = null
	}

	#grow(): void {
		const size = this.#pending === null ? this.#entryBytes * 8 : this.#pending.length * 2
		if (size > PENDING_BYTES) {
			this.write()
			return
		}
		const grown = Buffer.alloc(size)
		if (this.#pending !== null) this.#pending.copy(grown, 0, 0, this.#pendingBytes)
		this.#pending = grown
	}

	#open(): File {
		this.#file ??= this.#disk.openNow(this.path, 'create')
		return this.#file
	}

	/** Counts entries by bisection: after the zero tail, if any, nothing follows. The first entry may be all zero. */
	#storedCount(): number {
		if (this.#stored >= 0) return this.#stored
		let file: File
		try {
			file = this.#file ?? this.#disk.openNow(this.path, 'write')
		} catch (error) {
			if (!(error instanceof DiskError) || error.code !== 'ENOENT') throw error
			this.#stored = 0
			return 0
		}
		this.#file = file
		const total = Math.floor(file.sizeNow() / this.#entryBytes)
		let low = 0
		// A file of one entry is never preallocated: then zeros are a real entry (time 0 at the base offset).
		let high = total === 1 ? 0 : total
		while (low < high) {
			const middle = (low + high) >> 1
			file.readNow(this.#scratch, middle * this.#entryBytes)
			if (this.#scratch.every((byte) => byte === 0)) high = middle
			else low = middle + 1
		}
		this.#stored = total === 1 ? 1 : low
		return this.#stored
	}
}

/** Offsets to file positions. All positions and offsets are absolute at this surface. */
export class OffsetIndex {
	readonly #entries: EntryFile
	readonly #baseOffset: number
	readonly #entriesMax: number
	#isChecked = false

	constructor(disk: Disk, path: string, baseOffset: number, bytesMax: number) {
		this.#entries = new EntryFile(disk, path, 8)
		this.#baseOffset = baseOffset
		this.#entriesMax = Math.floor(bytesMax / 8)
	}

	get path(): string {
		return this.#entries.path
	}

	get count(): number {
		return this.#entries.count
	}

	get isFull(): boolean {
		return this.#entries.count >= this.#entriesMax
	}

	/** `offset` is the last of the appended set that begins at `position`. Offsets must rise. */
	append(offset: number, position: number): void {
		const entry = this.#entries.add()
		entry.writeInt32BE(offset - this.#baseOffset, 0)
		entry.writeInt32BE(position, 4)
	}

	entryAt(index: number): { offset: number; position: number } {
		const entry = this.#entries.read(index)
		return { offset: this.#baseOffset + entry.readInt32BE(0), position: entry.readInt32BE(4) }
	}

	/** Position of the last entry at or below `offset`, 0 when there is none. */
	lookup(offset: number): number {
		this.#check()
		const wanted = offset - this.#baseOffset
		let low = 0
		let high = this.#entries.count
		while (low < high) {
			const middle = (low + high) >>> 1
			if (this.#entries.read(middle).readInt32BE(0) <= wanted) low = middle + 1
			else high = middle
		}
		return low === 0 ? 0 : this.#entries.read(low - 1).readInt32BE(4)
	}

	/** Position of the last entry, 0 when there is none. */
	lastPosition(): number {
		this.#check()
		const count = this.#entries.count
		return count === 0 ? 0 : this.#entries.read(count - 1).readInt32BE(4)
	}

	/** Drops entries at or above `offset` and those whose position is not below `size`. */
	truncate(offset: number, size: number): void {
		let count = this.#entries.count
		while (count > 0) {
			const entry = this.#entries.read(count - 1)
			if (this.#baseOffset + entry.readInt32BE(0) < offset && entry.readInt32BE(4) < size) break
			count--
		}
		this.#entries.truncate(count)
	}

	clear(): void {
		this.#entries.truncate(0)
		this.#isChecked = true
	}

	write(): void {
		this.#entries.write()
	}

	trim(): void {
		this.#entries.trim()
	}

	sync(): Promise<void> {
		return this.#entries.sync()
	}

	close(): void {
		this.#entries.close()
	}

	abandon(): void {
		this.#entries.abandon()
	}

	/** Once, at first use: the last entry may not lie below the base. One that equals the base is right (KAFKA-7076). */
	#check(): void {
		if (this.#isChecked) return
		const count = this.#entries.count
		if (count > 0) {
			const last = this.#entries.read(count - 1)
			const offset = last.readInt32BE(0)
			const position = last.readInt32BE(4)
			if (offset < 0 || position < 0) throw new IndexDamage(this.path, `last entry is ${offset}, ${position}`)
		}
		this.#isChecked = true
	}
}

export interface TimeEntry {
	readonly timestamp: number
	readonly offset: number
}

/** Times to offsets. */
export class TimeIndex {
	readonly #entries: EntryFile
	readonly #baseOffset: number
	readonly #entriesMax: number
	#lastTimestamp: number | null = null

	constructor(disk: Disk, path: string, baseOffset: number, bytesMax: number) {
		this.#entries = new EntryFile(disk, path, 12)
		this.#baseOffset = baseOffset
		this.#entriesMax = Math.floor(bytesMax / 12)
	}

	get path(): string {
		return this.#entries.path
	}

	get count(): number {
		return this.#entries.count
	}

	/** One entry is kept free for the one that closes the segment. */
	get isFull(): boolean {
		return this.#entries.count >= this.#entriesMax - 1
	}

	/** Appends unless the timestamp is not above the last entry's. */
	appendIfLater(timestamp: number, offset: number): void {
		if (timestamp <= this.#last()) return
		const entry = this.#entries.add()
		writeInt64(entry, timestamp, 0)
		entry.writeInt32BE(offset - this.#baseOffset, 8)
		this.#lastTimestamp = timestamp
	}

	entryAt(index: number): TimeEntry {
		const entry = this.#entries.read(index)
		return { timestamp: readInt64(entry, 0), offset: this.#baseOffset + entry.readInt32BE(8) }
	}

	/** Last entry, or (-1, base offset). */
	lastEntry(): TimeEntry {
		const count = this.#entries.count
		return count === 0 ? { timestamp: -1, offset: this.#baseOffset } : this.entryAt(count - 1)
	}

	/** Last entry whose timestamp is at or below `timestamp`, or (-1, base offset). */
	lookup(timestamp: number): TimeEntry {
		let low = 0
		let high = this.#entries.count
		while (low < high) {
			const middle = (low + high) >>> 1
			if (readInt64(this.#entries.read(middle), 0) <= timestamp) low = middle + 1
			else high = middle
		}
		return low === 0 ? { timestamp: -1, offset: this.#baseOffset } : this.entryAt(low - 1)
	}

	/** Drops entries that name an offset at or above `offset`. */
	truncate(offset: number): void {
		let count = this.#entries.count
		while (count > 0 && this.entryAt(count - 1).offset >= offset) count--
		this.#entries.truncate(count)
		this.#lastTimestamp = null
	}

	clear(): void {
		this.#entries.truncate(0)
		this.#lastTimestamp = null
	}

	write(): void {
		this.#entries.write()
	}

	trim(): void {
		this.#entries.trim()
	}

	sync(): Promise<void> {
		return this.#entries.sync()
	}

	close(): void {
		this.#entries.close()
	}

	abandon(): void {
		this.#entries.abandon()
	}

	#last(): number {
		this.#lastTimestamp ??= this.lastEntry().timestamp
		return this.#lastTimestamp
	}
}
