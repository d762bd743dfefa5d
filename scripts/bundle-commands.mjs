// After tsc: joins the command line, every command and the parts of oclif that they need into dist/cli/kcli.cjs, which
// bin/run.js loads. Node would load 370 modules one by one otherwise, half the time of `kcli topic list`. What runs long
// (brokers, ZooKeeper) and `kcli/testing` stay as tsc wrote them and are loaded from beside it.
import { readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const dist = fileURLToPath(new URL('../dist/', import.meta.url))

function commandFiles(folder) {
	return readdirSync(folder, { recursive: true })
		.map((name) => name.replaceAll('\\', '/'))
		.filter((name) => name.endsWith('.js'))
}

/** Written in place of a file: the command line with a way to each command that needs no search. */
function entry() {
	const commands = commandFiles(join(dist, 'commands')).map((name) => {
		const id = name
			.replace(/\.js$/, '')
			.replace(/\/index$/, '')
			.replaceAll('/', ':')
		return `${JSON.stringify(id)}: () => import('./commands/${name}'),`
	})
	return `import { run } from './cli/main.js'
const commands = {\n${commands.join('\n')}\n}
export const start = (argv) => run(argv, (id) => commands[id]())
`
}

// Packages that oclif loads at once and uses only to find plugins, read their settings and render help. None of it
// happens on a command's path: our own start does without (src/cli/base-command.ts), help loads the whole package.
const UNUSED = /^(ejs|lilconfig|minimatch|tinyglobby)$/

const choose = {
	name: 'choose',
	setup(made) {
		made.onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'left-out' }))
		made.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: 'module.exports = {}', loader: 'js' }))
		// Help's own copy, whole; its subpaths are what commands stand on.
		made.onResolve({ filter: /^@oclif\/core$/ }, ({ path }) => ({ path, external: true }))
		made.onResolve({ filter: /\/(broker|zookeeper)-process\.js$/ }, ({ path }) => ({
			path: path.replace(/^.*\//, './'),
			external: true,
		}))
	},
}

const file = join(dist, 'cli', 'kcli.cjs')
const { outputFiles } = await build({
	stdin: { contents: entry(), resolveDir: dist, sourcefile: 'entry.js' },
	outfile: file,
	write: false,
	bundle: true,
	platform: 'node',
	target: 'node20',
	format: 'cjs',
	minifySyntax: true,
	minifyWhitespace: true,
	legalComments: 'eof',
	plugins: [choose],
	// As deep as the files that look for others by it.
	define: { 'import.meta.url': '__kcliUrl' },
	banner: { js: "const __kcliUrl = require('node:url').pathToFileURL(__filename).href;" },
	// Loaded where they are needed, or on paths that we never take (ts-node, typescript).
	external: [
		'@bokuweb/zstd-wasm',
		'@node-rs/crc32',
		'@toondepauw/node-zstd',
		'ink',
		'lz4-napi',
		'node-zookeeper-client',
		'ora',
		'react',
		'snappy',
		'ts-node',
		'typescript',
		'yaml',
	],
	logLevel: 'warning',
})
// In one step: a command may start meanwhile.
writeFileSync(`${file}.new`, outputFiles[0].contents)
renameSync(`${file}.new`, file)
