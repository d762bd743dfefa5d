/**
 * The events of a group that follow a join (`join.ts`): sync, heartbeat, leave, deadlines (semantics 22.19–22.27). Each
 * changes the group at once and collects its effects; none waits.
 */

import { ERROR } from '../../protocol/errors.js'
import {
	Effects,
	failedJoin,
	failedSync,
	type Group,
	type GroupSettings,
	type Member,
	NO_BYTES,
	type Now,
	removeMember,
	renewSession,
	type SyncAnswer,
	type Ticket,
	transition,
} from './group-state.js'
import { complete, maybeComplete, maybePrepare } from './rounds.js'

export interface SyncRequest {
	readonly ticket: Ticket
	readonly version: number
	readonly memberId: string
	readonly instanceId: string | null
	readonly generation: number
	readonly protocolType: string | null
	readonly protocolName: string | null
	readonly assignments: ReadonlyMap<string, Buffer>
}

/** What a member says of itself in heartbeats, leaves and commits. */
export interface MemberClaim {
	readonly memberId: string
	readonly instanceId: string | null
	readonly generation: number
}

/** The member a claim names, or the code that refuses it: 25, 82 (semantics 22.11). */
export function findMember(group: Group, memberId: string, instanceId: string | null): Member | number {
	if (instanceId !== null) {
		const mapped = group.staticMembers.get(instanceId)
		if (mapped === undefined) return ERROR.UNKNOWN_MEMBER_ID
		if (mapped !== memberId) return ERROR.FENCED_INSTANCE_ID
	}
	return group.members.get(memberId) ?? ERROR.UNKNOWN_MEMBER_ID
}

export function sync(group: Group, request: SyncRequest, now: Now): Effects {
	const effects = new Effects()
	const answer = (given: SyncAnswer): Effects => {
		effects.syncs.push({ ticket: request.ticket, answer: given })
		return effects
	}
	if (group.state === 'Dead') return answer(failedSync(ERROR.COORDINATOR_NOT_AVAILABLE))
	const member = findMember(group, request.memberId, request.instanceId)
	if (typeof member === 'number') return answer(failedSync(member))
	if (request.generation !== group.generation) return answer(failedSync(ERROR.ILLEGAL_GENERATION))
	const { protocolType, protocolName } = request
	const differs =
		(protocolType !== null && protocolType !== group.protocolType) ||
		(protocolName !== null && protocolName !== group.protocol)
	if (differs) return answer(failedSync(ERROR.INCONSISTENT_GROUP_PROTOCOL))
	if (group.state === 'Empty') return answer(failedSync(ERROR.UNKNOWN_MEMBER_ID))
	if (group.state === 'PreparingRebalance') return answer(failedSync(ERROR.REBALANCE_IN_PROGRESS))
	group.unsynced.delete(member.id)
	if (group.unsynced.size === 0) group.syncDeadlineMs = null
	if (group.state === 'Stable') {
		renewSession(member, now)
		return answer(syncAnswer(group, member))
	}
	if (member.syncTicket !== null) {
		effects.syncs.push({ ticket: member.syncTicket, answer: failedSync(ERROR.UNKNOWN_MEMBER_ID) })
	}
	member.syncTicket = request.ticket
	if (member.id === group.leaderId && !group.isStoring) {
		group.isStoring = true
		effects.store = 'assignment'
		effects.assignments = request.assignments
	}
	return effects
}

function syncAnswer(group: Group, member: Member): SyncAnswer {
	return {
		errorCode: ERROR.NONE,
		protocolType: group.protocolType,
		protocolName: group.protocol,
		assignment: member.assignment,
	}
}

/** The assignment was stored, or could not be (`errorCode` as members get it). Ignored when the group has moved on. */
export function assignmentStored(
	group: Group,
	generation: number,
	assignments: ReadonlyMap<string, Buffer>,
	errorCode: number,
	settings: GroupSettings,
	now: Now,
): Effects {
	const effects = new Effects()
	if (group.state !== 'CompletingRebalance' || group.generation !== generation || !group.isStoring) return effects
	group.isStoring = false
	if (errorCode !== ERROR.NONE) {
		for (const member of group.members.values()) {
			member.assignment = NO_BYTES
			if (member.syncTicket === null) continue
			effects.syncs.push({ ticket: member.syncTicket, answer: failedSync(errorCode) })
			member.syncTicket = null
		}
		maybePrepare(group, settings, now, effects)
		return effects
	}
	for (const member of group.members.values()) {
		member.assignment = assignments.get(member.id) ?? NO_BYTES
		renewSession(member, now)
		if (member.syncTicket === null) continue
		effects.syncs.push({ ticket: member.syncTicket, answer: syncAnswer(group, member) })
		member.syncTicket = null
	}
	transition(group, 'Stable', now)
	return effects
}

/** Error code of a heartbeat (semantics 22.24). */
export function heartbeat(group: Group, claim: MemberClaim, now: Now): number {
	if (group.state === 'Dead') return ERROR.COORDINATOR_NOT_AVAILABLE
	const member = findMember(group, claim.memberId, claim.instanceId)
	if (typeof member === 'number') return member
	if (claim.generation !== group.generation) return ERROR.ILLEGAL_GENERATION
	if (group.state === 'Empty') return ERROR.UNKNOWN_MEMBER_ID
	renewSession(member, now)
	return group.state === 'PreparingRebalance' ? ERROR.REBALANCE_IN_PROGRESS : ERROR.NONE
}

/** Removes one member by its own or an administrator's wish (semantics 22.26). */
export function leave(
	group: Group,
	memberId: string,
	instanceId: string | null,
	settings: GroupSettings,
	now: Now,
): { errorCode: number; effects: Effects } {
	const effects = new Effects()
	if (group.state === 'Dead') return { errorCode: ERROR.COORDINATOR_NOT_AVAILABLE, effects }
	if (group.pending.delete(memberId)) {
		maybeComplete(group, now, effects)
		return { errorCode: ERROR.NONE, effects }
	}
	const id = memberId === '' && instanceId !== null ? (group.staticMembers.get(instanceId) ?? '') : memberId
	const member = findMember(group, id, instanceId)
	if (typeof member === 'number') return { errorCode: member, effects }
	drop(group, member, effects)
	memberGone(group, effects, now, settings)
	return { errorCode: ERROR.NONE, effects }
}

/** Takes a member out; what it waited for is answered as unknown. */
function drop(group: Group, member: Member, effects: Effects): void {
	removeMember(group, member.id)
	if (member.joinTicket !== null) {
		effects.joins.push({ ticket: member.joinTicket, answer: failedJoin(ERROR.UNKNOWN_MEMBER_ID, member.id) })
	}
	if (member.syncTicket !== null) {
		effects.syncs.push({ ticket: member.syncTicket, answer: failedSync(ERROR.UNKNOWN_MEMBER_ID) })
	}
}

const NO_DELAY: GroupSettings = {
	minSessionTimeoutMs: 0,
	maxSessionTimeoutMs: 0,
	initialRebalanceDelayMs: 0,
	maxSize: Number.POSITIVE_INFINITY,
}

export function memberGone(group: Group, effects: Effects, now: Now, settings: GroupSettings = NO_DELAY): void {
	if (group.state === 'Stable' || group.state === 'CompletingRebalance') maybePrepare(group, settings, now, effects)
	else maybeComplete(group, now, effects)
}

/** Carries out every deadline that is over. */
export function expire(group: Group, settings: GroupSettings, now: Now): Effects {
	const effects = new Effects()
	if (group.state === 'Dead') return effects
	for (const [id, atMs] of [...group.pending]) if (atMs <= now.monotonicMs) group.pending.delete(id)
	for (const member of [...group.members.values()]) {
		const waits = member.syncTicket !== null || (member.joinTicket !== null && !member.isNew)
		if (waits || member.expiresAtMs > now.monotonicMs) continue
		drop(group, member, effects)
		memberGone(group, effects, now, settings)
	}
	if (group.syncDeadlineMs !== null && group.syncDeadlineMs <= now.monotonicMs)
		expireSync(group, settings, now, effects)
	maybeComplete(group, now, effects)
	if (group.joinDeadlineMs !== null && group.joinDeadlineMs <= now.monotonicMs)
		expireJoin(group, settings, now, effects)
	return effects
}

/** Members that joined and did not sync in time hold the others up no longer (semantics 22.21). */
function expireSync(group: Group, settings: GroupSettings, now: Now, effects: Effects): void {
	group.syncDeadlineMs = null
	if (group.state !== 'CompletingRebalance' && group.state !== 'Stable') return
	const missing = [...group.members.values()].filter((member) => group.unsynced.has(member.id))
	for (const member of missing) drop(group, member, effects)
	if (missing.length > 0) memberGone(group, effects, now, settings)
}

function expireJoin(group: Group, settings: GroupSettings, now: Now, effects: Effects): void {
	const delay = group.initialDelay
	if (delay?.hasNewMember === true && delay.remainingMs > 0) {
		const moreMs = Math.min(settings.initialRebalanceDelayMs, delay.remainingMs)
		group.joinDeadlineMs = now.monotonicMs + moreMs
		group.initialDelay = { remainingMs: delay.remainingMs - moreMs, hasNewMember: false }
		return
	}
	group.initialDelay = null
	complete(group, now, effects)
}
