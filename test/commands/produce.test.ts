import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { crc32 } from '../../src/base/crc32.js'
import { startTestBroker, type TestBroker } from '../helpers/broker.js'
import { CLI, Cleanup, kcli } from '../helpers/processes.js'
import { makeTopic } from '../helpers/requests.js'
import { until } from '../helpers/until.js'

let broker: TestBroker
let bootstrap: string
const cleanup = new Cleanup()
let folder: string

beforeAll(async () => {
	broker = await startTestBroker()
	bootstrap = `${broker.host}:${broker.port}`
	cleanup.add(() => broker.stop())
	folder = cleanup.folder()
})
afterAll(() => cleanup.run())

const topic = async (name: string, partitions = 1, configs: Record<string, string> = {}): Promise<string> => {
	await makeTopic(await broker.connect(), name, partitions, configs)
	return name
}
const produce = (args: readonly string[], input: string | Buffer = '') =>
	kcli(['produce', '-b', bootstrap, ...args], { input })
const rows = async (name: string, ...args: string[]) => {
	const { stdout } = await kcli(['consume', '-b', bootstrap, name, '-e', '-q', '-J', ...args])
	return stdout
		.split('\n')
		.filter((line) => line !== '')
		.map(
			(line) =>
				JSON.parse(line) as {
					key: string | null
					value: string | null
					partition: number
					timestamp: number
					headers: unknown[]
					offset: number
				},
		)
}

describe('kcli produce', () => {
	it('writes a record a line; the last needs no line break; nothing is printed', async () => {
		await topic('lines')
		const done = await produce(['lines'], 'a\n\nb\r\nlast')
		expect([done.code, done.stdout, done.stderr]).toEqual([0, '', ''])
		expect((await rows('lines')).map(({ value }) => value)).toEqual(['a', '', 'b\r', 'last'])
	})

	it('parts keys, keeps headers, makes nulls and tombstones', async () => {
		await topic('keys')
		const done = await produce(['-t', 'keys', '-K', ':', '-Z', '-H', 'a=1', '-H', 'b', '-H', 'a=2'], 'k:v\nk:\nw')
		expect(done.code).toBe(0)
		const found = await rows('keys')
		expect(found.map(({ key, value }) => [key, value])).toEqual([
			['k', 'v'],
			['k', null],
			[null, 'w'],
		])
		expect(found[0]?.headers).toEqual([
			{ key: 'a', value: '1', encoding: 'utf8' },
			{ key: 'b', value: null, encoding: 'utf8' },
			{ key: 'a', value: '2', encoding: 'utf8' },
		])
	})

	it('sends keys where Java and librdkafka send them, and a named partition before all', async () => {
		await topic('parts', 4)
		await produce(['parts', '-K', '='], '21=java\nfoobar=java')
		await produce(['parts', '-K', '=', '--partitioner', 'librdkafka'], '21=rd\nfoobar=rd')
		await produce(['parts', '-k', '21', '-p', '3'], 'fixed')
		const found = await rows('parts')
		const where = found.map(({ key, value, partition }) => `${key} ${value} ${partition}`).sort()
		expect(where).toEqual([
			`21 fixed 3`,
			`21 java ${(-973932308 & 0x7fffffff) % 4}`,
			`21 rd ${crc32(Buffer.from('21')) % 4}`,
			`foobar java ${(-790332482 & 0x7fffffff) % 4}`,
			`foobar rd ${crc32(Buffer.from('foobar')) % 4}`,
		])
	})

	it('stays among the partitions that are named, where the key chooses', async () => {
		await topic('among', 6)
		const lines = Array.from({ length: 60 }, (_, i) => `key-${i % 20}=${i}`).join('\n')
		await produce(['among', '-K', '=', '-p', '1,3-4'], lines)
		const found = await rows('among')
		const byKey = new Map(found.map(({ key, partition }) => [key, partition]))
		expect(found.length).toBe(60)
		expect(new Set(byKey.values())).toEqual(new Set([1, 3, 4]))
		expect(found.every(({ key, partition }) => byKey.get(key) === partition)).toBe(true)
		for (let i = 0; i < 12; i++) await produce(['among', '-p', '0,5'], 'no key')
		const free = (await rows('among')).filter(({ value }) => value === 'no key')
		expect(free.every(({ partition }) => partition === 0 || partition === 5)).toBe(true)
		const none = await produce(['among', '-p', '2,6'], 'x')
		expect([none.code, none.stderr]).toEqual([1, 'kcli: among has partitions 0 to 5, not 6\n'])
		const made = await produce(['among-new', '--create', '-p', '0,9'], 'x')
		expect([made.code, made.stderr]).toEqual([
			1,
			expect.stringMatching(/^kcli: among-new has partitions 0 to \d+, not 9\n$/),
		])
	})

	it('a topic that is not there ends it at once with close matches, and nothing is created', async () => {
		await topic('payments')
		const done = await produce(['paymnets'], 'x')
		expect(done.code).toBe(1)
		expect(done.stderr).toBe("kcli: there is no topic 'paymnets'\n  did you mean payments?\n")
		expect((await kcli(['consume', '-b', bootstrap, 'paymnets', '-e'])).code).toBe(1)
	})

	it('creates the topic only when asked', async () => {
		expect((await produce(['made', '--create'], 'x')).code).toBe(0)
		expect((await rows('made')).map(({ value }) => value)).toEqual(['x'])
	})

	it('names the first line that is refused, writes the others, and exits 1', async () => {
		await topic('small', 1, { 'max.message.bytes': '1000' })
		const input = ['ok1', 'x'.repeat(2000), 'ok2', 'y'.repeat(3000), 'ok3'].join('\n')
		const done = await produce(['small'], input)
		expect(done.code).toBe(1)
		expect(done.stderr).toMatch(/line 2: .*MESSAGE_TOO_LARGE \(10\).*2 records were not written, 3 were/s)
		expect((await rows('small')).map(({ value }) => value)).toEqual(['ok1', 'ok2', 'ok3'])
	})

	it('a batch that the topic finds too large is parted, in order and once', async () => {
		await topic('parted', 1, { 'max.message.bytes': '5000' })
		const lines = Array.from({ length: 3000 }, (_, i) => `line ${i}`)
		const done = await produce(['parted'], lines.join('\n'))
		expect([done.code, done.stderr]).toEqual([0, ''])
		expect((await rows('parted')).map(({ value }) => value)).toEqual(lines)
	})

	it('a null key in a compacted topic is named by its line', async () => {
		await topic('compacted', 1, { 'cleanup.policy': 'compact' })
		const done = await produce(['compacted', '-K', ':', '-u'], 'a:1\nnokey\nb:2')
		expect(done.code).toBe(1)
		expect(done.stderr).toMatch(/line 2: .*INVALID_RECORD \(87\)/s)
	})

	it('takes a whole file, files of lines, and what consume -J printed', async () => {
		await topic('files')
		await topic('copy')
		const path = join(folder, 'lines.txt')
		writeFileSync(path, 'one\ntwo\n')
		expect((await produce(['files', '-l', path, '--input', 'file', '-k', 'whole'])).code).toBe(0)
		expect((await produce(['files', '-l', path, '-l', path])).code).toBe(0)
		expect((await produce(['files'], Buffer.from([0xff, 0x00, 0x0a, 0xfe]))).code).toBe(0)
		const printed = await kcli(['consume', '-b', bootstrap, 'files', '-e', '-q', '-J'])
		expect((await produce(['copy', '--input', 'json', '--strict'], printed.stdout)).code).toBe(0)
		const again = await kcli(['consume', '-b', bootstrap, 'copy', '-e', '-q', '-J'])
		expect(again.stdout.replaceAll('"topic":"copy"', '"topic":"files"')).toBe(printed.stdout)
		expect((await rows('copy')).map(({ value }) => value)).toEqual([
			'one\ntwo\n',
			'one',
			'two',
			'one',
			'two',
			'/wA=',
			'/g==',
		])
	})

	it('bad JSON is named by its line; what stood before it is written', async () => {
		await topic('badjson')
		const done = await produce(['badjson', '--input', 'json'], '{"value":"a"}\n{"value":')
		expect(done.code).toBe(1)
		expect(done.stderr).toMatch(/line 2: this is no JSON.*records before it, all written: 1/s)
		expect((await rows('badjson')).map(({ value }) => value)).toEqual(['a'])
	})

	it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'])('compresses with %s, and the records come back', async (codec) => {
		await topic(`z-${codec}`)
		const lines = Array.from({ length: 500 }, (_, i) => `${codec} ${i % 7}`)
		expect((await produce([`z-${codec}`, '-z', codec], lines.join('\n'))).code).toBe(0)
		expect((await rows(`z-${codec}`)).map(({ value }) => value)).toEqual(lines)
	})

	it.each([['0'], ['1'], ['all']])('acks %s: all records arrive, in order', async (acks) => {
		await topic(`acks-${acks}`)
		const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i}`)
		expect((await produce([`acks-${acks}`, '--acks', acks], lines.join('\n'))).code).toBe(0)
		expect((await rows(`acks-${acks}`)).map(({ value }) => value)).toEqual(lines)
	})

	it('repeats, stamps, keeps a rate and prints what it sends when asked', async () => {
		await topic('paced')
		const startedMs = performance.now()
		const done = await produce(
			['paced', '--repeat', '10', '--rate', '100', '-T', '--timestamp', '2024-05-01T10:00Z'],
			'a\nb',
		)
		expect(performance.now() - startedMs).toBeGreaterThan(100)
		expect([done.code, done.stdout]).toEqual([0, 'a\n'.repeat(10) + 'b\n'.repeat(10)])
		const found = await rows('paced')
		expect(found.length).toBe(20)
		expect(new Set(found.map(({ timestamp }) => timestamp))).toEqual(new Set([Date.UTC(2024, 4, 1, 10)]))
	})

	it.each([
		['SIGINT', 130],
		['SIGTERM', 143],
	] as const)('%s while input is open: what was read is written, exit %d', async (signal, code) => {
		await topic(`signal-${signal}`)
		const child = spawn(process.execPath, [CLI, 'produce', `signal-${signal}`, '-b', bootstrap, '-T'], {
			stdio: ['pipe', 'pipe', 'ignore'],
		})
		cleanup.add(() => child.kill('SIGKILL'))
		const ended = new Promise((resolve) => child.once('close', resolve))
		let text = ''
		child.stdout.on('data', (chunk: Buffer) => {
			text += chunk.toString()
		})
		child.stdin.write('one\ntwo\n')
		await until('both were read', () => text === 'one\ntwo\n')
		child.kill(signal)
		expect(await ended).toBe(code)
		expect((await rows(`signal-${signal}`)).map(({ value }) => value)).toEqual(['one', 'two'])
	})

	it.each([
		[['lines', '--acks', '1', '--idempotent'], /needs --acks all/],
		[['lines', '--rate', 'fast'], /--rate/],
		[['lines', '--timestamp', 'soon'], /--timestamp/],
		[['lines', '-l', '/nowhere/at/all'], /cannot be read/],
		[['lines', '-t', 'other'], /two topics/],
		[['lines', '--inptu', 'json'], /inptu/],
		[[], /no topic/],
	])('%j is wrong usage: exit 2', async (args, message) => {
		const done = await produce(args, 'x')
		expect([done.code, done.stdout]).toEqual([2, ''])
		expect(done.stderr).toMatch(message)
	})

	it('a partition that is not there is named with those there are', async () => {
		const done = await produce(['lines', '-p', '7'], 'x')
		expect(done.code).toBe(1)
		expect(done.stderr).toBe('kcli: lines has partitions 0 to 0, not 7\n')
	})
})
