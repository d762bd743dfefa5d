/** The commands that look at clusters and change them, against Apache Kafka 3.9 (ZooKeeper) and 4.1 (KRaft). */

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePorts } from '../helpers/free-port.js'
import { HAS_JAVA, HAS_JAVA4, javaTool, peers } from '../helpers/peers.js'
import { Cleanup, kcli } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const VERSIONS = [
	{ label: 'Apache Kafka 3.9', tool: 'tool', release: '3.9', isHere: HAS_JAVA },
	{ label: 'Apache Kafka 4.1', tool: 'tool4', release: '4.1', isHere: HAS_JAVA4 },
] as const

interface Result {
	readonly code: number | null
	readonly stdout: string
	readonly stderr: string
	// biome-ignore lint/suspicious/noExplicitAny: items differ by command, and tests look into them
	readonly items: any[]
	readonly errors: { item: string; code: number; message: string }[]
}

for (const { label, tool, release, isHere } of VERSIONS) {
	describe.skipIf(!isHere)(label, () => {
		const cleanup = new Cleanup()
		let bootstrap = ''
		let dataDir = ''

		const run = (line: string, input?: string) =>
			kcli([...line.split(' '), '-b', bootstrap], input === undefined ? {} : { input })
		const json = async (line: string): Promise<Result> => {
			const done = await run(`${line} --json`)
			return { ...done, ...JSON.parse(done.stdout) }
		}

		beforeAll(async () => {
			const folder = cleanup.folder()
			const [port = 0, zookeeperPort = 0] = await freePorts(2)
			const start = async (...args: string[]): Promise<void> => {
				cleanup.add(() => peers(['stop', args[1] as string]))
				const done = await peers(args)
				if (done.code !== 0) throw new Error(done.stderr)
			}
			const kafka = join(folder, 'kafka')
			if (tool === 'tool') {
				await start('zk', join(folder, 'zk'), String(zookeeperPort))
				await start('broker', kafka, '1', String(port), `127.0.0.1:${zookeeperPort}`)
			} else await start('kraft', kafka, String(port))
			bootstrap = `127.0.0.1:${port}`
			dataDir = join(kafka, 'logs')
		})
		afterAll(() => cleanup.run())

		it('topics are created, listed, described, altered and deleted', async () => {
			const made = await json('topic create orders -p 3 -r 1 -c retention.ms=7d --wait')
			expect(made).toMatchObject({
				code: 0,
				errors: [],
				items: [{ name: 'orders', status: 'created', partitionCount: 3, replicationFactor: 1 }],
			})
			expect((await json('topic create orders')).errors).toMatchObject([{ item: 'orders', code: 36 }])
			expect((await json('topic create orders --if-not-exists')).code).toBe(0)
			expect((await json('topic create like --like orders')).items).toMatchObject([
				{ partitionCount: 3, configs: { 'retention.ms': '604800000' } },
			])
			expect((await json('topic create dry --dry-run')).code).toBe(0)
			expect((await run('topic list -o name')).stdout).toBe('like\norders\n')
			await run('produce orders -p 2', 'a\nb\n')
			const described = await json('topic describe orders')
			expect(described.items[0]).toMatchObject({
				records: 2,
				overrides: [{ name: 'retention.ms', value: '604800000' }],
				partitions: [{ leader: 1, isr: [1] }, {}, { startOffset: 0, endOffset: 2, records: 2 }],
			})
			expect((await json('topic list --size --count')).items[1]).toMatchObject({ name: 'orders', records: 2 })
			const altered = await json('topic alter orders -p 4 -c cleanup.policy=compact --unset retention.ms')
			expect(altered.items).toMatchObject([
				{ key: 'partitions', oldValue: '3', newValue: '4', status: 'changed' },
				{ key: 'cleanup.policy', oldValue: 'delete', newValue: 'compact', status: 'changed' },
				{ key: 'retention.ms', oldValue: '604800000', newValue: '604800000' },
			])
			expect((await json('topic alter orders -p 1')).errors).toMatchObject([{ item: 'orders', code: 37 }])
			expect((await run('topic describe order')).stderr).toContain('did you mean orders?')
			expect((await json('topic delete like --dry-run')).items).toMatchObject([{ status: 'would-delete' }])
			expect((await json('topic delete like nothing --yes --wait')).errors).toMatchObject([
				{ item: 'nothing', code: 3 },
			])
			await until('the topic is gone', async () => (await run('topic list -o name')).stdout === 'orders\n')
		})

		it('settings are shown, set, appended and unset, by entity', async () => {
			await run('topic create settings -r 1')
			expect((await json('config set topic/settings retention.ms=1h')).items).toMatchObject([
				{ oldValue: '604800000', newValue: '3600000', status: 'changed' },
			])
			expect((await json('config append topic/settings cleanup.policy=compact')).items).toMatchObject([
				{ oldValue: 'delete', newValue: 'delete,compact' },
			])
			expect((await json('config subtract topic/settings cleanup.policy=delete')).items).toMatchObject([
				{ newValue: 'compact' },
			])
			expect((await json('config describe topic/settings')).items).toMatchObject([
				{ key: 'cleanup.policy', value: 'compact', source: 'topic', type: 'list' },
				{ key: 'retention.ms', value: '3600000', source: 'topic', type: 'long' },
			])
			const documented = await json('config describe topic/settings --all --docs')
			expect(documented.items.length).toBeGreaterThan(20)
			expect(documented.items[0].documentation).toMatch(/\w/)
			expect((await json('config unset topic/settings retention.ms cleanup.policy')).code).toBe(0)
			expect((await json('config describe topic/settings')).items).toEqual([])
			expect((await json('config set topic/settings retenton.ms=1h')).errors).toMatchObject([{ code: 40 }])
			expect((await json('config set topic/settings retention.ms=2h --dry-run')).code).toBe(0)
			expect((await json('config describe topic/settings')).items).toEqual([])
			expect((await json('config set broker/1 log.cleaner.threads=2')).items).toMatchObject([{ newValue: '2' }])
			expect((await json('config set broker/default log.retention.ms=3d')).items).toMatchObject([
				{ newValue: '259200000' },
			])
			expect((await json('config describe broker/default --key log.retention.ms')).items).toMatchObject([
				{ key: 'log.retention.ms' },
			])
			expect((await json('config unset broker/default log.retention.ms')).code).toBe(0)
			expect((await json('config describe broker/1 --key log.cleaner.threads')).items).toMatchObject([
				{ value: '2', source: 'broker' },
			])
		})

		it('groups are listed and described with offsets and lag, also of a Java consumer', async () => {
			await run('topic create read -r 1')
			await run('produce read', 'a\nb\nc\n')
			const consumed = await javaTool(tool, 'console-consumer', [
				...['--bootstrap-server', bootstrap, '--topic', 'read', '--group', 'billing'],
				...['--from-beginning', '--max-messages', '2', '--timeout-ms', '30000'],
			])
			expect(consumed.stdout.split('\n').slice(0, 2)).toEqual(['a', 'b'])
			await until('the group is empty', async () => (await json('group list billing')).items[0]?.state === 'Empty')
			expect((await json('group list billing --lag')).items).toMatchObject([
				{ group: 'billing', lag: 1, topics: ['read'], coordinator: 1, type: 'classic' },
			])
			expect((await json('group describe billing')).items).toMatchObject([
				{ group: 'billing', state: 'Empty', offsets: [{ topic: 'read', offset: 2, endOffset: 3, lag: 1 }] },
			])
			expect((await run('group describe biling')).stderr).toContain('did you mean billing?')
			expect((await json('topic describe read --section groups')).items[0].groups).toMatchObject([
				{ group: 'billing', lag: 1 },
			])
			expect((await json('topic list --internal -r __.*')).items).toMatchObject([{ name: '__consumer_offsets' }])
		})

		// 3.9 in ZooKeeper mode has no such groups.
		const itOfNew = tool === 'tool4' ? it : () => undefined
		itOfNew('a group of the new protocol is shown as far as it can be asked', async () => {
			await run('topic create modern -r 1')
			await run('produce modern', 'a\nb\n')
			const consumed = await javaTool(tool, 'console-consumer', [
				...['--bootstrap-server', bootstrap, '--topic', 'modern', '--group', 'modern-readers'],
				...['--consumer-property', 'group.protocol=consumer'],
				...['--from-beginning', '--max-messages', '1', '--timeout-ms', '30000'],
			])
			expect(consumed.stdout).toBe('a\n')
			expect((await json('group list modern-readers')).items).toMatchObject([{ type: 'consumer' }])
			expect((await json('group describe modern-readers')).items).toMatchObject([
				{ state: 'Empty', memberCount: null, offsets: [{ offset: 1, endOffset: 2, lag: 1 }] },
			])
		})

		it('the cluster and its versions are told', async () => {
			const { items } = await json('cluster info')
			expect(items).toMatchObject([{ offline: 0, brokers: [{ id: 1, release, host: '127.0.0.1' }] }])
			const checked = await json('version --check')
			expect(checked.code).toBe(0)
			expect(checked.items.at(-1)).toEqual({ component: 'broker-1', version: release, unserved: [] })
		})

		it('its files are dumped as its own tool dumps them, and found whole', async () => {
			await run('topic create files -r 1')
			await run('produce files -z gzip', Array.from({ length: 500 }, (_, i) => `record ${i}\n`).join(''))
			const segments = await kcli(['log', 'segments', 'files:0', '--data-dir', dataDir, '--json'])
			expect(segments.code).toBe(0)
			expect(JSON.parse(segments.stdout).items).toMatchObject([
				{ baseOffset: 0, nextOffset: 500, log: 'ok', index: 'ok' },
			])
			const file = join(dataDir, 'files-0', '00000000000000000000.log')
			const ours = await kcli(['log', 'dump', file, '--records'])
			const theirs = await javaTool(tool, 'dump-log', ['--files', file, '--print-data-log'])
			const batches = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('baseOffset:'))
			expect(batches(ours.stdout).length).toBeGreaterThan(0)
			expect(batches(ours.stdout)).toEqual(batches(theirs.stdout))
			const payloads = (text: string): string[] => text.match(/payload: record \d+/g) ?? []
			expect(payloads(ours.stdout)).toHaveLength(500)
			expect(payloads(ours.stdout)).toEqual(payloads(theirs.stdout))
		})
	})
}
