/**
 * Reads: answered from memory by writing the reply's body. Each returns the error code (0: the body was written). A
 * watch is set here too, since it counts from the moment its read is processed.
 */

import type { JuteReader, JuteWriter } from '../jute.js'
import {
	aclRecord,
	addWatchRequest,
	ERR,
	EVENT,
	multiHeader,
	OP,
	pathRequest,
	readMultiRead,
	setWatches2Request,
	setWatchesRequest,
	statRecord,
	watchedPathRequest,
	watchTypeRequest,
	writeMultiEnd,
} from '../messages.js'
import { type Identity, isAllowed, maskAcl, PERM } from './acl.js'
import { type DataTree, statOf } from './data-tree.js'
import { unpackData } from './node-data.js'
import { WATCH_MODE, WATCH_TYPE, type WatchTable } from './watches.js'

/** Who reads: its identities, session, and how to tell it of an event at once. */
export interface Reader {
	readonly identities: readonly Identity[]
	readonly sessionId: bigint
	event(type: number, path: string): void
}

export interface ReadContext<P extends Reader> {
	readonly tree: DataTree
	readonly watches: WatchTable<P>
	readonly peer: P
}

type Read = <P extends Reader>(context: ReadContext<P>, reader: JuteReader, writer: JuteWriter) => number

/** The empty path reads the root, as in Apache. */
const lookup = (tree: DataTree, path: string) => tree.get(path === '' ? '/' : path)

const exists: Read = ({ tree, watches, peer }, reader, writer) => {
	const { path, watch } = watchedPathRequest.read(reader)
	// Apache's only check of a path that is read.
	if (path.includes('\u0000')) return ERR.badArguments
	const node = lookup(tree, path)
	if (node !== undefined && !isAllowed(node.acl, PERM.read, peer.identities)) return ERR.noAuth
	if (watch) watches.addData(path, peer)
	if (node === undefined) return ERR.noNode
	statRecord.write(writer, statOf(node))
	return ERR.ok
}

const getData: Read = ({ tree, watches, peer }, reader, writer) => {
	const { path, watch } = watchedPathRequest.read(reader)
	const node = lookup(tree, path)
	if (node === undefined) return ERR.noNode
	if (!isAllowed(node.acl, PERM.read, peer.identities)) return ERR.noAuth
	writer.buffer(unpackData(node.data))
	statRecord.write(writer, statOf(node))
	if (watch) watches.addData(path, peer)
	return ERR.ok
}

function childrenRead(hasStat: boolean): Read {
	return ({ tree, watches, peer }, reader, writer) => {
		const { path, watch } = watchedPathRequest.read(reader)
		const node = lookup(tree, path)
		if (node === undefined) return ERR.noNode
		if (!isAllowed(node.acl, PERM.read, peer.identities)) return ERR.noAuth
		const children = tree.children(node)
		writer.int(children.size)
		for (const name of children) writer.ustring(name)
		if (hasStat) statRecord.write(writer, statOf(node))
		if (watch) watches.addChild(path, peer)
		return ERR.ok
	}
}

const getAcl: Read = ({ tree, peer }, reader, writer) => {
	const node = lookup(tree, pathRequest.read(reader).path)
	if (node === undefined) return ERR.noNode
	if (!isAllowed(node.acl, PERM.read | PERM.admin, peer.identities)) return ERR.noAuth
	const acl = isAllowed(node.acl, PERM.admin, peer.identities) ? node.acl : maskAcl(node.acl)
	writer.int(acl.length)
	for (const entry of acl) aclRecord.write(writer, entry)
	statRecord.write(writer, statOf(node))
	return ERR.ok
}

/** On a single node all earlier writes are in: the path is echoed. */
const sync: Read = (_context, reader, writer) => {
	writer.ustring(pathRequest.read(reader).path)
	return ERR.ok
}

const getEphemerals: Read = ({ tree, peer }, reader, writer) => {
	const prefix = pathRequest.read(reader).path
	const paths = tree.ephemeralsOf(peer.sessionId).filter((path) => path.startsWith(prefix))
	writer.int(paths.length)
	for (const path of paths) writer.ustring(path)
	return ERR.ok
}

const getAllChildrenNumber: Read = ({ tree, peer }, reader, writer) => {
	const { path } = pathRequest.read(reader)
	const node = lookup(tree, path)
	if (node === undefined) return ERR.noNode
	if (!isAllowed(node.acl, PERM.read, peer.identities)) return ERR.noAuth
	writer.int(tree.countBelow(path === '' ? '/' : path))
	return ERR.ok
}

const whoAmI: Read = ({ peer }, _reader, writer) => {
	writer.int(peer.identities.length)
	for (const { scheme, id } of peer.identities) {
		writer.ustring(scheme)
		writer.ustring(scheme === 'digest' ? (id.split(':', 1)[0] ?? '') : id)
	}
	return ERR.ok
}

/** Fires now what the client missed since `relativeZxid`, registers the rest. */
function setWatches(hasPersistent: boolean): Read {
	return ({ tree, watches, peer }, reader) => {
		const request = hasPersistent
			? setWatches2Request.read(reader)
			: { ...setWatchesRequest.read(reader), persistent: [], recursive: [] }
		for (const path of request.data) {
			const node = tree.get(path)
			if (node === undefined) peer.event(EVENT.deleted, path)
			else if (node.mzxid > request.relativeZxid) peer.event(EVENT.dataChanged, path)
			else watches.addData(path, peer)
		}
		for (const path of request.exist) {
			if (tree.get(path) === undefined) watches.addData(path, peer)
			else peer.event(EVENT.created, path)
		}
		for (const path of request.child) {
			const node = tree.get(path)
			if (node === undefined) peer.event(EVENT.deleted, path)
			else if (node.pzxid > request.relativeZxid) peer.event(EVENT.childrenChanged, path)
			else watches.addChild(path, peer)
		}
		for (const path of request.persistent) watches.addPersistent(path, peer)
		for (const path of request.recursive) watches.addRecursive(path, peer)
		return ERR.ok
	}
}

const addWatch: Read = ({ watches, peer }, reader, writer) => {
	const { path, mode } = addWatchRequest.read(reader)
	if (mode === WATCH_MODE.persistent) watches.addPersistent(path, peer)
	else if (mode === WATCH_MODE.recursive) watches.addRecursive(path, peer)
	else return ERR.marshalling
	writer.int(ERR.ok)
	return ERR.ok
}

function watchType(act: <P>(watches: WatchTable<P>, path: string, peer: P, type: number) => boolean): Read {
	return ({ watches, peer }, reader) => {
		const { path, type } = watchTypeRequest.read(reader)
		if (type < WATCH_TYPE.children || type > WATCH_TYPE.any) return ERR.marshalling
		return act(watches, path, peer, type) ? ERR.ok : ERR.noWatcher
	}
}

/** Each operation has its own outcome. */
const multiRead: Read = ({ tree, peer }, reader, writer) => {
	for (const { type, body } of readMultiRead(reader)) {
		const node = lookup(tree, body.path)
		let err: number = ERR.ok
		if (node === undefined) err = ERR.noNode
		else if (!isAllowed(node.acl, PERM.read, peer.identities)) err = ERR.noAuth
		if (node === undefined || err !== ERR.ok) {
			multiHeader.write(writer, { type: OP.error, done: false, err })
			writer.int(err)
			continue
		}
		multiHeader.write(writer, { type, done: false, err: ERR.ok })
		if (type === OP.getData) {
			writer.buffer(unpackData(node.data))
			statRecord.write(writer, statOf(node))
		} else {
			const children = tree.children(node)
			writer.int(children.size)
			for (const name of children) writer.ustring(name)
		}
	}
	writeMultiEnd(writer)
	return ERR.ok
}

/** All reads by operation. */
export const READS: ReadonlyMap<number, Read> = new Map<number, Read>([
	[OP.exists, exists],
	[OP.getData, getData],
	[OP.getChildren, childrenRead(false)],
	[OP.getChildren2, childrenRead(true)],
	[OP.getAcl, getAcl],
	[OP.sync, sync],
	[OP.getEphemerals, getEphemerals],
	[OP.getAllChildrenNumber, getAllChildrenNumber],
	[OP.whoAmI, whoAmI],
	[OP.setWatches, setWatches(false)],
	[OP.setWatches2, setWatches(true)],
	[OP.addWatch, addWatch],
	[OP.checkWatches, watchType((watches, path, peer, type) => watches.has(path, peer, type))],
	[OP.removeWatches, watchType((watches, path, peer, type) => watches.remove(path, peer, type))],
	[OP.multiRead, multiRead],
])
