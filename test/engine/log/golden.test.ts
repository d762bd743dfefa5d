/** Folders as Apache Kafka 3.9.2 left them: they open, serve, and say what Kafka's dump tool says of them. */

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { partitionKey } from '../../../src/base/ids.js'
import {
	baseOffsetOf,
	batchLine,
	dumpLog,
	dumpOffsetIndex,
	dumpSnapshot,
	dumpTimeIndex,
	dumpTxnIndex,
	isDamage,
	producerLine,
	recordLine,
} from '../../../src/engine/log/dump.js'
import { DEFAULT_LOG_CONFIG } from '../../../src/engine/log/log-config.js'
import type { LogManager } from '../../../src/engine/log/manager.js'
import { NodeCompression } from '../../../src/runtime/node-compression.js'
import { NodeDisk } from '../../../src/runtime/node-disk.js'
import { readAll, World } from './setup.js'

const FIXTURES = join(import.meta.dirname, '../../fixtures/logs')
const disk = new NodeDisk()
const compression = new NodeCompression()
const made: string[] = []
afterAll(() => {
	for (const directory of made) rmSync(directory, { recursive: true, force: true })
})

/** A copy of a fixture folder, since opening it changes it. */
function copyOf(name: string): string {
	const directory = mkdtempSync(join(tmpdir(), 'kcli-golden-'))
	made.push(directory)
	cpSync(join(FIXTURES, name), directory, { recursive: true })
	return directory
}

function dumpText(set: string, partition: string, kind: string): string[] {
	return readFileSync(join(FIXTURES, `${set}.dump`, partition, `${kind}.txt`), 'utf8')
		.trimEnd()
		.split('\n')
}

/** Our dump of all `.log` files of a partition, in the tool's words. */
async function dumpLogs(directory: string, partition: string): Promise<string[]> {
	const lines: string[] = []
	for (const name of readdirSync(join(directory, partition))
		.filter((one) => one.endsWith('.log'))
		.sort()) {
		lines.push(`Dumping ${partition}/${name}`, `Log starting offset: ${baseOffsetOf(name)}`)
		for await (const entry of dumpLog(disk, join(directory, partition, name), compression)) {
			if (isDamage(entry)) lines.push(`Found ${entry.bytes} invalid bytes at the end of ${name}`)
			else {
				lines.push(batchLine(entry))
				for (const record of entry.records ?? []) lines.push(recordLine(entry, record))
			}
		}
	}
	return lines
}

/** The two internal topics are dumped with decoders of their own: only the batch lines compare. */
function comparable(partition: string, lines: readonly string[]): string[] {
	// The tool also remarks on gaps that compaction left.
	const end = lines.findIndex((line) => line.startsWith('Non-consecutive offsets'))
	const entries = end < 0 ? [...lines] : lines.slice(0, end)
	return partition.startsWith('__') ? entries.filter((line) => !line.startsWith('|')) : entries
}

const SETS = ['clean', 'killed', 'recovered', 'follower']
const CASES = SETS.flatMap((set) =>
	readdirSync(join(FIXTURES, `${set}.dump`)).map((partition): [string, string] => [set, partition]),
)

describe.each(CASES)('%s/%s', (set, partition) => {
	const directory = join(FIXTURES, set)

	test('1.1 19.3 19.16 every batch and record reads as Kafka reads it', async () => {
		const lines = await dumpLogs(directory, partition)
		expect(comparable(partition, lines)).toEqual(comparable(partition, dumpText(set, partition, 'log')))
	})

	test('19.8 19.9 transaction indexes and producer snapshots read as Kafka reads them', () => {
		const names = readdirSync(join(directory, partition))
		const snapshots: string[] = []
		for (const name of names.filter((one) => one.endsWith('.snapshot')).sort()) {
			snapshots.push(`Dumping ${partition}/${name}`)
			for (const entry of dumpSnapshot(disk, join(directory, partition, name))) snapshots.push(producerLine(entry))
		}
		expect(snapshots).toEqual(dumpText(set, partition, 'snapshot'))
		for (const name of names.filter((one) => one.endsWith('.txnindex'))) {
			const lines = dumpTxnIndex(disk, join(directory, partition, name)).map(
				(one) =>
					`version: 0 producerId: ${one.producerId} firstOffset: ${one.firstOffset} ` +
					`lastOffset: ${one.lastOffset} lastStableOffset: ${one.lastStableOffset}`,
			)
			expect(lines).toEqual(dumpText(set, partition, 'txnindex').slice(1))
		}
	})
})

test('19.4 19.5 offset and time indexes read as Kafka reads them', () => {
	const directory = join(FIXTURES, 'clean')
	const offsets: string[] = []
	const times: string[] = []
	for (const name of readdirSync(join(directory, 'segments-0')).sort()) {
		const path = join(directory, 'segments-0', name)
		const base = baseOffsetOf(name)
		if (name.endsWith('.index')) {
			offsets.push(`Dumping segments-0/${name}`)
			for (const entry of dumpOffsetIndex(disk, path, base))
				offsets.push(`offset: ${entry.offset} position: ${entry.position}`)
		}
		if (name.endsWith('.timeindex')) {
			times.push(`Dumping segments-0/${name}`)
			for (const entry of dumpTimeIndex(disk, path, base))
				times.push(`timestamp: ${entry.timestamp} offset: ${entry.offset}`)
		}
	}
	expect(offsets).toEqual(dumpText('clean', 'segments-0', 'index'))
	expect(times).toEqual(dumpText('clean', 'segments-0', 'timeindex'))
})

const CONFIG = { ...DEFAULT_LOG_CONFIG, segmentBytes: 2048, indexIntervalBytes: 400, segmentIndexBytes: 8192 }

async function open(directory: string, brokerId: number): Promise<{ manager: LogManager; world: World }> {
	const world = new World(disk)
	// Producers of these folders must not have expired.
	world.clock.now = 1_796_055_200_000
	const manager = world.manager({ dataDirs: [directory] })
	const clusterId = manager.storedIdentities()[0]?.clusterId ?? ''
	await manager.open({ clusterId, brokerId, configFor: () => CONFIG })
	return { manager, world }
}

test('20.8 a folder after a clean stop opens without a scan and serves every record', async () => {
	const directory = copyOf('clean')
	const { manager } = await open(directory, 1)
	expect(manager.all().length).toBe(14)
	const ends: Record<string, number> = {}
	for (const log of manager.all()) ends[`${log.topic}-${log.partition}`] = log.logEndOffset
	expect(ends).toMatchObject({ 'segments-0': 60, 'compact-0': 76, 'epochs-0': 15, 'txn-0': 12, 'txn-open-0': 1 })
	const segments = manager.get(partitionKey('segments', 0))!
	expect(segments.logStartOffset).toBe(25)
	// 20.10: the epoch that began at the log end, without a record, is cut at load.
	expect(segments.epochs).toEqual([{ epoch: 0, startOffset: 25 }])
	expect((await readAll(segments)).map((record) => record.offset)).toEqual(Array.from({ length: 35 }, (_, i) => 25 + i))
	const compact = await readAll(manager.get(partitionKey('compact', 0))!)
	expect(compact[0]?.offset).toBe(54)
	const open_ = manager.get(partitionKey('txn-open', 0))!
	open_.advanceHighWatermark(1)
	expect(open_.lastStableOffset).toBe(0)
	expect(open_.activeProducers()).toMatchObject([{ producerId: 1002n, currentTxnStartOffset: 0 }])
	for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
		const log = manager.get(partitionKey(`codec-${codec}`, 0))!
		expect((await readAll(log)).length).toBe(9)
	}
	const txn = manager.get(partitionKey('txn', 0))!
	txn.advanceHighWatermark(12)
	const read = await txn.read({ offset: 4, maxBytes: 1e6, minOneBatch: true, upTo: 'lastStable', withAborted: true })
	expect(read.aborted?.map((one) => one.firstOffset)).toEqual([5, 9])
	for (const part of read.parts) if ('release' in part) part.release()
	await manager.close(1n)
})

test('20.7 a killed and damaged folder recovers to what a Kafka broker recovered', async () => {
	const directory = copyOf('killed')
	const { manager } = await open(directory, 1)
	for (const partition of ['epochs-0', 'idempotent-0', 'segments-0', 'txn-open-0']) {
		const lines = await dumpLogs(directory, partition)
		expect(lines).toEqual(dumpText('recovered', partition, 'log'))
	}
	await manager.close(1n)
	// Indexes made anew are Kafka's to the byte, where Kafka made them anew too.
	for (const name of readdirSync(join(FIXTURES, 'recovered/segments-0')).filter((one) => one.endsWith('index'))) {
		const path = join(directory, 'segments-0', name)
		expect([name, readFileSync(path).toString('hex')]).toEqual([
			name,
			readFileSync(join(FIXTURES, 'recovered/segments-0', name)).toString('hex'),
		])
	}
	for (const partition of ['epochs-0', 'idempotent-0', 'segments-0']) {
		const epochs = (base: string): string => readFileSync(join(base, partition, 'leader-epoch-checkpoint'), 'utf8')
		expect(epochs(directory)).toBe(epochs(join(FIXTURES, 'recovered')))
	}
	expect(dumpSnapshot(disk, join(directory, 'idempotent-0/00000000000000000015.snapshot'))).toEqual(
		dumpSnapshot(disk, join(FIXTURES, 'recovered/idempotent-0/00000000000000000015.snapshot')),
	)
})

test('19.14 the folder of another broker or cluster is refused', async () => {
	const directory = copyOf('follower')
	const manager = new World(disk).manager({ dataDirs: [directory] })
	const [{ clusterId, brokerId }] = manager.storedIdentities() as unknown as [{ clusterId: string; brokerId: number }]
	expect(brokerId).toBe(2)
	await expect(manager.open({ clusterId, brokerId: 1, configFor: () => CONFIG })).rejects.toThrow('belongs to broker 2')
	const other = new World(disk).manager({ dataDirs: [directory] })
	await expect(other.open({ clusterId: 'x', brokerId: 2, configFor: () => CONFIG })).rejects.toThrow(
		'belongs to cluster',
	)
})
