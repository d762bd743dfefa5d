/**
 * What a ZooKeeper server promises on the wire, as tests that take an address: run on ours (`contract.test.ts`) and on a
 * real one. Each test works below a root of its own and leaves nothing that matters behind. Zxids of failed writes are
 * not compared: Apache spends one on each, ours none.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { JuteReader } from '../../src/zk/jute.js'
import {
	addWatchRequest,
	authRequest,
	children2Reply,
	childrenReply,
	createReply2,
	createRequest,
	ERR,
	FLAG,
	getAclReply,
	getDataReply,
	intReply,
	type MultiOp,
	OP,
	pathReply,
	pathRequest,
	setAclRequest,
	setWatchesRequest,
	statRecord,
	statReply,
	watchedPathRequest,
	watchTypeRequest,
	whoAmIReply,
} from '../../src/zk/messages.js'
import { OPEN, RawClient } from './raw-client.js'

export interface ContractTarget {
	/** Called in `beforeAll`. */
	start(): Promise<{ address: string; stop(): Promise<void> }>
}

let count = 0

export function zooKeeperContract(target: ContractTarget): void {
	let address = ''
	let stop: () => Promise<void> = async () => undefined
	let zk: RawClient
	let root = ''

	beforeAll(async () => {
		const started = await target.start()
		address = started.address
		stop = started.stop
	})
	afterAll(() => stop())

	/** A test with a fresh session and root. */
	const promise = (name: string, body: () => Promise<void>): void => {
		test(name, async () => {
			zk = await RawClient.open(address)
			root = `/t${process.pid}-${++count}`
			expect((await zk.create(root)).err).toBe(0)
			await zk.events()
			try {
				await body()
			} finally {
				await zk.end().catch(() => undefined)
			}
		})
	}

	const createOp = (path: string, flags = 0, data = ''): MultiOp => ({
		type: OP.create,
		body: { path, data: Buffer.from(data), acl: OPEN, flags },
	})
	const setOp = (path: string, data: string, version: number): MultiOp => ({
		type: OP.setData,
		body: { path, data: Buffer.from(data), version },
	})
	const removeOp = (path: string, version = -1): MultiOp => ({ type: OP.delete, body: { path, version } })
	const checkOp = (path: string, version: number): MultiOp => ({ type: OP.check, body: { path, version } })
	const errorsOf = (results: readonly { type: number; err?: number }[]): number[] =>
		results.map((result) => (result.type === OP.error ? (result.err ?? 0) : 0))

	describe('session', () => {
		promise('the greeting mirrors the read-only byte', async () => {
			expect(zk.greeting?.length).toBe(36)
			const other = await RawClient.open(address, { readOnly: false })
			expect(other.greeting?.length).toBe(37)
			await other.end()
		})
		promise('the timeout is bounded from below', async () => {
			const other = await RawClient.open(address, { timeoutMs: 0 })
			expect(other.timeoutMs).toBeGreaterThan(0)
			await other.end()
		})
		promise('is taken up on a new connection with its password, and the old one is closed', async () => {
			await zk.create(`${root}/e`, '', FLAG.ephemeral)
			const again = await RawClient.open(address, { sessionId: zk.sessionId, password: zk.password })
			expect(again.sessionId).toBe(zk.sessionId)
			await zk.closed()
			expect((await again.exists(`${root}/e`)).err).toBe(0)
			await again.end()
		})
		promise('with a wrong password is refused with zeros', async () => {
			const other = await RawClient.open(address, { sessionId: zk.sessionId, password: Buffer.alloc(16, 1) })
			expect([other.timeoutMs, other.sessionId]).toEqual([0, 0n])
			await other.closed()
		})
		promise('unknown is refused with zeros', async () => {
			const other = await RawClient.open(address, {
				sessionId: 0x1234n,
				password: Buffer.alloc(16, 1),
				readOnly: false,
			})
			expect([other.timeoutMs, other.sessionId, other.greeting?.length]).toEqual([0, 0n, 37])
			await other.closed()
		})
		promise('of a client from the future is closed without a word', async () => {
			const other = await RawClient.dial(address)
			other.greet({ zxid: 2 ** 50 })
			await other.closed()
			expect(other.greeting).toBeNull()
		})
		promise('closed: its ephemeral nodes go, others are told, it cannot be taken up', async () => {
			const other = await RawClient.open(address)
			await other.create(`${root}/e`, '', FLAG.ephemeral)
			await zk.exists(`${root}/e`, true)
			await zk.children(root, true)
			await other.end()
			expect(await zk.events()).toEqual([`deleted ${root}/e`, `children ${root}`])
			const again = await RawClient.open(address, { sessionId: other.sessionId, password: other.password })
			expect(again.timeoutMs).toBe(0)
			await again.closed()
		})
		promise('expires when nothing is heard of it, not before its timeout', async () => {
			const other = await RawClient.open(address, { timeoutMs: 1 })
			await other.create(`${root}/e`, '', FLAG.ephemeral)
			const began = performance.now()
			await zk.exists(`${root}/e`, true)
			other.destroy()
			while ((await zk.exists(`${root}/e`)).err === 0) await zk.events()
			// The node went no earlier than the timeout after its last request.
			expect(performance.now() - began).toBeGreaterThan(other.timeoutMs - 50)
		})
		promise('requests behind the greeting wait for it', async () => {
			const other = await RawClient.dial(address)
			other.greet({})
			const frame = await other.request(OP.exists, (writer) =>
				watchedPathRequest.write(writer, { path: root, watch: false }),
			)
			expect(frame.err).toBe(0)
			await other.end()
		})
		promise('a frame above the limit closes the connection', async () => {
			const other = await RawClient.open(address)
			const header = Buffer.alloc(4)
			header.writeInt32BE(0x100000)
			other.write(header)
			await other.closed()
		})
		promise('any xid is echoed, also 0 and negative ones', async () => {
			for (const xid of [0, -5, 77, 0x7fffffff]) {
				zk.send(OP.exists, (writer) => watchedPathRequest.write(writer, { path: root, watch: false }), xid)
				expect((await zk.reply(xid)).err).toBe(0)
			}
		})
		promise('an unknown operation is answered, then the connection closed', async () => {
			const other = await RawClient.open(address)
			const frame = await other.request(999)
			expect([frame.err, frame.zxid]).toEqual([ERR.unimplemented, -1])
			await other.closed()
		})
		promise('a request that cannot be read is an error, and the connection lives', async () => {
			expect((await zk.request(OP.create, (writer) => writer.int(1000))).err).toBe(ERR.marshalling)
			expect((await zk.exists(root)).err).toBe(0)
		})
	})

	describe('create', () => {
		promise('of a node: stat as documented', async () => {
			const before = (await zk.exists(root)).stat
			await zk.create(`${root}/a`, 'hi')
			const { data, stat } = await zk.get(`${root}/a`)
			expect(data).toBe('hi')
			expect(stat).toMatchObject({
				version: 0,
				cversion: 0,
				aversion: 0,
				ephemeralOwner: 0n,
				dataLength: 2,
				numChildren: 0,
			})
			expect([stat.mzxid, stat.pzxid, stat.mtime]).toEqual([stat.czxid, stat.czxid, stat.ctime])
			const after = (await zk.exists(root)).stat
			expect([after.cversion, after.numChildren, after.version]).toEqual([before.cversion + 1, 1, before.version])
			expect([after.pzxid, after.mzxid]).toEqual([stat.czxid, before.mzxid])
		})
		promise('with null data keeps null, with empty data empty', async () => {
			await zk.create(`${root}/null`, null)
			await zk.create(`${root}/empty`, '')
			expect((await zk.get(`${root}/null`)).data).toBeNull()
			expect((await zk.get(`${root}/empty`)).data).toBe('')
		})
		promise('fails: present, no parent, below an ephemeral, bad flags, bad paths, no ACL', async () => {
			await zk.create(`${root}/e`, '', FLAG.ephemeral)
			const errors = []
			for (const [path, flags] of [
				[root, 0],
				[`${root}/x/y`, 0],
				[`${root}/e/y`, 0],
				[`${root}/f`, 9],
				[`${root}/g/`, 0],
				[`${root}//g`, 0],
				[`${root}/.`, 0],
				[`${root}/\u0001`, 0],
				['nothing', 0],
				['/', 0],
				[`${root}/ttl`, FLAG.persistentTtl],
			] as const) {
				errors.push((await zk.create(path, '', flags)).err)
			}
			expect(errors).toEqual([-110, -101, -108, -8, -101, -101, -8, -8, -8, -110, -6])
			expect((await zk.create(`${root}/h`, '', 0, [])).err).toBe(ERR.invalidAcl)
			const foreign = [{ perms: 31, id: { scheme: 'no', id: 'x' } }]
			expect((await zk.create(`${root}/h`, '', 0, foreign)).err).toBe(ERR.invalidAcl)
		})
		promise(
			'sequential: the parent counts all creates, deletes change nothing, a slash at the end is allowed',
			async () => {
				const made = []
				made.push((await zk.create(`${root}/n`, '', FLAG.persistentSequential)).path)
				await zk.create(`${root}/plain`)
				made.push((await zk.create(`${root}/n`, '', FLAG.ephemeralSequential)).path)
				await zk.remove(made[0] as string)
				made.push((await zk.create(`${root}/`, '', FLAG.persistentSequential)).path)
				expect(made).toEqual([`${root}/n0000000000`, `${root}/n0000000002`, `${root}/0000000003`])
				expect((await zk.exists(root)).stat.cversion).toBe(5)
			},
		)
		promise('with stat, and containers', async () => {
			for (const [op, flags] of [
				[OP.create2, FLAG.persistent],
				[OP.createContainer, FLAG.container],
			] as const) {
				const body = { path: `${root}/c${op}`, data: Buffer.from('x'), acl: OPEN, flags }
				const { err, value } = await zk.call(op, createRequest, body, createReply2)
				expect(err).toBe(0)
				expect(value).toMatchObject({ path: body.path, stat: { version: 0, ephemeralOwner: 0n, dataLength: 1 } })
			}
		})
		promise('ephemeral: owned by the session', async () => {
			await zk.create(`${root}/e`, '', FLAG.ephemeral)
			expect((await zk.exists(`${root}/e`)).stat.ephemeralOwner).toBe(zk.sessionId)
			const { value } = await zk.call(OP.getEphemerals, pathRequest, { path: root }, childrenReply)
			expect(value?.children).toEqual([`${root}/e`])
		})
	})

	describe('set and delete', () => {
		promise('set raises the version, at version 0 too, and refuses another', async () => {
			await zk.create(`${root}/a`, 'x')
			const first = await zk.set(`${root}/a`, 'y', 0)
			expect(first.stat).toMatchObject({ version: 1, dataLength: 1, cversion: 0 })
			expect((await zk.set(`${root}/a`, 'z', 0)).err).toBe(ERR.badVersion)
			expect((await zk.set(`${root}/a`, 'z', -1)).stat?.version).toBe(2)
			expect((await zk.set(`${root}/none`, 'z', -1)).err).toBe(ERR.noNode)
		})
		promise('delete: version, children, absence, the system nodes', async () => {
			await zk.create(`${root}/a`)
			await zk.create(`${root}/a/b`)
			expect(await zk.remove(`${root}/a`)).toBe(ERR.notEmpty)
			expect(await zk.remove(`${root}/a/b`, 1)).toBe(ERR.badVersion)
			expect(await zk.remove(`${root}/a/b`, 0)).toBe(0)
			expect(await zk.remove(`${root}/a/b`)).toBe(ERR.noNode)
			expect(await zk.remove(`${root}/x/y`)).toBe(ERR.noNode)
			for (const path of ['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config', '']) {
				expect(await zk.remove(path), path).toBe(ERR.badArguments)
			}
			expect((await zk.exists(`${root}/a`)).stat).toMatchObject({ cversion: 2, numChildren: 0 })
		})
		promise('a node made again begins at version 0 with a new czxid', async () => {
			await zk.create(`${root}/a`)
			await zk.set(`${root}/a`, 'x', -1)
			const old = (await zk.exists(`${root}/a`)).stat
			await zk.remove(`${root}/a`)
			await zk.create(`${root}/a`)
			const { stat } = await zk.exists(`${root}/a`)
			expect(stat.version).toBe(0)
			expect(stat.czxid).toBeGreaterThan(old.mzxid)
		})
	})

	describe('reads', () => {
		promise('of what is not there', async () => {
			expect((await zk.exists(`${root}/x`)).err).toBe(ERR.noNode)
			expect((await zk.get(`${root}/x`)).err).toBe(ERR.noNode)
			expect((await zk.children(`${root}/x`)).err).toBe(ERR.noNode)
			expect((await zk.call(OP.getAcl, pathRequest, { path: `${root}/x` }, getAclReply)).err).toBe(ERR.noNode)
		})
		promise('children with and without stat', async () => {
			for (const name of ['b', 'a', 'c']) await zk.create(`${root}/${name}`)
			expect((await zk.children(root)).names).toEqual(['a', 'b', 'c'])
			const request = { path: root, watch: false }
			const { value } = await zk.call(OP.getChildren2, watchedPathRequest, request, children2Reply)
			expect([...(value?.children ?? [])].sort()).toEqual(['a', 'b', 'c'])
			expect(value?.stat).toMatchObject({ numChildren: 3, cversion: 3 })
		})
		promise('the empty path reads the root', async () => {
			expect((await zk.exists('')).err).toBe(0)
		})
		promise('sync echoes the path', async () => {
			const { value } = await zk.call(OP.sync, pathRequest, { path: `${root}/x` }, pathReply)
			expect(value?.path).toBe(`${root}/x`)
		})
		promise('all descendants are counted', async () => {
			await zk.create(`${root}/a`)
			await zk.create(`${root}/a/b`)
			const { value } = await zk.call(OP.getAllChildrenNumber, pathRequest, { path: root }, intReply)
			expect(value?.value).toBe(2)
		})
		promise('the built-in nodes', async () => {
			expect((await zk.children('/zookeeper')).names).toEqual(['config', 'quota'])
		})
	})

	describe('multi', () => {
		promise('steps see one another, under one zxid', async () => {
			const { err, results } = await zk.multi([
				createOp(`${root}/a`),
				createOp(`${root}/a/b`, FLAG.persistentSequential, 'x'),
				setOp(`${root}/a`, 'new', 0),
				checkOp(`${root}/a`, 1),
				removeOp(`${root}/a/b0000000000`, 0),
			])
			expect(err).toBe(0)
			expect(results.map(({ type }) => type)).toEqual([OP.create, OP.create, OP.setData, OP.check, OP.delete])
			expect(results[1]).toMatchObject({ path: `${root}/a/b0000000000` })
			const { stat } = await zk.exists(`${root}/a`)
			expect([stat.czxid, stat.pzxid]).toEqual([stat.mzxid, stat.mzxid])
			expect(stat).toMatchObject({ version: 1, numChildren: 0, cversion: 2 })
		})
		promise('that fails undoes all: data, versions, counters, sequence', async () => {
			await zk.create(`${root}/a`, 'x')
			const before = [await zk.get(`${root}/a`), (await zk.exists(root)).stat]
			const { err, results } = await zk.multi([
				createOp(`${root}/a/s`, FLAG.persistentSequential),
				setOp(`${root}/a`, 'changed', 0),
				createOp(`${root}/b`),
				removeOp(`${root}/b`),
				checkOp(`${root}/a`, 0),
				removeOp(`${root}/a`),
			])
			expect(err).toBe(0)
			expect(errorsOf(results)).toEqual([0, 0, 0, 0, -103, -2])
			expect([await zk.get(`${root}/a`), (await zk.exists(root)).stat]).toEqual(before)
			expect((await zk.create(`${root}/a/s`, '', FLAG.persistentSequential)).path).toBe(`${root}/a/s0000000000`)
		})
		promise('removed in a step that is undone: the node is back with its children and watches', async () => {
			await zk.create(`${root}/a`, 'x')
			await zk.create(`${root}/a/b`)
			await zk.get(`${root}/a`, true)
			const { results } = await zk.multi([removeOp(`${root}/a/b`), removeOp(`${root}/a`), createOp(`${root}/a/c`)])
			expect(errorsOf(results)).toEqual([0, 0, -101])
			expect((await zk.children(`${root}/a`)).names).toEqual(['b'])
			expect(await zk.events()).toEqual([])
		})
		promise('empty is legal; a read inside is not', async () => {
			expect(await zk.multi([])).toEqual({ err: 0, results: [] })
			const frame = await zk.request(OP.multi, (writer) => {
				writer.int(OP.getData)
				writer.bool(false)
				writer.int(-1)
				watchedPathRequest.write(writer, { path: root, watch: false })
			})
			expect([frame.err, frame.body.length]).toEqual([ERR.marshalling, 0])
		})
		promise('fires the events of its steps, one-shot watches once', async () => {
			await zk.exists(`${root}/a`, true)
			await zk.children(root, true)
			await zk.multi([createOp(`${root}/a`), setOp(`${root}/a`, 'x', 0), removeOp(`${root}/a`)])
			expect(await zk.events()).toEqual([`created ${root}/a`, `children ${root}`])
		})
		promise('reads: each with its own outcome', async () => {
			await zk.create(`${root}/a`, 'x')
			const frame = await zk.request(OP.multiRead, (writer) => {
				for (const [type, path] of [
					[OP.getData, `${root}/a`],
					[OP.getChildren, `${root}/none`],
					[OP.getChildren, root],
				] as const) {
					writer.int(type)
					writer.bool(false)
					writer.int(-1)
					watchedPathRequest.write(writer, { path, watch: false })
				}
				writer.int(-1)
				writer.bool(true)
				writer.int(-1)
			})
			const reader = new JuteReader(frame.body)
			const header = (): number[] => [reader.int(), Number(reader.bool()), reader.int()]
			expect(header()).toEqual([OP.getData, 0, 0])
			expect(getDataReply.read(reader).data?.toString()).toBe('x')
			expect(header()).toEqual([-1, 0, ERR.noNode])
			expect(reader.int()).toBe(ERR.noNode)
			expect(header()).toEqual([OP.getChildren, 0, 0])
			expect(childrenReply.read(reader).children).toEqual(['a'])
			expect(header()).toEqual([-1, 1, -1])
		})
	})

	describe('watches', () => {
		promise('the event of an own change comes before its reply', async () => {
			await zk.create(`${root}/a`)
			await zk.get(`${root}/a`, true)
			zk.order.length = 0
			await zk.set(`${root}/a`, 'x', -1)
			expect(zk.order[0]).toBe(`data ${root}/a`)
			expect(zk.order).toHaveLength(2)
		})
		promise('one-shot: fired once, by the right changes', async () => {
			await zk.exists(`${root}/a`, true)
			await zk.children(root, true)
			await zk.create(`${root}/a`)
			await zk.set(`${root}/a`, 'x', -1)
			await zk.create(`${root}/b`)
			expect(await zk.events()).toEqual([`created ${root}/a`, `children ${root}`])
			await zk.get(`${root}/a`, true)
			await zk.children(`${root}/a`, true)
			await zk.create(`${root}/a/c`)
			expect(await zk.events()).toEqual([`children ${root}/a`])
			await zk.remove(`${root}/a/c`)
			await zk.children(`${root}/a`, true)
			await zk.remove(`${root}/a`)
			// Watched twice, told once.
			expect(await zk.events()).toEqual([`deleted ${root}/a`])
		})
		promise('a failed getData or getChildren leaves none, exists does', async () => {
			await zk.get(`${root}/a`, true)
			await zk.children(`${root}/a`, true)
			await zk.create(`${root}/a`)
			expect(await zk.events()).toEqual([])
		})
		promise('setAcl fires none', async () => {
			await zk.get(root, true)
			await zk.call(OP.setAcl, setAclRequest, { path: root, acl: OPEN, version: -1 }, statReply)
			expect(await zk.events()).toEqual([])
		})
		promise('setWatches fires what was missed and registers the rest', async () => {
			await zk.create(`${root}/old`)
			const { stat } = await zk.exists(`${root}/old`)
			await zk.set(`${root}/old`, 'x', -1)
			await zk.create(`${root}/still`)
			const { stat: still } = await zk.exists(`${root}/still`)
			const frame = await zk.request(OP.setWatches, (writer) =>
				setWatchesRequest.write(writer, {
					relativeZxid: stat.czxid,
					data: [`${root}/old`, `${root}/gone`],
					exist: [`${root}/still`, `${root}/later`],
					child: [root],
				}),
			)
			expect(frame.err).toBe(0)
			expect(await zk.events()).toEqual([
				`data ${root}/old`,
				`deleted ${root}/gone`,
				`created ${root}/still`,
				`children ${root}`,
			])
			await zk.request(OP.setWatches, (writer) =>
				setWatchesRequest.write(writer, { relativeZxid: still.czxid, data: [`${root}/old`], exist: [], child: [root] }),
			)
			await zk.create(`${root}/later`)
			await zk.set(`${root}/old`, 'y', -1)
			expect(await zk.events()).toEqual([`created ${root}/later`, `children ${root}`, `data ${root}/old`])
		})
		promise('persistent ones stay, recursive ones see below and no children events', async () => {
			await zk.call(OP.addWatch, addWatchRequest, { path: root, mode: 0 }, intReply)
			await zk.create(`${root}/a`)
			await zk.create(`${root}/b`)
			await zk.set(root, 'x', -1)
			expect(await zk.events()).toEqual([`children ${root}`, `children ${root}`, `data ${root}`])
			await zk.call(OP.addWatch, addWatchRequest, { path: `${root}/a`, mode: 1 }, intReply)
			await zk.create(`${root}/a/x`)
			await zk.set(`${root}/a/x`, 'x', -1)
			await zk.remove(`${root}/a/x`)
			expect(await zk.events()).toEqual([`created ${root}/a/x`, `data ${root}/a/x`, `deleted ${root}/a/x`])
			expect((await zk.call(OP.addWatch, addWatchRequest, { path: root, mode: 7 }, intReply)).err).toBe(ERR.marshalling)
		})
		promise('can be checked and removed', async () => {
			const watchType = async (op: number, type: number): Promise<number> =>
				(await zk.request(op, (writer) => watchTypeRequest.write(writer, { path: root, type }))).err
			expect(await watchType(OP.checkWatches, 3)).toBe(ERR.noWatcher)
			await zk.get(root, true)
			expect(await watchType(OP.checkWatches, 2)).toBe(0)
			expect(await watchType(OP.checkWatches, 1)).toBe(ERR.noWatcher)
			expect(await watchType(OP.removeWatches, 3)).toBe(0)
			await zk.set(root, 'x', -1)
			expect(await zk.events()).toEqual([])
		})
		promise('die with the connection, also when the session is taken up again', async () => {
			await zk.get(root, true)
			const again = await RawClient.open(address, { sessionId: zk.sessionId, password: zk.password })
			await again.set(root, 'x', -1)
			expect(await again.events()).toEqual([])
			await again.end()
		})
	})

	describe('access', () => {
		promise('digest: creator-only nodes, auth expanded, ids hidden from others', async () => {
			const auth = async (client: RawClient, scheme: string, text: string): Promise<number> => {
				client.send(OP.auth, (writer) => authRequest.write(writer, { type: 0, scheme, auth: Buffer.from(text) }), -4)
				return (await client.reply(-4)).err
			}
			const creator = [{ perms: 31, id: { scheme: 'auth', id: '' } }]
			expect((await zk.create(`${root}/mine`, 'x', 0, creator)).err).toBe(ERR.invalidAcl)
			expect(await auth(zk, 'digest', 'user:secret')).toBe(0)
			expect((await zk.create(`${root}/mine`, 'x', 0, creator)).err).toBe(0)
			const { value } = await zk.call(OP.getAcl, pathRequest, { path: `${root}/mine` }, getAclReply)
			expect(value?.acl).toEqual([{ perms: 31, id: { scheme: 'digest', id: 'user:5w9W4eL3797Y4Wq8AcKUPPk8ha4=' } }])
			const other = await RawClient.open(address)
			expect((await other.get(`${root}/mine`)).err).toBe(ERR.noAuth)
			expect((await other.set(`${root}/mine`, 'y', -1)).err).toBe(ERR.noAuth)
			expect((await other.create(`${root}/mine/x`)).err).toBe(ERR.noAuth)
			expect((await other.call(OP.getAcl, pathRequest, { path: `${root}/mine` }, getAclReply)).err).toBe(ERR.noAuth)
			expect(await auth(other, 'digest', 'user:secret')).toBe(0)
			expect((await other.get(`${root}/mine`)).data).toBe('x')
			await other.end()
			const who = await zk.request(OP.whoAmI)
			expect(
				whoAmIReply
					.read(new JuteReader(who.body))
					.identities.map(({ scheme }) => scheme)
					.sort(),
			).toEqual(['digest', 'ip'])
		})
		promise('setAcl has a version of its own', async () => {
			const set = async (version: number) =>
				zk.call(OP.setAcl, setAclRequest, { path: root, acl: OPEN, version }, statReply)
			expect((await set(0)).value?.stat).toMatchObject({ aversion: 1, version: 0 })
			expect((await set(0)).err).toBe(ERR.badVersion)
			expect((await set(-1)).value?.stat.aversion).toBe(2)
		})
		promise('an unknown scheme is refused and the connection closed', async () => {
			const other = await RawClient.open(address)
			other.send(OP.auth, (writer) => authRequest.write(writer, { type: 0, scheme: 'none', auth: null }), -4)
			expect((await other.reply(-4)).err).toBe(ERR.authFailed)
			await other.closed()
		})
		promise('reconfig is off', async () => {
			const frame = await zk.request(OP.reconfig, (writer) => {
				for (let i = 0; i < 3; i++) writer.ustring('')
				writer.safeLong(-1)
			})
			expect(frame.err).toBe(ERR.reconfigDisabled)
		})
	})

	describe('order', () => {
		promise('pipelined requests are answered in order and see one another', async () => {
			const xids = [
				zk.send(OP.create, (writer) =>
					createRequest.write(writer, { path: `${root}/a`, data: Buffer.from('1'), acl: OPEN, flags: 0 }),
				),
				zk.send(OP.exists, (writer) => watchedPathRequest.write(writer, { path: `${root}/a`, watch: false })),
				zk.send(OP.exists, (writer) => watchedPathRequest.write(writer, { path: `${root}/b`, watch: false })),
			]
			const frames = await Promise.all(xids.map((xid) => zk.reply(xid)))
			expect(frames.map(({ err }) => err)).toEqual([0, 0, -101])
			expect(zk.order.slice(-3)).toEqual(xids.map((xid) => `reply ${xid}`))
			const stat = statRecord.read(new JuteReader(frames[1]?.body ?? Buffer.alloc(0)))
			expect(stat.czxid).toBe(frames[0]?.zxid)
		})
	})

	describe('four-letter words', () => {
		const word = async (text: string): Promise<string> => {
			const client = await RawClient.dial(address)
			client.write(Buffer.from(text))
			await client.closed()
			return client.text
		}
		test('ruok', async () => expect(await word('ruok')).toBe('imok'))
		test('srvr', async () => {
			const text = await word('srvr')
			expect(text).toMatch(/^Zookeeper version: 3\.\d+\.\d+/)
			expect(text).toMatch(/\nMode: standalone\nNode count: \d+\n$/)
		})
		test('mntr', async () => expect(await word('mntr')).toMatch(/^zk_version\t.*\nzk_server_state\tstandalone\n/))
		test('stat', async () => expect(await word('stat')).toMatch(/\nClients:\n[\s\S]*\nLatency min\/avg\/max: /))
		test('conf', async () => expect(await word('conf')).toMatch(/^clientPort=\d+\n/))
	})
}
