/** The tail cache against a plain array of all batches: what it gives is right, whole, bounded, and a copy. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { APPEND_BYTES_MAX, READ_BYTES_MAX, TailCache } from '../../../src/engine/log/tail-cache.js'
import { stampBatch } from '../../../src/protocol/records/batch.js'
import { buildBatch } from '../../../src/protocol/records/record.js'

interface Stored {
	readonly base: number
	readonly end: number
	readonly bytes: Buffer
}

function batchAt(base: number, records: number, valueBytes: number): Stored {
	const value = Buffer.alloc(valueBytes, base + 1)
	const bytes = buildBatch({ records: Array.from({ length: records }, () => ({ timestamp: 1, key: null, value })) })
	stampBatch(bytes, 0, base, 0)
	return { base, end: base + records, bytes }
}

/** What the file would give. */
function fromModel(stored: readonly Stored[], offset: number, upper: number, bytesMax: number, one: boolean): Buffer {
	const parts: Buffer[] = []
	let total = 0
	for (const { end, bytes } of stored.slice(stored.findIndex((each) => each.end > offset))) {
		if (end > upper) break
		if (total + bytes.length > bytesMax && !(one && total === 0)) break
		parts.push(bytes)
		total += bytes.length
	}
	return Buffer.concat(parts)
}

const append = fc.record({
	log: fc.nat({ max: 2 }),
	records: fc.integer({ min: 1, max: 3 }),
	valueBytes: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 8000, max: 12_000 })),
	readBack: fc.nat({ max: 40 }),
	below: fc.nat({ max: 3 }),
	bytesMax: fc.oneof(fc.constant(1), fc.integer({ min: 60, max: 5000 }), fc.constant(1_000_000)),
	one: fc.boolean(),
})

test('a read is what the file would give or nothing, for three logs under a small budget; earlier reads stay as they were', () => {
	fc.assert(
		fc.property(fc.array(append, { maxLength: 120 }), fc.constantFrom(0, 3000, 300_000), (steps, budget) => {
			const cache = new TailCache(budget)
			const logs = [0, 1, 2].map(() => ({ tail: cache.tail(), stored: [] as Stored[], end: 0 }))
			const given: { bytes: Buffer; was: Buffer }[] = []
			for (const step of steps) {
				const log = logs[step.log] as (typeof logs)[number]
				const batch = batchAt(log.end, step.records, step.valueBytes)
				const sent = Buffer.from(batch.bytes)
				log.tail.add(sent, batch.base, batch.end)
				// The caller's memory is its own again.
				sent.fill(0xee)
				log.stored.push(batch)
				log.end = batch.end
				expect(cache.bytes).toBeLessThanOrEqual(budget)
				const offset = Math.max(0, log.end - 1 - step.readBack)
				const upper = Math.max(offset + 1, log.end - step.below)
				const read = log.tail.read(offset, upper, step.bytesMax, step.one)
				if (read === null) continue
				const wanted = fromModel(log.stored, offset, upper, step.bytesMax, step.one)
				expect(read.bytes.equals(wanted)).toBe(true)
				expect(read.bytes.length).toBeLessThanOrEqual(READ_BYTES_MAX)
				given.push({ bytes: read.bytes, was: wanted })
			}
			for (const { bytes, was } of given) expect(bytes.equals(was)).toBe(true)
			for (const { tail } of logs) tail.clear()
			expect(cache.bytes).toBe(0)
		}),
	)
})

test('the last append is there, a large one empties the tail and is not, and the next small one is again', () => {
	const cache = new TailCache(1_000_000)
	const tail = cache.tail()
	const small = batchAt(0, 2, 100)
	tail.add(small.bytes, small.base, small.end)
	expect(tail.read(1, 2, 1000, true)?.bytes.equals(small.bytes)).toBe(true)
	const large = batchAt(2, 1, APPEND_BYTES_MAX)
	tail.add(large.bytes, large.base, large.end)
	expect(tail.read(0, 3, 1000, true)).toBeNull()
	expect(tail.read(2, 3, 1000, true)).toBeNull()
	expect(cache.bytes).toBe(0)
	const next = batchAt(3, 1, 100)
	tail.add(next.bytes, next.base, next.end)
	expect(tail.read(3, 4, 1000, true)?.bytes.equals(next.bytes)).toBe(true)
	expect(tail.read(2, 4, 1000, true)).toBeNull()
})
