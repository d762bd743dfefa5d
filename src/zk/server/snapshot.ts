/**
 * Snapshots: the whole tree and all sessions in a file of frames (`frames.ts`). Written in slices while the server goes
 * on, so nodes may show changes later than the snapshot's zxid; replay of the log from there is tolerant of it
 * (`DataTree.replay`). The last frame says up to which zxid such changes reach: the log must hold them.
 *
 * | frame | payload |
 * |---|---|
 * | first | int 1, int version 1, zxid long, lastSessionId long, sessions (id long, timeout int, password buffer) |
 * | middle | int 2, nodes: path, data, ACL, stat fields, counter, owner, kind, ttl |
 * | last | int 3, endZxid long, count of nodes int |
 */

import type { Clock, File } from '../../runtime/ports.js'
import { JuteError, JuteReader, JuteWriter } from '../jute.js'
import type { AclRecord } from '../messages.js'
import { DataTree, type Znode } from './data-tree.js'
import { frameOf, readFrame } from './frames.js'
import { packData, unpackData } from './node-data.js'
import { type NodeKind, readAcl, writeAcl } from './transaction.js'

const FIRST = 1
const NODES = 2
const LAST = 3
const VERSION = 1

/** Nodes written in one turn of the event loop, and the bytes at which a turn ends earlier. */
const SLICE_NODES = 1000
const SLICE_BYTES = 1 << 20

export interface StoredSession {
	readonly id: bigint
	readonly timeoutMs: number
	readonly password: Buffer
}

export interface SnapshotHead {
	readonly zxid: number
	/** The highest session id ever given. */
	readonly lastSessionId: bigint
	readonly sessions: readonly StoredSession[]
}

export interface Snapshot extends SnapshotHead {
	readonly tree: DataTree
	readonly endZxid: number
}

/**
 * Writes a snapshot into `file` (empty, not synced here). `lastZxid` tells the zxid applied by now. False when
 * `isStopped` became true in between: the file is then worthless.
 */
export async function writeSnapshot(
	file: File,
	clock: Clock,
	head: SnapshotHead,
	tree: DataTree,
	lastZxid: () => number,
	isStopped: () => boolean,
): Promise<{ endZxid: number } | null> {
	let position = 0
	const put = (writer: JuteWriter): void => {
		const chunks = frameOf([writer.finish()])
		file.writeNow(chunks, position)
		for (const chunk of chunks) position += chunk.length
	}
	put(encodeHead(head))
	const entries = tree.entries()
	let count = 0
	for (let done = false; !done; ) {
		const slice = new JuteWriter(0, 64 * 1024)
		slice.int(NODES)
		let inSlice = 0
		while (inSlice < SLICE_NODES && slice.length < SLICE_BYTES) {
			const next = entries.next()
			done = next.done === true
			if (next.done) break
			writeNode(slice, next.value[0], next.value[1])
			inSlice++
		}
		count += inSlice
		if (inSlice > 0) put(slice)
		if (!done) await new Promise<void>((resolve) => clock.soon(resolve))
		if (isStopped()) return null
	}
	const endZxid = lastZxid()
	const last = new JuteWriter()
	last.int(LAST)
	last.safeLong(endZxid)
	last.int(count)
	put(last)
	return { endZxid }
}

function encodeHead(head: SnapshotHead): JuteWriter {
	const writer = new JuteWriter()
	writer.int(FIRST)
	writer.int(VERSION)
	writer.safeLong(head.zxid)
	writer.long(head.lastSessionId)
	writer.int(head.sessions.length)
	for (const session of head.sessions) {
		writer.long(session.id)
		writer.int(session.timeoutMs)
		writer.buffer(session.password)
	}
	return writer
}

/** Reads a snapshot; null when it is not whole. The tree is not linked yet: the log comes on top. */
export function readSnapshot(bytes: Buffer): Snapshot | null {
	try {
		return decodeSnapshot(bytes)
	} catch (error) {
		if (error instanceof JuteError) return null
		throw error
	}
}

function decodeSnapshot(bytes: Buffer): Snapshot | null {
	let at = 0
	const next = (): JuteReader | null => {
		const payload = readFrame(bytes, at)
		if (payload === null) return null
		at += 12 + payload.length
		return new JuteReader(payload)
	}
	const first = next()
	if (first === null || first.int() !== FIRST || first.int() !== VERSION) return null
	const zxid = first.safeLong()
	const lastSessionId = first.long()
	const sessions: StoredSession[] = []
	for (let left = first.count(16); left > 0; left--) {
		sessions.push({ id: first.long(), timeoutMs: first.int(), password: Buffer.from(first.buffer() ?? []) })
	}
	const tree = new DataTree()
	const acls = new Map<string, readonly AclRecord[]>()
	let count = 0
	for (;;) {
		const reader = next()
		if (reader === null) return null
		const kind = reader.int()
		if (kind === LAST) {
			const endZxid = reader.safeLong()
			return reader.int() === count && at === bytes.length ? { zxid, lastSessionId, sessions, tree, endZxid } : null
		}
		if (kind !== NODES) return null
		while (reader.left > 0) {
			const path = reader.ustring()
			tree.load(path, readNode(reader, acls))
			count++
		}
	}
}

function writeNode(writer: JuteWriter, path: string, node: Znode): void {
	writer.ustring(path)
	writer.buffer(unpackData(node.data))
	writeAcl(writer, node.acl)
	writer.safeLong(node.czxid)
	writer.safeLong(node.mzxid)
	writer.safeLong(node.pzxid)
	writer.safeLong(node.ctime)
	writer.safeLong(node.mtime)
	writer.int(node.version)
	writer.int(node.aversion)
	writer.int(node.counter)
	writer.long(node.owner)
	writer.int(node.kind)
	writer.safeLong(node.ttlMs)
}

/** `acls` shares equal lists: nearly all nodes have the same one. */
function readNode(reader: JuteReader, acls: Map<string, readonly AclRecord[]>): Znode {
	const data = packData(reader.buffer())
	const list = readAcl(reader)
	const key = JSON.stringify(list)
	const acl = acls.get(key) ?? list
	acls.set(key, acl)
	return {
		data,
		acl,
		czxid: reader.safeLong(),
		mzxid: reader.safeLong(),
		pzxid: reader.safeLong(),
		ctime: reader.safeLong(),
		mtime: reader.safeLong(),
		version: reader.int(),
		aversion: reader.int(),
		counter: reader.int(),
		// As in `data-tree.ts`: one zero for all.
		owner: reader.long() || 0n,
		kind: reader.int() as NodeKind,
		ttlMs: reader.safeLong(),
		children: null,
	}
}
