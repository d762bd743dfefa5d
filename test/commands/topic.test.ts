/** The topic commands as processes against a broker of ours. */

import { describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'
import { until } from '../helpers/until.js'

const broker = brokerForFile()

describe('topic create', () => {
	it('creates several with counts and settings in human units, and says what was made', async () => {
		const made = await broker.run('topic create made-a made-b -p 2 -r 1 -c retention.ms=7d -c segment.bytes=256MiB')
		expect(made).toMatchObject({ code: 0, stderr: '' })
		expect(made.stdout).toBe(
			'NAME    STATUS   PARTITIONS  REPLICAS\nmade-a  created           2         1\nmade-b  created           2         1\n',
		)
		const { items } = await broker.json('config describe topic/made-a')
		expect(items.map(({ key, value }) => [key, value])).toEqual([
			['retention.ms', '604800000'],
			['segment.bytes', '268435456'],
		])
	})

	it('fails on one that is there, and does not with --if-not-exists', async () => {
		await broker.run('topic create there')
		const again = await broker.json('topic create there fresh')
		expect(again.code).toBe(1)
		expect(again.items).toMatchObject([{ name: 'fresh', status: 'created' }])
		expect(again.errors).toMatchObject([{ item: 'there', code: 36, name: 'TOPIC_ALREADY_EXISTS' }])
		const allowed = await broker.json('topic create there --if-not-exists')
		expect(allowed).toMatchObject({ code: 0, items: [{ name: 'there', status: 'exists' }], errors: [] })
	})

	it('creates nothing in a dry run', async () => {
		const dry = await broker.json('topic create dry -p 3 --dry-run')
		expect(dry).toMatchObject({ code: 0, dryRun: true, items: [{ name: 'dry', status: 'would-create' }] })
		expect((await broker.run('topic list dry')).code).toBe(1)
	})

	it('takes counts and settings of another topic, and replicas by partition', async () => {
		await broker.run('topic create model -p 5 -c cleanup.policy=compact')
		const like = await broker.json('topic create twin --like model -c retention.ms=1h')
		expect(like.items).toMatchObject([
			{ partitionCount: 5, configs: { 'cleanup.policy': 'compact', 'retention.ms': '3600000' } },
		])
		const assigned = await broker.json('topic create assigned --assign 0:1 --assign 1:1 --wait')
		expect(assigned).toMatchObject({ code: 0, items: [{ partitionCount: 2, replicationFactor: 1 }] })
		expect(await broker.run('topic create odd --assign 1:1')).toMatchObject({ code: 2 })
		expect((await broker.run('topic create odd --assign 0:x')).stderr).toContain('PARTITION:BROKER')
	})

	it('refuses when the environment says read only', async () => {
		for (const line of ['produce read-only --create', 'consume read-only -g readers -c 1']) {
			const result = await broker.run(line, { env: { KCLI_READ_ONLY: '1' }, input: 'a\n' })
			expect(result, line).toMatchObject({ code: 2, stdout: '' })
			expect(result.stderr).toContain('KCLI_READ_ONLY')
		}
		const refused = await broker.run('topic create never', { env: { KCLI_READ_ONLY: '1' } })
		expect(refused).toMatchObject({ code: 2, stdout: '' })
	})
})

describe('topic list', () => {
	it('lists what is asked for in every form', async () => {
		await broker.run('topic create list-a -p 2')
		await broker.run('topic create list-b')
		expect((await broker.run('topic list -r list-.* -o name')).stdout).toBe('list-a\nlist-b\n')
		expect((await broker.run('topics ls -r list-.* -o tsv')).stdout).toMatch(/^list-a\t2\t1\t0\t0\tfalse\t\S+\n/)
		const { items, kind, clusterId } = await broker.json('topic list list-a list-b --size --count')
		expect(kind).toBe('TopicList')
		expect(clusterId).toMatch(/^\S{22}$/)
		expect(items).toMatchObject([
			{ name: 'list-a', partitionCount: 2, replicationFactor: 1, internal: false, bytes: 0, records: 0 },
			{ name: 'list-b', partitionCount: 1 },
		])
	})

	it('offers close matches for a topic that is not there, and ends with 1', async () => {
		await broker.run('topic create payments')
		const missing = await broker.run('topic list paymants')
		expect(missing).toMatchObject({ code: 1, stdout: '' })
		expect(missing.stderr).toContain('did you mean payments?')
	})

	it('filters and sorts', async () => {
		await broker.run('topic create sort-full sort-empty sort-own -c retention.ms=1h')
		await broker.run('produce sort-full', { input: 'one\ntwo\n' })
		expect((await broker.run('topic list -r sort-.* --only empty -o name')).stdout).toBe('sort-empty\nsort-own\n')
		expect((await broker.run('topic list -r sort-.* --sort count -o name')).stdout).toMatch(/^sort-full\n/)
		expect((await broker.run('topic list -r sort-.* --only overrides -o name')).stdout).toContain('sort-own')
		expect((await broker.run('topic list -r sort-.* --only urp -o name')).stdout).toBe('')
		expect((await broker.run('topic list -r sort-.* --only min-isr -o name')).stdout).toBe('')
	})

	it('shows how far the slowest group is behind, and what nobody reads', async () => {
		await broker.run('topic create lag-read lag-unread')
		await broker.run('produce lag-read', { input: 'a\nb\nc\n' })
		await broker.run('consume lag-read -g slow -e -c 1')
		await broker.run('consume lag-read -g fast -e')
		const { items } = await broker.json('topic list lag-read lag-unread --lag')
		expect(items).toMatchObject([
			{ name: 'lag-read', lag: 2 },
			{ name: 'lag-unread', lag: null },
		])
		expect((await broker.run('topic list -r lag-.* --only unread -o name')).stdout).toBe('lag-unread\n')
	})

	it("leaves Kafka's own topics out unless they are asked for", async () => {
		await broker.run('produce group-maker --create', { input: 'x\n' })
		await broker.run('consume group-maker -g lister -e')
		const shown = async (line: string) => (await broker.run(line)).stdout.includes('__consumer_offsets')
		expect(await shown('topic list -o name')).toBe(false)
		expect(await shown('topic list --internal -o name')).toBe(true)
		expect(await shown('topic list __consumer_offsets -o name')).toBe(true)
		expect(await shown('topic list -r __.* -o name')).toBe(false)
	})

	it('names a broken pattern', async () => {
		expect(await broker.run('topic list -r (')).toMatchObject({ code: 2, stdout: '' })
	})
})

describe('topic describe', () => {
	it('shows partitions with leaders, replicas and offsets, and settings of its own', async () => {
		await broker.run('topic create shown -p 2 -c retention.ms=7d')
		await broker.run('produce shown -p 1', { input: 'a\nb\nc\n' })
		const { items, code } = await broker.json('topic describe shown')
		expect(code).toBe(0)
		expect(items[0]).toMatchObject({
			name: 'shown',
			partitionCount: 2,
			records: 3,
			overrides: [{ name: 'retention.ms', value: '604800000', source: 'topic' }],
			partitions: [
				{ partition: 0, leader: 1, replicas: [1], isr: [1], startOffset: 0, endOffset: 0 },
				{ partition: 1, leader: 1, startOffset: 0, endOffset: 3, records: 3 },
			],
		})
		const page = await broker.run('topic desc shown --human')
		expect(page.stdout).toMatch(/^shown\nid +\S{22}\npartitions +2\n/)
		expect(page.stdout).toMatch(/retention\.ms {2}7d\n$/)
		expect(page.stderr).toBe('')
	})

	it('shows only the sections that are asked for, and the groups that read', async () => {
		await broker.run('topic create sections')
		await broker.run('produce sections', { input: 'a\nb\n' })
		await broker.run('consume sections -g reader -e -c 1')
		const { items } = await broker.json('topic describe sections --section groups')
		expect(items[0].groups).toMatchObject([{ group: 'reader', lag: 1 }])
		expect((await broker.run('topic describe sections --section configs')).stdout).not.toContain('PARTITION')
		expect(await broker.run('topic describe sections --section nonsense')).toMatchObject({ code: 2 })
	})

	it('goes on after one that is not there, and ends with 1', async () => {
		await broker.run('topic create is-there')
		const result = await broker.json('topic describe is-there is-their')
		expect(result.code).toBe(1)
		expect(result.items).toHaveLength(1)
		expect(result.errors).toMatchObject([{ item: 'is-their', code: 3 }])
	})
})

describe('topic alter', () => {
	it('adds partitions and changes settings, old and new shown', async () => {
		await broker.run('topic create altered -c retention.ms=7d -c segment.bytes=1MiB')
		const { items, code } = await broker.json('topic alter altered -p 3 -c retention.ms=1d --unset segment.bytes')
		expect(code).toBe(0)
		expect(items).toEqual([
			{ topic: 'altered', key: 'partitions', oldValue: '1', newValue: '3', status: 'changed' },
			{ topic: 'altered', key: 'retention.ms', oldValue: '604800000', newValue: '86400000', status: 'changed' },
			{ topic: 'altered', key: 'segment.bytes', oldValue: '1048576', newValue: '1073741824', status: 'changed' },
		])
		await until('three partitions', async () => {
			const { items: now } = await broker.json('topic describe altered')
			return now[0].partitionCount === 3
		})
	})

	it('changes nothing in a dry run, and names what cannot be', async () => {
		await broker.run('topic create steady -p 2')
		const dry = await broker.json('topic alter steady -p 4 -c retention.ms=1h --dry-run')
		expect(dry).toMatchObject({
			code: 0,
			dryRun: true,
			items: [{ status: 'would-change' }, { status: 'would-change' }],
		})
		expect((await broker.json('topic describe steady')).items[0]).toMatchObject({ partitionCount: 2, overrides: [] })
		const fewer = await broker.run('topic alter steady -p 1')
		expect(fewer.code).toBe(1)
		expect(fewer.stderr).toContain('never taken away')
		const misspelled = await broker.run('topic alter steady -c retenton.ms=1h')
		expect(misspelled.code).toBe(1)
		expect(misspelled.stderr).toContain('did you mean retention.ms?')
		expect(await broker.run('topic alter steady')).toMatchObject({ code: 2, stdout: '' })
	})
})

describe('topic delete', () => {
	it('does nothing without --yes where nobody can be asked, and tells a dry run from a deletion', async () => {
		await broker.run('topic create doomed')
		await broker.run('produce doomed', { input: 'x\n' })
		const refused = await broker.run('topic delete doomed')
		expect(refused).toMatchObject({ code: 2, stdout: '' })
		expect(refused.stderr).toContain('--yes')
		const dry = await broker.json('topic delete doomed --dry-run')
		expect(dry).toMatchObject({ code: 0, dryRun: true, items: [{ status: 'would-delete', records: 1 }] })
		expect((await broker.run('topic list doomed')).code).toBe(0)
		const done = await broker.json('topic delete doomed --yes --wait')
		expect(done).toMatchObject({ code: 0, dryRun: false, items: [{ name: 'doomed', status: 'deleted' }] })
		expect((await broker.run('topic list doomed')).code).toBe(1)
	})

	it('takes an absent one as done with --if-exists', async () => {
		expect((await broker.json('topic rm absent -y')).code).toBe(1)
		expect(await broker.json('topic rm absent -y --if-exists')).toMatchObject({
			code: 0,
			items: [{ name: 'absent', status: 'absent' }],
		})
	})

	it('deletes by pattern, whole names only, and never what belongs to Kafka', async () => {
		await broker.run('topic create junk-1 junk-2 not-junk-3')
		const done = await broker.json('topic delete -r junk-. --yes')
		expect(done.items.map(({ name }) => name)).toEqual(['junk-1', 'junk-2'])
		expect((await broker.run('topic list not-junk-3')).code).toBe(0)
		const internal = await broker.run('topic delete __consumer_offsets --yes')
		expect(internal).toMatchObject({ code: 2, stdout: '' })
		expect(internal.stderr).toContain('--internal')
	})
})
