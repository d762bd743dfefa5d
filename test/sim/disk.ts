/**
 * An in-memory Disk that can fail as real ones do. Writes reach the "page cache" at once; `sync` makes a file's bytes
 * durable, `syncDirectoryNow` its directory's names. A process crash keeps the page cache; a power loss drops, keeps or
 * tears each unsynced write by a seeded choice, and undoes the newest unsynced name changes.
 *
 *     faults: `fail` is asked before every operation and may name a system error code;
 *             `crashAfterBytes` stops the process in the middle of the write that reaches the count.
 */

import {
	type DirectoryEntry,
	type Disk,
	DiskError,
	type File,
	type FileStat,
	type OpenMode,
} from '../../src/runtime/ports.js'

/** The simulated process dies here: nothing may catch it but the test. */
export class SimCrash extends Error {
	override readonly name = 'SimCrash'
}

interface PendingWrite {
	readonly position: number
	readonly bytes: Buffer
}

interface PendingCut {
	readonly size: number
}

class Inode {
	readonly number: number
	readonly isDirectory: boolean
	/** What a reader sees. */
	content: Buffer = Buffer.alloc(0)
	/** What a power loss leaves at least. */
	durable: Buffer = Buffer.alloc(0)
	pending: (PendingWrite | PendingCut)[] = []
	modifiedMs = 0

	constructor(number: number, isDirectory: boolean) {
		this.number = number
		this.isDirectory = isDirectory
	}
}

function applied(content: Buffer, change: PendingWrite | PendingCut): Buffer {
	if ('size' in change) {
		const cut = Buffer.alloc(change.size)
		content.copy(cut, 0, 0, Math.min(content.length, change.size))
		return cut
	}
	const end = change.position + change.bytes.length
	let next: Buffer = content
	if (end > content.length) {
		next = Buffer.alloc(end)
		content.copy(next)
	} else next = Buffer.from(content)
	change.bytes.copy(next, change.position)
	return next
}

/** A name that changed and is not durable yet: how to undo it. */
interface NameChange {
	readonly directory: string
	readonly undo: () => void
}

class SimFile implements File {
	readonly path: string
	readonly #disk: SimDisk
	readonly inode: Inode
	#users = 1
	#isClosed = false
	/** Handles of a process that has died are void. */
	readonly #generation: number

	constructor(disk: SimDisk, path: string, inode: Inode) {
		this.#disk = disk
		this.#generation = disk.generation
		this.path = path
		this.inode = inode
	}

	sizeNow(): number {
		this.#checkAlive()
		this.#disk.ask('stat', this.path)
		return this.inode.content.length
	}

	readNow(into: Uint8Array, position: number): number {
		this.#checkAlive()
		this.#disk.ask('read', this.path)
		const end = Math.min(this.inode.content.length, position + into.length)
		if (end <= position) return 0
		into.set(this.inode.content.subarray(position, end))
		return end - position
	}

	async read(into: Uint8Array, position: number): Promise<number> {
		return this.readNow(into, position)
	}

	writeNow(chunks: readonly Uint8Array[], position: number): void {
		this.#checkAlive()
		this.#disk.write(this.path, this.inode, Buffer.concat(chunks), position)
	}

	async write(chunks: readonly Uint8Array[], position: number): Promise<void> {
		this.writeNow(chunks, position)
	}

	async sync(): Promise<void> {
		this.syncNow()
	}

	syncNow(): void {
		this.#checkAlive()
		this.#disk.ask('sync', this.path)
		this.inode.durable = Buffer.from(this.inode.content)
		this.inode.pending = []
	}

	truncateNow(size: number): void {
		this.#checkAlive()
		this.#disk.ask('truncate', this.path)
		this.#disk.change(this.inode, { size })
	}

	#checkAlive(): void {
		if (this.#generation !== this.#disk.generation) throw new SimCrash(`${this.path} is a dead process's`)
	}

	retain(): void {
		if (this.#users <= 0) throw new Error(`use of closed file ${this.path}`)
		this.#users++
	}

	release(): void {
		if (this.#users <= 0) throw new Error(`release of closed file ${this.path}`)
		this.#users--
		if (this.#users === 0 && this.#generation === this.#disk.generation) this.#disk.openFiles--
	}

	closeNow(): void {
		if (this.#isClosed) return
		this.#isClosed = true
		this.release()
	}
}

export class SimDisk implements Disk {
	readonly #names = new Map<string, Inode>()
	#nameChanges: NameChange[] = []
	#nextInode = 1
	#isDead = false
	/** System error code for an operation about to run, or null to let it pass. */
	fail: (operation: string, path: string) => string | null = () => null
	/** Bytes still to be written before the process dies; Infinity never. */
	crashAfterBytes = Number.POSITIVE_INFINITY
	/** Operations still to be done before the process dies. */
	crashAfterOperations = Number.POSITIVE_INFINITY
	/** Time given to changed files. */
	nowMs = 0
	openFiles = 0
	/** Rises with each restart. */
	generation = 0
	/** Operations so far, for picking a crash point. */
	operations = 0
	bytesWritten = 0

	constructor() {
		this.#names.set('/', new Inode(0, true))
	}

	/** Counts an operation and applies the faults. After a crash nothing works until `restart`. */
	ask(operation: string, path: string): void {
		this.operations++
		if (this.#isDead || this.crashAfterOperations-- <= 0) this.#isDead = true
		if (this.#isDead) throw new SimCrash(`${operation} ${path}`)
		const code = this.fail(operation, path)
		if (code !== null) throw new DiskError(operation, path, code)
	}

	write(path: string, inode: Inode, bytes: Buffer, position: number): void {
		this.ask('write', path)
		this.bytesWritten += bytes.length
		if (bytes.length > this.crashAfterBytes) {
			const some = bytes.subarray(0, this.crashAfterBytes)
			if (some.length > 0) this.change(inode, { position, bytes: Buffer.from(some) })
			this.#isDead = true
			throw new SimCrash(`write ${path}, ${some.length} of ${bytes.length} bytes`)
		}
		this.crashAfterBytes -= bytes.length
		this.change(inode, { position, bytes: Buffer.from(bytes) })
	}

	change(inode: Inode, change: PendingWrite | PendingCut): void {
		inode.content = applied(inode.content, change)
		inode.pending.push(change)
		inode.modifiedMs = this.nowMs
	}

	/** After a crash: faults are off, handles are void, and the disk is what the crash left. `random` decides what is lost. */
	restart(kind: 'process' | 'power', random: () => number): void {
		this.generation++
		this.fail = () => null
		this.#isDead = false
		this.crashAfterBytes = Number.POSITIVE_INFINITY
		this.crashAfterOperations = Number.POSITIVE_INFINITY
		this.openFiles = 0
		if (kind === 'process') return
		const keep = Math.floor(random() * (this.#nameChanges.length + 1))
		for (const change of this.#nameChanges.slice(keep).reverse()) change.undo()
		this.#nameChanges = []
		for (const inode of this.#names.values()) {
			let content: Buffer = inode.durable
			for (const change of inode.pending) {
				const fate = random()
				if (fate < 0.4) continue
				if (fate < 0.6 && 'bytes' in change) {
					const bytes = change.bytes.subarray(0, Math.floor(random() * change.bytes.length))
					content = applied(content, { position: change.position, bytes })
				} else content = applied(content, change)
			}
			inode.content = content
			inode.durable = Buffer.from(content)
			inode.pending = []
		}
	}

	openNow(path: string, mode: OpenMode): File {
		this.ask('open', path)
		let inode = this.#names.get(path)
		if (inode?.isDirectory) throw new DiskError('open', path, 'EISDIR')
		if (inode === undefined) {
			if (mode === 'read' || mode === 'write') throw new DiskError('open', path, 'ENOENT')
			inode = new Inode(this.#nextInode++, false)
			inode.modifiedMs = this.nowMs
			this.#link(path, inode, 'open')
		} else if ((mode === 'fresh' || mode === 'secret') && inode.content.length > 0) this.change(inode, { size: 0 })
		this.openFiles++
		return new SimFile(this, path, inode)
	}

	statNow(path: string): FileStat | null {
		this.ask('stat', path)
		const inode = this.#names.get(path)
		if (inode === undefined) return null
		const { modifiedMs, isDirectory } = inode
		return { size: inode.content.length, modifiedMs, isDirectory, inode: inode.number }
	}

	listNow(path: string): DirectoryEntry[] {
		this.ask('list', path)
		if (!this.#names.get(path)?.isDirectory) throw new DiskError('list', path, 'ENOENT')
		const prefix = path === '/' ? '/' : `${path}/`
		const entries: DirectoryEntry[] = []
		for (const [name, inode] of this.#names) {
			const rest = name.slice(prefix.length)
			if (name.startsWith(prefix) && rest !== '' && !rest.includes('/')) {
				entries.push({ name: rest, isDirectory: inode.isDirectory })
			}
		}
		return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
	}

	makeDirectoryNow(path: string): void {
		this.ask('mkdir', path)
		let at = ''
		for (const part of path.split('/').slice(1)) {
			at += `/${part}`
			const inode = this.#names.get(at)
			if (inode !== undefined && !inode.isDirectory) throw new DiskError('mkdir', at, 'EEXIST')
			if (inode === undefined) this.#link(at, new Inode(this.#nextInode++, true), 'mkdir')
		}
	}

	renameNow(from: string, to: string): void {
		this.ask('rename', from)
		const inode = this.#names.get(from)
		if (inode === undefined) throw new DiskError('rename', from, 'ENOENT')
		const replaced = this.#names.get(to)
		const moved: [string, Inode][] = [...this.#names].filter(([name]) => name === from || name.startsWith(`${from}/`))
		for (const [name, one] of moved) {
			this.#names.delete(name)
			this.#names.set(to + name.slice(from.length), one)
		}
		this.#noteChange(from, () => {
			for (const [name, one] of moved) {
				this.#names.delete(to + name.slice(from.length))
				this.#names.set(name, one)
			}
			if (replaced !== undefined) this.#names.set(to, replaced)
		})
	}

	removeNow(path: string): void {
		this.ask('remove', path)
		const inode = this.#names.get(path)
		if (inode === undefined) return
		this.#names.delete(path)
		this.#noteChange(path, () => this.#names.set(path, inode))
	}

	async removeTree(path: string): Promise<void> {
		this.ask('remove', path)
		for (const name of [...this.#names.keys()]) {
			if (name === path || name.startsWith(`${path}/`)) this.#names.delete(name)
		}
	}

	setModifiedNow(path: string, modifiedMs: number): void {
		this.ask('utimes', path)
		const inode = this.#names.get(path)
		if (inode === undefined) throw new DiskError('utimes', path, 'ENOENT')
		inode.modifiedMs = modifiedMs
	}

	syncDirectoryNow(path: string): void {
		this.ask('sync', path)
		this.#nameChanges = this.#nameChanges.filter((change) => change.directory !== path)
	}

	readFileNow(path: string): Buffer {
		this.ask('read', path)
		const inode = this.#names.get(path)
		if (inode === undefined) throw new DiskError('read', path, 'ENOENT')
		if (inode.isDirectory) throw new DiskError('read', path, 'EISDIR')
		return Buffer.from(inode.content)
	}

	spaceNow(): { totalBytes: number; usableBytes: number } | null {
		return null
	}

	absolute(path: string): string {
		return path.startsWith('/') ? path : `/${path}`
	}

	join(...parts: string[]): string {
		return parts.join('/').replace(/\/+/g, '/')
	}

	#link(path: string, inode: Inode, operation: string): void {
		const parent = path.slice(0, path.lastIndexOf('/')) || '/'
		if (!this.#names.get(parent)?.isDirectory) throw new DiskError(operation, path, 'ENOENT')
		this.#names.set(path, inode)
		this.#noteChange(path, () => this.#names.delete(path))
	}

	#noteChange(path: string, undo: () => void): void {
		this.#nameChanges.push({ directory: path.slice(0, path.lastIndexOf('/')) || '/', undo })
	}
}
