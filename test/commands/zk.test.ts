import { spawn } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { CLI, Cleanup, kcli } from '../helpers/processes.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

describe('zk start', () => {
	it('says where it serves and ends with 130 on Ctrl-C', async () => {
		const child = spawn(
			process.execPath,
			[CLI, 'zk', 'start', '--listen', '127.0.0.1:0', '--data-dir', `${cleanup.folder()}/zk`],
			{ stdio: ['ignore', 'pipe', 'pipe'] },
		)
		cleanup.add(() => child.kill('SIGKILL'))
		const line = await new Promise<string>((resolve) =>
			child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8'))),
		)
		expect(line).toMatch(/^zookeeper 127\.0\.0\.1:[1-9]\d*\n$/)
		const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
		child.kill('SIGINT')
		expect(await ended).toBe(130)
	})

	it('refuses wrong usage with 2', async () => {
		expect(await kcli(['zk', 'start'])).toMatchObject({ code: 2, stdout: '' })
		const folder = `${cleanup.folder()}/zk`
		expect(await kcli(['zk', 'start', '--listen', 'x', '--data-dir', folder])).toMatchObject({ code: 2, stdout: '' })
	})
})
