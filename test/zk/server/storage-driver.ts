/** A storage driven as the server drives it, without sockets: for tests of what a crash leaves. */

import type { Disk } from '../../../src/runtime/ports.js'
import { type DataTree, statOf, WORLD_ALL } from '../../../src/zk/server/data-tree.js'
import type { StoredSession } from '../../../src/zk/server/snapshot.js'
import { Storage, type StorageOptions } from '../../../src/zk/server/storage.js'
import { NODE_KIND, type Transaction, type TreeChange } from '../../../src/zk/server/transaction.js'
import { runtime } from '../fixture.js'

export const DIRECTORY = '/data'

/** Applies, appends and flushes as the server does. */
export class StorageDriver {
	readonly tree: DataTree
	readonly storage: Storage
	readonly sessions = new Map<bigint, StoredSession>()
	zxid: number
	durable: number
	failed: unknown = null
	#settle: () => void = () => undefined

	constructor(disk: Disk, options: Partial<StorageOptions> = {}) {
		const { storage, recovered } = Storage.open(
			{ clock: runtime.clock, disk },
			{ directory: DIRECTORY, snapshotTransactions: 1e9, snapshotBytes: 1e9, ...options },
			{
				onDurable: (zxid) => {
					this.durable = zxid
					this.#settle()
				},
				onFailure: (error) => {
					this.failed = error
					this.#settle()
				},
				snapshotHead: () => ({ zxid: this.zxid, lastSessionId: 5n, sessions: [...this.sessions.values()] }),
			},
		)
		this.storage = storage
		this.tree = recovered.tree
		for (const [id, session] of recovered.sessions) this.sessions.set(id, session)
		this.zxid = recovered.zxid
		this.durable = recovered.zxid
	}

	commit(changes: readonly TreeChange[], session: Transaction['session'] = { kind: 'none' }, sessionId = 5n): void {
		const zxid = ++this.zxid
		for (const change of changes) this.tree.apply(change, zxid, 1000 + zxid)
		if (session.kind === 'opened') {
			this.sessions.set(sessionId, { id: sessionId, timeoutMs: session.timeoutMs, password: session.password })
		} else if (session.kind === 'closed') this.sessions.delete(sessionId)
		this.storage.append({ zxid, timeMs: 1000 + zxid, sessionId, cxid: 0, session, changes })
	}

	create(path: string, data = 'x', owner = 0n): void {
		const parent = this.tree.get(path.slice(0, path.lastIndexOf('/')) || '/')
		this.commit([
			{
				kind: 'create',
				path,
				data: Buffer.from(data),
				acl: WORLD_ALL,
				owner,
				nodeKind: NODE_KIND.plain,
				ttlMs: 0,
				counter: (parent?.counter ?? 0) + 1,
			},
		])
	}

	/** Settles when all is durable, or never will be: `failed` says. */
	async flushed(): Promise<void> {
		this.storage.flush()
		while (this.durable < this.zxid && this.failed === null) {
			await new Promise<void>((resolve) => {
				this.#settle = resolve
			})
		}
	}
}

/** Everything a client could see of a tree, as one text. */
export function describeTree(tree: DataTree): string {
	const lines: string[] = []
	for (const [path, node] of tree.entries()) {
		const stat = statOf(node)
		lines.push(
			`${path} ${node.data?.toString() ?? 'null'} ${Object.values(stat).join()} ${[...tree.children(node)].sort().join()}`,
		)
	}
	return lines.sort().join('\n')
}
