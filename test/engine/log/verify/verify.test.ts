/** The offline check: silent on folders that are right, ours and Kafka's, and loud about every byte that is not. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Segment, segmentName } from '../../../../src/engine/log/segment.js'
import type { PartitionReport } from '../../../../src/engine/log/verify/partition-check.js'
import { nodeRuntime } from '../../../../src/runtime/node-runtime.js'
import type { SimDisk } from '../../../sim/disk.js'
import { check, FOLDER, filled } from './setup.js'

const FIXTURES = fileURLToPath(new URL('../../../fixtures/logs/', import.meta.url))

describe('folders of a real Kafka', () => {
	test.each(['clean', 'recovered', 'follower'])('%s: nothing is found, every batch is read', async (set) => {
		const { reports, faults } = await check(nodeRuntime().disk, join(FIXTURES, set))
		expect(faults).toEqual([])
		expect(reports.length).toBe(
			readdirSync(join(FIXTURES, set), { withFileTypes: true }).filter((each) => each.isDirectory()).length,
		)
		expect(reports.every(({ batches, nextOffset }) => batches > 0 && nextOffset > 0)).toBe(true)
	})

	test('killed: the torn ends are named by file, position and offset', async () => {
		const { faults } = await check(nodeRuntime().disk, join(FIXTURES, 'killed'))
		expect(
			faults.map(({ kind, file, position, offset }) => [kind, file.slice(FIXTURES.length), position, offset]),
		).toEqual([
			['batch', 'killed/epochs-0/00000000000000000000.log', 654, 18],
			['batch', 'killed/idempotent-0/00000000000000000000.log', 575, 15],
		])
	})
})

describe('folders of ours', () => {
	test('nothing is found after a clean stop', async () => {
		const disk = await filled()
		const { reports, faults } = await check(disk, '/data')
		expect(faults).toEqual([])
		expect(reports[0]).toMatchObject({ firstOffset: 0, notes: [], moreFaults: 0 })
		expect((reports[0] as PartitionReport).segments).toBeGreaterThan(3)
	})

	test('any byte of a log file that is changed is found', async () => {
		const disk = await filled()
		const missed: string[] = []
		for (const { name } of disk.listNow(FOLDER)) {
			if (!name.endsWith('.log')) continue
			const path = `${FOLDER}/${name}`
			const bytes = disk.readFileNow(path)
			// Every byte of the first batch's header, and some of the rest.
			for (let at = 0; at < bytes.length; at += at < 70 ? 1 : 13) {
				const file = disk.openNow(path, 'write')
				file.writeNow([Buffer.from([(bytes[at] as number) ^ 0x01])], at)
				const { faults } = await check(disk, '/data')
				if (faults.length === 0) missed.push(`${name} ${at}`)
				file.writeNow([bytes.subarray(at, at + 1)], at)
				file.closeNow()
			}
		}
		expect(missed).toEqual([])
		expect((await check(disk, '/data')).faults).toEqual([])
	})

	/** Where a reader would begin for every offset and every time of a segment, through its indexes. */
	function answersOf(disk: SimDisk, base: number): unknown[] {
		const size = disk.readFileNow(`${FOLDER}/${segmentName(base)}.log`).length
		const segment = new Segment(disk, FOLDER, base, size, { indexIntervalBytes: 100, segmentIndexBytes: 10_000 }, 0)
		try {
			const answers: unknown[] = []
			for (let offset = base; offset < base + 40; offset++) answers.push(segment.find(offset))
			for (let time = 1_700_000_000_000; time < 1_700_000_001_000; time += 5) {
				const before = segment.timeIndex.lookup(time - 1)
				answers.push(segment.findTimestamp(time, segment.offsetIndex.lookup(before.offset)))
			}
			return answers
		} catch (error) {
			return [String(error)]
		} finally {
			segment.abandon()
		}
	}

	test('any byte of an index or a snapshot that is changed is found, or leads every reader to the same place', async () => {
		const disk = await filled()
		const missed: string[] = []
		const kinds = { index: 'index', timeindex: 'timeindex', txnindex: 'txnindex', snapshot: 'snapshot' } as const
		let harmless = 0
		for (const { name } of disk.listNow(FOLDER)) {
			const [stem, ending] = name.split('.') as [string, string]
			const kind = kinds[ending as keyof typeof kinds] as (typeof kinds)[keyof typeof kinds] | undefined
			if (kind === undefined) continue
			const path = `${FOLDER}/${name}`
			const bytes = disk.readFileNow(path)
			const isIndex = kind === 'index' || kind === 'timeindex'
			const right = isIndex ? answersOf(disk, Number(stem)) : []
			for (let at = 0; at < bytes.length; at++) {
				// The last stable offset of an aborted transaction (the last 8 of 34 bytes) is a hint that readers may do without.
				if (kind === 'txnindex' && at % 34 >= 26) continue
				const file = disk.openNow(path, 'write')
				file.writeNow([Buffer.from([(bytes[at] as number) ^ 0x01])], at)
				const { faults } = await check(disk, '/data')
				if (!faults.some((fault) => fault.kind === kind && fault.file === path)) {
					harmless++
					if (!isIndex) missed.push(`${name} ${at}`)
					else expect([name, at, answersOf(disk, Number(stem))]).toEqual([name, at, right])
				}
				file.writeNow([bytes.subarray(at, at + 1)], at)
				file.closeNow()
			}
		}
		expect(missed).toEqual([])
		// An entry may name another offset of the same batch, or the end of the next one: few do.
		expect(harmless).toBeLessThan(40)
	})

	const replace = (disk: SimDisk, path: string, edit: (text: string) => string): void => {
		const text = disk.readFileNow(path).toString()
		const changed = edit(text)
		expect(changed).not.toBe(text)
		const file = disk.openNow(path, 'fresh')
		file.writeNow([Buffer.from(changed)], 0)
		file.closeNow()
	}

	test.each<[string, string, (disk: SimDisk, last: string) => void]>([
		[
			'a batch that is cut',
			'batch',
			(disk, last) =>
				disk.openNow(`${FOLDER}/${last}`, 'write').truncateNow(disk.readFileNow(`${FOLDER}/${last}`).length - 1),
		],
		[
			'a last segment without its last batch',
			'checkpoint',
			(disk, last) => disk.openNow(`${FOLDER}/${last}`, 'write').truncateNow(0),
		],
		[
			'a segment in the middle that is gone',
			'snapshot',
			(disk) =>
				disk.removeNow(`${FOLDER}/${disk.listNow(FOLDER).filter(({ name }) => name.endsWith('.log'))[2]?.name}`),
		],
		['a segment without its log file', 'missing', (disk) => disk.removeNow(`${FOLDER}/00000000000000000000.log`)],
		[
			'offsets that no segment has, in a log that was never compacted',
			'missing',
			(disk) => {
				const third = disk.listNow(FOLDER).filter(({ name }) => name.endsWith('.log'))[2]?.name as string
				for (const { name } of disk.listNow(FOLDER)) {
					if (name.startsWith(third.slice(0, 20))) disk.removeNow(`${FOLDER}/${name}`)
				}
			},
		],
		['a folder that is gone after a clean stop', 'missing', (disk) => disk.renameNow(FOLDER, '/elsewhere')],
		['an index that is gone', 'missing', (disk, last) => disk.removeNow(`${FOLDER}/${last.replace('.log', '.index')}`)],
		[
			'a time index that is gone',
			'missing',
			(disk, last) => disk.removeNow(`${FOLDER}/${last.replace('.log', '.timeindex')}`),
		],
		[
			'an index with half an entry',
			'index',
			(disk) => disk.openNow(`${FOLDER}/00000000000000000000.index`, 'write').truncateNow(12),
		],
		[
			'an epoch that begins elsewhere',
			'epochs',
			(disk) =>
				replace(disk, `${FOLDER}/leader-epoch-checkpoint`, (text) =>
					text.replace(/^4 (\d+)$/m, (_, at) => `4 ${Number(at) + 1}`),
				),
		],
		[
			'an epoch that is missing',
			'epochs',
			(disk) => replace(disk, `${FOLDER}/leader-epoch-checkpoint`, () => '0\n1\n3 0\n'),
		],
		[
			'epochs that are no checkpoint',
			'epochs',
			(disk) => replace(disk, `${FOLDER}/leader-epoch-checkpoint`, () => 'nonsense'),
		],
		[
			'a topic id that is none',
			'metadata',
			(disk) => {
				const file = disk.openNow(`${FOLDER}/partition.metadata`, 'fresh')
				file.writeNow([Buffer.from('version: 0\ntopic_id: !\n')], 0)
				file.closeNow()
			},
		],
		[
			'a recovery point behind the end',
			'checkpoint',
			(disk) => replace(disk, '/data/recovery-point-offset-checkpoint', (text) => text.replace(/t 0 \d+/, 't 0 99999')),
		],
		[
			'a log start behind the end',
			'checkpoint',
			(disk) => replace(disk, '/data/log-start-offset-checkpoint', () => '0\n1\nt 0 99999\n'),
		],
		[
			'a high watermark behind the end',
			'checkpoint',
			(disk) => replace(disk, '/data/replication-offset-checkpoint', () => '0\n1\nt 0 99999\n'),
		],
		[
			'a checkpoint of nonsense',
			'checkpoint',
			(disk) => replace(disk, '/data/recovery-point-offset-checkpoint', () => '0\n7\n'),
		],
		[
			'the same segment twice',
			'order',
			(disk) => {
				const first = disk.readFileNow(`${FOLDER}/00000000000000000000.log`)
				const file = disk.openNow(`${FOLDER}/00000000000000000005.log`, 'fresh')
				file.writeNow([first], 0)
				file.closeNow()
			},
		],
	])('%s', async (_, kind, damage) => {
		const disk = await filled()
		const logs = disk.listNow(FOLDER).filter(({ name }) => name.endsWith('.log'))
		damage(disk, logs[logs.length - 1]?.name as string)
		const { faults } = await check(disk, '/data')
		expect(faults.map((fault) => fault.kind)).toContain(kind)
		for (const fault of faults) expect(fault.file.startsWith('/data/')).toBe(true)
	})

	test('damage that shows a thousand times is listed twenty times, and counted', async () => {
		const disk = await filled()
		replace(disk, `${FOLDER}/leader-epoch-checkpoint`, () => '0\n1\n9 0\n')
		const { reports } = await check(disk, '/data')
		expect(reports[0]?.faults.filter(({ kind }) => kind === 'epochs').length).toBe(20)
		expect(reports[0]?.moreFaults).toBeGreaterThan(10)
	})
})
