// `npm start`: all set-up, then one broker with its ZooKeeper on 127.0.0.1:9092, data in ./.kcli-data, topic `hello` ready.
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
prepare(root)

const cli = `${root}bin/run.js`
const broker = spawn(process.execPath, [cli, 'broker', 'start', '--log-level', 'warn', ...process.argv.slice(2)], {
	cwd: root,
	stdio: ['inherit', 'pipe', 'inherit'],
})

broker.stdout.setEncoding('utf8')
let output = ''
broker.stdout.on('data', (chunk) => {
	output += chunk
	const line = /^ready (.*)$/m.exec(output)
	if (line === null) return
	broker.stdout.removeAllListeners('data')
	broker.stdout.resume()
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
  data       ${root}.kcli-data
  topic      hello

Paste in another terminal:

  echo "hello world" | npx kcli produce hello${at}
  npx kcli consume hello -e${at}
  npx kcli topic list${at}

Ctrl-C stops it; the data stays.
`)
}

// Ctrl-C reaches the broker itself; we only wait for it.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => broker.kill('SIGTERM'))
broker.on('exit', (code, signal) => {
	// A stop that was asked for is a success here, though the broker says by which signal.
	process.exit(code === 130 || code === 143 ? 0 : (code ?? (signal === null ? 0 : 1)))
})
