/** What keeps a broker or a ZooKeeper from starting, in one line, and what it leaves behind: nothing. */

import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Cleanup, kcli, startBrokerProcess } from '../helpers/processes.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

async function takenPort(): Promise<number> {
	const server = createServer().listen(0, '127.0.0.1')
	await new Promise((resolve) => server.once('listening', resolve))
	cleanup.add(() => server.close())
	return (server.address() as { port: number }).port
}

describe('zk start', () => {
	it('names a port that is taken, and makes no folder', async () => {
		const folder = cleanup.folder()
		const port = await takenPort()
		const taken = await kcli(['zk', 'start', '--listen', `127.0.0.1:${port}`, '--data-dir', `${folder}/a/zk`])
		expect(taken).toMatchObject({ code: 1, stdout: '' })
		expect(taken.stderr).toBe(
			`kcli: 127.0.0.1:${port} is in use by another process\n  Give another port with --listen (0: any).\n`,
		)
		expect(readdirSync(folder)).toEqual([])
	})

	it('names a folder that another ZooKeeper uses', async () => {
		const folder = cleanup.folder()
		const broker = await startBrokerProcess(`${folder}/data`)
		cleanup.add(() => broker.kill())
		const used = await kcli(['zk', 'start', '--listen', '127.0.0.1:0', '--data-dir', `${folder}/zookeeper`])
		expect(used).toMatchObject({ code: 1, stdout: '' })
		expect(used.stderr).toMatch(/zookeeper is in use by another ZooKeeper\n {2}Stop that ZooKeeper first/)
	})

	it('names a folder that cannot be, at once', async () => {
		const folder = cleanup.folder()
		writeFileSync(`${folder}/file`, '')
		const start = (dataDir: string) => kcli(['zk', 'start', '--listen', '127.0.0.1:0', '--data-dir', dataDir])
		expect((await start(`${folder}/file`)).stderr).toContain('file is a file, not a data folder')
		expect((await start(`${folder}/file/x`)).stderr).toMatch(/cannot make the folder .*: ENOTDIR\n.*file is a file/)
		if (process.platform !== 'linux') return
		const began = performance.now()
		expect((await start('/proc/kcli-zk')).stderr).toMatch(
			/cannot make the folder \/proc\/kcli-zk: E\w+\n {2}\/proc must be/,
		)
		expect(performance.now() - began).toBeLessThan(5000)
	})

	it('names an address that is not of this machine', async () => {
		const folder = cleanup.folder()
		const away = await kcli(['zk', 'start', '--listen', '192.0.2.1:1', '--data-dir', `${folder}/zk`])
		expect(away).toMatchObject({ code: 1, stdout: '' })
		expect(away.stderr).toMatch(/cannot listen on 192\.0\.2\.1:1: the address is not of this machine/)
		expect(existsSync(`${folder}/zk`)).toBe(false)
	})
})

describe('broker start', () => {
	it('leaves no folder that it made when ZooKeeper cannot start', async () => {
		const folder = cleanup.folder()
		const port = await takenPort()
		const listen = ['--listen', 'PLAINTEXT://127.0.0.1:0']
		const args = ['broker', 'start', ...listen, '--zookeeper-port', String(port), '--data-dir', `${folder}/x/data`]
		const failed = await kcli(args)
		expect(failed).toMatchObject({ code: 1, stdout: '' })
		expect(failed.stderr).toContain(`ZooKeeper's port ${port} is in use`)
		expect(readdirSync(folder)).toEqual([])
	})

	it('takes units in -c, and warns of unknown settings in a file with what may be meant', async () => {
		const folder = cleanup.folder()
		writeFileSync(`${folder}/server.properties`, 'log.retention.hour=1\nsome.plugin.key=x\n')
		const config = ['--config', `${folder}/server.properties`, '-c', 'log.retention.ms=2d', '--log-level', 'warn']
		const broker = await startBrokerProcess(`${folder}/data`, config)
		cleanup.add(() => broker.kill())
		expect(broker.logText()).toMatch(/unknown settings ignored.*did you mean log\.retention\.hours/)
		const shown = await kcli(['config', 'describe', 'broker/1', '--key', 'log.retention.ms', '-o', 'tsv'], {
			env: { KCLI_BOOTSTRAP_SERVERS: broker.bootstrap, KCLI_OUTPUT: '' },
		})
		expect(shown.stdout).toContain('172800000')
	})
})
