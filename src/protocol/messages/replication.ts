/** What controller and brokers say to one another: LeaderAndIsr, StopReplica, UpdateMetadata (keys 4–6; KIP-380, KIP-570,
 * KIP-516), ControlledShutdown (7), AlterPartition (56; KIP-497, KIP-903), AllocateProducerIds (67; KIP-730). */

import { array, arrayOf, bigint64, bool, family, int8, int16, int32, string, uuid } from '../schema.js'

export const leaderAndIsr = family({
	key: 4,
	name: 'LeaderAndIsr',
	versions: '0-7',
	flexible: '4+',
	request: {
		controllerId: int32('0+'),
		isKRaftController: bool('7+', { default: false }),
		controllerEpoch: int32('0+'),
		brokerEpoch: bigint64('2+', { default: -1n, ignorable: true }),
		type: int8('5+'),
		ungroupedPartitionStates: array('0-1', {
			topicName: string('0-1', { ignorable: true }),
			partitionIndex: int32('0+'),
			controllerEpoch: int32('0+'),
			leader: int32('0+'),
			leaderEpoch: int32('0+'),
			isr: arrayOf('0+', int32),
			partitionEpoch: int32('0+'),
			replicas: arrayOf('0+', int32),
			addingReplicas: arrayOf('3+', int32, { ignorable: true }),
			removingReplicas: arrayOf('3+', int32, { ignorable: true }),
			isNew: bool('1+', { default: false, ignorable: true }),
			leaderRecoveryState: int8('6+', { default: 0 }),
		}),
		topicStates: array('2+', {
			topicName: string('2+'),
			topicId: uuid('5+', { ignorable: true }),
			partitionStates: array('2+', {
				topicName: string('0-1', { ignorable: true }),
				partitionIndex: int32('0+'),
				controllerEpoch: int32('0+'),
				leader: int32('0+'),
				leaderEpoch: int32('0+'),
				isr: arrayOf('0+', int32),
				partitionEpoch: int32('0+'),
				replicas: arrayOf('0+', int32),
				addingReplicas: arrayOf('3+', int32, { ignorable: true }),
				removingReplicas: arrayOf('3+', int32, { ignorable: true }),
				isNew: bool('1+', { default: false, ignorable: true }),
				leaderRecoveryState: int8('6+', { default: 0 }),
			}),
		}),
		liveLeaders: array('0+', {
			brokerId: int32('0+'),
			hostName: string('0+'),
			port: int32('0+'),
		}),
	},
	response: {
		errorCode: int16('0+'),
		partitionErrors: array('0-4', {
			topicName: string('0-4', { ignorable: true }),
			partitionIndex: int32('0+'),
			errorCode: int16('0+'),
		}),
		topics: array('5+', {
			topicId: uuid('5+'),
			partitionErrors: array('5+', {
				topicName: string('0-4', { ignorable: true }),
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
			}),
		}),
	},
})

export const stopReplica = family({
	key: 5,
	name: 'StopReplica',
	versions: '0-4',
	flexible: '2+',
	request: {
		controllerId: int32('0+'),
		isKRaftController: bool('4+', { default: false }),
		controllerEpoch: int32('0+'),
		brokerEpoch: bigint64('1+', { default: -1n, ignorable: true }),
		deletePartitions: bool('0-2'),
		ungroupedPartitions: array('0', {
			topicName: string('0'),
			partitionIndex: int32('0'),
		}),
		topics: array('1-2', {
			name: string('1-2'),
			partitionIndexes: arrayOf('1-2', int32),
		}),
		topicStates: array('3+', {
			topicName: string('3+'),
			partitionStates: array('3+', {
				partitionIndex: int32('3+'),
				leaderEpoch: int32('3+', { default: -1 }),
				deletePartition: bool('3+'),
			}),
		}),
	},
	response: {
		errorCode: int16('0+'),
		partitionErrors: array('0+', {
			topicName: string('0+'),
			partitionIndex: int32('0+'),
			errorCode: int16('0+'),
		}),
	},
})

export const updateMetadata = family({
	key: 6,
	name: 'UpdateMetadata',
	versions: '0-8',
	flexible: '6+',
	request: {
		controllerId: int32('0+'),
		isKRaftController: bool('8+', { default: false }),
		type: int8('8+', { default: 0, tag: 0 }),
		controllerEpoch: int32('0+'),
		brokerEpoch: bigint64('5+', { default: -1n, ignorable: true }),
		ungroupedPartitionStates: array('0-4', {
			topicName: string('0-4', { ignorable: true }),
			partitionIndex: int32('0+'),
			controllerEpoch: int32('0+'),
			leader: int32('0+'),
			leaderEpoch: int32('0+'),
			isr: arrayOf('0+', int32),
			zkVersion: int32('0+'),
			replicas: arrayOf('0+', int32),
			offlineReplicas: arrayOf('4+', int32, { ignorable: true }),
		}),
		topicStates: array('5+', {
			topicName: string('5+'),
			topicId: uuid('7+', { ignorable: true }),
			partitionStates: array('5+', {
				topicName: string('0-4', { ignorable: true }),
				partitionIndex: int32('0+'),
				controllerEpoch: int32('0+'),
				leader: int32('0+'),
				leaderEpoch: int32('0+'),
				isr: arrayOf('0+', int32),
				zkVersion: int32('0+'),
				replicas: arrayOf('0+', int32),
				offlineReplicas: arrayOf('4+', int32, { ignorable: true }),
			}),
		}),
		liveBrokers: array('0+', {
			id: int32('0+'),
			v0Host: string('0', { ignorable: true }),
			v0Port: int32('0', { ignorable: true }),
			endpoints: array(
				'1+',
				{
					port: int32('1+'),
					host: string('1+'),
					listener: string('3+', { ignorable: true }),
					securityProtocol: int16('1+'),
				},
				{ ignorable: true },
			),
			rack: string('2+', { nullable: '0+', ignorable: true }),
		}),
	},
	response: {
		errorCode: int16('0+'),
	},
})

export const controlledShutdown = family({
	key: 7,
	name: 'ControlledShutdown',
	versions: '0-3',
	flexible: '3+',
	request: {
		brokerId: int32('0+'),
		brokerEpoch: bigint64('2+', { default: -1n, ignorable: true }),
	},
	response: {
		errorCode: int16('0+'),
		remainingPartitions: array('0+', {
			topicName: string('0+'),
			partitionIndex: int32('0+'),
		}),
	},
})

export const alterPartition = family({
	key: 56,
	name: 'AlterPartition',
	versions: '0-3',
	flexible: '0+',
	request: {
		brokerId: int32('0+'),
		brokerEpoch: bigint64('0+', { default: -1n }),
		topics: array('0+', {
			topicName: string('0-1', { ignorable: true }),
			topicId: uuid('2+', { ignorable: true }),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				leaderEpoch: int32('0+'),
				newIsr: arrayOf('0-2', int32),
				newIsrWithEpochs: array('3+', {
					brokerId: int32('3+'),
					brokerEpoch: bigint64('3+', { default: -1n }),
				}),
				leaderRecoveryState: int8('1+', { default: 0 }),
				partitionEpoch: int32('0+'),
			}),
		}),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
		topics: array('0+', {
			topicName: string('0-1', { ignorable: true }),
			topicId: uuid('2+', { ignorable: true }),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
				leaderId: int32('0+'),
				leaderEpoch: int32('0+'),
				isr: arrayOf('0+', int32),
				leaderRecoveryState: int8('1+', { default: 0, ignorable: true }),
				partitionEpoch: int32('0+'),
			}),
		}),
	},
})

export const allocateProducerIds = family({
	key: 67,
	name: 'AllocateProducerIds',
	versions: '0',
	flexible: '0+',
	request: {
		brokerId: int32('0+'),
		brokerEpoch: bigint64('0+', { default: -1n }),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
		producerIdStart: bigint64('0+'),
		producerIdLen: int32('0+'),
	},
})
