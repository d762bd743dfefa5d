/**
 * The `.snapshot` files of one partition: which offsets have one, writing, reading, dropping (5.17, 19.9, 20.5). A file
 * that cannot be read is removed, and the next older one is used.
 */

import type { Logger } from '../../runtime/logger.js'
import { errorText } from '../../runtime/logger.js'
import { type Disk, DiskError } from '../../runtime/ports.js'
import { decodeSnapshot, encodeSnapshot, type ProducerSnapshotEntry, SnapshotDamage } from './producer-snapshot.js'
import type { ProducerState } from './producer-state.js'
import { segmentName } from './segment.js'

const ENDING = '.snapshot'

export interface LoadedSnapshot {
	readonly offset: number
	readonly entries: readonly ProducerSnapshotEntry[]
}

export class SnapshotFiles {
	readonly #disk: Disk
	readonly #logger: Logger
	#directory: string
	/** Ascending. */
	#offsets: number[]

	/** `offsets` are those of the files found in the folder. */
	constructor(disk: Disk, logger: Logger, directory: string, offsets: readonly number[]) {
		this.#disk = disk
		this.#logger = logger
		this.#directory = directory
		this.#offsets = [...offsets].sort((a, b) => a - b)
	}

	get offsets(): readonly number[] {
		return this.#offsets
	}

	get latest(): number | null {
		return this.#offsets[this.#offsets.length - 1] ?? null
	}

	moved(directory: string): void {
		this.#directory = directory
	}

	/** Writes the state at its end offset; false when that snapshot is the newest already. */
	write(state: ProducerState): boolean {
		const offset = state.endOffset
		const latest = this.latest ?? 0
		if (offset <= latest) return false
		const file = this.#disk.openNow(this.#path(offset), 'fresh')
		try {
			file.writeNow([encodeSnapshot(state.snapshot())], 0)
		} finally {
			file.closeNow()
		}
		this.#offsets.push(offset)
		return true
	}

	/** Newest readable snapshot at or below `offset`; null when there is none. */
	load(offset: number): LoadedSnapshot | null {
		for (let i = this.#offsets.length - 1; i >= 0; i--) {
			const at = this.#offsets[i] as number
			if (at > offset) continue
			try {
				return { offset: at, entries: decodeSnapshot(this.#disk.readFileNow(this.#path(at))) }
			} catch (error) {
				if (!(error instanceof SnapshotDamage) && !(error instanceof DiskError && error.code === 'ENOENT')) throw error
				this.#logger.warn('producer snapshot is damaged, it is dropped', {
					path: this.#path(at),
					error: errorText(error),
				})
				this.#remove(at)
			}
		}
		return null
	}

	removeAbove(offset: number): void {
		for (const at of this.#offsets.filter((one) => one > offset)) this.#remove(at)
	}

	/** Drops those below `offset`. */
	removeBelow(offset: number): void {
		for (const at of this.#offsets.filter((one) => one < offset)) this.#remove(at)
	}

	/** Drops the one at `offset`, if there is one: the segment that began there is merged into another. */
	remove(offset: number): void {
		if (this.#offsets.includes(offset)) this.#remove(offset)
	}

	removeAll(): void {
		for (const at of [...this.#offsets]) this.#remove(at)
	}

	/** Keeps those at a segment's base and the newest, if that lies above the last base. */
	removeStray(bases: ReadonlySet<number>): void {
		const newest = this.latest
		for (const at of [...this.#offsets]) if (at !== newest && !bases.has(at)) this.#remove(at)
	}

	async syncLatest(): Promise<void> {
		const latest = this.latest
		if (latest === null) return
		const file = this.#disk.openNow(this.#path(latest), 'write')
		try {
			await file.sync()
		} finally {
			file.closeNow()
		}
	}

	#path(offset: number): string {
		return this.#disk.join(this.#directory, `${segmentName(offset)}${ENDING}`)
	}

	#remove(offset: number): void {
		this.#disk.removeNow(this.#path(offset))
		this.#offsets = this.#offsets.filter((one) => one !== offset)
	}
}
