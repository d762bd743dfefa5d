/** `npm start`, from its script on: what it prints, where the data goes, and that one signal ends all of it. */

import { spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { Cleanup, kcli, ROOT } from '../helpers/processes.js'
import { RawSocket } from '../helpers/raw-socket.js'
import { until } from '../helpers/until.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

function isRefused(port: number): Promise<boolean> {
	return RawSocket.open(port).then(
		(socket) => {
			socket.destroy()
			return false
		},
		() => true,
	)
}

it('says by which signal its broker was ended, when nobody asked for a stop', async () => {
	const folder = `${cleanup.folder()}/d`
	const flags = ['--listen', 'PLAINTEXT://127.0.0.1:0', '--zookeeper-port', '0', '--data-dir', folder]
	const child = spawn(process.execPath, ['scripts/start.mjs', ...flags], { cwd: ROOT })
	cleanup.add(() => child.kill('SIGKILL'))
	let told = ''
	let warned = ''
	child.stdout.on('data', (chunk: Buffer) => {
		told += chunk.toString()
	})
	child.stderr.on('data', (chunk: Buffer) => {
		warned += chunk.toString()
	})
	await until('it welcomes', () => told.includes('Ctrl-C stops it'), 30_000)
	const broker = Number(spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' }).stdout.trim())
	const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
	process.kill(broker, 'SIGKILL')
	expect(await ended).toBe(1)
	expect(warned).toContain('npm start: the broker was ended by SIGKILL')
}, 60_000)

for (const [signal, wanted] of [
	['SIGINT', 0],
	['SIGTERM', 0],
	['SIGKILL', null],
] as const) {
	it(`serves, says what runs where, and leaves nothing behind after ${signal}`, async () => {
		const folder = `${cleanup.folder()}/d`
		const flags = ['--listen', 'PLAINTEXT://127.0.0.1:0', '--zookeeper-port', '0', '--data-dir', folder]
		const child = spawn(process.execPath, ['scripts/start.mjs', ...flags], { cwd: ROOT })
		cleanup.add(() => child.kill('SIGKILL'))
		let told = ''
		child.stdout.on('data', (chunk: Buffer) => {
			told += chunk.toString()
		})
		await until('it welcomes', () => told.includes('Ctrl-C stops it'), 30_000)
		expect(told).toContain(`data       ${folder}\n`)
		const address = /broker {5}(\S+)/.exec(told)?.[1] as string
		expect(told).toContain(`npx kcli produce hello -b ${address}`)
		expect((await kcli(['topic', 'list', '-b', address, '-o', 'name'])).stdout).toContain('hello\n')
		const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
		child.kill(signal)
		expect(await ended).toBe(wanted)
		await until('the broker has stopped clean', () => readdirSync(folder).includes('.kafka_cleanshutdown'), 15_000)
		const zookeeper = /zookeeper {2}\S+:(\d+)/.exec(told)?.[1]
		await until('and its ZooKeeper after it', () => isRefused(Number(zookeeper)), 15_000)
	}, 60_000)
}
