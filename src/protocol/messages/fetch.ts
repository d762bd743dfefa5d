/** Fetch (key 1). 4 isolation level (KIP-98), 7 sessions (KIP-227), 9 leader epoch (KIP-320), 11 rack and preferred replica
 * (KIP-392), 12 diverging epoch (KIP-595), 13 topic ids (KIP-516), 15 replica state (KIP-903), 16 endpoints (KIP-951). */

import {
	array,
	arrayOf,
	bigint64,
	family,
	int8,
	int16,
	int32,
	int64,
	records,
	string,
	struct,
	uuid,
} from '../schema.js'

export const fetch = family({
	key: 1,
	name: 'Fetch',
	versions: '0-17',
	flexible: '12+',
	request: {
		clusterId: string('12+', { nullable: '12+', default: null, tag: 0, ignorable: true }),
		replicaId: int32('0-14', { default: -1 }),
		replicaState: struct(
			'15+',
			{
				replicaId: int32('15+', { default: -1 }),
				replicaEpoch: bigint64('15+', { default: -1n }),
			},
			{ tag: 1 },
		),
		maxWaitMs: int32('0+'),
		minBytes: int32('0+'),
		maxBytes: int32('3+', { default: 2147483647, ignorable: true }),
		isolationLevel: int8('4+', { default: 0, ignorable: true }),
		sessionId: int32('7+', { default: 0, ignorable: true }),
		sessionEpoch: int32('7+', { default: -1, ignorable: true }),
		topics: array('0+', {
			topic: string('0-12', { ignorable: true }),
			topicId: uuid('13+', { ignorable: true }),
			partitions: array('0+', {
				partition: int32('0+'),
				currentLeaderEpoch: int32('9+', { default: -1, ignorable: true }),
				fetchOffset: int64('0+'),
				lastFetchedEpoch: int32('12+', { default: -1 }),
				logStartOffset: int64('5+', { default: -1, ignorable: true }),
				partitionMaxBytes: int32('0+'),
				replicaDirectoryId: uuid('17+', { tag: 0, ignorable: true }),
			}),
		}),
		forgottenTopicsData: array('7+', {
			topic: string('7-12', { ignorable: true }),
			topicId: uuid('13+', { ignorable: true }),
			partitions: arrayOf('7+', int32),
		}),
		rackId: string('11+', { default: '', ignorable: true }),
	},
	response: {
		throttleTimeMs: int32('1+', { ignorable: true }),
		errorCode: int16('7+', { ignorable: true }),
		sessionId: int32('7+', { default: 0 }),
		responses: array('0+', {
			topic: string('0-12', { ignorable: true }),
			topicId: uuid('13+', { ignorable: true }),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
				highWatermark: int64('0+'),
				lastStableOffset: int64('4+', { default: -1, ignorable: true }),
				logStartOffset: int64('5+', { default: -1, ignorable: true }),
				divergingEpoch: struct(
					'12+',
					{
						epoch: int32('12+', { default: -1 }),
						endOffset: int64('12+', { default: -1 }),
					},
					{ tag: 0 },
				),
				currentLeader: struct(
					'12+',
					{
						leaderId: int32('12+', { default: -1 }),
						leaderEpoch: int32('12+', { default: -1 }),
					},
					{ tag: 1 },
				),
				snapshotId: struct(
					'12+',
					{
						endOffset: int64('0+', { default: -1 }),
						epoch: int32('0+', { default: -1 }),
					},
					{ tag: 2 },
				),
				abortedTransactions: array(
					'4+',
					{
						producerId: bigint64('4+'),
						firstOffset: int64('4+'),
					},
					{ nullable: '4+', ignorable: true },
				),
				preferredReadReplica: int32('11+', { default: -1 }),
				records: records('0+', { nullable: '0+' }),
			}),
		}),
		nodeEndpoints: array(
			'16+',
			{
				nodeId: int32('16+'),
				host: string('16+'),
				port: int32('16+'),
				rack: string('16+', { nullable: '16+', default: null }),
			},
			{ tag: 0 },
		),
	},
})
