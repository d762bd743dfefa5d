import { describe, expect, it } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { GROUP_DEFAULTS, GroupMember } from '../../src/client/group-member.js'
import { decodeData, encodeData } from '../../src/protocol/compile.js'
import { ERROR } from '../../src/protocol/errors.js'
import { findCoordinator, heartbeat, joinGroup, leaveGroup, syncGroup } from '../../src/protocol/messages/group.js'
import { consumerProtocolAssignment, consumerProtocolSubscription } from '../../src/protocol/messages/internal.js'
import type { Decoded, Family } from '../../src/protocol/schema.js'
import { type Answer, scriptedRuntime } from '../helpers/scripted-broker.js'
import { until } from '../helpers/until.js'

type Join = Decoded<typeof joinGroup.request>
type Sync = Decoded<typeof syncGroup.request>

const coordinator: Answer = {
	coordinators: [{ key: 'g', nodeId: 1, host: 'scripted', port: 9092, errorCode: 0, errorMessage: null }],
}
const assignment = (partitions: number[]): Buffer =>
	encodeData(consumerProtocolAssignment, 1, { assignedPartitions: [{ topic: 't', partitions }] })
const subscription = encodeData(consumerProtocolSubscription, 1, { topics: ['t'] })

interface Scripted {
	readonly joins?: readonly number[]
	readonly syncs?: readonly number[]
	readonly beats?: readonly number[]
	/** The member leads a group of itself and `other`. */
	readonly leads?: boolean
}

function scripted({ joins = [], syncs = [], beats = [], leads = false }: Scripted) {
	const left = { joins: [...joins], syncs: [...syncs], beats: [...beats] }
	const seen: string[] = []
	const events: string[] = []
	let generationId = 0
	let assigned: Sync['assignments'] = []
	const runtime = scriptedRuntime({
		topics: { t: 4 },
		handlers: [
			[findCoordinator as unknown as Family, () => coordinator],
			[
				joinGroup as unknown as Family,
				({ memberId }: Join) => {
					seen.push(`join ${memberId}`)
					if (memberId === '')
						return { errorCode: ERROR.MEMBER_ID_REQUIRED, memberId: 'm1', protocolName: null, leader: '', members: [] }
					const errorCode = left.joins.shift() ?? 0
					if (errorCode === 0) generationId++
					const members = leads
						? [
								{ memberId: 'm1', groupInstanceId: null, metadata: subscription },
								{ memberId: 'other', groupInstanceId: null, metadata: subscription },
							]
						: []
					return {
						errorCode,
						generationId,
						protocolType: 'consumer',
						protocolName: 'range',
						leader: leads ? 'm1' : 'other',
						memberId: 'm1',
						members,
					}
				},
			],
			[
				syncGroup as unknown as Family,
				({ assignments }: Sync) => {
					assigned = assignments
					return {
						errorCode: left.syncs.shift() ?? 0,
						protocolType: 'consumer',
						protocolName: 'range',
						assignment: assignment([generationId]),
					}
				},
			],
			[
				heartbeat as unknown as Family,
				() => {
					seen.push('beat')
					return { errorCode: left.beats.shift() ?? 0 }
				},
			],
			[
				leaveGroup as unknown as Family,
				() => {
					seen.push('leave')
					return { errorCode: 0, members: [] }
				},
			],
		],
	})
	const cluster = new Cluster(runtime, {
		bootstrap: [{ host: 'scripted', port: 9092 }],
		clientId: 'test',
		connectTimeoutMs: 1000,
		requestTimeoutMs: 1000,
		operationTimeoutMs: 1000,
		retryBackoffMs: 1,
		retryBackoffMaxMs: 4,
	})
	const shown = (what: string) => (partitions: readonly { topic: string; partition: number }[]) => {
		events.push(`${what} ${partitions.map(({ topic, partition }) => `${topic}-${partition}`).join(' ')}`)
		return Promise.resolve()
	}
	const member = new GroupMember(
		cluster,
		{ ...GROUP_DEFAULTS, heartbeatMs: 2, groupId: 'g', topics: ['t'] },
		{
			onAssigned: shown('assigned'),
			onRevoked: shown('revoked'),
			onLost: shown('lost'),
			onFailure: (error) => events.push(`failed ${error.message}`),
		},
	)
	const end = async (): Promise<void> => {
		await member.leave()
		await member.ended()
		await cluster.close()
	}
	return { member, seen, events, end, assigned: () => assigned }
}

describe('group member', () => {
	it('joins with the id that it is given, beats, and leaves', async () => {
		const { member, seen, events, end } = scripted({})
		member.start()
		await until('it beats', () => seen.includes('beat'))
		await end()
		expect(seen.slice(0, 3)).toEqual(['join ', 'join m1', 'beat'])
		expect(seen.at(-1)).toBe('leave')
		expect(events).toEqual(['assigned t-1'])
	})

	it('gives up its partitions before it joins anew, keeping its id, when the group changes', async () => {
		const { member, events, seen, end } = scripted({ beats: [0, ERROR.REBALANCE_IN_PROGRESS] })
		member.start()
		await until('the second generation', () => events.includes('assigned t-2'))
		await end()
		expect(events).toEqual(['assigned t-1', 'revoked t-1', 'assigned t-2'])
		expect(seen.filter((each) => each.startsWith('join'))).toEqual(['join ', 'join m1', 'join m1'])
	})

	it('is told that its partitions are lost when the group went on without it, and joins as somebody new', async () => {
		const { member, events, seen, end } = scripted({ beats: [ERROR.UNKNOWN_MEMBER_ID] })
		member.start()
		await until('the second generation', () => events.includes('assigned t-2'))
		await end()
		expect(events).toEqual(['assigned t-1', 'lost t-1', 'assigned t-2'])
		expect(seen.filter((each) => each.startsWith('join'))).toEqual(['join ', 'join m1', 'join ', 'join m1'])
	})

	it('joins once more when a sync is overtaken by a rebalance, and through a coordinator that loads or moves', async () => {
		const { member, events, end } = scripted({
			joins: [ERROR.COORDINATOR_LOAD_IN_PROGRESS, ERROR.NOT_COORDINATOR, 0],
			syncs: [ERROR.REBALANCE_IN_PROGRESS],
			beats: [ERROR.NOT_COORDINATOR, 0],
		})
		member.start()
		await until('it is in', () => events.length > 0)
		await end()
		expect(events).toEqual(['assigned t-2'])
	})

	it('as leader it assigns for all, from their subscriptions', async () => {
		const { member, events, end, assigned } = scripted({ leads: true })
		member.start()
		await until('it is in', () => events.length > 0)
		await end()
		const shown = assigned().map(({ memberId, assignment: bytes }) => [
			memberId,
			decodeData(consumerProtocolAssignment, bytes).message.assignedPartitions[0]?.partitions,
		])
		expect(shown).toEqual([
			['m1', [0, 1]],
			['other', [2, 3]],
		])
	})

	it('ends with what cannot be mended', async () => {
		const { member, events, end } = scripted({ joins: [ERROR.GROUP_AUTHORIZATION_FAILED] })
		member.start()
		await until('it failed', () => events.length > 0)
		await end()
		expect(events[0]).toMatch(/^failed JoinGroup g: .*GROUP_AUTHORIZATION_FAILED \(30\)/)
	})
})
