/** Where replicas live: AlterReplicaLogDirs and DescribeLogDirs (keys 34, 35; KIP-113, KIP-827), ElectLeaders (43; KIP-460),
 * reassignments (45, 46; KIP-455). */

import { array, arrayOf, bool, family, int8, int16, int32, int64, string } from '../schema.js'

export const alterReplicaLogDirs = family({
	key: 34,
	name: 'AlterReplicaLogDirs',
	versions: '0-2',
	flexible: '2+',
	request: {
		dirs: array('0+', {
			path: string('0+'),
			topics: array('0+', {
				name: string('0+'),
				partitions: arrayOf('0+', int32),
			}),
		}),
	},
	response: {
		throttleTimeMs: int32('0+'),
		results: array('0+', {
			topicName: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
			}),
		}),
	},
})

export const describeLogDirs = family({
	key: 35,
	name: 'DescribeLogDirs',
	versions: '0-4',
	flexible: '2+',
	request: {
		topics: array(
			'0+',
			{
				topic: string('0+'),
				partitions: arrayOf('0+', int32),
			},
			{ nullable: '0+' },
		),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('3+', { ignorable: true }),
		results: array('0+', {
			errorCode: int16('0+'),
			logDir: string('0+'),
			topics: array('0+', {
				name: string('0+'),
				partitions: array('0+', {
					partitionIndex: int32('0+'),
					partitionSize: int64('0+'),
					offsetLag: int64('0+'),
					isFutureKey: bool('0+'),
				}),
			}),
			totalBytes: int64('4+', { default: -1, ignorable: true }),
			usableBytes: int64('4+', { default: -1, ignorable: true }),
		}),
	},
})

export const electLeaders = family({
	key: 43,
	name: 'ElectLeaders',
	versions: '0-2',
	flexible: '2+',
	request: {
		electionType: int8('1+'),
		topicPartitions: array(
			'0+',
			{
				topic: string('0+'),
				partitions: arrayOf('0+', int32),
			},
			{ nullable: '0+' },
		),
		timeoutMs: int32('0+', { default: 60000 }),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('1+'),
		replicaElectionResults: array('0+', {
			topic: string('0+'),
			partitionResult: array('0+', {
				partitionId: int32('0+'),
				errorCode: int16('0+'),
				errorMessage: string('0+', { nullable: '0+' }),
			}),
		}),
	},
})

export const alterPartitionReassignments = family({
	key: 45,
	name: 'AlterPartitionReassignments',
	versions: '0',
	flexible: '0+',
	request: {
		timeoutMs: int32('0+', { default: 60000 }),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				replicas: arrayOf('0+', int32, { nullable: '0+', default: null }),
			}),
		}),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
		errorMessage: string('0+', { nullable: '0+' }),
		responses: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
				errorMessage: string('0+', { nullable: '0+' }),
			}),
		}),
	},
})

export const listPartitionReassignments = family({
	key: 46,
	name: 'ListPartitionReassignments',
	versions: '0',
	flexible: '0+',
	request: {
		timeoutMs: int32('0+', { default: 60000 }),
		topics: array(
			'0+',
			{
				name: string('0+'),
				partitionIndexes: arrayOf('0+', int32),
			},
			{ nullable: '0+', default: null },
		),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
		errorMessage: string('0+', { nullable: '0+' }),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				replicas: arrayOf('0+', int32),
				addingReplicas: arrayOf('0+', int32),
				removingReplicas: arrayOf('0+', int32),
			}),
		}),
	},
})
