/** Offsets that compaction took: recovery, reads, queries and cuts take the gaps for what they are. */

import { expect, test } from 'vitest'
import { CodecError } from '../../../../src/base/compression.js'
import { FileSlice } from '../../../../src/engine/log/read.js'
import { batchLastOffset, stampBatch } from '../../../../src/protocol/records/batch.js'
import { rebuildBatch } from '../../../../src/protocol/records/rebuild.js'
import { buildBatch } from '../../../../src/protocol/records/record.js'
import { SimDisk } from '../../../sim/disk.js'
import { append, batchesOf, type Opened, openCompacted, pairs, pass, rollOver, textOf } from './setup.js'

/** 40 records of one key in small segments, compacted: gaps within, between and at the ends of segments. */
async function gappy(disk: SimDisk): Promise<Opened> {
	const opened = await openCompacted(disk, { segmentBytes: 400 })
	const { log } = opened
	for (let i = 0; i < 40; i++) {
		const key = i % 7 === 0 ? `kept-${i}` : 'k'
		await append(log, pairs([[key, String(i).padEnd(60)]], { time: 5000 + i * 10 }))
	}
	await rollOver(log)
	await pass(opened)
	return opened
}

test('20.7 an unclean start keeps what stands behind gaps, also when the policy is delete by then', async () => {
	const disk = new SimDisk()
	const { log } = await gappy(disk)
	const before = await textOf(log)
	expect(before.length).toBeLessThan(12)
	await new Promise((resolve) => setImmediate(resolve))
	for (const change of [{ isCompacted: true }, { isCompacted: false, isDeleted: true }]) {
		disk.restart('process', () => 0)
		for (const { name } of disk.listNow('/data')) if (name.startsWith('recovery-point')) disk.removeNow(`/data/${name}`)
		const file = disk.openNow('/data/cleaner-offset-checkpoint', 'fresh')
		file.writeNow([Buffer.from(`0\n1\nt 0 ${log.cleanedOffset}\n`)], 0)
		file.closeNow()
		const again = await openCompacted(disk, { segmentBytes: 400, ...change })
		expect(await textOf(again.log)).toEqual(before)
		expect(again.log.logEndOffset).toBe(log.logEndOffset)
	}
})

test('13.12 20.7 a follower that took gaps over keeps them through an unclean start, whatever the policy', async () => {
	const disk = new SimDisk()
	const config = { segmentBytes: 400, isCompacted: false, isDeleted: true }
	const { log } = await openCompacted(disk, config)
	for (const offset of [0, 3, 20, 21, 35, 60, 62, 90, 91]) {
		const batch = pairs([['k', String(offset).padEnd(90)]])
		stampBatch(batch, 0, offset, 0)
		expect(await log.appendAsFollower(batch)).toMatchObject({ errorCode: 0, logEndOffset: offset + 1 })
	}
	expect(log.segments().length).toBeGreaterThan(2)
	const before = await textOf(log)
	await new Promise((resolve) => setImmediate(resolve))
	disk.restart('process', () => 0)
	const again = await openCompacted(disk, config)
	expect(await textOf(again.log)).toEqual(before)
})

test('7.4 a read at any offset gives the next batch that is there', async () => {
	const disk = new SimDisk()
	const { log } = await gappy(disk)
	const batches = (await batchesOf(log)).map((batch) => batchLastOffset(batch, 0))
	for (let offset = 0; offset < log.logEndOffset; offset++) {
		const outcome = log.read({ offset, maxBytes: 1, minOneBatch: true, upTo: 'logEnd', fromFile: true })
		expect([offset, outcome.errorCode, outcome.firstOffset]).toEqual([
			offset,
			0,
			batches.find((last) => last >= offset),
		])
		for (const part of outcome.parts) if (part instanceof FileSlice) part.release()
	}
	// Segments that a reader passes over keep no file open: those of the active one are.
	expect(disk.openFiles).toBeLessThanOrEqual(3)
})

test('10.1 time queries pass over gaps', async () => {
	const { log } = await gappy(new SimDisk())
	const left = (await textOf(log)).map((line) => Number.parseInt(line, 10)).filter((offset) => offset < 40)
	for (let i = 0; i < 40; i++) {
		const expected = left.find((offset) => offset >= i)
		expect((await log.offsetForTimestamp(5000 + i * 10))?.offset).toBe(expected)
	}
})

test('10.1 a time query goes on when the segment that it reads is merged into an earlier one', async () => {
	const opened = await openCompacted(new SimDisk())
	const { log, world } = opened
	const time = 1_700_000_000_000
	const late = { timestamp: time + 5, key: Buffer.from('a'), value: Buffer.from('1') }
	const early = { timestamp: time, key: Buffer.from('b'), value: Buffer.from('2') }
	const plain = buildBatch({ records: [late, early] })
	const { compression } = world.runtime
	const stream = compression.compressNow('gzip', plain.subarray(61), null)
	await append(log, pairs([['first', 'x'.repeat(500)]], { time: 10 }))
	await append(log, pairs([['second', 'x'.repeat(700)]], { time: 20 }))
	// Its newest record lies below the log start: the query looks into it in vain.
	const second = log.segments()[1]?.baseOffset
	const rebuilt = rebuildBatch(plain, stream, 'gzip', -1, time + 5)
	await append(log, rebuilt)
	await append(log, pairs([['c', '3']], { time: time + 5 }))
	await rollOver(log)
	log.advanceHighWatermark(log.logEndOffset)
	log.deleteRecordsTo(3)
	let resume: () => void = () => undefined
	const decompress = compression.decompress.bind(compression)
	compression.decompressNow = (codec) => {
		throw new CodecError(codec, 'tooLarge', 'goes to the pool')
	}
	compression.decompress = async (codec, source, bytesMax) => {
		compression.decompress = decompress
		await new Promise<void>((resolve) => {
			resume = resolve
		})
		return await decompress(codec, source, bytesMax)
	}
	const found = log.offsetForTimestamp(time + 5)
	log.updateConfig({ ...log.config, segmentBytes: 100_000 })
	await pass(opened)
	expect(log.segments().map(({ baseOffset }) => baseOffset)).not.toContain(second)
	resume()
	expect((await found)?.offset).toBe(4)
})

test.each([3, 13, 14, 15, 27, 39])(
	'10.7 13.6 20.9 records are deleted to, and the log is cut at, an offset in a gap (%d)',
	async (at) => {
		const disk = new SimDisk()
		const opened = await gappy(disk)
		const { log, manager } = opened
		const all = (await textOf(log)).map((line) => Number.parseInt(line, 10))
		log.deleteRecordsTo(3)
		expect(log.logStartOffset).toBe(3)
		await log.truncateTo(at)
		expect(log.logEndOffset).toBe(at)
		expect(await append(log, pairs([['new', '1']]))).toBe(at)
		expect((await textOf(log)).map((line) => Number.parseInt(line, 10))).toEqual([
			...all.filter((one) => one >= 3 && one < at),
			at,
		])
		await manager.close(1n)
		const again = await openCompacted(disk)
		expect([again.log.logStartOffset, again.log.logEndOffset]).toEqual([3, at + 1])
		expect((await textOf(again.log)).at(-1)).toBe(`${at} new=1`)
		await again.manager.close(1n)
		expect(disk.openFiles).toBe(0)
	},
)

test('21.10 after a cut inside a gap and a restart nothing counts as compacted that comes anew', async () => {
	const disk = new SimDisk()
	const { log, manager } = await gappy(disk)
	await log.truncateTo(5)
	await manager.close(1n)
	const again = await openCompacted(disk, { segmentBytes: 400 })
	const end = again.log.logEndOffset
	expect(end).toBeLessThan(5)
	expect(again.log.cleanedOffset).toBe(0)
	// Told to the disk at once: after a crash it would be believed again.
	expect(disk.readFileNow('/data/cleaner-offset-checkpoint').toString()).toBe('0\n1\nt 0 0\n')
	for (const value of ['old', 'new']) await append(again.log, pairs([['k', value]]))
	await rollOver(again.log)
	await pass(again)
	expect((await textOf(again.log)).filter((line) => / k=/.test(line))).toEqual([`${end + 1} k=new`])
})
