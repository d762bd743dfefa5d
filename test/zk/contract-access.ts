/** Part of the contract of a ZooKeeper server (`contract.ts`): which permission each operation asks for, ACL lists, identities. */

import { describe, expect } from 'vitest'
import { JuteReader } from '../../src/zk/jute.js'
import {
	authRequest,
	children2Reply,
	ERR,
	getAclReply,
	intReply,
	OP,
	pathRequest,
	setAclRequest,
	statReply,
	watchedPathRequest,
	whoAmIReply,
} from '../../src/zk/messages.js'
import { type Contract, checkOp, createOp, errorsOf, readRequest, removeOp, setOp } from './contract-harness.js'
import { RawClient } from './raw-client.js'

const PERMS = { read: 1, write: 2, create: 4, delete: 8, admin: 16 } as const

const world = (perms: number) => [{ perms, id: { scheme: 'world', id: 'anyone' } }]
const entry = (scheme: string, id: string, perms = 31) => ({ perms, id: { scheme, id } })

type Acl = ReturnType<typeof world>

const setAcl = async (zk: RawClient, path: string, acl: Acl): Promise<number> =>
	(await zk.call(OP.setAcl, setAclRequest, { path, acl, version: -1 }, statReply)).err

const auth = async (zk: RawClient, scheme: string, text: string): Promise<number> => {
	zk.send(OP.auth, (writer) => authRequest.write(writer, { type: 0, scheme, auth: Buffer.from(text) }), -4)
	return (await zk.reply(-4)).err
}

const single = async (zk: RawClient, ...ops: Parameters<RawClient['multi']>[0]): Promise<number> =>
	errorsOf((await zk.multi(ops)).results)[0] ?? 0

/** Each operation on a node `path` that has a child `c`, and the permissions of which one lets it through. */
const OPERATIONS: readonly (readonly [string, readonly number[], (zk: RawClient, path: string) => Promise<number>])[] =
	[
		['exists', [PERMS.read], async (zk, path) => (await zk.exists(path)).err],
		['getData', [PERMS.read], async (zk, path) => (await zk.get(path)).err],
		['getChildren', [PERMS.read], async (zk, path) => (await zk.children(path)).err],
		[
			'getChildren2',
			[PERMS.read],
			async (zk, path) =>
				(await zk.call(OP.getChildren2, watchedPathRequest, { path, watch: false }, children2Reply)).err,
		],
		[
			'getAllChildrenNumber',
			[PERMS.read],
			async (zk, path) => (await zk.call(OP.getAllChildrenNumber, pathRequest, { path }, intReply)).err,
		],
		[
			'getACL',
			[PERMS.read, PERMS.admin],
			async (zk, path) => (await zk.call(OP.getAcl, pathRequest, { path }, getAclReply)).err,
		],
		['check in a multi', [PERMS.read], (zk, path) => single(zk, checkOp(path, -1))],
		[
			'getData in a multiRead',
			[PERMS.read],
			async (zk, path) => {
				const { body } = await readRequest(zk, [[OP.getData, path]])
				const reader = new JuteReader(body)
				const type = reader.int()
				reader.bool()
				const err = reader.int()
				return type === OP.error ? err : 0
			},
		],
		['setData', [PERMS.write], async (zk, path) => (await zk.set(path, 'x', -1)).err],
		['setData in a multi', [PERMS.write], (zk, path) => single(zk, setOp(path, 'x', -1))],
		['setACL', [PERMS.admin], (zk, path) => setAcl(zk, path, world(31))],
		['create of a child', [PERMS.create], async (zk, path) => (await zk.create(`${path}/new`)).err],
		['create of a child in a multi', [PERMS.create], (zk, path) => single(zk, createOp(`${path}/new`))],
		['delete of a child', [PERMS.delete], (zk, path) => zk.remove(`${path}/c`)],
		['delete of a child in a multi', [PERMS.delete], (zk, path) => single(zk, removeOp(`${path}/c`))],
	]

function permissionTable({ promise }: Contract): void {
	describe('permissions', () => {
		for (const [operation, wanted, act] of OPERATIONS) {
			for (const [perm, bit] of Object.entries(PERMS)) {
				const isAllowed = wanted.includes(bit)
				promise(`${perm} ${isAllowed ? 'lets' : 'does not let'} ${operation} through`, async ({ root, zk }) => {
					const path = `${root}/n`
					await zk.create(path)
					await zk.create(`${path}/c`)
					expect(await setAcl(zk, path, world(bit))).toBe(0)
					expect(await act(zk, path)).toBe(isAllowed ? 0 : ERR.noAuth)
				})
			}
		}
		promise('of the node itself do not matter to its removal', async ({ root, zk }) => {
			await zk.create(`${root}/n`, '', 0, world(PERMS.read))
			expect(await zk.remove(`${root}/n`)).toBe(0)
		})
		promise('are not handed down', async ({ root, zk }) => {
			await zk.create(`${root}/n`)
			await zk.create(`${root}/n/c`, 'x')
			await setAcl(zk, `${root}/n`, world(PERMS.admin))
			expect((await zk.get(`${root}/n/c`)).data).toBe('x')
		})
		promise('any of several entries is enough', async ({ root, zk }) => {
			await zk.create(`${root}/n`, 'x', 0, [entry('digest', 'a:b'), entry('ip', '127.0.0.1', PERMS.read)])
			expect((await zk.get(`${root}/n`)).data).toBe('x')
			expect((await zk.set(`${root}/n`, 'y', -1)).err).toBe(ERR.noAuth)
		})
		promise('a failing setACL and setData look at existence first', async ({ root, zk }) => {
			expect(await setAcl(zk, `${root}/none`, world(31))).toBe(ERR.noNode)
			expect(await setAcl(zk, `${root}/none`, [])).toBe(ERR.invalidAcl)
		})
	})
}

/** Lists of a create or setACL on a connection without proven identity, and whether they are valid. */
const LISTS: readonly (readonly [string, Acl, boolean])[] = [
	['none', [], false],
	['world:anyone', world(31), true],
	['world:x', [entry('world', 'x')], false],
	['world with no rights', world(0), true],
	['an unknown scheme', [entry('none', 'x')], false],
	['an empty scheme', [entry('', 'x')], false],
	['digest a:b', [entry('digest', 'a:b')], true],
	['digest without colon', [entry('digest', 'ab')], false],
	['digest with two colons', [entry('digest', 'a:b:c')], false],
	['ip 127.0.0.1', [entry('ip', '127.0.0.1')], true],
	['ip 127.0.0.0/8', [entry('ip', '127.0.0.0/8')], true],
	['ip 127.0.0.1/32', [entry('ip', '127.0.0.1/32')], true],
	['ip 127.0.0.1/33', [entry('ip', '127.0.0.1/33')], false],
	['ip 127.0.0.1/-1', [entry('ip', '127.0.0.1/-1')], false],
	['ip 256.0.0.1', [entry('ip', '256.0.0.1')], false],
	['ip 1.2.3', [entry('ip', '1.2.3')], false],
	['ip text', [entry('ip', 'localhost')], false],
	['auth without an identity', [entry('auth', '')], false],
	['a right entry and a wrong one', [...world(1), entry('none', 'x')], false],
]

function listTable({ promise }: Contract): void {
	describe('ACL lists', () => {
		for (const [name, acl, isValid] of LISTS) {
			promise(`create with ${name}`, async ({ root, zk }) => {
				expect((await zk.create(`${root}/n`, '', 0, acl)).err).toBe(isValid ? 0 : ERR.invalidAcl)
			})
			promise(`setACL with ${name}`, async ({ root, zk }) => {
				expect(await setAcl(zk, root, acl)).toBe(isValid ? 0 : ERR.invalidAcl)
			})
		}
		promise('duplicates are stored once, order is kept', async ({ root, zk }) => {
			const acl = [entry('ip', '127.0.0.1', 1), ...world(31), entry('ip', '127.0.0.1', 1), entry('ip', '127.0.0.1', 2)]
			expect(await setAcl(zk, root, acl)).toBe(0)
			const { value } = await zk.call(OP.getAcl, pathRequest, { path: root }, getAclReply)
			expect(value?.acl).toEqual([acl[0], acl[1], acl[3]])
		})
		promise('auth stands for every proven identity', async ({ root, zk }) => {
			await auth(zk, 'digest', 'user1:secret')
			await auth(zk, 'digest', 'user2:secret')
			await setAcl(zk, root, [entry('auth', 'whatever', 31)])
			const { value } = await zk.call(OP.getAcl, pathRequest, { path: root }, getAclReply)
			expect(value?.acl.map(({ perms, id }) => [perms, id.scheme, id.id.split(':')[0]]).sort()).toEqual([
				[31, 'digest', 'user1'],
				[31, 'digest', 'user2'],
			])
		})
	})
}

function identityTable({ promise }: Contract): void {
	describe('identities', () => {
		for (const [pattern, isMatch] of [
			['127.0.0.1', true],
			['127.0.0.1/32', true],
			['127.0.0.0/8', true],
			['127.255.255.255/8', true],
			['127.0.0.2', false],
			['127.0.0.2/31', false],
			['127.0.0.0/31', true],
			['10.0.0.0/8', false],
		] as const) {
			promise(`ip ${pattern} ${isMatch ? 'matches' : 'does not match'} 127.0.0.1`, async ({ root, zk }) => {
				await zk.create(`${root}/n`, 'x', 0, [entry('ip', pattern)])
				expect((await zk.get(`${root}/n`)).err).toBe(isMatch ? 0 : ERR.noAuth)
			})
		}
		for (const text of ['user:secret', 'user:', ':secret', 'plain', 'a:b:c', '']) {
			promise(`digest credentials '${text}' prove something`, async ({ address, root }) => {
				const other = await RawClient.open(address)
				expect(await auth(other, 'digest', text)).toBe(0)
				// Whether the identity can stand in a list is another matter; the connection lives.
				expect((await other.exists(root)).err).toBe(0)
				await other.end()
			})
		}
		for (const scheme of ['none', 'world', '', 'super', 'x509']) {
			promise(`scheme '${scheme}' is refused, and the connection closed`, async ({ address }) => {
				const other = await RawClient.open(address)
				expect(await auth(other, scheme, 'x')).toBe(ERR.authFailed)
				await other.closed()
			})
		}
		promise('ip adds nothing that was not there', async ({ zk }) => {
			expect(await auth(zk, 'ip', 'x')).toBe(0)
			const { body } = await zk.request(OP.whoAmI)
			const { identities } = whoAmIReply.read(new JuteReader(body))
			expect(new Set(identities.map(({ scheme, user }) => `${scheme} ${user}`))).toEqual(new Set(['ip 127.0.0.1']))
		})
		promise('an answer to credentials has zxid 0', async ({ zk }) => {
			zk.send(
				OP.auth,
				(writer) => authRequest.write(writer, { type: 0, scheme: 'digest', auth: Buffer.from('a:b') }),
				7,
			)
			expect(await zk.reply(7)).toMatchObject({ err: 0, zxid: 0 })
		})
		promise('belong to the connection, not the session', async ({ address, root, zk }) => {
			await auth(zk, 'digest', 'user:secret')
			await zk.create(`${root}/n`, 'x', 0, [entry('auth', '')])
			const again = await RawClient.open(address, { sessionId: zk.sessionId, password: zk.password })
			expect((await again.get(`${root}/n`)).err).toBe(ERR.noAuth)
			await auth(again, 'digest', 'user:secret')
			expect((await again.get(`${root}/n`)).err).toBe(0)
			await again.end()
		})
		promise('several hold together', async ({ root, zk }) => {
			for (const user of ['user1', 'user2']) {
				await auth(zk, 'digest', `${user}:secret`)
				await zk.create(`${root}/${user}`, user, 0, [entry('auth', '')])
			}
			expect([(await zk.get(`${root}/user1`)).data, (await zk.get(`${root}/user2`)).data]).toEqual(['user1', 'user2'])
		})
		promise('without admin rights digests are hidden in getACL', async ({ root, zk }) => {
			await zk.create(`${root}/n`, '', 0, [entry('digest', 'user:abc'), ...world(PERMS.read)])
			const { value } = await zk.call(OP.getAcl, pathRequest, { path: `${root}/n` }, getAclReply)
			expect(value?.acl[0]?.id.id).toBe('user:x')
		})
		promise('nobody hears of what it may not read', async ({ address, root, zk }) => {
			const other = await RawClient.open(address)
			await auth(zk, 'digest', 'user:secret')
			await other.exists(`${root}/n`, true)
			await zk.create(`${root}/n`, '', 0, [entry('auth', '')])
			expect(await other.events()).toEqual([])
			await other.end()
		})
	})
}

export function contractAccess(contract: Contract): void {
	permissionTable(contract)
	listTable(contract)
	identityTable(contract)
}
