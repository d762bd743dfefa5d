// Makes dist/cli/oclif.js one self-contained file: loading oclif's 310 small modules is the largest part of a command's
// start otherwise. Only this file is bundled; all else runs as tsc wrote it.
import { renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

// Packages that oclif loads at once and uses only to find plugins, read their settings, render help and spin. None of it
// happens on a command's path: our own start does without (src/cli/base-command.ts), help loads the whole package.
const UNUSED = /^(cli-spinners|ejs|lilconfig|minimatch|tinyglobby)$/

const leaveOut = {
	name: 'leave-out',
	setup(made) {
		made.onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'left-out' }))
		made.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: 'module.exports = {}', loader: 'js' }))
	},
}

const file = fileURLToPath(new URL('../dist/cli/oclif.js', import.meta.url))
const { outputFiles } = await build({
	entryPoints: [file],
	outfile: file,
	write: false,
	bundle: true,
	platform: 'node',
	target: 'node20',
	format: 'esm',
	minifySyntax: true,
	minifyWhitespace: true,
	legalComments: 'eof',
	plugins: [leaveOut],
	// Named only on paths that we never take: TypeScript sources and development plugins.
	external: ['ts-node', 'typescript'],
	banner: {
		js: "import { createRequire as kcliRequire } from 'node:module';const require = kcliRequire(import.meta.url);const __dirname = import.meta.dirname ?? '.';",
	},
	logLevel: 'warning',
})
// In one step: a command may start meanwhile.
writeFileSync(`${file}.new`, outputFiles[0].contents)
renameSync(`${file}.new`, file)
