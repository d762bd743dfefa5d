/**
 * What the server writes to its log: transactions with everything resolved (final path, expanded ACL, resulting version,
 * the parent's counter), so that replay depends on nothing else. Bytes are jute.
 *
 * | field | type | |
 * |---|---|---|
 * | zxid, time | long | time in wall-clock ms |
 * | session | long | of the requester |
 * | cxid | int | the requester's xid |
 * | sessionChange | int | 0 none, 1 opened (timeout int, password buffer follow), 2 closed |
 * | changes | vector | kind int, path, then the fields of the kind |
 */

import { int, JuteError, type JuteReader, type JuteType, JuteWriter } from '../jute.js'
import { type AclRecord, aclRecord } from '../messages.js'

/** Persistent and ephemeral nodes; containers go when emptied; TTL nodes when old and childless. */
export const NODE_KIND = { plain: 0, container: 1, ttl: 2 } as const
export type NodeKind = (typeof NODE_KIND)[keyof typeof NODE_KIND]

export interface CreateChange {
	readonly kind: 'create'
	readonly path: string
	readonly data: Buffer | null
	readonly acl: readonly AclRecord[]
	/** Session of an ephemeral node, else 0n. */
	readonly owner: bigint
	readonly nodeKind: NodeKind
	readonly ttlMs: number
	/** The parent's create counter after it. */
	readonly counter: number
}

export type TreeChange =
	| CreateChange
	| { readonly kind: 'remove'; readonly path: string }
	| { readonly kind: 'set'; readonly path: string; readonly data: Buffer | null; readonly version: number }
	| { readonly kind: 'setAcl'; readonly path: string; readonly acl: readonly AclRecord[]; readonly aversion: number }

export type SessionChange =
	| { readonly kind: 'none' }
	| { readonly kind: 'opened'; readonly timeoutMs: number; readonly password: Buffer }
	| { readonly kind: 'closed' }

export interface Transaction {
	readonly zxid: number
	readonly timeMs: number
	readonly sessionId: bigint
	readonly cxid: number
	readonly session: SessionChange
	readonly changes: readonly TreeChange[]
}

const CREATE = 1
const REMOVE = 2
const SET = 3
const SET_ACL = 4

export function writeAcl(writer: JuteWriter, acl: readonly AclRecord[]): void {
	int.write(writer, acl.length)
	for (const entry of acl) aclRecord.write(writer, entry)
}

export function readAcl(reader: JuteReader): AclRecord[] {
	const count = reader.count(aclRecord.leastBytes)
	const acl: AclRecord[] = []
	for (let i = 0; i < count; i++) acl.push(aclRecord.read(reader))
	return acl
}

const change: JuteType<TreeChange> = {
	leastBytes: 8,
	read: (reader) => {
		const kind = reader.int()
		const path = reader.ustring()
		switch (kind) {
			case CREATE:
				return {
					kind: 'create',
					path,
					data: reader.buffer(),
					acl: readAcl(reader),
					owner: reader.long(),
					nodeKind: reader.int() as NodeKind,
					ttlMs: reader.safeLong(),
					counter: reader.int(),
				}
			case REMOVE:
				return { kind: 'remove', path }
			case SET:
				return { kind: 'set', path, data: reader.buffer(), version: reader.int() }
			case SET_ACL:
				return { kind: 'setAcl', path, acl: readAcl(reader), aversion: reader.int() }
			default:
				throw new JuteError(`change of kind ${kind}`)
		}
	},
	write: (writer, value) => {
		switch (value.kind) {
			case 'create':
				writer.int(CREATE)
				writer.ustring(value.path)
				writer.buffer(value.data)
				writeAcl(writer, value.acl)
				writer.long(value.owner)
				writer.int(value.nodeKind)
				writer.safeLong(value.ttlMs)
				writer.int(value.counter)
				return
			case 'remove':
				writer.int(REMOVE)
				writer.ustring(value.path)
				return
			case 'set':
				writer.int(SET)
				writer.ustring(value.path)
				writer.buffer(value.data)
				writer.int(value.version)
				return
			case 'setAcl':
				writer.int(SET_ACL)
				writer.ustring(value.path)
				writeAcl(writer, value.acl)
				writer.int(value.aversion)
		}
	},
}

const SESSION_KINDS: readonly SessionChange['kind'][] = ['none', 'opened', 'closed']

export const transaction: JuteType<Transaction> = {
	leastBytes: 36,
	read: (reader) => {
		const zxid = reader.safeLong()
		const timeMs = reader.safeLong()
		const sessionId = reader.long()
		const cxid = reader.int()
		const kind = SESSION_KINDS[reader.int()]
		if (kind === undefined) throw new JuteError('unknown session change')
		const session: SessionChange =
			kind === 'opened' ? { kind, timeoutMs: reader.int(), password: reader.buffer() ?? Buffer.alloc(0) } : { kind }
		const count = reader.count(change.leastBytes)
		const changes: TreeChange[] = []
		for (let i = 0; i < count; i++) changes.push(change.read(reader))
		return { zxid, timeMs, sessionId, cxid, session, changes }
	},
	write: (writer, value) => {
		writer.safeLong(value.zxid)
		writer.safeLong(value.timeMs)
		writer.long(value.sessionId)
		writer.int(value.cxid)
		writer.int(SESSION_KINDS.indexOf(value.session.kind))
		if (value.session.kind === 'opened') {
			writer.int(value.session.timeoutMs)
			writer.buffer(value.session.password)
		}
		writer.int(value.changes.length)
		for (const each of value.changes) change.write(writer, each)
	},
}

export function encodeTransaction(value: Transaction): Buffer {
	const writer = new JuteWriter()
	transaction.write(writer, value)
	return writer.finish()
}
