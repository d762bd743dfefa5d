/** `kcli log verify` as a process: on what a broker of ours wrote, on Kafka's folders, and on damaged copies of both. */

import { cpSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cleanup, kcli, ROOT, startBrokerProcess } from '../helpers/processes.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

const FIXTURES = join(ROOT, 'test', 'fixtures', 'logs')
const FIRST = '00000000000000000000'
let data = ''

beforeAll(async () => {
	data = `${cleanup.folder()}/data`
	const broker = await startBrokerProcess(data, ['--log-level', 'warn'])
	cleanup.add(() => broker.kill())
	const bootstrap = ['-b', broker.bootstrap]
	await kcli(['topic', 'create', 'checked', '-p', '3', '-c', 'segment.bytes=200KiB', ...bootstrap])
	const input = Array.from({ length: 1500 }, (_, line) => `record ${line} ${'x'.repeat(60)}\n`).join('')
	// Without a key, chance would choose, and now and then leave one partition empty.
	const codecs = ['none', 'gzip', 'zstd', 'none', 'lz4', 'none', 'snappy', 'none', 'none']
	for (const [i, codec] of codecs.entries()) {
		const done = await kcli(['produce', 'checked', '-z', codec, '-p', String(i % 3), ...bootstrap], { input })
		expect(done.code).toBe(0)
	}
	await kcli(['consume', 'checked', '-g', 'read', '-e', '-c', '5', ...bootstrap])
	await broker.stop()
})

/** A copy of the data folder that may be damaged. */
function copy(): string {
	const folder = join(cleanup.folder(), 'data')
	cpSync(data, folder, { recursive: true })
	return folder
}

describe('log verify', () => {
	it('finds nothing wrong in a folder that a broker stopped in, and counts what it read', async () => {
		const { code, stdout, stderr } = await kcli(['log', 'verify', data, '--json'])
		expect(stderr).toBe('')
		const { kind, items, errors } = JSON.parse(stdout)
		expect([code, kind, errors]).toEqual([0, 'LogVerify', []])
		const mine = items.filter(({ partition }: { partition: string }) => partition.startsWith('checked-'))
		expect(mine.length).toBe(3)
		expect(mine.reduce((sum: number, { records }: { records: number }) => sum + records, 0)).toBe(13_500)
		expect(
			mine.every(({ segments, faults }: { segments: number; faults: number }) => segments > 0 && faults === 0),
		).toBe(true)
		const shallow = await kcli([
			'log',
			'verify',
			'checked:1',
			'--data-dir',
			data,
			'--shallow',
			'--jobs',
			'1',
			'-o',
			'tsv',
		])
		expect(shallow.stdout).toMatch(/^checked-1\t0\t\d+\t/)
	})

	it('tells every fault by file, byte and offset, of each kind, and ends with 3', async () => {
		const folder = copy()
		const log = join(folder, 'checked-0', `${FIRST}.log`)
		const bytes = readFileSync(log)
		bytes[200] = (bytes[200] as number) ^ 0xff
		writeFileSync(log, bytes)
		rmSync(join(folder, 'checked-1', `${FIRST}.timeindex`))
		const cut = join(folder, 'checked-2', `${FIRST}.log`)
		truncateSync(cut, statSync(cut).size - 10)
		writeFileSync(join(folder, 'checked-2', 'leader-epoch-checkpoint'), 'nonsense\n')
		const { code, stdout } = await kcli(['log', 'verify', folder, '--json'])
		expect(code).toBe(3)
		const { errors } = JSON.parse(stdout) as { errors: { item: string; name: string; message: string }[] }
		const told = errors.map(({ item, message }) => `${item.slice(folder.length + 1)}: ${message}`)
		expect(told).toContainEqual(
			expect.stringMatching(/^checked-0\/0+\.log at byte 0 \(offset 0\): crc: CRC does not match$/),
		)
		expect(told).toContainEqual(expect.stringMatching(/^checked-1\/0+\.timeindex \(offset 0\): missing: /))
		expect(told).toContainEqual(
			expect.stringMatching(/^checked-2\/0+\.log at byte \d+ \(offset \d+\): batch: batch is cut/),
		)
		expect(told).toContainEqual(expect.stringMatching(/^checked-2\/leader-epoch-checkpoint at byte 0: epochs: /))
		expect(errors.every(({ name }) => name === 'KCLI_LOG_DAMAGE')).toBe(true)
		const table = await kcli(['log', 'verify', folder])
		expect(table.code).toBe(3)
		expect(table.stderr).toContain('CRC does not match')
	})

	it('takes folders of Apache Kafka: whole ones are right, a killed one is torn where it is torn', async () => {
		for (const set of ['clean', 'recovered', 'follower']) {
			expect(await kcli(['log', 'verify', join(FIXTURES, set), '-q', '--json'])).toMatchObject({ code: 0 })
		}
		const { code, stderr } = await kcli(['log', 'verify', join(FIXTURES, 'killed'), '-q'])
		expect(code).toBe(3)
		expect(stderr).toMatch(/epochs-0\/0+\.log at byte 654 \(offset 18\): batch: batch is cut: 89 bytes/)
		expect(stderr).toMatch(/idempotent-0\/0+\.log at byte 575 \(offset 15\): batch: batch is cut: 40 bytes/)
	})

	it('says what is not there', async () => {
		expect(await kcli(['log', 'verify', '/no/such/folder'])).toMatchObject({ code: 1, stdout: '' })
		expect(await kcli(['log', 'verify'])).toMatchObject({ code: 2, stdout: '' })
		expect(await kcli(['log', 'verify', data, '--jobs', '0'])).toMatchObject({ code: 2, stdout: '' })
	})
})
