/**
 * What `session.ts` needs from a driver: one connection at a time to one of the servers, one ZooKeeper session for the
 * driver's whole life, requests and their replies, nothing decided. `node-driver.ts` implements it over the npm package.
 *
 * A driver reconnects by itself for as long as its session may live. It never repeats a request, settles each exactly
 * once, and never throws out of an event.
 */

import type { ZkAcl, ZkErrorCode, ZkOp, ZkOpResult, ZkStat } from './port.js'

export type DriverRequest =
	| { readonly op: 'get' | 'exists' | 'children'; readonly path: string; readonly watch: boolean }
	| {
			readonly op: 'create'
			readonly path: string
			readonly data: Buffer | null
			readonly flags: number
			readonly acl: readonly ZkAcl[]
	  }
	| { readonly op: 'set'; readonly path: string; readonly data: Buffer | null; readonly version: number }
	| { readonly op: 'remove'; readonly path: string; readonly version: number }
	| { readonly op: 'multi'; readonly path: string; readonly ops: readonly ZkOp[] }
	| { readonly op: 'getAcl' | 'sync'; readonly path: string }
	| { readonly op: 'setAcl'; readonly path: string; readonly acl: readonly ZkAcl[]; readonly version: number }

/** Fields by operation; the others are absent. */
export interface DriverReply {
	readonly data?: Buffer | null
	readonly stat?: ZkStat
	readonly names?: string[]
	readonly path?: string
	readonly acl?: ZkAcl[]
	readonly results?: ZkOpResult[]
}

export interface DriverFailure {
	readonly code: ZkErrorCode
	/** ZooKeeper's number, or 0. */
	readonly wireCode: number
	/** Whether bytes of the request may have reached the server. */
	readonly wasSent: boolean
	/** Step at fault of a multi, else -1. */
	readonly index: number
}

export type DriverOutcome =
	| { readonly ok: true; readonly reply: DriverReply }
	| { readonly ok: false; readonly failure: DriverFailure }

export interface DriverEvents {
	/** The session is established or taken up again; requests may be made. */
	onConnected(session: { sessionId: bigint; password: Buffer; timeoutMs: number }): void
	/** After `onConnected`: the connection is gone, the driver tries on. Its requests are settled next, in their order. */
	onDisconnected(): void
	/** Final. The server says that the session is over. */
	onExpired(): void
	/** Final. The server refused the credentials. */
	onAuthFailed(): void
	/** A request or ping that was sent at `sentMs` (monotonic) was answered: the session was alive after it. */
	onAnswer(sentMs: number): void
	/** A watch fired (and is gone). `type` as in ZooKeeper: 1 created, 2 deleted, 3 data, 4 children. */
	onWatch(type: number, path: string): void
}

export interface ZkDriver {
	/** Starts connecting; once. */
	start(): void
	/** Only while connected. `done` is called exactly once, never synchronously. */
	request(request: DriverRequest, done: (outcome: DriverOutcome) => void): void
	/** Cuts the connection and connects again. */
	reconnect(): void
	/** Ends the session at the server when connected, waits at most `timeoutMs`, then lets go. No event follows. */
	close(timeoutMs: number): Promise<void>
}

export interface DriverOptions {
	readonly servers: readonly { readonly host: string; readonly port: number }[]
	/** Empty, or `/path` without a slash at the end. */
	readonly chroot: string
	readonly sessionTimeoutMs: number
	readonly auth: readonly { readonly scheme: string; readonly credentials: Buffer }[]
	/** An earlier session to take up instead of a new one. */
	readonly resume: { readonly sessionId: bigint; readonly password: Buffer } | null
}

export type DriverFactory = (options: DriverOptions, events: DriverEvents) => ZkDriver

/** Codes of ZooKeeper's error numbers. */
const CODES: Readonly<Record<number, ZkErrorCode>> = {
	[-4]: 'CONNECTION_LOSS',
	[-5]: 'BAD_ARGUMENTS',
	[-6]: 'UNIMPLEMENTED',
	[-8]: 'BAD_ARGUMENTS',
	[-101]: 'NO_NODE',
	[-102]: 'NO_AUTH',
	[-103]: 'BAD_VERSION',
	[-108]: 'NO_CHILDREN_FOR_EPHEMERALS',
	[-110]: 'NODE_EXISTS',
	[-111]: 'NOT_EMPTY',
	[-112]: 'SESSION_EXPIRED',
	[-114]: 'INVALID_ACL',
	[-115]: 'AUTH_FAILED',
}

export function codeOfWire(wireCode: number): ZkErrorCode {
	return CODES[wireCode] ?? 'UNKNOWN'
}

/** `host:port,host:port/chroot`; ports default to 2181, IPv6 stands in brackets. Throws with what is wrong. */
export function parseConnectString(text: string): Pick<DriverOptions, 'servers' | 'chroot'> {
	const slash = text.indexOf('/')
	const hosts = slash < 0 ? text : text.slice(0, slash)
	const chroot = slash < 0 ? '' : text.slice(slash).replace(/\/+$/, '')
	if (chroot.includes('//')) throw new Error(`bad chroot in "${text}"`)
	if (chroot.includes(',')) throw new Error(`a chroot stands once, behind the last address: not "${text}"`)
	const servers = hosts
		.split(',')
		.map((each) => each.trim())
		.filter((each) => each !== '')
		.map((each) => {
			const parts = /^(?:\[([^\]]+)\]|([^:\s]+))(?::([0-9]{1,5}))?$/.exec(each)
			const port = Number(parts?.[3] ?? 2181)
			if (parts === null || port > 65_535 || port === 0) throw new Error(`bad ZooKeeper address "${each}"`)
			return { host: (parts[1] ?? parts[2]) as string, port }
		})
	if (servers.length === 0) throw new Error(`no ZooKeeper address in "${text}"`)
	return { servers, chroot }
}
