/** The group commands as processes against a broker of ours. */

import { spawn } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'
import { CLI } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const broker = brokerForFile()

beforeAll(async () => {
	await broker.run('topic create read -p 1')
	await broker.run('produce read', { input: 'a\nb\nc\n' })
	await broker.run('consume read -g billing -e -c 2')
	await broker.run('consume read -g audit -e')
})

describe('group list', () => {
	it('lists groups with state and coordinator, and lag where it is asked for', async () => {
		const { items, code, kind } = await broker.json('group list')
		expect([code, kind]).toEqual([0, 'GroupList'])
		expect(items).toMatchObject([
			{ group: 'audit', state: 'Empty', protocolType: 'consumer', coordinator: 1 },
			{ group: 'billing', state: 'Empty' },
		])
		const lagging = await broker.json('group list --lag')
		expect(lagging.items).toMatchObject([
			{ group: 'audit', lag: 0, topics: ['read'] },
			{ group: 'billing', lag: 1 },
		])
	})

	it('filters by name, pattern, state and topic', async () => {
		const names = async (line: string) => (await broker.run(`${line} -o name`)).stdout
		expect(await names('group list audit')).toBe('audit\n')
		expect(await names('groups ls -r bil.*')).toBe('billing\n')
		expect(await names('group list --state stable')).toBe('')
		expect(await names('group list --state empty')).toBe('audit\nbilling\n')
		expect(await names('group list --topic read')).toBe('audit\nbilling\n')
		expect(await names('group list --topic other')).toBe('')
	})
})

describe('group describe', () => {
	it('shows offsets, ends and lag of each partition', async () => {
		const { items, code } = await broker.json('group describe billing')
		expect(code).toBe(0)
		expect(items).toMatchObject([
			{
				group: 'billing',
				state: 'Empty',
				coordinator: 1,
				memberCount: 0,
				lag: 1,
				offsets: [{ topic: 'read', partition: 0, offset: 2, endOffset: 3, lag: 1, memberId: null }],
			},
		])
		const page = await broker.run('group describe billing')
		expect(page.stdout).toMatch(/^billing\nstate +Empty\n/)
		expect(page.stdout).toMatch(/read +0 +2 +3 +1/)
		expect((await broker.run('group desc billing -o tsv')).stdout).toMatch(/^billing\tread\t0\t2\t3\t1\t/)
	})

	it('shows who reads what while they read', async () => {
		await broker.run('topic create live -p 2')
		await broker.run('produce live', { input: 'x\n' })
		const child = spawn(process.execPath, [CLI, 'consume', 'live', '-g', 'alive', '-b', broker.bootstrap], {
			stdio: 'ignore',
		})
		const ended = new Promise((resolve) => child.once('close', resolve))
		try {
			const view = await until('the member has its partitions', async () => {
				const { items } = await broker.json('group describe alive')
				return items[0]?.state === 'Stable' && items[0].members[0]?.partitions.length > 0 ? items[0] : null
			})
			expect(view).toMatchObject({
				protocolType: 'consumer',
				memberCount: 1,
				members: [{ clientId: 'kcli', host: '127.0.0.1', partitions: [{ topic: 'live', partitions: [0, 1] }] }],
			})
			const { memberId } = view.members[0]
			expect(view.offsets.map((each: { memberId: string }) => each.memberId)).toEqual([memberId, memberId])
			expect((await broker.run('group describe alive --section members')).stdout).toContain(memberId)
		} finally {
			child.kill('SIGINT')
		}
		expect(await ended).toBe(130)
	})

	it('offers close matches for a group that is not there, and ends with 1', async () => {
		const missing = await broker.run('group describe biling')
		expect(missing).toMatchObject({ code: 1, stdout: '' })
		expect(missing.stderr).toContain('did you mean billing?')
		expect(await broker.run('group describe')).toMatchObject({ code: 2 })
	})

	it('describes all that a pattern fits', async () => {
		const { items } = await broker.json('group describe -r .*')
		expect(items.map(({ group }) => group)).toEqual(expect.arrayContaining(['audit', 'billing']))
	})
})
