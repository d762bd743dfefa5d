/** Compiles an entry of `src/` with all it imports into a temporary folder, for tests that start real processes. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** `entry` is relative to `src/`, `zk/server/main.ts`. Returns the compiled file and what removes it again. */
export function compileEntry(entry: string): { file: string; remove: () => void } {
	const folder = mkdtempSync(join(tmpdir(), 'kcli-build-'))
	const config = {
		extends: join(ROOT, 'tsconfig.build.json'),
		compilerOptions: {
			outDir: join(folder, 'dist'),
			rootDir: join(ROOT, 'src'),
			typeRoots: [join(ROOT, 'node_modules/@types')],
		},
		files: [join(ROOT, 'src', entry)],
		include: [],
	}
	writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
	writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
	symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
	const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
	execFileSync(process.execPath, [compiler, '-p', folder], { stdio: 'pipe' })
	return {
		file: join(folder, 'dist', entry.replace(/\.ts$/, '.js')),
		remove: () => rmSync(folder, { recursive: true, force: true }),
	}
}
