/** Part of the contract of a ZooKeeper server (`contract.ts`): multi, watches. */

import { describe, expect } from 'vitest'
import { JuteReader } from '../../src/zk/jute.js'
import {
	addWatchRequest,
	childrenReply,
	ERR,
	FLAG,
	getDataReply,
	intReply,
	OP,
	setAclRequest,
	setWatchesRequest,
	statReply,
	watchedPathRequest,
	watchTypeRequest,
} from '../../src/zk/messages.js'
import { type Contract, checkOp, createOp, errorsOf, removeOp, setOp } from './contract-harness.js'
import { OPEN, RawClient } from './raw-client.js'

export function contractMultiAndWatches(contract: Contract): void {
	const { promise } = contract

	describe('multi', () => {
		promise('steps see one another, under one zxid', async ({ root, zk }) => {
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
		promise('that fails undoes all: data, versions, counters, sequence', async ({ root, zk }) => {
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
		promise(
			'removed in a step that is undone: the node is back with its children and watches',
			async ({ root, zk }) => {
				await zk.create(`${root}/a`, 'x')
				await zk.create(`${root}/a/b`)
				await zk.get(`${root}/a`, true)
				const { results } = await zk.multi([removeOp(`${root}/a/b`), removeOp(`${root}/a`), createOp(`${root}/a/c`)])
				expect(errorsOf(results)).toEqual([0, 0, -101])
				expect((await zk.children(`${root}/a`)).names).toEqual(['b'])
				expect(await zk.events()).toEqual([])
			},
		)
		promise(
			'flags of a TTL or unknown ones are unreadable; the container flag makes a container',
			async ({ root, zk }) => {
				for (const flags of [FLAG.persistentTtl, FLAG.persistentSequentialTtl, 9]) {
					expect((await zk.multi([createOp(`${root}/x`, flags)])).err).toBe(ERR.marshalling)
				}
				const { results } = await zk.multi([createOp(`${root}/c`, FLAG.container, 'x')])
				expect(results.map(({ type }) => type)).toEqual([OP.create2])
				expect((await zk.multi([checkOp(`${root}/.`, -1)])).results).toEqual([
					{ type: OP.error, err: ERR.badArguments },
				])
			},
		)
		promise('empty is legal; a read inside is not', async ({ root, zk }) => {
			expect(await zk.multi([])).toEqual({ err: 0, results: [] })
			const frame = await zk.request(OP.multi, (writer) => {
				writer.int(OP.getData)
				writer.bool(false)
				writer.int(-1)
				watchedPathRequest.write(writer, { path: root, watch: false })
			})
			expect([frame.err, frame.body.length]).toEqual([ERR.marshalling, 0])
		})
		promise('fires the events of its steps, one-shot watches once', async ({ root, zk }) => {
			await zk.exists(`${root}/a`, true)
			await zk.children(root, true)
			await zk.multi([createOp(`${root}/a`), setOp(`${root}/a`, 'x', 0), removeOp(`${root}/a`)])
			expect(await zk.events()).toEqual([`created ${root}/a`, `children ${root}`])
		})
		promise('reads: each with its own outcome', async ({ root, zk }) => {
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
		promise('the event of an own change comes before its reply', async ({ root, zk }) => {
			await zk.create(`${root}/a`)
			await zk.get(`${root}/a`, true)
			zk.order.length = 0
			await zk.set(`${root}/a`, 'x', -1)
			expect(zk.order[0]).toBe(`data ${root}/a`)
			expect(zk.order).toHaveLength(2)
		})
		promise('one-shot: fired once, by the right changes', async ({ root, zk }) => {
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
		promise('a failed getData or getChildren leaves none, exists does', async ({ root, zk }) => {
			await zk.get(`${root}/a`, true)
			await zk.children(`${root}/a`, true)
			await zk.create(`${root}/a`)
			expect(await zk.events()).toEqual([])
		})
		promise('setAcl fires none', async ({ root, zk }) => {
			await zk.get(root, true)
			await zk.call(OP.setAcl, setAclRequest, { path: root, acl: OPEN, version: -1 }, statReply)
			expect(await zk.events()).toEqual([])
		})
		promise('setWatches fires what was missed and registers the rest', async ({ root, zk }) => {
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
		promise('persistent ones stay, recursive ones see below and no children events', async ({ root, zk }) => {
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
		promise('can be checked and removed', async ({ root, zk }) => {
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
		promise('of two persistent ones on a path the last counts', async ({ root, zk }) => {
			const watch = (mode: number) =>
				zk.request(OP.addWatch, (writer) => addWatchRequest.write(writer, { path: root, mode }))
			await watch(0)
			await watch(1)
			await zk.create(`${root}/a`)
			expect(await zk.events()).toEqual([`created ${root}/a`])
			await watch(0)
			await zk.create(`${root}/b`)
			expect(await zk.events()).toEqual([`children ${root}`])
		})
		promise('die with the connection, also when the session is taken up again', async ({ address, root, zk }) => {
			await zk.get(root, true)
			const again = await RawClient.open(address, { sessionId: zk.sessionId, password: zk.password })
			await again.set(root, 'x', -1)
			expect(await again.events()).toEqual([])
			await again.end()
		})
	})
}
