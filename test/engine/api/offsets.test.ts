/** ListOffsets, OffsetForLeaderEpoch, DeleteRecords over the wire: statements of semantics 10. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { offsetForLeaderEpoch } from '../../../src/protocol/messages/offsets.js'
import { deleteRecords } from '../../../src/protocol/messages/topics.js'
import { TRANSACTIONAL_BIT } from '../../../src/protocol/records/batch.js'
import { buildBatch, buildMarker } from '../../../src/protocol/records/record.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { batchOf, fetchFrom, makeTopic, offsetAt, onlyPartition, send } from '../../helpers/requests.js'

let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker()
	connection = await broker.connect()
	await makeTopic(connection, 'timed')
	// Timestamps 1000, 1001, 1002 in each batch.
	for (let i = 0; i < 3; i++) await send(connection, 'timed', batchOf(['a', 'b', 'c']))
})
afterAll(() => broker.stop())

describe('list offsets', () => {
	it('10.1 latest, earliest, by time, of the largest time, local and tiered', async () => {
		expect(await offsetAt(connection, 'timed', -1)).toMatchObject({
			errorCode: 0,
			offset: 9,
			timestamp: -1,
			leaderEpoch: 0,
		})
		expect(await offsetAt(connection, 'timed', -2)).toMatchObject({ errorCode: 0, offset: 0, timestamp: -1 })
		expect(await offsetAt(connection, 'timed', 1001)).toMatchObject({ offset: 1, timestamp: 1001, leaderEpoch: 0 })
		expect(await offsetAt(connection, 'timed', -3)).toMatchObject({ offset: 2, timestamp: 1002 })
		expect(await offsetAt(connection, 'timed', -4)).toMatchObject({ offset: 0 })
		expect(await offsetAt(connection, 'timed', -5)).toMatchObject({ errorCode: 0, offset: -1 })
		expect((await offsetAt(connection, 'timed', -9)).errorCode).toBe(ERROR.UNSUPPORTED_VERSION)
	})

	it('28.4 an unknown isolation level is -1', async () => {
		expect((await offsetAt(connection, 'timed', -1, { isolation: 7 as 0 })).errorCode).toBe(-1)
	})

	it('10.2 a time after all records finds nothing', async () => {
		expect(await offsetAt(connection, 'timed', 5000)).toMatchObject({ errorCode: 0, offset: -1, timestamp: -1 })
		expect(await offsetAt(connection, 'timed', Number.MAX_SAFE_INTEGER)).toMatchObject({ errorCode: 0, offset: -1 })
	})

	it('10.2 times between records find the next one (kop#334)', async () => {
		await makeTopic(connection, 'even')
		for (const timestamp of [2, 4, 6, 8]) {
			await send(connection, 'even', buildBatch({ records: [{ timestamp, key: null, value: null }] }))
		}
		const found = []
		for (const timestamp of [3, 5, 7, 9]) found.push((await offsetAt(connection, 'even', timestamp)).offset)
		expect(found).toEqual([1, 2, 3, -1])
	})

	it('10.3 checks the leader epoch', async () => {
		expect((await offsetAt(connection, 'timed', -1, { leaderEpoch: 3 })).errorCode).toBe(ERROR.UNKNOWN_LEADER_EPOCH)
	})

	it('10.2 a time is answered as far as the reader may see: not into an open transaction (redpanda#3161)', async () => {
		await makeTopic(connection, 'open')
		await send(connection, 'open', batchOf(['a']))
		const partition = broker.broker.replicas.find('open', 0)
		if (typeof partition === 'number') throw new Error('not here')
		const open = buildBatch({
			records: [{ timestamp: 5000, key: null, value: Buffer.from('b') }],
			producerId: 7n,
			producerEpoch: 0,
			baseSequence: 0,
			attributes: TRANSACTIONAL_BIT,
		})
		await partition.append(open, { origin: 'coordinator', produceVersion: 11 })
		broker.broker.replicas.appended(partition)
		expect((await offsetAt(connection, 'open', 4000)).offset).toBe(1)
		expect(await offsetAt(connection, 'open', 4000, { isolation: 1 })).toMatchObject({ offset: -1, timestamp: -1 })
		expect((await offsetAt(connection, 'open', -1, { isolation: 1 })).offset).toBe(1)
		const marker = buildMarker('commit', { producerId: 7n, producerEpoch: 0, coordinatorEpoch: 0, timestamp: 6000 })
		await partition.append(marker, { origin: 'coordinator', produceVersion: 11 })
		broker.broker.replicas.appended(partition)
		expect((await offsetAt(connection, 'open', 4000, { isolation: 1 })).offset).toBe(1)
	})

	it('10.5 version 0 lists segment starts, newest first (redpanda#4473)', async () => {
		await makeTopic(connection, 'rolled', 1, { 'segment.bytes': '300' })
		for (let i = 0; i < 6; i++) await send(connection, 'rolled', batchOf(['x'.repeat(100)]))
		const latest = await offsetAt(connection, 'rolled', -1, { version: 0 })
		expect(latest.oldStyleOffsets[0]).toBe(6)
		expect(latest.oldStyleOffsets.length).toBeGreaterThan(2)
		expect([...latest.oldStyleOffsets].sort((a, b) => b - a)).toEqual(latest.oldStyleOffsets)
		expect((await offsetAt(connection, 'rolled', -2, { version: 0 })).oldStyleOffsets).toEqual([0])
	})

	it('unknown topics and partitions are 3', async () => {
		expect((await offsetAt(connection, 'nowhere', -1)).errorCode).toBe(3)
		expect((await offsetAt(connection, 'timed', -1, { partition: 5 })).errorCode).toBe(3)
	})
})

describe('offset for leader epoch', () => {
	it('10.6 the newest epoch ends at the log end, later ones are unknown', async () => {
		const ask = async (leaderEpoch: number) => {
			const answer = await connection.send(offsetForLeaderEpoch, 4, {
				replicaId: -1,
				topics: [{ topic: 'timed', partitions: [{ partition: 0, currentLeaderEpoch: -1, leaderEpoch }] }],
			})
			const {
				errorCode,
				leaderEpoch: epoch,
				endOffset,
			} = answer.topics[0]?.partitions[0] ?? { errorCode: -9, leaderEpoch: 0, endOffset: 0 }
			return [errorCode, epoch, endOffset]
		}
		expect(await ask(0)).toEqual([0, 0, 9])
		expect(await ask(7)).toEqual([0, -1, -1])
	})
})

describe('delete records', () => {
	const remove = async (topic: string, offset: number) => {
		const answer = await connection.send(deleteRecords, 2, {
			topics: [{ name: topic, partitions: [{ partitionIndex: 0, offset }] }],
			timeoutMs: 5000,
		})
		const { errorCode, lowWatermark } = answer.topics[0]?.partitions[0] ?? { errorCode: -9, lowWatermark: -9 }
		return [errorCode, lowWatermark]
	}

	it('10.7 raises the log start; earlier offsets are then out of range', async () => {
		await makeTopic(connection, 'cut')
		for (let i = 0; i < 4; i++) await send(connection, 'cut', batchOf(['a', 'b']))
		expect(await remove('cut', 3)).toEqual([0, 3])
		expect(onlyPartition(await fetchFrom(connection, 'cut', 2)).errorCode).toBe(ERROR.OFFSET_OUT_OF_RANGE)
		const inside = onlyPartition(await fetchFrom(connection, 'cut', 3))
		expect([inside.errorCode, inside.logStartOffset]).toEqual([0, 3])
		expect(await offsetAt(connection, 'cut', -2)).toMatchObject({ offset: 3 })
		expect(await remove('cut', -1)).toEqual([0, 8])
		expect(await remove('cut', 9)).toEqual([ERROR.OFFSET_OUT_OF_RANGE, -1])
		expect(await remove('cut', -2)).toEqual([ERROR.OFFSET_OUT_OF_RANGE, -1])
	})

	it('10.7 refuses compacted topics and unknown ones', async () => {
		await makeTopic(connection, 'keyed', 1, { 'cleanup.policy': 'compact' })
		expect(await remove('keyed', 0)).toEqual([ERROR.POLICY_VIOLATION, -1])
		expect(await remove('nowhere', 0)).toEqual([3, -1])
		expect(await remove('__consumer_offsets', 0)).toEqual([ERROR.INVALID_TOPIC_EXCEPTION, -1])
	})

	it('the log start lives through a restart', async () => {
		broker = await broker.restart()
		connection = await broker.connect()
		expect(await offsetAt(connection, 'cut', -2)).toMatchObject({ offset: 8 })
	})
})
