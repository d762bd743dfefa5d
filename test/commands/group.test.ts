/** The group commands as processes against a broker of ours. */

import { beforeAll, describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'

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

	it('offers close matches for a group that is not there, and ends with 1', async () => {
		const missing = await broker.run('group describe biling')
		expect(missing).toMatchObject({ code: 1, stdout: '' })
		expect(missing.stderr).toContain('did you mean billing?')
		expect(await broker.run('group describe')).toMatchObject({ code: 2 })
	})

	it('describes all that a pattern fits', async () => {
		const { items } = await broker.json('group describe -r .*')
		expect(items.map(({ group }) => group)).toEqual(['audit', 'billing'])
	})
})
