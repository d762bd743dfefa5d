/** Part of the contract of a ZooKeeper server (`contract.ts`): every kind of watch on every change, renewal, removal. */

import { describe, expect } from 'vitest'
import {
	addWatchRequest,
	ERR,
	FLAG,
	OP,
	setAclRequest,
	setWatches2Request,
	watchedPathRequest,
	watchTypeRequest,
} from '../../src/zk/messages.js'
import { type Contract, createOp, removeOp, setOp } from './contract-harness.js'
import { OPEN, RawClient } from './raw-client.js'

const watchRead = (op: number) => async (zk: RawClient, path: string) => {
	await zk.request(op, (writer) => watchedPathRequest.write(writer, { path, watch: true }))
}
const addWatch = (mode: number) => async (zk: RawClient, path: string) => {
	await zk.request(OP.addWatch, (writer) => addWatchRequest.write(writer, { path, mode }))
}

/** How a watch is set on a path. */
const KINDS = {
	exists: watchRead(OP.exists),
	getData: watchRead(OP.getData),
	getChildren: watchRead(OP.getChildren),
	getChildren2: watchRead(OP.getChildren2),
	persistent: addWatch(0),
	recursive: addWatch(1),
} as const

type Kind = keyof typeof KINDS

const setAcl = async (zk: RawClient, path: string) => {
	await zk.request(OP.setAcl, (writer) => setAclRequest.write(writer, { path, acl: OPEN, version: -1 }))
}

/** A change, done twice, at `n` (which is there, with a child `n/c` but where it is to be removed) or below it. */
const CHANGES: Readonly<Record<string, (zk: RawClient, n: string) => Promise<void>>> = {
	'setData twice': async (zk, n) => {
		await zk.set(n, 'x', -1)
		await zk.set(n, 'y', -1)
	},
	'setACL twice': async (zk, n) => {
		await setAcl(zk, n)
		await setAcl(zk, n)
	},
	'two new children': async (zk, n) => {
		await zk.create(`${n}/d`)
		await zk.create(`${n}/e`)
	},
	'a child set and removed': async (zk, n) => {
		await zk.set(`${n}/c`, 'x', -1)
		await zk.remove(`${n}/c`)
	},
	'removed and made again': async (zk, n) => {
		await zk.remove(n)
		await zk.create(n)
	},
	'a grandchild made': async (zk, n) => {
		await zk.create(`${n}/c/g`)
	},
}

/** Events by kind and change, `n` for the watched node. */
const EXPECTED: Readonly<Record<string, Readonly<Record<Kind, readonly string[]>>>> = {
	'setData twice': {
		exists: ['data n'],
		getData: ['data n'],
		getChildren: [],
		getChildren2: [],
		persistent: ['data n', 'data n'],
		recursive: ['data n', 'data n'],
	},
	'setACL twice': { exists: [], getData: [], getChildren: [], getChildren2: [], persistent: [], recursive: [] },
	'two new children': {
		exists: [],
		getData: [],
		getChildren: ['children n'],
		getChildren2: ['children n'],
		persistent: ['children n', 'children n'],
		recursive: ['created n/d', 'created n/e'],
	},
	'a child set and removed': {
		exists: [],
		getData: [],
		getChildren: ['children n'],
		getChildren2: ['children n'],
		persistent: ['children n'],
		recursive: ['data n/c', 'deleted n/c'],
	},
	'removed and made again': {
		exists: ['deleted n'],
		getData: ['deleted n'],
		getChildren: ['deleted n'],
		getChildren2: ['deleted n'],
		persistent: ['deleted n', 'created n'],
		recursive: ['deleted n', 'created n'],
	},
	'a grandchild made': {
		exists: [],
		getData: [],
		getChildren: [],
		getChildren2: [],
		persistent: [],
		recursive: ['created n/c/g'],
	},
}

function triggerTable({ promise }: Contract): void {
	describe('what a watch tells', () => {
		for (const [change, act] of Object.entries(CHANGES)) {
			for (const [kind, watch] of Object.entries(KINDS) as [Kind, (typeof KINDS)[Kind]][]) {
				const wanted = EXPECTED[change]?.[kind] ?? []
				promise(`${kind}: ${change}`, async ({ address, root, zk }) => {
					const n = `${root}/n`
					const other = await RawClient.open(address)
					await other.create(n)
					if (change !== 'removed and made again') await other.create(`${n}/c`)
					await watch(zk, n)
					await act(other, n)
					expect(await zk.events()).toEqual(wanted.map((event) => event.replace(/ n/, ` ${n}`)))
					await other.end()
				})
			}
		}
		for (const kind of ['exists', 'persistent', 'recursive'] as const) {
			promise(`${kind} on a node that is not there yet tells of its making`, async ({ root, zk }) => {
				await KINDS[kind](zk, `${root}/n`)
				await zk.create(`${root}/n`)
				expect(await zk.events()).toEqual([`created ${root}/n`])
			})
		}
		for (const kind of ['getData', 'getChildren', 'getChildren2'] as const) {
			promise(`${kind} of a node that is not there leaves none`, async ({ root, zk }) => {
				await KINDS[kind](zk, `${root}/n`)
				await zk.create(`${root}/n`)
				expect(await zk.events()).toEqual([])
			})
		}
		for (const [kind, wanted] of [
			['exists', ['deleted n']],
			['getData', ['deleted n']],
			['getChildren', ['deleted n']],
			['persistent', ['deleted n']],
			['recursive', ['deleted n']],
		] as const) {
			promise(`${kind}: an ephemeral node that goes with its session`, async ({ address, root, zk }) => {
				const n = `${root}/n`
				const other = await RawClient.open(address)
				await other.create(n, '', FLAG.ephemeral)
				await KINDS[kind](zk, n)
				await other.end()
				expect(await zk.events()).toEqual(wanted.map((event) => event.replace(/ n/, ` ${n}`)))
			})
			promise(`${kind}: a multi that is undone tells nothing`, async ({ root, zk }) => {
				const n = `${root}/n`
				await zk.create(n)
				await KINDS[kind](zk, n)
				await zk.multi([setOp(n, 'x', 0), createOp(`${n}/c`), removeOp(`${n}/c`), removeOp(n), removeOp(`${n}/none`)])
				expect(await zk.events()).toEqual([])
			})
		}
		promise('a watch set twice, by two kinds of reads, tells once', async ({ root, zk }) => {
			await KINDS.exists(zk, root)
			await KINDS.getData(zk, root)
			await zk.set(root, 'x', -1)
			expect(await zk.events()).toEqual([`data ${root}`])
		})
		promise('two clients are both told', async ({ address, root, zk }) => {
			const other = await RawClient.open(address)
			await KINDS.getData(zk, root)
			await KINDS.getData(other, root)
			await zk.set(root, 'x', -1)
			expect([await zk.events(), await other.events()]).toEqual([[`data ${root}`], [`data ${root}`]])
			await other.end()
		})
	})
}

const LISTS = ['data', 'exist', 'child', 'persistent', 'recursive'] as const

/** What setWatches2 tells at once for a list, by what became of the node since the zxid that the client brings. */
const MISSED: readonly (readonly [string, Readonly<Record<(typeof LISTS)[number], readonly string[]>>])[] = [
	['untouched', { data: [], exist: ['created n'], child: [], persistent: [], recursive: [] }],
	['set', { data: ['data n'], exist: ['created n'], child: [], persistent: [], recursive: [] }],
	['given a child', { data: [], exist: ['created n'], child: ['children n'], persistent: [], recursive: [] }],
	['removed', { data: ['deleted n'], exist: [], child: ['deleted n'], persistent: [], recursive: [] }],
]

/** Events of a set, a new child and its removal afterwards, when the watch was registered. */
const LATER: Readonly<Record<(typeof LISTS)[number], readonly string[]>> = {
	data: ['data n'],
	exist: [],
	child: ['children n'],
	persistent: ['data n', 'children n', 'children n'],
	recursive: ['data n', 'created n/later', 'deleted n/later'],
}

function renewalTable({ promise }: Contract): void {
	describe('setWatches', () => {
		for (const [state, missed] of MISSED) {
			for (const list of LISTS) {
				promise(`${list} list, node ${state} meanwhile`, async ({ address, root, zk }) => {
					const n = `${root}/n`
					const other = await RawClient.open(address)
					await other.create(n)
					const relativeZxid = (await other.exists(n)).stat.czxid
					if (state === 'set') await other.set(n, 'x', -1)
					else if (state === 'given a child') await other.create(`${n}/c`)
					else if (state === 'removed') await other.remove(n)
					const empty = { data: [], exist: [], child: [], persistent: [], recursive: [] }
					zk.order.length = 0
					const { err } = await zk.request(OP.setWatches2, (writer) =>
						setWatches2Request.write(writer, { relativeZxid, ...empty, [list]: [n] }),
					)
					expect(err).toBe(0)
					const named = (events: readonly string[]) => events.map((event) => event.replace(/ n/, ` ${n}`))
					// Told before the reply.
					expect(zk.order.slice(0, -1)).toEqual(named(missed[list]))
					zk.order.length = 0
					if (state !== 'removed') {
						await other.set(n, 'y', -1)
						await other.create(`${n}/later`)
						await other.remove(`${n}/later`)
						const isSpent = missed[list].length > 0
						expect(await zk.events()).toEqual(isSpent ? [] : named(LATER[list]))
					}
					await other.end()
				})
			}
		}
		promise('an exist list of a missing node waits for it', async ({ root, zk }) => {
			const empty = { data: [], child: [], persistent: [], recursive: [] }
			await zk.request(OP.setWatches2, (writer) =>
				setWatches2Request.write(writer, { relativeZxid: 1, ...empty, exist: [`${root}/n`] }),
			)
			await zk.create(`${root}/n`)
			expect(await zk.events()).toEqual([`created ${root}/n`])
		})
	})
}

/** Codes of checkWatches and removeWatches with types 1 (children), 2 (data), 3 (any), after one watch was set. */
const REMOVALS: Readonly<Record<Kind, readonly [number, number, number]>> = {
	exists: [ERR.noWatcher, 0, 0],
	getData: [ERR.noWatcher, 0, 0],
	getChildren: [0, ERR.noWatcher, 0],
	getChildren2: [0, ERR.noWatcher, 0],
	persistent: [0, 0, 0],
	recursive: [0, 0, 0],
}

function removalTable({ promise }: Contract): void {
	const ask = async (zk: RawClient, op: number, path: string, type: number): Promise<number> =>
		(await zk.request(op, (writer) => watchTypeRequest.write(writer, { path, type }))).err
	describe('checkWatches and removeWatches', () => {
		for (const [kind, codes] of Object.entries(REMOVALS) as [Kind, readonly number[]][]) {
			for (const [index, code] of codes.entries()) {
				promise(`type ${index + 1} of a watch by ${kind}`, async ({ root, zk }) => {
					await KINDS[kind](zk, root)
					expect(await ask(zk, OP.checkWatches, root, index + 1)).toBe(code)
					expect(await ask(zk, OP.removeWatches, root, index + 1)).toBe(code)
					if (code !== 0 || index !== 2) return
					expect(await ask(zk, OP.checkWatches, root, 3)).toBe(ERR.noWatcher)
					await zk.set(root, 'x', -1)
					await zk.create(`${root}/c`)
					expect(await zk.events()).toEqual([])
				})
			}
		}
		for (const [kind, type, left] of [
			['persistent', 1, ['data n', 'deleted n']],
			['persistent', 2, ['children n', 'children n', 'deleted n']],
			['recursive', 1, ['data n', 'created n/c', 'deleted n/c', 'deleted n']],
			['recursive', 2, ['deleted n/c', 'deleted n']],
		] as const) {
			promise(`${kind}: what is left when type ${type} was removed`, async ({ root, zk }) => {
				const n = `${root}/n`
				await zk.create(n)
				await KINDS[kind](zk, n)
				expect(await ask(zk, OP.removeWatches, n, type)).toBe(0)
				expect(await ask(zk, OP.checkWatches, n, type)).toBe(ERR.noWatcher)
				await zk.set(n, 'x', -1)
				await zk.create(`${n}/c`)
				await zk.remove(`${n}/c`)
				await zk.remove(n)
				expect(await zk.events()).toEqual(left.map((event) => event.replace(/ n/, ` ${n}`)))
			})
		}
		for (const type of [0, 4, 5, 6, -1]) {
			promise(`type ${type} is unknown`, async ({ root, zk }) => {
				await KINDS.getData(zk, root)
				expect(await ask(zk, OP.checkWatches, root, type)).toBe(ERR.marshalling)
				expect(await ask(zk, OP.removeWatches, root, type)).toBe(ERR.marshalling)
			})
		}
		promise('look at exactly this path', async ({ root, zk }) => {
			await KINDS.recursive(zk, root)
			expect(await ask(zk, OP.checkWatches, `${root}/below`, 3)).toBe(ERR.noWatcher)
		})
		for (const mode of [-1, 2, 3]) {
			promise(`addWatch of mode ${mode} is refused`, async ({ root, zk }) => {
				const { err } = await zk.request(OP.addWatch, (writer) => addWatchRequest.write(writer, { path: root, mode }))
				expect(err).toBe(ERR.marshalling)
			})
		}
	})
}

export function contractWatches(contract: Contract): void {
	triggerTable(contract)
	renewalTable(contract)
	removalTable(contract)
}
