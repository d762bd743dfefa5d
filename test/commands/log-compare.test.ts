/** `kcli log compare` as a process, and what it calls on records of every kind. */

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { compareLogs } from '../../src/engine/log/compare.js'
import { compressStream } from '../../src/protocol/records/compression.js'
import { rebuildBatch } from '../../src/protocol/records/rebuild.js'
import { buildBatch, type NewRecord } from '../../src/protocol/records/record.js'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { CLIENT, openLog } from '../engine/log/setup.js'
import { Cleanup, kcli, ROOT } from '../helpers/processes.js'
import { SimDisk } from '../sim/disk.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())
const { compression } = nodeRuntime()
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
const OPTIONS = { isByBytes: false, differencesMax: 100, decompressedBytesMax: 1e8 }

type Cut = { readonly size: number; readonly codec: (typeof CODECS)[number] }

/** The records in batches of these sizes and codecs, again and again, in a log of small segments. */
async function written(disk: SimDisk, records: readonly NewRecord[], cuts: readonly Cut[], segmentBytes: number) {
	const { log, manager } = await openLog(disk, { segmentBytes })
	for (let at = 0, i = 0; at < records.length; i++) {
		const { size, codec } = cuts[i % cuts.length] as Cut
		const some = records.slice(at, at + size)
		const plain = buildBatch({ records: some })
		const stream = codec === 'none' ? null : await compressStream(compression, codec, plain.subarray(61), null)
		const largest = Math.max(...some.map(({ timestamp }) => Number(timestamp)))
		const batch = stream === null ? plain : rebuildBatch(plain, stream, codec, -1, largest)
		expect(await log.appendAsLeader(batch, CLIENT)).toMatchObject({ errorCode: 0, firstOffset: at })
		at += size
	}
	await manager.close(0n)
	return { directory: '/data/t-0', logStartOffset: 0 }
}

const bytes = fc.option(
	fc.uint8Array({ maxLength: 30 }).map((each) => Buffer.from(each)),
	{ nil: null },
)
const record = fc.record({
	timestamp: fc.integer({ min: 1_600_000_000_000, max: 1_700_000_000_000 }),
	key: bytes,
	value: bytes,
	headers: fc.array(fc.record({ key: fc.string({ maxLength: 5 }), value: bytes }), { maxLength: 3 }),
})
const cuts = fc.array(fc.record({ size: fc.integer({ min: 1, max: 5 }), codec: fc.constantFrom(...CODECS) }), {
	minLength: 1,
	maxLength: 4,
})
const segment = fc.integer({ min: 1000, max: 4000 })

/** Both sides on one disk each, seen as one disk. */
async function compared(a: SimDisk, b: SimDisk, isByBytes = false) {
	const disk = new SimDisk()
	for (const [name, from] of [
		['/a', a],
		['/b', b],
	] as const) {
		disk.makeDirectoryNow(name)
		for (const entry of from.listNow('/data/t-0')) {
			const file = disk.openNow(`${name}/${entry.name}`, 'fresh')
			file.writeNow([from.readFileNow(`/data/t-0/${entry.name}`)], 0)
			file.closeNow()
		}
	}
	const side = (directory: string) => ({ directory, logStartOffset: 0 })
	return await compareLogs(disk, compression, side('/a'), side('/b'), { ...OPTIONS, isByBytes })
}

describe('log compare', () => {
	it('equal records are equal, whatever codec, batches and segments; every changed field is named', async () => {
		const property = fc.asyncProperty(
			fc.array(record, { minLength: 1, maxLength: 40 }),
			fc.tuple(cuts, cuts, segment, segment),
			fc.nat(),
			fc.constantFrom('key' as const, 'value' as const, 'headers' as const, 'timestamp' as const),
			async (records, [oneCuts, otherCuts, oneBytes, otherBytes], pick, field) => {
				const [one, other, changed] = [new SimDisk(), new SimDisk(), new SimDisk()]
				await written(one, records, oneCuts, oneBytes)
				await written(other, records, otherCuts, otherBytes)
				expect(await compared(one, other)).toEqual({
					differences: [],
					differenceCount: 0,
					equal: records.length,
					countA: records.length,
					countB: records.length,
				})
				const at = pick % records.length
				const was = records[at] as NewRecord
				const odd = {
					key: { ...was, key: Buffer.from(`${was.key ?? ''}!`) },
					value: { ...was, value: Buffer.from(`${was.value ?? ''}!`) },
					headers: { ...was, headers: [...(was.headers ?? []), { key: '', value: null }] },
					timestamp: { ...was, timestamp: Number(was.timestamp) + 1 },
				}[field]
				await written(changed, (records as NewRecord[]).with(at, odd), otherCuts, otherBytes)
				expect((await compared(one, changed)).differences).toMatchObject([
					{ kind: 'differs', offset: at, lastOffset: at, fields: [field] },
				])
			},
		)
		await fc.assert(property, { numRuns: 60 })
	}, 60_000)

	it('what only one has is told as ranges, and bytes are compared where that is asked for', async () => {
		const records = Array.from({ length: 20 }, (_, i) => ({
			timestamp: 1000 + i,
			key: null,
			value: Buffer.from(`${i}`),
		}))
		const [one, other] = [new SimDisk(), new SimDisk()]
		await written(one, records, [{ size: 2, codec: 'none' }], 4000)
		await written(other, records.slice(0, 15), [{ size: 2, codec: 'gzip' }], 4000)
		const only = await compared(one, other)
		expect(only).toMatchObject({ equal: 15, countA: 20, countB: 15, differenceCount: 1 })
		expect(only.differences).toMatchObject([{ kind: 'only-a', offset: 15, lastOffset: 19, count: 5 }])
		expect((await compared(other, one)).differences).toMatchObject([{ kind: 'only-b', offset: 15, lastOffset: 19 }])
		expect(await compared(one, one, true)).toMatchObject({ equal: 10, differenceCount: 0 })
		const byBytes = await compared(one, other, true)
		expect(byBytes).toMatchObject({ equal: 0, differenceCount: 9 })
		expect(byBytes.differences[0]).toMatchObject({ kind: 'differs', offset: 0, fields: ['batch'] })
	})

	it('as a command: 0 and 3, JSON, the folders of Apache Kafka, and a word where nothing can be compared', async () => {
		const kafka = (set: string) => join(ROOT, 'test', 'fixtures', 'logs', set, 'epochs-0')
		const same = await kcli(['log', 'compare', kafka('recovered'), kafka('recovered'), '--json'])
		expect([same.code, JSON.parse(same.stdout).items]).toEqual([0, []])
		expect(same.stderr).toMatch(/^(\d+) records are equal, of \1 in A and \1 in B: no difference\n$/)
		expect((await kcli(['log', 'compare', kafka('recovered'), kafka('recovered'), '--bytes', '-q'])).code).toBe(0)
		const other = await kcli(['log', 'compare', kafka('recovered'), join(kafka('clean'), '..', 'epochs-0'), '--json'])
		expect([0, 3]).toContain(other.code)
		const folder = join(cleanup.folder(), 'epochs-0')
		cpSync(kafka('killed'), folder, { recursive: true })
		const torn = await kcli(['log', 'compare', folder, kafka('recovered')])
		expect([torn.code, torn.stdout]).toEqual([1, ''])
		expect(torn.stderr).toContain('at 654: batch is cut')
		expect((await kcli(['log', 'compare', folder])).code).toBe(2)
		expect((await kcli(['log', 'compare', join(kafka('clean'), '..'), folder])).code).toBe(2)
	})
})
