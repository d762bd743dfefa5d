/** Metadata (key 3; KIP-4, KIP-320, KIP-430, KIP-516) and DescribeCluster (key 60; KIP-700, KIP-919). */

import { array, arrayOf, bool, family, int8, int16, int32, string, uuid } from '../schema.js'

export const metadata = family({
	key: 3,
	name: 'Metadata',
	versions: '0-12',
	flexible: '9+',
	request: {
		topics: array(
			'0+',
			{
				topicId: uuid('10+', { ignorable: true }),
				name: string('0+', { nullable: '10+' }),
			},
			{ nullable: '1+' },
		),
		allowAutoTopicCreation: bool('4+', { default: true }),
		includeClusterAuthorizedOperations: bool('8-10'),
		includeTopicAuthorizedOperations: bool('8+'),
	},
	response: {
		throttleTimeMs: int32('3+', { ignorable: true }),
		brokers: array('0+', {
			nodeId: int32('0+'),
			host: string('0+'),
			port: int32('0+'),
			rack: string('1+', { nullable: '1+', default: null, ignorable: true }),
		}),
		clusterId: string('2+', { nullable: '2+', default: null, ignorable: true }),
		controllerId: int32('1+', { default: -1, ignorable: true }),
		topics: array('0+', {
			errorCode: int16('0+'),
			name: string('0+', { nullable: '12+' }),
			topicId: uuid('10+', { ignorable: true }),
			isInternal: bool('1+', { default: false, ignorable: true }),
			partitions: array('0+', {
				errorCode: int16('0+'),
				partitionIndex: int32('0+'),
				leaderId: int32('0+'),
				leaderEpoch: int32('7+', { default: -1, ignorable: true }),
				replicaNodes: arrayOf('0+', int32),
				isrNodes: arrayOf('0+', int32),
				offlineReplicas: arrayOf('5+', int32, { ignorable: true }),
			}),
			topicAuthorizedOperations: int32('8+', { default: -2147483648 }),
		}),
		clusterAuthorizedOperations: int32('8-10', { default: -2147483648 }),
	},
})

export const describeCluster = family({
	key: 60,
	name: 'DescribeCluster',
	versions: '0-1',
	flexible: '0+',
	request: {
		includeClusterAuthorizedOperations: bool('0+'),
		endpointType: int8('1+', { default: 1 }),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
		errorMessage: string('0+', { nullable: '0+', default: null }),
		endpointType: int8('1+', { default: 1 }),
		clusterId: string('0+'),
		controllerId: int32('0+', { default: -1 }),
		brokers: array('0+', {
			brokerId: int32('0+'),
			host: string('0+'),
			port: int32('0+'),
			rack: string('0+', { nullable: '0+', default: null }),
		}),
		clusterAuthorizedOperations: int32('0+', { default: -2147483648 }),
	},
})
