/**
 * The tree of znodes in memory: pure, no I/O, no clock. The processor checks a request against it, makes a transaction,
 * and applies that. Changes can be taken back (multi), and applied again over a newer state (replay after a snapshot
 * that was written while the server ran).
 *
 * Kept for each node as Apache does: `counter` counts creates of direct children and never falls, the shown cversion is
 * `2 * counter - children`. The four built-in nodes were never counted, hence root's -1.
 */

import { assert, present } from '../../base/assert.js'
import type { AclRecord, StatRecord } from '../messages.js'
import { dataLength, type NodeData, packData } from './node-data.js'
import { joinPath, nameOf, parentOf } from './paths.js'
import { type CreateChange, NODE_KIND, type NodeKind, type TreeChange } from './transaction.js'

const NO_CHILDREN: ReadonlySet<string> = new Set()

export interface Znode {
	data: NodeData
	acl: readonly AclRecord[]
	czxid: number
	mzxid: number
	pzxid: number
	ctime: number
	mtime: number
	version: number
	aversion: number
	counter: number
	owner: bigint
	kind: NodeKind
	ttlMs: number
	/** Names of the direct children; null until there is one. */
	children: Set<string> | null
}

/** What a change replaced, to take it back. */
interface Undo {
	readonly path: string
	/** The node itself as it stood, and a copy of its fields. Null when there was none. */
	readonly node: Znode | null
	readonly before: Znode | null
	readonly parent: Znode | null
	readonly parentCounter: number
	readonly parentPzxid: number
}

export const WORLD_ALL: readonly AclRecord[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const WORLD_READ: readonly AclRecord[] = [{ perms: 1, id: { scheme: 'world', id: 'anyone' } }]

/** Nodes that are always there and cannot be removed. */
export const SYSTEM_PATHS: ReadonlySet<string> = new Set(['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config'])

export class DataTree {
	readonly #nodes = new Map<string, Znode>()
	/** Ephemeral paths by session. */
	readonly #ephemerals = new Map<bigint, Set<string>>()
	#dataBytes = 0
	#ephemeralCount = 0
	/** Containers and TTL nodes, which the sweeper visits. */
	readonly expirable = new Set<string>()

	constructor() {
		for (const path of SYSTEM_PATHS) this.#nodes.set(path, emptyNode())
		present(this.#nodes.get('/'), 'root').children = new Set(['zookeeper'])
		present(this.#nodes.get('/zookeeper'), 'system').children = new Set(['config', 'quota'])
		const config = present(this.#nodes.get('/zookeeper/config'), 'config')
		config.acl = WORLD_READ
		config.aversion = -1
	}

	get size(): number {
		return this.#nodes.size
	}

	get ephemeralCount(): number {
		return this.#ephemeralCount
	}

	/** Bytes of paths and data, roughly what the nodes hold. */
	get approximateBytes(): number {
		return this.#dataBytes
	}

	get(path: string): Znode | undefined {
		return this.#nodes.get(path)
	}

	/** Live view: a snapshot walks it in slices while changes go on. */
	entries(): IterableIterator<[string, Znode]> {
		return this.#nodes.entries()
	}

	children(node: Znode): ReadonlySet<string> {
		return node.children ?? NO_CHILDREN
	}

	/** Ephemeral paths of a session, in order of creation. */
	ephemeralsOf(sessionId: bigint): string[] {
		return [...(this.#ephemerals.get(sessionId) ?? [])]
	}

	sessionsWithEphemerals(): IterableIterator<[bigint, Set<string>]> {
		return this.#ephemerals.entries()
	}

	/** Descendants of `path`, not counting itself. */
	countBelow(path: string): number {
		const node = this.#nodes.get(path)
		let count = 0
		for (const name of node?.children ?? NO_CHILDREN) count += 1 + this.countBelow(joinPath(path, name))
		return count
	}

	/** Applies a change that was checked against this very state, and returns how to take it back. */
	apply(change: TreeChange, zxid: number, timeMs: number): Undo {
		const node = this.#nodes.get(change.path) ?? null
		const parentPath = change.kind === 'create' || change.kind === 'remove' ? parentOf(change.path) : null
		const parent = parentPath === null ? null : (this.#nodes.get(parentPath) ?? null)
		const undo: Undo = {
			path: change.path,
			node,
			before: node === null ? null : { ...node },
			parent,
			parentCounter: parent?.counter ?? 0,
			parentPzxid: parent?.pzxid ?? 0,
		}
		if (change.kind === 'create') {
			assert(node === null && parent !== null, `create ${change.path} was checked`)
			this.#insert(change.path, newNode(change, zxid, timeMs), parent)
			parent.counter = change.counter
			parent.pzxid = zxid
		} else if (change.kind === 'remove') {
			assert(node !== null && parent !== null, `remove ${change.path} was checked`)
			this.#take(change.path, node, parent)
			parent.pzxid = zxid
		} else if (change.kind === 'set') {
			assert(node !== null, `set ${change.path} was checked`)
			this.#setData(node, change.data)
			node.version = change.version
			node.mzxid = zxid
			node.mtime = timeMs
		} else {
			assert(node !== null, `setAcl ${change.path} was checked`)
			node.acl = sharedAcl(change.acl)
			node.aversion = change.aversion
		}
		return undo
	}

	/** Takes back the newest change. */
	revert(undo: Undo): void {
		const current = this.#nodes.get(undo.path) ?? null
		if (undo.node === null || undo.before === null) {
			if (current !== null && undo.parent !== null) this.#take(undo.path, current, undo.parent)
		} else {
			if (current === null && undo.parent !== null) this.#insert(undo.path, undo.node, undo.parent)
			this.#dataBytes += dataLength(undo.before.data) - dataLength(undo.node.data)
			Object.assign(undo.node, undo.before)
		}
		if (undo.parent !== null) {
			undo.parent.counter = undo.parentCounter
			undo.parent.pzxid = undo.parentPzxid
		}
	}

	/**
	 * Applies a change during recovery, when the state may already hold it or something newer: each field ends as its
	 * last change in the log left it. Children are joined to their parents by {@link link} at the end.
	 */
	replay(change: TreeChange, zxid: number, timeMs: number): void {
		const node = this.#nodes.get(change.path)
		const parent = change.kind === 'create' || change.kind === 'remove' ? this.#parent(change.path) : undefined
		if (change.kind === 'create') {
			if (node !== undefined) this.#forget(change.path, node)
			this.#remember(change.path, newNode(change, zxid, timeMs))
			if (parent !== undefined) parent.counter = Math.max(parent.counter, change.counter)
		} else if (change.kind === 'remove') {
			if (node !== undefined) this.#forget(change.path, node)
		} else if (node !== undefined && change.kind === 'set') {
			this.#setData(node, change.data)
			node.version = change.version
			node.mzxid = zxid
			node.mtime = timeMs
		} else if (node !== undefined && change.kind === 'setAcl') {
			node.acl = sharedAcl(change.acl)
			node.aversion = change.aversion
		}
		if (parent !== undefined) parent.pzxid = Math.max(parent.pzxid, zxid)
	}

	/** Puts a node as a snapshot holds it; the system nodes are replaced. */
	load(path: string, node: Znode): void {
		const present = this.#nodes.get(path)
		if (present !== undefined) this.#forget(path, present)
		this.#remember(path, node)
	}

	/** Joins all nodes to their parents after recovery. Returns a path whose parent is missing, or null. */
	link(): string | null {
		for (const node of this.#nodes.values()) node.children = null
		for (const path of this.#nodes.keys()) {
			if (path === '/') continue
			const parent = this.#parent(path)
			if (parent === undefined) return path
			parent.children ??= new Set()
			parent.children.add(nameOf(path))
		}
		return null
	}

	#parent(path: string): Znode | undefined {
		const parent = parentOf(path)
		return parent === null ? undefined : this.#nodes.get(parent)
	}

	#insert(path: string, node: Znode, parent: Znode): void {
		this.#remember(path, node)
		parent.children ??= new Set()
		parent.children.add(nameOf(path))
	}

	#take(path: string, node: Znode, parent: Znode): void {
		this.#forget(path, node)
		parent.children?.delete(nameOf(path))
	}

	#remember(path: string, node: Znode): void {
		this.#nodes.set(path, node)
		this.#dataBytes += path.length + dataLength(node.data)
		if (node.kind !== NODE_KIND.plain) this.expirable.add(path)
		if (node.owner === 0n) return
		this.#ephemeralCount++
		const paths = this.#ephemerals.get(node.owner)
		if (paths === undefined) this.#ephemerals.set(node.owner, new Set([path]))
		else paths.add(path)
	}

	#forget(path: string, node: Znode): void {
		this.#nodes.delete(path)
		this.#dataBytes -= path.length + dataLength(node.data)
		this.expirable.delete(path)
		if (node.owner === 0n) return
		this.#ephemeralCount--
		const paths = this.#ephemerals.get(node.owner)
		paths?.delete(path)
		if (paths?.size === 0) this.#ephemerals.delete(node.owner)
	}

	#setData(node: Znode, data: Buffer | null): void {
		const kept = packData(data)
		this.#dataBytes += dataLength(kept) - dataLength(node.data)
		node.data = kept
	}
}

function emptyNode(): Znode {
	return {
		data: '',
		acl: WORLD_ALL,
		czxid: 0,
		mzxid: 0,
		pzxid: 0,
		ctime: 0,
		mtime: 0,
		version: 0,
		aversion: 0,
		counter: 0,
		owner: 0n,
		kind: NODE_KIND.plain,
		ttlMs: 0,
		children: null,
	}
}

function newNode(change: CreateChange, zxid: number, timeMs: number): Znode {
	return {
		data: packData(change.data),
		acl: sharedAcl(change.acl),
		czxid: zxid,
		mzxid: zxid,
		pzxid: zxid,
		ctime: timeMs,
		mtime: timeMs,
		version: 0,
		aversion: 0,
		counter: 0,
		// One zero for all: every bigint that is read is an object of its own.
		owner: change.owner === 0n ? 0n : change.owner,
		kind: change.nodeKind,
		ttlMs: change.ttlMs,
		children: null,
	}
}

/** The usual list once for all nodes. */
function sharedAcl(acl: readonly AclRecord[]): readonly AclRecord[] {
	const [only] = acl
	if (acl.length !== 1 || only === undefined) return acl
	const isOpen = only.perms === 31 && only.id.scheme === 'world' && only.id.id === 'anyone'
	return isOpen ? WORLD_ALL : acl
}

/** A node's Stat as clients see it. */
export function statOf(node: Znode): StatRecord {
	const numChildren = node.children?.size ?? 0
	return {
		czxid: node.czxid,
		mzxid: node.mzxid,
		ctime: node.ctime,
		mtime: node.mtime,
		version: node.version,
		cversion: (node.counter * 2 - numChildren) | 0,
		aversion: node.aversion,
		ephemeralOwner: node.owner,
		dataLength: dataLength(node.data),
		numChildren,
		pzxid: node.pzxid,
	}
}
