/** The embedded ZooKeeper as a real child process: start, address, end with its parent, durability over kill -9. */

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from '../../src/cli/embedded-zookeeper.js'
import { compileEntry } from '../helpers/compile-entry.js'
import { until } from '../helpers/until.js'
import { openSession, temporaryFolder } from '../zk/fixture.js'

let entry = ''
let remove = (): void => undefined

beforeAll(() => {
	const compiled = compileEntry('zk/server/main.ts')
	entry = compiled.file
	remove = compiled.remove
})
afterAll(() => remove())

async function start(dataDir = temporaryFolder()): Promise<EmbeddedZooKeeper> {
	const child = await startEmbeddedZooKeeper({ host: '127.0.0.1', port: 0, dataDir, entry })
	onTestFinished(() => child.stop())
	return child
}

/** Not alive, or dead and not collected by whoever inherited it (as in a container without an init). */
function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0)
	} catch {
		return false
	}
	try {
		return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
	} catch {
		return true
	}
}

describe('the embedded ZooKeeper', () => {
	test('serves, and stops with exit code 0', async () => {
		const child = await start()
		const zk = await openSession(child.address)
		await zk.create('/a', null)
		await zk.close()
		const exits: (number | null)[] = []
		child.onExit(({ code }) => exits.push(code))
		await child.stop()
		await child.stop()
		expect(exits).toEqual([0])
		expect(isAlive(child.pid)).toBe(false)
	})

	test('is there again after a stop, with the data', async () => {
		const dataDir = temporaryFolder()
		const first = await start(dataDir)
		const zk = await openSession(first.address)
		await zk.create('/a', Buffer.from('kept'))
		await first.stop()
		const second = await start(dataDir)
		const again = await openSession(second.address)
		expect((await again.get('/a'))?.data?.toString()).toBe('kept')
		await zk.close(0)
	})

	test('killed at any moment, it has every write that was acknowledged', async () => {
		const dataDir = temporaryFolder()
		const acknowledged = new Set<string>()
		for (let round = 0; round < 4; round++) {
			const child = await start(dataDir)
			const zk = await openSession(child.address, { sessionTimeoutMs: 4000 })
			for (const path of acknowledged) expect(await zk.exists(path), path).not.toBeNull()
			const writes = Array.from({ length: 400 }, (_, i) => `/r${round}-${i}`).map((path) =>
				zk.create(path, Buffer.alloc(100)).then(
					() => acknowledged.add(path),
					() => undefined,
				),
			)
			await until('some writes', () => acknowledged.size > round * 100 + 50)
			process.kill(child.pid, 'SIGKILL')
			await zk.close(0)
			await Promise.all(writes)
			await child.stop()
		}
		expect(acknowledged.size).toBeGreaterThan(200)
	})

	test('a second one on the same data directory is refused in one line', async () => {
		const dataDir = temporaryFolder()
		await start(dataDir)
		await expect(start(dataDir)).rejects.toThrow(/is in use by another ZooKeeper$/)
	})

	test('a port that is taken is named', async () => {
		const first = await start()
		const port = Number(first.address.split(':')[1])
		const second = startEmbeddedZooKeeper({ host: '127.0.0.1', port, dataDir: temporaryFolder(), entry })
		await expect(second).rejects.toThrow(/EADDRINUSE/)
	})

	test('ends by itself when its parent is killed', async () => {
		const dataDir = temporaryFolder()
		// A parent that starts the child with a pipe as its stdin, tells its pid, and then hangs.
		const script = `
			const { spawn } = require('node:child_process')
			const child = spawn(process.execPath, [${JSON.stringify(entry)}, '--attached', '--listen', '127.0.0.1:0',
				'--data-dir', ${JSON.stringify(dataDir)}], { stdio: ['pipe', 'pipe', 'inherit'] })
			child.stdout.on('data', () => console.log(child.pid))
			setInterval(() => {}, 1000)`
		const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
		let output = ''
		parent.stdout.on('data', (chunk) => {
			output += chunk
		})
		const pid = Number(await until('the pid', () => /^\d+\n/.exec(output)?.[0]))
		expect(isAlive(pid)).toBe(true)
		parent.kill('SIGKILL')
		await until('the child to end', () => !isAlive(pid), 1000)
		await start(dataDir)
	})

	test('is small', async () => {
		const child = await start()
		const status = (() => {
			try {
				return readFileSync(`/proc/${child.pid}/status`, 'utf8')
			} catch {
				return ''
			}
		})()
		const resident = /VmRSS:\s+(\d+) kB/.exec(status)
		if (resident !== null) expect(Number(resident[1])).toBeLessThan(80_000)
	})
})
