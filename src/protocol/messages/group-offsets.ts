/** OffsetCommit (key 8), OffsetFetch (key 9; KIP-447, KIP-709), OffsetDelete (key 47; KIP-496). */

import { array, arrayOf, bigint64, bool, family, int16, int32, int64, string } from '../schema.js'

export const offsetCommit = family({
	key: 8,
	name: 'OffsetCommit',
	versions: '0-9',
	flexible: '8+',
	request: {
		groupId: string('0+'),
		generationIdOrMemberEpoch: int32('1+', { default: -1, ignorable: true }),
		memberId: string('1+', { ignorable: true }),
		groupInstanceId: string('7+', { nullable: '7+', default: null }),
		retentionTimeMs: int64('2-4', { default: -1, ignorable: true }),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				committedOffset: bigint64('0+'),
				committedLeaderEpoch: int32('6+', { default: -1, ignorable: true }),
				commitTimestamp: int64('1', { default: -1 }),
				committedMetadata: string('0+', { nullable: '0+' }),
			}),
		}),
	},
	response: {
		throttleTimeMs: int32('3+', { ignorable: true }),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
			}),
		}),
	},
})

export const offsetFetch = family({
	key: 9,
	name: 'OffsetFetch',
	versions: '0-9',
	flexible: '6+',
	request: {
		groupId: string('0-7'),
		topics: array(
			'0-7',
			{
				name: string('0-7'),
				partitionIndexes: arrayOf('0-7', int32),
			},
			{ nullable: '2-7' },
		),
		groups: array('8+', {
			groupId: string('8+'),
			memberId: string('9+', { nullable: '9+', default: null, ignorable: true }),
			memberEpoch: int32('9+', { default: -1, ignorable: true }),
			topics: array(
				'8+',
				{
					name: string('8+'),
					partitionIndexes: arrayOf('8+', int32),
				},
				{ nullable: '8+' },
			),
		}),
		requireStable: bool('7+', { default: false }),
	},
	response: {
		throttleTimeMs: int32('3+', { ignorable: true }),
		topics: array('0-7', {
			name: string('0-7'),
			partitions: array('0-7', {
				partitionIndex: int32('0-7'),
				committedOffset: bigint64('0-7'),
				committedLeaderEpoch: int32('5-7', { default: -1, ignorable: true }),
				metadata: string('0-7', { nullable: '0-7' }),
				errorCode: int16('0-7'),
			}),
		}),
		errorCode: int16('2-7', { default: 0, ignorable: true }),
		groups: array('8+', {
			groupId: string('8+'),
			topics: array('8+', {
				name: string('8+'),
				partitions: array('8+', {
					partitionIndex: int32('8+'),
					committedOffset: bigint64('8+'),
					committedLeaderEpoch: int32('8+', { default: -1, ignorable: true }),
					metadata: string('8+', { nullable: '8+' }),
					errorCode: int16('8+'),
				}),
			}),
			errorCode: int16('8+', { default: 0 }),
		}),
	},
})

export const offsetDelete = family({
	key: 47,
	name: 'OffsetDelete',
	versions: '0',
	flexible: 'none',
	request: {
		groupId: string('0+'),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
			}),
		}),
	},
	response: {
		errorCode: int16('0+'),
		throttleTimeMs: int32('0+', { ignorable: true }),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
			}),
		}),
	},
})
