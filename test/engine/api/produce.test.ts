/** Produce over the wire: statements of semantics 4 and 6 that a single broker has. The log's own checks are tested with it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { encodeRequest } from '../../../src/protocol/frame.js'
import { metadata } from '../../../src/protocol/messages/metadata.js'
import { produce } from '../../../src/protocol/messages/produce.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { RawSocket } from '../../helpers/raw-socket.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../../helpers/requests.js'

let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker()
	connection = await broker.connect()
	await makeTopic(connection, 'plain')
})
afterAll(() => broker.stop())

describe('produce', () => {
	it('6.2 acks=1 answers with the first offset, and offsets follow one another', async () => {
		await makeTopic(connection, 'dense')
		const first = await send(connection, 'dense', batchOf(['a', 'b', 'c']))
		const second = await send(connection, 'dense', batchOf(['d']))
		expect([first.errorCode, first.baseOffset, first.logStartOffset]).toEqual([0, 0, 0])
		expect([second.errorCode, second.baseOffset]).toEqual([0, 3])
	})

	it('6.3 acks=-1 answers when the ISR has the records', async () => {
		const answer = await send(connection, 'plain', batchOf(['a']), { acks: -1 })
		expect(answer.errorCode).toBe(ERROR.NONE)
	})

	it('6.1 acks=0 gets no answer, and the next request on the connection is answered', async () => {
		await makeTopic(connection, 'silent')
		const other = await broker.connect()
		other.sendWithoutAnswer(produce, 9, {
			acks: 0,
			timeoutMs: 1000,
			topicData: [{ name: 'silent', partitionData: [{ index: 0, records: batchOf(['a']) }] }],
		})
		const answer = await other.request(metadata, { topics: [] })
		expect(answer.brokers.length).toBe(1)
		expect(onlyPartition(await fetchFrom(connection, 'silent', 0)).highWatermark).toBe(1)
	})

	it('6.1 acks=0 with an error ends the connection', async () => {
		const socket = await RawSocket.open(broker.port)
		const parts = encodeRequest(produce, 9, 1, 'test', {
			acks: 0,
			timeoutMs: 1000,
			topicData: [{ name: 'nowhere', partitionData: [{ index: 0, records: batchOf(['a']) }] }],
		})
		socket.send(Buffer.concat(parts as Buffer[]))
		await socket.closed()
	})

	it('4.1 other acks than -1, 0, 1 are refused on every partition', async () => {
		expect((await send(connection, 'plain', batchOf(['a']), { acks: 2 })).errorCode).toBe(ERROR.INVALID_REQUIRED_ACKS)
		expect((await send(connection, 'plain', batchOf(['a']), { acks: -2 })).errorCode).toBe(ERROR.INVALID_REQUIRED_ACKS)
	})

	it('4.2 a transactional batch without a transactional id is refused before anything else', async () => {
		const batch = batchOf(['a'], { producerId: 5n, producerEpoch: 0, baseSequence: 0, attributes: 0x10 })
		const code = (await send(connection, 'plain', batch)).errorCode
		expect(code).toBe(ERROR.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
		expect((await send(connection, 'nowhere', batch)).errorCode).toBe(ERROR.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
	})

	it('4.3 an unknown topic or partition is 3 and is never created', async () => {
		expect((await send(connection, 'nowhere', batchOf(['a']))).errorCode).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
		expect((await send(connection, 'plain', batchOf(['a']), { partition: 7 })).errorCode).toBe(3)
		const answer = await connection.request(metadata, { topics: null })
		expect(answer.topics.map(({ name }) => name)).not.toContain('nowhere')
	})

	it('4.4 an empty, a null, a doubled or an old set of records is named as such', async () => {
		expect((await send(connection, 'plain', Buffer.alloc(0))).errorCode).toBe(ERROR.INVALID_RECORD)
		expect((await send(connection, 'plain', null)).errorCode).toBe(ERROR.INVALID_RECORD)
		expect((await send(connection, 'plain', Buffer.concat([batchOf(['a']), batchOf(['b'])]))).errorCode).toBe(87)
		const unknownMagic = batchOf(['a'])
		unknownMagic[16] = 3
		expect((await send(connection, 'plain', unknownMagic)).errorCode).toBe(ERROR.CORRUPT_MESSAGE)
		const oldMagic = batchOf(['a'])
		oldMagic[16] = 1
		expect((await send(connection, 'plain', oldMagic)).errorCode).toBe(ERROR.INVALID_RECORD)
	})

	it('4.5 internal topics take nothing from clients', async () => {
		await makeTopic(connection, '__consumer_offsets', 3, { 'cleanup.policy': 'compact' })
		const code = (await send(connection, '__consumer_offsets', batchOf(['a']))).errorCode
		expect(code).toBe(ERROR.INVALID_TOPIC_EXCEPTION)
	})

	it('4.7 acks=-1 needs no more replicas than there are', async () => {
		await makeTopic(connection, 'careful', 1, { 'min.insync.replicas': '2' })
		expect((await send(connection, 'careful', batchOf(['a']), { acks: -1 })).errorCode).toBe(ERROR.NONE)
	})

	it('4.9 a batch over max.message.bytes is 10', async () => {
		await makeTopic(connection, 'small', 1, { 'max.message.bytes': '200' })
		expect((await send(connection, 'small', batchOf(['x'.repeat(300)]))).errorCode).toBe(ERROR.MESSAGE_TOO_LARGE)
		expect((await send(connection, 'small', batchOf(['x']))).errorCode).toBe(ERROR.NONE)
	})

	it('4.10 a wrong CRC is 2 and nothing is appended', async () => {
		await makeTopic(connection, 'crc')
		const batch = batchOf(['a'])
		batch[batch.length - 1] = (batch[batch.length - 1] as number) ^ 1
		const answer = await send(connection, 'crc', batch)
		expect([answer.errorCode, answer.baseOffset, answer.logStartOffset]).toEqual([ERROR.CORRUPT_MESSAGE, -1, -1])
		expect(onlyPartition(await fetchFrom(connection, 'crc', 0)).highWatermark).toBe(0)
	})

	it('4.13 a right CRC over a broken inner record is 87', async () => {
		const { writeBatchCrc } = await import('../../../src/protocol/records/batch.js')
		const batch = batchOf(['abc'])
		batch[61] = 0x7e // the record's length says more than there is
		writeBatchCrc(batch, 0, batch.length)
		expect((await send(connection, 'plain', batch)).errorCode).toBe(ERROR.INVALID_RECORD)
	})

	it('4.14 a compacted topic refuses records without a key and names them', async () => {
		await makeTopic(connection, 'compacted', 1, { 'cleanup.policy': 'compact' })
		const { buildBatch } = await import('../../../src/protocol/records/record.js')
		const batch = buildBatch({ records: [{ timestamp: 1, key: null, value: Buffer.from('v') }] })
		const answer = await send(connection, 'compacted', batch)
		expect(answer.errorCode).toBe(ERROR.INVALID_RECORD)
		expect(answer.recordErrors.map(({ batchIndex }) => batchIndex)).toEqual([0])
	})

	it('4.19 LogAppendTime stamps the batch and tells the time', async () => {
		await makeTopic(connection, 'stamped', 1, { 'message.timestamp.type': 'LogAppendTime' })
		const before = Date.now()
		const answer = await send(connection, 'stamped', batchOf(['a']))
		expect(answer.logAppendTimeMs).toBeGreaterThanOrEqual(before)
		const records = onlyPartition(await fetchFrom(connection, 'stamped', 0)).records as Buffer
		expect((records[22] as number) & 8).toBe(8)
	})

	it('4.23 every partition of the request has an answer, in its order', async () => {
		await makeTopic(connection, 'several', 3)
		const answer = await connection.send(produce, 9, {
			acks: 1,
			timeoutMs: 1000,
			topicData: [
				{ name: 'several', partitionData: [2, 0, 5].map((index) => ({ index, records: batchOf([`v${index}`]) })) },
				{ name: 'nowhere', partitionData: [{ index: 0, records: batchOf(['x']) }] },
			],
		})
		const codes = answer.responses.map(({ name, partitionResponses }) => [
			name,
			partitionResponses.map(({ index, errorCode }) => [index, errorCode]),
		])
		expect(codes).toEqual([
			[
				'several',
				[
					[2, 0],
					[0, 0],
					[5, 3],
				],
			],
			['nowhere', [[0, 3]]],
		])
	})

	it('4.24 a request without topics is answered', async () => {
		const answer = await connection.send(produce, 9, { acks: 1, timeoutMs: 1000, topicData: [] })
		expect(answer.responses).toEqual([])
	})

	it('5.4 a repeated batch of an idempotent producer gets its old offset and is not doubled', async () => {
		await makeTopic(connection, 'once')
		const batch = () => batchOf(['a', 'b'], { producerId: 77n, producerEpoch: 0, baseSequence: 0 })
		const first = await send(connection, 'once', batch(), { acks: -1 })
		const again = await send(connection, 'once', batch(), { acks: -1 })
		expect([again.errorCode, again.baseOffset]).toEqual([0, first.baseOffset])
		const gap = batchOf(['c'], { producerId: 77n, producerEpoch: 0, baseSequence: 5 })
		expect((await send(connection, 'once', gap)).errorCode).toBe(ERROR.OUT_OF_ORDER_SEQUENCE_NUMBER)
		const old = batchOf(['c'], { producerId: 77n, producerEpoch: -1 + 0, baseSequence: 2 })
		expect((await send(connection, 'once', old)).errorCode).not.toBe(ERROR.NONE)
		expect(onlyPartition(await fetchFrom(connection, 'once', 0)).highWatermark).toBe(2)
	})

	it('28.3 many produces in flight on one connection are answered in order', async () => {
		await makeTopic(connection, 'pipelined')
		const answers = await Promise.all(
			Array.from({ length: 40 }, (_, i) => send(connection, 'pipelined', batchOf([`v${i}`]), { acks: -1 })),
		)
		expect(answers.map(({ baseOffset }) => baseOffset)).toEqual(Array.from({ length: 40 }, (_, i) => i))
	})
})
