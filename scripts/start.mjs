// `npm start`: all set-up, then one broker with its ZooKeeper on 127.0.0.1:9092, data in ./.kcli-data, topic `hello` ready.
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
prepare(root)

const cli = `${root}bin/run.js`
const given = process.argv.slice(2)
// In a process group of its own, so that each signal reaches it once and through us; should we die, its stdin ends and so
// does it.
const broker = spawn(process.execPath, [cli, 'broker', 'start', '--attached', '--log-level', 'warn', ...given], {
	cwd: root,
	detached: true,
	stdio: ['pipe', 'pipe', 'inherit'],
})

/** Where the data is: as the flag says, or the environment, or the default. */
function dataDirs() {
	const dirs = given.flatMap((word, i) => {
		if (word.startsWith('--data-dir=')) return [word.slice('--data-dir='.length)]
		return word === '--data-dir' ? [given[i + 1]] : []
	})
	return dirs.length > 0 ? dirs.join(',') : (process.env.KCLI_DATA_DIR ?? `${root}.kcli-data`)
}

broker.stdout.setEncoding('utf8')
let output = ''
let isReady = false
broker.stdout.on('data', (chunk) => {
	output += chunk
	const line = /^ready (.*)$/m.exec(output)
	if (line === null) return
	broker.stdout.removeAllListeners('data')
	broker.stdout.resume()
	isReady = true
	welcome(Object.fromEntries(line[1].split(' ').map((pair) => pair.split('='))))
})

function welcome({ listeners, zookeeper, cluster }) {
	const address = listeners.split(',')[0].replace(/^[^/]*\/\//, '')
	const made = spawnSync(process.execPath, [cli, 'topic', 'create', 'hello', '--if-not-exists', '-b', address], {
		encoding: 'utf8',
	})
	if (made.status !== 0) process.stderr.write(made.stderr)
	const at = address === 'localhost:9092' || address === '127.0.0.1:9092' ? '' : ` -b ${address}`
	process.stdout.write(`
  broker     ${address}   (cluster ${cluster})
  zookeeper  ${zookeeper}
  data       ${dataDirs()}
  topic      hello

Paste in another terminal:

  echo "hello world" | npx kcli produce hello${at}
  npx kcli consume hello -e${at}
  npx kcli topic list${at}

Ctrl-C stops it; the data stays.
`)
}

// Ctrl-C comes from the terminal and once more from npm: what follows at once is the same wish.
const SAME_MS = 300
let toldMs = Number.NEGATIVE_INFINITY
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
	process.on(signal, () => {
		if (performance.now() - toldMs < SAME_MS) return
		toldMs = performance.now()
		broker.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal)
	})
}
broker.on('exit', (code, signal) => {
	// It ended without serving: what it had to say (`--help`) is the answer.
	if (!isReady) process.stdout.write(output)
	if (toldMs === Number.NEGATIVE_INFINITY && signal !== null) {
		process.stderr.write(`npm start: the broker was ended by ${signal}; start again, it recovers what was written\n`)
	}
	// A stop that was asked for is a success here, though the broker says by which signal.
	process.exit(code === 130 || code === 143 ? 0 : (code ?? (signal === null ? 0 : 1)))
})
