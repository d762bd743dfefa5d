// How long commands take as whole processes: `node bench/command-start.mjs [RUNS]`. Starts a broker of ours, then runs each
// command RUNS times (default 21) in turn with bare Node, so that a busy moment of the machine falls on all; prints the
// least, median and largest wall time in ms, and the median of CPU time. Aim: `topic list` ≤ 200 ms.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const runs = Number(process.argv[2] ?? 21)
const folder = mkdtempSync(join(tmpdir(), 'kcli-bench-'))

const broker = spawn(
	process.execPath,
	[
		cli,
		...['broker', 'start', '--data-dir', join(folder, 'data'), '--json', '--log-level', 'warn'],
		...['--listen', 'PLAINTEXT://127.0.0.1:0', '--zookeeper-port', '0'],
	],
	{ stdio: ['ignore', 'pipe', 'ignore'] },
)
const ready = await new Promise((resolve, reject) => {
	broker.stdout.once('data', (chunk) => resolve(JSON.parse(chunk.toString('utf8'))))
	broker.once('close', (code) => reject(new Error(`the broker ended with ${code}`)))
})
const env = {
	...process.env,
	NODE_OPTIONS: '',
	KCLI_BOOTSTRAP_SERVERS: ready.listeners[0].replace(/^.*\/\//, ''),
}

const rows = [
	{ name: 'node -e 0', args: ['-e', '0'] },
	{ name: 'kcli --version', args: [cli, '--version'] },
	{ name: 'kcli --help', args: [cli, '--help'] },
	{ name: 'kcli errors 3', args: [cli, 'errors', '3'] },
	{ name: 'kcli topic list', args: [cli, 'topic', 'list'] },
	{ name: 'kcli topic list --json', args: [cli, 'topic', 'list', '--json'] },
	{ name: 'kcli topic describe hello', args: [cli, 'topic', 'describe', 'hello'] },
	{ name: 'kcli consume hello -e', args: [cli, 'consume', 'hello', '-e', '-q'] },
].map((row) => ({ ...row, wall: [], cpu: [] }))

function once({ name, args, wall, cpu }) {
	const before = childCpu()
	const start = performance.now()
	const done = spawnSync(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
	wall.push(performance.now() - start)
	cpu.push(childCpu() - before)
	if (done.status !== 0) throw new Error(`${name}: ${done.stderr}`)
}

/** CPU time of ended children in ms, from /proc where there is one. */
function childCpu() {
	try {
		const fields = readFileSync('/proc/self/stat', 'utf8')
			.replace(/^.*\) /, '')
			.split(' ')
		// cutime and cstime, in ticks of 10 ms.
		return (Number(fields[13]) + Number(fields[14])) * 10
	} catch {
		return Number.NaN
	}
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

try {
	spawnSync(process.execPath, [cli, 'topic', 'create', 'hello'], { env })
	for (let i = 0; i < runs; i++) for (const row of rows) once(row)
	process.stdout.write(`node ${process.version}, ${cpus().length} × ${cpus()[0].model.trim()}, ${runs} runs\n\n`)
	process.stdout.write('| command | least | median | largest | CPU median |\n|---|---:|---:|---:|---:|\n')
	for (const { name, wall, cpu } of rows) {
		const cells = [Math.min(...wall), median(wall), Math.max(...wall), median(cpu)].map((ms) => ms.toFixed(0))
		process.stdout.write(`| \`${name}\` | ${cells.join(' | ')} |\n`)
	}
} finally {
	broker.kill('SIGTERM')
	await new Promise((resolve) => broker.once('close', resolve))
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
