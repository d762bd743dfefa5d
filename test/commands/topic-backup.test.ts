/** `kcli topic delete --backup`, readers of what is deleted, and other parts of the topic commands that came later. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'
import { Cleanup } from '../helpers/processes.js'

const broker = brokerForFile()
const cleanup = new Cleanup()
let folder = ''
beforeAll(() => {
	folder = cleanup.folder()
})
afterAll(() => cleanup.run())

describe('topic delete --backup', () => {
	it('keeps all records, which produce takes back as they were', async () => {
		await broker.run('topic create kept -p 2 -c retention.ms=-1 -c segment.ms=7200000')
		const rows = [
			{ partition: 1, timestamp: 5, key: 'k', value: null, headers: [{ key: 'h', value: '/w==', encoding: 'base64' }] },
			{ partition: 0, timestamp: 6, key: null, value: '/wA=', valueEncoding: 'base64', headers: [] },
		]
		const input = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
		await broker.run('produce kept --input json --keep-partition', { input })
		const before = (await broker.run('consume kept -e -J -q --merge')).stdout
		const file = `${folder}/kept.ndjson`
		const dry = await broker.json(`topic delete kept --backup ${file} --dry-run`)
		expect([dry.items[0].backup, existsSync(file)]).toEqual([file, false])
		const done = await broker.run(`topic delete kept --backup ${file} --yes --wait`)
		expect(done).toMatchObject({ code: 0 })
		expect(done.stderr).toContain(`2 records of kept kept in ${file}`)
		const back = done.stderr.split('\n').flatMap((line) => /^ {2}kcli (.*)/.exec(line)?.[1] ?? [])
		expect(back).toEqual([
			'topic create kept -p 2 -r 1 -c retention.ms=-1 -c segment.ms=7200000',
			`produce kept --input json --keep-partition -l ${file}`,
		])
		for (const line of back) expect(await broker.run(line), line).toMatchObject({ code: 0 })
		expect((await broker.run('consume kept -e -J -q --merge')).stdout).toBe(before)
	})

	it('deletes nothing when the backup cannot be made', async () => {
		await broker.run('topic create stays other-stays')
		writeFileSync(`${folder}/there`, 'precious')
		for (const [line, message] of [
			[`stays --backup ${folder}/there`, /is there already/],
			[`stays --backup ${folder}/no/such/x`, /no folder/],
			['stays --backup /proc/x', /the backup failed/],
		] as const) {
			const refused = await broker.run(`topic delete ${line} --yes`)
			expect(refused.code, line).not.toBe(0)
			expect(refused.stderr, line).toMatch(message)
		}
		expect(readFileSync(`${folder}/there`, 'utf8')).toBe('precious')
		expect((await broker.run('topic list stays -o name')).stdout).toBe('stays\n')
	})

	it('of several topics is a file each in a folder', async () => {
		await broker.run('topic create many-a many-b')
		await broker.run('produce many-a', { input: 'x\n' })
		mkdirSync(`${folder}/many`)
		expect(await broker.run(`topic delete -r many-. --backup ${folder}/many --yes`)).toMatchObject({ code: 0 })
		expect(readFileSync(`${folder}/many/many-a.ndjson`, 'utf8')).toContain('"value":"x"')
		expect(readFileSync(`${folder}/many/many-b.ndjson`, 'utf8')).toBe('')
	})

	it('says who reads what would go', async () => {
		await broker.run('topic create is-read')
		await broker.run('produce is-read', { input: 'x\n' })
		await broker.run('consume is-read -g reader -e')
		const { items } = await broker.json('topic delete is-read --dry-run')
		expect(items).toMatchObject([{ groups: ['reader'], backup: null }])
	})
})

describe('the topic commands', () => {
	it('offer close matches where the broker refuses a setting of a topic that is not there yet', async () => {
		const refused = await broker.run('topic create new -c retention.mss=1')
		expect(refused).toMatchObject({ code: 1, stdout: '' })
		expect(refused.stderr).toContain('did you mean retention.ms')
		await broker.run('topic create old')
		const unset = await broker.run('topic alter old --unset retenton.ms')
		expect(unset.code).toBe(1)
		expect(unset.stderr).toContain('did you mean retention.ms?')
	})

	it('describe --stable tells up to where transactions have ended', async () => {
		await broker.run('topic create stable')
		await broker.run('produce stable', { input: 'a\nb\n' })
		const { items } = await broker.json('topic describe stable --stable')
		expect(items[0].partitions).toMatchObject([{ endOffset: 2, stableOffset: 2 }])
		expect((await broker.run('topic describe stable --stable')).stdout).toContain('STABLE')
	})

	it('client quotas: a broker without them is named, with what is needed', async () => {
		for (const line of ['config describe user/alice', 'config set client/web producer_byte_rate=1MiB']) {
			const refused = await broker.run(line)
			expect(refused, line).toMatchObject({ code: 1, stdout: '' })
			expect(refused.stderr, line).toMatch(/these brokers have no quotas: .*\n {2}client\/…, user\/… and ip\/… need/)
		}
	})

	it('group describe sums by topic and by member, and chooses by lag', async () => {
		await broker.run('topic create sum -p 2')
		await broker.run('produce sum -p 0', { input: 'a\nb\nc\n' })
		await broker.run('consume sum -g summed -o start -c 1')
		expect((await broker.run('group describe summed --by topic -o tsv')).stdout).toBe('summed\tsum\t2\t2\t2\n')
		const { items } = await broker.json('group describe summed --lag >1')
		expect(items).toMatchObject([{ offsets: [{ partition: 0, lag: 2 }] }])
		expect(await broker.run('group describe summed --lag >100')).toMatchObject({ code: 0, stdout: '' })
	})
})
