/**
 * The calls of a session, and what a second outcome means when the first was lost: the write is looked for, so that the
 * caller is told what really happened. Part of `session.ts`.
 *
 * | call | second try says | then |
 * |---|---|---|
 * | create | exists | ours if the data is equal at version 0, or the owner is our session |
 * | set at v | bad version | ours if the data is equal at v + 1 and names its writer |
 * | remove | no node | done |
 * | multi | any error | as the caller's `verify` finds |
 */

import type { DriverReply, DriverRequest } from './driver.js'
import { MODE_FLAGS } from './messages.js'
import {
	ANY_VERSION,
	isZkError,
	OPEN_ACL,
	type ZkAcl,
	type ZkCallOptions,
	type ZkChildren,
	type ZkCreateOptions,
	type ZkData,
	ZkError,
	type ZkMultiOptions,
	type ZkOp,
	type ZkOpResult,
	type ZkSetOptions,
	type ZkStat,
} from './port.js'
import type { CallLine, CallOutcome } from './session-calls.js'

/** What the calls need to know of the session. */
export interface SessionFacts {
	generation(): number
	sessionId(): bigint
	wasOurs(sessionId: bigint): boolean
	defaultTimeoutMs(): number
}

export abstract class SessionOps {
	readonly #line: CallLine
	readonly #facts: SessionFacts

	constructor(line: CallLine, facts: SessionFacts) {
		this.#line = line
		this.#facts = facts
	}

	async get(path: string, options: ZkCallOptions = {}): Promise<ZkData | null> {
		const reply = await this.#read({ op: 'get', path, watch: false }, options)
		return reply === null ? null : { data: reply.data ?? null, stat: statIn(reply) }
	}

	async exists(path: string, options: ZkCallOptions = {}): Promise<ZkStat | null> {
		const reply = await this.#read({ op: 'exists', path, watch: false }, options)
		return reply === null ? null : statIn(reply)
	}

	async children(path: string, options: ZkCallOptions = {}): Promise<ZkChildren | null> {
		const reply = await this.#read({ op: 'children', path, watch: false }, options)
		return reply === null ? null : { names: reply.names ?? [], stat: statIn(reply) }
	}

	async getAcl(path: string, options: ZkCallOptions = {}): Promise<{ acl: ZkAcl[]; stat: ZkStat } | null> {
		const reply = await this.#read({ op: 'getAcl', path }, options)
		return reply === null ? null : { acl: reply.acl ?? [], stat: statIn(reply) }
	}

	async sync(options: ZkCallOptions = {}): Promise<void> {
		valueOrThrow(await this.#submit({ op: 'sync', path: '/' }, options))
	}

	async create(path: string, data: Buffer | null, options: ZkCreateOptions = {}): Promise<string> {
		const mode = options.mode ?? 'persistent'
		const isEphemeral = mode === 'ephemeral' || mode === 'ephemeralSequential'
		const isSequential = mode === 'persistentSequential' || mode === 'ephemeralSequential'
		const generation = options.generation ?? (isEphemeral ? this.#facts.generation() : null)
		const bound = generation === null ? options : { ...options, generation }
		const acl = options.acl ?? OPEN_ACL
		const request: DriverRequest = { op: 'create', path, data, flags: MODE_FLAGS[mode], acl }
		const retryLost = !isSequential || options.duplicatesHarmless === true
		for (;;) {
			const outcome = await this.#submit(request, bound, retryLost)
			if (outcome.ok) return outcome.reply.path ?? path
			const { error } = outcome
			if (error.code === 'NO_NODE' && options.parents === true) {
				await this.#createParents(path, bound)
			} else if (error.code === 'NODE_EXISTS' && !isSequential && (outcome.wasLost || isEphemeral)) {
				if (await this.#settleExisting(path, data, isEphemeral, outcome.wasLost, bound)) return path
			} else throw error
		}
	}

	async #createParents(path: string, options: ZkCallOptions): Promise<void> {
		const parents: string[] = []
		for (let slash = path.indexOf('/', 1); slash > 0; slash = path.indexOf('/', slash + 1)) {
			parents.push(path.slice(0, slash))
		}
		await Promise.all(
			parents.map((parent) =>
				this.create(parent, null, onlyCall(options)).catch(async (error: unknown) => {
					if (isZkError(error, 'NODE_EXISTS')) return
					// Without a right on its parent ZooKeeper does not say that a node is there.
					if (isZkError(error, 'NO_AUTH') && (await this.exists(parent, onlyCall(options))) !== null) return
					throw error
				}),
			),
		)
	}

	/** The node is there already: true when it is ours, false when it is out of the way now, else throws. */
	async #settleExisting(
		path: string,
		data: Buffer | null,
		isEphemeral: boolean,
		wasLost: boolean,
		options: ZkCallOptions,
	): Promise<boolean> {
		const node = await this.get(path, onlyCall(options))
		if (node === null) return false
		const owner = node.stat.ephemeralOwner
		if (isEphemeral && wasLost && owner === this.#facts.sessionId()) return true
		if (isEphemeral && this.#facts.wasOurs(owner)) {
			await this.remove(path, node.stat.version, onlyCall(options)).catch((error: unknown) => {
				if (!isZkError(error, 'NO_NODE') && !isZkError(error, 'BAD_VERSION')) throw error
			})
			return false
		}
		if (!isEphemeral && owner === 0n && node.stat.version === 0 && isEqual(node.data, data)) return true
		throw new ZkError('NODE_EXISTS', 'create', path, wasLost)
	}

	async set(path: string, data: Buffer | null, version: number, options: ZkSetOptions = {}): Promise<ZkStat> {
		const outcome = await this.#submit({ op: 'set', path, data, version }, options)
		if (outcome.ok) return statIn(outcome.reply)
		if (!outcome.wasLost || outcome.error.code !== 'BAD_VERSION' || version === ANY_VERSION) throw outcome.error
		const node = await this.get(path, onlyCall(options))
		const isDone = node !== null && node.stat.version === version + 1 && isEqual(node.data, data)
		if (isDone && options.identified === true) return node.stat
		throw new ZkError('BAD_VERSION', 'set', path, true, outcome.error.wireCode)
	}

	async remove(path: string, version: number, options: ZkCallOptions = {}): Promise<void> {
		const outcome = await this.#submit({ op: 'remove', path, version }, options)
		if (outcome.ok || (outcome.wasLost && outcome.error.code === 'NO_NODE')) return
		throw outcome.error
	}

	async multi(ops: readonly ZkOp[], options: ZkMultiOptions = {}): Promise<ZkOpResult[]> {
		const isEphemeral = ops.some((op) => op.op === 'create' && op.mode?.startsWith('ephemeral') === true)
		const isSequential = ops.some((op) => op.op === 'create' && op.mode?.endsWith('Sequential') === true)
		const generation = options.generation ?? (isEphemeral ? this.#facts.generation() : null)
		const bound = generation === null ? options : { ...options, generation }
		const retryLost = !isSequential || options.duplicatesHarmless === true
		const outcome = await this.#submit({ op: 'multi', path: ops[0]?.path ?? '/', ops }, bound, retryLost)
		if (outcome.ok) return outcome.reply.results ?? []
		if (!outcome.wasLost || outcome.error.retriable || outcome.error.code === 'CLOSED') throw outcome.error
		if (options.verify === undefined) throw new ZkError('CONNECTION_LOSS', 'multi', ops[0]?.path ?? '/', true)
		const found = await options.verify()
		if (found === null) throw outcome.error
		return found
	}

	async setAcl(path: string, acl: readonly ZkAcl[], aversion: number, options: ZkCallOptions = {}): Promise<ZkStat> {
		const outcome = await this.#submit({ op: 'setAcl', path, acl, version: aversion }, options)
		if (outcome.ok) return statIn(outcome.reply)
		if (!outcome.wasLost || outcome.error.code !== 'BAD_VERSION') throw outcome.error
		throw new ZkError('BAD_VERSION', 'setAcl', path, true, outcome.error.wireCode)
	}

	async #read(request: DriverRequest, options: ZkCallOptions): Promise<DriverReply | null> {
		const outcome = await this.#submit(request, options)
		if (outcome.ok) return outcome.reply
		if (outcome.error.code === 'NO_NODE') return null
		throw outcome.error
	}

	#submit(request: DriverRequest, options: ZkCallOptions, retryLost = true): Promise<CallOutcome> {
		const error = checkPath(request)
		if (error !== null) return Promise.resolve({ ok: false, error, wasLost: false })
		return this.#line.submit(request, {
			timeoutMs: options.timeoutMs ?? this.#facts.defaultTimeoutMs(),
			generation: options.generation ?? null,
			retryLost,
		})
	}
}

/** The package throws at what is no path: it is refused before. */
function checkPath(request: DriverRequest): ZkError | null {
	const paths = request.op === 'multi' ? request.ops.map(({ path }) => path) : [request.path]
	const isSequential = request.op === 'create' && request.flags >= MODE_FLAGS.persistentSequential
	for (const path of paths) {
		const isGood =
			path.startsWith('/') && (path === '/' || isSequential || !path.endsWith('/')) && !path.includes('\u0000')
		if (!isGood) return new ZkError('BAD_ARGUMENTS', request.op, path)
	}
	return null
}

/** Options of the call itself, for the reads and writes that belong to it. */
function onlyCall({ timeoutMs, generation }: ZkCallOptions): ZkCallOptions {
	return { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(generation === undefined ? {} : { generation }) }
}

function valueOrThrow(outcome: CallOutcome): DriverReply {
	if (outcome.ok) return outcome.reply
	throw outcome.error
}

function statIn(reply: DriverReply): ZkStat {
	if (reply.stat === undefined) throw new ZkError('UNKNOWN', 'reply', '')
	return reply.stat
}

function isEqual(a: Buffer | null, b: Buffer | null): boolean {
	return a === null || b === null ? a === b : a.equals(b)
}
