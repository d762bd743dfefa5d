/**
 * Aborted transactions of one segment (`.txnindex`, 19.8): entries of 34 bytes, ascending by the marker's offset; the file
 * is absent when empty. Written at once, as aborts are rare; kept in memory from the first use.
 *
 * int16 version 0, int64 producer id, int64 first offset, int64 last offset (the marker), int64 last stable offset
 */

import { readInt64, writeInt64 } from '../../base/bytes.js'
import { type Disk, DiskError } from '../../runtime/ports.js'
import { IndexDamage } from './sparse-index.js'

export interface AbortedTransaction {
	readonly producerId: bigint
	readonly firstOffset: number
	/** Offset of the abort marker. */
	readonly lastOffset: number
	readonly lastStableOffset: number
}

const ENTRY_BYTES = 34

export function decodeAborted(bytes: Buffer, at: number): AbortedTransaction {
	return {
		producerId: bytes.readBigInt64BE(at + 2),
		firstOffset: readInt64(bytes, at + 10),
		lastOffset: readInt64(bytes, at + 18),
		lastStableOffset: readInt64(bytes, at + 26),
	}
}

function encodeAborted(entry: AbortedTransaction): Buffer {
	const bytes = Buffer.alloc(ENTRY_BYTES)
	bytes.writeBigInt64BE(entry.producerId, 2)
	writeInt64(bytes, entry.firstOffset, 10)
	writeInt64(bytes, entry.lastOffset, 18)
	writeInt64(bytes, entry.lastStableOffset, 26)
	return bytes
}

export class TxnIndex {
	readonly path: string
	readonly #disk: Disk
	#entries: AbortedTransaction[] | null = null

	constructor(disk: Disk, path: string) {
		this.#disk = disk
		this.path = path
	}

	/** All entries, read at first use. Throws {@link IndexDamage} when the file cannot be right. */
	entries(): readonly AbortedTransaction[] {
		this.#entries ??= this.#load()
		return this.#entries
	}

	append(entry: AbortedTransaction): void {
		const entries = this.entries() as AbortedTransaction[]
		const file = this.#disk.openNow(this.path, 'create')
		try {
			file.writeNow([encodeAborted(entry)], entries.length * ENTRY_BYTES)
		} finally {
			file.closeNow()
		}
		entries.push(entry)
	}

	/** Drops entries whose marker is at or above `offset`. */
	truncate(offset: number): void {
		const kept = this.entries().filter((entry) => entry.lastOffset < offset)
		if (kept.length === this.entries().length) return
		this.#entries = kept
		if (kept.length === 0) {
			this.#disk.removeNow(this.path)
			return
		}
		const file = this.#disk.openNow(this.path, 'write')
		try {
			file.truncateNow(kept.length * ENTRY_BYTES)
		} finally {
			file.closeNow()
		}
	}

	/** Empties it without looking at the old content. */
	clear(): void {
		this.#entries = []
		this.#disk.removeNow(this.path)
	}

	async sync(): Promise<void> {
		if (this.#entries === null || this.#entries.length === 0) return
		const file = this.#disk.openNow(this.path, 'write')
		try {
			await file.sync()
		} finally {
			file.closeNow()
		}
	}

	#load(): AbortedTransaction[] {
		let bytes: Buffer
		try {
			bytes = this.#disk.readFileNow(this.path)
		} catch (error) {
			if (error instanceof DiskError && error.code === 'ENOENT') return []
			throw error
		}
		if (bytes.length % ENTRY_BYTES !== 0) throw new IndexDamage(this.path, `${bytes.length} bytes`)
		const entries: AbortedTransaction[] = []
		for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
			if (bytes.readInt16BE(at) !== 0) throw new IndexDamage(this.path, `version ${bytes.readInt16BE(at)} at ${at}`)
			entries.push(decodeAborted(bytes, at))
		}
		return entries
	}
}
