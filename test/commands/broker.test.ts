/** `broker start` as scripts rely on it: its line, its codes, its one line of complaint. */

import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { CLI, Cleanup, kcli, startBrokerProcess } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

const ANY_PORTS = ['--listen', 'PLAINTEXT://127.0.0.1:0', '--zookeeper-port', '0', '--log-level', 'warn']

describe('broker start', () => {
	it('prints its ready line with resolved ports, also to a descriptor, and ends with 143 on SIGTERM', async () => {
		const child = spawn(
			process.execPath,
			[CLI, 'broker', 'start', '--id', '7', '--data-dir', `${cleanup.folder()}/d`, '--ready-fd', '3', ...ANY_PORTS],
			{ stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
		)
		cleanup.add(() => child.kill('SIGKILL'))
		const line = await new Promise<string>((resolve) => {
			let text = ''
			child.stdio[3]?.on('data', (chunk: Buffer) => {
				text += chunk
				if (text.includes('\n')) resolve(text)
			})
		})
		expect(line).toMatch(
			/^ready id=7 listeners=PLAINTEXT:\/\/127\.0\.0\.1:[1-9]\d* zookeeper=127\.0\.0\.1:[1-9]\d* cluster=\S{22}\n$/,
		)
		const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
		child.kill('SIGTERM')
		expect(await ended).toBe(143)
	})

	it('refuses a folder that another broker uses, in one line', async () => {
		const dataDir = `${cleanup.folder()}/d`
		const broker = await startBrokerProcess(dataDir)
		cleanup.add(() => broker.kill())
		const second = await kcli(['broker', 'start', '--data-dir', dataDir, ...ANY_PORTS])
		expect(second).toMatchObject({ code: 1, stdout: '' })
		expect(second.stderr.split('\n')[0]).toBe(`kcli: ${dataDir} is in use by another kcli broker (pid ${broker.pid})`)
	})

	it('refuses a second broker beside the first that names no ZooKeeper, and says how to join', async () => {
		const folder = cleanup.folder()
		const broker = await startBrokerProcess(`${folder}/one`)
		cleanup.add(() => broker.kill())
		const second = await kcli(['broker', 'start', '--id', '2', '--data-dir', `${folder}/two`, ...ANY_PORTS])
		expect(second).toMatchObject({ code: 1, stdout: '' })
		expect(second.stderr).toContain(`${folder}/zookeeper is in use by another ZooKeeper`)
		expect(second.stderr).toContain('give its --zookeeper')
	})

	it('names a port that is taken, in one line', async () => {
		const server = createServer().listen(0, '127.0.0.1')
		await new Promise((resolve) => server.once('listening', resolve))
		cleanup.add(() => server.close())
		const { port } = server.address() as { port: number }
		const args = [
			'broker',
			'start',
			'--data-dir',
			`${cleanup.folder()}/d`,
			'--zookeeper-port',
			'0',
			'--log-level',
			'error',
		]
		const taken = await kcli([...args, '--listen', `PLAINTEXT://127.0.0.1:${port}`])
		expect(taken).toMatchObject({ code: 1, stdout: '' })
		expect(taken.stderr).toContain(String(port))
	})

	it('stops at once while it still waits for a ZooKeeper that does not answer', async () => {
		const server = createServer(() => undefined).listen(0, '127.0.0.1')
		await new Promise((resolve) => server.once('listening', resolve))
		cleanup.add(() => server.close())
		const { port } = server.address() as { port: number }
		const flags = ['--zookeeper', `127.0.0.1:${port}`, '--data-dir', `${cleanup.folder()}/d`]
		const child = spawn(process.execPath, [CLI, 'broker', 'start', ...flags, '--listen', 'PLAINTEXT://127.0.0.1:0'])
		cleanup.add(() => child.kill('SIGKILL'))
		let told = ''
		child.stderr.on('data', (chunk: Buffer) => {
			told += chunk.toString()
		})
		await until('it says what it waits for', () => told.includes('ZooKeeper does not answer yet'))
		const began = performance.now()
		const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
		child.kill('SIGTERM')
		expect(await ended).toBe(143)
		expect(performance.now() - began).toBeLessThan(5000)
	})

	it('warns when a new data folder meets a ZooKeeper that knows topics', async () => {
		const folder = cleanup.folder()
		const first = await startBrokerProcess(`${folder}/one`)
		await first.stop()
		const second = await startBrokerProcess(`${folder}/two`, ['--log-level', 'warn'])
		cleanup.add(() => second.kill())
		expect(second.logText()).toContain('topics it knows are empty here')
	})

	it('refuses wrong usage with 2', async () => {
		expect(await kcli(['broker', 'start', '--id', 'x'])).toMatchObject({ code: 2, stdout: '' })
		expect(await kcli(['broker', 'start', '--data-dir', CLI])).toMatchObject({ code: 2, stdout: '' })
		expect(await kcli(['broker', 'start', '-c', 'nothing'])).toMatchObject({ code: 2, stdout: '' })
		expect(await kcli(['broker', 'start', '--config', '/no/such/file'])).toMatchObject({ code: 2, stdout: '' })
	})
})
