/**
 * Linearizability and order of watches, on histories of many clients of a real server process that is killed by kill -9 and
 * started again in between, with snapshots every hundred transactions.
 *
 *     KCLI_ZK_HISTORY=40 npx vitest run test/zk/history      # lives of the server; 4 in every run
 *     KCLI_ZK_SEED=7 …                                       # what the clients do; when it happens is the machine's
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileEntry } from '../../helpers/compile-entry.js'
import { seeded } from '../../helpers/seeded.js'
import { until } from '../../helpers/until.js'
import { temporaryFolder } from '../fixture.js'
import { RawClient } from '../raw-client.js'
import { type Act, isLinearizable } from './linearizable.js'
import { History, HistoryClient, ROOT, type Stamped } from './recorder.js'
import { faultOfWatch } from './watched.js'

const LIVES = Number(process.env['KCLI_ZK_HISTORY'] ?? 4)
const SEED = Number(process.env['KCLI_ZK_SEED'] ?? 1)
const ANSWERS_A_LIFE = 500
const WORKERS = 8
const WATCHERS = 2
const NODES = 4

let compiled: ReturnType<typeof compileEntry>
beforeAll(() => {
	compiled = compileEntry('zk/server/main.ts')
}, 60_000)
afterAll(() => compiled.remove())

/** The server as a process; `kill` is kill -9. */
class ServerProcess {
	address = ''
	readonly #dataDir: string
	#child: ChildProcess | null = null

	constructor(dataDir: string) {
		this.#dataDir = dataDir
	}

	async start(): Promise<void> {
		const args = ['--listen', '127.0.0.1:0', '--data-dir', this.#dataDir, '--snapshot-transactions', '100']
		const child = spawn(process.execPath, [compiled.file, ...args], {
			stdio: ['ignore', 'pipe', 'inherit'],
			env: { ...process.env, NODE_OPTIONS: '' },
		})
		this.#child = child
		let output = ''
		child.stdout?.on('data', (chunk: Buffer) => {
			output += chunk.toString('utf8')
		})
		await until('the server to serve', () => output.includes('\n') || child.exitCode !== null, 30_000)
		const line = /^zookeeper (\S+)/.exec(output)
		if (line === null) throw new Error(`the server ended with ${child.exitCode}`)
		this.address = line[1] as string
	}

	async kill(): Promise<void> {
		const child = this.#child
		if (child === null) return
		const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
		child.kill('SIGKILL')
		await gone
		this.#child = null
	}
}

function randomAct(random: () => number, client: number, count: number): Act {
	const value = `${client}-${count}`
	const version = random() < 0.5 ? -1 : Math.floor(random() * 4)
	const kind = Math.floor(random() * 10)
	if (kind < 2) return { kind: 'create', value }
	if (kind < 6) return { kind: 'set', value, version }
	return kind < 7 ? { kind: 'delete', version } : { kind: 'get' }
}

/** What breaks the one order of all writes: zxids twice, or against time; reads older than what was acknowledged before. */
function faultOfOrder(stamped: readonly Stamped[]): string | null {
	const writes = stamped.filter(({ isWrite }) => isWrite)
	if (new Set(writes.map(({ zxid }) => zxid)).size !== writes.length) return 'two writes of one zxid'
	for (const later of stamped) {
		for (const write of writes) {
			if (write.returnedAt >= later.calledAt) continue
			const isRight = later.isWrite ? later.zxid > write.zxid : later.zxid >= write.zxid
			if (!isRight) return `zxid ${later.zxid} was given after ${write.zxid} was acknowledged`
		}
	}
	return null
}

test(`${LIVES} lives of a server that is killed: writes linearizable, watches in order, nothing acknowledged is lost`, async () => {
	const server = new ServerProcess(temporaryFolder())
	await server.start()
	try {
		const planter = await RawClient.open(server.address)
		expect((await planter.create(ROOT)).err).toBe(0)
		const history = new History()
		const address = (): string => server.address
		let isOver = false
		const worker = async (id: number): Promise<void> => {
			const client = new HistoryClient(history, id, address, id >= WORKERS)
			const random = seeded(SEED * 1000 + id)
			for (let count = 0; !isOver; count++) {
				const path = `${ROOT}/${Math.floor(random() * NODES)}`
				await client.act(path, id >= WORKERS ? { kind: 'get' } : randomAct(random, id, count))
			}
			await client.end()
		}
		const running = Promise.all(Array.from({ length: WORKERS + WATCHERS }, (_, id) => worker(id)))
		// A worker that fails ends the run with its own words.
		const failed = running.then(() => undefined)
		failed.catch(() => undefined)
		for (let life = 1; life <= LIVES; life++) {
			const wanted = life * ANSWERS_A_LIFE
			await Promise.race([until('their answers', () => history.answered >= wanted, 60_000), failed])
			await server.kill()
			await server.start()
		}
		isOver = true
		await running
		// What a last client sees belongs to the history.
		const last = new HistoryClient(history, 99, address, false)
		for (let node = 0; node < NODES; node++) expect(await last.act(`${ROOT}/${node}`, { kind: 'get' })).toBe(true)
		await last.end()
		for (const [path, operations] of history.operations) {
			expect(isLinearizable(operations), `${path}, ${operations.length} operations`).toBe(true)
		}
		expect(faultOfOrder(history.stamped)).toBeNull()
		const acknowledged = history.acknowledged.sort((a, b) => a.zxid - b.zxid)
		const events = history.watchings.map((watching) => faultOfWatch(watching, acknowledged, history.uncertain))
		expect(events).toEqual(history.watchings.map(() => null))
		// The run was one worth its name.
		expect(history.watchings.length).toBeGreaterThanOrEqual(WATCHERS * LIVES)
		expect(
			history.watchings.flatMap(({ came }) => came.filter((each) => typeof each === 'string')).length,
		).toBeGreaterThan(LIVES * 50)
		expect(acknowledged.length).toBeGreaterThan(LIVES * 50)
	} finally {
		await server.kill()
	}
}, 600_000)
