/** Part of the contract of a ZooKeeper server (`contract.ts`): every operation on every odd path, modes and parents, TTL nodes. */

import { describe, expect } from 'vitest'
import {
	children2Reply,
	createReply2,
	createRequest,
	createTtlRequest,
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
} from '../../src/zk/messages.js'
import { until } from '../helpers/until.js'
import { type Contract, checkOp } from './contract-harness.js'
import { OPEN, type RawClient } from './raw-client.js'

const { ok, badArguments, noNode, nodeExists } = ERR

/**
 * What follows the test's own node; codes of create, of setData, setACL and check, and of delete. A path that is not
 * absolute stands alone (`absolute: false`). Reads take any path and say that nothing is there.
 */
const PATHS: readonly (readonly [string, create: number, change: number, remove: number])[] = [
	['/', badArguments, badArguments, noNode],
	['//a', noNode, badArguments, noNode],
	['/a//b', noNode, badArguments, noNode],
	['/a/', noNode, badArguments, noNode],
	['/.', badArguments, badArguments, noNode],
	['/..', badArguments, badArguments, noNode],
	['/./a', noNode, badArguments, noNode],
	['/../a', noNode, badArguments, noNode],
	['/.a', ok, noNode, noNode],
	['/...', ok, noNode, noNode],
	['/a.', ok, noNode, noNode],
	['/a b', ok, noNode, noNode],
	['/a\u0000', badArguments, badArguments, badArguments],
	['/a\u0001', badArguments, badArguments, noNode],
	['/a\u001f', badArguments, badArguments, noNode],
	['/a\u0020', ok, noNode, noNode],
	['/a\u007f', badArguments, badArguments, noNode],
	['/a\u009f', badArguments, badArguments, noNode],
	['/a\u00a0', ok, noNode, noNode],
	['/a\ud7ff', ok, noNode, noNode],
	['/a\u{1f600}', badArguments, badArguments, noNode],
	['/a\ue000', badArguments, badArguments, noNode],
	['/a\uf8ff', badArguments, badArguments, noNode],
	['/a\uf900', ok, noNode, noNode],
	['/a\uffef', ok, noNode, noNode],
	['/a\ufff0', badArguments, badArguments, noNode],
	['/ünï', ok, noNode, noNode],
]

const named = (suffix: string): string =>
	JSON.stringify(suffix).replace(/[\u007f-\uffff]/g, (c) => `u${c.charCodeAt(0).toString(16)}`)

const remove = (zk: RawClient, path: string): Promise<number> => zk.remove(path)
const setAcl = async (zk: RawClient, path: string): Promise<number> =>
	(await zk.call(OP.setAcl, setAclRequest, { path, acl: OPEN, version: -1 }, statReply)).err
const checked = async (zk: RawClient, path: string): Promise<number> => {
	const { results } = await zk.multi([checkOp(path, -1)])
	const [result] = results
	return result?.type === OP.error ? result.err : ok
}

const READS: readonly (readonly [string, (zk: RawClient, path: string) => Promise<number>])[] = [
	['exists', async (zk, path) => (await zk.exists(path)).err],
	['getData', async (zk, path) => (await zk.get(path)).err],
	['getChildren', async (zk, path) => (await zk.children(path)).err],
	[
		'getChildren2',
		async (zk, path) =>
			(await zk.call(OP.getChildren2, watchedPathRequest, { path, watch: false }, children2Reply)).err,
	],
	['getACL', async (zk, path) => (await zk.call(OP.getAcl, pathRequest, { path }, getAclReply)).err],
	[
		'getAllChildrenNumber',
		async (zk, path) => (await zk.call(OP.getAllChildrenNumber, pathRequest, { path }, intReply)).err,
	],
]

function pathTables({ promise }: Contract): void {
	describe('paths', () => {
		for (const [suffix, create, change, removed] of PATHS) {
			const name = named(suffix)
			promise(`create below a node at ${name}`, async ({ root, zk }) => {
				expect((await zk.create(root + suffix)).err).toBe(create)
			})
			promise(`setData at ${name}`, async ({ root, zk }) => {
				expect((await zk.set(root + suffix, 'x', -1)).err).toBe(change)
			})
			promise(`setACL at ${name}`, async ({ root, zk }) => expect(await setAcl(zk, root + suffix)).toBe(change))
			promise(`check at ${name}`, async ({ root, zk }) => expect(await checked(zk, root + suffix)).toBe(change))
			promise(`delete at ${name}`, async ({ root, zk }) => expect(await remove(zk, root + suffix)).toBe(removed))
			promise(`reads at ${name} find nothing`, async ({ root, zk }) => {
				for (const [op, read] of READS) {
					// The only check of a path that is read.
					const isRefused = op === 'exists' && suffix.includes('\u0000')
					expect(await read(zk, root + suffix), op).toBe(isRefused ? badArguments : noNode)
				}
			})
		}
		for (const [path, create, change, removed] of [
			['', badArguments, badArguments, badArguments],
			['a', badArguments, badArguments, badArguments],
			['a/b', noNode, badArguments, noNode],
		] as const) {
			promise(`'${path}' is not absolute: writes`, async ({ zk }) => {
				const codes = [(await zk.create(path)).err, (await zk.set(path, '', -1)).err, await setAcl(zk, path)]
				expect([...codes, await checked(zk, path), await remove(zk, path)]).toEqual([
					create,
					change,
					change,
					change,
					removed,
				])
			})
		}
		for (const path of ['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config']) {
			promise(`${path} is there from the start, cannot be made or removed`, async ({ zk }) => {
				expect((await zk.create(path)).err).toBe(path === '/zookeeper/config' ? nodeExists : nodeExists)
				expect(await zk.remove(path)).toBe(badArguments)
				for (const [op, read] of READS) expect(await read(zk, path), op).toBe(ok)
			})
		}
	})
}

const PARENTS = ['plain', 'ephemeral', 'container', 'ttl', 'missing'] as const

/** Makes a node of `kind` and returns its path. */
async function makeParent(zk: RawClient, root: string, kind: (typeof PARENTS)[number]): Promise<string> {
	const path = `${root}/parent`
	const body = { path, data: null, acl: OPEN, flags: FLAG.persistent as number }
	if (kind === 'plain') await zk.create(path)
	else if (kind === 'ephemeral') await zk.create(path, '', FLAG.ephemeral)
	else if (kind === 'container')
		await zk.call(OP.createContainer, createRequest, { ...body, flags: FLAG.container }, createReply2)
	else if (kind === 'ttl')
		await zk.call(OP.createTtl, createTtlRequest, { ...body, flags: FLAG.persistentTtl, ttl: 600_000 }, createReply2)
	return path
}

const SEQUENTIAL: ReadonlySet<number> = new Set([2, 3, 6])
const EPHEMERAL: ReadonlySet<number> = new Set([1, 3])

function modeTables({ promise }: Contract): void {
	const create = (zk: RawClient, path: string, flags: number, ttl = 600_000) => {
		const body = { path, data: Buffer.from('x'), acl: OPEN, flags }
		if (flags >= FLAG.persistentTtl) return zk.call(OP.createTtl, createTtlRequest, { ...body, ttl }, createReply2)
		const op = flags === FLAG.container ? OP.createContainer : OP.create2
		return zk.call(op, createRequest, body, createReply2)
	}
	describe('modes', () => {
		for (const [mode, flags] of Object.entries(FLAG)) {
			for (const parent of PARENTS) {
				promise(`a ${mode} node below a ${parent} one`, async ({ root, zk }) => {
					const above = await makeParent(zk, root, parent)
					const { err, value } = await create(zk, `${above}/n`, flags)
					if (parent === 'missing' || parent === 'ephemeral') {
						expect(err).toBe(parent === 'missing' ? noNode : ERR.noChildrenForEphemerals)
						return
					}
					const path = `${above}/n${SEQUENTIAL.has(flags) ? '0000000000' : ''}`
					expect([err, value?.path]).toEqual([ok, path])
					const ephemeralOwner = EPHEMERAL.has(flags) ? zk.sessionId : 0n
					expect(value?.stat).toMatchObject({ version: 0, cversion: 0, ephemeralOwner, dataLength: 1, numChildren: 0 })
					expect((await zk.exists(path)).stat).toEqual(value?.stat)
					expect((await zk.exists(above)).stat).toMatchObject({ cversion: 1, numChildren: 1, pzxid: value?.stat.czxid })
				})
			}
		}
		for (const flags of [-1, 7, 8, 9, 100, -2147483648]) {
			promise(`flags ${flags} are unknown to every create`, async ({ root, zk }) => {
				const body = { path: `${root}/n`, data: null, acl: OPEN, flags }
				for (const op of [OP.create, OP.create2]) {
					expect((await zk.request(op, (writer) => createRequest.write(writer, body))).err).toBe(badArguments)
				}
				const ttl = await zk.request(OP.createTtl, (writer) => createTtlRequest.write(writer, { ...body, ttl: 1 }))
				expect(ttl.err).toBe(badArguments)
			})
		}
	})

	describe('TTL nodes', () => {
		for (const flags of [FLAG.persistentTtl, FLAG.persistentSequentialTtl]) {
			for (const [ttl, wanted] of [
				[-2, badArguments],
				[-1, badArguments],
				[0, badArguments],
				[1, ok],
				[2 ** 40 - 1, ok],
				[2 ** 40, badArguments],
				[2 ** 52, badArguments],
			] as const) {
				promise(`flags ${flags}, ${ttl} ms`, async ({ root, zk }) => {
					expect((await create(zk, `${root}/n`, flags, ttl)).err).toBe(wanted)
				})
			}
			promise(`flags ${flags} of a create without a time are refused`, async ({ root, zk }) => {
				expect((await zk.create(`${root}/n`, '', flags)).err).toBe(badArguments)
			})
			promise(`flags ${flags} may stand in a multi`, async ({ root, zk }) => {
				const body = { path: `${root}/n`, data: null, acl: OPEN, flags, ttl: 600_000 }
				const { results } = await zk.multi([{ type: OP.createTtl, body }])
				expect(results).toMatchObject([{ type: OP.create2, stat: { ephemeralOwner: 0n } }])
			})
		}
		for (const flags of [FLAG.persistent, FLAG.ephemeral, FLAG.persistentSequential, FLAG.ephemeralSequential]) {
			promise(`a time with flags ${flags} is refused`, async ({ root, zk }) => {
				const body = { path: `${root}/n`, data: null, acl: OPEN, flags, ttl: 1000 }
				expect((await zk.call(OP.createTtl, createTtlRequest, body, pathReply)).err).toBe(badArguments)
			})
		}
		promise('go when they are old and childless, watchers are told; with children they stay', async ({ root, zk }) => {
			await create(zk, `${root}/with`, FLAG.persistentTtl, 1)
			await zk.create(`${root}/with/child`)
			await create(zk, `${root}/long`, FLAG.persistentTtl)
			await create(zk, `${root}/short`, FLAG.persistentTtl, 1)
			await zk.exists(`${root}/short`, true)
			await until('it to go', async () => (await zk.exists(`${root}/short`)).err === noNode, 30_000)
			expect((await zk.children(root)).names).toEqual(['long', 'with'])
			await zk.remove(`${root}/with/child`)
			await until('the other too', async () => (await zk.exists(`${root}/with`)).err === noNode, 30_000)
			expect((await zk.exists(root)).stat).toMatchObject({ cversion: 5, numChildren: 1 })
			expect(await zk.events()).toEqual([`deleted ${root}/short`])
		})
		promise('a set begins their time anew', async ({ root, zk }) => {
			await create(zk, `${root}/n`, FLAG.persistentTtl, 600_000)
			await zk.set(`${root}/n`, 'y', 0)
			await create(zk, `${root}/short`, FLAG.persistentTtl, 1)
			await until('a sweep', async () => (await zk.exists(`${root}/short`)).err === noNode, 30_000)
			expect((await zk.exists(`${root}/n`)).stat.version).toBe(1)
		})
	})

	describe('containers', () => {
		promise('go once they had a child and have none', async ({ root, zk }) => {
			await create(zk, `${root}/never`, FLAG.container)
			await create(zk, `${root}/full`, FLAG.container)
			await zk.create(`${root}/full/child`)
			await create(zk, `${root}/emptied`, FLAG.container)
			await zk.create(`${root}/emptied/child`)
			await zk.remove(`${root}/emptied/child`)
			await until('it to go', async () => (await zk.exists(`${root}/emptied`)).err === noNode, 30_000)
			expect((await zk.children(root)).names).toEqual(['full', 'never'])
		})
		promise('survive the end of the session that made them', async ({ root, zk }) => {
			await create(zk, `${root}/c`, FLAG.container)
			expect((await zk.exists(`${root}/c`)).stat.ephemeralOwner).toBe(0n)
			await zk.create(`${root}/c/e`, '', FLAG.ephemeral)
			expect((await zk.exists(`${root}/c/e`)).stat.ephemeralOwner).toBe(zk.sessionId)
		})
	})
}

export function contractPaths(contract: Contract): void {
	pathTables(contract)
	modeTables(contract)
}

/** A server as it comes, without TTL nodes. */
export function contractWithoutTtl({ promise }: Contract): void {
	for (const flags of [FLAG.persistentTtl, FLAG.persistentSequentialTtl]) {
		for (const ttl of [0, 1, 1000, 2 ** 40]) {
			promise(`flags ${flags}, ${ttl} ms: unimplemented`, async ({ root, zk }) => {
				const body = { path: `${root}/n`, data: null, acl: OPEN, flags, ttl }
				expect((await zk.call(OP.createTtl, createTtlRequest, body, createReply2)).err).toBe(ERR.unimplemented)
			})
		}
		promise(`flags ${flags} of a plain create: unimplemented`, async ({ root, zk }) => {
			expect((await zk.create(`${root}/n`, '', flags)).err).toBe(ERR.unimplemented)
		})
	}
	promise('a refused TTL node in a multi undoes the rest', async ({ root, zk }) => {
		const body = { path: `${root}/n`, data: null, acl: OPEN, flags: FLAG.persistentTtl, ttl: 1000 }
		const { results } = await zk.multi([checkOp(root, -1), { type: OP.createTtl, body }])
		expect(results).toEqual([
			{ type: OP.error, err: 0 },
			{ type: OP.error, err: ERR.unimplemented },
		])
	})
	promise('containers are there all the same', async ({ root, zk }) => {
		const body = { path: `${root}/c`, data: null, acl: OPEN, flags: FLAG.container }
		expect((await zk.call(OP.createContainer, createRequest, body, createReply2)).err).toBe(ok)
	})
}
