/**
 * Every effect the program has, as interfaces: time, randomness, disk, network. Only `runtime/node-*.ts` and the
 * simulator implement them; all other code receives them. Nothing else may touch `Date`, timers, `fs`, `net`,
 * `crypto` randomness or `process` (held by `test/tidy.test.ts`).
 */

import type { Compression } from '../base/compression.js'

/** A pending timer. `cancel` is idempotent; after it the callback never runs. */
export interface Timer {
	cancel(): void
}

export interface Clock {
	/** Milliseconds since 1970, whole. May jump. For timestamps that others see. */
	wallMs(): number
	/** Milliseconds of a clock that never goes back, with fractions. For durations and deadlines. */
	monotonicMs(): number
	/** Calls `callback` once after at least `ms` (0 or more) of monotonic time. Never runs it synchronously. */
	after(ms: number, callback: () => void): Timer
	/** Calls `callback` after this turn's microtasks and pending I/O: the way to give way in long work. */
	soon(callback: () => void): void
}

export interface Random {
	/** Uniform in [0, 1). */
	next(): number
	/** `count` random bytes, fit for ids and secrets. */
	bytes(count: number): Buffer
}

/**
 * How a file is opened. `create` makes it when absent and keeps it when present; `fresh` empties it; `secret` too, and it
 * is its owner's alone.
 */
export type OpenMode = 'read' | 'write' | 'create' | 'fresh' | 'secret'

export interface FileStat {
	readonly size: number
	readonly modifiedMs: number
	readonly isDirectory: boolean
	readonly inode: number
}

export interface DirectoryEntry {
	readonly name: string
	readonly isDirectory: boolean
}

/**
 * A disk operation failed. `code` is the system's (ENOSPC, EIO, EACCES, ENOENT, EEXIST …), `operation` what was tried,
 * `path` where. Thrown by every call of {@link Disk} and {@link File}.
 */
export class DiskError extends Error {
	override readonly name = 'DiskError'
	constructor(
		readonly operation: string,
		readonly path: string,
		readonly code: string,
		override readonly cause?: unknown,
	) {
		super(`${operation} ${path}: ${code}`)
	}
}

/**
 * An open file, positional throughout (no cursor). Calls that end in `Now` are synchronous: they reach the page cache,
 * and are the default on hot paths, where a thread-pool hop costs more than the call
 * (`docs/adr/0005-synchronous-writes.md`).
 */
export interface File {
	readonly path: string
	/** Current size in bytes, from the system. */
	sizeNow(): number
	/** Reads into `into` from `position`; returns bytes read, short only at the end of the file. */
	readNow(into: Uint8Array, position: number): number
	read(into: Uint8Array, position: number): Promise<number>
	/** Gather write of all `chunks` at `position`; short writes are continued. On an error the tail's state is unknown. */
	writeNow(chunks: readonly Uint8Array[], position: number): void
	/** As `writeNow`, through the pool. The chunks may not change until it settles. */
	write(chunks: readonly Uint8Array[], position: number): Promise<void>
	/** Data (and the size that is needed to read it) is on stable storage when it settles. */
	sync(): Promise<void>
	syncNow(): void
	/** Cuts or extends (with zeros) to `size`. */
	truncateNow(size: number): void
	/** One more user of the descriptor; `close` takes effect when all have let go. */
	retain(): void
	release(): void
	/** Lets go of the opener's own hold. Idempotent. */
	closeNow(): void
}

export interface Disk {
	openNow(path: string, mode: OpenMode): File
	/** Null when there is nothing at `path`. */
	statNow(path: string): FileStat | null
	/** Entries of a directory, in byte order of their names. */
	listNow(path: string): DirectoryEntry[]
	/** Makes `path` and its missing parents. No error when present. */
	makeDirectoryNow(path: string): void
	renameNow(from: string, to: string): void
	/** Removes a file; no error when absent. */
	removeNow(path: string): void
	/** Removes a directory with all in it; no error when absent. */
	removeTree(path: string): Promise<void>
	/** Gives a file the time of its last change, in ms since 1970. */
	setModifiedNow(path: string, modifiedMs: number): void
	/** Makes renames, creations and removals in this directory durable. */
	syncDirectoryNow(path: string): void
	/** Whole content of a small file. */
	readFileNow(path: string): Buffer
	/** Total and usable bytes of the volume, or null where the system does not say. */
	spaceNow(path: string): { totalBytes: number; usableBytes: number } | null
	/** Absolute form of `path`; `join` with the platform's separator. */
	absolute(path: string): string
	join(...parts: string[]): string
}

/** TLS for one end of a connection; texts are PEM. */
export interface TlsOptions {
	readonly ca?: string
	readonly cert?: string
	readonly key?: string
	readonly passphrase?: string
	/** Name to send and check; default is the host that was dialled. */
	readonly serverName?: string
	/** Certificate and key in one PKCS12 file, opened by the passphrase. */
	readonly pkcs12?: Buffer
	/** False takes any certificate. */
	readonly verify?: boolean
	/** False takes a trusted certificate whatever host it names. */
	readonly verifyHost?: boolean
	/** Server side: ask the client for a certificate, and refuse it without one. */
	readonly clientAuth?: 'none' | 'requested' | 'required'
}

/** Hashes and keys for authentication. Implemented by `runtime/node-digest.ts`. */
export interface Digest {
	hash(name: DigestName, data: Uint8Array): Buffer
	hmac(name: DigestName, key: Uint8Array, data: Uint8Array): Buffer
	/** PBKDF2 with HMAC, as long as the hash; off the event loop. */
	deriveKey(name: DigestName, password: Uint8Array, salt: Uint8Array, iterations: number): Promise<Buffer>
	/** Equal, in a time that does not tell where they differ. */
	equal(a: Uint8Array, b: Uint8Array): boolean
}

export type DigestName = 'sha256' | 'sha512'

/** A network operation failed; `code` is the system's (ECONNREFUSED, EADDRINUSE, ETIMEDOUT …) or a TLS code. */
export class NetworkError extends Error {
	override readonly name = 'NetworkError'
	constructor(
		readonly operation: string,
		readonly address: string,
		readonly code: string,
		override readonly cause?: unknown,
	) {
		super(`${operation} ${address}: ${code}${cause instanceof Error && cause.message ? ` (${cause.message})` : ''}`)
	}
}

/** Where a socket's bytes go, without a buffer a read: `space` is asked before each read, `received` told after it. */
export interface ReadSink {
	/** Room for the next bytes, at least one. The bytes of `received` stand at its start. */
	space(): Buffer
	received(count: number): void
}

/**
 * One side of a connection. The owner sets both handlers before the turn ends in which it got the socket; until then
 * nothing is delivered.
 */
export interface Socket {
	readonly remoteAddress: string
	readonly remotePort: number
	readonly localAddress: string
	readonly localPort: number
	/** Chunks as they come; the receiver owns them. Either this or {@link readInto}. */
	onData(handler: (chunk: Buffer) => void): void
	/** Reads into the owner's memory: for the hot path, where a buffer a read would be garbage by the gigabyte. */
	readInto(sink: ReadSink): void
	/** Once, after the last data: null for an orderly end by either side, else what broke it. */
	onClose(handler: (error: NetworkError | null) => void): void
	/** Called each time the bytes that wait to be sent have fallen to zero after `write` returned false. */
	onDrain(handler: () => void): void
	/**
	 * Sends the chunks in order, gathered. False when the peer is slow: wait for `onDrain` before sending much more.
	 * `onSent`: the system has taken all of them (or the connection is gone), and their memory may be used again.
	 */
	write(chunks: readonly Uint8Array[], onSent?: () => void): boolean
	/** Bytes given to `write` that the system has not taken yet. */
	readonly pendingBytes: number
	pause(): void
	resume(): void
	/** Sends what waits, then closes. */
	end(): void
	/** Closes at once; what waits is dropped. `onClose` follows. */
	destroy(): void
}

export interface Listener {
	readonly address: string
	/** The real port, also when 0 was asked for. */
	readonly port: number
	/** Stops taking connections; those already taken live on. */
	close(): Promise<void>
}

export interface ListenOptions {
	readonly host: string
	readonly port: number
	readonly backlog?: number
	/** The owner of every socket will call `readInto`. */
	readonly readsIntoMemory?: boolean
	readonly tls?: TlsOptions
}

export interface ConnectOptions {
	readonly host: string
	readonly port: number
	readonly timeoutMs: number
	readonly tls?: TlsOptions
}

export interface Network {
	/** Rejects with {@link NetworkError} (EADDRINUSE, EACCES …). */
	listen(options: ListenOptions, onSocket: (socket: Socket) => void): Promise<Listener>
	/** Rejects with {@link NetworkError} (ECONNREFUSED, ETIMEDOUT, ENOTFOUND …). */
	connect(options: ConnectOptions): Promise<Socket>
}

/** A name held by this process; let go by `release`, or by the system when the process ends. */
export interface HostClaim {
	release(): Promise<void>
}

/** What a process can know of its machine, and the names it can hold there against other processes. */
export interface Host {
	readonly pid: number
	/** When the process began, ms since 1970. */
	readonly startedMs: number
	/** Changes with each boot of the machine; empty where the system does not say. */
	readonly bootId: string
	/** Claims a directory for this process; null when another live process has it. */
	claim(directory: string): Promise<HostClaim | null>
	/** Process that holds an advisory lock on the file with this inode; null when none, or where the system does not say. */
	lockHolder(inode: number): number | null
}

/** All ports together, as every part of the program receives them. */
export interface Runtime {
	readonly clock: Clock
	readonly random: Random
	readonly disk: Disk
	readonly network: Network
	readonly host: Host
	readonly compression: Compression
}
