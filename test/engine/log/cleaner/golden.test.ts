/**
 * A compacted folder of Apache Kafka 3.9.2 (`test/fixtures/logs/clean/compact-0`), made again from the records that went into
 * it: twelve rounds over eight keys, the last with a tombstone, then a tail that rolls. Our pass leaves the same bytes.
 */

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { partitionKey } from '../../../../src/base/ids.js'
import { baseOffsetOf } from '../../../../src/engine/log/dump.js'
import type { PartitionLog } from '../../../../src/engine/log/partition-log.js'
import { stampBatch } from '../../../../src/protocol/records/batch.js'
import { buildBatch } from '../../../../src/protocol/records/record.js'
import { NodeDisk } from '../../../../src/runtime/node-disk.js'
import { SimDisk } from '../../../sim/disk.js'
import { World } from '../setup.js'
import { COMPACTED, limits, openCompacted } from './setup.js'

const FIXTURES = join(import.meta.dirname, '../../../fixtures/logs/clean')
const BASES = [0, 16, 32, 48, 65, 71]
const HORIZON_MS = 1_796_655_033_449
const made: string[] = []
afterAll(() => {
	for (const directory of made) rmSync(directory, { recursive: true, force: true })
})

async function follow(
	log: PartitionLog,
	records: { key: string; value: string | null; timestamp: number }[],
): Promise<void> {
	const batch = buildBatch({
		records: records.map(({ key, value, timestamp }) => ({
			timestamp,
			key: Buffer.from(key),
			value: value === null ? null : Buffer.from(value),
		})),
	})
	const base = log.logEndOffset
	stampBatch(batch, 0, base, 0)
	// A segment begins where Kafka's did.
	log.updateConfig({ ...log.config, segmentBytes: BASES.includes(base) ? 1 : 1_000_000 })
	expect(await log.appendAsFollower(batch)).toMatchObject({ errorCode: 0 })
}

test('21.3 21.4 21.5 21.7 a pass leaves the files that Kafka left, byte for byte', async () => {
	const disk = new SimDisk()
	const world = new World(disk)
	const { log } = await openCompacted(disk, { deleteRetentionMs: 1000, indexIntervalBytes: 4096 }, world)
	for (let round = 0; round < 12; round++) {
		const records = []
		for (let key = 0; key < 8; key++) {
			if ((round + key) % 3 === 0) continue
			const value = round === 11 && key === 5 ? null : `round ${round}`
			records.push({ key: `key-${key}`, value, timestamp: 1_700_000_000_000 + round * 1000 + key })
		}
		await follow(log, records)
	}
	for (let i = 0; i < 12; i++) {
		await follow(log, [{ key: `tail-${i}`, value: 'rolls the segment', timestamp: 1_700_000_020_000 + i }])
	}
	expect(log.segments().map(({ baseOffset }) => baseOffset)).toEqual(BASES)
	log.advanceHighWatermark(log.logEndOffset)
	world.clock.now = HORIZON_MS - 1000
	log.updateConfig({ ...log.config, segmentBytes: 1 })
	const range = log.dirtyRange(world.clock.wallMs())
	expect(range?.bound).toBe(71)
	const result = await log.clean(range as NonNullable<typeof range>, limits(world))
	expect(result.endOffset).toBe(71)
	for (const name of readdirSync(join(FIXTURES, 'compact-0'))) {
		const isSegment = /\.(log|index|timeindex)$/.test(name)
		if (!isSegment || baseOffsetOf(name) === 71) continue
		const ours = disk.readFileNow(`/data/t-0/${name}`).toString('hex')
		expect([name, ours]).toEqual([name, readFileSync(join(FIXTURES, 'compact-0', name)).toString('hex')])
	}
	// The base of a segment that stays keeps its snapshot.
	const snapshots = (names: readonly string[]): string[] =>
		names.filter((name) => /(16|32|48|65)\.snapshot$/.test(name))
	expect(snapshots(disk.listNow('/data/t-0').map(({ name }) => name))).toEqual(
		snapshots(readdirSync(join(FIXTURES, 'compact-0'))),
	)
})

test("19.12 21.2 Kafka's cleaner checkpoint is read and written", async () => {
	const directory = mkdtempSync(join(tmpdir(), 'kcli-golden-'))
	made.push(directory)
	cpSync(FIXTURES, directory, { recursive: true })
	const world = new World(new NodeDisk())
	const manager = world.manager({ dataDirs: [directory] })
	const clusterId = manager.storedIdentities()[0]?.clusterId ?? ''
	await manager.open({ clusterId, brokerId: 1, configFor: () => COMPACTED })
	const log = manager.get(partitionKey('compact', 0)) as PartitionLog
	expect(log.cleanedOffset).toBe(71)
	log.advanceHighWatermark(log.logEndOffset)
	expect(log.dirtyRange(world.clock.wallMs())).toMatchObject({ firstDirtyOffset: 71, isDue: false })
	await log.truncateTo(70)
	expect(readFileSync(join(directory, 'cleaner-offset-checkpoint'), 'utf8')).toBe('0\n1\ncompact 0 70\n')
	await manager.close(1n)
	const disk = new NodeDisk()
	disk.setModifiedNow(join(directory, 'meta.properties'), 1_500_000_000_123)
	expect(Math.round(disk.statNow(join(directory, 'meta.properties'))?.modifiedMs ?? 0)).toBe(1_500_000_000_123)
})
