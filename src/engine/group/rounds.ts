/**
 * The rounds of a rebalance: when one is begun, and how it ends with a new generation (semantics 22.16–22.18). Used by the
 * events of a group (`join.ts`, `rebalance.ts`).
 */

import { ERROR } from '../../protocol/errors.js'
import {
	chooseProtocol,
	type Effects,
	failedSync,
	type Group,
	type GroupSettings,
	joinAnswer,
	type Member,
	type Now,
	removeMember,
	renewSession,
	type Ticket,
	transition,
} from './group-state.js'

/** Starts a rebalance unless one runs; completes it when nobody is missing (semantics 22.16). */
export function maybePrepare(group: Group, settings: GroupSettings, now: Now, effects: Effects): void {
	if (group.state !== 'PreparingRebalance') prepare(group, settings, now, effects)
	maybeComplete(group, now, effects)
}

export function prepare(group: Group, settings: GroupSettings, now: Now, effects: Effects): void {
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

export function maybeComplete(group: Group, now: Now, effects: Effects): void {
	if (group.state !== 'PreparingRebalance' || group.initialDelay !== null) return
	if (group.pending.size > 0) return
	for (const member of group.members.values()) if (member.joinTicket === null) return
	complete(group, now, effects)
}

/** All who will come have joined: new generation, answers to all (semantics 22.18). */
export function complete(group: Group, now: Now, effects: Effects): void {
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
