/**
 * A consumer group under the classic protocol, as a state machine without effects (semantics 22). The coordinator feeds
 * it requests and the time; it changes the group and collects what is to be done: replies, and records to store.
 *
 * | state               | legal previous states                    | meaning                                        |
 * |---------------------|------------------------------------------|------------------------------------------------|
 * | Empty               | PreparingRebalance                       | no members; offsets may be kept                |
 * | PreparingRebalance  | Stable, CompletingRebalance, Empty       | members are joining                            |
 * | CompletingRebalance | PreparingRebalance                       | all have joined, the leader's assignment is due |
 * | Stable              | CompletingRebalance                      | every member has its share                     |
 * | Dead                | all                                      | gone                                           |
 *
 * Every wait has its own deadline in the group; `nextDeadline` says when `expire` must be called.
 */

import { assert } from '../../base/assert.js'

export type GroupStateName = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable' | 'Dead'

const LEGAL_BEFORE: Readonly<Record<GroupStateName, readonly GroupStateName[]>> = {
	Empty: ['PreparingRebalance'],
	PreparingRebalance: ['Stable', 'CompletingRebalance', 'Empty'],
	CompletingRebalance: ['PreparingRebalance'],
	Stable: ['CompletingRebalance'],
	Dead: ['Empty', 'PreparingRebalance', 'CompletingRebalance', 'Stable', 'Dead'],
}

export interface MemberProtocol {
	readonly name: string
	readonly metadata: Buffer
}

/** Stands for a request that waits for its answer; the coordinator knows which. */
export type Ticket = number

export interface Member {
	id: string
	readonly instanceId: string | null
	clientId: string
	clientHost: string
	sessionTimeoutMs: number
	rebalanceTimeoutMs: number
	protocols: readonly MemberProtocol[]
	assignment: Buffer
	/** Its JoinGroup that waits; null when none does. */
	joinTicket: Ticket | null
	syncTicket: Ticket | null
	/** Has not been through a whole rebalance: its first wait has its own bound. */
	isNew: boolean
	/** Monotonic ms at which it is given up, unless it waits in join or sync. */
	expiresAtMs: number
}

export interface Group {
	readonly id: string
	state: GroupStateName
	generation: number
	protocolType: string | null
	protocol: string | null
	leaderId: string | null
	readonly members: Map<string, Member>
	/** Member id by instance id. */
	readonly staticMembers: Map<string, string>
	/** Ids given out by MEMBER_ID_REQUIRED that did not come back yet → monotonic ms at which they are given up. */
	readonly pending: Map<string, number>
	/** Wall-clock ms of the last change of state, -1 unknown. */
	stateSinceMs: number
	/** Monotonic ms at which a rebalance completes with those who are there; null outside one. */
	joinDeadlineMs: number | null
	/** While an empty group waits for more members: how much longer it may be extended, and whether any came. */
	initialDelay: { remainingMs: number; hasNewMember: boolean } | null
	/** Monotonic ms at which members that did not sync are removed; null when all have. */
	syncDeadlineMs: number | null
	/** Members of this generation that have not sent SyncGroup yet. */
	unsynced: Set<string>
	/** An assignment is being stored: syncs wait for it. */
	isStoring: boolean
}

export function newGroup(id: string, wallMs: number): Group {
	return {
		id,
		state: 'Empty',
		generation: 0,
		protocolType: null,
		protocol: null,
		leaderId: null,
		members: new Map(),
		staticMembers: new Map(),
		pending: new Map(),
		stateSinceMs: wallMs,
		joinDeadlineMs: null,
		initialDelay: null,
		syncDeadlineMs: null,
		unsynced: new Set(),
		isStoring: false,
	}
}

export interface GroupSettings {
	readonly minSessionTimeoutMs: number
	readonly maxSessionTimeoutMs: number
	readonly initialRebalanceDelayMs: number
	readonly maxSize: number
}

/** The time of an event, in both clocks. */
export interface Now {
	readonly monotonicMs: number
	readonly wallMs: number
}

export interface JoinAnswer {
	readonly errorCode: number
	readonly generationId: number
	readonly protocolType: string | null
	readonly protocolName: string | null
	readonly leader: string
	readonly skipAssignment: boolean
	readonly memberId: string
	readonly members: readonly {
		readonly memberId: string
		readonly groupInstanceId: string | null
		readonly metadata: Buffer
	}[]
}

export interface SyncAnswer {
	readonly errorCode: number
	readonly protocolType: string | null
	readonly protocolName: string | null
	readonly assignment: Buffer
}

/** What an event leads to. */
export class Effects {
	readonly joins: { readonly ticket: Ticket; readonly answer: JoinAnswer }[] = []
	readonly syncs: { readonly ticket: Ticket; readonly answer: SyncAnswer }[] = []
	/** The group's metadata is to be stored; `then` says what follows when it is (or could not be). */
	store: 'empty' | 'assignment' | 'replacement' | null = null
	/** Assignments to take over when stored (with `assignment`). */
	assignments: ReadonlyMap<string, Buffer> | null = null
}

export const NO_BYTES = Buffer.alloc(0)

/** Wait of a member's first join (Kafka's NewMemberJoinTimeout). */
export const NEW_MEMBER_JOIN_MS = 5 * 60 * 1000

export function transition(group: Group, to: GroupStateName, now: Now): void {
	assert(LEGAL_BEFORE[to].includes(group.state), `group ${group.id}: ${group.state} cannot become ${to}`)
	group.state = to
	group.stateSinceMs = now.wallMs
}

export function failedJoin(errorCode: number, memberId: string): JoinAnswer {
	return {
		errorCode,
		generationId: -1,
		protocolType: null,
		protocolName: null,
		leader: '',
		skipAssignment: false,
		memberId,
		members: [],
	}
}

export function failedSync(errorCode: number): SyncAnswer {
	return { errorCode, protocolType: null, protocolName: null, assignment: NO_BYTES }
}

/** Names that every member supports. */
function commonProtocols(group: Group): string[] {
	let common: string[] | null = null
	for (const member of group.members.values()) {
		const names = member.protocols.map((protocol) => protocol.name)
		common = common === null ? names : common.filter((name) => names.includes(name))
	}
	return common ?? []
}

/** True when a member with these protocols fits the group (semantics 22.7). */
export function supports(group: Group, protocolType: string, names: readonly string[]): boolean {
	if (group.members.size === 0) return protocolType !== '' && names.length > 0
	if (group.protocolType !== protocolType) return false
	const common = commonProtocols(group)
	return names.some((name) => common.includes(name))
}

/** Each member votes for its first common protocol; most votes win, the earlier name on a tie (semantics 22.19). */
export function chooseProtocol(group: Group): string {
	const common = commonProtocols(group)
	const votes = new Map<string, number>()
	for (const member of group.members.values()) {
		const vote = member.protocols.find((protocol) => common.includes(protocol.name))?.name
		if (vote !== undefined) votes.set(vote, (votes.get(vote) ?? 0) + 1)
	}
	let best = common[0] ?? ''
	for (const name of common) if ((votes.get(name) ?? 0) > (votes.get(best) ?? 0)) best = name
	return best
}

export function metadataOf(member: Member, protocol: string | null): Buffer {
	return member.protocols.find((each) => each.name === protocol)?.metadata ?? NO_BYTES
}

/** True when the lists differ in order, name or bytes (semantics 22.13). */
export function protocolsDiffer(a: readonly MemberProtocol[], b: readonly MemberProtocol[]): boolean {
	if (a.length !== b.length) return true
	return a.some((each, i) => each.name !== b[i]?.name || !each.metadata.equals((b[i] as MemberProtocol).metadata))
}

/** The answer to a joined member in the group's present generation. Only the leader gets the member list. */
export function joinAnswer(group: Group, member: Member): JoinAnswer {
	const isLeader = group.leaderId === member.id
	return {
		errorCode: 0,
		generationId: group.generation,
		protocolType: group.protocolType,
		protocolName: group.protocol,
		leader: group.leaderId ?? '',
		skipAssignment: false,
		memberId: member.id,
		members: isLeader ? memberList(group) : [],
	}
}

export function memberList(group: Group): JoinAnswer['members'] {
	return [...group.members.values()].map((each) => ({
		memberId: each.id,
		groupInstanceId: each.instanceId,
		metadata: metadataOf(each, group.protocol),
	}))
}

export function addMember(group: Group, member: Member, protocolType: string): void {
	if (group.members.size === 0) group.protocolType = protocolType
	group.members.set(member.id, member)
	if (member.instanceId !== null) group.staticMembers.set(member.instanceId, member.id)
	group.leaderId ??= member.id
	group.pending.delete(member.id)
}

export function removeMember(group: Group, id: string): Member | undefined {
	const member = group.members.get(id)
	if (member === undefined) return undefined
	group.members.delete(id)
	if (member.instanceId !== null && group.staticMembers.get(member.instanceId) === id) {
		group.staticMembers.delete(member.instanceId)
	}
	group.unsynced.delete(id)
	if (group.leaderId === id) group.leaderId = group.members.keys().next().value ?? null
	return member
}

export function renewSession(member: Member, now: Now): void {
	member.expiresAtMs = now.monotonicMs + member.sessionTimeoutMs
}

/** Monotonic ms of the next deadline of any kind; null when there is none. */
export function nextDeadline(group: Group): number | null {
	let next = Number.POSITIVE_INFINITY
	if (group.joinDeadlineMs !== null) next = Math.min(next, group.joinDeadlineMs)
	if (group.syncDeadlineMs !== null) next = Math.min(next, group.syncDeadlineMs)
	for (const atMs of group.pending.values()) next = Math.min(next, atMs)
	for (const member of group.members.values()) {
		const waits = member.syncTicket !== null || (member.joinTicket !== null && !member.isNew)
		if (!waits) next = Math.min(next, member.expiresAtMs)
	}
	return next === Number.POSITIVE_INFINITY ? null : next
}
