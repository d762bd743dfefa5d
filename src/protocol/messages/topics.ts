/** CreateTopics (key 19), DeleteTopics (key 20), DeleteRecords (key 21; KIP-107), CreatePartitions (key 37; KIP-195). */

import { array, arrayOf, bool, family, int8, int16, int32, int64, string, uuid } from '../schema.js'

export const createTopics = family({
	key: 19,
	name: 'CreateTopics',
	versions: '0-7',
	flexible: '5+',
	request: {
		topics: array('0+', {
			name: string('0+'),
			numPartitions: int32('0+'),
			replicationFactor: int16('0+'),
			assignments: array('0+', {
				partitionIndex: int32('0+'),
				brokerIds: arrayOf('0+', int32),
			}),
			configs: array('0+', {
				name: string('0+'),
				value: string('0+', { nullable: '0+' }),
			}),
		}),
		timeoutMs: int32('0+', { default: 60000 }),
		validateOnly: bool('1+', { default: false }),
	},
	response: {
		throttleTimeMs: int32('2+', { ignorable: true }),
		topics: array('0+', {
			name: string('0+'),
			topicId: uuid('7+', { ignorable: true }),
			errorCode: int16('0+'),
			errorMessage: string('1+', { nullable: '0+', ignorable: true }),
			topicConfigErrorCode: int16('5+', { tag: 0, ignorable: true }),
			numPartitions: int32('5+', { default: -1, ignorable: true }),
			replicationFactor: int16('5+', { default: -1, ignorable: true }),
			configs: array(
				'5+',
				{
					name: string('5+'),
					value: string('5+', { nullable: '5+' }),
					readOnly: bool('5+'),
					configSource: int8('5+', { default: -1, ignorable: true }),
					isSensitive: bool('5+'),
				},
				{ nullable: '5+', ignorable: true },
			),
		}),
	},
})

export const deleteTopics = family({
	key: 20,
	name: 'DeleteTopics',
	versions: '0-6',
	flexible: '4+',
	request: {
		topics: array('6+', {
			name: string('6+', { nullable: '6+', default: null }),
			topicId: uuid('6+'),
		}),
		topicNames: arrayOf('0-5', string, { ignorable: true }),
		timeoutMs: int32('0+'),
	},
	response: {
		throttleTimeMs: int32('1+', { ignorable: true }),
		responses: array('0+', {
			name: string('0+', { nullable: '6+' }),
			topicId: uuid('6+', { ignorable: true }),
			errorCode: int16('0+'),
			errorMessage: string('5+', { nullable: '5+', default: null, ignorable: true }),
		}),
	},
})

export const deleteRecords = family({
	key: 21,
	name: 'DeleteRecords',
	versions: '0-2',
	flexible: '2+',
	request: {
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				offset: int64('0+'),
			}),
		}),
		timeoutMs: int32('0+'),
	},
	response: {
		throttleTimeMs: int32('0+'),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				lowWatermark: int64('0+'),
				errorCode: int16('0+'),
			}),
		}),
	},
})

export const createPartitions = family({
	key: 37,
	name: 'CreatePartitions',
	versions: '0-3',
	flexible: '2+',
	request: {
		topics: array('0+', {
			name: string('0+'),
			count: int32('0+'),
			assignments: array(
				'0+',
				{
					brokerIds: arrayOf('0+', int32),
				},
				{ nullable: '0+' },
			),
		}),
		timeoutMs: int32('0+'),
		validateOnly: bool('0+'),
	},
	response: {
		throttleTimeMs: int32('0+'),
		results: array('0+', {
			name: string('0+'),
			errorCode: int16('0+'),
			errorMessage: string('0+', { nullable: '0+', default: null }),
		}),
	},
})
