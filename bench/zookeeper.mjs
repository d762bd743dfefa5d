// `npm run bench:zookeeper`: our embedded ZooKeeper and Apache ZooKeeper 3.8.4, one after the other on the same machine, with
// the same client, every write synced to disk by both: creates and reads a second by 1, 10 and 100 clients, memory, time to
// come back with 100,000 nodes, and what a large cluster asks of one server (sessions, nodes, watches, large nodes).
//
//   npm run bench:zookeeper -- [--rounds 3] [--seconds 4] [--only kcli|apache] [--skip-scale]
//
// Needs `npm run build`; Apache ZooKeeper by `bench/peers/peers install`. Each round begins both servers anew on empty folders.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const peers = join(root, 'bench/peers/peers')
const argument = (name, fallback) => {
	const at = process.argv.indexOf(`--${name}`)
	return at < 0 ? fallback : process.argv[at + 1]
}
const ROUNDS = Number(argument('rounds', '3'))
const SECONDS = Number(argument('seconds', '4'))
const only = argument('only', null)
const NODES = 100_000
const HEAP = argument('heap', '256m')
const work = mkdtempSync(join(tmpdir(), 'kcli-zk-bench-'))

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const residentMb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
const freePort = () =>
	new Promise((resolve) => {
		const server = createServer()
		server.listen(0, '127.0.0.1', () => {
			const { port } = server.address()
			server.close(() => resolve(port))
		})
	})
const gone = async (pid) => {
	for (;;) {
		try {
			process.kill(pid, 0)
		} catch {
			return
		}
		await rest(5)
	}
}

const systems = {
	kcli: {
		async start(folder, port) {
			const entry = join(root, 'dist/zk/server/main.js')
			const args = ['--max-semi-space-size=2', '--stack-trace-limit=20', entry]
			const child = spawn(
				process.execPath,
				[...args, '--listen', `127.0.0.1:${port}`, '--data-dir', join(folder, 'data')],
				{ stdio: ['ignore', 'pipe', 'inherit'] },
			)
			await new Promise((resolve, reject) => {
				child.stdout.once('data', resolve)
				child.once('exit', (code) => reject(new Error(`kcli's server ended with ${code}`)))
			})
			return child.pid
		},
	},
	apache: {
		async start(folder, port) {
			execFileSync(peers, ['zk', folder, String(port)], { stdio: ['ignore', 'ignore', 'inherit'] })
			const first = await served(port)
			first.end()
			return Number(readFileSync(join(folder, 'pid'), 'utf8'))
		},
	},
}

/** A client of the wire protocol: frames out, replies in order, nothing else. Both servers get the very same bytes. */
class Client {
	xid = 0
	events = 0
	#socket
	#rest = null
	#waiting = []
	#at = 0
	#greeted = null

	static open(port, greetingMs = 30_000) {
		const client = new Client()
		const socket = connect({ host: '127.0.0.1', port, noDelay: true })
		client.#socket = socket
		socket.on('data', (chunk) => client.#onData(chunk))
		return new Promise((resolve, reject) => {
			// Apache's server takes connections before it serves, and never answers those: asked anew by `served`.
			const timer = setTimeout(() => socket.destroy(new Error('no greeting')), greetingMs)
			socket.on('error', reject)
			socket.once('close', () => {
				clearTimeout(timer)
				reject(new Error('closed'))
				for (const { reject: fail } of client.#waiting.slice(client.#at))
					fail(new Error('the server closed the connection'))
			})
			client.#greeted = () => {
				clearTimeout(timer)
				resolve(client)
			}
			const greeting = Buffer.alloc(48)
			greeting.writeInt32BE(44, 0)
			greeting.writeInt32BE(40_000, 16)
			greeting.writeInt32BE(16, 28)
			socket.write(greeting)
		})
	}

	/** Settles with the reply's frame; rejects when its error is not 0. */
	request(type, body) {
		const header = Buffer.allocUnsafe(12)
		header.writeInt32BE(8 + body.length, 0)
		header.writeInt32BE(++this.xid, 4)
		header.writeInt32BE(type, 8)
		this.#socket.write(Buffer.concat([header, body]))
		return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
	}

	end() {
		this.#socket.destroy()
	}

	#onData(chunk) {
		let bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk])
		while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
			const end = 4 + bytes.readInt32BE(0)
			this.#onFrame(bytes.subarray(4, end))
			bytes = bytes.subarray(end)
		}
		this.#rest = bytes.length > 0 ? bytes : null
	}

	#onFrame(frame) {
		if (this.#greeted !== null) {
			this.#greeted()
			this.#greeted = null
			return
		}
		if (frame.readInt32BE(0) === -1) {
			this.events++
			return
		}
		const { resolve, reject } = this.#waiting[this.#at++]
		if (this.#at > 1000) {
			this.#waiting.splice(0, this.#at)
			this.#at = 0
		}
		const code = frame.readInt32BE(12)
		if (code === 0) resolve(frame)
		else reject(new Error(`error ${code}`))
	}
}

/** A client as soon as there is one. */
async function served(port) {
	for (;;) {
		const client = await Client.open(port, 1000).catch(() => null)
		if (client !== null) return client
		await rest(5)
	}
}

const OPEN_ACL = Buffer.from('000000010000001f00000005776f726c6400000006616e796f6e65', 'hex')
const text = (value) => {
	const bytes = Buffer.alloc(4 + Buffer.byteLength(value))
	bytes.writeInt32BE(bytes.length - 4)
	bytes.write(value, 4)
	return bytes
}
const sized = (bytes) => Buffer.concat([Buffer.from([0, 0, 0, 0]).fill(0), bytes])
const data = (bytes) => {
	const framed = sized(bytes)
	framed.writeInt32BE(bytes.length, 0)
	return framed
}
const FLAGS = Buffer.alloc(4)
const create = (client, path, content) => client.request(1, Buffer.concat([text(path), data(content), OPEN_ACL, FLAGS]))
const read = (client, path, watch = 0) => client.request(4, Buffer.concat([text(path), Buffer.from([watch])]))
const MULTI_CREATE = Buffer.from('0000000100ffffffff', 'hex')
const MULTI_END = Buffer.from('ffffffff01ffffffff', 'hex')
const multiCreate = (client, paths, content) =>
	client.request(
		14,
		Buffer.concat([...paths.flatMap((path) => [MULTI_CREATE, text(path), data(content), OPEN_ACL, FLAGS]), MULTI_END]),
	)

const CONTENT = Buffer.alloc(100, 120)

/** Operations a second by `count` clients that each wait for the answer; after a second of warming up. */
async function rate(clients, seconds, act) {
	let done = 0
	let isOver = false
	const running = clients.map(async (client, index) => {
		for (let i = 0; !isOver; i++) {
			await act(client, index, i)
			done++
		}
	})
	await rest(1000)
	const before = done
	const began = performance.now()
	await rest(seconds * 1000)
	const perSecond = ((done - before) / (performance.now() - began)) * 1000
	isOver = true
	await Promise.all(running)
	return perSecond
}

const openClients = async (port, count) => {
	const clients = []
	for (let i = 0; i < count; i++) clients.push(await Client.open(port))
	return clients
}

async function plant(port) {
	const client = await Client.open(port)
	await create(client, '/planted', CONTENT)
	for (let at = 0; at < NODES; at += 1000) {
		const paths = Array.from({ length: 1000 }, (_, i) => `/planted/node-${at + i}`)
		await multiCreate(client, paths, CONTENT)
	}
	client.end()
}

/** Milliseconds from the start of the process until a client reads a node. */
async function comeBack(system, folder, port) {
	const began = performance.now()
	const starting = system.start(folder, port)
	const client = await served(port)
	await read(client, `/planted/node-${NODES - 1}`)
	const ms = performance.now() - began
	client.end()
	return { ms, pid: await starting }
}

async function measure(name, round) {
	const system = systems[name]
	const folder = join(work, `${name}-${round}`)
	execFileSync('mkdir', ['-p', folder])
	const figures = {}
	let port = await freePort()
	let pid = await system.start(folder, port)
	figures['memory at rest (MB)'] = residentMb(pid)
	const setUp = await Client.open(port)
	await create(setUp, '/bench', CONTENT)
	for (const count of [1, 10, 100]) {
		const clients = await openClients(port, count)
		const parent = `/bench/c${count}`
		await create(setUp, parent, CONTENT)
		figures[`creates/s, ${count} clients`] = await rate(clients, SECONDS, (client, index, i) =>
			create(client, `${parent}/${index}-${i}`, CONTENT),
		)
		figures[`reads/s, ${count} clients`] = await rate(clients, SECONDS, (client) => read(client, '/bench'))
		for (const client of clients) client.end()
	}
	figures['memory after this load (MB)'] = residentMb(pid)
	setUp.end()
	process.kill(pid, 'SIGKILL')
	await gone(pid)

	const fresh = join(folder, 'recovery')
	execFileSync('mkdir', ['-p', fresh])
	port = await freePort()
	pid = await system.start(fresh, port)
	await plant(port)
	process.kill(pid, 'SIGKILL')
	await gone(pid)
	const back = await comeBack(system, fresh, port)
	figures['kill -9, until 100,000 nodes are served (ms)'] = back.ms
	pid = back.pid
	figures['memory with 100,000 nodes (MB)'] = residentMb(pid)
	if (name === 'kcli' && !process.argv.includes('--skip-scale')) {
		await scale(port, figures)
		figures['memory after that (MB)'] = residentMb(pid)
	}
	process.kill(pid, 'SIGKILL')
	await gone(pid)
	rmSync(folder, { recursive: true, force: true })
	process.stderr.write(`${name} ${round}: ${JSON.stringify(figures)}\n`)
	return figures
}

/** Of ours alone: 10,000 sessions, 100,000 watches on as many nodes, all told; nodes just under the limit. */
async function scale(port, figures) {
	let began = performance.now()
	const sessions = []
	for (let at = 0; at < 10_000; at += 100) {
		sessions.push(...(await Promise.all(Array.from({ length: 100 }, () => Client.open(port)))))
	}
	figures['10,000 sessions opened (ms)'] = performance.now() - began
	began = performance.now()
	const perClient = NODES / 100
	for (let at = 0; at < perClient; at++) {
		await Promise.all(sessions.slice(0, 100).map((client, i) => read(client, `/planted/node-${i * perClient + at}`, 1)))
	}
	figures['100,000 watches set (ms)'] = performance.now() - began
	began = performance.now()
	const writer = await Client.open(port)
	const set = (path) =>
		Buffer.concat([Buffer.from('0000000500ffffffff', 'hex'), text(path), data(CONTENT), Buffer.alloc(4, 255)])
	for (let at = 0; at < NODES; at += 1000) {
		const paths = Array.from({ length: 1000 }, (_, i) => `/planted/node-${at + i}`)
		await writer.request(14, Buffer.concat([...paths.map(set), MULTI_END]))
	}
	while (sessions.reduce((sum, { events }) => sum + events, 0) < NODES) await rest(5)
	figures['100,000 nodes set, 100,000 events told (ms)'] = performance.now() - began
	began = performance.now()
	const large = Buffer.alloc(1_048_575 - 200, 1)
	for (let i = 0; i < 10; i++) await create(writer, `/large-${i}`, large)
	for (let i = 0; i < 10; i++) {
		const frame = await read(writer, `/large-${i}`)
		if (frame.readInt32BE(16) !== large.length) throw new Error('a large node came back short')
	}
	figures['10 nodes of 1 MB made and read (ms)'] = performance.now() - began
	for (const client of [...sessions, writer]) client.end()
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]
const names = only === null ? ['apache', 'kcli'] : [only]
const results = Object.fromEntries(names.map((name) => [name, []]))
process.env.PEERS_HEAP = HEAP
try {
	for (let round = 0; round < ROUNDS; round++) {
		for (const name of round % 2 === 0 ? names : [...names].reverse()) {
			execFileSync('sync')
			await rest(1000)
			results[name].push(await measure(name, round))
		}
	}
	const { version } = process
	process.stdout.write(
		`${cpus().length} × ${cpus()[0].model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${version}; median of ${ROUNDS} rounds\n\n`,
	)
	process.stdout.write(`| measure | ${names.join(' | ')} |${names.length > 1 ? ' ratio |' : ''}\n`)
	process.stdout.write(`|---|${names.map(() => '---|').join('')}${names.length > 1 ? '---|' : ''}\n`)
	for (const measure of Object.keys(results[names.at(-1)][0])) {
		const values = names.map((name) => median(results[name].map((figures) => figures[measure] ?? Number.NaN)))
		const ratio = names.length > 1 ? ` ${Number.isNaN(values[0]) ? '' : (values[1] / values[0]).toFixed(2)} |` : ''
		process.stdout.write(
			`| ${measure} | ${values.map((value) => (Number.isNaN(value) ? '' : Math.round(value).toLocaleString('en'))).join(' | ')} |${ratio}\n`,
		)
	}
} finally {
	rmSync(work, { recursive: true, force: true })
}
