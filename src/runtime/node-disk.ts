/** The disk port over Node's `fs`: positional reads, gather writes, datasync, counted descriptors. */

import * as fs from 'node:fs'
import * as path from 'node:path'
import { assert } from '../base/assert.js'
import { type DirectoryEntry, type Disk, DiskError, type File, type FileStat, type OpenMode } from './ports.js'

/** Linux takes at most 1,024 buffers in one gather write (IOV_MAX). */
const GATHER_MAX = 1024

function failed(operation: string, at: string, error: unknown): DiskError {
	const code = (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'
	return new DiskError(operation, at, code, error)
}

/** Drops the first `bytes` bytes of a list of chunks. */
function after(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
	let left = bytes
	const rest: Uint8Array[] = []
	for (const chunk of chunks) {
		if (left >= chunk.length) left -= chunk.length
		else {
			rest.push(left === 0 ? chunk : chunk.subarray(left))
			left = 0
		}
	}
	return rest
}

class NodeFile implements File {
	readonly path: string
	#fd: number
	#users = 1
	#closed = false

	constructor(at: string, fd: number) {
		this.path = at
		this.#fd = fd
	}

	sizeNow(): number {
		try {
			return fs.fstatSync(this.#fd).size
		} catch (error) {
			throw failed('stat', this.path, error)
		}
	}

	readNow(into: Uint8Array, position: number): number {
		try {
			let done = 0
			while (done < into.length) {
				const read = fs.readSync(this.#fd, into, done, into.length - done, position + done)
				if (read === 0) break
				done += read
			}
			return done
		} catch (error) {
			throw failed('read', this.path, error)
		}
	}

	read(into: Uint8Array, position: number): Promise<number> {
		this.retain()
		return new Promise<number>((resolve, reject) => {
			let done = 0
			const step = (): void => {
				fs.read(this.#fd, into, done, into.length - done, position + done, (error, read) => {
					if (error !== null) {
						this.release()
						reject(failed('read', this.path, error))
						return
					}
					done += read
					if (read > 0 && done < into.length) {
						step()
						return
					}
					this.release()
					resolve(done)
				})
			}
			step()
		})
	}

	writeNow(chunks: readonly Uint8Array[], position: number): void {
		try {
			if (chunks.length === 1) {
				const chunk = chunks[0] as Uint8Array
				let done = 0
				while (done < chunk.length) {
					done += fs.writeSync(this.#fd, chunk, done, chunk.length - done, position + done)
				}
				return
			}
			let rest = chunks
			let at = position
			while (rest.length > 0) {
				const part = rest.length > GATHER_MAX ? rest.slice(0, GATHER_MAX) : rest
				const written = fs.writevSync(this.#fd, part as Uint8Array[], at)
				at += written
				rest = after(rest, written)
			}
		} catch (error) {
			throw failed('write', this.path, error)
		}
	}

	write(chunks: readonly Uint8Array[], position: number): Promise<void> {
		this.retain()
		return new Promise<void>((resolve, reject) => {
			const step = (rest: readonly Uint8Array[], at: number): void => {
				if (rest.length === 0) {
					this.release()
					resolve()
					return
				}
				const part = rest.length > GATHER_MAX ? rest.slice(0, GATHER_MAX) : rest
				fs.writev(this.#fd, part as Uint8Array[], at, (error, written) => {
					if (error !== null) {
						this.release()
						reject(failed('write', this.path, error))
						return
					}
					step(after(rest, written), at + written)
				})
			}
			step(after(chunks, 0), position)
		})
	}

	sync(): Promise<void> {
		this.retain()
		return new Promise<void>((resolve, reject) => {
			fs.fdatasync(this.#fd, (error) => {
				this.release()
				if (error !== null) reject(failed('sync', this.path, error))
				else resolve()
			})
		})
	}

	syncNow(): void {
		try {
			fs.fdatasyncSync(this.#fd)
		} catch (error) {
			throw failed('sync', this.path, error)
		}
	}

	truncateNow(size: number): void {
		try {
			fs.ftruncateSync(this.#fd, size)
		} catch (error) {
			throw failed('truncate', this.path, error)
		}
	}

	retain(): void {
		assert(this.#users > 0, `use of closed file ${this.path}`)
		this.#users++
	}

	release(): void {
		assert(this.#users > 0, `release of closed file ${this.path}`)
		this.#users--
		if (this.#users > 0) return
		const fd = this.#fd
		this.#fd = -1
		try {
			fs.closeSync(fd)
		} catch (error) {
			throw failed('close', this.path, error)
		}
	}

	closeNow(): void {
		if (this.#closed) return
		this.#closed = true
		this.release()
	}
}

const FLAGS: Readonly<Record<OpenMode, number>> = {
	read: fs.constants.O_RDONLY,
	write: fs.constants.O_RDWR,
	create: fs.constants.O_RDWR | fs.constants.O_CREAT,
	fresh: fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_TRUNC,
	secret: fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_TRUNC,
}

/** Node's own `recursive` never ends where a parent exists and still nothing can be made in it (/proc). */
function makeWithParents(at: string): void {
	if (fs.statSync(at, { throwIfNoEntry: false })?.isDirectory() === true) return
	const parent = path.dirname(at)
	if (parent !== at) makeWithParents(parent)
	try {
		fs.mkdirSync(at)
	} catch (error) {
		// Made by another one in between.
		if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !fs.statSync(at).isDirectory()) throw error
	}
}

export class NodeDisk implements Disk {
	openNow(at: string, mode: OpenMode): File {
		try {
			const fd = fs.openSync(at, FLAGS[mode], mode === 'secret' ? 0o600 : 0o644)
			// A file that was there keeps its mode when it is opened.
			if (mode === 'secret') fs.fchmodSync(fd, 0o600)
			return new NodeFile(at, fd)
		} catch (error) {
			throw failed('open', at, error)
		}
	}

	statNow(at: string): FileStat | null {
		try {
			const stat = fs.statSync(at, { throwIfNoEntry: false })
			if (stat === undefined) return null
			return {
				size: stat.size,
				modifiedMs: stat.mtimeMs,
				isDirectory: stat.isDirectory(),
				inode: stat.ino,
			}
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return null
			throw failed('stat', at, error)
		}
	}

	listNow(at: string): DirectoryEntry[] {
		try {
			return fs
				.readdirSync(at, { withFileTypes: true })
				.map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }))
				.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
		} catch (error) {
			throw failed('list', at, error)
		}
	}

	makeDirectoryNow(at: string): void {
		try {
			makeWithParents(path.resolve(at))
		} catch (error) {
			throw failed('mkdir', at, error)
		}
	}

	renameNow(from: string, to: string): void {
		try {
			fs.renameSync(from, to)
		} catch (error) {
			throw failed('rename', from, error)
		}
	}

	removeNow(at: string): void {
		try {
			fs.rmSync(at, { force: true })
		} catch (error) {
			throw failed('remove', at, error)
		}
	}

	removeTree(at: string): Promise<void> {
		return new Promise<void>((resolve, reject) => {
			fs.rm(at, { recursive: true, force: true }, (error) => {
				if (error !== null) reject(failed('remove', at, error))
				else resolve()
			})
		})
	}

	setModifiedNow(at: string, modifiedMs: number): void {
		try {
			fs.utimesSync(at, modifiedMs / 1000, modifiedMs / 1000)
		} catch (error) {
			throw failed('utimes', at, error)
		}
	}

	syncDirectoryNow(at: string): void {
		let fd: number
		try {
			fd = fs.openSync(at, 'r')
		} catch (error) {
			throw failed('sync', at, error)
		}
		try {
			fs.fsyncSync(fd)
		} catch (error) {
			throw failed('sync', at, error)
		} finally {
			fs.closeSync(fd)
		}
	}

	readFileNow(at: string): Buffer {
		try {
			return fs.readFileSync(at)
		} catch (error) {
			throw failed('read', at, error)
		}
	}

	spaceNow(at: string): { totalBytes: number; usableBytes: number } | null {
		try {
			const stat = fs.statfsSync(at)
			return { totalBytes: stat.blocks * stat.bsize, usableBytes: stat.bavail * stat.bsize }
		} catch {
			// Some file systems do not say; Kafka's answer then is -1.
			return null
		}
	}

	absolute(at: string): string {
		return path.resolve(at)
	}

	join(...parts: string[]): string {
		return path.join(...parts)
	}
}
