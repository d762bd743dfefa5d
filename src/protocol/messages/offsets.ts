/** ListOffsets (key 2; KIP-79, KIP-320, KIP-734) and OffsetForLeaderEpoch (key 23; KIP-101, KIP-279, KIP-320). */

import { array, arrayOf, family, int8, int16, int32, int64, string } from '../schema.js'

export const listOffsets = family({
	key: 2,
	name: 'ListOffsets',
	versions: '0-9',
	flexible: '6+',
	request: {
		replicaId: int32('0+'),
		isolationLevel: int8('2+'),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				currentLeaderEpoch: int32('4+', { default: -1, ignorable: true }),
				timestamp: int64('0+'),
				maxNumOffsets: int32('0', { default: 1 }),
			}),
		}),
	},
	response: {
		throttleTimeMs: int32('2+', { ignorable: true }),
		topics: array('0+', {
			name: string('0+'),
			partitions: array('0+', {
				partitionIndex: int32('0+'),
				errorCode: int16('0+'),
				oldStyleOffsets: arrayOf('0', int64),
				timestamp: int64('1+', { default: -1 }),
				offset: int64('1+', { default: -1 }),
				leaderEpoch: int32('4+', { default: -1 }),
			}),
		}),
	},
})

export const offsetForLeaderEpoch = family({
	key: 23,
	name: 'OffsetForLeaderEpoch',
	versions: '0-4',
	flexible: '4+',
	request: {
		replicaId: int32('3+', { default: -2, ignorable: true }),
		topics: array('0+', {
			topic: string('0+'),
			partitions: array('0+', {
				partition: int32('0+'),
				currentLeaderEpoch: int32('2+', { default: -1, ignorable: true }),
				leaderEpoch: int32('0+'),
			}),
		}),
	},
	response: {
		throttleTimeMs: int32('2+', { ignorable: true }),
		topics: array('0+', {
			topic: string('0+'),
			partitions: array('0+', {
				errorCode: int16('0+'),
				partition: int32('0+'),
				leaderEpoch: int32('1+', { default: -1, ignorable: true }),
				endOffset: int64('0+', { default: -1 }),
			}),
		}),
	},
})
