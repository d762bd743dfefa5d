/** Where `kcli consume` begins and ends, what it says of it, what a group keeps; merging, keys, decoding. */

import { spawn } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'
import { CLI } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const broker = brokerForFile()
const consume = (line: string, env: Record<string, string> = {}) => broker.run(`consume ${line}`, { env })

beforeAll(async () => {
	await broker.run('topic create ten')
	await broker.run('produce ten', { input: Array.from({ length: 10 }, (_, i) => `v${i}\n`).join('') })
})

describe('offsets that are not there', () => {
	it('with -e end at once, exit 0, and are spoken of', async () => {
		const past = await consume('ten -e -o 100')
		expect(past).toMatchObject({ code: 0, stdout: '' })
		expect(past.stderr).toContain(
			'offset 100 is past the last record of ten-0 (first 0, next 10): nothing to read there',
		)
		const outside = await consume('ten -e -o 100:200')
		expect(outside).toMatchObject({ code: 0, stdout: '' })
		expect(outside.stderr).toContain('nothing to read there')
		const future = await consume('ten -e -o @2100-01-01T00:00Z')
		expect(future).toMatchObject({ code: 0, stdout: '' })
		expect(future.stderr).toContain('lies in the future: nothing to read')
	})

	it('are waited for otherwise: without a range what is new, with one what is in it', async () => {
		await broker.run('topic create waited')
		await broker.run('produce waited', { input: 'a\nb\n' })
		const follow = (offset: string) => {
			const env = { ...process.env, KCLI_BOOTSTRAP_SERVERS: broker.bootstrap, NODE_OPTIONS: '' }
			const child = spawn(process.execPath, [CLI, 'consume', 'waited', '-o', offset], { env })
			const seen = { text: '', told: '' }
			child.stdout.on('data', (chunk: Buffer) => {
				seen.text += chunk
			})
			child.stderr.on('data', (chunk: Buffer) => {
				seen.told += chunk
			})
			return { child, seen, ended: new Promise<number | null>((resolve) => child.once('close', resolve)) }
		}
		const open = follow('50')
		const range = follow('3:5')
		await until('both wait', () => open.seen.told.includes('follows') && range.seen.told.includes('end of the range'))
		expect(open.seen.told).toContain('waits for new records')
		expect(range.seen.told).toContain('waits for offset 3')
		await broker.run('produce waited', { input: 'c\nd\ne\nf\n' })
		expect(await range.ended).toBe(0)
		expect(range.seen.text).toBe('d\ne\n')
		await until('all new ones', () => open.seen.text === 'c\nd\ne\nf\n')
		open.child.kill('SIGINT')
		expect(await open.ended).toBe(130)
	})

	it('--to is the end of a range', async () => {
		expect((await consume('ten -o 2 --to 4 -q')).stdout).toBe('v2\nv3\n')
		expect((await consume('ten --to -8 -q')).stdout).toBe('v0\nv1\n')
		expect((await consume('ten -n 1 -q --filter-value v[5-9]')).stdout).toBe('v5\n')
	})
})

describe('a group', () => {
	const offsetsOf = async (group: string) => {
		const { items } = await broker.json(`group describe ${group}`)
		return (items[0]?.offsets ?? []).map((each: { offset: number }) => each.offset)
	}

	it('that was told where to begin stands there afterwards, records or none', async () => {
		await consume('ten -g at-end -o end -e')
		expect(await offsetsOf('at-end')).toEqual([10])
		await consume('ten -g by-hand -p 0 -o -2 -c 0')
		expect(await offsetsOf('by-hand')).toEqual([8])
		await consume('ten -g idle -o end --idle 300ms')
		expect(await offsetsOf('idle')).toEqual([10])
	})

	it('stands at the start of partitions that it had no time to read', async () => {
		await broker.run('topic create wide -p 3')
		for (const partition of [0, 1, 2]) await broker.run(`produce wide -p ${partition}`, { input: 'a\nb\n' })
		await consume('wide -g one -c 1')
		const { items } = await broker.json('group describe one')
		expect(items[0]).toMatchObject({ lag: 5 })
		await consume('wide -g one-by-hand -p 0,1,2 -c 1')
		expect((await broker.json('group describe one-by-hand')).items[0]).toMatchObject({ lag: 5 })
		expect((await broker.json('group list --lag')).items).toMatchObject(
			expect.arrayContaining([expect.objectContaining({ group: 'one', lag: 5 })]),
		)
	})

	it('keeps what it has, and commits nothing that was not asked for', async () => {
		await consume('ten -g has -c 3')
		await consume('ten -g has -o end -c 0')
		expect(await offsetsOf('has')).toEqual([3])
		await consume('ten -g never -o end -e --no-commit')
		expect(await offsetsOf('never')).toEqual([])
	})
})

describe('KCLI_OUTPUT', () => {
	it('json is a line a record in consume and log dump; flags that shape the record beat it', async () => {
		const env = { KCLI_OUTPUT: 'json' }
		expect(JSON.parse((await consume('ten -e -c 1 -q', env)).stdout)).toMatchObject({ topic: 'ten', value: 'v0' })
		expect((await consume(String.raw`ten -e -c 1 -q -f %s\n`, env)).stdout).toBe('v0\n')
		expect((await consume('ten -e -c 1 -q --output value', env)).stdout).toBe('v0\n')
		const dumped = await broker.run(`log dump ten:0 --data-dir ${broker.dataDir}`, { env })
		expect(JSON.parse(dumped.stdout.split('\n')[0] as string)).toMatchObject({ baseOffset: 0, count: 10 })
	})

	it('no document of an error gets into a stream of records', async () => {
		expect(await consume('no-such --output json')).toMatchObject({ code: 1, stdout: '' })
	})
})

describe('several partitions', () => {
	beforeAll(async () => {
		await broker.run('topic create spread -p 3')
		const rows = [
			{ partition: 0, timestamp: 1000, key: 'a', value: 'a1' },
			{ partition: 2, timestamp: 1001, key: 'b', value: 'b1' },
			{ partition: 1, timestamp: 1002, key: 'c', value: 'c1' },
			{ partition: 0, timestamp: 1003, key: 'a', value: 'a2' },
			{ partition: 2, timestamp: 1004, key: 'b', value: null },
			{ partition: 1, timestamp: 1005, key: null, value: 'keyless' },
		]
		const input = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
		const put = await broker.run('produce spread --input json --keep-partition', { input })
		expect(put).toMatchObject({ code: 0, stderr: '' })
	})

	it('--merge prints them in one order of time', async () => {
		expect((await consume('spread -e --merge -q -Z -')).stdout).toBe('a1\nb1\nc1\na2\n-\nkeyless\n')
		expect((await consume('spread -e --merge -q -c 3 -G k:[ab]')).stdout).toBe('a1\nb1\na2\n')
		expect((await consume('spread --merge -o @1970-01-01T00:00:01.001Z:1970-01-01T00:00:01.004Z -q')).stdout).toBe(
			'b1\nc1\na2\n',
		)
	})

	it('--merge holds its order over many batches of unequal partitions', async () => {
		await broker.run('topic create much -p 2')
		const rows = Array.from({ length: 6000 }, (_, i) => ({
			partition: i % 7 === 0 ? 1 : 0,
			timestamp: i,
			value: `${i}`,
		}))
		const input = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
		await broker.run('produce much --input json --keep-partition -X batch.size=2000', { input })
		const { stdout } = await consume('much -e --merge -q -X max.partition.fetch.bytes=5000')
		expect(stdout).toBe(rows.map(({ value }) => `${value}\n`).join(''))
	})

	it('--latest-per-key prints the last of each key, and says what has none', async () => {
		const last = await consume(String.raw`spread --latest-per-key -f %k=%s\n -Z NULL`)
		expect(last.stdout).toBe('c=c1\na=a2\nb=NULL\n')
		expect(last.stderr).toContain('1 record without a key left out')
		expect((await consume(String.raw`spread --latest-per-key -q -f %k\n -G !v:2`)).stdout).toBe('c\nb\n')
	})

	it('--decode shows the records of groups in words', async () => {
		await consume('spread -g decoded -e')
		const { stdout } = await consume('__consumer_offsets -e --decode offsets -q')
		const rows = stdout.split('\n').filter((line) => line.includes('"decoded"'))
		const commits = rows.map((line) => JSON.parse(line)).filter(({ key }) => key.topic === 'spread')
		expect(commits).toMatchObject([
			{ key: { group: 'decoded', partition: 0 }, keyEncoding: 'json', value: { offset: 2 } },
			{ value: { offset: 2 } },
			{ value: { offset: 2 } },
		])
	})
})
