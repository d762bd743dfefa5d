/** Cuts of a log, and what a start after a crash makes of them. */

import { expect, test } from 'vitest'
import { stampBatch } from '../../../src/protocol/records/batch.js'
import { SimDisk } from '../../sim/disk.js'
import { batch, CLIENT, openLog, readAll } from './setup.js'

test('13.6 20.7 a cut of the batch in which the log start lies leaves no gap: what is appended next survives kill -9', async () => {
	const disk = new SimDisk()
	const config = { segmentBytes: 330 }
	const { log } = await openLog(disk, config)
	for (const first of [0, 4]) {
		const options = { first, producerId: 7n, producerEpoch: 0, baseSequence: first }
		await log.appendAsLeader(batch(first === 0 ? 4 : 2, 20, options), CLIENT)
	}
	log.advanceHighWatermark(6)
	log.deleteRecordsTo(5)
	await log.truncateTo(5)
	expect([log.logStartOffset, log.logEndOffset]).toEqual([5, 5])
	for (let next = 5; next < 20; next += 3) {
		const bytes = batch(3, 40, { first: next })
		stampBatch(bytes, 0, next, 0)
		expect(await log.appendAsFollower(bytes)).toMatchObject({ errorCode: 0, logEndOffset: next + 3 })
	}
	// What the roll has begun ends with the process.
	await new Promise((resolve) => setImmediate(resolve))
	disk.restart('process', () => 0)
	const again = await openLog(disk, config)
	expect([again.log.logStartOffset, again.log.logEndOffset]).toEqual([5, 20])
	expect((await readAll(again.log)).map(({ offset }) => offset)).toEqual(Array.from({ length: 15 }, (_, i) => 5 + i))
	// The producer's state went through the cut: its last batch that stayed is known still.
	const repeated = batch(4, 20, { first: 0, producerId: 7n, producerEpoch: 0, baseSequence: 0 })
	expect(await again.log.appendAsLeader(repeated, CLIENT)).toMatchObject({ errorCode: 0, duplicate: true })
})
