/** `-w`: a state that is shown again and again, also over a broker that goes and comes back. */

import { spawn } from 'node:child_process'
import { afterAll, describe, expect, it } from 'vitest'
import { type BrokerProcess, CLI, Cleanup, kcli, startBrokerProcess } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

/** A command that goes on; `lines` is what stdout has so far. */
function started(args: readonly string[]) {
	const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
	cleanup.add(() => child.kill('SIGKILL'))
	let [stdout, stderr] = ['', '']
	child.stdout.on('data', (chunk: Buffer) => {
		stdout += chunk.toString('utf8')
	})
	child.stderr.on('data', (chunk: Buffer) => {
		stderr += chunk.toString('utf8')
	})
	return {
		text: () => stdout,
		errors: () => stderr,
		lines: () => stdout.split('\n').slice(0, -1),
		interrupted: async (): Promise<number | null> => {
			const code = new Promise<number | null>((resolve) => child.once('close', resolve))
			child.kill('SIGINT')
			return await code
		},
	}
}

describe('--watch', () => {
	it('is a JSON document a line, sees what changes, tells of a broker that is away, and ends with Ctrl-C', async () => {
		const dataDir = `${cleanup.folder()}/data`
		let broker: BrokerProcess = await startBrokerProcess(dataDir)
		cleanup.add(() => broker.kill())
		const { bootstrap } = broker
		const list = started(['topic', 'list', '-w', '--interval', '50ms', '--json', '-b', bootstrap, '--timeout', '1s'])
		const documents = () => list.lines().map((line) => JSON.parse(line))
		const latest = () => documents().at(-1)
		await until('two showings', () => list.lines().length >= 2)
		expect(latest()).toMatchObject({ kind: 'TopicList', items: [], errors: [] })
		await kcli(['topic', 'create', 'orders', '-b', bootstrap])
		await until('the topic', () => latest().items.length === 1)
		await broker.kill()
		await until('news of the end', () => latest().errors.length === 1, 30_000)
		expect(latest()).toMatchObject({ kind: 'TopicList', items: [] })
		await until('a word for people', () => /; it is asked again\n/.test(list.errors()))
		broker = await startBrokerProcess(dataDir, ['--listen', `PLAINTEXT://${bootstrap}`])
		await until('the topic again', () => latest().items[0]?.name === 'orders', 30_000)
		expect(await list.interrupted()).toBe(130)
		await broker.kill()
	}, 120_000)

	it('parts tables by empty lines, names a header of CSV once, and refuses what makes no sense', async () => {
		const broker = await startBrokerProcess(`${cleanup.folder()}/data`)
		cleanup.add(() => broker.kill())
		const on = ['-b', broker.bootstrap]
		await kcli(['topic', 'create', 'orders', ...on])
		const table = started(['topic', 'list', '-w', '--interval', '20ms', ...on])
		await until('three tables', () => table.text().split('\n\n').length >= 4)
		const tables = table.text().split('\n\n')
		expect(tables[1]).toMatch(/^NAME .*\norders .*$/)
		expect(tables[1]).toBe(tables[2])
		await table.interrupted()
		const csv = started(['topic', 'list', '-w', '--interval', '20ms', '-o', 'csv', ...on])
		await until('rows', () => csv.lines().length >= 4)
		expect(csv.lines().slice(1, 4)).toEqual(Array.from({ length: 3 }, () => csv.lines()[1]))
		expect(csv.lines()[0]).toMatch(/^name,/)
		await csv.interrupted()
		const alone = await kcli(['topic', 'list', '--interval', '5s', ...on])
		expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('--watch')])
		const zero = await kcli(['group', 'list', '-w', '--interval', '0s', ...on])
		expect([zero.code, zero.stderr]).toEqual([2, expect.stringContaining('--interval wants')])
		await broker.kill()
		const away = await kcli(['cluster', 'info', '-w', ...on, '--timeout', '500ms'])
		expect(away.code).toBe(1)
	}, 60_000)
})
