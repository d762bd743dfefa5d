/** Part of the contract of a ZooKeeper server (`contract.ts`): create, set and delete, reads, access. */

import { describe, expect } from 'vitest'
import { JuteReader } from '../../src/zk/jute.js'
import {
	authRequest,
	children2Reply,
	childrenReply,
	createReply2,
	createRequest,
	ERR,
	FLAG,
	getAclReply,
	intReply,
	OP,
	pathReply,
	pathRequest,
	setAclRequest,
	statReply,
	watchedPathRequest,
	whoAmIReply,
} from '../../src/zk/messages.js'
import type { Contract } from './contract-harness.js'
import { OPEN, RawClient } from './raw-client.js'

export function contractNodes(contract: Contract): void {
	const { promise } = contract

	describe('create', () => {
		promise('of a node: stat as documented', async ({ root, zk }) => {
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
		promise('of a container: what the flags say of a session does not count', async ({ root, zk }) => {
			const body = { path: `${root}/c`, data: null, acl: OPEN, flags: FLAG.ephemeral }
			const { err, value } = await zk.call(OP.createContainer, createRequest, body, createReply2)
			expect([err, value?.path, value?.stat.ephemeralOwner]).toEqual([0, `${root}/c`, 0n])
			expect((await zk.create(`${root}/c/child`)).err).toBe(0)
		})
		promise('with null data keeps null, with empty data empty', async ({ root, zk }) => {
			await zk.create(`${root}/null`, null)
			await zk.create(`${root}/empty`, '')
			expect((await zk.get(`${root}/null`)).data).toBeNull()
			expect((await zk.get(`${root}/empty`)).data).toBe('')
		})
		promise('fails: present, no parent, below an ephemeral, bad flags, bad paths, no ACL', async ({ root, zk }) => {
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
			] as const) {
				errors.push((await zk.create(path, '', flags)).err)
			}
			expect(errors).toEqual([-110, -101, -108, -8, -101, -101, -8, -8, -8, -110])
			expect((await zk.create(`${root}/h`, '', 0, [])).err).toBe(ERR.invalidAcl)
			const foreign = [{ perms: 31, id: { scheme: 'no', id: 'x' } }]
			expect((await zk.create(`${root}/h`, '', 0, foreign)).err).toBe(ERR.invalidAcl)
		})
		promise(
			'sequential: the parent counts all creates, deletes change nothing, a slash at the end is allowed',
			async ({ zk, root }) => {
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
		promise('with stat, and containers', async ({ root, zk }) => {
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
		promise('ephemeral: owned by the session', async ({ root, zk }) => {
			await zk.create(`${root}/e`, '', FLAG.ephemeral)
			expect((await zk.exists(`${root}/e`)).stat.ephemeralOwner).toBe(zk.sessionId)
			const { value } = await zk.call(OP.getEphemerals, pathRequest, { path: root }, childrenReply)
			expect(value?.children).toEqual([`${root}/e`])
		})
	})

	describe('set and delete', () => {
		promise('set raises the version, at version 0 too, and refuses another', async ({ root, zk }) => {
			await zk.create(`${root}/a`, 'x')
			const first = await zk.set(`${root}/a`, 'y', 0)
			expect(first.stat).toMatchObject({ version: 1, dataLength: 1, cversion: 0 })
			expect((await zk.set(`${root}/a`, 'z', 0)).err).toBe(ERR.badVersion)
			expect((await zk.set(`${root}/a`, 'z', -1)).stat?.version).toBe(2)
			expect((await zk.set(`${root}/none`, 'z', -1)).err).toBe(ERR.noNode)
		})
		promise('delete: version, children, absence, the system nodes', async ({ root, zk }) => {
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
		promise('a node made again begins at version 0 with a new czxid', async ({ root, zk }) => {
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
		promise('of what is not there', async ({ root, zk }) => {
			expect((await zk.exists(`${root}/x`)).err).toBe(ERR.noNode)
			expect((await zk.get(`${root}/x`)).err).toBe(ERR.noNode)
			expect((await zk.children(`${root}/x`)).err).toBe(ERR.noNode)
			expect((await zk.call(OP.getAcl, pathRequest, { path: `${root}/x` }, getAclReply)).err).toBe(ERR.noNode)
		})
		promise('children with and without stat', async ({ root, zk }) => {
			for (const name of ['b', 'a', 'c']) await zk.create(`${root}/${name}`)
			expect((await zk.children(root)).names).toEqual(['a', 'b', 'c'])
			const request = { path: root, watch: false }
			const { value } = await zk.call(OP.getChildren2, watchedPathRequest, request, children2Reply)
			expect([...(value?.children ?? [])].sort()).toEqual(['a', 'b', 'c'])
			expect(value?.stat).toMatchObject({ numChildren: 3, cversion: 3 })
		})
		promise('the empty path reads the root', async ({ zk }) => {
			expect((await zk.exists('')).err).toBe(0)
		})
		promise('sync echoes the path', async ({ root, zk }) => {
			const { value } = await zk.call(OP.sync, pathRequest, { path: `${root}/x` }, pathReply)
			expect(value?.path).toBe(`${root}/x`)
		})
		promise('all descendants are counted', async ({ root, zk }) => {
			await zk.create(`${root}/a`)
			await zk.create(`${root}/a/b`)
			const { value } = await zk.call(OP.getAllChildrenNumber, pathRequest, { path: root }, intReply)
			expect(value?.value).toBe(2)
		})
		promise('the built-in nodes', async ({ zk }) => {
			expect((await zk.children('/zookeeper')).names).toEqual(['config', 'quota'])
		})
	})

	describe('access', () => {
		promise('digest: creator-only nodes, auth expanded, ids hidden from others', async ({ address, root, zk }) => {
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
		promise('setAcl has a version of its own', async ({ root, zk }) => {
			const set = async (version: number) =>
				zk.call(OP.setAcl, setAclRequest, { path: root, acl: OPEN, version }, statReply)
			expect((await set(0)).value?.stat).toMatchObject({ aversion: 1, version: 0 })
			expect((await set(0)).err).toBe(ERR.badVersion)
			expect((await set(-1)).value?.stat.aversion).toBe(2)
		})
		promise('an unknown scheme is refused and the connection closed', async ({ address }) => {
			const other = await RawClient.open(address)
			other.send(OP.auth, (writer) => authRequest.write(writer, { type: 0, scheme: 'none', auth: null }), -4)
			expect((await other.reply(-4)).err).toBe(ERR.authFailed)
			await other.closed()
		})
		promise('reconfig is off', async ({ zk }) => {
			const frame = await zk.request(OP.reconfig, (writer) => {
				for (let i = 0; i < 3; i++) writer.ustring('')
				writer.safeLong(-1)
			})
			expect(frame.err).toBe(ERR.reconfigDisabled)
		})
	})
}
