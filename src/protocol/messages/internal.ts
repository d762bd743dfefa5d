/**
 * Keys and values of `__consumer_offsets` and `__transaction_state`, and the blobs that consumers exchange through a group.
 * Each starts with an int16 version.
 */

import { array, arrayOf, bigint64, bytes, dataFormat, int8, int16, int32, int64, string } from '../schema.js'

export const offsetCommitKey = dataFormat({
	name: 'OffsetCommitKey',
	versions: '0-1',
	flexible: 'none',
	fields: {
		group: string('0-1'),
		topic: string('0-1'),
		partition: int32('0-1'),
	},
})

export const offsetCommitValue = dataFormat({
	name: 'OffsetCommitValue',
	versions: '0-4',
	flexible: '4+',
	fields: {
		offset: bigint64('0+'),
		leaderEpoch: int32('3+', { default: -1, ignorable: true }),
		metadata: string('0+'),
		commitTimestamp: int64('0+'),
		expireTimestamp: int64('1', { default: -1, ignorable: true }),
	},
})

export const groupMetadataKey = dataFormat({
	name: 'GroupMetadataKey',
	versions: '2',
	flexible: 'none',
	fields: {
		group: string('2'),
	},
})

export const groupMetadataValue = dataFormat({
	name: 'GroupMetadataValue',
	versions: '0-4',
	flexible: '4+',
	fields: {
		protocolType: string('0+'),
		generation: int32('0+'),
		protocol: string('0+', { nullable: '0+' }),
		leader: string('0+', { nullable: '0+' }),
		currentStateTimestamp: int64('2+', { default: -1, ignorable: true }),
		members: array('0+', {
			memberId: string('0+'),
			groupInstanceId: string('3+', { nullable: '3+', default: null, ignorable: true }),
			clientId: string('0+'),
			clientHost: string('0+'),
			rebalanceTimeout: int32('1+', { default: -1, ignorable: true }),
			sessionTimeout: int32('0+'),
			subscription: bytes('0+'),
			assignment: bytes('0+'),
		}),
	},
})

export const transactionLogKey = dataFormat({
	name: 'TransactionLogKey',
	versions: '0',
	flexible: 'none',
	fields: {
		transactionalId: string('0'),
	},
})

export const transactionLogValue = dataFormat({
	name: 'TransactionLogValue',
	versions: '0-1',
	flexible: '1+',
	fields: {
		producerId: bigint64('0+'),
		producerEpoch: int16('0+'),
		transactionTimeoutMs: int32('0+'),
		transactionStatus: int8('0+'),
		transactionPartitions: array(
			'0+',
			{
				topic: string('0+'),
				partitionIds: arrayOf('0+', int32),
			},
			{ nullable: '0+' },
		),
		transactionLastUpdateTimestampMs: int64('0+'),
		transactionStartTimestampMs: int64('0+'),
	},
})

export const consumerProtocolSubscription = dataFormat({
	name: 'ConsumerProtocolSubscription',
	versions: '0-3',
	flexible: 'none',
	fields: {
		topics: arrayOf('0+', string),
		userData: bytes('0+', { nullable: '0+', default: null }),
		ownedPartitions: array(
			'1+',
			{
				topic: string('1+'),
				partitions: arrayOf('1+', int32),
			},
			{ ignorable: true },
		),
		generationId: int32('2+', { default: -1, ignorable: true }),
		rackId: string('3+', { nullable: '3+', default: null, ignorable: true }),
	},
})

export const consumerProtocolAssignment = dataFormat({
	name: 'ConsumerProtocolAssignment',
	versions: '0-3',
	flexible: 'none',
	fields: {
		assignedPartitions: array('0+', {
			topic: string('0+'),
			partitions: arrayOf('0+', int32),
		}),
		userData: bytes('0+', { nullable: '0+', default: null }),
	},
})
