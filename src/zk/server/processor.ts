/**
 * Every request of every session as one ordered chain: decode, check against the tree, log, apply, answer. Synchronous
 * and without promises; what may not leave yet waits in one queue, by zxid, until the log has it on stable storage.
 *
 * No reply or event leaves before the newest transaction it could show is durable, so a crash never takes back what a
 * client saw, and no zxid is told that a restarted server would not know. Failed writes take no zxid (Apache's do).
 */

import { Deque } from '../../base/queues.js'
import type { Clock } from '../../runtime/ports.js'
import { JuteError, JuteReader, JuteWriter } from '../jute.js'
import {
	authRequest,
	createRequest,
	createTtlRequest,
	deleteRequest,
	ERR,
	EVENT,
	type EventType,
	type MultiOp,
	type MultiResult,
	OP,
	readMulti,
	SYNC_CONNECTED,
	setAclRequest,
	setDataRequest,
	statRecord,
	writeMultiResults,
	XID,
} from '../messages.js'
import { digestIdentity, type Identity, isAllowed, PERM } from './acl.js'
import { checkCreate, checkDelete, checkSetAcl, checkSetData, checkVersion, type WriteContext } from './checks.js'
import { type DataTree, statOf, WORLD_ALL, type Znode } from './data-tree.js'
import { READS, type Reader } from './reads.js'
import type { Session, SessionTable } from './sessions.js'
import type { Storage } from './storage.js'
import type { SessionChange, TreeChange } from './transaction.js'
import { type Firing, WatchTable } from './watches.js'

/** A connection as the processor sees it. */
export interface Peer extends Reader {
	identities: readonly Identity[]
	session: Session | null
	/** Queues a frame for sending. No effect once the connection is gone. */
	send(frame: Buffer): void
	/** Sends what is queued, then closes. */
	finish(): void
}

interface Gated {
	readonly zxid: number
	readonly peer: Peer
	/** Null: finish the peer. */
	readonly frame: Buffer | null
	/** When it began to wait, monotonic. */
	readonly sinceMs: number
}

const HEADER = 20

export class Processor {
	readonly watches = new WatchTable<Peer>()
	readonly #clock: Clock
	readonly #tree: DataTree
	readonly #sessions: SessionTable
	readonly #hasTtlNodes: boolean
	readonly #gated = new Deque<Gated>()
	readonly #storage: Storage
	#zxid: number
	#waits = { count: 0, sumMs: 0, minMs: 0, maxMs: 0 }

	constructor(clock: Clock, tree: DataTree, sessions: SessionTable, storage: Storage, hasTtlNodes: boolean) {
		this.#clock = clock
		this.#tree = tree
		this.#sessions = sessions
		this.#storage = storage
		this.#hasTtlNodes = hasTtlNodes
		this.#zxid = storage.appendedZxid
	}

	/** Newest transaction applied. */
	get zxid(): number {
		return this.#zxid
	}

	/** Frames that wait for the log. */
	get outstanding(): number {
		return this.#gated.length
	}

	/** The log holds everything up to `zxid`: what waited for it goes out. */
	release(zxid: number): void {
		for (;;) {
			const next = this.#gated.peek()
			if (next === undefined || next.zxid > zxid) return
			this.#gated.shift()
			this.#noteWait(this.#clock.monotonicMs() - next.sinceMs)
			if (next.frame === null) next.peer.finish()
			else next.peer.send(next.frame)
		}
	}

	/** Sends a frame as soon as everything applied until now is durable. Null closes the peer then. */
	emit(peer: Peer, frame: Buffer | null): void {
		if (this.#storage.durableZxid < this.#zxid) {
			this.#gated.push({ zxid: this.#zxid, peer, frame, sinceMs: this.#clock.monotonicMs() })
			return
		}
		this.#noteWait(0)
		if (frame === null) peer.finish()
		else peer.send(frame)
	}

	/** How long answers waited for the log, in whole ms: everything else of a request takes no time that shows. */
	get latency(): { min: number; average: number; max: number } {
		const { count, sumMs, minMs, maxMs } = this.#waits
		return { min: Math.round(minMs), average: count === 0 ? 0 : sumMs / count, max: Math.round(maxMs) }
	}

	/** Begins the figures of {@link latency} anew. */
	resetLatency(): void {
		this.#waits = { count: 0, sumMs: 0, minMs: 0, maxMs: 0 }
	}

	#noteWait(ms: number): void {
		const waits = this.#waits
		waits.minMs = waits.count === 0 ? ms : Math.min(waits.minMs, ms)
		waits.maxMs = Math.max(waits.maxMs, ms)
		waits.sumMs += ms
		waits.count++
	}

	/** An event for a watcher, with the zxid -1 of ZooKeeper 3.8. */
	event(peer: Peer, type: number, path: string): void {
		const writer = replyWriter()
		writer.int(type)
		writer.int(SYNC_CONNECTED)
		writer.ustring(path)
		this.emit(peer, finishReply(writer, XID.notification, -1, ERR.ok))
	}

	openSession(session: Session): void {
		this.#commit(session.id, 0, { kind: 'opened', timeoutMs: session.timeoutMs, password: session.password }, [])
	}

	/** Ends a session: its ephemeral nodes go, their watchers are told. */
	closeSession(session: Session, cxid: number): void {
		if (session.isClosing) return
		session.isClosing = true
		this.#sessions.remove(session.id)
		const changes = this.#tree.ephemeralsOf(session.id).map((path): TreeChange => ({ kind: 'remove', path }))
		this.#commit(session.id, cxid, { kind: 'closed' }, changes)
	}

	/** Removes an empty container or an old TTL node, as the sweeper asks. */
	sweep(path: string): void {
		this.#commit(0n, 0, { kind: 'none' }, [{ kind: 'remove', path }])
	}

	/** One request frame of a peer with a session. False when the frame is no request at all. */
	handle(peer: Peer, session: Session, frame: Buffer): boolean {
		if (frame.length < 8) return false
		const reader = new JuteReader(frame)
		const xid = reader.int()
		const type = reader.int()
		try {
			this.#dispatch(peer, session, xid, type, reader)
		} catch (error) {
			if (!(error instanceof JuteError)) throw error
			this.#reply(peer, xid, ERR.marshalling)
		}
		return true
	}

	#dispatch(peer: Peer, session: Session, xid: number, type: number, reader: JuteReader): void {
		const read = READS.get(type)
		if (read !== undefined) {
			const writer = replyWriter()
			const err = read({ tree: this.#tree, watches: this.watches, peer }, reader, writer)
			if (err === ERR.ok) this.emit(peer, finishReply(writer, xid, this.#zxid, ERR.ok))
			else this.#reply(peer, xid, err)
			return
		}
		switch (type) {
			case OP.ping:
				this.#reply(peer, XID.ping, ERR.ok)
				return
			case OP.multi:
				this.#multi(peer, session, xid, reader)
				return
			case OP.auth:
				this.#auth(peer, xid, reader)
				return
			case OP.closeSession:
				this.closeSession(session, xid)
				this.#reply(peer, xid, ERR.ok)
				this.emit(peer, null)
				return
			case OP.reconfig:
				this.#reply(peer, xid, ERR.reconfigDisabled)
				return
			case OP.sasl:
				this.#refuse(peer, xid, 0, ERR.authFailed)
				return
			default:
				this.#write(peer, session, xid, type, reader)
		}
	}

	#write(peer: Peer, session: Session, xid: number, type: number, reader: JuteReader): void {
		const context = this.#context(peer, session)
		let outcome: TreeChange | number
		if (type === OP.create || type === OP.create2 || type === OP.createContainer) {
			outcome = checkCreate(context, type, createRequest.read(reader))
		} else if (type === OP.createTtl) {
			outcome = checkCreate(context, type, createTtlRequest.read(reader))
		} else if (type === OP.delete) {
			const { path, version } = deleteRequest.read(reader)
			outcome = checkDelete(context, path, version)
		} else if (type === OP.setData) {
			const { path, data, version } = setDataRequest.read(reader)
			outcome = checkSetData(context, path, data, version)
		} else if (type === OP.setAcl) {
			const { path, acl, version } = setAclRequest.read(reader)
			outcome = checkSetAcl(context, path, acl, version)
		} else {
			this.#refuse(peer, xid, -1, ERR.unimplemented)
			return
		}
		if (typeof outcome === 'number') {
			this.#reply(peer, xid, outcome)
			return
		}
		this.#commit(session.id, xid, { kind: 'none' }, [outcome])
		const writer = replyWriter()
		if (outcome.kind === 'create') writer.ustring(outcome.path)
		const hasStat = outcome.kind === 'create' ? type !== OP.create : outcome.kind !== 'remove'
		if (hasStat) statRecord.write(writer, statOf(this.#tree.get(outcome.path) as Znode))
		this.emit(peer, finishReply(writer, xid, this.#zxid, ERR.ok))
	}

	#multi(peer: Peer, session: Session, xid: number, reader: JuteReader): void {
		const ops = readMulti(reader)
		const context = this.#context(peer, session)
		const zxid = this.#zxid + 1
		const timeMs = this.#clock.wallMs()
		const changes: TreeChange[] = []
		const undos: ReturnType<DataTree['apply']>[] = []
		const results: MultiResult[] = []
		let failure: { index: number; err: number } | null = null
		for (const [index, op] of ops.entries()) {
			const outcome = checkStep(context, op)
			if (typeof outcome === 'number' && outcome !== ERR.ok) {
				failure = { index, err: outcome }
				break
			}
			if (typeof outcome !== 'number') {
				undos.push(this.#tree.apply(outcome, zxid, timeMs))
				changes.push(outcome)
			}
			results.push(stepResult(this.#tree, op, outcome))
		}
		const writer = replyWriter()
		if (failure === null) {
			if (changes.length > 0) this.#log(zxid, timeMs, session.id, xid, { kind: 'none' }, changes, undos)
			writeMultiResults(writer, results)
		} else {
			for (const undo of undos.reverse()) this.#tree.revert(undo)
			writeMultiResults(writer, failedResults(ops.length, failure))
		}
		this.emit(peer, finishReply(writer, xid, this.#zxid, ERR.ok))
	}

	#auth(peer: Peer, xid: number, reader: JuteReader): void {
		const { scheme, auth } = authRequest.read(reader)
		if (scheme === 'digest') {
			const identity = digestIdentity(auth ?? Buffer.alloc(0))
			const isKnown = peer.identities.some((each) => each.scheme === 'digest' && each.id === identity.id)
			if (!isKnown) peer.identities = [identity, ...peer.identities]
		} else if (scheme !== 'ip') {
			this.#refuse(peer, xid, 0, ERR.authFailed)
			return
		}
		this.emit(peer, finishReply(replyWriter(), xid, 0, ERR.ok))
	}

	#context(peer: Peer, session: Session): WriteContext {
		return {
			tree: this.#tree,
			identities: peer.identities,
			sessionId: session.id,
			hasTtlNodes: this.#hasTtlNodes,
		}
	}

	#reply(peer: Peer, xid: number, err: number): void {
		this.emit(peer, finishReply(replyWriter(), xid, this.#zxid, err))
	}

	#refuse(peer: Peer, xid: number, zxid: number, err: number): void {
		this.emit(peer, finishReply(replyWriter(), xid, zxid, err))
		this.emit(peer, null)
	}

	/** Applies changes that were checked, under the next zxid. */
	#commit(sessionId: bigint, cxid: number, session: SessionChange, changes: readonly TreeChange[]): void {
		const zxid = this.#zxid + 1
		const timeMs = this.#clock.wallMs()
		const undos = changes.map((change) => this.#tree.apply(change, zxid, timeMs))
		this.#log(zxid, timeMs, sessionId, cxid, session, changes, undos)
	}

	#log(
		zxid: number,
		timeMs: number,
		sessionId: bigint,
		cxid: number,
		session: SessionChange,
		changes: readonly TreeChange[],
		undos: readonly ReturnType<DataTree['apply']>[],
	): void {
		this.#zxid = zxid
		this.#storage.append({ zxid, timeMs, sessionId, cxid, session, changes })
		for (const [index, change] of changes.entries()) this.#fire(change, undos[index]?.before ?? null)
	}

	#fire(change: TreeChange, before: Znode | null): void {
		let firings: Firing<Peer>[] = []
		if (change.kind === 'create') firings = this.watches.created(change.path)
		else if (change.kind === 'remove') firings = this.watches.removed(change.path)
		else if (change.kind === 'set') firings = this.watches.dataChanged(change.path)
		for (const { watcher, type, path } of firings) {
			if (this.#maySee(watcher, type, path, before)) this.event(watcher, type, path)
		}
	}

	/** Nobody hears of a node that it may not read. */
	#maySee(peer: Peer, type: EventType, path: string, before: Znode | null): boolean {
		const node = type === EVENT.deleted ? before : (this.#tree.get(path) ?? null)
		return node === null || node.acl === WORLD_ALL || isAllowed(node.acl, PERM.read, peer.identities)
	}
}

function checkStep(context: WriteContext, op: MultiOp): TreeChange | number {
	switch (op.type) {
		case OP.delete:
			return checkDelete(context, op.body.path, op.body.version)
		case OP.check:
			return checkVersion(context, op.body.path, op.body.version)
		case OP.setData:
			return checkSetData(context, op.body.path, op.body.data, op.body.version)
		default:
			return checkCreate(context, op.type, op.body)
	}
}

function stepResult(tree: DataTree, op: MultiOp, outcome: TreeChange | number): MultiResult {
	if (op.type === OP.delete || op.type === OP.check || typeof outcome === 'number') {
		return { type: op.type === OP.delete ? OP.delete : OP.check }
	}
	const stat = statOf(tree.get(outcome.path) as Znode)
	if (op.type === OP.setData) return { type: OP.setData, stat }
	return op.type === OP.create
		? { type: OP.create, path: outcome.path }
		: { type: OP.create2, path: outcome.path, stat }
}

/** Zero before the step at fault, its code, "inconsistent" after it: nothing was done. */
function failedResults(count: number, failure: { index: number; err: number }): MultiResult[] {
	const results: MultiResult[] = []
	for (let index = 0; index < count; index++) {
		let err: number = ERR.runtimeInconsistency
		if (index < failure.index) err = ERR.ok
		else if (index === failure.index) err = failure.err
		results.push({ type: OP.error, err })
	}
	return results
}

function replyWriter(): JuteWriter {
	return new JuteWriter(HEADER, 128)
}

/** Sets length and header in front of the body. An error has no body. */
function finishReply(writer: JuteWriter, xid: number, zxid: number, err: number): Buffer {
	const frame = writer.finish()
	frame.writeInt32BE(frame.length - 4, 0)
	frame.writeInt32BE(xid, 4)
	frame.writeBigInt64BE(BigInt(zxid), 8)
	frame.writeInt32BE(err, 16)
	return frame
}
