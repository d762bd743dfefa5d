// `npm run bench:many-partitions`: one topic of very many partitions on our broker and on Apache Kafka 3.9.2, one after the
// other on the same machine: time to make them, to start after a clean stop and after kill -9, memory and idle CPU of the
// broker's process. "Started" is when the last partition answers that it has a leader.
//
//   npm run bench:many-partitions -- [--partitions 5000] [--only kcli|kafka]
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const peers = join(root, 'bench/peers/peers')
const work = mkdtempSync(join(tmpdir(), 'kcli-many-'))
const argument = (name, fallback) => {
	const at = process.argv.indexOf(`--${name}`)
	return at < 0 ? fallback : process.argv[at + 1]
}
const partitions = Number(argument('partitions', '5000'))
const only = argument('only', null)

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const sh = (command, args, options = {}) =>
	execFileSync(command, args, { encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'], ...options })
const cli = (address, args, options) =>
	sh(process.execPath, [join(root, 'bin/run.js'), ...args, '-b', address], options)

function cpuSeconds(pid) {
	const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
		.replace(/^.*\) /, '')
		.split(' ')
	return (Number(fields[11]) + Number(fields[12])) / 100
}

const residentMb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024

const systems = {
	kcli: {
		address: '127.0.0.1:29092',
		async start() {
			const args = ['broker', 'start', '--data-dir', join(work, 'kcli/data'), '--listen', `PLAINTEXT://${this.address}`]
			this.child = spawn(
				process.execPath,
				[join(root, 'bin/run.js'), ...args, '--zookeeper-port', '0', '--log-level', 'warn'],
				{ stdio: ['ignore', 'pipe', 'ignore'] },
			)
			await new Promise((resolve, reject) => {
				this.child.stdout.once('data', resolve)
				this.child.once('exit', () => reject(new Error('kcli ended')))
			})
			this.pid = this.child.pid
		},
		async end(signal) {
			const gone = new Promise((resolve) => this.child.once('exit', resolve))
			this.child.kill(signal)
			await gone
		},
		close() {},
	},
	kafka: {
		address: '127.0.0.1:29192',
		async start() {
			if (!this.hasZooKeeper) sh(peers, ['zk', join(work, 'zk'), '29181'])
			this.hasZooKeeper = true
			sh(peers, ['broker', join(work, 'kafka'), '1', '29192', '127.0.0.1:29181'])
			this.pid = Number(readFileSync(join(work, 'kafka/pid'), 'utf8'))
		},
		async end(signal) {
			process.kill(this.pid, signal)
			for (;;) {
				try {
					process.kill(this.pid, 0)
				} catch {
					return
				}
				await rest(20)
			}
		},
		close() {
			sh(peers, ['stop', join(work, 'zk')])
		},
	},
}

/** Waits until every partition has a leader; both brokers say that they serve before it is so. */
async function allLead(address) {
	for (;;) {
		try {
			const out = cli(address, ['topic', 'describe', 'many', '--json'])
			const [topic] = JSON.parse(out).items
			const leading = topic.partitions.filter(({ leader }) => leader !== null && leader >= 0).length
			if (leading === partitions) return
		} catch {
			// Not reachable yet.
		}
		await rest(50)
	}
}

async function timed(job) {
	const began = performance.now()
	await job()
	return (performance.now() - began) / 1000
}

async function measure(system) {
	const result = {}
	await system.start()
	result.create = await timed(async () => {
		cli(system.address, ['topic', 'create', 'many', '-p', String(partitions), '-r', '1', '--timeout', '600s'])
		await allLead(system.address)
	})
	await rest(5000)
	result.memory = residentMb(system.pid)
	const before = cpuSeconds(system.pid)
	await rest(20_000)
	result.idle = (cpuSeconds(system.pid) - before) * 5
	// Round robin: a small batch to each.
	const input = Array.from({ length: partitions * 2 }, (_, i) => `value ${i}`).join('\n')
	result.produce = await timed(() =>
		cli(system.address, ['produce', 'many', '--partitioner', 'random'], { input: `${input}\n` }),
	)
	result.stop = await timed(() => system.end('SIGTERM'))
	result.clean = await timed(async () => {
		await system.start()
		await allLead(system.address)
	})
	await rest(5000)
	result.memoryStarted = residentMb(system.pid)
	await system.end('SIGKILL')
	// Kafka must wait until its old registration is gone.
	if (system === systems.kafka) await rest(20_000)
	result.unclean = await timed(async () => {
		await system.start()
		await allLead(system.address)
	})
	await system.end('SIGTERM')
	system.close()
	return result
}

const ROWS = [
	['made, all with leaders', 'create', 's'],
	['memory with them', 'memory', 'MB'],
	['idle, % of a processor', 'idle', '%'],
	['two small records to each, random order, as one process', 'produce', 's'],
	['clean stop', 'stop', 's'],
	['start after a clean stop', 'clean', 's'],
	['memory after that start', 'memoryStarted', 'MB'],
	['start after kill -9', 'unclean', 's'],
]

try {
	const results = {}
	for (const [name, system] of Object.entries(systems))
		if (only === null || only === name) results[name] = await measure(system)
	const lines = [
		`machine: ${cpus().length} × ${cpus()[0]?.model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Node ${process.versions.node}; ${partitions} partitions`,
		'',
		'| measure | Apache Kafka 3.9.2 | kcli | ratio |',
		'|---|---|---|---|',
	]
	for (const [title, key, unit] of ROWS) {
		const show = (name) =>
			results[name] === undefined ? '–' : `${results[name][key].toFixed(unit === 'MB' ? 0 : 2)} ${unit}`
		const ratio = results.kafka && results.kcli ? (results.kcli[key] / results.kafka[key]).toFixed(2) : '–'
		lines.push(`| ${title} | ${show('kafka')} | ${show('kcli')} | ${ratio} |`)
	}
	process.stdout.write(`${lines.join('\n')}\n`)
} finally {
	for (const system of Object.values(systems)) if (system.child?.exitCode === null) system.child.kill('SIGKILL')
	rmSync(work, { recursive: true, force: true })
}
