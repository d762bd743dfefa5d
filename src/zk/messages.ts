/**
 * ZooKeeper's wire messages: operation and error codes, headers, requests and replies as jute records. Used by the
 * server (reads requests, writes replies) and by tests (the reverse). Frames and connections are not known here.
 *
 * A connection opens with ConnectRequest and ConnectResponse, without headers. After that every request is
 * `xid int, type int, body`, every reply `xid int, zxid long, err int, body` with a body only when `err` is 0.
 */

import {
	bool,
	buffer,
	int,
	JuteError,
	type JuteReader,
	type JuteType,
	type JuteValue,
	type JuteWriter,
	long,
	record,
	safeLong,
	ustring,
	vector,
} from './jute.js'

export const OP = {
	create: 1,
	delete: 2,
	exists: 3,
	getData: 4,
	setData: 5,
	getAcl: 6,
	setAcl: 7,
	getChildren: 8,
	sync: 9,
	ping: 11,
	getChildren2: 12,
	check: 13,
	multi: 14,
	create2: 15,
	reconfig: 16,
	checkWatches: 17,
	removeWatches: 18,
	createContainer: 19,
	createTtl: 21,
	multiRead: 22,
	auth: 100,
	setWatches: 101,
	sasl: 102,
	getEphemerals: 103,
	getAllChildrenNumber: 104,
	setWatches2: 105,
	addWatch: 106,
	whoAmI: 107,
	closeSession: -11,
	/** Marks an error entry, and the end, of a multi. */
	error: -1,
} as const

export const ERR = {
	ok: 0,
	runtimeInconsistency: -2,
	marshalling: -5,
	unimplemented: -6,
	badArguments: -8,
	noNode: -101,
	noAuth: -102,
	badVersion: -103,
	noChildrenForEphemerals: -108,
	nodeExists: -110,
	notEmpty: -111,
	sessionExpired: -112,
	invalidAcl: -114,
	authFailed: -115,
	noWatcher: -121,
	reconfigDisabled: -123,
} as const

/** xids that are no request of the client's count. */
export const XID = { notification: -1, ping: -2, auth: -4, setWatches: -8 } as const

export const EVENT = { created: 1, deleted: 2, dataChanged: 3, childrenChanged: 4 } as const

export type EventType = (typeof EVENT)[keyof typeof EVENT]

/** The state every event of a server carries. */
export const SYNC_CONNECTED = 3

/** Flags of the create family. */
export const FLAG = {
	persistent: 0,
	ephemeral: 1,
	persistentSequential: 2,
	ephemeralSequential: 3,
	container: 4,
	persistentTtl: 5,
	persistentSequentialTtl: 6,
} as const

/** Flags of the create modes that our own client uses. */
export const MODE_FLAGS = {
	persistent: FLAG.persistent,
	ephemeral: FLAG.ephemeral,
	persistentSequential: FLAG.persistentSequential,
	ephemeralSequential: FLAG.ephemeralSequential,
} as const

export const aclRecord = record({ perms: int, id: record({ scheme: ustring, id: ustring }) })

export type AclRecord = JuteValue<typeof aclRecord>

export const statRecord = record({
	czxid: safeLong,
	mzxid: safeLong,
	ctime: safeLong,
	mtime: safeLong,
	version: int,
	cversion: int,
	aversion: int,
	ephemeralOwner: long,
	dataLength: int,
	numChildren: int,
	pzxid: safeLong,
})

export type StatRecord = JuteValue<typeof statRecord>

/** Without the read-only byte, which old clients leave out. */
export const connectRequest = record({
	protocolVersion: int,
	lastZxidSeen: safeLong,
	timeoutMs: int,
	sessionId: long,
	password: buffer,
})

export const connectResponse = record({ protocolVersion: int, timeoutMs: int, sessionId: long, password: buffer })

export const requestHeader = record({ xid: int, type: int })
export const replyHeader = record({ xid: int, zxid: safeLong, err: int })
export const multiHeader = record({ type: int, done: bool, err: int })
export const watcherEvent = record({ type: int, state: int, path: ustring })

export const createRequest = record({ path: ustring, data: buffer, acl: vector(aclRecord), flags: int })
export const createTtlRequest = record({
	path: ustring,
	data: buffer,
	acl: vector(aclRecord),
	flags: int,
	ttl: safeLong,
})
export const deleteRequest = record({ path: ustring, version: int })
export const watchedPathRequest = record({ path: ustring, watch: bool })
export const setDataRequest = record({ path: ustring, data: buffer, version: int })
export const pathRequest = record({ path: ustring })
export const setAclRequest = record({ path: ustring, acl: vector(aclRecord), version: int })
export const authRequest = record({ type: int, scheme: ustring, auth: buffer })
export const setWatchesRequest = record({
	relativeZxid: safeLong,
	data: vector(ustring),
	exist: vector(ustring),
	child: vector(ustring),
})
export const setWatches2Request = record({
	relativeZxid: safeLong,
	data: vector(ustring),
	exist: vector(ustring),
	child: vector(ustring),
	persistent: vector(ustring),
	recursive: vector(ustring),
})
export const addWatchRequest = record({ path: ustring, mode: int })
export const watchTypeRequest = record({ path: ustring, type: int })

export const pathReply = record({ path: ustring })
export const statReply = record({ stat: statRecord })
export const createReply2 = record({ path: ustring, stat: statRecord })
export const getDataReply = record({ data: buffer, stat: statRecord })
export const childrenReply = record({ children: vector(ustring) })
export const children2Reply = record({ children: vector(ustring), stat: statRecord })
export const getAclReply = record({ acl: vector(aclRecord), stat: statRecord })
export const intReply = record({ value: int })
export const whoAmIReply = record({ identities: vector(record({ scheme: ustring, user: ustring })) })

/** Writes a create-family, delete, setData or check request of a multi: `type` and the body's fields. */
export type MultiOp =
	| { readonly type: 1 | 15 | 19; readonly body: JuteValue<typeof createRequest> }
	| { readonly type: 21; readonly body: JuteValue<typeof createTtlRequest> }
	| { readonly type: 2 | 13; readonly body: JuteValue<typeof deleteRequest> }
	| { readonly type: 5; readonly body: JuteValue<typeof setDataRequest> }

/** Bodies that may stand in a multi, and in a multiRead. */
const MULTI_BODIES: Readonly<Record<number, JuteType<unknown>>> = {
	[OP.create]: createRequest as JuteType<unknown>,
	[OP.create2]: createRequest as JuteType<unknown>,
	[OP.createContainer]: createRequest as JuteType<unknown>,
	[OP.createTtl]: createTtlRequest as JuteType<unknown>,
	[OP.delete]: deleteRequest as JuteType<unknown>,
	[OP.check]: deleteRequest as JuteType<unknown>,
	[OP.setData]: setDataRequest as JuteType<unknown>,
}

export interface MultiReadOp {
	readonly type: 4 | 8
	readonly body: JuteValue<typeof watchedPathRequest>
}

function readOps(reader: JuteReader, body: (type: number) => JuteType<unknown> | undefined): unknown[] {
	const ops: unknown[] = []
	for (;;) {
		const header = multiHeader.read(reader)
		if (header.done) return ops
		const type = body(header.type)
		if (type === undefined) throw new JuteError(`operation ${header.type} in a multi`)
		ops.push({ type: header.type, body: type.read(reader) })
	}
}

/**
 * Reads a multi's operations. {@link JuteError} for one that may not stand there; as Apache's reader has it, also for a
 * create with flags of a TTL, or unknown ones, which alone would get their own codes. Here, unlike alone, the container's
 * flag makes a container.
 */
export function readMulti(reader: JuteReader): MultiOp[] {
	const ops = readOps(reader, (type) => MULTI_BODIES[type]) as MultiOp[]
	return ops.map((op) => {
		if (op.type !== OP.create && op.type !== OP.create2) return op
		const { flags } = op.body
		if (flags < FLAG.persistent || flags > FLAG.container) throw new JuteError(`flags ${flags} in a multi`)
		return flags === FLAG.container ? { ...op, type: OP.createContainer } : op
	})
}

export function readMultiRead(reader: JuteReader): MultiReadOp[] {
	return readOps(reader, (type) =>
		type === OP.getData || type === OP.getChildren ? (watchedPathRequest as JuteType<unknown>) : undefined,
	) as MultiReadOp[]
}

export function writeMulti(writer: JuteWriter, ops: readonly MultiOp[]): void {
	for (const op of ops) {
		multiHeader.write(writer, { type: op.type, done: false, err: -1 })
		;(MULTI_BODIES[op.type] as JuteType<unknown>).write(writer, op.body)
	}
	writeMultiEnd(writer)
}

export function writeMultiEnd(writer: JuteWriter): void {
	multiHeader.write(writer, { type: OP.error, done: true, err: -1 })
}

/** One entry of a multi's reply. `err` 0 stands for a step before the one at fault. */
export type MultiResult =
	| { readonly type: 1; readonly path: string }
	| { readonly type: 15; readonly path: string; readonly stat: StatRecord }
	| { readonly type: 5; readonly stat: StatRecord }
	| { readonly type: 2 | 13 }
	| { readonly type: -1; readonly err: number }

export function writeMultiResults(writer: JuteWriter, results: readonly MultiResult[]): void {
	for (const result of results) {
		multiHeader.write(writer, { type: result.type, done: false, err: result.type === -1 ? result.err : 0 })
		if (result.type === 1) writer.ustring(result.path)
		else if (result.type === 15) createReply2.write(writer, result)
		else if (result.type === 5) statRecord.write(writer, result.stat)
		else if (result.type === -1) writer.int(result.err)
	}
	writeMultiEnd(writer)
}

export function readMultiResults(reader: JuteReader): MultiResult[] {
	const results: MultiResult[] = []
	for (;;) {
		const { type, done } = multiHeader.read(reader)
		if (done) return results
		if (type === OP.create) results.push({ type, path: reader.ustring() })
		else if (type === OP.create2) results.push({ type, ...createReply2.read(reader) })
		else if (type === OP.setData) results.push({ type, stat: statRecord.read(reader) })
		else if (type === OP.delete || type === OP.check) results.push({ type })
		else if (type === OP.error) results.push({ type, err: reader.int() })
		else throw new JuteError(`result of type ${type} in a multi`)
	}
}
