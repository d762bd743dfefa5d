/**
 * The parts of node-zookeeper-client that its driver uses, as types, and the translation between our requests and its
 * records. Does not import the package: `node-driver.ts` hands it in.
 */

import type { DriverFailure, DriverOutcome, DriverReply, DriverRequest } from './driver.js'
import { codeOfWire } from './driver.js'
import { MODE_FLAGS, OP } from './messages.js'
import type { ZkAcl, ZkErrorCode, ZkOp, ZkOpResult, ZkStat } from './port.js'

/** A jute record of the package. */
export interface PackageRecord {
	setChrootPath(path: string): void
	byteLength(): number
	[field: string]: unknown
}

export interface PackageRequest {
	readonly header: { readonly type: number; xid: number }
	readonly payload: PackageRecord | null
	toBuffer(): Buffer
}

export interface PackageJute {
	readonly protocol: Readonly<Record<string, new (...fields: unknown[]) => PackageRecord>>
	readonly data: Readonly<Record<string, new (...fields: unknown[]) => unknown>>
	readonly Request: new (header: unknown, payload: unknown) => PackageRequest
	readonly TransactionRequest: new (ops: readonly unknown[]) => PackageRecord
}

export interface Packet {
	readonly request: PackageRequest
	readonly callback: (error: unknown, response?: { payload: PackageRecord | null }) => void
	sentMs?: number
}

export interface WatchEvent {
	readonly type: number
	readonly path: string
}

export interface PackageManager {
	state: number
	chrootPath: string | undefined
	xid: number
	zxid: Buffer
	sessionId: Buffer
	sessionPassword: Buffer
	sessionTimeout: number
	pendingBuffer: Buffer | null
	pendingQueue: Packet[]
	readonly packetQueue: {
		queue: Packet[]
		push(packet: Packet): void
		shift(): Packet | undefined
		removeAllListeners(event: 'readable'): void
		on(event: 'readable', listener: () => void): void
	}
	socket: { write(bytes: Buffer): boolean; destroy(): void; setTimeout(): void }
	readonly watcherManager: {
		getDataWatcherPaths(): string[]
		getExistenceWatcherPaths(): string[]
		getChildWatcherPaths(): string[]
	}
	setState(state: number): void
	onPacketQueueReadable(): void
	onSocketData(frame: Buffer): void
	registerDataWatcher(path: string, watcher: (event: WatchEvent) => void): void
	registerChildWatcher(path: string, watcher: (event: WatchEvent) => void): void
	registerExistenceWatcher(path: string, watcher: (event: WatchEvent) => void): void
}

export interface PackageManagerClass {
	readonly prototype: PackageManager
	new (
		connectString: string,
		options: { readonly sessionTimeout: number; readonly spinDelay: number; readonly retries: number },
		onState: (state: number) => void,
	): PackageManager
	readonly STATES: Readonly<Record<'CONNECTING' | 'CONNECTED' | 'DISCONNECTED' | 'SESSION_EXPIRED', number>> &
		Readonly<Record<'AUTHENTICATION_FAILED', number>>
}

export function failure(
	code: ZkErrorCode,
	wasSent: boolean,
	wireCode = 0,
	index = -1,
): { ok: false; failure: DriverFailure } {
	return { ok: false, failure: { code, wireCode, wasSent, index } }
}

export function wireFailure(wireCode: number): { ok: false; failure: DriverFailure } {
	return failure(codeOfWire(wireCode), true, wireCode)
}

const OP_CODES: Readonly<Record<DriverRequest['op'], number>> = {
	get: OP.getData,
	exists: OP.exists,
	children: OP.getChildren2,
	create: OP.create,
	set: OP.setData,
	remove: OP.delete,
	multi: OP.multi,
	getAcl: OP.getAcl,
	setAcl: OP.setAcl,
	sync: OP.sync,
}

export function opCodeOf(request: DriverRequest): number {
	return OP_CODES[request.op]
}

/** Makes one of the package's records by name. */
export function packageRecord(jute: PackageJute, name: string, ...fields: unknown[]): PackageRecord {
	const Record = jute.protocol[name]
	if (Record === undefined) throw new Error(`node-zookeeper-client has no ${name}`)
	return new Record(...fields)
}

/** A record of the package for our request. */
export function encodeRequest(jute: PackageJute, request: DriverRequest): PackageRecord {
	switch (request.op) {
		case 'get':
			return packageRecord(jute, 'GetDataRequest', request.path, request.watch)
		case 'exists':
			return packageRecord(jute, 'ExistsRequest', request.path, request.watch)
		case 'children':
			return packageRecord(jute, 'GetChildren2Request', request.path, request.watch)
		case 'create':
			return packageRecord(
				jute,
				'CreateRequest',
				request.path,
				request.data ?? undefined,
				acls(jute, request.acl),
				request.flags,
			)
		case 'set':
			return packageRecord(jute, 'SetDataRequest', request.path, request.data ?? undefined, request.version)
		case 'remove':
			return packageRecord(jute, 'DeleteRequest', request.path, request.version)
		case 'multi':
			return new jute.TransactionRequest(request.ops.map((op) => transactionOp(jute, op)))
		case 'setAcl':
			return packageRecord(jute, 'SetACLRequest', request.path, acls(jute, request.acl), request.version)
		default:
			// The package knows no sync; its body is that of getACL: one path.
			return packageRecord(jute, 'GetACLRequest', request.path)
	}
}

/** SetWatches requests for all watches the package keeps, in pieces of about `pieceBytes` of paths. */
export function setWatchesRecords(jute: PackageJute, manager: PackageManager, pieceBytes: number): PackageRecord[] {
	const watchers = manager.watcherManager
	const chroot = manager.chrootPath ?? ''
	const paths = [
		...watchers.getDataWatcherPaths().map((path) => ({ kind: 0, path })),
		...watchers.getExistenceWatcherPaths().map((path) => ({ kind: 1, path })),
		...watchers.getChildWatcherPaths().map((path) => ({ kind: 2, path })),
	]
	const records: PackageRecord[] = []
	for (let at = 0; at < paths.length; ) {
		const lists: [string[], string[], string[]] = [[], [], []]
		for (let bytes = 0; at < paths.length && bytes < pieceBytes; at++) {
			const { kind, path } = paths[at] as { kind: 0 | 1 | 2; path: string }
			lists[kind].push(path)
			bytes += 4 + Buffer.byteLength(path) + chroot.length
		}
		const payload = packageRecord(jute, 'SetWatches', manager.zxid, ...lists)
		if (chroot !== '') payload.setChrootPath(chroot)
		records.push(payload)
	}
	return records
}

function acls(jute: PackageJute, acl: readonly ZkAcl[]): unknown[] {
	const { ACL, Id } = jute.data
	if (ACL === undefined || Id === undefined) throw new Error('node-zookeeper-client has no ACL')
	return acl.map(({ perms, scheme, id }) => new ACL(perms, new Id(scheme, id)))
}

const OPEN = [{ perms: 31, scheme: 'world', id: 'anyone' }]

function transactionOp(jute: PackageJute, op: ZkOp): unknown {
	switch (op.op) {
		case 'create':
			return {
				type: OP.create,
				path: op.path,
				data: op.data ?? undefined,
				mode: MODE_FLAGS[op.mode ?? 'persistent'],
				acls: acls(jute, op.acl ?? OPEN).map((record) => ({ toRecord: () => record })),
			}
		case 'set':
			return { type: OP.setData, path: op.path, data: op.data ?? undefined, version: op.version }
		case 'remove':
			return { type: OP.delete, path: op.path, version: op.version }
		case 'check':
			return { type: OP.check, path: op.path, version: op.version }
	}
}

/** Our reply from the package's record. */
export function decodeReply(request: DriverRequest, payload: PackageRecord | null): DriverOutcome {
	if (request.op === 'multi') return multiReply(request.ops, payload)
	const reply: { -readonly [K in keyof DriverReply]: DriverReply[K] } = {}
	if (payload === null) return { ok: true, reply }
	if (payload['stat'] !== undefined) reply.stat = statOf(payload['stat'])
	if (request.op === 'get') reply.data = (payload['data'] as Buffer | undefined) ?? null
	if (request.op === 'children') reply.names = ((payload['children'] as string[] | undefined) ?? []).sort(byBytes)
	if (request.op === 'create') reply.path = payload['path'] as string
	if (request.op === 'getAcl') {
		const entries = (payload['acl'] as { perms: number; id: { scheme: string; id: string } }[] | undefined) ?? []
		reply.acl = entries.map(({ perms, id }) => ({ perms, scheme: id.scheme, id: id.id }))
	}
	return { ok: true, reply }
}

function multiReply(ops: readonly ZkOp[], payload: PackageRecord | null): DriverOutcome {
	const entries = (payload?.['results'] as { type: number; path?: string; stat?: unknown; err?: number }[]) ?? []
	const index = entries.findIndex((entry) => entry.type === OP.error && entry.err !== 0)
	if (index >= 0) {
		const wireCode = entries[index]?.err ?? 0
		return failure(codeOfWire(wireCode), true, wireCode, index)
	}
	const results = ops.map((op, at): ZkOpResult => {
		const entry = entries[at]
		if (op.op === 'create') return { op: 'create', path: entry?.path ?? op.path }
		if (op.op === 'set') return { op: 'set', stat: statOf(entry?.stat) }
		return { op: op.op }
	})
	return { ok: true, reply: { results } }
}

/** Code points in order, which is byte order of UTF-8 but for surrogates; names here have none. */
function byBytes(a: string, b: string): number {
	return a < b ? -1 : a > b ? 1 : 0
}

/** The package's Stat has its 64-bit fields as buffers. */
function statOf(value: unknown): ZkStat {
	const stat = value as Record<string, Buffer> & Record<string, number>
	const long = (name: string): bigint => (stat[name] as unknown as Buffer).readBigInt64BE()
	const int = (name: string): number => stat[name] as unknown as number
	return {
		czxid: long('czxid'),
		mzxid: long('mzxid'),
		pzxid: long('pzxid'),
		ctime: Number(long('ctime')),
		mtime: Number(long('mtime')),
		version: int('version'),
		cversion: int('cversion'),
		aversion: int('aversion'),
		ephemeralOwner: long('ephemeralOwner'),
		dataLength: int('dataLength'),
		numChildren: int('numChildren'),
	}
}
