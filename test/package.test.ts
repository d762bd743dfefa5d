/** The package as people get it: packed, installed into an empty folder without development packages, and used there. */

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cleanup, ROOT, run } from './helpers/processes.js'

interface Packed {
	readonly filename: string
	readonly size: number
	readonly files: readonly { readonly path: string }[]
}

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

let packed: Packed
let folder = ''
let bin = ''

const INSTALL_MS = 180_000

beforeAll(async () => {
	const made = cleanup.folder()
	// dist is built already: packing would build it again, under the feet of tests that run beside this one.
	const pack = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', made, ROOT])
	expect(pack.code, pack.stderr).toBe(0)
	;[packed] = JSON.parse(pack.stdout) as [Packed]
	folder = cleanup.folder()
	writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }\n')
	const install = ['install', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
	const installed = await run('npm', ['--prefix', folder, ...install, join(made, packed.filename)], {
		timeoutMs: INSTALL_MS,
	})
	expect(installed.code, installed.stderr).toBe(0)
	bin = join(folder, 'node_modules', '.bin', 'kcli')
}, INSTALL_MS)

describe('the packed package', () => {
	it('holds what it needs and no more', () => {
		const paths = packed.files.map(({ path }) => path)
		for (const needed of ['bin/run.js', 'dist/cli/main.js', 'dist/testing.d.ts', 'oclif.manifest.json', 'package.json'])
			expect(paths).toContain(needed)
		expect(paths.filter((path) => /\.map$|^(src|test|bench|scripts)\//.test(path))).toEqual([])
		expect(packed.size).toBeLessThan(1_000_000)
	})

	it('brings no development packages', () => {
		for (const name of ['typescript', 'vitest', 'esbuild', 'kafkajs', '@biomejs/biome'])
			expect(existsSync(join(folder, 'node_modules', name)), name).toBe(false)
	})

	it('starts a broker whose topics it creates and lists', async () => {
		const args = ['--listen', 'PLAINTEXT://127.0.0.1:0', '--zookeeper-port', '0', '--json', '--log-level', 'warn']
		const child = spawn(bin, ['broker', 'start', '--data-dir', join(folder, 'data'), ...args], {
			stdio: ['ignore', 'pipe', 'inherit'],
		})
		const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
		cleanup.add(() => child.kill('SIGKILL'))
		const line = await new Promise<string>((resolve, reject) => {
			child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8')))
			void ended.then((code) => reject(new Error(`the broker ended with ${code}`)))
		})
		const { listeners } = JSON.parse(line) as { listeners: string[] }
		const at = ['-b', (listeners[0] as string).replace(/^.*\/\//, '')]
		expect((await run(bin, ['topic', 'create', 'packed', '-p', '2', ...at])).code).toBe(0)
		expect((await run(bin, ['topic', 'list', '-o', 'name', ...at])).stdout).toBe('packed\n')
		child.kill('SIGTERM')
		expect(await ended).toBe(143)
	})

	it('shows help and version', async () => {
		expect((await run(bin, ['--version'])).stdout).toMatch(/^kcli\/\d/)
		expect((await run(bin, ['topic', 'list', '--help'])).stdout).toContain('EXAMPLES')
	})

	it('gives kcli/testing to tests of others, typed', async () => {
		const source = `import { startCluster, type TestCluster } from 'kcli/testing'

const cluster: TestCluster = await startCluster({ topics: ['a', { name: 'b', partitions: 2 }] })
const servers: string = cluster.bootstrapServers
globalThis.console.log(servers)
await cluster.stop()
`
		mkdirSync(join(folder, 'use'), { recursive: true })
		writeFileSync(join(folder, 'use', 'use.ts'), source)
		writeFileSync(join(folder, 'use', 'globals.d.ts'), 'declare var console: { log(text: string): void }\n')
		const options = { module: 'nodenext', target: 'es2022', lib: ['es2023'], strict: true, types: [] }
		writeFileSync(join(folder, 'use', 'tsconfig.json'), JSON.stringify({ compilerOptions: options }))
		const compiled = await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', join(folder, 'use')])
		expect(compiled.stdout).toBe('')
		expect(compiled.code).toBe(0)
		const used = await run(process.execPath, [join(folder, 'use', 'use.js')])
		expect(used.stdout).toMatch(/^127\.0\.0\.1:\d+\n$/)
		expect(used.code).toBe(0)
		const wrong = source.replace("name: 'b'", 'name: 5')
		writeFileSync(join(folder, 'use', 'use.ts'), wrong)
		expect((await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', join(folder, 'use')])).code).not.toBe(0)
	})

	it('says in package.json what it is', () => {
		const own = JSON.parse(readFileSync(join(folder, 'node_modules', 'kcli', 'package.json'), 'utf8'))
		expect(own).toMatchObject({ bin: { kcli: './bin/run.js' }, license: 'Apache-2.0', engines: { node: '>=20.12' } })
	})
})
