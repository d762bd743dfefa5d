/**
 * The port to ZooKeeper: all that the broker and the operations layer may use of it. `session.ts` implements it over a
 * driver, the simulator runs the same implementation over a simulated driver. Everything above (recipes, controller,
 * brokers) is written against this file alone.
 *
 * One `ZkSession` object outlives ZooKeeper's sessions. When the server expires one, calls bound to it fail, the
 * `expired` listeners run, a new session is opened under the next `generation`, and subscriptions are read again.
 */

/** A znode's metadata, as ZooKeeper keeps it. Times are wall-clock milliseconds. */
export interface ZkStat {
	readonly czxid: bigint
	readonly mzxid: bigint
	readonly pzxid: bigint
	readonly ctime: number
	readonly mtime: number
	/** Sets since creation; 0 for a new node. The token of conditional writes. */
	readonly version: number
	readonly cversion: number
	readonly aversion: number
	/** Session id of the owner, 0n for a node that is not ephemeral. */
	readonly ephemeralOwner: bigint
	readonly dataLength: number
	readonly numChildren: number
}

/** Content of a znode. Null data is distinct from empty data, as in ZooKeeper. */
export interface ZkData {
	readonly data: Buffer | null
	readonly stat: ZkStat
}

/** Names of the direct children (no paths), in byte order, with the parent's stat. */
export interface ZkChildren {
	readonly names: readonly string[]
	readonly stat: ZkStat
}

export interface ZkAcl {
	/** Sum of 1 read, 2 write, 4 create, 8 delete, 16 admin. */
	readonly perms: number
	readonly scheme: string
	readonly id: string
}

export const OPEN_ACL: readonly ZkAcl[] = [{ perms: 31, scheme: 'world', id: 'anyone' }]

/** Matches every version in `set`, `remove` and `check`. */
export const ANY_VERSION = -1

export type ZkCreateMode = 'persistent' | 'ephemeral' | 'persistentSequential' | 'ephemeralSequential'

export interface ZkCreateOp {
	readonly op: 'create'
	readonly path: string
	readonly data: Buffer | null
	/** Default persistent. */
	readonly mode?: ZkCreateMode
	/** Default open to the world. */
	readonly acl?: readonly ZkAcl[]
}

/** One step of a multi. Versions are always explicit; {@link ANY_VERSION} matches all. */
export type ZkOp =
	| ZkCreateOp
	| { readonly op: 'set'; readonly path: string; readonly data: Buffer | null; readonly version: number }
	| { readonly op: 'remove'; readonly path: string; readonly version: number }
	| { readonly op: 'check'; readonly path: string; readonly version: number }

export type ZkOpResult =
	| { readonly op: 'create'; readonly path: string }
	| { readonly op: 'set'; readonly stat: ZkStat }
	| { readonly op: 'remove' }
	| { readonly op: 'check' }

/**
 * What went wrong. The last five come from our side of the wire: `CONNECTION_LOSS` (not done within its time, or its
 * outcome cannot be told), `TIMEOUT` (deadline over before it was sent or answered), `CLOSED`, `TOO_LARGE`, `UNKNOWN`.
 */
export type ZkErrorCode =
	| 'NO_NODE'
	| 'NODE_EXISTS'
	| 'BAD_VERSION'
	| 'NOT_EMPTY'
	| 'NO_CHILDREN_FOR_EPHEMERALS'
	| 'NO_AUTH'
	| 'INVALID_ACL'
	| 'AUTH_FAILED'
	| 'BAD_ARGUMENTS'
	| 'UNIMPLEMENTED'
	| 'SESSION_EXPIRED'
	| 'CONNECTION_LOSS'
	| 'TIMEOUT'
	| 'CLOSED'
	| 'TOO_LARGE'
	| 'UNKNOWN'

/**
 * A ZooKeeper call failed. `ambiguous` is true when the write may have been done all the same: read before deciding.
 * Never thrown synchronously; always the rejection of the call's promise.
 */
export class ZkError extends Error {
	override readonly name: string = 'ZkError'
	constructor(
		readonly code: ZkErrorCode,
		readonly operation: string,
		readonly path: string,
		readonly ambiguous = false,
		/** ZooKeeper's number, 0 when the error is of our side. */
		readonly wireCode = 0,
	) {
		super(`zookeeper ${operation} ${path}: ${code}${ambiguous ? ' (outcome unknown)' : ''}`)
	}

	/** Stable code for logs, JSON output and exit codes. */
	get stableCode(): string {
		return `KCLI_ZK_${this.code}`
	}

	/** The same call may succeed later with nothing changed by the caller. */
	get retriable(): boolean {
		return this.code === 'CONNECTION_LOSS' || this.code === 'TIMEOUT' || this.code === 'SESSION_EXPIRED'
	}
}

/** A multi failed as a whole: nothing of it was done. `index` is the step at fault, `code` its error, `path` its path. */
export class ZkMultiError extends ZkError {
	override readonly name = 'ZkMultiError'
	constructor(
		code: ZkErrorCode,
		path: string,
		readonly index: number,
		wireCode: number,
	) {
		super(code, 'multi', path, false, wireCode)
	}
}

/** True when `error` is a {@link ZkError} with that code. */
export function isZkError(error: unknown, code: ZkErrorCode): error is ZkError {
	return error instanceof ZkError && error.code === code
}

/**
 * `connecting`: no session yet (also between an expired session and the next). `connected`: requests flow.
 * `disconnected`: the session may live on, its connection is lost. `expired`: the server (or our own patience) ended
 * it; goes to `connecting` when the `expired` listeners are done. `closed` is final.
 */
export type ZkState = 'connecting' | 'connected' | 'disconnected' | 'expired' | 'closed'

/**
 * In order of happening, each told to all listeners before the next:
 * - `connected`: requests flow. `isNew` on the first connection of a session: ephemeral nodes must be made again.
 * - `disconnected`: connection lost, session perhaps alive. Writes in flight are retried by the session.
 * - `leaseLost`: the server may have given the session up by now, whatever happens next: no controller write may begin.
 *   Told once a disconnection, always before `expired`. A `connected` with `isNew` false ends it.
 * - `expired`: the session is gone with its ephemeral nodes. Listeners may return a promise; the next session is not
 *   opened before all have settled.
 * - `closed`: by `close()`, or since authentication failed.
 */
export type ZkSessionEvent =
	| { readonly type: 'connected'; readonly generation: number; readonly sessionId: bigint; readonly isNew: boolean }
	| { readonly type: 'disconnected'; readonly generation: number }
	| { readonly type: 'leaseLost'; readonly generation: number }
	| { readonly type: 'expired'; readonly generation: number }
	| { readonly type: 'closed'; readonly reason: 'requested' | 'authFailed' }

/** A subscription or listener that can be ended. Idempotent; after it the callback is never called again. */
export interface ZkSubscription {
	close(): void
}

/** A watch: `ready` settles after the first delivery, or rejects with `CLOSED` when the session is closed before it. */
export interface ZkWatch extends ZkSubscription {
	readonly ready: Promise<void>
}

export interface ZkCallOptions {
	/** Longest wait for the whole call, retries included. Default: session timeout and connect timeout together. */
	readonly timeoutMs?: number
	/**
	 * Generation to which the call is bound: in another session it rejects with `SESSION_EXPIRED` instead of being sent.
	 * Calls that create ephemeral nodes are always bound, by default to the generation at the time of the call.
	 */
	readonly generation?: number
}

export interface ZkCreateOptions extends ZkCallOptions {
	readonly mode?: ZkCreateMode
	readonly acl?: readonly ZkAcl[]
	/** Makes missing parents as persistent nodes with null data first. */
	readonly parents?: boolean
	/**
	 * For sequential modes: a second node from a retry does no harm, so that a lost reply is retried. Without it such a
	 * create rejects with an ambiguous `CONNECTION_LOSS`.
	 */
	readonly duplicatesHarmless?: boolean
}

export interface ZkSetOptions extends ZkCallOptions {
	/**
	 * The data names its writer, so that finding it there at the next version proves that a set with a lost reply was
	 * ours. Without it the outcome of such a set is an ambiguous `BAD_VERSION`.
	 */
	readonly identified?: boolean
}

export interface ZkMultiOptions extends ZkCallOptions {
	/**
	 * Asked when the reply to a first try was lost and the second try failed: reads, and returns the results when the
	 * first try had been done after all, or null when it had not. Without it such a multi rejects with an ambiguous
	 * `CONNECTION_LOSS`.
	 */
	readonly verify?: () => Promise<ZkOpResult[] | null>
	/** As for create: lets a multi with sequential creates be retried. */
	readonly duplicatesHarmless?: boolean
}

/**
 * All calls are pipelined in the order made (as long as the connection lasts), have a deadline, settle exactly once and
 * reject with {@link ZkError}. A lost connection is waited out and the call tried again within its deadline; a write
 * whose first outcome is unknown is resolved by reading, so that the caller sees what really happened.
 * Passed buffers belong to the session until the call settles.
 */
export interface ZkSession {
	readonly state: ZkState
	/** Counts ZooKeeper's sessions from 1; 0 before the first. */
	readonly generation: number
	/** Id of the current session; 0n before the first. */
	readonly sessionId: bigint
	/** Timeout negotiated with the server, in milliseconds. */
	readonly timeoutMs: number
	/** Whether the session id belonged to an earlier session of this object. */
	wasOurs(sessionId: bigint): boolean
	/**
	 * Monotonic milliseconds (`Clock.monotonicMs`) until which the server cannot have expired the session, safety margin
	 * taken off: send time of the newest request that was answered plus the timeout. Whoever acts under an exclusive
	 * role (controller) begins no write after it. Moves forward with every answer; 0 without a session.
	 */
	readonly leaseDeadlineMs: number
	/** True while the lease runs: connected or not, the session is certainly alive at the server. */
	hasLease(): boolean

	/** Null when there is no such node. */
	get(path: string, options?: ZkCallOptions): Promise<ZkData | null>
	/** Null when there is no such node. */
	exists(path: string, options?: ZkCallOptions): Promise<ZkStat | null>
	/** Null when there is no such node. */
	children(path: string, options?: ZkCallOptions): Promise<ZkChildren | null>
	/**
	 * Returns the path made (with its number when sequential). `NODE_EXISTS`, `NO_NODE` (parent), …
	 * An ephemeral node that this object's earlier session left is replaced.
	 */
	create(path: string, data: Buffer | null, options?: ZkCreateOptions): Promise<string>
	/** Replaces the data when the node has `version`. `BAD_VERSION`, `NO_NODE`. */
	set(path: string, data: Buffer | null, version: number, options?: ZkSetOptions): Promise<ZkStat>
	/** `BAD_VERSION`, `NO_NODE`, `NOT_EMPTY`. */
	remove(path: string, version: number, options?: ZkCallOptions): Promise<void>
	/** All or nothing. Rejects with {@link ZkMultiError} when a step fails. */
	multi(ops: readonly ZkOp[], options?: ZkMultiOptions): Promise<ZkOpResult[]>
	getAcl(path: string, options?: ZkCallOptions): Promise<{ acl: ZkAcl[]; stat: ZkStat } | null>
	setAcl(path: string, acl: readonly ZkAcl[], aversion: number, options?: ZkCallOptions): Promise<ZkStat>
	/** After it, reads see every write that was acknowledged to anyone before the call. */
	sync(options?: ZkCallOptions): Promise<void>

	/**
	 * Durable subscriptions, armed again for ever: across events, lost connections and new sessions. `callback` gets the
	 * current state first, then, after every change, a state at least as new; never an older one than before. A state
	 * that is replaced before it could be read is skipped (ZooKeeper's watches can do no more), so a node that was
	 * removed and made again shows as a new `czxid`. Two equal states in a row are not told. Null: no such node.
	 * Callbacks run one at a time, in order, after the session event that caused them, and must not throw.
	 */
	watchData(path: string, callback: (value: ZkData | null) => void): ZkWatch
	watchExists(path: string, callback: (value: ZkStat | null) => void): ZkWatch
	watchChildren(path: string, callback: (value: ZkChildren | null) => void): ZkWatch

	/** Listens to session events from now on. */
	onEvent(listener: (event: ZkSessionEvent) => void | Promise<void>): ZkSubscription
	/** Ends the session at the server (its ephemeral nodes go at once) within `timeoutMs` (2,000). Idempotent. */
	close(timeoutMs?: number): Promise<void>
}
