/** The group calls, keys 10–16 and 42 (KIP-62, KIP-345, KIP-394, KIP-559, KIP-699, KIP-848 for the type filter). */

import { array, arrayOf, bool, bytes, family, int8, int16, int32, string } from '../schema.js'

export const findCoordinator = family({
	key: 10,
	name: 'FindCoordinator',
	versions: '0-6',
	flexible: '3+',
	request: {
		key: string('0-3'),
		keyType: int8('1+', { default: 0 }),
		coordinatorKeys: arrayOf('4+', string),
	},
	response: {
		throttleTimeMs: int32('1+', { ignorable: true }),
		errorCode: int16('0-3'),
		errorMessage: string('1-3', { nullable: '1-3', ignorable: true }),
		nodeId: int32('0-3'),
		host: string('0-3'),
		port: int32('0-3'),
		coordinators: array('4+', {
			key: string('4+'),
			nodeId: int32('4+'),
			host: string('4+'),
			port: int32('4+'),
			errorCode: int16('4+'),
			errorMessage: string('4+', { nullable: '4+', ignorable: true }),
		}),
	},
})

export const joinGroup = family({
	key: 11,
	name: 'JoinGroup',
	versions: '0-9',
	flexible: '6+',
	request: {
		groupId: string('0+'),
		sessionTimeoutMs: int32('0+'),
		rebalanceTimeoutMs: int32('1+', { default: -1, ignorable: true }),
		memberId: string('0+'),
		groupInstanceId: string('5+', { nullable: '5+', default: null }),
		protocolType: string('0+'),
		protocols: array('0+', {
			name: string('0+'),
			metadata: bytes('0+'),
		}),
		reason: string('8+', { nullable: '8+', default: null, ignorable: true }),
	},
	response: {
		throttleTimeMs: int32('2+', { ignorable: true }),
		errorCode: int16('0+'),
		generationId: int32('0+', { default: -1 }),
		protocolType: string('7+', { nullable: '7+', default: null, ignorable: true }),
		protocolName: string('0+', { nullable: '7+' }),
		leader: string('0+'),
		skipAssignment: bool('9+', { default: false }),
		memberId: string('0+'),
		members: array('0+', {
			memberId: string('0+'),
			groupInstanceId: string('5+', { nullable: '5+', default: null, ignorable: true }),
			metadata: bytes('0+'),
		}),
	},
})

export const heartbeat = family({
	key: 12,
	name: 'Heartbeat',
	versions: '0-4',
	flexible: '4+',
	request: {
		groupId: string('0+'),
		generationId: int32('0+'),
		memberId: string('0+'),
		groupInstanceId: string('3+', { nullable: '3+', default: null }),
	},
	response: {
		throttleTimeMs: int32('1+', { ignorable: true }),
		errorCode: int16('0+'),
	},
})

export const leaveGroup = family({
	key: 13,
	name: 'LeaveGroup',
	versions: '0-5',
	flexible: '4+',
	request: {
		groupId: string('0+'),
		memberId: string('0-2'),
		members: array('3+', {
			memberId: string('3+'),
			groupInstanceId: string('3+', { nullable: '3+', default: null }),
			reason: string('5+', { nullable: '5+', default: null, ignorable: true }),
		}),
	},
	response: {
		throttleTimeMs: int32('1+', { ignorable: true }),
		errorCode: int16('0+'),
		members: array('3+', {
			memberId: string('3+'),
			groupInstanceId: string('3+', { nullable: '3+' }),
			errorCode: int16('3+'),
		}),
	},
})

export const syncGroup = family({
	key: 14,
	name: 'SyncGroup',
	versions: '0-5',
	flexible: '4+',
	request: {
		groupId: string('0+'),
		generationId: int32('0+'),
		memberId: string('0+'),
		groupInstanceId: string('3+', { nullable: '3+', default: null }),
		protocolType: string('5+', { nullable: '5+', default: null, ignorable: true }),
		protocolName: string('5+', { nullable: '5+', default: null, ignorable: true }),
		assignments: array('0+', {
			memberId: string('0+'),
			assignment: bytes('0+'),
		}),
	},
	response: {
		throttleTimeMs: int32('1+', { ignorable: true }),
		errorCode: int16('0+'),
		protocolType: string('5+', { nullable: '5+', default: null, ignorable: true }),
		protocolName: string('5+', { nullable: '5+', default: null, ignorable: true }),
		assignment: bytes('0+'),
	},
})

export const describeGroups = family({
	key: 15,
	name: 'DescribeGroups',
	versions: '0-5',
	flexible: '5+',
	request: {
		groups: arrayOf('0+', string),
		includeAuthorizedOperations: bool('3+'),
	},
	response: {
		throttleTimeMs: int32('1+', { ignorable: true }),
		groups: array('0+', {
			errorCode: int16('0+'),
			groupId: string('0+'),
			groupState: string('0+'),
			protocolType: string('0+'),
			protocolData: string('0+'),
			members: array('0+', {
				memberId: string('0+'),
				groupInstanceId: string('4+', { nullable: '4+', default: null, ignorable: true }),
				clientId: string('0+'),
				clientHost: string('0+'),
				memberMetadata: bytes('0+'),
				memberAssignment: bytes('0+'),
			}),
			authorizedOperations: int32('3+', { default: -2147483648 }),
		}),
	},
})

export const listGroups = family({
	key: 16,
	name: 'ListGroups',
	versions: '0-5',
	flexible: '3+',
	request: {
		statesFilter: arrayOf('4+', string),
		typesFilter: arrayOf('5+', string),
	},
	response: {
		throttleTimeMs: int32('1+', { ignorable: true }),
		errorCode: int16('0+'),
		groups: array('0+', {
			groupId: string('0+'),
			protocolType: string('0+'),
			groupState: string('4+', { ignorable: true }),
			groupType: string('5+', { ignorable: true }),
		}),
	},
})

export const deleteGroups = family({
	key: 42,
	name: 'DeleteGroups',
	versions: '0-2',
	flexible: '2+',
	request: {
		groupsNames: arrayOf('0+', string),
	},
	response: {
		throttleTimeMs: int32('0+'),
		results: array('0+', {
			groupId: string('0+'),
			errorCode: int16('0+'),
		}),
	},
})
