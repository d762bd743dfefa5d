/**
 * The group coordinator of the partitions of `__consumer_offsets` that this broker leads: holds their groups, gives every
 * event to the state machine (`join.ts`, `rebalance.ts`), stores what it asks for, and answers who waits (semantics 22, 23).
 * Groups are loaded when leadership is gained and dropped when it is lost.
 */

import type { Compression } from '../../base/compression.js'
import { positiveHash } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import { errorText, type Logger } from '../../runtime/logger.js'
import type { Clock, Random, Timer } from '../../runtime/ports.js'
import type { BrokerConfig } from '../config.js'
import type { MetadataCache } from '../metadata/cache.js'
import type { LeadershipListener, ReplicaManager } from '../replica/manager.js'
import type { Partition } from '../replica/partition.js'
import { forgetOffsets, type PartitionName } from './forget-offsets.js'
import { groupRecord, type InternalRecord } from './group-records.js'
import {
	type Effects,
	failedJoin,
	failedSync,
	type Group,
	type GroupSettings,
	type JoinAnswer,
	type Now,
	newGroup,
	nextDeadline,
	type SyncAnswer,
	type Ticket,
} from './group-state.js'
import { type JoinRequest, join } from './join.js'
import { GroupLoader, type LoadedGroup } from './loader.js'
import { appendInternal, replay } from './offsets-log.js'
import { assignmentStored, expire, heartbeat, leave, type MemberClaim, type SyncRequest, sync } from './rebalance.js'

export const OFFSETS_TOPIC = '__consumer_offsets'

export interface CoordinatorParts {
	readonly clock: Clock
	readonly random: Random
	readonly compression: Compression
	readonly log: Logger
	readonly config: BrokerConfig
	readonly replicas: ReplicaManager
	readonly metadata: MetadataCache
}

/** A group with what hangs on it: offsets, its timer, who waits. */
export interface GroupEntry extends LoadedGroup {
	readonly partition: number
	/** Keys whose plain commit is being stored. */
	readonly pendingCommits: Map<string, number>
	timer: Timer | null
}

interface OwnedPartition {
	readonly partition: Partition
	readonly epoch: number
	isLoaded: boolean
}

/** Codes of a failed store as members and committers get them (semantics 22.23, 23.4). */
export function storeError(code: number, forOffsets: boolean): number {
	switch (code) {
		case ERROR.UNKNOWN_TOPIC_OR_PARTITION:
		case ERROR.NOT_ENOUGH_REPLICAS:
		case ERROR.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
			return ERROR.COORDINATOR_NOT_AVAILABLE
		case ERROR.NOT_LEADER_OR_FOLLOWER:
		case ERROR.KAFKA_STORAGE_ERROR:
			return ERROR.NOT_COORDINATOR
		case ERROR.REQUEST_TIMED_OUT:
			return forOffsets ? ERROR.REQUEST_TIMED_OUT : ERROR.REBALANCE_IN_PROGRESS
		case ERROR.MESSAGE_TOO_LARGE:
		case ERROR.RECORD_LIST_TOO_LARGE:
			return forOffsets ? ERROR.INVALID_COMMIT_OFFSET_SIZE : ERROR.UNKNOWN_SERVER_ERROR
		default:
			return code
	}
}

export class GroupCoordinator implements LeadershipListener {
	readonly #parts: CoordinatorParts
	readonly #owned = new Map<number, OwnedPartition>()
	readonly #groups = new Map<string, GroupEntry>()
	readonly #joins = new Map<Ticket, (answer: JoinAnswer) => void>()
	readonly #syncs = new Map<Ticket, (answer: SyncAnswer) => void>()
	#nextTicket = 1
	#isStarted = false

	constructor(parts: CoordinatorParts) {
		this.#parts = parts
	}

	start(): void {
		this.#isStarted = true
	}

	close(): void {
		this.#isStarted = false
		for (const index of [...this.#owned.keys()]) this.#drop(index)
	}

	get settings(): GroupSettings {
		const { config } = this.#parts
		return {
			minSessionTimeoutMs: config.number('group.min.session.timeout.ms'),
			maxSessionTimeoutMs: config.number('group.max.session.timeout.ms'),
			initialRebalanceDelayMs: config.number('group.initial.rebalance.delay.ms'),
			maxSize: config.number('group.max.size'),
		}
	}

	now(): Now {
		const { clock } = this.#parts
		return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }
	}

	/** Partition of the offsets topic that holds a group (semantics 11.13). */
	partitionOf(groupId: string): number {
		const { metadata, config } = this.#parts
		const count = metadata.topic(OFFSETS_TOPIC)?.partitions.size ?? config.number('offsets.topic.num.partitions')
		return positiveHash(groupId) % count
	}

	/** 0, or why this coordinator cannot act for the group now: 24, 15, 14, 16 (semantics 22.1). */
	check(groupId: string, mayBeEmpty: boolean): number {
		if (groupId === '' && !mayBeEmpty) return ERROR.INVALID_GROUP_ID
		if (!this.#isStarted) return ERROR.COORDINATOR_NOT_AVAILABLE
		const owned = this.#owned.get(this.partitionOf(groupId))
		if (owned === undefined) return ERROR.NOT_COORDINATOR
		return owned.isLoaded ? ERROR.NONE : ERROR.COORDINATOR_LOAD_IN_PROGRESS
	}

	/** True while any partition is still loading. */
	get isLoading(): boolean {
		return [...this.#owned.values()].some((owned) => !owned.isLoaded)
	}

	get entries(): IterableIterator<GroupEntry> {
		return this.#groups.values()
	}

	find(groupId: string): GroupEntry | undefined {
		return this.#groups.get(groupId)
	}

	/** The group, made Empty when there is none. */
	findOrMake(groupId: string): GroupEntry {
		let entry = this.#groups.get(groupId)
		if (entry === undefined) {
			entry = this.#entryOf(newGroup(groupId, this.#parts.clock.wallMs()), this.partitionOf(groupId))
			this.#groups.set(groupId, entry)
		}
		return entry
	}

	#entryOf(group: Group, partition: number): GroupEntry {
		return {
			group,
			partition,
			offsets: new Map(),
			pendingTxn: new Map(),
			pendingCommits: new Map(),
			timer: null,
		}
	}

	/** A fresh member id: what the client calls itself, and a random uuid. */
	freshMemberId(prefix: string): string {
		const hex = this.#parts.random.bytes(16).toString('hex')
		return `${prefix}-${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
	}

	join(groupId: string, request: Omit<JoinRequest, 'ticket'>): Promise<JoinAnswer> {
		const entry = this.#groups.get(groupId)
		if (entry === undefined && request.memberId !== '') {
			return Promise.resolve(failedJoin(ERROR.UNKNOWN_MEMBER_ID, request.memberId))
		}
		const target = entry ?? this.findOrMake(groupId)
		const ticket = this.#nextTicket++
		return new Promise((resolve) => {
			this.#joins.set(ticket, resolve)
			this.#carryOut(target, join(target.group, { ...request, ticket }, this.settings, this.now()))
		})
	}

	sync(groupId: string, request: Omit<SyncRequest, 'ticket'>): Promise<SyncAnswer> {
		const entry = this.#groups.get(groupId)
		if (entry === undefined) return Promise.resolve(failedSync(ERROR.UNKNOWN_MEMBER_ID))
		const ticket = this.#nextTicket++
		return new Promise((resolve) => {
			this.#syncs.set(ticket, resolve)
			this.#carryOut(entry, sync(entry.group, { ...request, ticket }, this.now()))
		})
	}

	heartbeat(groupId: string, claim: MemberClaim): number {
		const entry = this.#groups.get(groupId)
		if (entry === undefined) return ERROR.UNKNOWN_MEMBER_ID
		const code = heartbeat(entry.group, claim, this.now())
		this.arm(entry)
		return code
	}

	leave(groupId: string, memberId: string, instanceId: string | null): number {
		const entry = this.#groups.get(groupId)
		if (entry === undefined) return ERROR.UNKNOWN_MEMBER_ID
		const { errorCode, effects } = leave(entry.group, memberId, instanceId, this.settings, this.now())
		this.#carryOut(entry, effects)
		return errorCode
	}

	/** Stores records of a group's partition; the code as the log gave it. */
	async store(entry: GroupEntry, records: readonly InternalRecord[], baseSequence: number): Promise<number> {
		const owned = this.#owned.get(entry.partition)
		if (owned === undefined) return ERROR.NOT_LEADER_OR_FOLLOWER
		const timeoutMs = this.#parts.config.number('offsets.commit.timeout.ms')
		const wallMs = this.#parts.clock.wallMs()
		return await appendInternal(this.#parts.replicas, owned.partition, records, wallMs, baseSequence, timeoutMs)
	}

	#carryOut(entry: GroupEntry, effects: Effects): void {
		for (const { ticket, answer } of effects.joins) {
			this.#joins.get(ticket)?.(answer)
			this.#joins.delete(ticket)
		}
		for (const { ticket, answer } of effects.syncs) {
			this.#syncs.get(ticket)?.(answer)
			this.#syncs.delete(ticket)
		}
		if (effects.store !== null) void this.#storeGroup(entry, effects)
		this.arm(entry)
	}

	async #storeGroup(entry: GroupEntry, effects: Effects): Promise<void> {
		const { group } = entry
		const generation = group.generation
		const assignments = effects.store === 'assignment' ? (effects.assignments ?? new Map<string, Buffer>()) : null
		const code = await this.store(entry, [groupRecord(group, assignments)], -1)
		if (code !== ERROR.NONE) this.#parts.log.warn('group was not stored', { group: group.id, generation, code })
		if (assignments === null) return
		const stored = storeError(code, false)
		this.#carryOut(entry, assignmentStored(group, generation, assignments, stored, this.settings, this.now()))
	}

	/** One timer a group, for its next deadline. */
	arm(entry: GroupEntry): void {
		entry.timer?.cancel()
		entry.timer = null
		const next = nextDeadline(entry.group)
		if (next === null || this.#groups.get(entry.group.id) !== entry) return
		entry.timer = this.#parts.clock.after(Math.max(0, next - this.#parts.clock.monotonicMs()), () => {
			this.#carryOut(entry, expire(entry.group, this.settings, this.now()))
		})
	}

	gained(partition: Partition): void {
		if (partition.topic !== OFFSETS_TOPIC) return
		const known = this.#owned.get(partition.partition)
		if (known !== undefined && known.epoch >= partition.leaderEpoch) return
		this.#drop(partition.partition)
		const owned: OwnedPartition = { partition, epoch: partition.leaderEpoch, isLoaded: false }
		this.#owned.set(partition.partition, owned)
		void this.#load(owned)
	}

	lost(topic: string, partition: number): void {
		if (topic === OFFSETS_TOPIC) this.#drop(partition)
	}

	gone(partitions: readonly PartitionName[]): void {
		void forgetOffsets(this, partitions)
	}

	/** Lets a group go that nothing is left of. */
	remove(entry: GroupEntry): void {
		entry.timer?.cancel()
		entry.group.state = 'Dead'
		if (this.#groups.get(entry.group.id) === entry) this.#groups.delete(entry.group.id)
	}

	/** Stores tombstones; a failure is told, and a later one clears what stayed. */
	async storeTombstones(entry: GroupEntry, records: readonly InternalRecord[]): Promise<void> {
		const code = await this.store(entry, records, -1)
		if (code !== ERROR.NONE) this.#parts.log.warn('tombstones were not stored', { group: entry.group.id, code })
	}

	/** Forgets a partition's groups; those that wait are sent to look for the new coordinator (semantics 22.34). */
	#drop(index: number): void {
		this.#owned.delete(index)
		for (const [id, entry] of [...this.#groups]) {
			if (entry.partition !== index) continue
			entry.timer?.cancel()
			this.#groups.delete(id)
			for (const member of entry.group.members.values()) {
				if (member.joinTicket !== null)
					this.#joins.get(member.joinTicket)?.(failedJoin(ERROR.NOT_COORDINATOR, member.id))
				if (member.syncTicket !== null) this.#syncs.get(member.syncTicket)?.(failedSync(ERROR.NOT_COORDINATOR))
			}
		}
	}

	async #load(owned: OwnedPartition): Promise<void> {
		const { partition } = owned
		const loader = new GroupLoader()
		const isCurrent = (): boolean => this.#owned.get(partition.partition) === owned
		try {
			await replay(partition, this.#parts.compression, loader, isCurrent)
		} catch (error) {
			// The partition stays "loading": clients come back, and a new leadership tries again.
			this.#parts.log.error('groups were not loaded', { partition: partition.partition, reason: errorText(error) })
			return
		}
		if (!isCurrent()) return
		for (const { group, offsets, pendingTxn } of loader.result(this.now())) {
			const entry = this.#entryOf(group, partition.partition)
			for (const [key, committed] of offsets) entry.offsets.set(key, committed)
			for (const [producer, pending] of pendingTxn) entry.pendingTxn.set(producer, pending)
			this.#groups.set(group.id, entry)
			this.arm(entry)
		}
		owned.isLoaded = true
	}
}
