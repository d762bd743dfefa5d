/**
 * A disk that keeps what it changes: before the first change of a file, its bytes go to the same path under a backup folder.
 * Whoever repairs works on this one, so that no second list of changed files is needed, and none can be wrong.
 */

import type { DirectoryEntry, Disk, File, FileStat, OpenMode } from '../../../runtime/ports.js'

const COPY_BYTES = 1_048_576

export class BackupDisk implements Disk {
	readonly #disk: Disk
	readonly #root: string
	readonly #folder: string
	/** Paths that were changed: kept, or new and so without anything to keep. */
	readonly #seen = new Set<string>()
	/** Copies made, by the path that they are of. */
	readonly copies = new Map<string, string>()

	/** Files below `root` are kept in `folder`, which is made with the first copy. */
	constructor(disk: Disk, root: string, folder: string) {
		this.#disk = disk
		this.#root = root
		this.#folder = folder
	}

	/** Called before a change of `path`. */
	keep(path: string): void {
		if (this.#seen.has(path)) return
		this.#seen.add(path)
		if (this.#disk.statNow(path) === null) return
		const relative = path.startsWith(this.#root) ? path.slice(this.#root.length) : path
		const target = this.#disk.join(this.#folder, relative)
		this.#disk.makeDirectoryNow(target.replace(/[/\\][^/\\]+$/, ''))
		this.#copy(path, target)
		this.copies.set(path, target)
	}

	#copy(from: string, to: string): void {
		const source = this.#disk.openNow(from, 'read')
		try {
			const target = this.#disk.openNow(to, 'fresh')
			try {
				const block = Buffer.allocUnsafe(COPY_BYTES)
				for (let at = 0; ; ) {
					const read = source.readNow(block, at)
					if (read === 0) break
					target.writeNow([block.subarray(0, read)], at)
					at += read
				}
				target.syncNow()
			} finally {
				target.closeNow()
			}
		} finally {
			source.closeNow()
		}
	}

	openNow(path: string, mode: OpenMode): File {
		if (mode === 'fresh' || mode === 'secret') this.keep(path)
		return new KeptFile(this.#disk.openNow(path, mode), this)
	}

	statNow(path: string): FileStat | null {
		return this.#disk.statNow(path)
	}

	listNow(path: string): DirectoryEntry[] {
		return this.#disk.listNow(path)
	}

	makeDirectoryNow(path: string): void {
		this.#disk.makeDirectoryNow(path)
	}

	renameNow(from: string, to: string): void {
		this.keep(from)
		this.keep(to)
		this.#disk.renameNow(from, to)
	}

	removeNow(path: string): void {
		this.keep(path)
		this.#disk.removeNow(path)
	}

	removeTree(path: string): Promise<void> {
		throw new Error(`a repair removes no folder: ${path}`)
	}

	setModifiedNow(path: string, modifiedMs: number): void {
		this.#disk.setModifiedNow(path, modifiedMs)
	}

	syncDirectoryNow(path: string): void {
		this.#disk.syncDirectoryNow(path)
	}

	readFileNow(path: string): Buffer {
		return this.#disk.readFileNow(path)
	}

	spaceNow(path: string): { totalBytes: number; usableBytes: number } | null {
		return this.#disk.spaceNow(path)
	}

	absolute(path: string): string {
		return this.#disk.absolute(path)
	}

	join(...parts: string[]): string {
		return this.#disk.join(...parts)
	}
}

/** A file of it: opened for anything, copied only when something is written. */
class KeptFile implements File {
	readonly #file: File
	readonly #disk: BackupDisk

	constructor(file: File, disk: BackupDisk) {
		this.#file = file
		this.#disk = disk
	}

	get path(): string {
		return this.#file.path
	}

	sizeNow(): number {
		return this.#file.sizeNow()
	}

	readNow(into: Uint8Array, position: number): number {
		return this.#file.readNow(into, position)
	}

	read(into: Uint8Array, position: number): Promise<number> {
		return this.#file.read(into, position)
	}

	writeNow(chunks: readonly Uint8Array[], position: number): void {
		this.#disk.keep(this.path)
		this.#file.writeNow(chunks, position)
	}

	write(chunks: readonly Uint8Array[], position: number): Promise<void> {
		this.#disk.keep(this.path)
		return this.#file.write(chunks, position)
	}

	sync(): Promise<void> {
		return this.#file.sync()
	}

	syncNow(): void {
		this.#file.syncNow()
	}

	truncateNow(size: number): void {
		if (size !== this.#file.sizeNow()) this.#disk.keep(this.path)
		this.#file.truncateNow(size)
	}

	retain(): void {
		this.#file.retain()
	}

	release(): void {
		this.#file.release()
	}

	closeNow(): void {
		this.#file.closeNow()
	}
}
