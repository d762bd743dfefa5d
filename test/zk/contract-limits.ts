/** Part of the contract of a ZooKeeper server (`contract.ts`): multi step by step, odd requests, limits, four-letter words. */

import { describe, expect, test } from 'vitest'
import { JuteReader, JuteWriter } from '../../src/zk/jute.js'
import {
	childrenReply,
	ERR,
	FLAG,
	type MultiOp,
	multiHeader,
	OP,
	pathReply,
	pathRequest,
	setDataRequest,
	watchedPathRequest,
	writeMultiEnd,
} from '../../src/zk/messages.js'
import { type Contract, checkOp, createOp, errorsOf, readRequest, removeOp, setOp } from './contract-harness.js'
import { OPEN, RawClient } from './raw-client.js'

type Steps = (root: string) => MultiOp

const create2 = (path: string): MultiOp => ({ type: OP.create2, body: { path, data: null, acl: OPEN, flags: 0 } })
const container = (path: string): MultiOp => ({
	type: OP.createContainer,
	body: { path, data: null, acl: OPEN, flags: FLAG.container },
})

/** Steps that succeed on the test's own node, and the type of their results. */
const GOOD: readonly (readonly [string, number, Steps])[] = [
	['create', OP.create, (root) => createOp(`${root}/n`)],
	['create2', OP.create2, (root) => create2(`${root}/n`)],
	['createContainer', OP.create2, (root) => container(`${root}/n`)],
	['sequential create', OP.create, (root) => createOp(`${root}/n`, FLAG.persistentSequential)],
	['ephemeral create', OP.create, (root) => createOp(`${root}/n`, FLAG.ephemeral)],
	['setData', OP.setData, (root) => setOp(root, 'x', 0)],
	['check', OP.check, (root) => checkOp(root, 0)],
	['delete', OP.delete, (root) => removeOp(`${root}/there`)],
]

const BAD: readonly (readonly [string, number, Steps])[] = [
	['create of what is there', ERR.nodeExists, (root) => createOp(`${root}/there`)],
	['create without a parent', ERR.noNode, (root) => createOp(`${root}/no/n`)],
	['create below an ephemeral', ERR.noChildrenForEphemerals, (root) => createOp(`${root}/e/n`)],
	['create with a bad path', ERR.badArguments, (root) => createOp(`${root}/.`)],
	[
		'create without a list',
		ERR.invalidAcl,
		(root) => ({ type: 1, body: { path: `${root}/n`, data: null, acl: [], flags: 0 } }),
	],
	['setData of another version', ERR.badVersion, (root) => setOp(root, 'x', 7)],
	['setData of nothing', ERR.noNode, (root) => setOp(`${root}/no`, 'x', -1)],
	['delete of another version', ERR.badVersion, (root) => removeOp(`${root}/there`, 7)],
	['delete of a parent', ERR.notEmpty, (root) => removeOp(root)],
	['delete of nothing', ERR.noNode, (root) => removeOp(`${root}/no`)],
	['check of another version', ERR.badVersion, (root) => checkOp(root, 7)],
	['check of nothing', ERR.noNode, (root) => checkOp(`${root}/no`, -1)],
]

function multiTable({ promise }: Contract): void {
	describe('steps of a multi', () => {
		for (const [name, type, step] of GOOD) {
			promise(`${name}: alone`, async ({ root, zk }) => {
				await zk.create(`${root}/there`)
				const { err, results } = await zk.multi([step(root)])
				expect([err, results.map((result) => result.type)]).toEqual([0, [type]])
			})
		}
		for (const [name, code, step] of BAD) {
			for (const position of [0, 1, 2]) {
				promise(`${name}, as step ${position} of three: nothing is done`, async ({ root, zk }) => {
					await zk.create(`${root}/there`)
					await zk.create(`${root}/e`, '', FLAG.ephemeral)
					const before = (await zk.exists(root)).stat
					const steps = [createOp(`${root}/first`), createOp(`${root}/second`)]
					steps.splice(position, 0, step(root))
					const { err, results } = await zk.multi(steps)
					const wanted = steps.map((_, i) => (i < position ? 0 : i === position ? code : ERR.runtimeInconsistency))
					expect([err, errorsOf(results)]).toEqual([0, wanted])
					expect((await zk.exists(root)).stat).toEqual(before)
				})
			}
		}
		for (const op of ['exists', 'getData', 'getAcl', 'getChildren', 'sync', 'ping', 'multi', 'whoAmI'] as const) {
			promise(`${op} may not stand in one`, async ({ root, zk }) => {
				const frame = await zk.request(OP.multi, (writer) => {
					multiHeader.write(writer, { type: OP[op], done: false, err: -1 })
					watchedPathRequest.write(writer, { path: root, watch: false })
					writeMultiEnd(writer)
				})
				expect([frame.err, frame.body.length]).toEqual([ERR.marshalling, 0])
			})
		}
		promise('all have one zxid, the next multi the next', async ({ root, zk }) => {
			await zk.multi([createOp(`${root}/a`), createOp(`${root}/b`), createOp(`${root}/c`)])
			const zxids = []
			for (const name of ['a', 'b', 'c']) zxids.push((await zk.exists(`${root}/${name}`)).stat.czxid)
			expect(new Set(zxids).size).toBe(1)
			expect((await zk.exists(root)).stat).toMatchObject({ pzxid: zxids[0], cversion: 3 })
		})
	})

	describe('multiRead', () => {
		for (const op of ['exists', 'getChildren2', 'create', 'setData', 'getAcl', 'check'] as const) {
			promise(`${op} may not stand in one`, async ({ root, zk }) => {
				expect((await readRequest(zk, [[OP[op], root]])).err).toBe(ERR.marshalling)
			})
		}
		promise('empty', async ({ zk }) => {
			const { err, body } = await readRequest(zk, [])
			expect([err, body.length]).toEqual([0, 9])
		})
		promise('the order of the answers is that of the questions', async ({ root, zk }) => {
			await zk.create(`${root}/a`)
			const ops = [OP.getChildren, OP.getData, OP.getChildren].map((op) => [op, root] as const)
			const { body } = await readRequest(zk, ops)
			expect(new JuteReader(body).int()).toBe(OP.getChildren)
		})
	})
}

function requestTable({ promise }: Contract): void {
	describe('requests', () => {
		for (const type of [10, 23, 24, 99, 108, 1000, -7]) {
			promise(`operation ${type} is unknown: answered, then closed`, async ({ address }) => {
				const other = await RawClient.open(address)
				expect(await other.request(type)).toMatchObject({ err: ERR.unimplemented, zxid: -1 })
				await other.closed()
			})
		}
		for (const name of [
			'create',
			'delete',
			'exists',
			'getData',
			'setData',
			'getAcl',
			'setAcl',
			'getChildren',
		] as const) {
			promise(`${name} cut short is an error, and the connection lives`, async ({ root, zk }) => {
				expect((await zk.request(OP[name], (writer) => writer.int(50))).err).toBe(ERR.marshalling)
				expect((await zk.exists(root)).err).toBe(0)
			})
		}
		for (const name of ['multi', 'multiRead', 'setWatches', 'setWatches2', 'addWatch', 'removeWatches'] as const) {
			promise(`${name} without a body is an error, and the connection lives`, async ({ root, zk }) => {
				expect((await zk.request(OP[name])).err).toBe(ERR.marshalling)
				expect((await zk.exists(root)).err).toBe(0)
			})
		}
		promise('bytes behind a whole request are passed over', async ({ root, zk }) => {
			const { err } = await zk.request(OP.exists, (writer) => {
				watchedPathRequest.write(writer, { path: root, watch: false })
				writer.raw(Buffer.alloc(40, 7))
			})
			expect(err).toBe(0)
		})
		for (const [prefix, isFound] of [
			['', true],
			['/', true],
			['root', true],
			['root/e', true],
			['root/x', false],
			['/other', false],
		] as const) {
			promise(`getEphemerals with prefix '${prefix}'`, async ({ root, zk }) => {
				await zk.create(`${root}/e1`, '', FLAG.ephemeral)
				await zk.create(`${root}/plain`)
				const path = prefix.replace('root', root)
				const { err, value } = await zk.call(OP.getEphemerals, pathRequest, { path }, childrenReply)
				expect([err, value?.children]).toEqual([0, isFound ? [`${root}/e1`] : []])
			})
		}
		for (const path of ['/', '/not/there', '']) {
			promise(`sync of '${path}' gives it back`, async ({ zk }) => {
				const { err, value } = await zk.call(OP.sync, pathRequest, { path }, pathReply)
				expect([err, value?.path]).toEqual([0, path])
			})
		}
		promise('sync and reads tell the newest zxid, writes their own', async ({ root, zk }) => {
			const made = await zk.request(OP.setData, (writer) =>
				setDataRequest.write(writer, { path: root, data: null, version: -1 }),
			)
			const read = await zk.request(OP.exists, (writer) =>
				watchedPathRequest.write(writer, { path: root, watch: false }),
			)
			expect(read.zxid).toBeGreaterThanOrEqual(made.zxid)
			expect((await zk.exists(root)).stat.mzxid).toBe(made.zxid)
		})
	})
}

function limitTable({ promise }: Contract): void {
	/** A setData whose frame has exactly `bytes`. */
	const setOf = (path: string, bytes: number, xid: number): Buffer => {
		const writer = new JuteWriter(4)
		writer.int(xid)
		writer.int(OP.setData)
		const rest = 8 + 4 + path.length + 4 + 4
		setDataRequest.write(writer, { path, data: Buffer.alloc(bytes - rest, 1), version: -1 })
		writer.patchInt(0, writer.length - 4)
		return writer.finish()
	}
	describe('limits', () => {
		for (const bytes of [0x10000, 0xffffe, 0xfffff]) {
			promise(`a frame of ${bytes} bytes is taken, and its data read back`, async ({ root, zk }) => {
				zk.write(setOf(root, bytes, 5000))
				expect((await zk.reply(5000)).err).toBe(0)
				const { data } = await zk.get(root)
				expect(data?.length).toBe(bytes - 20 - root.length)
			})
		}
		for (const length of [0x100000, 0x7fffffff, -1, -2147483648]) {
			promise(`a frame said to have ${length} bytes ends the connection`, async ({ address, root, zk }) => {
				const other = await RawClient.open(address)
				const header = Buffer.alloc(4)
				header.writeInt32BE(length)
				other.write(header)
				await other.closed()
				expect((await zk.exists(root)).err).toBe(0)
			})
		}
		promise('an answer may be larger than any request', async ({ root, zk }) => {
			for (let from = 0; from < 4; from++) {
				const names = Array.from({ length: 1500 }, (_, i) => `${root}/${'n'.repeat(200)}-${from}-${i}`)
				for (let at = 0; at < names.length; at += 500) {
					await zk.multi(names.slice(at, at + 500).map((name) => createOp(name)))
				}
			}
			expect((await zk.children(root)).names).toHaveLength(6000)
		})
		promise('of sessions: timeouts stay within what conf tells', async ({ address }) => {
			const conf = await wordOf(address, 'conf')
			const value = (key: string): number => Number(new RegExp(`${key}=(\\d+)`).exec(conf)?.[1])
			const [least, most] = [value('minSessionTimeout'), value('maxSessionTimeout')]
			for (const [asked, given] of [
				[-1, least],
				[0, least],
				[1, least],
				[least, least],
				[least + 1, least + 1],
				[most - 1, most - 1],
				[most, most],
				[0x7fffffff, most],
			] as const) {
				const other = await RawClient.open(address, { timeoutMs: asked })
				expect(other.timeoutMs, `${asked}`).toBe(given)
				await other.end()
			}
		})
		for (const password of [Buffer.alloc(0), Buffer.alloc(16), Buffer.alloc(3, 1)]) {
			promise(`a new session may bring ${password.length} bytes of password`, async ({ address }) => {
				const other = await RawClient.open(address, { password })
				expect([other.sessionId > 0n, other.password.length]).toEqual([true, 16])
				await other.end()
			})
		}
		for (const password of [Buffer.alloc(0), Buffer.alloc(15), Buffer.alloc(17)]) {
			promise(`a known session is not taken up with ${password.length} bytes of password`, async ({ address, zk }) => {
				const other = await RawClient.open(address, { sessionId: zk.sessionId, password })
				expect(other.timeoutMs).toBe(0)
				await other.closed()
			})
		}
	})
}

async function wordOf(address: string, word: string): Promise<string> {
	const client = await RawClient.dial(address)
	client.write(Buffer.from(word))
	await client.closed()
	return client.text
}

/** What each word answers, whitelisted. */
const WORDS: readonly (readonly [string, RegExp])[] = [
	['ruok', /^imok$/],
	['isro', /^rw$/],
	[
		'srvr',
		/^Zookeeper version: 3\.8\.4-[^\n]*\nLatency min\/avg\/max: \d+\/[\d.]+\/\d+\nReceived: \d+\nSent: \d+\nConnections: \d+\nOutstanding: \d+\nZxid: 0x[0-9a-f]+\nMode: standalone\nNode count: \d+\n$/,
	],
	[
		'stat',
		/^Zookeeper version: 3\.8\.4-[^\n]*\nClients:\n( \/127\.0\.0\.1:\d+\[\d\]\(queued=\d+,recved=\d+,sent=\d+\)\n)+\nLatency [\s\S]*Node count: \d+\n$/,
	],
	['mntr', /^zk_version\t3\.8\.4-.*\nzk_server_state\tstandalone\nzk_ephemerals_count\t\d+\n/],
	[
		'conf',
		/^clientPort=\d+\nsecureClientPort=-1\ndataDir=.*\ndataDirSize=\d+\ndataLogDir=.*\ndataLogSize=\d+\ntickTime=\d+\nmaxClientCnxns=\d+\nminSessionTimeout=\d+\nmaxSessionTimeout=\d+\nclientPortListenBacklog=-1\nserverId=\d+\n/,
	],
	['cons', /^( \/127\.0\.0\.1:\d+\[\d\]\(queued=\d+,recved=\d+,sent=\d+.*\)\n)+\n$/],
	['envi', /^Environment:\nzookeeper\.version=3\.8\.4-/],
	['wchs', /^\d+ connections watching \d+ paths\nTotal watches:\d+\n?$/],
	['dirs', /^datadir_size: \d+\nlogdir_size: \d+\n$/],
	[
		'dump',
		/^SessionTracker dump:\n[\s\S]*ephemeral nodes dump:\nSessions with Ephemerals \(\d+\):\n[\s\S]*Connections dump:\n/,
	],
	['srst', /^Server stats reset\.\n$/],
	['crst', /^Connection stats reset\.\n$/],
	['gtmk', /^306$/],
]

function wordTable(contract: Contract): void {
	describe('four-letter words', () => {
		for (const [word, shape] of WORDS) {
			contract.promise(`${word}: in the shape that tools read`, async ({ address }) => {
				expect(await wordOf(address, word)).toMatch(shape)
			})
		}
		contract.promise('wchc and wchp name sessions and paths', async ({ address, root, zk }) => {
			await zk.get(root, true)
			const id = `0x${zk.sessionId.toString(16)}`
			expect(await wordOf(address, 'wchc')).toContain(`${id}\n\t${root}\n`)
			expect(await wordOf(address, 'wchp')).toContain(`${root}\n\t${id}\n`)
		})
		contract.promise('dump names ephemeral nodes by session', async ({ address, root, zk }) => {
			await zk.create(`${root}/e`, '', FLAG.ephemeral)
			expect(await wordOf(address, 'dump')).toContain(`0x${zk.sessionId.toString(16)}:\n\t${root}/e\n`)
		})
		test('with a newline behind it, as typed', async () =>
			expect(await wordOf(contract.address, 'ruok\n')).toBe('imok'))
	})
}

export function contractLimits(contract: Contract): void {
	multiTable(contract)
	requestTable(contract)
	limitTable(contract)
	wordTable(contract)
}
