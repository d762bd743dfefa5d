/** `node-zookeeper-client` as it comes, for showing that its defects are there: what our driver is measured against. */

import { createRequire } from 'node:module'
import { onTestFinished } from 'vitest'

type Callback<T> = (error: Error | null, value: T) => void

export interface BareManager {
	state: number
	xid: number
	readonly pendingQueue: unknown[]
	readonly packetQueue: { readonly queue: { readonly request: { readonly header: { readonly type: number } } }[] }
	readonly socket?: { destroy(): void }
	connect(): void
	onSocketData(bytes: Buffer): void
	queue(request: object, done: Callback<unknown>): void
}

export interface BareClient {
	readonly connectionManager: BareManager
	connect(): void
	close(): void
	once(event: string, listener: () => void): void
	on(event: string, listener: () => void): void
	getState(): { readonly name: string }
	addAuthInfo(scheme: string, auth: Buffer): void
	create(path: string, data: Buffer | null, acls: unknown, mode: number, done: Callback<string>): void
	setData(path: string, data: Buffer | null, version: number, done: Callback<object>): void
	getData(path: string, watcher: (() => void) | null, done: Callback<Buffer>): void
	exists(path: string, watcher: (() => void) | null, done: Callback<BareStat | null>): void
	mkdirp(path: string, data: Buffer, done: Callback<string>): void
	removeRecursive(path: string, done: Callback<void>): void
	transaction(): BareTransaction
}

export interface BareStat {
	readonly czxid: unknown
	readonly version: number
}

export interface BareTransaction {
	create(path: string, data: Buffer): BareTransaction
	setData(path: string, data: Buffer, version: number): BareTransaction
	commit(done: Callback<unknown>): void
}

export const bare = createRequire(import.meta.url)('node-zookeeper-client') as {
	createClient(connect: string, options?: object): BareClient
	readonly ACL: { readonly OPEN_ACL_UNSAFE: unknown; readonly CREATOR_ALL_ACL: unknown }
	readonly CreateMode: Readonly<Record<'PERSISTENT' | 'EPHEMERAL' | 'PERSISTENT_SEQUENTIAL', number>>
	readonly Exception: { readonly CONNECTION_LOSS: number }
}

/** A client that is not connected yet; its socket goes with the test, whatever state it is in. */
export function bareClient(connect: string, options: object = {}): BareClient {
	const client = bare.createClient(connect, { sessionTimeout: 10_000, spinDelay: 10, ...options })
	onTestFinished(() => {
		const { connectionManager } = client
		// No more attempts: its own close throws or hangs in most states (N14).
		connectionManager.connect = () => undefined
		connectionManager.socket?.destroy()
	})
	return client
}

export async function connected(connect: string, options: object = {}): Promise<BareClient> {
	const client = bareClient(connect, options)
	const isThere = new Promise<void>((resolve) => client.once('connected', resolve))
	client.connect()
	await isThere
	return client
}

/** One call as a promise. */
export function called<T>(run: (done: Callback<T>) => void): Promise<T> {
	return new Promise((resolve, reject) => run((error, value) => (error ? reject(error) : resolve(value))))
}

export function makeNode(client: BareClient, path: string, data = Buffer.alloc(0), mode = 0): Promise<string> {
	return called<string>((done) => client.create(path, data, bare.ACL.OPEN_ACL_UNSAFE, mode, done))
}
