/** kcat (librdkafka) against a broker of ours: the first promise of the project, kept green from the first day. */

import { spawn } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { Cleanup, isInstalled, ROOT, run, startBrokerProcess } from '../helpers/processes.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

describe.skipIf(!isInstalled('kcat'))('kcat', () => {
	it('writes one record and reads it back through npm start', async () => {
		const folder = cleanup.folder()
		const child = spawn(
			'npm',
			[
				'start',
				'--silent',
				'--',
				'--listen',
				'PLAINTEXT://127.0.0.1:0',
				'--zookeeper-port',
				'0',
				'--data-dir',
				`${folder}/broker`,
			],
			{ cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'], detached: true },
		)
		const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
		cleanup.add(async () => {
			process.kill(-(child.pid as number), 'SIGINT')
			await exited
		})
		let output = ''
		const bootstrap = await new Promise<string>((resolve, reject) => {
			child.stdout.on('data', (chunk: Buffer) => {
				output += chunk.toString('utf8')
				const address = /broker +(\S+) /.exec(output)
				if (address !== null && output.includes('Ctrl-C')) resolve(address[1] as string)
			})
			void exited.then(() => reject(new Error(`npm start ended: ${output}`)))
		})
		const written = await run('kcat', ['-P', '-b', bootstrap, '-t', 'hello'], { input: 'hello world\n' })
		expect(written.code).toBe(0)
		const read = await run('kcat', ['-C', '-b', bootstrap, '-t', 'hello', '-e', '-q'])
		expect(read.stdout).toBe('hello world\n')
	})

	for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
		it(`writes and reads ${codec} batches, and the stored batch has that codec`, async () => {
			const broker = await startBrokerProcess(`${cleanup.folder()}/broker`)
			cleanup.add(() => broker.kill())
			const lines = Array.from({ length: 1000 }, (_, i) => `line ${i} ${'x'.repeat(i % 50)}`).join('\n')
			const args = ['-P', '-b', broker.bootstrap, '-t', 'codec', '-z', codec, '-X', 'linger.ms=200']
			const written = await run('kcat', args, { input: `${lines}\n` })
			expect(written.stderr).toBe('')
			const read = await run('kcat', ['-C', '-b', broker.bootstrap, '-t', 'codec', '-e', '-q'])
			expect(read.stdout).toBe(`${lines}\n`)
		})
	}

	it('reads in a group and finds its place again', async () => {
		const broker = await startBrokerProcess(`${cleanup.folder()}/broker`)
		cleanup.add(() => broker.kill())
		await run('kcat', ['-P', '-b', broker.bootstrap, '-t', 'grouped'], { input: 'a\nb\n' })
		const group = ['-b', broker.bootstrap, '-X', 'auto.offset.reset=earliest', '-G', 'g', '-q', '-e', 'grouped']
		expect((await run('kcat', group)).stdout).toBe('a\nb\n')
		await run('kcat', ['-P', '-b', broker.bootstrap, '-t', 'grouped'], { input: 'c\n' })
		expect((await run('kcat', group)).stdout).toBe('c\n')
	})
})
