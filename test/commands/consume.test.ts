import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestBroker, type TestBroker } from '../helpers/broker.js'
import { CLI, Cleanup, kcli, startBrokerProcess } from '../helpers/processes.js'
import { batchOf, makeTopic, send } from '../helpers/requests.js'
import { until } from '../helpers/until.js'

let broker: TestBroker
let bootstrap: string
const cleanup = new Cleanup()

beforeAll(async () => {
	broker = await startTestBroker()
	bootstrap = `${broker.host}:${broker.port}`
	cleanup.add(() => broker.stop())
	const connection = await broker.connect()
	// Offsets 0 to 9, times 1000 to 1009.
	await makeTopic(connection, 'ten')
	await send(connection, 'ten', batchOf(Array.from({ length: 10 }, (_, i) => `v${i}`)))
	await makeTopic(connection, 'three', 3)
	for (let partition = 0; partition < 3; partition++) {
		const records = [0, 1, 2].map((i) => ({
			timestamp: 1000 + i * 10 + partition,
			key: null,
			value: Buffer.from(`p${partition}-${i}`),
		}))
		await send(connection, 'three', batchOf([], { records }), { partition })
	}
})
afterAll(() => cleanup.run())

const consume = (...args: string[]) => kcli(['consume', '-b', bootstrap, '-q', ...args])
const values = async (...args: string[]): Promise<string[]> => {
	const done = await consume(...args)
	expect([done.code, done.stderr]).toEqual([0, ''])
	return done.stdout.split('\n').slice(0, -1)
}
const v = (from: number, end: number): string[] => Array.from({ length: end - from }, (_, i) => `v${from + i}`)

/** A consumer that is still running, and what it printed so far. */
function follow(...args: string[]): {
	child: ChildProcess
	text: () => string
	errors: () => string
	ended: Promise<number | null>
} {
	const child = spawn(process.execPath, [CLI, 'consume', ...(args.includes('-b') ? [] : ['-b', bootstrap]), ...args], {
		stdio: ['ignore', 'pipe', 'pipe'],
	})
	cleanup.add(() => child.kill('SIGKILL'))
	let text = ''
	let errors = ''
	child.stdout.on('data', (chunk: Buffer) => {
		text += chunk.toString()
	})
	child.stderr.on('data', (chunk: Buffer) => {
		errors += chunk.toString()
	})
	const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
	return { child, text: () => text, errors: () => errors, ended }
}

describe('kcli consume', () => {
	it('prints values alone on stdout; one line on stderr says where it starts and how it ends', async () => {
		const done = await kcli(['consume', '-b', bootstrap, 'ten', '-e'])
		expect(done.code).toBe(0)
		expect(done.stdout).toBe(`${v(0, 10).join('\n')}\n`)
		expect(done.stderr).toBe('kcli: reading ten: partition 0 from offset 0; ends at the present end\n')
	})

	it.each<[string, string[]]>([
		['start', v(0, 10)],
		['end', []],
		['4', v(4, 10)],
		['-3', v(7, 10)],
		['+2', v(2, 10)],
		['3:6', v(3, 6)],
		[':2', v(0, 2)],
		['-2:end', v(8, 10)],
		['s@1005', v(5, 10)],
		['@1970-01-01T00:00:01.004Z:1970-01-01T00:00:01.007Z', v(4, 7)],
		['@now', []],
	])('-o %s', async (offset, wanted) => expect(await values('ten', '-e', '-o', offset)).toEqual(wanted))

	it('takes exact counts, an end of a range without -e, and kcat’s two times', async () => {
		expect(await values('ten', '-c', '3')).toEqual(v(0, 3))
		expect(await values('ten', '-c', '0')).toEqual([])
		expect(await values('ten', '-o', '2:5')).toEqual(v(2, 5))
		expect(await values('ten', '-o', 's@1002', '-o', 'e@1004')).toEqual(v(2, 4))
	})

	it('reads chosen partitions, several topics, and topics by pattern', async () => {
		expect((await values('three', '-e', '-p', '0,2', '-f', '%t-%p\\n')).sort()).toEqual([
			'three-0',
			'three-0',
			'three-0',
			'three-2',
			'three-2',
			'three-2',
		])
		expect((await values('ten', 'three', '-e')).length).toBe(19)
		expect((await values('-r', 't.*e.*', '-e')).length).toBe(19)
		const done = await consume('three', '-p', '5')
		expect([done.code, done.stderr]).toEqual([1, 'kcli: there is no partition 5 in three\n  Partitions are 0 to 2.\n'])
	})

	it('--tail gives the last over all partitions, in order of time', async () => {
		expect(await values('three', '--tail', '4')).toEqual(['p2-1', 'p0-2', 'p1-2', 'p2-2'])
		expect((await values('three', '--tail', '100')).length).toBe(9)
	})

	it('greps keys and values, and the count is of what was printed', async () => {
		expect(await values('ten', '-e', '-G', 'k:[369]')).toEqual(['v3', 'v6', 'v9'])
		expect(await values('ten', '-G', '!v:[0-4]', '-c', '2')).toEqual(['v5', 'v6'])
	})

	it('prints JSON with everything, and only where and when with --meta-only', async () => {
		const [line] = await values('ten', '-c', '1', '-J')
		expect(JSON.parse(line as string)).toEqual({
			topic: 'ten',
			partition: 0,
			offset: 0,
			timestamp: 1000,
			timestampType: 'CreateTime',
			leaderEpoch: 0,
			headers: [],
			key: 'k0',
			keyEncoding: 'utf8',
			value: 'v0',
			valueEncoding: 'utf8',
		})
		const [bare] = await values('ten', '-c', '1', '--meta-only')
		expect(JSON.parse(bare as string)).toMatchObject({ offset: 0, keySize: 2, valueSize: 2, headerCount: 0 })
	})

	it('-g G -c 1 four times gives four records in order: it commits what was printed', async () => {
		const found: string[] = []
		for (let i = 0; i < 4; i++) found.push(...(await values('ten', '-g', 'four', '-c', '1')))
		expect(found).toEqual(v(0, 4))
		expect(await values('ten', '-g', 'four', '--no-commit', '-c', '2')).toEqual(['v4', 'v5'])
		expect(await values('ten', '-g', 'four', '-e')).toEqual(v(4, 10))
		expect(await values('ten', '-g', 'four', '-e')).toEqual([])
	})

	it('-g with -p reads and commits by hand; -o says where a group without offsets begins', async () => {
		expect(await values('ten', '-g', 'hand', '-p', '0', '-o', '-2', '-c', '1')).toEqual(['v8'])
		expect(await values('ten', '-g', 'hand', '-p', '0', '-e')).toEqual(['v9'])
		expect(await values('ten', '-g', 'late', '-o', 'end', '-e')).toEqual([])
	})

	it('two members share the partitions, one takes over when the other ends, and no record is printed twice', async () => {
		const connection = await broker.connect()
		await makeTopic(connection, 'shared', 2)
		const put = async (name: string): Promise<void> => {
			for (let partition = 0; partition < 2; partition++)
				await send(connection, 'shared', batchOf([`${name}-${partition}`]), { partition })
		}
		const fast = ['-X', 'heartbeat.interval.ms=100']
		const a = follow('shared', '-g', 'pair', ...fast)
		await until('the first member reads', () => a.errors().includes('partitions from'))
		const b = follow('shared', '-g', 'pair', ...fast)
		await until('the second has one partition', () => /reading shared as pair: partition \d/.test(b.errors()))
		await until('the first kept one', () => /reading shared as pair: partition \d/.test(a.errors()))
		await put('one')
		await until('each printed one', () => a.text().includes('one') && b.text().includes('one'))
		b.child.kill('SIGTERM')
		expect(await b.ended).toBe(143)
		await put('two')
		await until('the first has all', () => a.text().includes('two-0') && a.text().includes('two-1'))
		a.child.kill('SIGINT')
		expect(await a.ended).toBe(130)
		expect(
			(a.text() + b.text())
				.split('\n')
				.filter((line) => line !== '')
				.sort(),
		).toEqual(['one-0', 'one-1', 'two-0', 'two-1'])
	})

	it('follows new records until Ctrl-C: 130 after a clean stop; SIGTERM: 143', async () => {
		const connection = await broker.connect()
		await makeTopic(connection, 'live')
		for (const [signal, code] of [
			['SIGINT', 130],
			['SIGTERM', 143],
		] as const) {
			const reader = follow('live', '-o', 'end')
			await until('it reads', () => reader.errors().includes('follows until Ctrl-C'))
			await send(connection, 'live', batchOf([signal]))
			await until('it printed', () => reader.text() === `${signal}\n`)
			reader.child.kill(signal)
			expect(await reader.ended).toBe(code)
		}
	})

	it('a reader that goes away is an orderly end: exit 0', async () => {
		const connection = await broker.connect()
		await makeTopic(connection, 'much')
		for (let i = 0; i < 20; i++)
			await send(connection, 'much', batchOf(Array.from({ length: 1000 }, () => 'x'.repeat(200))))
		const reader = follow('much')
		await until('something came', () => reader.text().length > 0)
		reader.child.stdout?.destroy()
		expect(await reader.ended).toBe(0)
	})

	it('--idle ends it, with 4 when -c was not reached', async () => {
		expect(await values('ten', '--idle', '100ms')).toEqual(v(0, 10))
		const done = await consume('ten', '-c', '11', '--idle', '100')
		expect([done.code, done.stdout.split('\n').length]).toEqual([4, 11])
	})

	it('leaves out what a transaction has not committed, unless asked', async () => {
		const connection = await broker.connect()
		await makeTopic(connection, 'txn')
		const producer = { producerId: 7n, producerEpoch: 0 }
		const transactional = { ...producer, attributes: 0x10 }
		await send(connection, 'txn', batchOf(['plain']))
		await send(connection, 'txn', batchOf(['open'], { ...transactional, baseSequence: 0 }), { transactionalId: 't' })
		expect(await values('txn', '-e', '--isolation', 'uncommitted')).toEqual(['plain', 'open'])
		expect(await values('txn', '-e')).toEqual(['plain'])
	})

	it.each([
		[['ten', '-o', 'begining'], /'begining' is no offset/],
		[['ten', '-o', 'stored'], /needs a group/],
		[['ten', '-f', '%x'], /has no verb %x/],
		[['ten', '-p', 'all'], /-p wants partitions/],
		[['ten', '-G', '('], /-G/],
		[['ten', '--idle', 'soon'], /--idle/],
		[['ten', '-J', '-f', '%s'], /json|format/],
		[[], /no topic/],
	])('%j is wrong usage: exit 2', async (args, message) => {
		const done = await consume(...args)
		expect([done.code, done.stdout]).toEqual([2, ''])
		expect(done.stderr).toMatch(message)
	})

	it('follows through a broker that is killed and started again, and says so', async () => {
		const folder = cleanup.folder()
		let own = await startBrokerProcess(`${folder}/data`)
		cleanup.add(() => own.kill())
		const put = async (value: string): Promise<void> => {
			const done = await kcli(['produce', 'restart', '--create', '-b', own.bootstrap], { input: value })
			expect(done.stderr).toBe('')
		}
		await put('before')
		const reader = follow('restart', '-b', own.bootstrap)
		await until('it printed', () => reader.text() === 'before\n')
		await own.kill()
		await until('it tells', () => reader.errors().includes('trying on'))
		own = await startBrokerProcess(`${folder}/data`, ['--listen', `PLAINTEXT://${own.bootstrap}`])
		await put('after')
		await until('it goes on', () => reader.text() === 'before\nafter\n')
		reader.child.kill('SIGINT')
		expect(await reader.ended).toBe(130)
	})

	it('a broker that nobody ever reached is told at once', async () => {
		const startedMs = performance.now()
		const done = await kcli(['consume', 'x', '-b', '127.0.0.1:1'])
		expect([done.code, done.stdout]).toEqual([1, ''])
		expect(done.stderr).toMatch(/127.0.0.1:1: nothing listens there/)
		expect(performance.now() - startedMs).toBeLessThan(5000)
	})

	it('a misspelled topic ends at once with close matches', async () => {
		const done = await consume('tne')
		expect([done.code, done.stdout]).toEqual([1, ''])
		expect(done.stderr).toMatch(/there is no topic 'tne'\n {2}did you mean ten\?/)
	})
})
