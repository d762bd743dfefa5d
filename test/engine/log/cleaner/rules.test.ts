/** The decisions of compaction, without a disk. */

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
	type DirtyLog,
	type DirtySegment,
	dirtiest,
	dirtyRange,
} from '../../../../src/engine/log/cleaner/dirty-range.js'
import { type GroupSegment, groupSegments } from '../../../../src/engine/log/cleaner/groups.js'
import {
	type BatchFacts,
	fateOf,
	horizonFor,
	keepsRecord,
	mayDropLegacyTombstone,
} from '../../../../src/engine/log/cleaner/keep.js'
import { KeyHash } from '../../../../src/engine/log/cleaner/key-hash.js'
import { OffsetMap, SLOT_BYTES, slotsFor } from '../../../../src/engine/log/cleaner/offset-map.js'
import { Throttle } from '../../../../src/engine/log/cleaner/throttle.js'
import { HandClock } from '../setup.js'

const NOW = 1_000_000

function segment(baseOffset: number, size: number, maxTimestamp = -1, firstTimestamp = maxTimestamp): DirtySegment {
	return { baseOffset, size, maxTimestamp, firstTimestamp, modifiedMs: () => 500 }
}

function log(some: Partial<DirtyLog> = {}): DirtyLog {
	return {
		segments: [segment(0, 100), segment(10, 100), segment(20, 100), segment(30, 100), segment(40, 50)],
		logStartOffset: 0,
		logEndOffset: 45,
		lastStableOffset: 45,
		cleanedOffset: null,
		minCleanableDirtyRatio: 0.5,
		minCompactionLagMs: 0,
		maxCompactionLagMs: Number.POSITIVE_INFINITY,
		...some,
	}
}

describe('which log, and what of it', () => {
	test('21.1 dirty ratio is dirty bytes of all bytes below the bound, and must be above the least', () => {
		expect(dirtyRange(log({ cleanedOffset: 20 }), NOW)).toMatchObject({ ratio: 0.5, isDue: false, cleanableBytes: 200 })
		expect(dirtyRange(log({ cleanedOffset: 10 }), NOW)).toMatchObject({ ratio: 0.75, isDue: true })
		expect(dirtyRange(log({ cleanedOffset: 20, minCleanableDirtyRatio: 0.4 }), NOW).isDue).toBe(true)
	})

	test('21.1 the dirtiest of the due ones is taken', () => {
		const candidates = [10, 0, 20, 40].map((cleanedOffset) => ({ range: dirtyRange(log({ cleanedOffset }), NOW) }))
		expect(dirtiest(candidates)).toBe(candidates[1])
		expect(dirtiest(candidates.slice(2))).toBeNull()
	})

	test('21.2 never the active segment, nothing at or above the last stable offset, whole segments only', () => {
		expect(dirtyRange(log(), NOW)).toMatchObject({ firstDirtyOffset: 0, bound: 40, cleanableBytes: 400 })
		expect(dirtyRange(log({ lastStableOffset: 35 }), NOW).bound).toBe(30)
		expect(dirtyRange(log({ lastStableOffset: 30 }), NOW).bound).toBe(30)
		expect(dirtyRange(log({ lastStableOffset: 29 }), NOW).bound).toBe(20)
		expect(dirtyRange(log({ lastStableOffset: 5 }), NOW)).toMatchObject({ bound: 0, cleanableBytes: 0, isDue: false })
	})

	test('21.2 nothing from the first dirty segment on that is younger than min.compaction.lag.ms', () => {
		const segments = [10, 950_000, 20, 990_000, 30].map((time, i) => segment(i * 10, 100, time))
		expect(dirtyRange(log({ segments, minCompactionLagMs: 100_000 }), NOW).bound).toBe(10)
		expect(dirtyRange(log({ segments, minCompactionLagMs: 100_000, cleanedOffset: 20 }), NOW).bound).toBe(30)
		expect(dirtyRange(log({ segments, minCompactionLagMs: 20_000 }), NOW).bound).toBe(30)
		expect(dirtyRange(log({ segments, minCompactionLagMs: 1_000 }), NOW).bound).toBe(40)
	})

	test('21.2 a segment without times is as old as its file', () => {
		expect(dirtyRange(log({ minCompactionLagMs: NOW - 400 }), NOW).bound).toBe(0)
		expect(dirtyRange(log({ minCompactionLagMs: NOW - 600 }), NOW).bound).toBe(40)
	})

	test('21.1 a record that waits longer than max.compaction.lag.ms makes it due at any ratio', () => {
		const segments = [10, 20, 30, 40, 50].map((time, i) => segment(i * 10, 100, time))
		const base = { segments, minCleanableDirtyRatio: 1, cleanedOffset: 30 }
		expect(dirtyRange(log({ ...base, maxCompactionLagMs: NOW - 41 }), NOW)).toMatchObject({
			isOverdue: true,
			isDue: true,
		})
		expect(dirtyRange(log({ ...base, maxCompactionLagMs: NOW - 40 }), NOW)).toMatchObject({ isDue: false })
		expect(dirtyRange(log({ ...base, maxCompactionLagMs: 1, cleanedOffset: 40 }), NOW).isDue).toBe(false)
	})

	test('21.2 a checkpoint outside the log is reset to the log start', () => {
		expect(dirtyRange(log({ cleanedOffset: 5, logStartOffset: 12 }), NOW)).toMatchObject({
			firstDirtyOffset: 12,
			isReset: true,
		})
		expect(dirtyRange(log({ cleanedOffset: 46 }), NOW)).toMatchObject({ firstDirtyOffset: 0, isReset: true })
		expect(dirtyRange(log({ cleanedOffset: 45 }), NOW)).toMatchObject({ isReset: false, isDue: false })
	})

	test('KAFKA-8764 KAFKA-9826 a first dirty offset in the active segment or in a gap ends, and is not tried again', () => {
		expect(dirtyRange(log({ cleanedOffset: 42, minCleanableDirtyRatio: 0 }), NOW).isDue).toBe(false)
		expect(dirtyRange(log({ cleanedOffset: 40, minCleanableDirtyRatio: 0 }), NOW).isDue).toBe(false)
	})
})

describe('groups', () => {
	const of = (baseOffset: number, endOffset: number, bytes: number, index = 8): GroupSegment => ({
		baseOffset,
		endOffset,
		bytes,
		offsetIndexBytes: index,
		timeIndexBytes: 12,
	})
	const bases = (groups: GroupSegment[][]): number[][] => groups.map((group) => group.map((one) => one.baseOffset))
	const LIMITS = { segmentBytes: 100, segmentIndexBytes: 1000 }

	test('21.7 neighbours go together up to segment.bytes', () => {
		const list = [of(0, 10, 40), of(10, 20, 40), of(20, 30, 40), of(30, 40, 100), of(40, 50, 0), of(50, 60, 1)]
		expect(bases(groupSegments(list, LIMITS))).toEqual([[0, 10], [20], [30, 40], [50]])
	})

	test('21.7 and up to segment.index.bytes of each index', () => {
		const list = [of(0, 10, 1, 600), of(10, 20, 1, 400), of(20, 30, 1, 400)]
		expect(bases(groupSegments(list, LIMITS))).toEqual([[0, 10], [20]])
	})

	test('21.7 KAFKA-6264 and never over more than 2^31-1 offsets; empty ones join', () => {
		const far = 2 ** 31
		const list = [of(0, 10, 1), of(far - 10, far, 1), of(far, far + 10, 1), of(3 * far, 4 * far, 0)]
		expect(bases(groupSegments(list, LIMITS))).toEqual([
			[0, far - 10],
			[far, 3 * far],
		])
	})
})

describe('what stays of a record', () => {
	const record = (offset: number, mappedOffset: number, hasValue = true, hasKey = true) => ({
		offset,
		mappedOffset,
		hasValue,
		hasKey,
	})

	test('21.3 the last of its key, whatever the map does not know, and all beyond the mapped end', () => {
		expect(keepsRecord(record(5, 5), 100, false)).toBe(true)
		expect(keepsRecord(record(5, 6), 100, false)).toBe(false)
		expect(keepsRecord(record(5, -1), 100, false)).toBe(true)
		expect(keepsRecord(record(101, 6, false, false), 100, true)).toBe(true)
	})

	test('21.3 none without a key', () => {
		expect(keepsRecord(record(5, -1, true, false), 100, false)).toBe(false)
	})

	test('21.5 a tombstone until its horizon is over', () => {
		expect(keepsRecord(record(5, 5, false), 100, false)).toBe(true)
		expect(keepsRecord(record(5, 5, false), 100, true)).toBe(false)
		expect(keepsRecord(record(5, 6, false), 100, false)).toBe(false)
	})

	test('21.5 the first pass that keeps a tombstone sets the horizon; a later one lets it be', () => {
		expect(horizonFor(-1, true, false, NOW, 50)).toBe(NOW + 50)
		expect(horizonFor(-1, false, true, NOW, 50)).toBe(NOW + 50)
		expect(horizonFor(-1, false, false, NOW, 50)).toBe(-1)
		expect(horizonFor(7, true, false, NOW, 50)).toBe(7)
	})

	test('21.5 formats 0 and 1 go by the age of the segment', () => {
		expect(mayDropLegacyTombstone(500, 499)).toBe(false)
		expect(mayDropLegacyTombstone(500, 500)).toBe(true)
	})
})

describe('what stays of a batch', () => {
	const facts = (some: Partial<BatchFacts> = {}): BatchFacts => ({
		lastOffset: 9,
		isControl: false,
		producerEpoch: 3,
		deleteHorizonMs: -1,
		isDiscardable: false,
		lastRecord: null,
		...some,
	})

	test('21.6 data of an aborted transaction goes at once', () => {
		expect(fateOf(facts({ isDiscardable: true }), 50, NOW)).toEqual({
			dropsRecords: true,
			keepsEmpty: false,
			isMarkerOfNothing: false,
		})
	})

	test('21.6 a marker without data gets a horizon and goes after it', () => {
		const marker = { isControl: true, isDiscardable: true }
		expect(fateOf(facts(marker), 50, NOW)).toMatchObject({ dropsRecords: false, isMarkerOfNothing: true })
		expect(fateOf(facts({ ...marker, deleteHorizonMs: NOW + 1 }), 50, NOW).dropsRecords).toBe(false)
		expect(fateOf(facts({ ...marker, deleteHorizonMs: NOW }), 50, NOW).dropsRecords).toBe(true)
		expect(fateOf(facts({ isControl: true, deleteHorizonMs: NOW }), 50, NOW).dropsRecords).toBe(false)
	})

	test('21.4 KAFKA-8335 the header with the last offset of an active producer stays', () => {
		const lastRecord = { lastDataOffset: 9, producerEpoch: 3 }
		expect(fateOf(facts({ lastRecord }), 50, NOW).keepsEmpty).toBe(true)
		expect(fateOf(facts({ lastRecord, lastOffset: 8 }), 50, NOW).keepsEmpty).toBe(false)
		expect(fateOf(facts({ lastRecord, lastOffset: 8, isControl: true }), 50, NOW).keepsEmpty).toBe(false)
	})

	test('21.6 the marker of a producer without data stays while its epoch is the last', () => {
		const lastRecord = { lastDataOffset: -1, producerEpoch: 3 }
		expect(fateOf(facts({ lastRecord, isControl: true }), 50, NOW).keepsEmpty).toBe(true)
		expect(fateOf(facts({ lastRecord, isControl: true, producerEpoch: 2 }), 50, NOW).keepsEmpty).toBe(false)
	})

	test('redpanda#8698 the last batch before the bound stays for readers to arrive there', () => {
		expect(fateOf(facts(), 10, NOW).keepsEmpty).toBe(true)
		expect(fateOf(facts(), 11, NOW).keepsEmpty).toBe(false)
	})
})

describe('the offset map', () => {
	test('is SipHash-2-4 of 128 bits, as its authors test it', () => {
		const key = Buffer.from(Array.from({ length: 16 }, (_, i) => i))
		const hash = new KeyHash(key)
		const hexOf = (length: number): string => {
			const input = Buffer.from(Array.from({ length }, (_, i) => i))
			hash.hash(input, 0, length)
			const out = Buffer.alloc(16)
			for (let i = 0; i < 4; i++) out.writeInt32LE(hash.words[i] as number, i * 4)
			return out.toString('hex')
		}
		expect(hexOf(0)).toBe('a3817f04ba25a8e66df67214c7550293')
		expect(hexOf(1)).toBe('da87c1d86b99af44347659119b22fc45')
		expect(hexOf(2)).toBe('8177228da4a45dc7fca38bdef60affe4')
		expect(hexOf(8)).toBe('3b62a9ba6258f5610f83e264f31497b4')
	})

	test('21.3 is a Map of keys of any length, at any load', () => {
		fc.assert(
			fc.property(
				fc.array(fc.tuple(fc.uint8Array({ maxLength: 20 }), fc.uint8Array({ maxLength: 3 })), { maxLength: 80 }),
				(keys) => {
					const map = new OffsetMap(90, 0.9, createHash('md5').update('secret').digest())
					const model = new Map<string, number>()
					for (const [offset, [key, before]] of keys.entries()) {
						const bytes = Buffer.concat([before, key, before])
						expect(map.put(bytes, before.length, before.length + key.length, offset)).toBe(true)
						model.set(Buffer.from(key).toString('hex'), offset)
					}
					expect(map.size).toBe(model.size)
					for (const [hex, offset] of model) {
						const key = Buffer.from(hex, 'hex')
						expect(map.get(key, 0, key.length)).toBe(offset)
					}
					const strange = Buffer.alloc(30, 1)
					expect(map.get(strange, 0, strange.length)).toBe(-1)
				},
			),
		)
	})

	test('21.3 takes as many keys as buffer and load factor allow, 24 bytes a slot, and then says so', () => {
		expect(slotsFor(SLOT_BYTES * 100, 0.9, 1e9)).toBe(100)
		expect(slotsFor(134_217_728, 0.9, 90)).toBe(101)
		expect(slotsFor(1, 0.9, 90)).toBe(2)
		const map = new OffsetMap(100, 0.9, Buffer.alloc(16))
		let count = 0
		while (map.put(Buffer.from(`key-${count}`), 0, 5 + String(count).length - 1, count)) count++
		expect(count).toBe(90)
		expect(map.latestOffset).toBe(89)
	})
})

test('log.cleaner.io.max.bytes.per.second bounds what all passes together move', async () => {
	const clock = new HandClock()
	let rate = 1000
	const throttle = new Throttle(clock, () => rate)
	expect(throttle.charge(1)).toBeNull()
	const waits = [throttle.charge(500), throttle.charge(500)]
	const settled: number[] = []
	waits.forEach((wait, i) => void wait?.then(() => settled.push(i)))
	clock.advance(600)
	await Promise.resolve()
	expect(settled).toEqual([0])
	clock.advance(401)
	await Promise.resolve()
	expect(settled).toEqual([0, 1])
	rate = Number.MAX_VALUE
	expect(throttle.charge(1e9)).toBeNull()
})
