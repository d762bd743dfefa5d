/**
 * Recovery of the server: the newest whole snapshot, then every transaction of the logs after it, in order and without
 * a gap. A broken end of the last log is cut off. Anything else that does not fit is damage: {@link StorageDamage}.
 */

import type { Disk } from '../../runtime/ports.js'
import { JuteError, JuteReader } from '../jute.js'
import { DataTree } from './data-tree.js'
import { zxidOf } from './files.js'
import { FRAME_HEADER, findFrame, readFrame } from './frames.js'
import { readSnapshot, type StoredSession } from './snapshot.js'
import { type Transaction, transaction } from './transaction.js'

/** The data directory holds what no crash leaves. `file` and `position` say where. */
export class StorageDamage extends Error {
	override readonly name = 'StorageDamage'
	constructor(
		readonly file: string,
		readonly position: number,
		reason: string,
	) {
		super(`${file} at ${position}: ${reason}`)
	}
}

export interface Recovered {
	readonly tree: DataTree
	readonly sessions: ReadonlyMap<bigint, StoredSession>
	readonly zxid: number
	readonly lastSessionId: bigint
	/** Log to go on with, null when the next transaction opens one. */
	readonly logName: string | null
	readonly logBytes: number
	/** Bytes cut from the end of the last log. */
	readonly cutBytes: number
	readonly transactions: number
}

interface State {
	readonly tree: DataTree
	readonly sessions: Map<bigint, StoredSession>
	zxid: number
	lastSessionId: bigint
	transactions: number
	readonly endZxid: number
}

export function recover(disk: Disk, directory: string): Recovered {
	const names = disk.listNow(directory).map(({ name }) => name)
	disk.removeNow(disk.join(directory, 'snapshot.tmp'))
	const state = loadSnapshot(disk, directory, names)
	const logs = names.filter((name) => zxidOf(name, 'log') !== null)
	const needed = logs.filter((_, index) => {
		const next = logs[index + 1]
		return next === undefined || (zxidOf(next, 'log') as number) > state.zxid + 1
	})
	let logBytes = 0
	let cutBytes = 0
	for (const name of needed) {
		const at = disk.join(directory, name)
		const bytes = disk.readFileNow(at)
		logBytes = replayLog(state, name, bytes, name === logs.at(-1))
		cutBytes = bytes.length - logBytes
		if (name === logs.at(-1)) settle(disk, at, cutBytes > 0 ? logBytes : null)
	}
	disk.syncDirectoryNow(directory)
	if (state.zxid < state.endZxid) {
		throw new StorageDamage(
			logs.at(-1) ?? 'log',
			0,
			`the log ends at zxid ${state.zxid}, the snapshot needs ${state.endZxid}`,
		)
	}
	const orphan = state.tree.link()
	if (orphan !== null) throw new StorageDamage('snapshot', 0, `no parent for ${orphan}`)
	const last = logs.at(-1) ?? null
	return { ...state, logName: last, logBytes, cutBytes }
}

/**
 * Makes what was read of the last log durable, cut to `cutTo` where its end is broken. A process that was killed may have
 * left bytes, and the file's name, in the page cache alone: they are shown to clients from now on, and new batches follow.
 */
function settle(disk: Disk, path: string, cutTo: number | null): void {
	const file = disk.openNow(path, 'write')
	if (cutTo !== null) file.truncateNow(cutTo)
	file.syncNow()
	file.closeNow()
}

function loadSnapshot(disk: Disk, directory: string, names: readonly string[]): State {
	const snapshots = names.filter((name) => zxidOf(name, 'snapshot') !== null).reverse()
	for (const name of snapshots) {
		const snapshot = readSnapshot(disk.readFileNow(disk.join(directory, name)))
		// An older one will do: the logs from there on are kept.
		if (snapshot === null) continue
		const { tree, zxid, lastSessionId, endZxid } = snapshot
		const sessions = new Map(snapshot.sessions.map((session) => [session.id, session]))
		return { tree, sessions, zxid, lastSessionId, transactions: 0, endZxid }
	}
	if (snapshots[0] !== undefined) throw new StorageDamage(snapshots[0], 0, 'no whole snapshot')
	return { tree: new DataTree(), sessions: new Map(), zxid: 0, lastSessionId: 0n, transactions: 0, endZxid: 0 }
}

/** Replays one log and returns the bytes of it that are right. */
function replayLog(state: State, name: string, bytes: Buffer, isLast: boolean): number {
	let at = 0
	for (;;) {
		if (at === bytes.length) return at
		const payload = readFrame(bytes, at)
		if (payload === null) {
			const next = findFrame(bytes, at + 1)
			if (next >= 0) throw new StorageDamage(name, at, `broken frame before a right one at ${next}`)
			if (!isLast) throw new StorageDamage(name, at, 'broken end of a log that was finished')
			return at
		}
		const reader = new JuteReader(payload)
		try {
			while (reader.left > 0) replayOne(state, name, at, transaction.read(reader))
		} catch (error) {
			if (error instanceof JuteError) throw new StorageDamage(name, at, error.message)
			throw error
		}
		at += FRAME_HEADER + payload.length
	}
}

function replayOne(state: State, name: string, at: number, value: Transaction): void {
	if (value.zxid <= state.zxid) return
	if (value.zxid !== state.zxid + 1) throw new StorageDamage(name, at, `zxid ${value.zxid} follows ${state.zxid}`)
	state.zxid = value.zxid
	state.transactions++
	const { session, sessionId } = value
	if (session.kind === 'opened') {
		const password = Buffer.from(session.password)
		state.sessions.set(sessionId, { id: sessionId, timeoutMs: session.timeoutMs, password })
		if (sessionId > state.lastSessionId) state.lastSessionId = sessionId
	} else if (session.kind === 'closed') state.sessions.delete(sessionId)
	for (const change of value.changes) {
		state.tree.replay(change, value.zxid, value.timeMs)
	}
}
