/**
 * The events of a group: join, sync, heartbeat, leave, deadlines (semantics 22.4–22.27). Each changes the group at once
 * and collects its effects; none waits.
 */

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
	type SyncAnswer,
	supports,
	type Ticket,
	transition,
} from './group-state.js'

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

/** Starts a rebalance unless one runs; completes it when nobody is missing (semantics 22.16). */
function maybePrepare(group: Group, settings: GroupSettings, now: Now, effects: Effects): void {
	if (group.state !== 'PreparingRebalance') prepare(group, settings, now, effects)
	maybeComplete(group, now, effects)
}

function prepare(group: Group, settings: GroupSettings, now: Now, effects: Effects): void {
	for (const member of group.members.values()) {
		if (member.syncTicket === null) continue
		effects.syncs.push({ ticket: member.syncTicket, answer: failedSync(ERROR.REBALANCE_IN_PROGRESS) })
		member.syncTicket = null
	}
	group.syncDeadlineMs = null
	group.unsynced.clear()
	group.isStoring = false
	const wasEmpty = group.state === 'Empty'
	transition(group, 'PreparingRebalance', now)
	const longestMs = Math.max(0, ...[...group.members.values()].map((member) => member.rebalanceTimeoutMs))
	if (wasEmpty && settings.initialRebalanceDelayMs > 0) {
		const delayMs = Math.min(settings.initialRebalanceDelayMs, longestMs)
		group.initialDelay = { remainingMs: longestMs - delayMs, hasNewMember: false }
		group.joinDeadlineMs = now.monotonicMs + delayMs
	} else {
		group.initialDelay = null
		group.joinDeadlineMs = now.monotonicMs + longestMs
	}
}

function maybeComplete(group: Group, now: Now, effects: Effects): void {
	if (group.state !== 'PreparingRebalance' || group.initialDelay !== null) return
	if (group.pending.size > 0) return
	for (const member of group.members.values()) if (member.joinTicket === null) return
	complete(group, now, effects)
}

/** All who will come have joined: new generation, answers to all (semantics 22.18). */
function complete(group: Group, now: Now, effects: Effects): void {
	for (const member of [...group.members.values()]) {
		if (member.joinTicket === null && member.instanceId === null) removeMember(group, member.id)
	}
	const joined = [...group.members.values()].filter((member) => member.joinTicket !== null)
	if (joined.length === 0 && group.members.size > 0) {
		const longestMs = Math.max(...[...group.members.values()].map((member) => member.rebalanceTimeoutMs))
		group.joinDeadlineMs = now.monotonicMs + longestMs
		return
	}
	group.joinDeadlineMs = null
	group.initialDelay = null
	group.generation++
	if (group.members.size === 0) {
		transition(group, 'Empty', now)
		group.protocol = null
		group.leaderId = null
		effects.store = 'empty'
		return
	}
	if (group.members.get(group.leaderId ?? '')?.joinTicket === null) group.leaderId = (joined[0] as Member).id
	group.protocol = chooseProtocol(group)
	transition(group, 'CompletingRebalance', now)
	const longestMs = Math.max(...[...group.members.values()].map((member) => member.rebalanceTimeoutMs))
	group.syncDeadlineMs = now.monotonicMs + longestMs
	group.unsynced = new Set(group.members.keys())
	for (const member of joined) {
		effects.joins.push({ ticket: member.joinTicket as Ticket, answer: joinAnswer(group, member) })
		member.joinTicket = null
		member.isNew = false
	}
	for (const member of group.members.values()) renewSession(member, now)
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

function memberGone(group: Group, effects: Effects, now: Now, settings: GroupSettings = NO_DELAY): void {
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
