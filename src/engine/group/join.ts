/** Joining a group (semantics 22.4–22.15): new members, known ones, static ones that come back under a new id. */

import { ERROR } from '../../protocol/errors.js'
import {
	addMember,
	chooseProtocol,
	Effects,
	failedJoin,
	failedSync,
	type Group,
	type GroupSettings,
	type JoinAnswer,
	joinAnswer,
	type Member,
	type MemberProtocol,
	memberList,
	NEW_MEMBER_JOIN_MS,
	NO_BYTES,
	type Now,
	protocolsDiffer,
	removeMember,
	renewSession,
	supports,
	type Ticket,
} from './group-state.js'
import { findMember, memberGone } from './rebalance.js'
import { maybePrepare } from './rounds.js'

export interface JoinRequest {
	readonly ticket: Ticket
	readonly version: number
	readonly memberId: string
	readonly instanceId: string | null
	readonly clientId: string
	readonly clientHost: string
	readonly sessionTimeoutMs: number
	readonly rebalanceTimeoutMs: number
	readonly protocolType: string
	readonly protocols: readonly MemberProtocol[]
	/** Id to give a member that has none. */
	readonly freshMemberId: string
}

/** True when the group has room for this join (semantics 22.6). */
function hasRoom(group: Group, memberId: string, settings: GroupSettings): boolean {
	if (group.state === 'Empty' || group.state === 'Dead') return true
	const member = group.members.get(memberId)
	if (group.state === 'PreparingRebalance') {
		const waiting = [...group.members.values()].filter((each) => each.joinTicket !== null).length
		return (member !== undefined && member.joinTicket !== null) || waiting < settings.maxSize
	}
	return member !== undefined || group.members.size < settings.maxSize
}

export function join(group: Group, request: JoinRequest, settings: GroupSettings, now: Now): Effects {
	const effects = new Effects()
	const refuse = (code: number, memberId = request.memberId): Effects => {
		effects.joins.push({ ticket: request.ticket, answer: failedJoin(code, memberId) })
		return effects
	}
	const { memberId, instanceId } = request
	if (group.state === 'Dead') return refuse(ERROR.COORDINATOR_NOT_AVAILABLE)
	if (!hasRoom(group, memberId, settings)) {
		if (removeMember(group, memberId) !== undefined) memberGone(group, effects, now)
		return refuse(ERROR.GROUP_MAX_SIZE_REACHED)
	}
	const names = request.protocols.map((protocol) => protocol.name)
	if (!supports(group, request.protocolType, names)) return refuse(ERROR.INCONSISTENT_GROUP_PROTOCOL)
	if (memberId === '') return joinUnknown(group, request, settings, now, effects)
	if (group.pending.has(memberId)) {
		if (instanceId !== null) return refuse(ERROR.UNKNOWN_MEMBER_ID)
		addAndRebalance(group, request, memberId, settings, now, effects)
		return effects
	}
	const member = findMember(group, memberId, instanceId)
	if (typeof member === 'number') return refuse(member)
	return joinKnown(group, member, request, settings, now, effects)
}

function joinUnknown(group: Group, request: JoinRequest, settings: GroupSettings, now: Now, effects: Effects): Effects {
	const id = request.freshMemberId
	if (request.instanceId !== null) {
		const old = group.staticMembers.get(request.instanceId)
		if (old !== undefined) return replaceStatic(group, old, request, settings, now, effects)
		addAndRebalance(group, request, id, settings, now, effects)
		return effects
	}
	if (request.version >= 4) {
		// The client comes back with this id; until then it holds no place (KIP-394).
		group.pending.set(id, now.monotonicMs + request.sessionTimeoutMs)
		effects.joins.push({ ticket: request.ticket, answer: failedJoin(ERROR.MEMBER_ID_REQUIRED, id) })
		return effects
	}
	addAndRebalance(group, request, id, settings, now, effects)
	return effects
}

function joinKnown(
	group: Group,
	member: Member,
	request: JoinRequest,
	settings: GroupSettings,
	now: Now,
	effects: Effects,
): Effects {
	const changed = protocolsDiffer(member.protocols, request.protocols)
	const answerNow = (): Effects => {
		renewSession(member, now)
		effects.joins.push({ ticket: request.ticket, answer: joinAnswer(group, member) })
		return effects
	}
	if (group.state === 'PreparingRebalance') {
		updateAndRebalance(group, member, request, settings, now, effects)
		return effects
	}
	if (group.state === 'CompletingRebalance') {
		// Its answer was lost: the same one again.
		if (!changed) return answerNow()
		updateAndRebalance(group, member, request, settings, now, effects)
		return effects
	}
	if (group.state === 'Stable') {
		if (!changed && group.leaderId !== member.id) return answerNow()
		updateAndRebalance(group, member, request, settings, now, effects)
		return effects
	}
	effects.joins.push({ ticket: request.ticket, answer: failedJoin(ERROR.UNKNOWN_MEMBER_ID, request.memberId) })
	return effects
}

function memberOf(request: JoinRequest, id: string, now: Now): Member {
	return {
		id,
		instanceId: request.instanceId,
		clientId: request.clientId,
		clientHost: request.clientHost,
		sessionTimeoutMs: request.sessionTimeoutMs,
		rebalanceTimeoutMs: request.rebalanceTimeoutMs,
		protocols: request.protocols,
		assignment: NO_BYTES,
		joinTicket: request.ticket,
		syncTicket: null,
		isNew: true,
		expiresAtMs: now.monotonicMs + NEW_MEMBER_JOIN_MS,
	}
}

function addAndRebalance(
	group: Group,
	request: JoinRequest,
	id: string,
	settings: GroupSettings,
	now: Now,
	effects: Effects,
): void {
	addMember(group, memberOf(request, id, now), request.protocolType)
	if (group.initialDelay !== null) group.initialDelay.hasNewMember = true
	maybePrepare(group, settings, now, effects)
}

function updateAndRebalance(
	group: Group,
	member: Member,
	request: JoinRequest,
	settings: GroupSettings,
	now: Now,
	effects: Effects,
): void {
	takeUpdate(member, request, effects)
	maybePrepare(group, settings, now, effects)
}

function takeUpdate(member: Member, request: JoinRequest, effects: Effects): void {
	if (member.joinTicket !== null && member.joinTicket !== request.ticket) {
		// A second join of the same member while the first waits: the first is answered as unknown.
		effects.joins.push({ ticket: member.joinTicket, answer: failedJoin(ERROR.UNKNOWN_MEMBER_ID, member.id) })
	}
	member.protocols = request.protocols
	member.sessionTimeoutMs = request.sessionTimeoutMs
	member.rebalanceTimeoutMs = request.rebalanceTimeoutMs
	member.clientId = request.clientId
	member.clientHost = request.clientHost
	member.joinTicket = request.ticket
}

/** A static member came back without its id: it takes its old place under a new id (KIP-345, KIP-814). */
function replaceStatic(
	group: Group,
	oldId: string,
	request: JoinRequest,
	settings: GroupSettings,
	now: Now,
	effects: Effects,
): Effects {
	const old = group.members.get(oldId) as Member
	const id = request.freshMemberId
	if (old.joinTicket !== null) {
		effects.joins.push({ ticket: old.joinTicket, answer: failedJoin(ERROR.FENCED_INSTANCE_ID, oldId) })
		old.joinTicket = null
	}
	if (old.syncTicket !== null) {
		effects.syncs.push({ ticket: old.syncTicket, answer: failedSync(ERROR.FENCED_INSTANCE_ID) })
		old.syncTicket = null
	}
	const wasLeader = group.leaderId === oldId
	const before = group.state === 'Stable' ? chooseProtocol(group) : null
	rename(group, old, id)
	old.protocols = request.protocols
	old.sessionTimeoutMs = request.sessionTimeoutMs
	old.rebalanceTimeoutMs = request.rebalanceTimeoutMs
	old.clientId = request.clientId
	old.clientHost = request.clientHost
	renewSession(old, now)
	if (group.state === 'Stable' && before === chooseProtocol(group)) {
		effects.store = 'replacement'
		effects.joins.push({
			ticket: request.ticket,
			answer: replacementAnswer(group, old, oldId, wasLeader, request.version),
		})
		return effects
	}
	old.joinTicket = request.ticket
	maybePrepare(group, settings, now, effects)
	return effects
}

/** Below version 9 the old leader id is named, so that nobody computes an assignment anew. */
function replacementAnswer(
	group: Group,
	member: Member,
	oldId: string,
	wasLeader: boolean,
	version: number,
): JoinAnswer {
	const base = { ...joinAnswer(group, member), members: [] }
	if (!wasLeader) return base
	return version >= 9 ? { ...base, skipAssignment: true, members: memberList(group) } : { ...base, leader: oldId }
}

function rename(group: Group, member: Member, id: string): void {
	const members = [...group.members.values()]
	group.members.clear()
	const oldId = member.id
	member.id = id
	for (const each of members) group.members.set(each.id, each)
	if (member.instanceId !== null) group.staticMembers.set(member.instanceId, id)
	if (group.leaderId === oldId) group.leaderId = id
}
