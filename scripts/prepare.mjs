// Makes a clone ready to run: packages from the lock file, then the build, each only when something changed.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'

/** Newest modification time of a tree, in ms. */
function newest(path) {
	const stat = statSync(path)
	if (!stat.isDirectory()) return stat.mtimeMs
	let latest = stat.mtimeMs
	for (const name of readdirSync(path)) latest = Math.max(latest, newest(`${path}/${name}`))
	return latest
}

function run(root, command, args) {
	const done = spawnSync(command, args, {
		cwd: root,
		stdio: ['ignore', process.stderr, process.stderr],
		shell: process.platform === 'win32',
	})
	if (done.status !== 0) {
		process.stderr.write(`${command} ${args.join(' ')} failed\n`)
		process.exit(1)
	}
}

function fail(text) {
	process.stderr.write(`${text}\n`)
	process.exit(2)
}

/** Installs and builds in `root` where needed. */
export function prepare(root) {
	const [major, minor] = process.versions.node.split('.').map(Number)
	if (major < 20 || (major === 20 && minor < 12))
		fail(`kcli needs Node 20.12 or newer; this is Node ${process.versions.node}`)
	const lock = readFileSync(`${root}package-lock.json`, 'utf8')
	const installed = `${root}node_modules/.kcli-lock`
	if (!existsSync(installed) || readFileSync(installed, 'utf8') !== lock) {
		process.stderr.write('installing packages …\n')
		run(root, 'npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
		writeFileSync(installed, lock)
	}
	const built = `${root}dist/.built`
	const since = existsSync(built) ? statSync(built).mtimeMs : 0
	if (Math.max(newest(`${root}src`), statSync(`${root}package.json`).mtimeMs) > since) {
		process.stderr.write('building …\n')
		run(root, 'npm', ['run', '--silent', 'build'])
		writeFileSync(built, '')
	}
}
