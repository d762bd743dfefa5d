/** `kcli log repair` as a process: on what a broker of ours wrote and on folders of a killed Apache Kafka. */

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrokerProcess, Cleanup, kcli, ROOT, startBrokerProcess } from '../helpers/processes.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

const FIRST = '00000000000000000000'
let data = ''
let broker: BrokerProcess

beforeAll(async () => {
	data = `${cleanup.folder()}/data`
	broker = await startBrokerProcess(data, ['--log-level', 'warn'])
	cleanup.add(() => broker.kill())
	const at = ['-b', broker.bootstrap]
	await kcli(['topic', 'create', 'mended', '-p', '3', ...at])
	const input = Array.from({ length: 3000 }, (_, line) => `record ${line} ${'x'.repeat(60)}\n`).join('')
	for (const partition of ['0', '1', '2', '0', '1', '2', '0']) {
		expect((await kcli(['produce', 'mended', '-p', partition, ...at], { input })).code).toBe(0)
	}
})

interface Item {
	partition: string | null
	file: string
	problem: string
	lostFirst: number | null
	lostLast: number | null
	status: string
}

describe('log repair', () => {
	it('is refused while a broker runs on the folder, and leaves everything as it is', async () => {
		const before = readdirSync(data).sort()
		for (const more of [['--yes'], ['--dry-run']]) {
			const { code, stdout, stderr } = await kcli(['log', 'repair', data, ...more])
			expect([code, stdout]).toEqual([2, ''])
			expect(stderr).toContain('in use by another kcli broker')
		}
		expect(readdirSync(data).sort()).toEqual(before)
		expect(readdirSync(dirname(data)).sort()).toEqual(['data', 'zookeeper'])
		await broker.stop()
	})

	it('finds nothing to do in a folder that is right', async () => {
		const { code, stdout, stderr } = await kcli(['log', 'repair', data, '--yes', '--json'])
		expect([code, stderr]).toEqual([0, ''])
		expect(JSON.parse(stdout)).toMatchObject({ kind: 'LogRepair', items: [], errors: [], dryRun: false })
		expect(readdirSync(dirname(data)).sort()).toEqual(['data', 'zookeeper'])
	})

	it('mends what is damaged, names what is lost, keeps what it changes, and a broker serves the rest', async () => {
		const log = join(data, 'mended-0', `${FIRST}.log`)
		const bytes = readFileSync(log)
		const damaged = Buffer.from(bytes)
		const second = 12 + bytes.readInt32BE(8)
		damaged[second + 100] = (damaged[second + 100] as number) ^ 0xff
		writeFileSync(log, damaged)
		const first = Number(bytes.readBigInt64BE(second))
		const last = first + bytes.readInt32BE(second + 23)
		rmSync(join(data, 'mended-1', `${FIRST}.timeindex`))
		writeFileSync(join(data, 'mended-1', 'leader-epoch-checkpoint'), 'nonsense\n')
		const cut = join(data, 'mended-2', `${FIRST}.log`)
		truncateSync(cut, statSync(cut).size - 10)
		const refused = await kcli(['log', 'repair', data])
		expect([refused.code, refused.stdout]).toEqual([2, ''])
		const dry = await kcli(['log', 'repair', data, '--dry-run', '--json'])
		expect(dry.code).toBe(0)
		const plan = JSON.parse(dry.stdout) as { items: Item[]; dryRun: boolean }
		expect(plan.dryRun).toBe(true)
		expect(plan.items.every(({ status }) => status === 'would-repair')).toBe(true)
		expect(readFileSync(log).equals(damaged)).toBe(true)
		expect(readdirSync(dirname(data)).sort()).toEqual(['data', 'zookeeper'])

		const backup = join(cleanup.folder(), 'kept')
		const done = await kcli(['log', 'repair', data, '--yes', '--backup', backup, '--json'])
		expect(done.code).toBe(0)
		expect(done.stderr).toContain(`is kept in ${backup} first`)
		expect(done.stderr).toContain(`mended-0: lost offsets ${first} to ${last}`)
		const { items, errors } = JSON.parse(done.stdout) as { items: Item[]; errors: unknown[] }
		expect(errors).toEqual([])
		expect(items).toContainEqual(
			expect.objectContaining({ partition: 'mended-0', lostFirst: first, lostLast: last, status: 'repaired' }),
		)
		expect(
			items.some(
				({ partition, lostFirst, lostLast }) => partition === 'mended-2' && lostFirst !== null && lostLast === null,
			),
		).toBe(true)
		expect(readFileSync(join(backup, 'mended-0', `${FIRST}.log`)).equals(damaged)).toBe(true)
		expect(readFileSync(join(backup, 'mended-1', 'leader-epoch-checkpoint')).toString()).toBe('nonsense\n')
		expect(existsSync(join(backup, 'mended-1', `${FIRST}.log`))).toBe(false)
		expect(await kcli(['log', 'verify', data])).toMatchObject({ code: 0 })
		const again = await startBrokerProcess(data, ['--log-level', 'warn'])
		cleanup.add(() => again.kill())
		const read = await kcli(['consume', 'mended', '-p', '0', '-e', '-f', '%o\n', '-q', '-b', again.bootstrap])
		const offsets = read.stdout.trimEnd().split('\n').map(Number)
		expect(offsets).toEqual(Array.from({ length: 9000 }, (_, i) => i).filter((i) => i < first || i > last))
		expect(again.logText()).not.toMatch(/cut|lost|damaged/)
		await again.stop()
	})

	it('cuts the torn ends of a killed Apache Kafka', async () => {
		const folder = join(cleanup.folder(), 'killed')
		cpSync(join(ROOT, 'test', 'fixtures', 'logs', 'killed'), folder, { recursive: true })
		expect((await kcli(['log', 'verify', folder, '-q'])).code).toBe(3)
		const { code, stdout } = await kcli(['log', 'repair', folder, '--yes', '-q', '-o', 'tsv'])
		expect(code).toBe(0)
		expect(stdout).toMatch(/^epochs-0\t0+\.log\t654\t/m)
		expect(stdout).toMatch(/^idempotent-0\t0+\.log\t575\t/m)
		expect((await kcli(['log', 'verify', folder, '-q'])).code).toBe(0)
		expect(readdirSync(dirname(folder)).some((name) => name.startsWith('killed-backup-'))).toBe(true)
	})
})
