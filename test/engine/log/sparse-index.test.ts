/** Offset, time and transaction indexes, epoch cache and checkpoint files against plain models. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
	CheckpointError,
	EpochFile,
	readEpochCheckpoint,
	readOffsetCheckpoint,
	writeOffsetCheckpoint,
} from '../../../src/engine/log/checkpoint.js'
import { EpochCache, type EpochEntry } from '../../../src/engine/log/epoch-cache.js'
import { OffsetIndex, TimeIndex } from '../../../src/engine/log/sparse-index.js'
import { SimDisk } from '../../sim/disk.js'

function disk(): SimDisk {
	const made = new SimDisk()
	made.makeDirectoryNow('/d')
	return made
}

const rising = fc.array(fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 900 })), { maxLength: 700 })

test('19.4 19.6 lookup gives the last entry at or below an offset, over reopen, cut and zero tail', () => {
	fc.assert(
		fc.property(rising, fc.nat(40_000), fc.nat(40_000), fc.boolean(), (steps, probe, cut, isPreallocated) => {
			const store = disk()
			let index = new OffsetIndex(store, '/d/0.index', 100, 1e6)
			let entries: [number, number][] = []
			let [offset, position] = [100, 0]
			for (const [by, bytes] of steps) {
				offset += by
				position += bytes
				index.append(offset, position)
				entries.push([offset, position])
			}
			const expected = (at: number): number => entries.filter(([one]) => one <= at).pop()?.[1] ?? 0
			expect(index.lookup(100 + probe)).toBe(expected(100 + probe))
			index.trim()
			index.close()
			if (isPreallocated) {
				const file = store.openNow('/d/0.index', 'write')
				file.truncateNow(8 * (entries.length + 200))
				file.closeNow()
			}
			index = new OffsetIndex(store, '/d/0.index', 100, 1e6)
			expect(index.count).toBe(entries.length)
			expect(index.lookup(100 + probe)).toBe(expected(100 + probe))
			index.truncate(100 + cut, Number.POSITIVE_INFINITY)
			entries = entries.filter(([one]) => one < 100 + cut)
			expect(index.count).toBe(entries.length)
			expect(index.lookup(1e6)).toBe(expected(1e6))
			index.close()
			expect(store.openFiles).toBe(0)
		}),
		{ numRuns: 60 },
	)
})

test('19.5 the time index keeps rising times only and finds the last at or below', () => {
	fc.assert(
		fc.property(fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 600 }), fc.nat(5000), (times, probe) => {
			const store = disk()
			const index = new TimeIndex(store, '/d/0.timeindex', 7, 1e6)
			const entries: [number, number][] = []
			times.forEach((time, i) => {
				index.appendIfLater(time, 7 + i)
				if (time > (entries[entries.length - 1]?.[0] ?? -1)) entries.push([time, 7 + i])
			})
			expect(index.count).toBe(entries.length)
			const found = entries.filter(([time]) => time <= probe).pop()
			expect(index.lookup(probe)).toEqual(
				found === undefined ? { timestamp: -1, offset: 7 } : { timestamp: found[0], offset: found[1] },
			)
			index.close()
		}),
		{ numRuns: 60 },
	)
})

test('KAFKA-7076 an entry that equals the base offset is right', () => {
	const store = disk()
	const index = new OffsetIndex(store, '/d/0.index', 5, 1000)
	index.append(5, 100)
	index.trim()
	index.close()
	expect(new OffsetIndex(store, '/d/0.index', 5, 1000).lookup(5)).toBe(100)
})

test('13.5 assigning an epoch drops what contradicts it, and every change is saved', () => {
	const saved: EpochEntry[][] = []
	const cache = new EpochCache([], (entries) => saved.push([...entries]))
	cache.assign(0, 0)
	cache.assign(2, 10)
	cache.assign(3, 20)
	cache.assign(3, 25)
	expect(cache.entries).toEqual([
		{ epoch: 0, startOffset: 0 },
		{ epoch: 2, startOffset: 10 },
		{ epoch: 3, startOffset: 20 },
	])
	cache.assign(4, 15)
	expect(cache.entries).toEqual([
		{ epoch: 0, startOffset: 0 },
		{ epoch: 2, startOffset: 10 },
		{ epoch: 4, startOffset: 15 },
	])
	expect(saved.length).toBe(4)
	expect(saved[saved.length - 1]).toEqual(cache.entries)
	cache.assign(-1, 30)
	expect(cache.latestEpoch).toBe(4)
})

test('13.5 truncation from both ends', () => {
	const make = (): EpochCache =>
		new EpochCache(
			[
				{ epoch: 0, startOffset: 0 },
				{ epoch: 2, startOffset: 10 },
				{ epoch: 4, startOffset: 20 },
			],
			() => undefined,
		)
	const fromEnd = make()
	fromEnd.truncateFromEnd(20)
	expect(fromEnd.latestEpoch).toBe(2)
	const fromStart = make()
	fromStart.truncateFromStart(15)
	expect(fromStart.entries).toEqual([
		{ epoch: 2, startOffset: 15 },
		{ epoch: 4, startOffset: 20 },
	])
	fromStart.truncateFromStart(30)
	expect(fromStart.entries).toEqual([{ epoch: 4, startOffset: 30 }])
})

test('10.6 end offset of an epoch', () => {
	const cache = new EpochCache(
		[
			{ epoch: 1, startOffset: 5 },
			{ epoch: 3, startOffset: 10 },
			{ epoch: 6, startOffset: 20 },
		],
		() => undefined,
	)
	const ends = (epoch: number): [number, number] => {
		const end = cache.endOffsetFor(epoch, 33)
		return [end.epoch, end.endOffset]
	}
	expect([0, 1, 2, 3, 4, 5, 6, 7, -1].map(ends)).toEqual([
		[0, 5],
		[1, 10],
		[1, 10],
		[3, 20],
		[3, 20],
		[3, 20],
		[6, 33],
		[-1, -1],
		[-1, -1],
	])
	expect([4, 5, 9, 10, 25].map((offset) => cache.epochOf(offset))).toEqual([-1, 1, 1, 3, 6])
})

test('19.10 19.12 checkpoints come back, topics with dashes and dots too; damage is named', () => {
	const store = disk()
	const offsets = new Map([
		['a-0', 5],
		['a.b-c-12', 0],
		['__consumer_offsets-49', 2 ** 50],
	])
	writeOffsetCheckpoint(store, '/d', 'recovery-point-offset-checkpoint', offsets)
	expect(readOffsetCheckpoint(store, '/d', 'recovery-point-offset-checkpoint')).toEqual(offsets)
	expect(readOffsetCheckpoint(store, '/d', 'absent').size).toBe(0)
	new EpochFile(store, '/d').write([
		{ epoch: 0, startOffset: 0 },
		{ epoch: 2, startOffset: 60 },
	])
	expect(store.readFileNow('/d/leader-epoch-checkpoint').toString()).toBe('0\n2\n0 0\n2 60\n')
	expect(readEpochCheckpoint(store, '/d')).toHaveLength(2)
	for (const text of ['1\n0\n', '0\n2\na 0 1\n', '0\n1\na x 1\n', '0\n1\na 0\n', 'junk']) {
		const file = store.openNow('/d/bad', 'fresh')
		file.writeNow([Buffer.from(text)], 0)
		file.closeNow()
		expect(() => readOffsetCheckpoint(store, '/d', 'bad')).toThrow(CheckpointError)
	}
})

test('19.13 a crash at any operation of a replacement leaves the old or the new content', () => {
	for (let at = 0; ; at++) {
		const store = disk()
		const write = (offsets: [string, number][]): void => writeOffsetCheckpoint(store, '/d', 'points', new Map(offsets))
		write([['a-0', 1]])
		store.crashAfterOperations = at
		let isDone = false
		try {
			write([
				['a-0', 1],
				['b-0', 9],
			])
			isDone = true
		} catch {
			// The crash.
		}
		store.restart('power', () => 0.5)
		expect([1, 2]).toContain(readOffsetCheckpoint(store, '/d', 'points').size)
		if (!isDone) continue
		expect(readOffsetCheckpoint(store, '/d', 'points').size).toBe(2)
		return
	}
})

test('19.13 epochs are durable once synced, and the same ones are not written again', async () => {
	const store = disk()
	store.syncDirectoryNow('/')
	const file = new EpochFile(store, '/d')
	const entries = [{ epoch: 1, startOffset: 1 }]
	file.write(entries)
	await file.sync()
	const before = store.operations
	file.write([{ epoch: 1, startOffset: 1 }])
	await file.sync()
	expect(store.operations).toBe(before)
	store.restart('power', () => 0)
	expect(readEpochCheckpoint(store, '/d')).toEqual(entries)
	const again = new EpochFile(store, '/d')
	again.holds(entries)
	again.write(entries)
	expect(store.operations).toBeLessThan(before + 10)
	again.write([])
	expect(readEpochCheckpoint(store, '/d')).toEqual([])
})
