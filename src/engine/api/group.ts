/**
 * FindCoordinator (key 10, versions 0–6), JoinGroup (11, 0–9), Heartbeat (12, 0–4), LeaveGroup (13, 0–5), SyncGroup (14,
 * 0–5), DescribeGroups (15, 0–5), ListGroups (16, 0–5); semantics 11.13–11.15 and 22. FindCoordinator: 1 key type, 4 many
 * keys (KIP-699). JoinGroup: 1 rebalance timeout (KIP-62), 4 member id required (KIP-394), 5 instance id (KIP-345), 9 skip
 * assignment (KIP-814). Left out: transaction coordinators are not to be found yet (15).
 */

import { ownCopy } from '../../base/bytes.js'
import { ERROR } from '../../protocol/errors.js'
import {
	describeGroups,
	findCoordinator,
	heartbeat,
	joinGroup,
	leaveGroup,
	listGroups,
	syncGroup,
} from '../../protocol/messages/group.js'
import type { ResponseInput } from '../../protocol/schema.js'
import { type GroupCoordinator, OFFSETS_TOPIC } from '../group/coordinator.js'
import { failedJoin, failedSync, metadataOf, NO_BYTES } from '../group/group-state.js'
import type { MetadataCache } from '../metadata/cache.js'
import { type Handler, handler } from './dispatch.js'
import type { TopicCreator } from './topic-creator.js'

export interface GroupParts {
	readonly groups: GroupCoordinator
	readonly metadata: MetadataCache
	readonly creator: TopicCreator
}

const GROUP = 0
const TRANSACTION = 1

interface Coordinator {
	readonly errorCode: number
	readonly nodeId: number
	readonly host: string
	readonly port: number
	readonly text: string
}

export function groupHandlers(parts: GroupParts): Handler[] {
	return [
		findCoordinatorHandler(parts),
		joinGroupHandler(parts.groups),
		heartbeatHandler(parts.groups),
		leaveGroupHandler(parts.groups),
		syncGroupHandler(parts.groups),
		describeGroupsHandler(parts.groups),
		listGroupsHandler(parts.groups),
	]
}

function findCoordinatorHandler({ groups, metadata, creator }: GroupParts): Handler {
	const none = (errorCode: number, text: string): Coordinator => ({ errorCode, nodeId: -1, host: '', port: -1, text })
	const find = async (key: string, keyType: number, listener: string): Promise<Coordinator> => {
		if (keyType !== GROUP && keyType !== TRANSACTION) return none(ERROR.INVALID_REQUEST, `Unknown key type ${keyType}.`)
		const topic = keyType === GROUP ? OFFSETS_TOPIC : '__transaction_state'
		if (keyType === TRANSACTION) return none(ERROR.COORDINATOR_NOT_AVAILABLE, 'Transactions are not served yet.')
		if (metadata.topic(topic) === undefined) {
			await creator.ensureInternal(topic)
			return none(ERROR.COORDINATOR_NOT_AVAILABLE, 'The coordinator is not available.')
		}
		const leader = metadata.partition(topic, groups.partitionOf(key))?.leader ?? -1
		const endpoint = metadata.endpoint(leader, listener)
		if (endpoint === undefined) return none(ERROR.COORDINATOR_NOT_AVAILABLE, 'The coordinator is not available.')
		return { errorCode: ERROR.NONE, nodeId: leader, host: endpoint.host, port: endpoint.port, text: '' }
	}
	return handler(findCoordinator, {
		async handle(request, { version, connection }) {
			if (version >= 4) {
				const coordinators = []
				for (const key of request.coordinatorKeys) {
					const { text, ...found } = await find(key, request.keyType, connection.listener)
					coordinators.push({ key, ...found, errorMessage: text })
				}
				return { throttleTimeMs: 0, coordinators }
			}
			const { text, ...found } = await find(request.key, request.keyType, connection.listener)
			// Versions 1–3 spell success "NONE" (seen on 3.9.2).
			return { throttleTimeMs: 0, ...found, errorMessage: found.errorCode === ERROR.NONE ? 'NONE' : text }
		},
		fail: (request, errorCode, { version }) =>
			version >= 4
				? {
						throttleTimeMs: 0,
						coordinators: request.coordinatorKeys.map((key) => ({ key, nodeId: -1, host: '', port: -1, errorCode })),
					}
				: { throttleTimeMs: 0, errorCode, nodeId: -1, host: '', port: -1 },
	})
}

function joinGroupHandler(groups: GroupCoordinator): Handler {
	return handler(joinGroup, {
		async handle(request, { version, clientId, connection }) {
			const { groupId, memberId, groupInstanceId, sessionTimeoutMs } = request
			const refuse = (code: number) => ({ throttleTimeMs: 0, ...joinFields(failedJoin(code, memberId), version) })
			const code = groups.check(groupId, false)
			if (code !== ERROR.NONE) return refuse(code)
			const { minSessionTimeoutMs, maxSessionTimeoutMs } = groups.settings
			if (sessionTimeoutMs < minSessionTimeoutMs || sessionTimeoutMs > maxSessionTimeoutMs) {
				return refuse(ERROR.INVALID_SESSION_TIMEOUT)
			}
			const answer = await groups.join(groupId, {
				version,
				memberId,
				instanceId: groupInstanceId,
				clientId,
				clientHost: `/${connection.remoteAddress}`,
				sessionTimeoutMs,
				rebalanceTimeoutMs: request.rebalanceTimeoutMs < 0 ? sessionTimeoutMs : request.rebalanceTimeoutMs,
				protocolType: request.protocolType,
				// The frame is let go after the request: what the group keeps is copied.
				protocols: request.protocols.map(({ name, metadata }) => ({ name, metadata: ownCopy(metadata) })),
				freshMemberId: groups.freshMemberId(groupInstanceId ?? clientId),
			})
			return { throttleTimeMs: 0, ...joinFields(answer, version) }
		},
		fail: (request, errorCode, { version }) => ({
			throttleTimeMs: 0,
			...joinFields(failedJoin(errorCode, request.memberId), version),
		}),
	})
}

function joinFields(answer: ReturnType<typeof failedJoin>, version: number) {
	// Only version 7 and up can say "no protocol" by null.
	return { ...answer, protocolName: version >= 7 ? answer.protocolName : (answer.protocolName ?? '') }
}

function heartbeatHandler(groups: GroupCoordinator): Handler {
	return handler(heartbeat, {
		handle({ groupId, memberId, groupInstanceId, generationId }) {
			const code = groups.check(groupId, false)
			// While the group is loaded its members are told that all is well (semantics 22.2).
			if (code === ERROR.COORDINATOR_LOAD_IN_PROGRESS) return { throttleTimeMs: 0, errorCode: ERROR.NONE }
			if (code !== ERROR.NONE) return { throttleTimeMs: 0, errorCode: code }
			const claim = { memberId, instanceId: groupInstanceId, generation: generationId }
			return { throttleTimeMs: 0, errorCode: groups.heartbeat(groupId, claim) }
		},
		fail: (_request, errorCode) => ({ throttleTimeMs: 0, errorCode }),
	})
}

function leaveGroupHandler(groups: GroupCoordinator): Handler {
	return handler(leaveGroup, {
		handle(request, { version }) {
			const code = groups.check(request.groupId, false)
			if (code !== ERROR.NONE) return { throttleTimeMs: 0, errorCode: code, members: [] }
			if (version < 3) {
				return { throttleTimeMs: 0, errorCode: groups.leave(request.groupId, request.memberId, null), members: [] }
			}
			const members = request.members.map(({ memberId, groupInstanceId }) => ({
				memberId,
				groupInstanceId,
				errorCode: groups.leave(request.groupId, memberId, groupInstanceId),
			}))
			return { throttleTimeMs: 0, errorCode: ERROR.NONE, members }
		},
		fail: (_request, errorCode) => ({ throttleTimeMs: 0, errorCode, members: [] }),
	})
}

function syncGroupHandler(groups: GroupCoordinator): Handler {
	return handler(syncGroup, {
		async handle(request, { version }) {
			const code = groups.check(request.groupId, false)
			if (code !== ERROR.NONE) {
				const told = code === ERROR.COORDINATOR_LOAD_IN_PROGRESS ? ERROR.REBALANCE_IN_PROGRESS : code
				return { throttleTimeMs: 0, ...failedSync(told) }
			}
			if (version >= 5 && (request.protocolType === null || request.protocolName === null)) {
				return { throttleTimeMs: 0, ...failedSync(ERROR.INCONSISTENT_GROUP_PROTOCOL) }
			}
			const answer = await groups.sync(request.groupId, {
				version,
				memberId: request.memberId,
				instanceId: request.groupInstanceId,
				generation: request.generationId,
				protocolType: request.protocolType,
				protocolName: request.protocolName,
				assignments: new Map(request.assignments.map(({ memberId, assignment }) => [memberId, ownCopy(assignment)])),
			})
			return { throttleTimeMs: 0, ...answer }
		},
		fail: (_request, errorCode) => ({ throttleTimeMs: 0, ...failedSync(errorCode) }),
	})
}

type DescribedGroup = ResponseInput<typeof describeGroups>['groups'][number]

function describeGroupsHandler(groups: GroupCoordinator): Handler {
	const unknown = (groupId: string, errorCode: number, groupState: string): DescribedGroup => ({
		errorCode,
		groupId,
		groupState,
		protocolType: '',
		protocolData: '',
		members: [],
	})
	const one = (groupId: string): DescribedGroup => {
		const code = groups.check(groupId, true)
		if (code !== ERROR.NONE) return unknown(groupId, code, '')
		const entry = groups.find(groupId)
		if (entry === undefined) return unknown(groupId, ERROR.NONE, 'Dead')
		const { group } = entry
		const isStable = group.state === 'Stable'
		return {
			errorCode: ERROR.NONE,
			groupId,
			groupState: group.state,
			protocolType: group.protocolType ?? '',
			protocolData: isStable ? (group.protocol ?? '') : '',
			members: [...group.members.values()].map((member) => ({
				memberId: member.id,
				groupInstanceId: member.instanceId,
				clientId: member.clientId,
				clientHost: member.clientHost,
				memberMetadata: isStable ? metadataOf(member, group.protocol) : NO_BYTES,
				memberAssignment: isStable ? member.assignment : NO_BYTES,
			})),
		}
	}
	return handler(describeGroups, {
		handle: (request) => ({ throttleTimeMs: 0, groups: request.groups.map(one) }),
		fail: (request, errorCode) => ({
			throttleTimeMs: 0,
			groups: request.groups.map((groupId) => unknown(groupId, errorCode, '')),
		}),
	})
}

function listGroupsHandler(groups: GroupCoordinator): Handler {
	return handler(listGroups, {
		handle(request) {
			const states = new Set(request.statesFilter.map((state) => state.toLowerCase()))
			const types = new Set(request.typesFilter.map((type) => type.toLowerCase()))
			const listed = [...groups.entries]
				.filter(({ group }) => states.size === 0 || states.has(group.state.toLowerCase()))
				.filter(() => types.size === 0 || types.has('classic'))
				.map(({ group }) => ({
					groupId: group.id,
					protocolType: group.protocolType ?? '',
					groupState: group.state,
					groupType: 'classic',
				}))
			const errorCode = groups.isLoading ? ERROR.COORDINATOR_LOAD_IN_PROGRESS : ERROR.NONE
			return { throttleTimeMs: 0, errorCode, groups: listed }
		},
		fail: (_request, errorCode) => ({ throttleTimeMs: 0, errorCode, groups: [] }),
	})
}
