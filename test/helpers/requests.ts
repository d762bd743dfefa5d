/** Requests that tests send again and again, with the fields that seldom matter filled in. */

import type { BrokerConnection } from '../../src/client/connection.js'
import { fetch } from '../../src/protocol/messages/fetch.js'
import { listOffsets } from '../../src/protocol/messages/offsets.js'
import { produce } from '../../src/protocol/messages/produce.js'
import { createTopics } from '../../src/protocol/messages/topics.js'
import { buildBatch, type NewBatch } from '../../src/protocol/records/record.js'
import type { Decoded } from '../../src/protocol/schema.js'

export type ProduceAnswer = Decoded<typeof produce.response>['responses'][number]['partitionResponses'][number]
export type FetchAnswer = Decoded<typeof fetch.response>
export type FetchPartition = FetchAnswer['responses'][number]['partitions'][number]

/** Creates a topic and fails the test unless it has leaders. */
export async function makeTopic(
	connection: BrokerConnection,
	name: string,
	partitions = 1,
	configs: Readonly<Record<string, string>> = {},
): Promise<void> {
	const answer = await connection.request(
		createTopics,
		{
			topics: [
				{
					name,
					numPartitions: partitions,
					replicationFactor: 1,
					assignments: [],
					configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
				},
			],
			timeoutMs: 10_000,
		},
		{ waitMs: 10_000 },
	)
	const { errorCode, errorMessage } = answer.topics[0] ?? { errorCode: -1, errorMessage: 'no answer' }
	if (errorCode !== 0) throw new Error(`topic ${name}: ${errorCode} ${errorMessage}`)
}

/** A batch of records with these values, keys `k0 …`, timestamps 1000, 1001, … */
export function batchOf(values: readonly (string | null)[], more: Partial<NewBatch> = {}): Buffer {
	return buildBatch({
		records: values.map((value, i) => ({
			timestamp: 1000 + i,
			key: Buffer.from(`k${i}`),
			value: value === null ? null : Buffer.from(value),
		})),
		...more,
	})
}

export interface ProduceOptions {
	readonly acks?: number
	readonly version?: number
	readonly partition?: number
	readonly transactionalId?: string | null
	readonly timeoutMs?: number
}

/** One partition's part of a Produce answer. */
export async function send(
	connection: BrokerConnection,
	topic: string,
	records: Buffer | null,
	options: ProduceOptions = {},
): Promise<ProduceAnswer> {
	const version = options.version ?? 9
	const answer = await connection.send(produce, version, {
		...(version >= 3 ? { transactionalId: options.transactionalId ?? null } : {}),
		acks: options.acks ?? 1,
		timeoutMs: options.timeoutMs ?? 5000,
		topicData: [{ name: topic, partitionData: [{ index: options.partition ?? 0, records }] }],
	})
	return answer.responses[0]?.partitionResponses[0] as ProduceAnswer
}

export interface FetchOptions {
	readonly version?: number
	readonly partition?: number
	readonly maxWaitMs?: number
	readonly minBytes?: number
	readonly maxBytes?: number
	readonly partitionMaxBytes?: number
	readonly isolation?: 0 | 1
	readonly replicaId?: number
	readonly leaderEpoch?: number
	readonly lastFetchedEpoch?: number
	readonly sessionId?: number
	readonly sessionEpoch?: number
}

/** A whole Fetch answer for one partition. */
export function fetchFrom(
	connection: BrokerConnection,
	topic: string,
	offset: number,
	options: FetchOptions = {},
): Promise<FetchAnswer> {
	const version = options.version ?? 12
	return connection.send(
		fetch,
		version,
		{
			...(version < 15 ? { replicaId: options.replicaId ?? -1 } : {}),
			maxWaitMs: options.maxWaitMs ?? 0,
			minBytes: options.minBytes ?? 1,
			maxBytes: options.maxBytes ?? 50_000_000,
			isolationLevel: options.isolation ?? 0,
			sessionId: options.sessionId ?? 0,
			sessionEpoch: options.sessionEpoch ?? -1,
			topics: [
				{
					topic,
					partitions: [
						{
							partition: options.partition ?? 0,
							currentLeaderEpoch: options.leaderEpoch ?? -1,
							fetchOffset: offset,
							...(version >= 12 ? { lastFetchedEpoch: options.lastFetchedEpoch ?? -1 } : {}),
							partitionMaxBytes: options.partitionMaxBytes ?? 1_000_000,
						},
					],
				},
			],
			...(version >= 7 ? { forgottenTopicsData: [] } : {}),
		},
		options.maxWaitMs ?? 0,
	)
}

export function onlyPartition(answer: FetchAnswer): FetchPartition {
	const partition = answer.responses[0]?.partitions[0]
	if (partition === undefined) throw new Error('the answer has no partition')
	return partition
}

/** Offset by timestamp, as ListOffsets answers it for one partition. */
export async function offsetAt(
	connection: BrokerConnection,
	topic: string,
	timestamp: number,
	options: {
		readonly version?: number
		readonly isolation?: 0 | 1
		readonly partition?: number
		readonly leaderEpoch?: number
	} = {},
) {
	const version = options.version ?? 9
	const answer = await connection.send(listOffsets, version, {
		replicaId: -1,
		...(version >= 2 ? { isolationLevel: options.isolation ?? 0 } : {}),
		topics: [
			{
				name: topic,
				partitions: [
					{
						partitionIndex: options.partition ?? 0,
						timestamp,
						...(version >= 4 ? { currentLeaderEpoch: options.leaderEpoch ?? -1 } : {}),
						...(version === 0 ? { maxNumOffsets: 5 } : {}),
					},
				],
			},
		],
	})
	return answer.topics[0]?.partitions[0] as Decoded<typeof listOffsets.response>['topics'][number]['partitions'][number]
}
