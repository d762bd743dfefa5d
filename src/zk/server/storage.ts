/**
 * Durability of the server: a transaction log with group commit, snapshots, recovery. The processor appends
 * transactions that it has applied; replies wait in the server until `onDurable` tells that their zxid is synced.
 *
 * One batch is under way at a time: one frame, one gather write, one sync; what comes meanwhile makes the next batch.
 * So only the last frame of the last log can be broken by a crash, and nothing in it was acknowledged: recovery cuts it.
 * A broken frame with a right one behind it is damage, and the server refuses to start.
 *
 * Files: `log.<first zxid, 16 hex digits>` and `snapshot.<zxid>`; `snapshot.tmp` is a snapshot under way. The three
 * newest snapshots are kept, and all logs from the oldest of them on.
 */

import { assert } from '../../base/assert.js'
import { type Clock, type Disk, DiskError, type File } from '../../runtime/ports.js'
import { JuteReader } from '../jute.js'
import type { DataTree } from './data-tree.js'
import { logName, snapshotName, zxidOf } from './files.js'
import { frameOf } from './frames.js'
import { type Recovered, recover } from './recovery.js'
import { type SnapshotHead, writeSnapshot } from './snapshot.js'
import { encodeTransaction, type Transaction, transaction } from './transaction.js'

export interface StorageRuntime {
	readonly clock: Clock
	readonly disk: Disk
}

export interface StorageOptions {
	readonly directory: string
	/** A snapshot is begun after this many transactions, or this many bytes of log. */
	readonly snapshotTransactions: number
	readonly snapshotBytes: number
}

export interface StorageEvents {
	/** All transactions up to `zxid` are on stable storage. */
	onDurable(zxid: number): void
	/** The disk failed: nothing more becomes durable. */
	onFailure(error: unknown): void
	/** What a snapshot of this moment has beside the tree. */
	snapshotHead(): SnapshotHead
}

const SNAPSHOTS_KEPT = 3

export class Storage {
	readonly #runtime: StorageRuntime
	readonly #options: StorageOptions
	readonly #events: StorageEvents
	readonly #tree: DataTree
	#log: File | null
	#position: number
	#pending: Buffer[] = []
	#appendedZxid: number
	#durableZxid: number
	#isSyncing = false
	#isStopped = false
	#hasFailed = false
	#transactionsSince = 0
	#bytesSince = 0
	#snapshot: Promise<void> | null = null
	/** Called when everything appended so far is durable, or never will be. */
	#waiters: { zxid: number; resolve: () => void }[] = []
	#syncs = 0

	private constructor(runtime: StorageRuntime, options: StorageOptions, events: StorageEvents, recovered: Recovered) {
		this.#runtime = runtime
		this.#options = options
		this.#events = events
		this.#tree = recovered.tree
		this.#appendedZxid = recovered.zxid
		this.#durableZxid = recovered.zxid
		this.#log = null
		this.#position = recovered.logBytes
		this.#bytesSince = recovered.logBytes
		if (recovered.logName !== null) {
			this.#log = runtime.disk.openNow(runtime.disk.join(options.directory, recovered.logName), 'write')
		}
	}

	/** Recovers what `directory` holds (made when absent) and opens it for appending. */
	static open(
		runtime: StorageRuntime,
		options: StorageOptions,
		events: StorageEvents,
	): { storage: Storage; recovered: Recovered } {
		runtime.disk.makeDirectoryNow(options.directory)
		const recovered = recover(runtime.disk, options.directory)
		return { storage: new Storage(runtime, options, events, recovered), recovered }
	}

	get durableZxid(): number {
		return this.#durableZxid
	}

	get appendedZxid(): number {
		return this.#appendedZxid
	}

	/** Syncs done, for metrics. */
	get syncs(): number {
		return this.#syncs
	}

	/** Bytes of all snapshots and of all logs. Asks the disk for each file. */
	get diskBytes(): { snapshotBytes: number; logBytes: number } {
		const { disk } = this.#runtime
		const { directory } = this.#options
		const sum = { snapshotBytes: 0, logBytes: 0 }
		for (const { name } of disk.listNow(directory)) {
			const size = disk.statNow(disk.join(directory, name))?.size ?? 0
			if (zxidOf(name, 'snapshot') !== null) sum.snapshotBytes += size
			else if (zxidOf(name, 'log') !== null) sum.logBytes += size
		}
		return sum
	}

	/** Adds a transaction to the next batch. {@link flush} sends it on its way. */
	append(value: Transaction): void {
		assert(value.zxid === this.#appendedZxid + 1, 'zxids are dense')
		const bytes = encodeTransaction(value)
		// What is written must be what recovery reads: checked where it is cheap, on the small.
		if (bytes.length < 512)
			assert(transaction.read(new JuteReader(bytes)).zxid === value.zxid, 'transaction reads back')
		this.#pending.push(bytes)
		this.#appendedZxid = value.zxid
		this.#transactionsSince++
		this.#bytesSince += bytes.length
	}

	/** Begins to write what was appended, unless a batch is under way (which then takes it along). */
	flush(): void {
		if (this.#isSyncing || this.#hasFailed || this.#pending.length === 0) return
		this.#isSyncing = true
		const batch = this.#pending
		const zxid = this.#appendedZxid
		this.#pending = []
		void this.#writeBatch(batch, zxid).then(
			() => this.#batchDone(zxid),
			(error: unknown) => this.#fail(error),
		)
	}

	/** Writes what waits, ends a snapshot under way, closes the log. Settles also when the disk failed. */
	async close(): Promise<void> {
		this.flush()
		await this.#durable(this.#appendedZxid)
		this.#isStopped = true
		await this.#snapshot
		this.#log?.closeNow()
		this.#log = null
	}

	async #writeBatch(batch: readonly Buffer[], zxid: number): Promise<void> {
		const isNew = this.#log === null
		this.#log ??= this.#openLog(zxid - batch.length + 1)
		const log = this.#log
		const chunks = frameOf(batch)
		log.writeNow(chunks, this.#position)
		for (const chunk of chunks) this.#position += chunk.length
		await log.sync()
		if (isNew) this.#runtime.disk.syncDirectoryNow(this.#options.directory)
		this.#syncs++
	}

	#openLog(firstZxid: number): File {
		this.#position = 0
		return this.#runtime.disk.openNow(this.#runtime.disk.join(this.#options.directory, logName(firstZxid)), 'fresh')
	}

	#batchDone(zxid: number): void {
		this.#isSyncing = false
		this.#durableZxid = zxid
		const { snapshotTransactions, snapshotBytes } = this.#options
		if (this.#transactionsSince >= snapshotTransactions || this.#bytesSince >= snapshotBytes) this.#beginSnapshot()
		this.#settleWaiters()
		this.#events.onDurable(zxid)
		this.flush()
	}

	#fail(error: unknown): void {
		this.#hasFailed = true
		this.#isSyncing = false
		this.#settleWaiters()
		this.#events.onFailure(error)
	}

	#durable(zxid: number): Promise<void> {
		if (this.#hasFailed || zxid <= this.#durableZxid) return Promise.resolve()
		return new Promise((resolve) => this.#waiters.push({ zxid, resolve }))
	}

	#settleWaiters(): void {
		const due = this.#waiters.filter(({ zxid }) => this.#hasFailed || zxid <= this.#durableZxid)
		if (due.length === 0) return
		this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter))
		for (const { resolve } of due) resolve()
	}

	/** Between two batches: the log that was written so far is closed, the next batch opens a new one. */
	#beginSnapshot(): void {
		if (this.#snapshot !== null || this.#isStopped) return
		this.#log?.closeNow()
		this.#log = null
		this.#transactionsSince = 0
		this.#bytesSince = 0
		this.#snapshot = this.#takeSnapshot().then(
			() => {
				this.#snapshot = null
			},
			(error: unknown) => {
				this.#snapshot = null
				if (isFull(error)) this.#giveUpSnapshot()
				else this.#fail(error)
			},
		)
	}

	/** No room for a snapshot: the log has everything and goes on; the next snapshot is tried when it is due again. */
	#giveUpSnapshot(): void {
		const { disk } = this.#runtime
		disk.removeNow(disk.join(this.#options.directory, 'snapshot.tmp'))
	}

	async #takeSnapshot(): Promise<void> {
		const { disk, clock } = this.#runtime
		const { directory } = this.#options
		const temporary = disk.join(directory, 'snapshot.tmp')
		const head = this.#events.snapshotHead()
		const file = disk.openNow(temporary, 'fresh')
		try {
			const isStopped = (): boolean => this.#isStopped || this.#hasFailed
			const written = await writeSnapshot(file, clock, head, this.#tree, () => this.#appendedZxid, isStopped)
			if (written === null) return
			await file.sync()
			// A snapshot may not show what a crash could still undo.
			this.flush()
			await this.#durable(written.endZxid)
			if (isStopped()) return
		} finally {
			file.closeNow()
		}
		disk.renameNow(temporary, disk.join(directory, snapshotName(head.zxid)))
		disk.syncDirectoryNow(directory)
		removeOld(disk, directory)
	}
}

function isFull(error: unknown): boolean {
	return error instanceof DiskError && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}

/** Removes all but the newest snapshots, and logs whose transactions all stand in the oldest one kept. */
function removeOld(disk: Disk, directory: string): void {
	const names = disk.listNow(directory).map(({ name }) => name)
	const snapshots = names.filter((name) => zxidOf(name, 'snapshot') !== null)
	const dropped = snapshots.slice(0, Math.max(0, snapshots.length - SNAPSHOTS_KEPT))
	for (const name of dropped) disk.removeNow(disk.join(directory, name))
	const oldest = snapshots[dropped.length]
	if (oldest === undefined || dropped.length === 0) return
	const keepFrom = (zxidOf(oldest, 'snapshot') ?? 0) + 1
	const logs = names.filter((name) => zxidOf(name, 'log') !== null)
	for (const [index, name] of logs.entries()) {
		const next = logs[index + 1]
		// The next log begins where this one ends.
		if (next !== undefined && (zxidOf(next, 'log') ?? 0) <= keepFrom) disk.removeNow(disk.join(directory, name))
	}
}
