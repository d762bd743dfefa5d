/** Compaction in a whole broker: real files, real clients, while they go on producing and reading. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BrokerConnection } from '../../../../src/client/connection.js'
import { findCoordinator, listGroups } from '../../../../src/protocol/messages/group.js'
import { offsetCommit, offsetFetch } from '../../../../src/protocol/messages/group-offsets.js'
import { batchBytes, batchLastOffset, batchRecordCount } from '../../../../src/protocol/records/batch.js'
import { recordsOf } from '../../../../src/protocol/records/compression.js'
import type { DecodedRecord } from '../../../../src/protocol/records/record.js'
import { startTestBroker, type TestBroker } from '../../../helpers/broker.js'
import { fetchFrom, makeTopic, offsetAt, onlyPartition, send } from '../../../helpers/requests.js'
import { until } from '../../../helpers/until.js'
import { folded } from './consumer.js'
import { type Pair, pairs } from './setup.js'

const KEYS = 20
const BATCHES = 1500

let broker: TestBroker

beforeAll(async () => {
	broker = await startTestBroker({
		'log.cleaner.backoff.ms': '50',
		'log.cleaner.dedupe.buffer.size': '2000000',
		'log.cleaner.min.cleanable.ratio': '0.1',
		'offsets.topic.num.partitions': '1',
		'offsets.topic.segment.bytes': '5000',
	})
})

afterAll(async () => {
	await broker.stop()
})

/** Reads on from `offset`, as consumers do, until `isDone` with the offset to read next. */
async function consume(
	connection: BrokerConnection,
	topic: string,
	offset: number,
	isDone: (next: number) => boolean,
): Promise<DecodedRecord[]> {
	const seen: DecodedRecord[] = []
	let next = offset
	while (!isDone(next)) {
		const answer = onlyPartition(await fetchFrom(connection, topic, next, { maxWaitMs: 20, partitionMaxBytes: 20_000 }))
		expect(answer.errorCode).toBe(0)
		const bytes = answer.records as Buffer | null
		if (bytes === null) continue
		for (
			let at = 0;
			at + 61 <= bytes.length && at + batchBytes(bytes, at) <= bytes.length;
			at += batchBytes(bytes, at)
		) {
			if (batchRecordCount(bytes, at) > 0) {
				const records = await recordsOf(broker.runtime.compression, bytes, at, 1e8)
				seen.push(...records.filter((record) => record.offset >= next))
			}
			next = batchLastOffset(bytes, at) + 1
		}
	}
	return seen
}

function logBytes(topic: string): number {
	const folder = join(broker.folder, 'data', `${topic}-0`)
	const logs = readdirSync(folder).filter((name) => name.endsWith('.log'))
	return logs.reduce((total, name) => total + readFileSync(join(folder, name)).length, 0)
}

test('21.1 21.3 a compacted topic is compacted while producing and reading go on', async () => {
	const writer = await broker.connect()
	const reader = await broker.connect()
	await makeTopic(writer, 'table', 1, {
		'cleanup.policy': 'compact',
		'segment.bytes': '20000',
		'min.cleanable.dirty.ratio': '0.1',
		'file.delete.delay.ms': '100',
	})
	const sent: Pair[] = []
	let isProducing = true
	const following = consume(reader, 'table', 0, (next) => !isProducing && next >= sent.length)
	for (let i = 0; i < BATCHES; i++) {
		const list = [0, 1].map((k): Pair => {
			const isDelete = (i + k) % 11 === 0
			return [`key-${(i * 7 + k * 3) % KEYS}`, isDelete ? null : `${sent.length + k}`.padEnd(120, '.')]
		})
		const answer = await send(writer, 'table', pairs(list))
		expect(answer.errorCode).toBe(0)
		expect(Number(answer.baseOffset)).toBe(sent.length)
		sent.push(...list)
	}
	isProducing = false
	const all = sent.map(([key, value]) => ({ key, value }))
	const followed = await following
	expect(folded(followed)).toEqual(folded(all))
	const isCompacted = (): boolean => broker.lines.some(({ message }) => message === 'log is compacted')
	await until('a pass', isCompacted)
	// Two segments and the active one are more than a clean table takes.
	await until('the table is small', () => logBytes('table') < 60_000)
	for (const { offset, key, value } of followed) {
		expect([String(key), value === null ? null : String(value)]).toEqual(sent[offset])
	}
	const again = await consume(reader, 'table', 0, (next) => next >= sent.length)
	expect(again.length).toBeLessThan(sent.length / 3)
	expect(folded(again)).toEqual(folded(all))
	expect(again.map(({ offset }) => offset)).toEqual(
		[...new Set(again.map(({ offset }) => offset))].sort((a, b) => a - b),
	)
	expect(Number((await offsetAt(reader, 'table', -1)).offset)).toBe(sent.length)
	// A pass may fall between the two questions.
	await until('the time query finds the first record', async () => {
		const [first] = await consume(reader, 'table', 0, (next) => next >= sent.length)
		return Number((await offsetAt(reader, 'table', 0)).offset) === first?.offset
	})
	// After a restart it is the same table, and the checkpoint is known.
	broker = await broker.restart()
	const later = await broker.connect()
	const reread = await consume(later, 'table', 0, (next) => next >= sent.length)
	expect(folded(reread)).toEqual(folded(all))
	const checkpoint = readFileSync(join(broker.folder, 'data/cleaner-offset-checkpoint'), 'utf8')
	expect(checkpoint).toMatch(/^0\n\d+\n(.*\n)*table 0 \d+\n/)
}, 60_000)

test('21.1 23.2 __consumer_offsets is compacted, and the committed offsets are there after a restart', async () => {
	const connection = await broker.connect()
	await makeTopic(connection, 'read', 1)
	await until(
		'a coordinator',
		async () => (await connection.send(findCoordinator, 3, { key: 'g-0', keyType: 0 })).errorCode === 0,
	)
	await until('it is loaded', async () => (await connection.send(listGroups, 4, { statesFilter: [] })).errorCode === 0)
	const commit = async (group: string, offset: bigint): Promise<void> => {
		const answer = await connection.send(offsetCommit, 8, {
			groupId: group,
			generationIdOrMemberEpoch: -1,
			memberId: '',
			topics: [{ name: 'read', partitions: [{ partitionIndex: 0, committedOffset: offset, committedMetadata: null }] }],
		})
		expect(answer.topics[0]?.partitions[0]?.errorCode).toBe(0)
	}
	for (let i = 0; i < 400; i++) await commit(`g-${i % 5}`, BigInt(i))
	await until('the offsets topic is small', () => logBytes('__consumer_offsets') < 12_000)
	broker = await broker.restart()
	const later = await broker.connect()
	const committed = async (group: string): Promise<bigint | number | undefined> => {
		const answer = await later.send(offsetFetch, 8, {
			groups: [{ groupId: group, topics: [{ name: 'read', partitionIndexes: [0] }] }],
			requireStable: false,
		})
		return answer.groups[0]?.errorCode === 0 ? answer.groups[0]?.topics[0]?.partitions[0]?.committedOffset : undefined
	}
	for (let group = 0; group < 5; group++) {
		const offset = await until('the offset is loaded', async () => {
			const found = await committed(`g-${group}`)
			return found === undefined ? null : { found }
		})
		expect(Number(offset.found)).toBe(395 + group)
	}
}, 60_000)
