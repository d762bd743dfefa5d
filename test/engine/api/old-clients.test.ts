/**
 * Clients from before Kafka 0.11: they send and want message formats 0 and 1 (Produce below 3, Fetch below 4; semantics 2).
 * Bytes are held against what Apache Kafka 3.9.2 answered.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { crc32 } from '../../../src/base/crc32.js'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { requestCodec } from '../../../src/protocol/compile.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { decodeResponse, readRequestHeader, requestHeaderVersion } from '../../../src/protocol/frame.js'
import { fetch } from '../../../src/protocol/messages/fetch.js'
import { produce } from '../../../src/protocol/messages/produce.js'
import { Reader } from '../../../src/protocol/reader.js'
import {
	batchAttributes,
	batchBytes,
	batchMaxTimestamp,
	stampBatch,
	writeBatchCrc,
} from '../../../src/protocol/records/batch.js'
import { recordsOf } from '../../../src/protocol/records/compression.js'
import { messagesOf, readMessage, wrapMessages, writeMessages } from '../../../src/protocol/records/legacy.js'
import { rebuildBatch } from '../../../src/protocol/records/rebuild.js'
import { buildMarker, type DecodedRecord } from '../../../src/protocol/records/record.js'
import { NodeCompression } from '../../../src/runtime/node-compression.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { readGolden } from '../../helpers/golden-wire.js'
import { batchOf, fetchFrom, makeTopic, offsetAt, onlyPartition, send } from '../../helpers/requests.js'
import { seeded } from '../log/setup.js'

const compression = new NodeCompression()
let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker()
	connection = await broker.connect()
})
afterAll(() => broker.stop())

/** Records of the first partition in a produce request of Kafka's sweep. */
function goldenRecords(version: number, sample = 0): Buffer {
	const frames = readGolden(`00-produce.v${version}.sweep.hex`).filter(({ direction }) => direction === 'request')
	const reader = new Reader((frames[sample] as { bytes: Buffer }).bytes.subarray(4))
	readRequestHeader(reader, requestHeaderVersion(produce as never, version))
	const request = requestCodec(produce, version).read(reader)
	return Buffer.from(request.topicData[0]?.partitionData[0]?.records as Buffer)
}

async function stored(topic: string): Promise<DecodedRecord[]> {
	const { records } = onlyPartition(await fetchFrom(connection, topic, 0))
	const bytes = records as Buffer
	const all: DecodedRecord[] = []
	for (let at = 0; at < bytes.length; at += batchBytes(bytes, at))
		all.push(...(await recordsOf(compression, bytes, at, 1e8)))
	return all
}

const text = (bytes: Buffer | null): string | null => (bytes === null ? null : String(bytes))

describe('produce', () => {
	it('2.5 what Kafka took of its own clients of versions 0 to 2 is taken, and becomes one batch of format 2', async () => {
		for (const version of [0, 1, 2]) {
			const topic = `golden-${version}`
			await makeTopic(connection, topic)
			const records = goldenRecords(version)
			expect(await send(connection, topic, Buffer.from(records), { version })).toMatchObject({
				errorCode: 0,
				baseOffset: 0,
			})
			expect(await send(connection, topic, Buffer.from(records), { version })).toMatchObject({
				errorCode: 0,
				baseOffset: 3,
			})
			const read = await stored(topic)
			expect(read.map(({ offset, key, value }) => [offset, text(key), text(value)]).slice(3)).toEqual([
				[3, 'key-0', 'value-0'],
				[4, null, 'value-1'],
				[5, 'key-2', null],
			])
			const hasTimes = version === 2
			expect(read.every(({ timestamp }) => (timestamp === -1) === !hasTimes)).toBe(true)
		}
	})

	it('2.5 the codec of the source is kept, or the topic’s is used', async () => {
		for (const [name, wanted] of [
			['producer', null],
			['zstd', 'zstd'],
			['uncompressed', 'uncompressed'],
		] as const) {
			const topic = `codec-${name}`
			await makeTopic(connection, topic, 1, wanted === null ? {} : { 'compression.type': wanted })
			for (const codec of ['gzip', 'snappy', 'lz4'] as const) {
				for (const magic of [0, 1] as const) {
					const messages = ['a', 'b'].map((value, offset) => ({
						offset,
						attributes: 0,
						timestamp: Date.now(),
						key: null,
						value: Buffer.from(value.repeat(100)),
					}))
					const set = await wrapMessages(compression, magic, codec, messages, -1)
					expect(await send(connection, topic, set, { version: 2 })).toMatchObject({ errorCode: 0 })
				}
			}
			const bytes = onlyPartition(await fetchFrom(connection, topic, 0)).records as Buffer
			const ids: number[] = []
			for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) ids.push(batchAttributes(bytes, at) & 7)
			expect(ids).toEqual(
				wanted === 'zstd' ? [4, 4, 4, 4, 4, 4] : wanted === null ? [1, 1, 2, 2, 3, 3] : [0, 0, 0, 0, 0, 0],
			)
			expect((await stored(topic)).map(({ value }) => String(value)[0])).toEqual('abababababab'.split(''))
		}
	})

	it('2.5 large compressed sets are converted off the loop, in order with what follows', async () => {
		await makeTopic(connection, 'large')
		const next = seeded(3)
		const value = Buffer.from(Array.from({ length: 600_000 }, () => Math.floor(next() * 256)))
		const message = (body: Buffer) => ({ offset: 0, attributes: 0, timestamp: Date.now(), key: null, value: body })
		const large = await wrapMessages(compression, 1, 'gzip', [message(value)], -1)
		const small = writeMessages(1, [message(Buffer.from('small'))])
		const answers = await Promise.all([
			send(connection, 'large', large, { version: 2 }),
			send(connection, 'large', small, { version: 2 }),
		])
		expect(answers.map(({ baseOffset }) => baseOffset)).toEqual([0, 1])
		expect((await stored('large')).map((record) => record.value?.length)).toEqual([600_000, 5])
	})

	it('2.3 2.5 broken, mixed and nested sets are refused, each with its code', async () => {
		await makeTopic(connection, 'refused')
		await makeTopic(connection, 'keyed', 1, { 'cleanup.policy': 'compact' })
		await makeTopic(connection, 'timed', 1, { 'message.timestamp.after.max.ms': '1000' })
		const one = (more: object = {}) => ({
			offset: 0,
			attributes: 0,
			timestamp: Date.now(),
			key: null,
			value: Buffer.from('v'),
			...more,
		})
		const plain = writeMessages(1, [one()])
		const badCrc = Buffer.from(plain)
		badCrc[badCrc.length - 1] = 0
		const gzip = (inner: Buffer) =>
			writeMessages(1, [one({ attributes: 1, value: compression.compressNow('gzip', inner, null) })])
		const code = async (records: Buffer, topic = 'refused', version = 2) =>
			(await send(connection, topic, Buffer.from(records), { version })).errorCode
		expect(await code(badCrc)).toBe(ERROR.CORRUPT_MESSAGE)
		expect(await code(gzip(badCrc))).toBe(ERROR.CORRUPT_MESSAGE)
		expect(await code(Buffer.concat([plain, writeMessages(0, [one()])]))).toBe(ERROR.INVALID_RECORD)
		expect(await code(Buffer.concat([plain, gzip(plain)]))).toBe(ERROR.INVALID_RECORD)
		expect(await code(gzip(gzip(plain)))).toBe(ERROR.INVALID_RECORD)
		expect(await code(gzip(Buffer.from('no messages at all')))).toBe(ERROR.INVALID_RECORD)
		expect(await code(writeMessages(1, [one({ attributes: 1, value: Buffer.from('not gzip') })]))).toBe(
			ERROR.INVALID_RECORD,
		)
		expect(await code(writeMessages(1, [one({ attributes: 4 })]))).toBe(ERROR.UNSUPPORTED_COMPRESSION_TYPE)
		expect(await code(writeMessages(1, [one({ attributes: 8 })]))).toBe(ERROR.INVALID_TIMESTAMP)
		expect(await code(writeMessages(1, [one({ timestamp: Date.now() + 60_000 })]), 'timed')).toBe(
			ERROR.INVALID_TIMESTAMP,
		)
		expect(await code(plain, 'keyed')).toBe(ERROR.INVALID_RECORD)
		expect(await code(plain, 'refused', 3)).toBe(ERROR.INVALID_RECORD)
		expect(await code(Buffer.concat([plain, batchOf(['v2'])]))).toBe(ERROR.INVALID_RECORD)
		expect(await code(Buffer.concat([batchOf(['v2']), plain]))).toBe(ERROR.INVALID_RECORD)
		expect(await code(writeMessages(1, [one({ value: Buffer.alloc(1_100_000) })]))).toBe(ERROR.MESSAGE_TOO_LARGE)
		expect(await stored('refused')).toEqual([])
		// What is cut at the end is left out, as with batches.
		expect(await code(Buffer.concat([plain, plain.subarray(0, 20)]))).toBe(0)
		expect((await stored('refused')).length).toBe(1)
	})

	it('2.5 times beyond 2^53 come back as they went in; negative ones are refused', async () => {
		await makeTopic(connection, 'odd-times')
		const times = [1_700_000_000_123_456_789n, 1_700_000_000_123_456_787n, 2n ** 62n, 5n, -1n]
		const timed = (timestamp: bigint): Buffer => {
			const bytes = writeMessages(1, [{ offset: 0, attributes: 0, timestamp: 0, key: null, value: Buffer.from('v') }])
			bytes.writeBigInt64BE(timestamp, 18)
			bytes.writeUInt32BE(crc32(bytes.subarray(16)), 12)
			return bytes
		}
		const set = Buffer.concat(times.map(timed))
		const wrapper = {
			offset: 4,
			attributes: 1,
			timestamp: 0,
			key: null,
			value: compression.compressNow('gzip', set, null),
		}
		for (const records of [set, writeMessages(1, [wrapper])]) {
			expect((await send(connection, 'odd-times', Buffer.from(records), { version: 2 })).errorCode).toBe(0)
		}
		const answer = onlyPartition(await fetchFrom(connection, 'odd-times', 0)).records as Buffer
		expect([answer.readBigInt64BE(27), answer.readBigInt64BE(35)]).toEqual([times[0], 2n ** 62n])
		for (const offset of [0, 5]) {
			const read: bigint[] = []
			const back = (await oldFetch(2, 'odd-times', offset)).records as Buffer
			const inner = offset === 0 ? back : compression.decompressNow('gzip', readMessage(back, 0).value as Buffer, 1e6)
			for (let at = 0; read.length < times.length; at = readMessage(inner, at).end)
				read.push(inner.readBigInt64BE(at + 18))
			expect(read).toEqual(times)
			if (offset === 5) expect(back.readBigInt64BE(18)).toBe(2n ** 62n)
		}
		for (const time of [-2n, -(2n ** 53n), -(2n ** 62n)]) {
			const refused = await send(connection, 'odd-times', Buffer.concat([timed(5n), timed(time)]), { version: 2 })
			expect(refused).toMatchObject({ errorCode: ERROR.INVALID_TIMESTAMP })
		}
	})

	it('2.5 several plain messages are one batch; a topic with LogAppendTime stamps them', async () => {
		await makeTopic(connection, 'stamped', 1, { 'message.timestamp.type': 'LogAppendTime' })
		const messages = ['a', 'b', 'c'].map((value) => ({
			offset: 9,
			attributes: 0,
			timestamp: 5,
			key: null,
			value: Buffer.from(value),
		}))
		const answer = await send(connection, 'stamped', writeMessages(1, messages), { version: 2 })
		expect(answer.errorCode).toBe(0)
		expect(answer.logAppendTimeMs).toBeGreaterThan(1_600_000_000_000)
		const read = await stored('stamped')
		expect(read.map(({ offset, value }) => [offset, text(value)])).toEqual([
			[0, 'a'],
			[1, 'b'],
			[2, 'c'],
		])
		expect(new Set(read.map(({ timestamp }) => timestamp)).size).toBe(1)
	})
})

async function oldFetch(
	version: number,
	topic: string,
	fetchOffset: number,
	partitionMaxBytes = 1_000_000,
): Promise<ReturnType<typeof onlyPartition>> {
	return onlyPartition(
		await connection.send(fetch, version, {
			replicaId: -1,
			maxWaitMs: 0,
			minBytes: 1,
			...(version >= 3 ? { maxBytes: 10_000_000 } : {}),
			topics: [{ topic, partitions: [{ partition: 0, fetchOffset, partitionMaxBytes }] }],
		}),
	)
}

interface Seen {
	readonly offset: number
	readonly magic: number
	readonly timestamp: number
	readonly value: string | null
}

/** Whole messages, as an old client reads them; what is cut at the end is left out. */
async function readSet(set: Buffer): Promise<Seen[]> {
	const read: Seen[] = []
	for (
		let at = 0;
		at + 12 <= set.length && at + 12 + set.readInt32BE(at + 8) <= set.length;
		at = readMessage(set, at).end
	) {
		for (const { offset, magic, timestamp, value } of await messagesOf(compression, set, at, 1e8)) {
			read.push({ offset, magic, timestamp, value: text(value) })
		}
	}
	return read
}

describe('fetch', () => {
	it('2.6 2.7 2.8 answers what Kafka answered, to the byte', async () => {
		await makeTopic(connection, 'sweep')
		for (let i = 0; i < 9; i++) await send(connection, 'sweep', goldenRecords(3), { version: 3 })
		for (const version of [0, 1, 2, 3]) {
			const golden = readGolden(`01-fetch.v${version}.sweep.hex`).find(({ direction }) => direction === 'response')
			const { message } = decodeResponse(fetch, version, (golden as { bytes: Buffer }).bytes.subarray(4))
			const theirs = message.responses[0]?.partitions[0]?.records as Buffer
			const ours = (await oldFetch(version, 'sweep', 0, 200)).records as Buffer
			expect([version, ours.toString('hex')]).toEqual([version, theirs.toString('hex')])
		}
	})

	it('2.6 2.7 everything that is stored comes, in the client’s format, whatever the codec', async () => {
		await makeTopic(connection, 'mixed')
		const next = seeded(9)
		const values: string[] = []
		for (let i = 0; i < 40; i++) {
			const count = 1 + Math.floor(next() * 4)
			const made = Array.from({ length: count }, () => `${i}.${next()}`.padEnd(Math.floor(next() * 30_000), 'x'))
			const plain = batchOf(made)
			const codec = (['none', 'gzip', 'snappy', 'lz4'] as const)[i % 4] as 'none' | 'gzip' | 'snappy' | 'lz4'
			const batch =
				codec === 'none'
					? plain
					: rebuildBatch(
							plain,
							compression.compressNow(codec, plain.subarray(61), null),
							codec,
							-1,
							batchMaxTimestamp(plain, 0),
						)
			expect((await send(connection, 'mixed', batch)).errorCode).toBe(0)
			values.push(...made)
		}
		for (const version of [0, 1, 2, 3]) {
			const read: Seen[] = []
			for (let offset = 0; offset < values.length; ) {
				const { records, errorCode } = await oldFetch(version, 'mixed', offset, 100_000)
				expect(errorCode).toBe(0)
				const some = (await readSet(records as Buffer)).filter((each) => each.offset >= offset)
				expect(some.length).toBeGreaterThan(0)
				read.push(...some)
				offset = (some[some.length - 1] as Seen).offset + 1
			}
			expect(read.map(({ offset, value }) => [offset, value])).toEqual(values.map((value, offset) => [offset, value]))
			expect(new Set(read.map(({ magic }) => magic))).toEqual(new Set([version <= 1 ? 0 : 1]))
		}
	})

	it('2.8 a first message that is larger than asked for: whole from version 3, below it the client is told', async () => {
		await makeTopic(connection, 'big')
		await send(connection, 'big', batchOf(['y'.repeat(5000)]))
		expect((await readSet((await oldFetch(3, 'big', 0, 100)).records as Buffer)).map(({ offset }) => offset)).toEqual([
			0,
		])
		for (const version of [0, 1, 2]) {
			const set = (await oldFetch(version, 'big', 0, 100)).records as Buffer
			expect(set.length).toBe(100)
			// It begins a message that cannot fit: "larger than the fetch size" to every client of that age.
			expect(set.readInt32BE(8)).toBeGreaterThan(set.length - 12)
		}
	})

	it('2.7 2.8 markers and other batches without anything for the client are passed over', async () => {
		await makeTopic(connection, 'marked')
		const partition = broker.broker.replicas.find('marked', 0)
		if (typeof partition === 'number') throw new Error('not here')
		const marker = () => buildMarker('commit', { producerId: 5n, producerEpoch: 0, coordinatorEpoch: 0, timestamp: 1 })
		const mark = async () => {
			await partition.append(marker(), { origin: 'coordinator', produceVersion: 11 })
			broker.broker.replicas.appended(partition)
		}
		for (let i = 0; i < 5; i++) await mark()
		for (const version of [0, 2]) expect(((await oldFetch(version, 'marked', 0)).records as Buffer).length).toBe(0)
		await send(connection, 'marked', batchOf(['behind']))
		await mark()
		for (const version of [0, 1, 2, 3]) {
			const read = await readSet((await oldFetch(version, 'marked', 0, 200)).records as Buffer)
			expect(read.map(({ offset, value }) => [offset, value])).toEqual([[5, 'behind']])
			expect(((await oldFetch(version, 'marked', 6)).records as Buffer).length).toBe(0)
		}
	})

	it('2.7 a compressed batch whose last records are compacted away is passed over, also at the end of a segment', async () => {
		await makeTopic(connection, 'holed', 1, { 'segment.bytes': '1000' })
		const partition = broker.broker.replicas.find('holed', 0)
		if (typeof partition === 'number') throw new Error('not here')
		// As compaction leaves two records of which the second is gone; what follows has no room in the segment.
		const plain = batchOf(['a'])
		const holed = rebuildBatch(plain, compression.compressNow('gzip', plain.subarray(61), null), 'gzip', -1, 5)
		holed.writeInt32BE(1, 23)
		writeBatchCrc(holed, 0, holed.length)
		const next = batchOf(['c'.repeat(950)])
		stampBatch(holed, 0, 0, 0)
		stampBatch(next, 0, 2, 0)
		for (const set of [holed, next]) expect(await partition.log.appendAsFollower(set)).toMatchObject({ errorCode: 0 })
		broker.broker.replicas.appended(partition)
		expect(partition.log.segments().length).toBe(2)
		for (const version of [0, 1, 2, 3]) {
			const read = await readSet((await oldFetch(version, 'holed', 1)).records as Buffer)
			expect(read.map(({ offset }) => offset)).toEqual([2])
		}
	})

	it('2.7 zstd is 76 where it begins the answer, and ends the answer where it comes later', async () => {
		await makeTopic(connection, 'late')
		await send(connection, 'late', batchOf(['plain']))
		const plain = batchOf(['packed'])
		const zstd = rebuildBatch(
			plain,
			compression.compressNow('zstd', plain.subarray(61), null),
			'zstd',
			-1,
			batchMaxTimestamp(plain, 0),
		)
		await send(connection, 'late', zstd)
		for (const version of [1, 3]) {
			expect((await readSet((await oldFetch(version, 'late', 0)).records as Buffer)).map(({ value }) => value)).toEqual(
				['plain'],
			)
			expect((await oldFetch(version, 'late', 1)).errorCode).toBe(ERROR.UNSUPPORTED_COMPRESSION_TYPE)
		}
	})

	it('2.6 with message.downconversion.enable off it is 35', async () => {
		await makeTopic(connection, 'unconverted', 1, { 'message.downconversion.enable': 'false' })
		await send(connection, 'unconverted', batchOf(['a']))
		for (const version of [0, 3])
			expect((await oldFetch(version, 'unconverted', 0)).errorCode).toBe(ERROR.UNSUPPORTED_VERSION)
		expect(onlyPartition(await fetchFrom(connection, 'unconverted', 0, { version: 4 })).errorCode).toBe(0)
	})
})

describe('what lies in old segments', () => {
	it('2.1 is served as it is to those who know it, converted to those who do not, and found by time', async () => {
		await makeTopic(connection, 'upgraded')
		const partition = broker.broker.replicas.find('upgraded', 0)
		if (typeof partition === 'number') throw new Error('not here')
		const at = (offset: number, timestamp: number) => ({
			offset,
			attributes: 0,
			timestamp,
			key: null,
			value: Buffer.from(`v${offset}`),
		})
		const modern = batchOf(['v5'])
		stampBatch(modern, 0, 5, 0)
		const sets = [
			writeMessages(0, [at(0, 0)]),
			writeMessages(1, [at(1, 100)]),
			await wrapMessages(compression, 1, 'gzip', [at(2, 200), at(3, 300), at(4, 400)], -1),
			modern,
		]
		for (const set of sets)
			expect(await partition.log.appendAsFollower(Buffer.from(set))).toMatchObject({ errorCode: 0 })
		broker.broker.replicas.appended(partition)
		const newest = onlyPartition(await fetchFrom(connection, 'upgraded', 0, { version: 12 })).records as Buffer
		expect(newest.equals(Buffer.concat(sets))).toBe(true)
		for (const version of [1, 3]) {
			const read = await readSet((await oldFetch(version, 'upgraded', 0)).records as Buffer)
			expect(read.map(({ offset, value }) => [offset, value])).toEqual(
				[0, 1, 2, 3, 4, 5].map((offset) => [offset, `v${offset}`]),
			)
			expect(Math.max(...read.map(({ magic }) => magic))).toBe(version <= 1 ? 0 : 1)
		}
		for (const [time, offset] of [
			[50, 1],
			[101, 2],
			[201, 3],
			[300, 3],
			[301, 4],
			[401, 5],
		] as const) {
			expect([time, (await offsetAt(connection, 'upgraded', time)).offset]).toEqual([time, offset])
		}
	})
})
