/** The log commands as processes: on the files of a broker of ours, and on broken copies of them. */

import { copyFileSync, cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cleanup, kcli, ROOT, startBrokerProcess } from '../helpers/processes.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

let data = ''
const FIRST = '00000000000000000000'

beforeAll(async () => {
	data = `${cleanup.folder()}/data`
	const broker = await startBrokerProcess(data, ['--log-level', 'warn'])
	cleanup.add(() => broker.kill())
	const bootstrap = ['-b', broker.bootstrap]
	await kcli(['topic', 'create', 'logged', '-c', 'segment.bytes=1MiB', '-c', 'index.interval.bytes=4096', ...bootstrap])
	for (let i = 0; i < 3; i++) {
		const input = Array.from({ length: 8000 }, (_, line) => `record ${i} ${line} ${'x'.repeat(60)}\n`).join('')
		await kcli(['produce', 'logged', ...bootstrap], { input })
	}
	await kcli(['consume', 'logged', '-g', 'dumped', '-e', '-c', '5', ...bootstrap])
	await broker.stop()
})

/** A copy of the partition that may be broken. */
function copy(): string {
	const folder = join(cleanup.folder(), 'logged-0')
	cpSync(join(data, 'logged-0'), folder, { recursive: true })
	return folder
}

describe('log segments', () => {
	it('lists segments without gaps, and finds nothing wrong with what a broker wrote', async () => {
		const { code, stdout } = await kcli(['log', 'segments', 'logged:0', '--data-dir', data, '--json'])
		expect(code).toBe(0)
		const { items, errors } = JSON.parse(stdout)
		expect(errors).toEqual([])
		expect(items.length).toBeGreaterThan(1)
		expect(items[0].baseOffset).toBe(0)
		for (let i = 1; i < items.length; i++) expect(items[i].baseOffset).toBe(items[i - 1].nextOffset)
		expect(items.at(-1).nextOffset).toBe(24_000)
		expect(items.every((item: { log: string }) => item.log === 'ok')).toBe(true)
	})

	it('finds a partition in several folders, and in the folders of brokers inside one', async () => {
		const parent = join(data, '..')
		for (const dirs of [`${parent}/none,${data}`, parent]) {
			const { code, stdout } = await kcli(['log', 'segments', 'logged:0', '--data-dir', dirs, '-o', 'tsv'])
			expect(code, dirs).toBe(0)
			expect(stdout).toMatch(/^logged-0\t0\t/m)
		}
		expect((await kcli(['log', 'segments', parent, '-o', 'tsv'])).stdout).toMatch(/^logged-0\t0\t/m)
		const missing = await kcli(['log', 'segments', 'nowhere:0', '--data-dir', parent])
		expect(missing).toMatchObject({ code: 1, stdout: '' })
	})

	it('lists every partition of a data folder', async () => {
		const { stdout } = await kcli(['log', 'segments', data, '-o', 'tsv'])
		expect(stdout).toMatch(/^logged-0\t0\t/m)
		expect(stdout).toMatch(/^__consumer_offsets-\d+\t0\t/m)
	})

	it('ends with 3 and says where, when a log or an index is damaged', async () => {
		const folder = copy()
		const index = join(folder, `${FIRST}.index`)
		const bytes = readFileSync(index)
		expect(bytes.length).toBeGreaterThanOrEqual(8)
		bytes.writeInt32BE(bytes.readInt32BE(4) + 1, 4)
		writeFileSync(index, bytes)
		const wrongIndex = await kcli(['log', 'segments', folder])
		expect(wrongIndex.code).toBe(3)
		expect(wrongIndex.stderr).toContain('where no batch begins')
		truncateSync(join(folder, `${FIRST}.log`), 1000)
		const cut = await kcli(['log', 'segments', folder, '--json'])
		expect(cut.code).toBe(3)
		expect(JSON.parse(cut.stdout).errors[0]).toMatchObject({ name: 'KCLI_LOG_DAMAGE' })
	})

	it('says what is not there', async () => {
		expect(await kcli(['log', 'segments', '/no/such/folder'])).toMatchObject({ code: 1, stdout: '' })
		expect(await kcli(['log', 'segments'])).toMatchObject({ code: 2, stdout: '' })
		expect(await kcli(['log', 'segments', cleanup.folder()])).toMatchObject({ code: 1 })
	})
})

describe('log dump', () => {
	it("prints batches in the words of Kafka's tool", async () => {
		const { code, stdout } = await kcli(['log', 'dump', 'logged:0', '--data-dir', data])
		expect(code).toBe(0)
		expect(stdout).toMatch(/^Dumping .*00000000000000000000\.log\nbaseOffset: 0 lastOffset: \d+ count: \d+ /)
		expect(stdout).toMatch(/isTransactional: false isControl: false .* compresscodec: none crc: \d+ isvalid: true/)
	})

	it('prints the batches of a golden folder as NDJSON, records in their place', async () => {
		const folder = join(ROOT, 'test', 'fixtures', 'logs', 'clean', 'codec-gzip-0')
		const { code, stdout } = await kcli(['log', 'dump', folder, '--json', '--records'])
		expect(code).toBe(0)
		const rows = stdout
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line))
		expect(rows.length).toBeGreaterThan(0)
		for (const { count, records, isValid } of rows) {
			expect(isValid).toBe(true)
			if (records !== undefined) expect(records).toHaveLength(count)
		}
	})

	it('prints a range of offsets', async () => {
		const args = ['log', 'dump', 'logged:0', '--data-dir', data, '--records', '--json', '--from', '10', '--to', '12']
		const rows = (await kcli(args)).stdout
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line))
		expect(rows.flatMap(({ records }) => records).map(({ offset }) => offset)).toEqual([10, 11])
		expect(rows[0].records[0].value).toMatch(/^record 0 10 x+$/)
	})

	it('prints index entries', async () => {
		const folder = copy()
		const offsets = await kcli(['log', 'dump', join(folder, `${FIRST}.index`), '--json'])
		expect(JSON.parse(offsets.stdout.split('\n')[0] as string)).toMatchObject({ offset: expect.any(Number) })
		const all = await kcli(['log', 'dump', folder, '--index'])
		expect(all.stdout).toContain(`Dumping ${folder}/${FIRST}.timeindex\ntimestamp: `)
	})

	it('decodes committed offsets', async () => {
		const folders = readdirSync(data).filter((name) => name.startsWith('__consumer_offsets-'))
		const dumps = await kcli([
			'log',
			'dump',
			...folders.map((name) => join(data, name)),
			'--decode',
			'offsets',
			'--json',
		])
		const records = dumps.stdout
			.trim()
			.split('\n')
			.flatMap((line) => JSON.parse(line).records ?? [])
		expect(records).toContainEqual(
			expect.objectContaining({
				key: { group: 'dumped', topic: 'logged', partition: 0 },
				value: expect.objectContaining({ offset: 5 }),
			}),
		)
	})

	it('ends with 3 at damage, after everything that is whole', async () => {
		const folder = copy()
		const log = join(folder, `${FIRST}.log`)
		const bytes = readFileSync(log)
		bytes[bytes.length - 10] = (bytes[bytes.length - 10] as number) ^ 0xff
		writeFileSync(log, bytes)
		const crc = await kcli(['log', 'dump', log])
		expect(crc.code).toBe(3)
		expect(crc.stdout).toContain('isvalid: false')
		expect(crc.stderr).toContain('CRC does not match')
		copyFileSync(join(data, 'logged-0', `${FIRST}.log`), log)
		truncateSync(log, bytes.length - 5)
		const cut = await kcli(['log', 'dump', log, '--json'])
		expect(cut.code).toBe(3)
		expect(JSON.parse(cut.stdout.trim().split('\n').at(-1) as string)).toMatchObject({ damage: expect.any(String) })
	})
})
