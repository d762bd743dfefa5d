/** Idempotent and transactional producers in one partition's log (semantics 5). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AppendOutcome } from '../../../src/engine/log/append.js'
import { decodeSnapshot, encodeSnapshot } from '../../../src/engine/log/producer-snapshot.js'
import { ProducerState } from '../../../src/engine/log/producer-state.js'
import { TRANSACTIONAL_BIT } from '../../../src/protocol/records/batch.js'
import { buildMarker } from '../../../src/protocol/records/record.js'
import { batch, bytesOf, CLIENT, COORDINATOR, type Opened, openLog } from './setup.js'

const ID = 1000n

/** Appends `count` records of producer 1000. */
async function send(opened: Opened, sequence: number, count = 1, epoch = 0, attributes = 0): Promise<AppendOutcome> {
	const bytes = batch(count, 10, { producerId: ID, producerEpoch: epoch, baseSequence: sequence, attributes })
	return opened.log.appendAsLeader(bytes, CLIENT)
}

async function end(
	opened: Opened,
	type: 'commit' | 'abort',
	epoch = 0,
	coordinatorEpoch = 0,
	producerId = ID,
): Promise<AppendOutcome> {
	const marker = buildMarker(type, { producerId, producerEpoch: epoch, coordinatorEpoch, timestamp: 5 })
	return opened.log.appendAsLeader(marker, COORDINATOR)
}

const sendTxn = (opened: Opened, sequence: number, epoch = 0): Promise<AppendOutcome> =>
	send(opened, sequence, 1, epoch, TRANSACTIONAL_BIT)

/** Clean stop and new start on the same disk. */
async function again(opened: Opened): Promise<Opened> {
	await opened.manager.close(0n)
	return openLog(opened.world.disk, {}, opened.world)
}

describe('sequences', () => {
	test('5.3 a lower epoch answers 47 with the log start', async () => {
		const log = await openLog()
		await send(log, 0, 1, 3)
		expect(await send(log, 1, 1, 2)).toMatchObject({ errorCode: 47, logStartOffset: 0, firstOffset: -1 })
	})

	test('5.4 4.22 one of the last five batches again is a duplicate with its old offsets', async () => {
		const log = await openLog()
		for (let i = 0; i < 6; i++) await send(log, i * 2, 2)
		for (let i = 1; i < 6; i++) {
			expect(await send(log, i * 2, 2)).toMatchObject({
				errorCode: 0,
				duplicate: true,
				firstOffset: i * 2,
				lastOffset: i * 2 + 1,
				logAppendTimeMs: 1_700_000_000_001,
			})
		}
		expect(log.log.logEndOffset).toBe(12)
	})

	test('5.5 a gap, an overlap and an older batch answer 45', async () => {
		const log = await openLog()
		for (let i = 0; i < 6; i++) await send(log, i)
		for (const sequence of [7, 0, 3]) expect(await send(log, sequence, 2)).toMatchObject({ errorCode: 45 })
		expect((await send(log, 0)).errorCode).toBe(45)
	})

	test('1.4 5.5 sequences wrap from 2^31-1 to 0, within and between batches', async () => {
		const log = await openLog()
		const top = 0x7fffffff
		expect(await send(log, top - 1, 4)).toMatchObject({ errorCode: 0 })
		expect(await send(log, 2)).toMatchObject({ errorCode: 0 })
		expect(await send(log, top - 1, 4)).toMatchObject({ duplicate: true, firstOffset: 0, lastOffset: 3 })
		const other = await openLog()
		await send(other, top)
		expect(await send(other, 0)).toMatchObject({ errorCode: 0, firstOffset: 1 })
	})

	test('5.6 5.7 a new epoch begins at 0; an unknown producer anywhere', async () => {
		const log = await openLog()
		expect(await send(log, 77)).toMatchObject({ errorCode: 0 })
		expect(await send(log, 5, 1, 1)).toMatchObject({ errorCode: 45 })
		expect(await send(log, 0, 1, 1)).toMatchObject({ errorCode: 0 })
	})

	test('5.2 a follower takes what the leader sent, whatever its sequences', async () => {
		const log = await openLog()
		await send(log, 0, 1, 5)
		const bytes = batch(1, 10, { producerId: ID, producerEpoch: 1, baseSequence: 40, baseOffset: 1 })
		expect(await log.log.appendAsFollower(bytes)).toMatchObject({ errorCode: 0, logEndOffset: 2 })
	})

	test('5.16 an idle producer is forgotten, one with an open transaction is not', async () => {
		const log = await openLog()
		await send(log, 0)
		const other = batch(1, 10, { producerId: 2n, producerEpoch: 0, baseSequence: 0, attributes: TRANSACTIONAL_BIT })
		await log.log.appendAsLeader(other, CLIENT)
		const day = 86_400_000
		expect(log.log.expireProducers(1_700_000_000_000 + day - 1)).toBe(0)
		expect(log.log.expireProducers(1_700_000_000_000 + day)).toBe(1)
		expect(log.log.activeProducers().map((one) => one.producerId)).toEqual([2n])
	})

	test('5.17 20.8 state survives a clean stop; the last batch is still a duplicate', async () => {
		let log = await openLog()
		await send(log, 0, 3)
		await send(log, 3, 2)
		log = await again(log)
		expect(await send(log, 3, 2)).toMatchObject({ duplicate: true, firstOffset: 3, lastOffset: 4 })
		expect(await send(log, 5)).toMatchObject({ errorCode: 0, firstOffset: 5 })
	})

	test('5.17 truncation takes state back to what the log then holds', async () => {
		const log = await openLog()
		for (let i = 0; i < 5; i++) await send(log, i)
		await log.log.truncateTo(2)
		expect(await send(log, 4)).toMatchObject({ errorCode: 45 })
		expect(await send(log, 2)).toMatchObject({ errorCode: 0, firstOffset: 2 })
	})
})

describe('transactions', () => {
	test('1.12 a marker takes an offset and is returned to readers, who skip it', async () => {
		const log = await openLog()
		await sendTxn(log, 0)
		expect(await end(log, 'commit')).toMatchObject({ errorCode: 0, firstOffset: 1, lastOffset: 1 })
		expect(log.log.logEndOffset).toBe(2)
		const bytes = await bytesOf(log.log.read({ offset: 1, maxBytes: 1000, minOneBatch: true, upTo: 'logEnd' }))
		expect(bytes.readBigInt64BE(0)).toBe(1n)
		// Attributes: control (bit 5) and transactional (bit 4).
		expect(bytes.readInt16BE(21) & 0x30).toBe(0x30)
	})

	test('5.9 a marker does not reset sequences of the same epoch', async () => {
		const log = await openLog()
		await sendTxn(log, 0)
		await end(log, 'commit')
		expect(await sendTxn(log, 0)).toMatchObject({ duplicate: true })
		expect(await sendTxn(log, 1)).toMatchObject({ errorCode: 0, duplicate: false })
	})

	test('5.10 a plain batch of a producer with an open transaction answers 48', async () => {
		const log = await openLog()
		await sendTxn(log, 0)
		expect(await send(log, 1)).toMatchObject({ errorCode: 48, logStartOffset: 0 })
		await end(log, 'commit')
		expect(await send(log, 1)).toMatchObject({ errorCode: 0 })
	})

	test('5.13 markers: older epoch 47, older coordinator 52, newer epoch clears batches, none open has no effect', async () => {
		const log = await openLog()
		await sendTxn(log, 0, 2)
		expect(await end(log, 'commit', 1)).toMatchObject({ errorCode: 47 })
		expect(await end(log, 'abort', 3, 7)).toMatchObject({ errorCode: 0 })
		expect(await end(log, 'abort', 3, 6)).toMatchObject({ errorCode: 52 })
		expect(await sendTxn(log, 1, 2)).toMatchObject({ errorCode: 47 })
		expect(await sendTxn(log, 1, 3)).toMatchObject({ errorCode: 45 })
		expect(await end(log, 'commit', 3, 8)).toMatchObject({ errorCode: 0 })
		log.log.advanceHighWatermark(log.log.logEndOffset)
		expect(log.log.lastStableOffset).toBe(log.log.logEndOffset)
	})

	test('5.15 the stable offset waits for open transactions and for markers below the high watermark', async () => {
		const log = await openLog()
		await send(log, 0)
		await sendTxn(log, 1)
		const other = batch(1, 10, { producerId: 2n, producerEpoch: 0, baseSequence: 0, attributes: TRANSACTIONAL_BIT })
		await log.log.appendAsLeader(other, CLIENT)
		await end(log, 'commit')
		log.log.advanceHighWatermark(3)
		expect(log.log.lastStableOffset).toBe(1)
		log.log.advanceHighWatermark(4)
		expect(log.log.lastStableOffset).toBe(2)
		await end(log, 'abort', 0, 0, 2n)
		expect(log.log.lastStableOffset).toBe(2)
		log.log.advanceHighWatermark(5)
		expect(log.log.lastStableOffset).toBe(5)
	})

	test('5.14 7.13 19.8 aborted transactions stand in the index of their marker, also after a restart', async () => {
		let log = await openLog()
		for (let i = 0; i < 4; i++) {
			await sendTxn(log, i)
			await end(log, i % 2 === 0 ? 'abort' : 'commit')
		}
		for (let round = 0; round < 2; round++) {
			log.log.advanceHighWatermark(8)
			const aborted = async (offset: number): Promise<unknown> => {
				const read = await log.log.read({
					offset,
					maxBytes: 1e6,
					minOneBatch: true,
					upTo: 'lastStable',
					withAborted: true,
				})
				for (const part of read.parts) if ('release' in part) part.release()
				return read.aborted?.map((one) => [one.firstOffset, one.lastOffset, one.lastStableOffset])
			}
			expect(await aborted(0)).toEqual([
				[0, 1, 2],
				[4, 5, 6],
			])
			expect(await aborted(2)).toEqual([[4, 5, 6]])
			expect(await aborted(6)).toEqual([])
			log = await again(log)
		}
	})

	test('5.15 an open transaction holds the stable offset after a restart', async () => {
		let log = await openLog()
		await send(log, 0)
		await sendTxn(log, 1)
		log = await again(log)
		log.log.advanceHighWatermark(2)
		expect(log.log.lastStableOffset).toBe(1)
		expect(log.log.hasOpenTransaction(ID)).toBe(true)
	})
})

test('19.9 any snapshot comes back as it was written, and any flipped bit is noticed', () => {
	const entry = fc.record({
		producerId: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
		producerEpoch: fc.integer({ min: 0, max: 32767 }),
		lastSequence: fc.integer({ min: -1, max: 0x7fffffff }),
		lastOffset: fc.integer({ min: -1, max: 2 ** 50 }),
		offsetDelta: fc.integer({ min: 0, max: 100 }),
		timestamp: fc.integer({ min: -1, max: 2 ** 50 }),
		coordinatorEpoch: fc.integer({ min: -1, max: 1000 }),
		currentTxnFirstOffset: fc.integer({ min: -1, max: 2 ** 50 }),
	})
	fc.assert(
		fc.property(fc.array(entry), fc.nat(), (entries, flip) => {
			const bytes = encodeSnapshot(entries)
			expect(decodeSnapshot(bytes)).toEqual(entries)
			const at = flip % bytes.length
			bytes[at] = (bytes[at] as number) ^ 1
			expect(() => decodeSnapshot(bytes)).toThrow()
		}),
	)
})

test('5.1 a state comes back from its snapshot', () => {
	const state = new ProducerState()
	state.load(
		[
			{
				producerId: 4n,
				producerEpoch: 1,
				lastSequence: 9,
				lastOffset: 20,
				offsetDelta: 3,
				timestamp: 50,
				coordinatorEpoch: 2,
				currentTxnFirstOffset: 17,
			},
		],
		21,
		100,
		1000,
	)
	expect(state.firstUnstableOffset).toBe(17)
	expect(state.snapshot()).toHaveLength(1)
	expect(state.snapshot()[0]).toMatchObject({ producerId: 4n, lastSequence: 9, currentTxnFirstOffset: 17 })
})
