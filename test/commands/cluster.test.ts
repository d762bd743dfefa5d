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

	it('-v tells of each connection and request on stderr, --log-level info of connections; stdout is the same', async () => {
		const quiet = await broker.run('cluster info')
		expect(quiet.stderr).toBe('')
		const all = await broker.run('cluster info -v')
		expect(all.stdout).toBe(quiet.stdout)
		expect(all.stderr).toMatch(/ INFO {2}client: connected broker=127\.0\.0\.1:\d+ ms=\d+ tls=false\n/)
		expect(all.stderr).toMatch(
			/ DEBUG client: answered request=Metadata-\d+ broker=127\.0\.0\.1:\d+ ms=[\d.]+ bytes=\d+\n/,
		)
		const some = await broker.run('cluster info --log-level info')
		expect(some.stderr).toContain(' client: connected ')
		expect(some.stderr).not.toContain(' answered ')
		expect((await broker.run('cluster info --log-level loud')).code).toBe(2)
	})
})
