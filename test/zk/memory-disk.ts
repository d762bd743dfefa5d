/**
 * A disk in memory for the storage tests: keeps what was synced apart from what was only written, so that a crash can be
 * had at any point, with any part of the unsynced bytes.
 */

import {
	type DirectoryEntry,
	type Disk,
	DiskError,
	type File,
	type FileStat,
	type OpenMode,
} from '../../src/runtime/ports.js'

interface Content {
	bytes: Buffer
	synced: Buffer
}

export class MemoryDisk implements Disk {
	readonly files = new Map<string, Content>()
	/** Names as the last directory sync left them. */
	#durableNames = new Map<string, Content>()
	/** Syncs wait for {@link releaseSyncs} when true. */
	holdsSyncs = false
	failsSyncs = false
	#held: (() => void)[] = []

	openNow(path: string, mode: OpenMode): File {
		let content = this.files.get(path)
		if (content === undefined) {
			if (mode === 'read' || mode === 'write') throw new DiskError('open', path, 'ENOENT')
			content = { bytes: Buffer.alloc(0), synced: Buffer.alloc(0) }
			this.files.set(path, content)
		} else if (mode === 'fresh' || mode === 'secret') content.bytes = Buffer.alloc(0)
		return new MemoryFile(path, content, this)
	}

	releaseSyncs(): void {
		for (const release of this.#held.splice(0)) release()
	}

	async syncTurn(): Promise<void> {
		if (this.failsSyncs) throw new DiskError('sync', '', 'EIO')
		if (this.holdsSyncs) await new Promise<void>((resolve) => this.#held.push(resolve))
	}

	/** What a power loss leaves: synced bytes, and `extra` more of what was only written. */
	crash(extra: number | 'all' = 0): MemoryDisk {
		const after = new MemoryDisk()
		for (const [path, content] of extra === 'all' ? this.files : this.#durableNames) {
			const { bytes, synced } = content
			const isGrown = bytes.length > synced.length && bytes.subarray(0, synced.length).equals(synced)
			const more = extra === 'all' ? bytes.length : synced.length + extra
			const left = Buffer.from(isGrown ? bytes.subarray(0, more) : synced)
			after.files.set(path, { bytes: left, synced: Buffer.from(left) })
		}
		after.#durableNames = new Map(after.files)
		return after
	}

	statNow(path: string): FileStat | null {
		const content = this.files.get(path)
		if (content === undefined) return null
		return { size: content.bytes.length, modifiedMs: 0, isDirectory: false, inode: 1 }
	}

	listNow(path: string): DirectoryEntry[] {
		const prefix = `${path}/`
		const names = [...this.files.keys()]
			.filter((each) => each.startsWith(prefix))
			.map((each) => each.slice(prefix.length))
		return names.sort().map((name) => ({ name, isDirectory: false }))
	}

	makeDirectoryNow(): void {}

	renameNow(from: string, to: string): void {
		const content = this.files.get(from)
		if (content === undefined) throw new DiskError('rename', from, 'ENOENT')
		this.files.delete(from)
		this.files.set(to, content)
	}

	removeNow(path: string): void {
		this.files.delete(path)
	}

	async removeTree(): Promise<void> {}

	setModifiedNow(): void {}

	syncDirectoryNow(): void {
		this.#durableNames = new Map(this.files)
	}

	readFileNow(path: string): Buffer {
		const content = this.files.get(path)
		if (content === undefined) throw new DiskError('read', path, 'ENOENT')
		return Buffer.from(content.bytes)
	}

	spaceNow(): null {
		return null
	}

	absolute(path: string): string {
		return path
	}

	join(...parts: string[]): string {
		return parts.join('/')
	}
}

class MemoryFile implements File {
	readonly path: string
	readonly #content: Content
	readonly #disk: MemoryDisk

	constructor(path: string, content: Content, disk: MemoryDisk) {
		this.path = path
		this.#content = content
		this.#disk = disk
	}

	sizeNow(): number {
		return this.#content.bytes.length
	}

	readNow(into: Uint8Array, position: number): number {
		return this.#content.bytes.copy(into, 0, position)
	}

	async read(into: Uint8Array, position: number): Promise<number> {
		return this.readNow(into, position)
	}

	writeNow(chunks: readonly Uint8Array[], position: number): void {
		const added = Buffer.concat(chunks)
		const size = Math.max(this.#content.bytes.length, position + added.length)
		const bytes = Buffer.alloc(size)
		this.#content.bytes.copy(bytes)
		added.copy(bytes, position)
		this.#content.bytes = bytes
	}

	async write(chunks: readonly Uint8Array[], position: number): Promise<void> {
		this.writeNow(chunks, position)
	}

	async sync(): Promise<void> {
		const { bytes } = this.#content
		await this.#disk.syncTurn()
		this.#content.synced = bytes
	}

	syncNow(): void {
		this.#content.synced = this.#content.bytes
	}

	truncateNow(size: number): void {
		this.#content.bytes = Buffer.from(this.#content.bytes.subarray(0, size))
	}

	retain(): void {}
	release(): void {}
	closeNow(): void {}
}
