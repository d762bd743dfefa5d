/** A data dir with everything in it, and the offline check of it, for the tests of checks and repairs. */

import { expect } from 'vitest'
import { checkDir, keyOfFolder, partitionFolders, readDirFacts } from '../../../../src/engine/log/verify/dir-check.js'
import { type Fault, Faults } from '../../../../src/engine/log/verify/finding.js'
import { checkPartition, type PartitionReport } from '../../../../src/engine/log/verify/partition-check.js'
import { batchMaxTimestamp } from '../../../../src/protocol/records/batch.js'
import { rebuildBatch } from '../../../../src/protocol/records/rebuild.js'
import { buildBatch, buildMarker } from '../../../../src/protocol/records/record.js'
import { nodeRuntime } from '../../../../src/runtime/node-runtime.js'
import type { Disk } from '../../../../src/runtime/ports.js'
import { SimDisk } from '../../../sim/disk.js'
import { CLIENT, openLog, seeded } from '../setup.js'

const runtime = nodeRuntime()

/** A data dir whole: its partitions and its checkpoints. */
export async function check(disk: Disk, directory: string): Promise<{ reports: PartitionReport[]; faults: Fault[] }> {
	const facts = readDirFacts(disk, directory, new Faults())
	const reports: PartitionReport[] = []
	const spans = new Map<string, PartitionReport>()
	for (const name of partitionFolders(disk, directory)) {
		const key = keyOfFolder(name) as string
		const report = await checkPartition(disk, runtime.clock, runtime.compression, disk.join(directory, name), {
			isDeep: true,
			decompressedBytesMax: 1e8,
			logStartOffset: facts.logStarts.get(key) ?? null,
			wasCompacted: facts.cleaned.has(key),
		})
		reports.push(report)
		spans.set(key, report)
	}
	return {
		reports,
		faults: [...reports.flatMap(({ faults }) => faults), ...checkDir(disk, directory, spans, true).faults],
	}
}

export const SEGMENT = { segmentBytes: 1500, indexIntervalBytes: 100 }

/** Several segments, every codec, an idempotent producer, an aborted transaction, two epochs; stopped cleanly. */
export async function filled(): Promise<SimDisk> {
	const disk = new SimDisk()
	const { log, manager } = await openLog(disk, SEGMENT)
	const next = seeded(5)
	const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
	let sequence = 0
	const append = async (
		values: string[],
		more: object,
		codec: (typeof codecs)[number],
		epoch: number,
	): Promise<void> => {
		const records = values.map((value, i) => ({
			timestamp: 1_700_000_000_000 + sequence * 10 + i,
			key: Buffer.from(value[0] ?? ''),
			value: Buffer.from(value),
		}))
		const plain = buildBatch({ records, ...more })
		const batch =
			codec === 'none'
				? plain
				: rebuildBatch(
						plain,
						runtime.compression.compressNow(codec, plain.subarray(61), null),
						codec,
						-1,
						batchMaxTimestamp(plain, 0),
					)
		expect(await log.appendAsLeader(batch, { ...CLIENT, leaderEpoch: epoch })).toMatchObject({ errorCode: 0 })
		log.advanceHighWatermark(log.logEndOffset)
	}
	for (let i = 0; i < 40; i++) {
		const values = Array.from({ length: 1 + (i % 3) }, (_, k) => `${i}.${k}.${next()}`.repeat(3))
		const producer = { producerId: 7n, producerEpoch: 0, baseSequence: sequence }
		await append(values, producer, codecs[i % codecs.length] as 'none', i < 20 ? 3 : 4)
		sequence += values.length
		if (i % 10 === 5) {
			const transaction = { producerId: 9n, producerEpoch: 0, baseSequence: (i - 5) / 10, attributes: 0x10 }
			await append([`txn ${i}`], transaction, 'none', i < 20 ? 3 : 4)
			const kind = i === 15 ? 'commit' : 'abort'
			const marker = buildMarker(kind, {
				producerId: 9n,
				producerEpoch: 0,
				coordinatorEpoch: 1,
				timestamp: 1_700_000_000_000,
			})
			expect(
				await log.appendAsLeader(marker, { leaderEpoch: i < 20 ? 3 : 4, origin: 'coordinator', produceVersion: 11 }),
			).toMatchObject({ errorCode: 0 })
			log.advanceHighWatermark(log.logEndOffset)
		}
	}
	expect(await manager.close(0n)).toEqual([])
	return disk
}

export const FOLDER = '/data/t-0'
