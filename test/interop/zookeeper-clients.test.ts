/**
 * Clients of others on our ZooKeeper and on Apache's: a session of Apache's shell, kazoo's recipes, the examples that come
 * with the npm package node-zookeeper-client. All must see the same on both. And kazoo goes on when our server is killed.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePorts } from '../helpers/free-port.js'
import { HAS_JAVA, javaTool, PYTHON, peers } from '../helpers/peers.js'
import { CLI, Cleanup, ROOT, run } from '../helpers/processes.js'
import { until } from '../helpers/until.js'
import { RawClient } from '../zk/raw-client.js'

const PACKAGE = dirname(createRequire(import.meta.url).resolve('node-zookeeper-client/package.json'))
const SCRIPT = fileURLToPath(new URL('zookeeper-clients.py', import.meta.url))

/** A server process of ours; settles when it serves. */
async function spawnServer(args: readonly string[]): Promise<{ child: ChildProcess; address: string }> {
	const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
	let output = ''
	child.stdout?.on('data', (chunk: Buffer) => {
		output += chunk.toString('utf8')
	})
	await until('it serves', () => output.includes('\n') || child.exitCode !== null, 30_000)
	return { child, address: /^zookeeper (\S+)/.exec(output)?.[1] ?? '' }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
	const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
	child.kill(signal)
	await gone
}

/** Both servers with TTL nodes, empty. */
async function startBoth(cleanup: Cleanup): Promise<{ ours: string; apache: string }> {
	const { child, address } = await spawnServer([
		CLI,
		'zk',
		'start',
		'--listen',
		'127.0.0.1:0',
		'--data-dir',
		`${cleanup.folder()}/data`,
		'--ttl-nodes',
	])
	cleanup.add(() => ended(child, 'SIGTERM'))
	const folder = cleanup.folder()
	const apache = `127.0.0.1:${(await freePorts(1))[0]}`
	cleanup.add(() => peers(['stop', folder]))
	const flags = { JAVA_TOOL_OPTIONS: '-Dzookeeper.extendedTypesEnabled=true' }
	await run('bash', [join(ROOT, 'bench/peers/peers'), 'zk', folder, apache.split(':')[1] as string], { env: flags })
	await until('Apache serves', async () => (await RawClient.open(apache)).greeting !== null, 30_000)
	return { ours: address, apache }
}

/** What a user types, in one session of the shell. */
const COMMANDS = [
	'ls /',
	'create /app data',
	'create /app data',
	'create /no/parent x',
	'get /app',
	'get -s /app',
	'set /app second',
	'set -s -v 1 /app third',
	'set -v 1 /app stale',
	'stat /app',
	'stat /none',
	'create -s /app/seq- a',
	'create -s /app/seq- b',
	'create -e /app/mine c',
	'create -e -s /app/mine- d',
	'create /app/mine/below x',
	'create -c /app/container',
	'create -t 600000 /app/ttl x',
	'create -t 0 /app/bad x',
	'create -s -t 600000 /app/ttl- x',
	'ls /app',
	'ls -s /app',
	'ls -R /app',
	'ls /none',
	'getEphemerals',
	'getEphemerals /app/mine-',
	'getAllChildrenNumber /app',
	'getAcl /app',
	'getAcl -s /app',
	'addauth digest user:secret',
	'whoami',
	'create /app/secret s auth::cdrwa',
	'getAcl /app/secret',
	'setAcl /app/secret world:anyone:r',
	'set /app/secret x',
	'setAcl /app/secret world:anyone:cdrwa',
	'setAcl -R /app/container world:anyone:r',
	'setAcl /app none:x:r',
	'get -w /app',
	'ls -w /app',
	'stat -w /app/later',
	'set /app fourth',
	'create /app/later x',
	'addWatch -m PERSISTENT /app/seq-0000000000',
	'set /app/seq-0000000000 y',
	'set /app/seq-0000000000 z',
	'removewatches /app/seq-0000000000',
	'removewatches /app/seq-0000000001',
	'addWatch /app/container',
	'sync /app',
	'listquota /app',
	'delete /app',
	'delete -v 9 /app/later',
	'delete /app/later',
	'delete /none',
	'delete /zookeeper',
	'config',
	'reconfig -remove 3',
	'deleteall /app',
	'ls /',
	'ls -R /zookeeper',
	'bogus',
	'close',
	'quit',
]

/** What differs from server to server and run to run is left out; events, which come when they come, stand apart. */
function comparable(output: string, address: string): Record<'lines' | 'identities' | 'events', string[]> {
	const lines = output
		.replaceAll(address, 'SERVER')
		.replace(/0x[0-9a-f]+/g, (hex) => (hex === '0x0' ? hex : '0x…'))
		.replace(/(ctime|mtime) = .*/g, '$1 = …')
		.replace(/^\[zk: SERVER\([A-Z]+\) \d+\] /gm, '')
		.split('\n')
	const isEvent = (line: string): boolean => /^WATCHER::|^WatchedEvent /.test(line)
	// Apache keeps the identities of a connection in no order.
	const isIdentity = (line: string): boolean => /^(ip|digest): /.test(line)
	return {
		lines: lines.filter((line) => line !== '' && !isEvent(line) && !isIdentity(line)),
		identities: lines.filter(isIdentity).sort(),
		events: lines.filter((line) => line.startsWith('WatchedEvent')).map((line) => line.replace(/ zxid: .*/, '')),
	}
}

describe.skipIf(!HAS_JAVA)('on both servers alike', () => {
	const cleanup = new Cleanup()
	let servers: { ours: string; apache: string }
	beforeAll(async () => {
		servers = await startBoth(cleanup)
	})
	afterAll(() => cleanup.run())

	it(`Apache's shell: ${COMMANDS.length} commands`, async () => {
		const shell = async (address: string) => {
			const { stdout, stderr } = await javaTool(
				'tool',
				'zookeeper-shell',
				['-server', address],
				`${COMMANDS.join('\n')}\n`,
			)
			return comparable(stdout + stderr, address)
		}
		const [ours, apache] = [await shell(servers.ours), await shell(servers.apache)]
		expect(ours).toEqual(apache)
		expect(apache.lines.length).toBeGreaterThan(100)
		expect(apache.events.length).toBeGreaterThan(6)
	})

	/** Runs a program of the package on a server; its output without what is that run's own. */
	const program = async (file: string, args: readonly string[], address: string): Promise<string> => {
		const { code, stdout, stderr } = await run(process.execPath, [file, ...args], { timeoutMs: 30_000 })
		expect(stderr).toBe('')
		const text = stdout.replaceAll(address, 'SERVER').replace(/[0-9a-f]{16}|\b\d{12,}\b/g, '…')
		return `${code} ${text}`
	}

	/** A program of the package that watches on; `come` waits for that many lines of it. */
	const watching = (name: string, args: readonly string[]) => {
		const child = spawn(process.execPath, [join(PACKAGE, 'examples', `${name}.js`), ...args])
		let output = ''
		child.stdout.on('data', (chunk: Buffer) => {
			output += chunk.toString('utf8')
		})
		const lines = (): string[] => output.split('\n').slice(0, -1)
		return {
			come: (count: number) => until(`${count} lines of ${name}`, () => lines().length >= count, 30_000),
			end: async (): Promise<string[]> => {
				await ended(child, 'SIGTERM')
				return lines()
			},
		}
	}

	/** Runs every example of the package on a server, those that watch while the others change what they watch. */
	const examples = async (address: string): Promise<Record<string, unknown>> => {
		const example = (name: string, ...args: readonly string[]) =>
			program(join(PACKAGE, 'examples', `${name}.js`), [address, ...args], address)
		const seen: Record<string, unknown> = { create: await example('create', '/example') }
		const watchers = [
			watching('get', [address, '/example']),
			watching('list', [address, '/example']),
			watching('exists', [address, '/example/child']),
		]
		for (const each of watchers) await each.come(2)
		seen['set'] = await example('set', '/example', 'text')
		seen['child'] = await example('create', '/example/child')
		for (const each of watchers) await each.come(4)
		seen['watchers'] = await Promise.all(watchers.map((each) => each.end()))
		seen['acl'] = await example('acl', '/example/child')
		seen['delete'] = await example('delete', '/example/child')
		seen['mkdirp'] = await example('mkdirp', '/example/a/b/c')
		seen['listSubTreeBFS'] = await example('listSubTreeBFS', '/example')
		// It sees one level of children, and says that the rest is in the way.
		seen['removeRecursive'] = await example('removeRecursive', '/example')
		seen['transaction'] = await example('transaction')
		return seen
	}

	it('the examples of node-zookeeper-client', async () => {
		const [ours, apache] = [await examples(servers.ours), await examples(servers.apache)]
		expect(ours).toEqual(apache)
		expect(ours['transaction']).toContain('Transaction completed.')
		const names = readdirSync(join(PACKAGE, 'examples')).map((file) => file.replace('.js', ''))
		const run = new Set([...Object.keys(ours), 'get', 'list', 'exists'])
		expect(names.filter((name) => !run.has(name))).toEqual([])
	})

	it('the programs of its README', async () => {
		const blocks = readFileSync(join(PACKAGE, 'README.md'), 'utf8').matchAll(/```javascript\n([\s\S]*?)```/g)
		const programs = [...blocks].map(([, text]) => text as string).filter((text) => /client\.connect\(\);/.test(text))
		expect(programs.length).toBeGreaterThanOrEqual(2)
		const folder = cleanup.folder()
		symlinkSync(join(PACKAGE, '..'), join(folder, 'node_modules'))
		const outputs: Record<string, string[]> = {}
		for (const address of [servers.ours, servers.apache]) {
			outputs[address] = []
			for (const [index, text] of programs.entries()) {
				const file = join(folder, `program-${index}.cjs`)
				// The package's own text, with the server's address, and an end where it would go on watching.
				const ending = /client\.close\(\)/.test(text)
					? ''
					: "\nprocess.stdin.once('end', () => client.close()).resume()\n"
				const required = text.includes('require(') ? '' : "var zookeeper = require('node-zookeeper-client');\n"
				writeFileSync(file, required + text.replace("'localhost:2181'", `'${address}'`) + ending)
				outputs[address].push(await program(file, text.includes('argv[2] ||') ? [address] : ['/readme'], address))
			}
		}
		expect(outputs[servers.ours]).toEqual(outputs[servers.apache])
		expect(outputs[servers.ours]?.[0]).toContain('Node: /readme is successfully created.')
	})

	it.skipIf(PYTHON === null)("kazoo's recipes: four clients each", async () => {
		for (const address of [servers.ours, servers.apache]) {
			const done = await run(PYTHON as string, [SCRIPT, 'recipes', address], { timeoutMs: 120_000 })
			expect(done.stderr).toBe('')
			expect(JSON.parse(done.stdout), address).toEqual({
				election: [[0, 1, 2, 3], 1],
				lock: [40, ['holder'], false, 'timeout'],
				read_write_lock: [[true, true], false, true, false],
				barrier: [false, 0, [true, true, true]],
				double_barrier: [4, []],
				queue: [Array.from({ length: 30 }, (_, i) => String(i).padStart(2, '0')), 0, 'a', 'b', [true, true, true, 0]],
				counter: [40, 3],
				party: [['0', '1', '2', '3'], 3, ['me']],
				semaphore: [20, true, []],
				watchers: [['0', '1', '2'], '/watched/t0000000001', ['RolledBackError', 'BadVersionError']],
			})
		}
	})
})

describe.skipIf(PYTHON === null)('kazoo over kill -9 of our server', () => {
	const cleanup = new Cleanup()
	afterAll(() => cleanup.run())

	it('keeps its sessions, ephemeral nodes and watches, and everything that was acknowledged', async () => {
		const folder = cleanup.folder()
		const entry = join(ROOT, 'dist/zk/server/main.js')
		const start = (listen: string) => spawnServer([entry, '--listen', listen, '--data-dir', folder])
		let { child, address } = await start('127.0.0.1:0')
		const kazoo = spawn(PYTHON as string, [SCRIPT, 'restart', address], { stdio: ['pipe', 'pipe', 'pipe'] })
		cleanup.add(() => kazoo.kill('SIGKILL'))
		let output = ''
		let errors = ''
		kazoo.stdout.on('data', (chunk: Buffer) => {
			output += chunk.toString('utf8')
		})
		kazoo.stderr.on('data', (chunk: Buffer) => {
			errors += chunk.toString('utf8')
		})
		const exited = new Promise<number | null>((resolve) => kazoo.once('close', resolve))
		const count = (): number => Number(/(\d+)\n[^\n]*$/.exec(output)?.[1] ?? 0)
		for (let life = 1; life <= 4; life++) {
			const wanted = count() + 50
			await until('acknowledged nodes', () => count() >= wanted || kazoo.exitCode !== null, 60_000)
			await ended(child, 'SIGKILL')
			;({ child } = await start(address))
		}
		cleanup.add(() => ended(child, 'SIGTERM'))
		const wanted = count() + 50
		await until('acknowledged nodes', () => count() >= wanted || kazoo.exitCode !== null, 60_000)
		kazoo.stdin.end()
		expect([await exited, errors]).toEqual([0, ''])
		const { acknowledged, ...rest } = JSON.parse(output.trim().split('\n').pop() as string)
		expect(acknowledged).toBeGreaterThan(250)
		expect(rest).toEqual({ missing: [], isSameSession: true, owner: true })
	})
})
