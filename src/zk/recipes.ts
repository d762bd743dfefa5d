/**
 * What brokers and the controller do with ZooKeeper, as Apache Kafka 3.9 does it: root nodes, cluster id, registration,
 * election, fenced writes. Pure over `ZkSession` and `Clock`. Configs and notifications stand in `recipes-config.ts`.
 *
 * Fencing: the data version of `/controller_epoch` is the token. The multi that makes a controller changes it, every
 * write of a controller checks it, so that one that was replaced without knowing cannot write.
 */

import type { Clock } from '../runtime/ports.js'
import { createUnlessPresent, ensurePaths } from './ensure-paths.js'
import {
	ANY_VERSION,
	isZkError,
	type ZkData,
	ZkMultiError,
	type ZkMultiOptions,
	type ZkOp,
	type ZkOpResult,
	type ZkSession,
} from './port.js'
import {
	type BrokerEndpoint,
	type BrokerInfo,
	brokerSequenceZnode,
	brokerZnode,
	clusterIdZnode,
	controllerEpochZnode,
	controllerZnode,
	ROOT_PATHS,
} from './znodes.js'

/** The nodes every broker makes at its start when they are absent. */
export function createRootNodes(session: ZkSession): Promise<void> {
	return ensurePaths(session, ROOT_PATHS)
}

/** The cluster's id; the first broker stores `newId()`, all others read that one. */
export async function readOrCreateClusterId(session: ZkSession, newId: () => string): Promise<string> {
	for (;;) {
		const present = await session.get(clusterIdZnode.path)
		if (present !== null) return clusterIdZnode.decode(present.data)
		await ensurePaths(session, ['/cluster'])
		const id = newId()
		if (await createUnlessPresent(session, clusterIdZnode.path, clusterIdZnode.encode(id))) return id
	}
}

/** A fresh broker id above `reservedMax` (`reserved.broker.max.id`): the first of a cluster is `reservedMax` + 1. */
export async function generateBrokerId(session: ZkSession, reservedMax: number): Promise<number> {
	for (;;) {
		try {
			const stat = await session.set(brokerSequenceZnode.path, Buffer.alloc(0), ANY_VERSION)
			return stat.version + reservedMax
		} catch (error) {
			if (!isZkError(error, 'NO_NODE')) throw error
			await ensurePaths(session, [brokerSequenceZnode.path])
		}
	}
}

export interface RegisteredBroker {
	readonly id: number
	readonly info: BrokerInfo
	/** Broker epoch: czxid of the registration. */
	readonly epoch: bigint
	/** Data version of the znode: changes with the advertised listeners. */
	readonly version: number
}

/** Reads one registration; null when the broker is not there or has not written its data yet. */
export async function readBroker(session: ZkSession, id: number): Promise<RegisteredBroker | null> {
	const node = await session.get(brokerZnode.path(id))
	return node === null || node.data === null ? null : registered(id, node)
}

function registered(id: number, node: ZkData): RegisteredBroker {
	return { id, info: brokerZnode.decode(node.data), epoch: node.stat.czxid, version: node.stat.version }
}

/** All registered brokers, by ascending id. */
export async function readBrokers(session: ZkSession): Promise<RegisteredBroker[]> {
	const children = await session.children(brokerZnode.root)
	const ids = (children?.names ?? []).map(Number).filter(Number.isInteger)
	const brokers = await Promise.all(ids.map((id) => readBroker(session, id)))
	return brokers.filter((broker) => broker !== null).sort((a, b) => a.id - b.id)
}

/** The broker other than `id` that already advertises one of `endpoints`' host and port pairs; null when none does. */
export function findEndpointConflict(
	brokers: readonly RegisteredBroker[],
	id: number,
	endpoints: readonly BrokerEndpoint[],
): { broker: RegisteredBroker; endpoint: BrokerEndpoint } | null {
	const wanted = new Set(endpoints.map(({ host, port }) => `${host}:${port}`))
	for (const broker of brokers) {
		if (broker.id === id) continue
		const endpoint = broker.info.endpoints.find(({ host, port }) => wanted.has(`${host}:${port}`))
		if (endpoint !== undefined) return { broker, endpoint }
	}
	return null
}

/** Another session holds the registration of this broker id. */
export class BrokerIdTakenError extends Error {
	override readonly name = 'BrokerIdTakenError'
	constructor(
		readonly brokerId: number,
		readonly owner: bigint,
	) {
		super(`broker id ${brokerId} is registered by session 0x${owner.toString(16)}`)
	}
}

/**
 * Registers a broker for the current session and returns its epoch. A registration that an earlier session of this
 * object left is replaced; one of the current session (a lost reply) is taken as done. One of a foreign session (a
 * crashed predecessor, or a real second broker) is waited for up to `waitMs`, then {@link BrokerIdTakenError}.
 */
export async function registerBroker(
	session: ZkSession,
	clock: Clock,
	id: number,
	info: BrokerInfo,
	waitMs = 0,
): Promise<bigint> {
	const path = brokerZnode.path(id)
	const data = brokerZnode.encode(info)
	const deadlineMs = clock.monotonicMs() + waitMs
	for (;;) {
		const generation = session.generation
		const verify = async (): Promise<ZkOpResult[] | null> => {
			const node = await session.get(path)
			if (node?.stat.ephemeralOwner !== session.sessionId || node.data?.equals(data) !== true) return null
			return [
				{ op: 'create', path },
				{ op: 'set', stat: node.stat },
			]
		}
		const ops: ZkOp[] = [
			{ op: 'create', path, data: null, mode: 'ephemeral' },
			{ op: 'set', path, data, version: 0 },
		]
		try {
			const results = await session.multi(ops, { generation, verify })
			const set = results[1]
			if (set?.op === 'set') return set.stat.czxid
		} catch (error) {
			if (!isZkError(error, 'NODE_EXISTS')) throw error
		}
		const epoch = await settleRegistration(session, clock, id, data, deadlineMs)
		if (epoch !== null) return epoch
	}
}

/** The node exists: the epoch when it is ours, null when it is out of the way now. */
async function settleRegistration(
	session: ZkSession,
	clock: Clock,
	id: number,
	data: Buffer,
	deadlineMs: number,
): Promise<bigint | null> {
	const path = brokerZnode.path(id)
	const node = await session.get(path)
	if (node === null) return null
	const owner = node.stat.ephemeralOwner
	if (owner === session.sessionId) {
		if (node.data?.equals(data) !== true) await session.set(path, data, ANY_VERSION)
		return node.stat.czxid
	}
	if (session.wasOurs(owner)) {
		await session.remove(path, node.stat.version).catch((error: unknown) => {
			if (!isZkError(error, 'NO_NODE') && !isZkError(error, 'BAD_VERSION')) throw error
		})
		return null
	}
	if (!(await waitForRemoval(session, clock, path, deadlineMs))) throw new BrokerIdTakenError(id, owner)
	return null
}

/** True once no node is at `path`, false when `deadlineMs` (monotonic) comes first. */
export function waitForRemoval(session: ZkSession, clock: Clock, path: string, deadlineMs: number): Promise<boolean> {
	return new Promise<boolean>((resolve, reject) => {
		const left = deadlineMs - clock.monotonicMs()
		if (left <= 0) {
			resolve(false)
			return
		}
		const end = (removed: boolean): void => {
			timer.cancel()
			watch.close()
			resolve(removed)
		}
		const timer = clock.after(left, () => end(false))
		const watch = session.watchExists(path, (stat) => {
			if (stat === null) end(true)
		})
		watch.ready.catch((error: unknown) => {
			timer.cancel()
			reject(error as Error)
		})
	})
}

/** Replaces the registered data, as when advertised listeners change. The epoch stays. */
export async function updateBroker(session: ZkSession, id: number, info: BrokerInfo): Promise<void> {
	await session.set(brokerZnode.path(id), brokerZnode.encode(info), ANY_VERSION)
}

/** Outcome of an election. `won` carries the fencing token; `lost` names the controller when it is known. */
export type Election =
	| { readonly won: true; readonly epoch: number; readonly epochVersion: number }
	| { readonly won: false; readonly controllerId: number | null }

/** The controller's epoch with its znode's version (the fencing token), or null before the first election. */
export async function readControllerEpoch(
	session: ZkSession,
): Promise<{ readonly epoch: number; readonly version: number } | null> {
	const node = await session.get(controllerEpochZnode.path)
	return node === null ? null : { epoch: controllerEpochZnode.decode(node.data), version: node.stat.version }
}

/** Broker id of the current controller, or null. */
export async function readController(session: ZkSession): Promise<number | null> {
	const node = await session.get(controllerZnode.path)
	return node === null ? null : controllerZnode.decode(node.data).brokerId
}

/**
 * Tries to become controller in the current session: `/controller` made and the epoch raised in one multi. Losing is
 * an outcome, not an error; the caller watches `/controller` and tries again when it goes.
 */
export async function electController(session: ZkSession, clock: Clock, brokerId: number): Promise<Election> {
	const generation = session.generation
	const active = await readController(session)
	if (active !== null) return { won: false, controllerId: active }
	let current = await readControllerEpoch(session)
	if (current === null) {
		await createUnlessPresent(session, controllerEpochZnode.path, controllerEpochZnode.encode(0))
		current = (await readControllerEpoch(session)) ?? { epoch: 0, version: 0 }
	}
	const epoch = current.epoch + 1
	const data = controllerZnode.encode({ brokerId, timestamp: clock.wallMs() })
	const verify = async (): Promise<ZkOpResult[] | null> => {
		const [holder, raised] = await Promise.all([
			session.get(controllerZnode.path),
			session.get(controllerEpochZnode.path),
		])
		if (holder === null || raised === null || holder.stat.ephemeralOwner !== session.sessionId) return null
		if (holder.data?.equals(data) !== true || controllerEpochZnode.decode(raised.data) !== epoch) return null
		return [
			{ op: 'create', path: controllerZnode.path },
			{ op: 'set', stat: raised.stat },
		]
	}
	const ops: ZkOp[] = [
		{ op: 'create', path: controllerZnode.path, data, mode: 'ephemeral' },
		{
			op: 'set',
			path: controllerEpochZnode.path,
			data: controllerEpochZnode.encode(epoch),
			version: current.version,
		},
	]
	try {
		const results = await session.multi(ops, { generation, verify })
		const set = results[1]
		return { won: true, epoch, epochVersion: set?.op === 'set' ? set.stat.version : current.version + 1 }
	} catch (error) {
		if (!isZkError(error, 'NODE_EXISTS') && !isZkError(error, 'BAD_VERSION')) throw error
		return { won: false, controllerId: await readController(session) }
	}
}

/** Another controller was elected, or the lease ran out: stop what is under way and resign. */
export class ControllerMovedError extends Error {
	override readonly name = 'ControllerMovedError'
	constructor(readonly reason: 'epoch' | 'lease') {
		super(reason === 'epoch' ? 'another controller was elected' : "the session's lease ran out")
	}
}

/**
 * A controller's write: all `ops` or nothing, and only while `epochVersion` is still the version of the epoch znode.
 * Returns the results of `ops`. {@link ControllerMovedError} when fenced or when the lease has run out;
 * `ZkMultiError` with the index in `ops` for an ordinary conflict. A lost reply is resolved by reading: with the fence
 * in place nobody else writes under this epoch, so finding what was written proves that it was us.
 */
export async function fencedMulti(
	session: ZkSession,
	epochVersion: number,
	ops: readonly ZkOp[],
	options: ZkMultiOptions = {},
): Promise<ZkOpResult[]> {
	if (!session.hasLease()) throw new ControllerMovedError('lease')
	const check: ZkOp = { op: 'check', path: controllerEpochZnode.path, version: epochVersion }
	const verify = async (): Promise<ZkOpResult[] | null> => {
		const found = await findDone(session, ops)
		return found === null ? null : [{ op: 'check' }, ...found]
	}
	try {
		const generation = session.generation
		return (await session.multi([check, ...ops], { generation, verify, ...options })).slice(1)
	} catch (error) {
		if (!(error instanceof ZkMultiError)) throw error
		if (error.index === 0) throw new ControllerMovedError('epoch')
		throw new ZkMultiError(error.code, error.path, error.index - 1, error.wireCode)
	}
}

/** Results of `ops` when every one of them shows in the tree as done, else null. */
async function findDone(session: ZkSession, ops: readonly ZkOp[]): Promise<ZkOpResult[] | null> {
	const nodes = await Promise.all(ops.map((op) => session.get(op.path)))
	const results: ZkOpResult[] = []
	for (const [index, op] of ops.entries()) {
		const node = nodes[index] ?? null
		if (op.op === 'check') results.push({ op: 'check' })
		else if (op.op === 'remove') {
			if (node !== null) return null
			results.push({ op: 'remove' })
		} else {
			if (node === null || !sameData(node.data, op.data)) return null
			if (op.op === 'create') results.push({ op: 'create', path: op.path })
			else {
				if (op.version !== ANY_VERSION && node.stat.version !== op.version + 1) return null
				results.push({ op: 'set', stat: node.stat })
			}
		}
	}
	return results
}

function sameData(a: Buffer | null, b: Buffer | null): boolean {
	return a === null || b === null ? a === b : a.equals(b)
}

/** Gives the controller role up, unless another has it already. */
export async function resignController(session: ZkSession, epochVersion: number): Promise<void> {
	try {
		await fencedMulti(session, epochVersion, [{ op: 'remove', path: controllerZnode.path, version: ANY_VERSION }])
	} catch (error) {
		if (error instanceof ControllerMovedError || isZkError(error, 'NO_NODE')) return
		throw error
	}
}

/** Paths of all descendants of `path` and itself, children before parents. Empty when there is no such node. */
export async function listTree(session: ZkSession, path: string): Promise<string[]> {
	const children = await session.children(path)
	if (children === null) return []
	const below = await Promise.all(
		children.names.map((name) => listTree(session, path === '/' ? `/${name}` : `${path}/${name}`)),
	)
	return [...below.flat(), path]
}

/** Removes a tree under the controller's fence, leaves first, 500 nodes a multi (the frame limit). */
export async function fencedRemoveTree(session: ZkSession, epochVersion: number, path: string): Promise<void> {
	for (;;) {
		const paths = await listTree(session, path)
		if (paths.length === 0) return
		try {
			for (let at = 0; at < paths.length; at += 500) {
				const batch = paths.slice(at, at + 500)
				await fencedMulti(
					session,
					epochVersion,
					batch.map((each) => ({ op: 'remove', path: each, version: ANY_VERSION })),
				)
			}
			return
		} catch (error) {
			// Somebody added or removed a node in between: look again.
			if (!isZkError(error, 'NO_NODE') && !isZkError(error, 'NOT_EMPTY')) throw error
		}
	}
}
