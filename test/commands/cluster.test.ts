import { describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'

const broker = brokerForFile()

describe('cluster info', () => {
	it('shows id, controller, counts and brokers', async () => {
		await broker.run('topic create counted -p 3')
		const { items, code } = await broker.json('cluster info')
		expect(code).toBe(0)
		expect(items).toMatchObject([
			{
				controller: 1,
				offline: 0,
				brokers: [{ id: 1, host: '127.0.0.1', isController: true, release: '3.9', rack: null }],
			},
		])
		expect(items[0].partitions).toBeGreaterThanOrEqual(3)
		const page = await broker.run('cluster info')
		expect(page.stdout).toMatch(/^cluster +\S{22}\ncontroller +1\n/)
	})

	it('says what is wrong when nothing listens, in one line and as JSON, with 1', async () => {
		const none = await broker.run('cluster info -b 127.0.0.1:1 --timeout 300ms')
		expect(none).toMatchObject({ code: 1, stdout: '' })
		expect(none.stderr.split('\n')[0]).toContain('127.0.0.1:1')
		const json = await broker.json('cluster info -b 127.0.0.1:1 --timeout 300ms')
		expect(json).toMatchObject({ code: 1, kind: 'ClusterInfo', items: [] })
		expect(json.errors).toHaveLength(1)
	})
})
