// `npm run bench:beside-kafka`: the figures of docs/performance.md, of our broker and of Apache Kafka 3.9.2 on the same
// machine, with the same client (bench/peers/perf.c), in alternating runs. The page cache is kept in hand: before each run
// `sync` and a second of rest, a fresh topic, earlier topics deleted, at most 1 GB a run; and 3 GB of memory are touched and
// given back, since the first use of a page that a virtual machine's host has not yet provided costs several times a write.
//
//   npm run bench:beside-kafka -- [--rounds 3] [--only produce-1k,consume-1k,…] [--json FILE]
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const peers = join(root, 'bench/peers/peers')
const work = mkdtempSync(join(tmpdir(), 'kcli-bench-'))
const argument = (name, fallback) => {
	const at = process.argv.indexOf(`--${name}`)
	return at < 0 ? fallback : process.argv[at + 1]
}
const rounds = Number(argument('rounds', '3'))
const only =
	argument('only', '')
		?.split(',')
		.filter((each) => each !== '') ?? []

const MEASURES = [
	{
		name: 'produce-1k',
		title: 'produce 1 KB, 1 partition, acks 1',
		perf: ['produce', '-n', '1000000', '-s', '1000', '-a', '1'],
		unit: 'MB_s',
	},
	{
		name: 'consume-1k',
		title: 'consume 1 KB from the page cache',
		perf: ['consume', '-n', '1000000'],
		unit: 'MB_s',
		after: 'produce-1k',
	},
	{
		name: 'produce-100',
		title: 'produce 100 B, 1 partition, acks 1',
		perf: ['produce', '-n', '5000000', '-s', '100', '-a', '1'],
		unit: 'records_s',
	},
	{
		name: 'consume-100',
		title: 'consume 100 B from the page cache',
		perf: ['consume', '-n', '5000000'],
		unit: 'records_s',
		after: 'produce-100',
	},
	{
		name: 'one-at-a-time',
		title: 'one record at a time, acks 1',
		perf: ['rtt', '-n', '5000', '-s', '100', '-a', '1'],
		unit: 'p50_ms',
	},
	{
		name: 'steady-20k',
		title: '20,000 records/s steady',
		perf: ['produce', '-n', '200000', '-s', '100', '-a', '1', '-r', '20000', '-X', 'linger.ms=0'],
		unit: 'p999_ms',
	},
]

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const sh = (command, args) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

/** User and system seconds of a process so far. */
function cpuSeconds(pid) {
	const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
		.replace(/^.*\) /, '')
		.split(' ')
	return (Number(fields[11]) + Number(fields[12])) / 100
}

function residentMb(pids) {
	let kb = 0
	for (const pid of pids) kb += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
	return kb / 1024
}

function children(pid) {
	return readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name))
		.filter((name) => {
			try {
				return (
					readFileSync(`/proc/${name}/stat`, 'utf8')
						.replace(/^.*\) /, '')
						.split(' ')[1] === String(pid)
				)
			} catch {
				return false
			}
		})
		.map(Number)
}

const systems = {
	kcli: {
		address: '127.0.0.1:29092',
		async start() {
			const started = performance.now()
			this.child = spawn(
				process.execPath,
				[
					join(root, 'bin/run.js'),
					'broker',
					'start',
					'--data-dir',
					join(work, 'kcli/data'),
					'--listen',
					`PLAINTEXT://${this.address}`,
				].concat(['--zookeeper-port', '0', '-c', 'log.segment.delete.delay.ms=500', '--log-level', 'warn']),
				{ stdio: ['ignore', 'pipe', 'inherit'] },
			)
			await new Promise((resolve, reject) => {
				this.child.stdout.once('data', resolve)
				this.child.once('exit', () => reject(new Error('kcli ended')))
			})
			this.startMs = performance.now() - started
			this.pid = this.child.pid
			this.pids = [this.pid, ...children(this.pid)]
		},
		async stop() {
			const gone = new Promise((resolve) => this.child.once('exit', resolve))
			this.child.kill('SIGTERM')
			await gone
			rmSync(join(work, 'kcli'), { recursive: true, force: true })
		},
	},
	kafka: {
		address: '127.0.0.1:29192',
		async start() {
			const started = performance.now()
			sh(peers, ['zk', join(work, 'zk'), '29181'])
			const args = ['broker', join(work, 'kafka'), '1', '29192', '127.0.0.1:29181', 'log.segment.delete.delay.ms=500']
			sh(peers, args)
			this.startMs = performance.now() - started
			this.pid = Number(readFileSync(join(work, 'kafka/pid'), 'utf8'))
			this.pids = [this.pid, Number(readFileSync(join(work, 'zk/pid'), 'utf8'))]
		},
		async stop() {
			sh(peers, ['stop', join(work, 'kafka')])
			sh(peers, ['stop', join(work, 'zk')])
			rmSync(join(work, 'kafka'), { recursive: true, force: true })
			rmSync(join(work, 'zk'), { recursive: true, force: true })
		},
	},
}

const cli = (address, ...args) => sh(process.execPath, [join(root, 'bin/run.js'), ...args, '-b', address])

const results = []

/** Seconds of CPU that the machine's host has taken away since it began; 0 where the kernel does not tell. */
function stolenSeconds() {
	return Number(readFileSync('/proc/stat', 'utf8').split('\n')[0].trim().split(/ +/)[8] ?? 0) / 100
}

/** The most stolen time that leaves a run of latencies one worth its name, and how often a worse one is done again. */
const STOLEN_MAX = 0.05
const REPEATS_MAX = 4

async function runOnce(system, perf, topic) {
	sh('sync', [])
	sh(process.execPath, ['-e', 'for (let i = 0; i < 3; i++) globalThis[i] = Buffer.alloc(2 ** 30, 1)'])
	await rest(1000)
	const [before, stolenBefore] = [cpuSeconds(system.pid), stolenSeconds()]
	const line = sh(peers, ['perf', perf[0], '-b', system.address, '-t', topic, ...perf.slice(1)])
		.trim()
		.split('\n')
		.pop()
	return { line, cpu: cpuSeconds(system.pid) - before, stolen: stolenSeconds() - stolenBefore }
}

async function measure(name, system, { perf, title, unit }, topic, temperature) {
	let run = await runOnce(system, perf, topic)
	// A tail of latencies in which the host took the CPU away is the host's, whoever was measured.
	for (let i = 0; i < REPEATS_MAX && unit.startsWith('p') && run.stolen > STOLEN_MAX; i++) {
		process.stderr.write(
			`${name.padEnd(6)} ${title}: ${run.stolen.toFixed(2)} s stolen by the host, once more: ${run.line}\n`,
		)
		run = await runOnce(system, perf, topic)
	}
	const { line, cpu, stolen } = run
	const values = Object.fromEntries(line.split(' ').map((pair) => pair.split('=')))
	results.push({ system: name, title, temperature, unit, value: Number(values[unit]), cpu, stolen, ...values })
	process.stderr.write(
		`${name.padEnd(6)} ${temperature.padEnd(4)} ${title}: ${line} cpu=${cpu.toFixed(2)} stolen=${stolen.toFixed(2)}\n`,
	)
}

async function main() {
	const chosen = MEASURES.filter(({ name }) => only.length === 0 || only.includes(name))
	for (const [name, system] of Object.entries(systems)) {
		await system.start()
		system.idleMb = residentMb(system.pids)
		process.stderr.write(`${name}: serves after ${system.startMs.toFixed(0)} ms, idle ${system.idleMb.toFixed(0)} MB\n`)
	}
	let serial = 0
	const made = { kcli: {}, kafka: {} }
	for (let round = 0; round <= rounds; round++) {
		const temperature = round === 0 ? 'cold' : 'warm'
		for (const each of chosen) {
			const names = round % 2 === 0 ? ['kafka', 'kcli'] : ['kcli', 'kafka']
			for (const name of names) {
				const system = systems[name]
				let topic = each.after === undefined ? undefined : made[name][each.after]
				if (topic === undefined) {
					const old = made[name][each.name]
					if (old !== undefined) cli(system.address, 'topic', 'delete', old, '--yes')
					topic = `${each.name}-${serial++}`
					cli(system.address, 'topic', 'create', topic, '-p', '1', '-r', '1')
					made[name][each.name] = topic
					if (each.after !== undefined) {
						const source = MEASURES.find((other) => other.name === each.after)
						sh(peers, ['perf', source.perf[0], '-b', system.address, '-t', topic, ...source.perf.slice(1)])
						made[name][each.after] = topic
					}
				}
				await measure(name, system, each, topic, temperature)
			}
		}
	}
	for (const system of Object.values(systems)) system.loadMb = residentMb(system.pids)
	for (const system of Object.values(systems)) await system.stop()
	report(chosen)
}

function median(values) {
	const sorted = [...values].sort((a, b) => a - b)
	return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function report(chosen) {
	const lines = [
		`machine: ${cpus().length} × ${cpus()[0]?.model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Node ${process.versions.node}`,
		'',
		'| measure | | Apache Kafka 3.9.2 | kcli | ratio |',
		'|---|---|---|---|---|',
	]
	for (const { title, unit, name } of chosen) {
		for (const temperature of ['cold', 'warm']) {
			const of = (system, key) =>
				median(
					results
						.filter((each) => each.system === system && each.title === title && each.temperature === temperature)
						.map((each) => Number(each[key])),
				)
			const show = (value) =>
				unit === 'records_s'
					? `${(value / 1e6).toFixed(2)} M/s`
					: unit === 'MB_s'
						? `${value.toFixed(0)} MB/s`
						: `${value.toFixed(3)} ms`
			const row = (label, key, text) => {
				const [theirs, ours] = [of('kafka', key), of('kcli', key)]
				if (Number.isNaN(theirs + ours)) return
				lines.push(`| ${label} | ${temperature} | ${text(theirs)} | ${text(ours)} | ${(ours / theirs).toFixed(2)} |`)
			}
			row(`${title} (${unit})`, unit, show)
			if (unit === 'p50_ms') row(`${title} (p99_ms)`, 'p99_ms', show)
			if (name === 'produce-1k') row('  its CPU seconds a GB', 'cpu', (value) => value.toFixed(2))
		}
	}
	const pair = (label, key, text) => {
		const [theirs, ours] = [systems.kafka[key], systems.kcli[key]]
		lines.push(`| ${label} | | ${text(theirs)} | ${text(ours)} | ${(ours / theirs).toFixed(2)} |`)
	}
	pair('start until it serves, with ZooKeeper', 'startMs', (value) => `${(value / 1000).toFixed(2)} s`)
	pair('memory idle, all processes', 'idleMb', (value) => `${value.toFixed(0)} MB`)
	pair('memory after this load', 'loadMb', (value) => `${value.toFixed(0)} MB`)
	process.stdout.write(`${lines.join('\n')}\n`)
	const file = argument('json', null)
	if (file !== null) writeFileSync(file, JSON.stringify(results, null, '\t'))
}

main()
	.catch(async (error) => {
		process.stderr.write(`${error.stack}\n`)
		for (const system of Object.values(systems)) await system.stop().catch(() => undefined)
		process.exitCode = 1
	})
	.finally(() => rmSync(work, { recursive: true, force: true }))
