/**
 * Repair: whatever is damaged, the check finds nothing afterwards, every batch that can be read is read as before, the offsets
 * that are gone are named, and a broker opens the folder.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BackupDisk } from '../../../../src/engine/log/repair/backup-disk.js'
import { repairCheckpoints } from '../../../../src/engine/log/repair/checkpoint-repair.js'
import { planRepair, type RepairStep, repairPartition } from '../../../../src/engine/log/repair/partition-repair.js'
import { segmentName } from '../../../../src/engine/log/segment.js'
import { batchBaseOffset, batchBytes, batchLastOffset, writeBatchCrc } from '../../../../src/protocol/records/batch.js'
import { nodeRuntime } from '../../../../src/runtime/node-runtime.js'
import { SimDisk } from '../../../sim/disk.js'
import { openLog, World } from '../setup.js'
import { check, FOLDER, filled, SEGMENT } from '../verify/setup.js'

const { compression } = nodeRuntime()
const WHOLE = await filled()

/** A copy of the whole data dir. */
function copyOf(whole: SimDisk): SimDisk {
	const disk = new SimDisk()
	disk.makeDirectoryNow(FOLDER)
	for (const directory of ['/data', FOLDER]) {
		for (const { name, isDirectory } of whole.listNow(directory)) {
			if (!isDirectory) put(disk, `${directory}/${name}`, whole.readFileNow(`${directory}/${name}`))
		}
	}
	return disk
}

function put(disk: SimDisk, path: string, bytes: Buffer | string): void {
	const file = disk.openNow(path, 'fresh')
	file.writeNow([Buffer.from(bytes)], 0)
	file.closeNow()
}

function logs(disk: SimDisk): string[] {
	return disk
		.listNow(FOLDER)
		.map(({ name }) => name)
		.filter((name) => name.endsWith('.log'))
}

/** Batches by base offset, without the base offset and leader epoch that stand in front of the CRC. */
function batchesIn(disk: SimDisk): Map<number, Buffer> {
	const batches = new Map<number, Buffer>()
	for (const name of logs(disk)) {
		const bytes = disk.readFileNow(`${FOLDER}/${name}`)
		for (let at = 0; at + 61 <= bytes.length; at += batchBytes(bytes, at)) {
			batches.set(batchBaseOffset(bytes, at), bytes.subarray(at + 16, at + batchBytes(bytes, at)))
		}
	}
	return batches
}

/** As the command does it: check, repair, check, checkpoints, until nothing is found. */
async function repair(disk: SimDisk): Promise<RepairStep[]> {
	const world = new World(disk)
	const steps: RepairStep[] = []
	const kept = new BackupDisk(disk, '/data', '/backup')
	for (let round = 0; round < 3; round++) {
		const { reports, faults } = await check(disk, '/data')
		if (faults.length === 0) break
		let hasGap = false
		for (const report of reports) {
			if (report.faults.length === 0) continue
			const runtime = { ...world.runtime, disk: kept }
			const options = { logStartOffset: null, wasCompacted: false, decompressedBytesMax: 1e8 }
			const plan = await planRepair(runtime, report.directory, report.faults, options)
			await repairPartition(runtime, plan)
			steps.push(...plan.steps)
			hasGap ||= plan.hasGap
		}
		const after = await check(disk, '/data')
		const spans = new Map(after.reports.map((report) => ['t-0', { ...report, hasGap }]))
		steps.push(...repairCheckpoints(kept, '/data', spans, true, false))
	}
	for (const [path, copy] of kept.copies) expect(copy).toBe(`/backup${path.slice('/data'.length)}`)
	return steps
}

function isLost(steps: readonly RepairStep[], offset: number): boolean {
	return steps.some(
		({ lost }) => lost !== null && offset >= lost.first && offset <= (lost.last ?? Number.POSITIVE_INFINITY),
	)
}

/** Nothing is found, a broker opens the folder, and all of `expected` is there. */
async function expectRight(disk: SimDisk, steps: readonly RepairStep[], spoilt: ReadonlySet<number>): Promise<void> {
	expect((await check(disk, '/data')).faults).toEqual([])
	const before = batchesIn(WHOLE)
	const after = batchesIn(disk)
	for (const [base, bytes] of before) {
		// That an offset was raised cannot be told at the log's end or behind a loss: the batch is read at its new one.
		if (spoilt.has(base) && [...after.values()].some((one) => one.equals(bytes))) continue
		if (spoilt.has(base)) {
			if (!after.has(base)) expect([base, isLost(steps, base)]).toEqual([base, true])
		} else expect([base, after.get(base)?.equals(bytes)]).toEqual([base, true])
	}
	const end = (await check(disk, '/data')).reports[0]?.nextOffset
	const opened = await openLog(disk, SEGMENT)
	expect(opened.log.logEndOffset).toBe(end)
	await opened.manager.close(1n)
	// And after kill -9 too: what lies behind a gap stays.
	for (const name of ['.kafka_cleanshutdown', 'recovery-point-offset-checkpoint']) disk.removeNow(`/data/${name}`)
	const again = await openLog(disk, SEGMENT)
	expect(again.log.logEndOffset).toBe(end)
	again.log.abandon()
	expect(batchesIn(disk)).toEqual(after)
}

/** Base offset of the batch that has byte `at` of the file. */
function batchAt(name: string, at: number): { base: number; last: number; position: number } {
	const bytes = WHOLE.readFileNow(`${FOLDER}/${name}`)
	let position = 0
	while (position + batchBytes(bytes, position) <= at) position += batchBytes(bytes, position)
	return { base: batchBaseOffset(bytes, position), last: batchLastOffset(bytes, position), position }
}

describe('log repair', () => {
	test('any changed byte of a log: no other batch is touched, and what is lost is named', async () => {
		const names = logs(WHOLE)
		const place = fc.record({
			file: fc.nat(names.length - 1),
			at: fc.oneof(fc.nat(400), fc.nat(1500)),
			bit: fc.nat(7),
			bytes: fc.constantFrom(1, 1, 1, 40, 300),
		})
		await fc.assert(
			fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 3 }), async (damages) => {
				const disk = copyOf(WHOLE)
				const spoilt = new Set<number>()
				for (const { file, at, bit, bytes } of damages) {
					const path = `${FOLDER}/${names[file]}`
					const content = disk.readFileNow(path)
					const from = at % content.length
					for (let i = from; i < Math.min(content.length, from + bytes); i++) {
						content[i] = (content[i] as number) ^ (bytes === 1 ? 1 << bit : 0x5a)
						spoilt.add(batchAt(names[file] as string, i).base)
					}
					put(disk, path, content)
				}
				await expectRight(disk, await repair(disk), spoilt)
			}),
			{ numRuns: 150 },
		)
	}, 60_000)

	test('a wrong base offset or leader epoch is set right, and no record is lost', async () => {
		for (const field of [0, 5, 6, 7, 12, 15]) {
			const disk = copyOf(WHOLE)
			const name = logs(disk)[1] as string
			const bytes = disk.readFileNow(`${FOLDER}/${name}`)
			const second = batchBytes(bytes, 0)
			bytes[second + field] = (bytes[second + field] as number) ^ 0x11
			put(disk, `${FOLDER}/${name}`, bytes)
			const found = (await check(disk, '/data')).faults
			expect(found).not.toEqual([])
			const steps = await repair(disk)
			expect(steps.every(({ lost }) => lost === null)).toBe(true)
			await expectRight(disk, steps, new Set())
			expect(disk.readFileNow(`${FOLDER}/${name}`).equals(WHOLE.readFileNow(`${FOLDER}/${name}`))).toBe(true)
		}
	})

	test.each<[string, (disk: SimDisk, names: string[]) => readonly number[]]>([
		['an index', (disk, names) => damage(disk, (names[1] as string).replace('.log', '.index'))],
		['a time index', (disk, names) => damage(disk, (names[1] as string).replace('.log', '.timeindex'))],
		['an aborted transaction', (disk) => damage(disk, firstOf(disk, '.txnindex'))],
		['a snapshot', (disk) => damage(disk, firstOf(disk, '.snapshot'))],
		['epochs', (disk) => damage(disk, 'leader-epoch-checkpoint')],
		['a topic id', (disk) => put(disk, `${FOLDER}/partition.metadata`, 'version: 0\ntopic_id: !\n') ?? []],
		['a recovery point', (disk) => put(disk, '/data/recovery-point-offset-checkpoint', '0\n1\nt 0 9999\n') ?? []],
		['a high watermark', (disk) => put(disk, '/data/replication-offset-checkpoint', '0\n2\nt 0 4\n') ?? []],
		[
			'a folder that is not there',
			(disk) => put(disk, '/data/recovery-point-offset-checkpoint', '0\n1\nu 0 1\n') ?? [],
		],
		['an index file too few', (disk) => disk.removeNow(`${FOLDER}/${segmentName(0)}.index`) ?? []],
		[
			'a torn end',
			(disk, names) => {
				const last = names.at(-1) as string
				const bytes = disk.readFileNow(`${FOLDER}/${last}`)
				put(disk, `${FOLDER}/${last}`, bytes.subarray(0, -1))
				return [batchAt(last, bytes.length - 1).base]
			},
		],
		[
			'a segment twice',
			(disk, names) => {
				put(disk, `${FOLDER}/${segmentName(3)}.log`, disk.readFileNow(`${FOLDER}/${names[0]}`))
				return []
			},
		],
		[
			'a segment without its log file',
			(disk, names) => {
				const bases = [...batchesIn(disk).keys()]
				disk.removeNow(`${FOLDER}/${names[1]}`)
				const [from, to] = [Number.parseInt(names[1] as string, 10), Number.parseInt(names[2] as string, 10)]
				return bases.filter((base) => base >= from && base < to)
			},
		],
		[
			'a segment of zeros',
			(disk, names) => {
				const bases = [...batchesIn(disk).keys()]
				put(disk, `${FOLDER}/${names[2]}`, Buffer.alloc(disk.readFileNow(`${FOLDER}/${names[2]}`).length))
				const [from, to] = [Number.parseInt(names[2] as string, 10), Number.parseInt(names[3] as string, 10)]
				return bases.filter((base) => base >= from && base < to)
			},
		],
		[
			'a largest time',
			(disk, names) => {
				const bytes = disk.readFileNow(`${FOLDER}/${names[0]}`)
				bytes.writeBigInt64BE(5n, 35)
				writeBatchCrc(bytes, 0, batchBytes(bytes, 0))
				put(disk, `${FOLDER}/${names[0]}`, bytes)
				return []
			},
		],
	])('%s: nothing else is touched', async (_, spoil) => {
		const disk = copyOf(WHOLE)
		const spoilt = new Set(spoil(disk, logs(disk)))
		expect((await check(disk, '/data')).faults).not.toEqual([])
		const steps = await repair(disk)
		expect(steps.length).toBeGreaterThan(0)
		expect(steps.some(({ lost }) => lost !== null)).toBe(spoilt.size > 0)
		await expectRight(disk, steps, spoilt)
	})

	function firstOf(disk: SimDisk, ending: string): string {
		return disk.listNow(FOLDER).find(({ name }) => name.endsWith(ending))?.name as string
	}

	function damage(disk: SimDisk, name: string): readonly number[] {
		const bytes = disk.readFileNow(`${FOLDER}/${name}`)
		bytes[3] = (bytes[3] as number) ^ 0x40
		put(disk, `${FOLDER}/${name}`, bytes)
		return []
	}

	test('planning changes nothing, and a repair keeps every file that it changes', async () => {
		const disk = copyOf(WHOLE)
		const [first] = logs(disk) as [string]
		const path = `${FOLDER}/${first}`
		const bytes = disk.readFileNow(path)
		bytes[70] = (bytes[70] as number) ^ 1
		put(disk, path, bytes)
		const files = (directory: string) =>
			disk
				.listNow(directory)
				.filter(({ isDirectory }) => !isDirectory)
				.map(({ name }): [string, Buffer] => [name, disk.readFileNow(`${directory}/${name}`)])
		const before = files(FOLDER)
		const { reports } = await check(disk, '/data')
		const options = { logStartOffset: null, wasCompacted: false, decompressedBytesMax: 1e8 }
		const { runtime } = new World(disk)
		await planRepair({ ...runtime, compression }, FOLDER, reports[0]?.faults ?? [], options)
		expect(files(FOLDER)).toEqual(before)
		await repair(disk)
		const after = new Map(files(FOLDER))
		const kept = new Map(files('/backup/t-0'))
		expect(kept.get(first)).toEqual(bytes)
		for (const [name, content] of before) {
			if (after.get(name)?.equals(content) !== true) expect([name, kept.get(name)]).toEqual([name, content])
		}
	})
})
