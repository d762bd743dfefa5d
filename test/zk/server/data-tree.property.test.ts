/** The tree, its checks and its undo against a plain model that copies everything before each multi. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ERR, FLAG, OP } from '../../../src/zk/messages.js'
import {
	checkCreate,
	checkDelete,
	checkSetData,
	checkVersion,
	type WriteContext,
} from '../../../src/zk/server/checks.js'
import { DataTree, statOf } from '../../../src/zk/server/data-tree.js'
import type { TreeChange } from '../../../src/zk/server/transaction.js'
import { OPEN } from '../raw-client.js'

interface ModelNode {
	data: string
	version: number
	creates: number
	czxid: number
	mzxid: number
	pzxid: number
	isEphemeral: boolean
}

type Model = Map<string, ModelNode>

interface Step {
	readonly kind: 'create' | 'sequential' | 'ephemeral' | 'delete' | 'set' | 'check'
	readonly path: string
	readonly version: number
}

const parent = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/'

const hasChildren = (model: Model, path: string): boolean =>
	[...model.keys()].some((each) => each !== '/' && parent(each) === path && each !== path)

/** Applies a step to the model, or gives the error. */
function modelStep(model: Model, step: Step, zxid: number): number {
	const node = model.get(step.path)
	if (step.kind === 'set' || step.kind === 'delete' || step.kind === 'check') {
		if (node === undefined) return ERR.noNode
		if (step.version !== -1 && step.version !== node.version) return ERR.badVersion
		if (step.kind === 'set') Object.assign(node, { data: `${zxid}`, version: node.version + 1, mzxid: zxid })
		if (step.kind !== 'delete') return 0
		if (hasChildren(model, step.path)) return ERR.notEmpty
		model.delete(step.path)
		const above = model.get(parent(step.path))
		if (above !== undefined) above.pzxid = zxid
		return 0
	}
	const above = model.get(parent(step.path))
	if (above === undefined) return ERR.noNode
	const path = step.kind === 'sequential' ? step.path + String(above.creates).padStart(10, '0') : step.path
	if (model.has(path)) return ERR.nodeExists
	if (above.isEphemeral) return ERR.noChildrenForEphemerals
	above.creates++
	above.pzxid = zxid
	const isEphemeral = step.kind === 'ephemeral'
	model.set(path, { data: '', version: 0, creates: 0, czxid: zxid, mzxid: zxid, pzxid: zxid, isEphemeral })
	return 0
}

const FLAGS = { create: FLAG.persistent, sequential: FLAG.persistentSequential, ephemeral: FLAG.ephemeral } as const

function treeStep(context: WriteContext, step: Step, zxid: number): TreeChange | number {
	switch (step.kind) {
		case 'delete':
			return checkDelete(context, step.path, step.version)
		case 'set':
			return checkSetData(context, step.path, Buffer.from(`${zxid}`), step.version)
		case 'check':
			return checkVersion(context, step.path, step.version)
		default:
			return checkCreate(context, OP.create, {
				path: step.path,
				data: Buffer.alloc(0),
				acl: OPEN,
				flags: FLAGS[step.kind],
			})
	}
}

function seen(tree: DataTree): Record<string, unknown> {
	const result: Record<string, unknown> = {}
	for (const [path, node] of tree.entries()) {
		if (path.startsWith('/zookeeper') || path === '/') continue
		const { version, cversion, czxid, mzxid, pzxid, numChildren, ephemeralOwner } = statOf(node)
		const data = node.data?.toString() ?? ''
		result[path] = { data, version, cversion, czxid, mzxid, pzxid, numChildren, isEphemeral: ephemeralOwner !== 0n }
	}
	return result
}

function expected(model: Model): Record<string, unknown> {
	const result: Record<string, unknown> = {}
	for (const [path, node] of model) {
		if (path === '/') continue
		const { data, version, czxid, mzxid, pzxid, isEphemeral } = node
		const numChildren = [...model.keys()].filter((each) => each !== '/' && parent(each) === path).length
		result[path] = {
			data,
			version,
			cversion: node.creates * 2 - numChildren,
			czxid,
			mzxid,
			pzxid,
			numChildren,
			isEphemeral,
		}
	}
	return result
}

const anyPath = fc.constantFrom('/a', '/b', '/a/x', '/a/y', '/b/x', '/a/x/q')
const anyStep: fc.Arbitrary<Step> = fc.record({
	kind: fc.constantFrom('create', 'create', 'sequential', 'ephemeral', 'delete', 'set', 'check'),
	path: anyPath,
	version: fc.constantFrom(-1, -1, 0, 1, 2),
})

test('any run of multis leaves tree and model equal, failed ones leave no trace', () => {
	fc.assert(
		fc.property(fc.array(fc.array(anyStep, { minLength: 1, maxLength: 5 }), { maxLength: 40 }), (multis) => {
			const tree = new DataTree()
			const context: WriteContext = { tree, identities: [], sessionId: 9n, hasTtlNodes: false }
			let model: Model = new Map([
				['/', { data: '', version: 0, creates: 0, czxid: 0, mzxid: 0, pzxid: 0, isEphemeral: false }],
			])
			let zxid = 0
			for (const steps of multis) {
				const copy: Model = new Map([...model].map(([path, node]) => [path, { ...node }]))
				const undos = []
				let failure = 0
				for (const step of steps) {
					const outcome = treeStep(context, step, zxid + 1)
					const wanted = modelStep(copy, step, zxid + 1)
					expect(typeof outcome === 'number' ? outcome : 0, JSON.stringify(step)).toBe(wanted)
					failure = wanted
					if (failure !== 0) break
					if (typeof outcome !== 'number') undos.push(tree.apply(outcome, zxid + 1, 0))
				}
				if (failure === 0) {
					model = copy
					zxid++
				} else for (const undo of undos.reverse()) tree.revert(undo)
				expect(seen(tree)).toEqual(expected(model))
				const ephemerals = [...model].filter(([, node]) => node.isEphemeral).map(([path]) => path)
				expect(tree.ephemeralsOf(9n).sort()).toEqual(ephemerals.sort())
				expect(tree.ephemeralCount).toBe(ephemerals.length)
			}
		}),
		{ numRuns: 150 },
	)
})
