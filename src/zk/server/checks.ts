/**
 * Decides whether a write may be done on the present tree, in the order of Apache's own checks, and makes the change.
 * Pure: a change, or the error code for the client. A multi asks for one step at a time, each applied before the next.
 */

import { type AclRecord, ERR, FLAG, OP } from '../messages.js'
import { type Identity, isAllowed, PERM, resolveAcl } from './acl.js'
import { type DataTree, SYSTEM_PATHS } from './data-tree.js'
import { isRoughlyPath, isValidPath, parentOf, sequenceSuffix } from './paths.js'
import { NODE_KIND, type NodeKind, type TreeChange } from './transaction.js'

/** Who asks, and of what. */
export interface WriteContext {
	readonly tree: DataTree
	readonly identities: readonly Identity[]
	readonly sessionId: bigint
	/** Whether TTL nodes may be made (off in Apache unless configured). */
	readonly hasTtlNodes: boolean
}

export interface CreateBody {
	readonly path: string
	readonly data: Buffer | null
	readonly acl: readonly AclRecord[]
	readonly flags: number
	readonly ttl?: number
}

const TTL_MAX = 2 ** 40 - 1

export function checkCreate(context: WriteContext, type: number, body: CreateBody): TreeChange | number {
	const { tree, identities } = context
	const { flags } = body
	if (flags < FLAG.persistent || flags > FLAG.persistentSequentialTtl) return ERR.badArguments
	const isTtl = flags === FLAG.persistentTtl || flags === FLAG.persistentSequentialTtl
	const ttlError = checkTtl(context, type, body, isTtl)
	if (ttlError !== ERR.ok) return ttlError
	if (!isRoughlyPath(body.path)) return ERR.badArguments
	const acl = resolveAcl(body.acl, identities)
	if (typeof acl === 'number') return acl
	const parent = tree.get(parentOf(body.path) ?? '/')
	if (parent === undefined) return ERR.noNode
	if (!isAllowed(parent.acl, PERM.create, identities)) return ERR.noAuth
	const isSequential =
		flags === FLAG.persistentSequential || flags === FLAG.ephemeralSequential || flags === FLAG.persistentSequentialTtl
	const path = isSequential ? body.path + sequenceSuffix(parent.counter) : body.path
	if (!isValidPath(path)) return ERR.badArguments
	if (tree.get(path) !== undefined) return ERR.nodeExists
	if (parent.owner !== 0n) return ERR.noChildrenForEphemerals
	// The operation makes a container, not the flag: a plain create with it is a plain node, as in Apache.
	const isContainer = type === OP.createContainer
	const isEphemeral = !isContainer && (flags === FLAG.ephemeral || flags === FLAG.ephemeralSequential)
	let nodeKind: NodeKind = NODE_KIND.plain
	if (isContainer) nodeKind = NODE_KIND.container
	else if (isTtl) nodeKind = NODE_KIND.ttl
	return {
		kind: 'create',
		path,
		data: body.data,
		acl,
		owner: isEphemeral ? context.sessionId : 0n,
		nodeKind,
		ttlMs: isTtl ? (body.ttl ?? 0) : 0,
		counter: (parent.counter + 1) | 0,
	}
}

function checkTtl(context: WriteContext, type: number, body: CreateBody, isTtl: boolean): number {
	if (isTtl && !context.hasTtlNodes) return ERR.unimplemented
	if (isTtl) {
		const ttl = type === OP.createTtl ? (body.ttl ?? 0) : 0
		return ttl >= 1 && ttl <= TTL_MAX ? ERR.ok : ERR.badArguments
	}
	// Apache lets a negative time pass here, and ends when it applies it.
	return type === OP.createTtl ? ERR.badArguments : ERR.ok
}

export function checkDelete(context: WriteContext, path: string, version: number): TreeChange | number {
	const { tree, identities } = context
	if (!isRoughlyPath(path) || SYSTEM_PATHS.has(path)) return ERR.badArguments
	const parent = tree.get(parentOf(path) ?? '/')
	if (parent === undefined) return ERR.noNode
	if (!isAllowed(parent.acl, PERM.delete, identities)) return ERR.noAuth
	const node = tree.get(path)
	if (node === undefined) return ERR.noNode
	if (version !== -1 && version !== node.version) return ERR.badVersion
	if (tree.children(node).size > 0) return ERR.notEmpty
	return { kind: 'remove', path }
}

export function checkSetData(
	context: WriteContext,
	path: string,
	data: Buffer | null,
	version: number,
): TreeChange | number {
	if (!isValidPath(path)) return ERR.badArguments
	const node = context.tree.get(path)
	if (node === undefined) return ERR.noNode
	if (!isAllowed(node.acl, PERM.write, context.identities)) return ERR.noAuth
	if (version !== -1 && version !== node.version) return ERR.badVersion
	return { kind: 'set', path, data: data, version: (node.version + 1) | 0 }
}

export function checkSetAcl(
	context: WriteContext,
	path: string,
	acl: readonly AclRecord[],
	aversion: number,
): TreeChange | number {
	if (!isValidPath(path)) return ERR.badArguments
	const resolved = resolveAcl(acl, context.identities)
	if (typeof resolved === 'number') return resolved
	const node = context.tree.get(path)
	if (node === undefined) return ERR.noNode
	if (!isAllowed(node.acl, PERM.admin, context.identities)) return ERR.noAuth
	if (aversion !== -1 && aversion !== node.aversion) return ERR.badVersion
	return { kind: 'setAcl', path, acl: resolved, aversion: (node.aversion + 1) | 0 }
}

/** A multi's check: 0 when the node is there, readable and at `version`. */
export function checkVersion(context: WriteContext, path: string, version: number): number {
	if (!isValidPath(path)) return ERR.badArguments
	const node = context.tree.get(path)
	if (node === undefined) return ERR.noNode
	if (!isAllowed(node.acl, PERM.read, context.identities)) return ERR.noAuth
	return version !== -1 && version !== node.version ? ERR.badVersion : ERR.ok
}
