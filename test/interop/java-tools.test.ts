/** Apache Kafka's own command line tools, 3.9 and 4.1, against a broker of ours. */

import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, it as vitestIt } from 'vitest'
import { CODECS, HAS_JAVA, JAVA_VERSIONS, javaTool, storedCodecs } from '../helpers/peers.js'
import { type BrokerProcess, Cleanup, startBrokerProcess } from '../helpers/processes.js'

const cleanup = new Cleanup()
let broker: BrokerProcess
let data = ''
let at: string[] = []

describe.skipIf(!HAS_JAVA)('Java tools', () => {
	beforeAll(async () => {
		data = `${cleanup.folder()}/data`
		broker = await startBrokerProcess(data, ['-c', 'log.segment.delete.delay.ms=100'])
		at = ['--bootstrap-server', broker.bootstrap]
	})
	afterAll(async () => {
		await broker.kill()
		await cleanup.run()
	})

	describe.each(JAVA_VERSIONS)('$label', ({ version, label, isInstalled }) => {
		const it = vitestIt.skipIf(!isInstalled)
		const topic = `java-${version}`

		it(`${label}: topics are created, listed, described, grown and deleted`, async () => {
			const created = await javaTool(version, 'topics', [
				...at,
				'--create',
				'--topic',
				topic,
				'--partitions',
				'2',
				'--replication-factor',
				'1',
				'--config',
				'retention.ms=86400000',
			])
			expect(created.stdout).toContain(`Created topic ${topic}.`)
			const listed = await javaTool(version, 'topics', [...at, '--list'])
			expect(listed.stdout.split('\n')).toContain(topic)
			await javaTool(version, 'topics', [...at, '--alter', '--topic', topic, '--partitions', '3'])
			const described = await javaTool(version, 'topics', [...at, '--describe', '--topic', topic])
			expect(described.stdout).toMatch(/PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention.ms=86400000/)
			expect(described.stdout).toMatch(/Partition: 2\s+Leader: 1\s+Replicas: 1\s+Isr: 1/)
			const deleted = await javaTool(version, 'topics', [...at, '--delete', '--topic', topic])
			expect(deleted.code).toBe(0)
			expect((await javaTool(version, 'topics', [...at, '--list'])).stdout.split('\n')).not.toContain(topic)
		})

		for (const codec of CODECS) {
			it(`${label}: console producer and consumer with ${codec}; the stored batch has that codec`, async () => {
				const name = `${topic}-${codec}`
				await javaTool(version, 'topics', [...at, '--create', '--topic', name, '--partitions', '1'])
				const lines = Array.from({ length: 200 }, (_, i) => `k${i}\tvalue ${i} ${'y'.repeat(i)}`)
				const produced = await javaTool(
					version,
					'console-producer',
					[...at, '--topic', name, '--compression-codec', codec, '--property', 'parse.key=true'],
					`${lines.join('\n')}\n`,
				)
				expect(produced.code).toBe(0)
				const consumed = await javaTool(version, 'console-consumer', [
					...at,
					'--topic',
					name,
					'--group',
					`group-${name}`,
					'--from-beginning',
					'--max-messages',
					'200',
					'--property',
					'print.key=true',
				])
				expect(consumed.stdout.trimEnd().split('\n')).toEqual(lines)
				const codecs = storedCodecs(`${data}/${name}-0/00000000000000000000.log`)
				expect(codecs.length).toBeGreaterThan(0)
				expect(new Set(codecs)).toEqual(new Set([CODECS.indexOf(codec)]))
			})
		}

		it(`${label}: consumer groups are listed and described with their lag`, async () => {
			const listed = await javaTool(version, 'consumer-groups', [...at, '--list'])
			expect(listed.stdout).toContain(`group-${topic}-none`)
			const described = await javaTool(version, 'consumer-groups', [
				...at,
				'--describe',
				'--group',
				`group-${topic}-none`,
			])
			expect(described.stdout).toMatch(/java-tool4?-none\s+0\s+200\s+200\s+0/)
		})

		it(`${label}: offsets by time, deleted records, log dirs`, async () => {
			const name = `${topic}-none`
			const latest = await javaTool(version, 'get-offsets', [...at, '--topic', name, '--time', '-1'])
			expect(latest.stdout.trim()).toBe(`${name}:0:200`)
			const json = `${cleanup.folder()}/delete.json`
			writeFileSync(json, JSON.stringify({ partitions: [{ topic: name, partition: 0, offset: 50 }], version: 1 }))
			const deleted = await javaTool(version, 'delete-records', [...at, '--offset-json-file', json])
			expect(deleted.stdout).toContain('low_watermark: 50')
			const earliest = await javaTool(version, 'get-offsets', [...at, '--topic', name, '--time', '-2'])
			expect(earliest.stdout.trim()).toBe(`${name}:0:50`)
			const dirs = await javaTool(version, 'log-dirs', [...at, '--describe', '--topic-list', name])
			expect(dirs.stdout).toContain(`"partition":"${name}-0"`)
		})

		it(`${label}: configs of topics and brokers are set, shown and unset`, async () => {
			const name = `${topic}-gzip`
			const entity = ['--entity-type', 'topics', '--entity-name', name]
			await javaTool(version, 'configs', [
				...at,
				...entity,
				'--alter',
				'--add-config',
				'max.message.bytes=54321,cleanup.policy=[compact,delete]',
			])
			const shown = await javaTool(version, 'configs', [...at, ...entity, '--describe'])
			expect(shown.stdout).toContain('max.message.bytes=54321')
			expect(shown.stdout).toContain('cleanup.policy=compact,delete')
			await javaTool(version, 'configs', [...at, ...entity, '--alter', '--delete-config', 'max.message.bytes'])
			expect((await javaTool(version, 'configs', [...at, ...entity, '--describe'])).stdout).not.toContain('54321')
			const brokers = ['--entity-type', 'brokers', '--entity-name', '1']
			await javaTool(version, 'configs', [...at, ...brokers, '--alter', '--add-config', 'log.cleaner.threads=2'])
			expect((await javaTool(version, 'configs', [...at, ...brokers, '--describe'])).stdout).toContain(
				'log.cleaner.threads=2',
			)
		})

		it(`${label}: producer-perf, consumer-perf and broker-api-versions`, async () => {
			const name = `${topic}-perf`
			await javaTool(version, 'topics', [...at, '--create', '--topic', name, '--partitions', '3'])
			const produced = await javaTool(version, 'producer-perf', [
				...['--topic', name, '--num-records', '50000', '--record-size', '200', '--throughput', '-1'],
				...['--producer-props', `bootstrap.servers=${broker.bootstrap}`, 'acks=all', 'enable.idempotence=true'],
			])
			expect(produced.stdout).toContain('50000 records sent')
			const consumed = await javaTool(version, 'consumer-perf', [...at, '--topic', name, '--messages', '50000'])
			expect(consumed.stdout).toMatch(/, 50000, /)
			const versions = await javaTool(version, 'broker-api-versions', at)
			expect(versions.stdout).toContain('Produce(0): 0 to 11')
			expect(versions.stdout).toContain('Fetch(1): 0 to 17')
		})
	})

	it('dump-log reads our folders after a clean stop: records, indexes and snapshots', async () => {
		expect(await broker.stop()).toBe(143)
		const folder = `${data}/java-tool-none-0`
		const log = await javaTool('tool', 'dump-log', [
			'--deep-iteration',
			'--print-data-log',
			'--files',
			`${folder}/00000000000000000000.log`,
		])
		expect(log.stdout).toContain('payload: value 199')
		expect(log.stdout).toMatch(/isvalid: true/)
		const indexes = await javaTool('tool', 'dump-log', [
			'--verify-index-only',
			'--index-sanity-check',
			'--files',
			`${data}/java-tool-perf-0/00000000000000000000.index,${data}/java-tool-perf-0/00000000000000000000.timeindex`,
		])
		expect(`${indexes.stdout}${indexes.stderr}`).not.toMatch(/mismatch|Exception|Out of order/i)
	})
})
