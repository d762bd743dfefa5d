/** The group commands as processes against a broker of ours. */

import { spawn } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { BrokerConnection } from '../../src/client/connection.js'
import { offsetCommit } from '../../src/protocol/messages/group-offsets.js'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { CLIENT } from '../helpers/broker.js'
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

describe('group list --idle', () => {
	it('tells when each last committed, and leaves out who did lately', async () => {
		const { items } = await broker.json('group list --idle 0s')
		expect(items).toMatchObject([{ group: 'audit' }, { group: 'billing' }])
		const [audit] = items as { lastActive: number }[]
		expect(Math.abs(Date.now() - (audit?.lastActive ?? 0))).toBeLessThan(600_000)
		const none = await broker.run('group list --idle 1h')
		expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'no groups that are idle for 1h\n'])
		// A commit that says its own, old time: version 1 of the request.
		const port = Number(broker.bootstrap.split(':')[1])
		const connection = await BrokerConnection.open(nodeRuntime(), '127.0.0.1', port, CLIENT)
		try {
			const committed = {
				partitionIndex: 0,
				committedOffset: 1n,
				commitTimestamp: 1_600_000_000_000,
				committedMetadata: '',
			}
			const request = {
				groupId: 'old',
				generationIdOrMemberEpoch: -1,
				memberId: '',
				topics: [{ name: 'read', partitions: [committed] }],
			}
			const { topics } = await connection.send(offsetCommit, 1, request)
			expect(topics[0]?.partitions[0]?.errorCode).toBe(0)
		} finally {
			connection.close()
		}
		const old = await broker.run('group list --idle 1h')
		expect(old.stdout).toMatch(/^GROUP .*LAST-ACTIVE\nold .* 2020-09-13T12:26:40.000Z\n$/)
		expect((await broker.run('group list --idle soon')).code).toBe(2)
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
