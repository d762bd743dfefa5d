/** Committing and reading a group's offsets (semantics 23): the checks, then one batch a request. */

import { ERROR } from '../../protocol/errors.js'
import { type GroupCoordinator, type GroupEntry, storeError } from './coordinator.js'
import { type CommittedOffset, offsetRecord } from './group-records.js'
import { renewSession } from './group-state.js'
import { findMember, type MemberClaim } from './rebalance.js'

export interface OffsetToCommit {
	readonly topic: string
	readonly partition: number
	readonly committed: CommittedOffset
}

/** Why a member (or a committer that is none) may not commit, or 0 (semantics 23.1, 23.2). */
export function mayCommit(coordinator: GroupCoordinator, groupId: string, claim: MemberClaim): number {
	const entry = coordinator.find(groupId)
	if (entry === undefined) return claim.generation < 0 ? ERROR.NONE : ERROR.ILLEGAL_GENERATION
	const { group } = entry
	if (group.state === 'Dead') return ERROR.COORDINATOR_NOT_AVAILABLE
	if (claim.generation < 0 && group.state === 'Empty') return ERROR.NONE
	const hasIdentity = claim.generation >= 0 || claim.memberId !== '' || claim.instanceId !== null
	if (!hasIdentity) return ERROR.UNKNOWN_MEMBER_ID
	const member = findMember(group, claim.memberId, claim.instanceId)
	if (typeof member === 'number') return member
	if (claim.generation !== group.generation) return ERROR.ILLEGAL_GENERATION
	if (group.state === 'CompletingRebalance') return ERROR.REBALANCE_IN_PROGRESS
	renewSession(member, coordinator.now())
	coordinator.arm(entry)
	return ERROR.NONE
}

/** Stores offsets that were checked; resolves with the code for all of them. */
export async function commitOffsets(
	coordinator: GroupCoordinator,
	entry: GroupEntry,
	offsets: readonly OffsetToCommit[],
): Promise<number> {
	if (offsets.length === 0) return ERROR.NONE
	const keys = offsets.map(({ topic, partition }) => `${topic}/${partition}`)
	for (const key of keys) entry.pendingCommits.set(key, (entry.pendingCommits.get(key) ?? 0) + 1)
	const records = offsets.map(({ topic, partition, committed }) =>
		offsetRecord(entry.group.id, topic, partition, committed),
	)
	const code = await coordinator.store(entry, records, 0)
	for (const [i, key] of keys.entries()) {
		const left = (entry.pendingCommits.get(key) ?? 1) - 1
		if (left === 0) entry.pendingCommits.delete(key)
		else entry.pendingCommits.set(key, left)
		if (code === ERROR.NONE) entry.offsets.set(key, (offsets[i] as OffsetToCommit).committed)
	}
	return storeError(code, true)
}

/** True while an offset has a commit or an open transaction under way (semantics 23.8). */
export function isUnstable(entry: GroupEntry, key: string): boolean {
	if (entry.pendingCommits.has(key)) return true
	return [...entry.pendingTxn.values()].some((pending) => pending.has(key))
}
