/** Consumer groups over the wire: statements of semantics 22 and 23 that one broker has. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BrokerConnection } from '../../../src/client/connection.js'
import { ERROR } from '../../../src/protocol/errors.js'
import {
	describeGroups,
	findCoordinator,
	heartbeat,
	joinGroup,
	leaveGroup,
	listGroups,
	syncGroup,
} from '../../../src/protocol/messages/group.js'
import { offsetCommit, offsetFetch } from '../../../src/protocol/messages/group-offsets.js'
import { deleteTopics } from '../../../src/protocol/messages/topics.js'
import { startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { makeTopic } from '../../helpers/requests.js'
import { until } from '../../helpers/until.js'

let broker: TestBroker
let connection: BrokerConnection
beforeAll(async () => {
	broker = await startTestBroker()
	connection = await broker.connect()
	await makeTopic(connection, 'read', 3)
	await coordinatorIsThere()
})
afterAll(() => broker.stop())

async function coordinatorIsThere(): Promise<void> {
	await until(
		'there is a coordinator',
		async () => (await connection.send(findCoordinator, 3, { key: 'g', keyType: 0 })).errorCode === 0,
	)
	await until('it is loaded', async () => (await connection.send(listGroups, 4, { statesFilter: [] })).errorCode === 0)
}

interface JoinOptions {
	readonly memberId?: string
	readonly instanceId?: string | null
	readonly sessionTimeoutMs?: number
	readonly rebalanceTimeoutMs?: number
	readonly protocols?: readonly string[]
	readonly metadata?: string
	readonly protocolType?: string
	readonly version?: number
	readonly on?: BrokerConnection
}

function join(groupId: string, options: JoinOptions = {}) {
	const version = options.version ?? 9
	return (options.on ?? connection).send(
		joinGroup,
		version,
		{
			groupId,
			sessionTimeoutMs: options.sessionTimeoutMs ?? 10_000,
			rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? 10_000,
			memberId: options.memberId ?? '',
			...(version >= 5 ? { groupInstanceId: options.instanceId ?? null } : {}),
			protocolType: options.protocolType ?? 'consumer',
			protocols: (options.protocols ?? ['range']).map((name) => ({
				name,
				metadata: Buffer.from(options.metadata ?? 'm'),
			})),
		},
		20_000,
	)
}

/** Joins in the two steps of version 4 and up. */
async function joinWhole(groupId: string, options: JoinOptions = {}) {
	const first = await join(groupId, options)
	if (first.errorCode !== ERROR.MEMBER_ID_REQUIRED) return first
	return await join(groupId, { ...options, memberId: first.memberId })
}

function sync(
	groupId: string,
	memberId: string,
	generationId: number,
	assignments: Record<string, string> = {},
	on = connection,
) {
	return on.send(
		syncGroup,
		5,
		{
			groupId,
			generationId,
			memberId,
			protocolType: 'consumer',
			protocolName: 'range',
			assignments: Object.entries(assignments).map(([id, assignment]) => ({
				memberId: id,
				assignment: Buffer.from(assignment),
			})),
		},
		20_000,
	)
}

const beat = async (groupId: string, memberId: string, generationId: number) =>
	(await connection.send(heartbeat, 4, { groupId, generationId, memberId })).errorCode

async function commit(
	groupId: string,
	offset: bigint,
	options: { memberId?: string; generation?: number; topic?: string; metadata?: string; partition?: number } = {},
) {
	const answer = await connection.send(offsetCommit, 8, {
		groupId,
		generationIdOrMemberEpoch: options.generation ?? -1,
		memberId: options.memberId ?? '',
		topics: [
			{
				name: options.topic ?? 'read',
				partitions: [
					{
						partitionIndex: options.partition ?? 0,
						committedOffset: offset,
						committedMetadata: options.metadata ?? null,
					},
				],
			},
		],
	})
	return answer.topics[0]?.partitions[0]?.errorCode
}

async function committed(groupId: string, partition = 0, topic = 'read') {
	const answer = await connection.send(offsetFetch, 8, {
		groups: [{ groupId, topics: [{ name: topic, partitionIndexes: [partition] }] }],
	})
	return answer.groups[0]?.topics[0]?.partitions[0]
}

const stateOf = async (groupId: string) =>
	(await connection.send(describeGroups, 5, { groups: [groupId], includeAuthorizedOperations: false })).groups[0]

describe('joining', () => {
	it('22.4 and 22.5 refuse bad session timeouts and unknown members; 22.1 an empty group id', async () => {
		expect((await join('bad', { sessionTimeoutMs: 1 })).errorCode).toBe(ERROR.INVALID_SESSION_TIMEOUT)
		expect((await join('bad', { sessionTimeoutMs: 99_999_999 })).errorCode).toBe(ERROR.INVALID_SESSION_TIMEOUT)
		expect((await join('bad', { memberId: 'nobody' })).errorCode).toBe(ERROR.UNKNOWN_MEMBER_ID)
		expect((await join('')).errorCode).toBe(ERROR.INVALID_GROUP_ID)
	})

	it('22.7 refuses no protocol, and one that the group does not have', async () => {
		expect((await join('protocols', { protocols: [] })).errorCode).toBe(ERROR.INCONSISTENT_GROUP_PROTOCOL)
		expect((await join('protocols', { protocolType: '' })).errorCode).toBe(ERROR.INCONSISTENT_GROUP_PROTOCOL)
		await joinWhole('protocols', { protocols: ['range'] })
		expect((await join('protocols', { protocols: ['other'] })).errorCode).toBe(ERROR.INCONSISTENT_GROUP_PROTOCOL)
		expect((await join('protocols', { protocolType: 'connect' })).errorCode).toBe(ERROR.INCONSISTENT_GROUP_PROTOCOL)
	})

	it('22.8 a new member gets its id first (version 4 and up), below 4 it is in at once', async () => {
		const first = await join('two-step')
		expect([first.errorCode, first.memberId.startsWith('test-')]).toEqual([ERROR.MEMBER_ID_REQUIRED, true])
		const second = await join('two-step', { memberId: first.memberId })
		expect([second.errorCode, second.generationId, second.leader]).toEqual([0, 1, first.memberId])
		expect((await join('one-step', { version: 3 })).errorCode).toBe(0)
	})

	it('22.18, 22.20 and 22.22 the first leads, assigns, and everybody gets its share', async () => {
		const other = await broker.connect()
		const leader = await joinWhole('shared')
		const secondId = (await join('shared', { on: other })).memberId
		const waiting = join('shared', { on: other, memberId: secondId })
		await until(
			'the leader is told',
			async () => (await beat('shared', leader.memberId, 1)) === ERROR.REBALANCE_IN_PROGRESS,
		)
		const again = await join('shared', { memberId: leader.memberId })
		const joined = await waiting
		expect([again.generationId, joined.generationId, again.leader]).toEqual([2, 2, leader.memberId])
		expect(again.members.map(({ memberId }) => memberId).sort()).toEqual([leader.memberId, secondId].sort())
		expect(joined.members).toEqual([])
		const follower = sync('shared', secondId, 2, {}, other)
		const own = await sync('shared', leader.memberId, 2, { [leader.memberId]: 'A', [secondId]: 'B' })
		expect([own.assignment.toString(), (await follower).assignment.toString()]).toEqual(['A', 'B'])
		expect((await stateOf('shared'))?.groupState).toBe('Stable')
		expect(await beat('shared', secondId, 2)).toBe(ERROR.NONE)
		expect(await beat('shared', secondId, 1)).toBe(ERROR.ILLEGAL_GENERATION)
		expect(await beat('shared', 'nobody', 2)).toBe(ERROR.UNKNOWN_MEMBER_ID)
	})

	it('22.12 an unchanged follower is answered at once, a changed one starts a rebalance', async () => {
		const member = await joinWhole('changes')
		await sync('changes', member.memberId, 1, { [member.memberId]: 'A' })
		const changed = await join('changes', { memberId: member.memberId, metadata: 'other' })
		expect([changed.errorCode, changed.generationId]).toEqual([0, 2])
	})

	it('22.25 a silent member is removed when its session is over, and the group goes on', async () => {
		const other = await broker.connect()
		const leader = await joinWhole('silent', { sessionTimeoutMs: 6000, rebalanceTimeoutMs: 300 })
		await sync('silent', leader.memberId, 1, { [leader.memberId]: 'A' })
		const newcomer = await joinWhole('silent', { on: other, rebalanceTimeoutMs: 300 })
		expect([newcomer.errorCode, newcomer.generationId, newcomer.leader]).toEqual([0, 2, newcomer.memberId])
		expect(await beat('silent', leader.memberId, 2)).toBe(ERROR.UNKNOWN_MEMBER_ID)
	})

	it('22.26 leaving removes a member; an unknown one is told so', async () => {
		const member = await joinWhole('leaving')
		await sync('leaving', member.memberId, 1, { [member.memberId]: 'A' })
		const left = await connection.send(leaveGroup, 5, {
			groupId: 'leaving',
			members: [{ memberId: member.memberId }, { memberId: 'nobody' }],
		})
		expect([left.errorCode, left.members.map(({ errorCode }) => errorCode)]).toEqual([0, [0, ERROR.UNKNOWN_MEMBER_ID]])
		expect((await stateOf('leaving'))?.groupState).toBe('Empty')
	})

	it('22.15 a static member takes its place again under a new id, without a rebalance', async () => {
		const member = await join('static', { instanceId: 'i1' })
		expect(member.errorCode).toBe(0)
		await sync('static', member.memberId, 1, { [member.memberId]: 'A' })
		const again = await join('static', { instanceId: 'i1' })
		expect([again.errorCode, again.generationId, again.skipAssignment]).toEqual([0, 1, true])
		expect(again.memberId).not.toBe(member.memberId)
		expect((await sync('static', again.memberId, 1)).assignment.toString()).toBe('A')
		const fenced = await connection.send(heartbeat, 4, {
			groupId: 'static',
			generationId: 1,
			memberId: member.memberId,
			groupInstanceId: 'i1',
		})
		expect(fenced.errorCode).toBe(ERROR.FENCED_INSTANCE_ID)
	})

	it('22.22 syncs that do not fit are refused', async () => {
		const member = await joinWhole('syncs')
		expect((await sync('syncs', member.memberId, 7)).errorCode).toBe(ERROR.ILLEGAL_GENERATION)
		expect((await sync('syncs', 'nobody', 1)).errorCode).toBe(ERROR.UNKNOWN_MEMBER_ID)
		const wrong = await connection.send(syncGroup, 5, {
			groupId: 'syncs',
			generationId: 1,
			memberId: member.memberId,
			protocolType: 'consumer',
			protocolName: 'roundrobin',
			assignments: [],
		})
		expect(wrong.errorCode).toBe(ERROR.INCONSISTENT_GROUP_PROTOCOL)
	})

	it('22.28 and 22.29 groups are described and listed', async () => {
		expect(await stateOf('no-such-group')).toMatchObject({ errorCode: 0, groupState: 'Dead', members: [] })
		const described = await stateOf('static')
		expect(described).toMatchObject({ protocolType: 'consumer', protocolData: 'range' })
		expect(described?.members[0]).toMatchObject({ clientId: 'test', clientHost: '/127.0.0.1', groupInstanceId: 'i1' })
		const stable = await connection.send(listGroups, 5, { statesFilter: ['STABLE'], typesFilter: [] })
		expect(stable.groups.map(({ groupId }) => groupId)).toContain('static')
		expect(stable.groups.map(({ groupId }) => groupId)).not.toContain('leaving')
		const none = await connection.send(listGroups, 5, { statesFilter: [], typesFilter: ['consumer'] })
		expect(none.groups).toEqual([])
	})
})

describe('offsets', () => {
	it('23.1, 23.5 and 23.7 a simple consumer commits and reads back, exactly', async () => {
		expect(await commit('simple', 42n, { metadata: 'note' })).toBe(0)
		expect(await committed('simple')).toMatchObject({ committedOffset: 42n, metadata: 'note', errorCode: 0 })
		expect(await committed('simple', 1)).toMatchObject({ committedOffset: -1n, metadata: '', errorCode: 0 })
		expect(await commit('simple', 9223372036854775807n)).toBe(0)
		expect((await committed('simple'))?.committedOffset).toBe(9223372036854775807n)
		expect(await commit('simple', 7n, { generation: 4 })).toBe(ERROR.UNKNOWN_MEMBER_ID)
		expect(await commit('never-seen', 7n, { generation: 4 })).toBe(ERROR.ILLEGAL_GENERATION)
	})

	it('23.2 a member commits only in its generation', async () => {
		const member = await joinWhole('committing')
		expect(await commit('committing', 1n, { memberId: member.memberId, generation: 1 })).toBe(
			ERROR.REBALANCE_IN_PROGRESS,
		)
		await sync('committing', member.memberId, 1, { [member.memberId]: 'A' })
		expect(await commit('committing', 1n, { memberId: member.memberId, generation: 1 })).toBe(0)
		expect(await commit('committing', 2n, { memberId: member.memberId, generation: 9 })).toBe(ERROR.ILLEGAL_GENERATION)
		expect(await commit('committing', 2n, { memberId: 'nobody', generation: 1 })).toBe(ERROR.UNKNOWN_MEMBER_ID)
		expect(await commit('committing', 2n)).toBe(ERROR.UNKNOWN_MEMBER_ID)
		expect((await committed('committing'))?.committedOffset).toBe(1n)
	})

	it('23.3 unknown topics and long metadata are refused one by one', async () => {
		expect(await commit('picky', 1n, { topic: 'nowhere' })).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
		expect(await commit('picky', 1n, { partition: 9 })).toBe(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
		expect(await commit('picky', 1n, { metadata: 'x'.repeat(5000) })).toBe(ERROR.OFFSET_METADATA_TOO_LARGE)
		expect((await committed('picky'))?.committedOffset).toBe(-1n)
	})

	it('23.7 null topics are all; an empty list of groups is answered', async () => {
		await commit('all-of', 5n)
		await commit('all-of', 6n, { partition: 2 })
		const answer = await connection.send(offsetFetch, 8, { groups: [{ groupId: 'all-of', topics: null }] })
		const partitions = answer.groups[0]?.topics[0]?.partitions.map(({ partitionIndex, committedOffset }) => [
			partitionIndex,
			committedOffset,
		])
		expect(partitions).toEqual([
			[0, 5n],
			[2, 6n],
		])
		expect((await connection.send(offsetFetch, 8, { groups: [] })).groups).toEqual([])
	})

	it('23.13 version 0 keeps offsets in ZooKeeper', async () => {
		const stored = await connection.send(offsetCommit, 0, {
			groupId: 'ancient',
			topics: [{ name: 'read', partitions: [{ partitionIndex: 1, committedOffset: 33n, committedMetadata: '' }] }],
		})
		expect(stored.topics[0]?.partitions[0]?.errorCode).toBe(0)
		expect((await broker.session.get('/consumers/ancient/offsets/read/1'))?.data?.toString()).toBe('33')
		const read = await connection.send(offsetFetch, 0, {
			groupId: 'ancient',
			topics: [{ name: 'read', partitionIndexes: [1, 2] }],
		})
		const partitions = read.topics[0]?.partitions.map(({ committedOffset, errorCode }) => [committedOffset, errorCode])
		expect(partitions).toEqual([
			[33n, 0],
			[-1n, 3],
		])
	})

	it('16.15 offsets of a deleted topic go, also over a restart, and with the last one a group that nobody is in', async () => {
		await makeTopic(connection, 'passing', 2)
		await commit('passing-only', 5n, { topic: 'passing' })
		await commit('passing-too', 6n, { topic: 'passing', partition: 1 })
		await commit('passing-too', 7n)
		const member = await joinWhole('passing-member')
		await sync('passing-member', member.memberId, 1)
		await commit('passing-member', 8n, { topic: 'passing', memberId: member.memberId, generation: 1 })
		const deleted = await connection.send(deleteTopics, 3, { topicNames: ['passing'], timeoutMs: 10_000 })
		expect(deleted.responses[0]?.errorCode).toBe(0)
		await makeTopic(connection, 'passing', 2)
		const check = async (): Promise<void> => {
			for (const [group, partition] of [
				['passing-only', 0],
				['passing-too', 1],
				['passing-member', 0],
			] as const) {
				expect((await committed(group, partition, 'passing'))?.committedOffset).toBe(-1n)
			}
			expect((await committed('passing-too'))?.committedOffset).toBe(7n)
			expect((await stateOf('passing-only'))?.groupState).toBe('Dead')
			expect((await stateOf('passing-member'))?.groupState).toBe('Stable')
			const { groups } = await connection.send(listGroups, 4, { statesFilter: [] })
			expect(groups.map(({ groupId }) => groupId)).not.toContain('passing-only')
		}
		await check()
		broker = await broker.restart()
		connection = await broker.connect()
		await coordinatorIsThere()
		await check()
	})

	it('22.33 and 23 groups and offsets are there again after a restart', async () => {
		const member = await joinWhole('lasting')
		await sync('lasting', member.memberId, 1, { [member.memberId]: 'MINE' })
		await commit('lasting', 77n, { memberId: member.memberId, generation: 1 })
		broker = await broker.restart()
		connection = await broker.connect()
		await coordinatorIsThere()
		expect((await committed('lasting'))?.committedOffset).toBe(77n)
		expect((await committed('simple'))?.committedOffset).toBe(9223372036854775807n)
		expect((await stateOf('lasting'))?.groupState).toBe('Stable')
		expect(await beat('lasting', member.memberId, 1)).toBe(ERROR.NONE)
		expect((await sync('lasting', member.memberId, 1)).assignment.toString()).toBe('MINE')
	})
})
