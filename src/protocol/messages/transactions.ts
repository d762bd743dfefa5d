/** Producer ids and transactions: keys 22, 24–28, 61, 65, 66 (KIP-98, KIP-360, KIP-447, KIP-664, KIP-890). */

import { array, arrayOf, bigint64, bool, family, int16, int32, int64, string } from '../schema.js'

export const initProducerId = family({
	key: 22,
	name: 'InitProducerId',
	versions: '0-5',
	flexible: '2+',
	request: {
		transactionalId: string('0+', { nullable: '0+' }),
		transactionTimeoutMs: int32('0+'),
		producerId: bigint64('3+', { default: -1n }),
		producerEpoch: int16('3+', { default: -1 }),
	},
	response: {
		throttleTimeMs: int32('0+', { ignorable: true }),
		errorCode: int16('0+'),
		producerId: bigint64('0+', { default: -1n }),
		producerEpoch: int16('0+'),
	},
})

export const addPartitionsToTxn = family({
	key: 24,
	name: 'AddPartitionsToTxn',
	versions: '0-5',
	flexible: '3+',
	request: {
		transactions: array('4+', {
			transactionalId: string('4+'),
			producerId: bigint64('4+'),
			producerEpoch: int16('4+'),
			verifyOnly: bool('4+', { default: false }),
			topics: array('4+', {
				name: string('0+'),
				partitions: arrayOf('0+', int32),
			}),
		}),
		v3AndBelowTransactionalId: string('0-3'),
		v3AndBelowProducerId: int64('0-3'),
		v3AndBelowProducerEpoch: int16('0-3'),
		v3AndBelowTopics: array('0-3', {
			name: string('0+'),
			partitions: arrayOf('0+', int32),
		}),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('4+', { ignorable: true }),
		resultsByTransaction: array('4+', {
			transactionalId: string('4+'),
			topicResults: array('4+', {
				name: string('0+'),
				resultsByPartition: array('0+', {
					partitionIndex: int32('0+'),
					partitionErrorCode: int16('0+'),
				}),
			}),
		}),
		resultsByTopicV3AndBelow: array('0-3', {
			name: string('0+'),
			resultsByPartition: array('0+', {
				partitionIndex: int32('0+'),
				partitionErrorCode: int16('0+'),
			}),
		}),
	},
})

export const addOffsetsToTxn = family({
	key: 25,
	name: 'AddOffsetsToTxn',
	versions: '0-4',
	flexible: '3+',
	request: {
		transactionalId: string('0+'),
		producerId: bigint64('0+'),
		producerEpoch: int16('0+'),
		groupId: string('0+'),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
	},
})

export const endTxn = family({
	key: 26,
	name: 'EndTxn',
	versions: '0-4',
	flexible: '3+',
	request: {
		transactionalId: string('0+'),
		producerId: bigint64('0+'),
		producerEpoch: int16('0+'),
		committed: bool('0+'),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
	},
})

export const writeTxnMarkers = family({
	key: 27,
	name: 'WriteTxnMarkers',
	versions: '0-1',
	flexible: '1+',
	request: {
		markers: array('0+', {
			producerId: bigint64('0+'),
			producerEpoch: int16('0+'),
			transactionResult: bool('0+'),
			topics: array('0+', {
				name: string('0+'),
				partitionIndexes: arrayOf('0+', int32),
			}),
			coordinatorEpoch: int32('0+'),
		}),
	},
	response: {
		markers: array('0+', {
			producerId: bigint64('0+'),
			topics: array('0+', {
				name: string('0+'),
				partitions: array('0+', {
					partitionIndex: int32('0+'),
					errorCode: int16('0+'),
				}),
			}),
		}),
	},
})

export const txnOffsetCommit = family({
	key: 28,
	name: 'TxnOffsetCommit',
	versions: '0-4',
	flexible: '3+',
	request: {
		transactionalId: string('0+'),
		groupId: string('0+'),
		producerId: bigint64('0+'),
		producerEpoch: int16('0+'),
		generationId: int32('3+', { default: -1 }),
		memberId: string('3+', { default: '' }),
		groupInstanceId: string('3+', { nullable: '3+', default: null }),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				committedOffset: bigint64('0+'),
				committedLeaderEpoch: int32('2+', { default: -1, ignorable: true }),
				committedMetadata: string('0+', { nullable: '0+' }),
			}),
		}),
	},
	response: {
		throttleTimeMs: int32('0+'),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
			}),
		}),
	},
})

export const describeProducers = family({
	key: 61,
	name: 'DescribeProducers',
	versions: '0',
	flexible: '0+',
	request: {
		topics: array('0+', {
			name: string('0+'),
			partitionIndexes: arrayOf('0+', int32),
		}),
	},
	response: {
		throttleTimeMs: int32('0+'),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
				errorMessage: string('0+', { nullable: '0+', default: null }),
				activeProducers: array('0+', {
					producerId: bigint64('0+'),
					producerEpoch: int32('0+'),
					lastSequence: int32('0+', { default: -1 }),
					lastTimestamp: int64('0+', { default: -1 }),
					coordinatorEpoch: int32('0+'),
					currentTxnStartOffset: int64('0+', { default: -1 }),
				}),
			}),
		}),
	},
})

export const describeTransactions = family({
	key: 65,
	name: 'DescribeTransactions',
	versions: '0',
	flexible: '0+',
	request: {
		transactionalIds: arrayOf('0+', string),
	},
	response: {
		throttleTimeMs: int32('0+'),
		transactionStates: array('0+', {
			errorCode: int16('0+'),
			transactionalId: string('0+'),
			transactionState: string('0+'),
			transactionTimeoutMs: int32('0+'),
			transactionStartTimeMs: int64('0+'),
			producerId: bigint64('0+'),
			producerEpoch: int16('0+'),
			topics: array('0+', {
				topic: string('0+'),
				partitions: arrayOf('0+', int32),
			}),
		}),
	},
})

export const listTransactions = family({
	key: 66,
	name: 'ListTransactions',
	versions: '0-1',
	flexible: '0+',
	request: {
		stateFilters: arrayOf('0+', string),
		producerIdFilters: arrayOf('0+', bigint64),
		durationFilter: int64('1+', { default: -1 }),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
		unknownStateFilters: arrayOf('0+', string),
		transactionStates: array('0+', {
			transactionalId: string('0+'),
			producerId: bigint64('0+'),
			transactionState: string('0+'),
		}),
	},
})
