/**
 * Clients that work on a few nodes of a server that is killed and started again under them, and write down what they
 * asked, when, and what they were told. A lost connection leaves an operation without outcome; the client takes its
 * session up again, with the newest zxid it saw, and goes on.
 */

import { JuteReader } from '../../../src/zk/jute.js'
import {
	addWatchRequest,
	createRequest,
	deleteRequest,
	ERR,
	getDataReply,
	OP,
	setDataRequest,
	statReply,
	watchedPathRequest,
} from '../../../src/zk/messages.js'
import { until } from '../../helpers/until.js'
import { type Frame, OPEN, RawClient } from '../raw-client.js'
import type { Act, Operation, Outcome } from './linearizable.js'
import type { Watching, WriteSeen } from './watched.js'

export const ROOT = '/history'

/** An operation as the order of zxids sees it. */
export interface Stamped {
	readonly calledAt: number
	readonly returnedAt: number
	readonly zxid: number
	readonly isWrite: boolean
}

const EVENTS = { create: 'created', set: 'data', delete: 'deleted' } as const
const REFUSALS: Readonly<Record<number, Outcome>> = {
	[ERR.noNode]: { kind: 'noNode' },
	[ERR.nodeExists]: { kind: 'nodeExists' },
	[ERR.badVersion]: { kind: 'badVersion' },
}

/** Everything that all clients of one run were told. */
export class History {
	readonly operations = new Map<string, Operation[]>()
	readonly stamped: Stamped[] = []
	readonly acknowledged: WriteSeen[] = []
	readonly watchings: Watching[] = []
	/** Events of writes whose outcome nobody was told. */
	readonly uncertain: string[] = []
	answered = 0
	#moment = 0

	begin(client: number, path: string, act: Act): Operation {
		const operation = { client, act, calledAt: this.#moment++, returnedAt: Number.POSITIVE_INFINITY, outcome: null }
		const known = this.operations.get(path)
		if (known === undefined) this.operations.set(path, [operation])
		else known.push(operation)
		return operation
	}

	end(operation: Operation, path: string, frame: Frame): void {
		const { act } = operation
		operation.returnedAt = this.#moment++
		operation.outcome = frame.err === 0 ? outcomeOf(act, frame.body) : (REFUSALS[frame.err] ?? null)
		if (operation.outcome === null) throw new Error(`${act.kind} of ${path} was answered ${frame.err}`)
		const isWrite = frame.err === 0 && act.kind !== 'get'
		const { calledAt, returnedAt } = operation
		this.stamped.push({ calledAt, returnedAt, zxid: frame.zxid, isWrite })
		if (isWrite) this.acknowledged.push({ zxid: frame.zxid, event: `${EVENTS[act.kind]} ${path}` })
		this.answered++
	}

	lost(path: string, act: Act): void {
		if (act.kind !== 'get') this.uncertain.push(`${EVENTS[act.kind]} ${path}`)
	}
}

function outcomeOf(act: Act, body: Buffer): Outcome {
	const reader = new JuteReader(body)
	if (act.kind === 'set') return { kind: 'done', version: statReply.read(reader).stat.version }
	if (act.kind !== 'get') return { kind: 'done' }
	const { data, stat } = getDataReply.read(reader)
	return { kind: 'read', value: data?.toString() ?? '', version: stat.version }
}

function sendAct(zk: RawClient, path: string, act: Act): number {
	switch (act.kind) {
		case 'create':
			return zk.send(OP.create, (writer) =>
				createRequest.write(writer, { path, data: Buffer.from(act.value), acl: OPEN, flags: 0 }),
			)
		case 'set':
			return zk.send(OP.setData, (writer) =>
				setDataRequest.write(writer, { path, data: Buffer.from(act.value), version: act.version }),
			)
		case 'delete':
			return zk.send(OP.delete, (writer) => deleteRequest.write(writer, { path, version: act.version }))
		case 'get':
			return zk.send(OP.getData, (writer) => watchedPathRequest.write(writer, { path, watch: false }))
	}
}

/** One client; `isWatching` ones watch everything below the root and only read. */
export class HistoryClient {
	readonly #history: History
	readonly #id: number
	readonly #address: () => string
	readonly #isWatching: boolean
	#zk: RawClient | null = null
	#zxid = 0
	#watching: { fromZxid: number; came: (string | number)[] } | null = null
	/** The operation under way, by its xid. */
	#pending: { xid: number; operation: Operation; path: string } | null = null

	constructor(history: History, id: number, address: () => string, isWatching: boolean) {
		this.#history = history
		this.#id = id
		this.#address = address
		this.#isWatching = isWatching
	}

	/** Does one operation, connecting first where that is needed. False when its outcome stays unknown. */
	async act(path: string, act: Act): Promise<boolean> {
		const zk = await this.#connected()
		const operation = this.#history.begin(this.#id, path, act)
		const xid = sendAct(zk, path, act)
		this.#pending = { xid, operation, path }
		await until('an answer or the end', () => this.#pending === null || zk.isClosed, 30_000)
		const isLost = this.#pending !== null
		this.#pending = null
		if (isLost) this.#history.lost(path, act)
		return !isLost
	}

	async end(): Promise<void> {
		await this.#zk?.end().catch(() => undefined)
	}

	async #connected(): Promise<RawClient> {
		if (this.#zk !== null && !this.#zk.isClosed) return this.#zk
		const before = this.#zk
		const session = before === null ? {} : { sessionId: before.sessionId, password: before.password }
		const zk = await until(
			'a session',
			async () => {
				const options = { ...session, zxid: this.#zxid, timeoutMs: 30_000 }
				const opened = await RawClient.open(this.#address(), options).catch(() => null)
				if (opened !== null && opened.greeting !== null && opened.timeoutMs === 0)
					throw new Error('the session was lost')
				return opened?.greeting == null || opened.isClosed ? null : opened
			},
			30_000,
		)
		this.#zk = zk
		zk.told = (each) => this.#told(each)
		if (this.#isWatching) await this.#watch(zk)
		return zk.isClosed ? this.#connected() : zk
	}

	async #watch(zk: RawClient): Promise<void> {
		this.#watching = null
		const xid = zk.send(OP.addWatch, (writer) => addWatchRequest.write(writer, { path: ROOT, mode: 1 }))
		zk.told = (each) => {
			if (typeof each !== 'string' && each.xid === xid) {
				this.#watching = { fromZxid: each.zxid, came: [] }
				this.#history.watchings.push(this.#watching)
			} else this.#told(each)
		}
		await until('the watch', () => this.#watching !== null || zk.isClosed, 30_000)
	}

	#told(each: string | Frame): void {
		if (typeof each === 'string') {
			this.#watching?.came.push(each)
			return
		}
		this.#zxid = Math.max(this.#zxid, each.zxid)
		const pending = this.#pending
		if (pending?.xid !== each.xid) return
		this.#watching?.came.push(each.zxid)
		this.#history.end(pending.operation, pending.path, each)
		this.#pending = null
	}
}
