/**
 * A member of a consumer group (the classic protocol, eager): it joins, gets partitions, beats in the background also
 * while its owner works, and joins anew when the group changes.
 *
 * | state     | comes from            | what happens                                                       |
 * |-----------|-----------------------|--------------------------------------------------------------------|
 * | outside   | start                 | no member id yet                                                   |
 * | joining   | outside, stable       | JoinGroup and SyncGroup in flight; no heartbeats                    |
 * | stable    | joining               | partitions are the owner's; heartbeats                             |
 * | leaving   | any                   | LeaveGroup once, then nothing                                      |
 *
 * The owner is told `onAssigned` and, before a next join, `onRevoked` (still a member: it may commit) or `onLost` (no
 * member any more: it may not).
 */

import { decodeData, encodeData } from '../protocol/compile.js'
import { ERROR } from '../protocol/errors.js'
import { heartbeat, joinGroup, leaveGroup, syncGroup } from '../protocol/messages/group.js'
import { consumerProtocolAssignment, consumerProtocolSubscription } from '../protocol/messages/internal.js'
import type { Decoded, Family } from '../protocol/schema.js'
import type { Timer } from '../runtime/ports.js'
import { ASSIGNORS, type GroupMemberTopics } from './assignors.js'
import type { Cluster } from './cluster.js'
import { BrokerError, ConnectionError } from './errors.js'
import { commitOffsets, type PartitionOffset } from './group-offsets.js'

export interface GroupMemberSettings {
	readonly groupId: string
	readonly topics: readonly string[]
	readonly instanceId: string | null
	readonly sessionTimeoutMs: number
	readonly rebalanceTimeoutMs: number
	readonly heartbeatMs: number
}

export const GROUP_DEFAULTS = {
	instanceId: null,
	sessionTimeoutMs: 45_000,
	rebalanceTimeoutMs: 60_000,
	heartbeatMs: 3000,
}

export interface GroupPartition {
	readonly topic: string
	readonly partition: number
}

/** What the owner does; heartbeats go on while a promise of its is open. A rejection ends the membership. */
export interface GroupEvents {
	onAssigned(partitions: readonly GroupPartition[]): Promise<void>
	onRevoked(partitions: readonly GroupPartition[]): Promise<void>
	/** The group has gone on without us. */
	onLost(partitions: readonly GroupPartition[]): Promise<void>
	/** It cannot go on. */
	onFailure(error: Error): void
}

type JoinAnswer = Decoded<typeof joinGroup.response>

/** Our place is lost: join anew as somebody new. */
const LOST: ReadonlySet<number> = new Set([ERROR.UNKNOWN_MEMBER_ID, ERROR.ILLEGAL_GENERATION])

export class GroupMember {
	readonly #cluster: Cluster
	readonly #settings: GroupMemberSettings
	readonly #events: GroupEvents
	#memberId = ''
	#generationId = -1
	#partitions: GroupPartition[] = []
	#isClosed = false
	#loop: Promise<void> = Promise.resolve()
	#beatTimer: Timer | null = null
	#rejoin: 'no' | 'rebalance' | 'lost' = 'no'
	#wake: (() => void) | null = null

	constructor(cluster: Cluster, settings: GroupMemberSettings, events: GroupEvents) {
		this.#cluster = cluster
		this.#settings = settings
		this.#events = events
	}

	get memberId(): string {
		return this.#memberId
	}

	get generationId(): number {
		return this.#generationId
	}

	/** Begins; what comes of it is told by the events. */
	start(): void {
		this.#loop = this.#run().catch((error: unknown) => {
			this.#stopBeating()
			if (!this.#isClosed) this.#events.onFailure(error as Error)
		})
	}

	/** Commits as this member. Rejects when it is none any more. */
	async commit(offsets: readonly PartitionOffset[]): Promise<void> {
		await commitOffsets(this.#cluster, this.#settings.groupId, this.#identity(), offsets)
	}

	/** Leaves, so that the others need not wait for the session to expire. A static member's place is kept. */
	async leave(): Promise<void> {
		if (this.#isClosed) return
		this.#isClosed = true
		this.#stopBeating()
		this.#wake?.()
		const { groupId, instanceId } = this.#settings
		if (this.#memberId !== '' && instanceId === null) {
			try {
				const connection = await this.#coordinator()
				const version = connection.versionOf(leaveGroup as unknown as Family)
				const memberId = this.#memberId
				await connection.send(
					leaveGroup,
					version,
					version >= 3
						? { groupId, members: [{ memberId, ...(version >= 5 ? { reason: 'the consumer is done' } : {}) }] }
						: { groupId, memberId, members: [] },
				)
			} catch (error) {
				// The session will expire instead; nothing that was committed is lost by it.
				if (!(error instanceof ConnectionError) && !(error instanceof BrokerError)) throw error
			}
		}
	}

	/** Settles when no event can come any more. After {@link leave}. */
	async ended(): Promise<void> {
		await this.#loop
	}

	async #run(): Promise<void> {
		while (!this.#isClosed) {
			this.#rejoin = 'no'
			const partitions = await this.#cluster.retry(`join ${this.#settings.groupId}`, () => this.#join(), JOIN_MS)
			if (partitions === null || this.#isClosed) continue
			this.#partitions = partitions
			this.#beatSoon()
			await this.#events.onAssigned(partitions)
			await this.#needsRejoin()
			if (this.#isClosed) return
			const owned = this.#partitions
			// `#rejoin` may turn from 'rebalance' to 'lost' while the owner commits: its commit then fails and it is told so.
			if (this.#hasLost()) await this.#events.onLost(owned)
			else await this.#events.onRevoked(owned)
			this.#stopBeating()
			if (this.#hasLost()) this.#forget()
			this.#partitions = []
		}
	}

	#hasLost(): boolean {
		return this.#rejoin === 'lost'
	}

	#forget(): void {
		this.#memberId = ''
		this.#generationId = -1
	}

	#needsRejoin(): Promise<void> {
		if (this.#rejoin !== 'no' || this.#isClosed) return Promise.resolve()
		return new Promise((resolve) => {
			this.#wake = resolve
		})
	}

	async #coordinator() {
		return await this.#cluster.broker(await this.#cluster.coordinatorOf(this.#settings.groupId))
	}

	/** One join and sync; null: the group changed meanwhile, once more. Rejects with BrokerError; retriable ones are retried. */
	async #join(): Promise<GroupPartition[] | null> {
		const { groupId, topics, instanceId, sessionTimeoutMs, rebalanceTimeoutMs } = this.#settings
		const connection = await this.#coordinator()
		const version = connection.versionOf(joinGroup as unknown as Family)
		const metadata = encodeData(consumerProtocolSubscription, 1, { topics: [...topics] })
		const answer = await connection.send(
			joinGroup,
			version,
			{
				groupId,
				sessionTimeoutMs,
				rebalanceTimeoutMs,
				memberId: this.#memberId,
				...(version >= 5 ? { groupInstanceId: instanceId } : {}),
				protocolType: 'consumer',
				protocols: [...ASSIGNORS.keys()].map((name) => ({ name, metadata })),
			},
			version === 0 ? sessionTimeoutMs : rebalanceTimeoutMs,
		)
		if (answer.errorCode === ERROR.MEMBER_ID_REQUIRED) {
			this.#memberId = answer.memberId
			return null
		}
		if (this.#isOutdated(answer.errorCode)) return null
		if (answer.errorCode !== ERROR.NONE) throw new BrokerError(answer.errorCode, `JoinGroup ${groupId}`)
		this.#memberId = answer.memberId
		this.#generationId = answer.generationId
		return await this.#sync(answer)
	}

	async #sync(joined: JoinAnswer): Promise<GroupPartition[] | null> {
		const { groupId, instanceId, rebalanceTimeoutMs } = this.#settings
		const isLeader = joined.leader === joined.memberId && !joined.skipAssignment
		const assignments = isLeader ? await this.#assign(joined) : []
		const connection = await this.#coordinator()
		const version = connection.versionOf(syncGroup as unknown as Family)
		const answer = await connection.send(
			syncGroup,
			version,
			{
				groupId,
				generationId: joined.generationId,
				memberId: joined.memberId,
				...(version >= 3 ? { groupInstanceId: instanceId } : {}),
				protocolType: 'consumer',
				protocolName: joined.protocolName,
				assignments,
			},
			rebalanceTimeoutMs,
		)
		if (this.#isOutdated(answer.errorCode)) return null
		if (answer.errorCode !== ERROR.NONE) throw new BrokerError(answer.errorCode, `SyncGroup ${groupId}`)
		if (answer.assignment.length === 0) return []
		const { assignedPartitions } = decodeData(consumerProtocolAssignment, answer.assignment).message
		return assignedPartitions.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })))
	}

	/** The leader's work: all members' topics, their partition counts, the assignor that the coordinator chose. */
	async #assign(joined: JoinAnswer): Promise<{ memberId: string; assignment: Buffer }[]> {
		const members: GroupMemberTopics[] = joined.members.map(({ memberId, groupInstanceId, metadata }) => ({
			memberId,
			instanceId: groupInstanceId,
			topics: decodeData(consumerProtocolSubscription, metadata).message.topics,
		}))
		const names = [...new Set(members.flatMap(({ topics }) => topics))]
		const { topics } = await this.#cluster.refresh(names)
		const counts = new Map(topics.map(({ name, partitions }) => [name as string, partitions.length]))
		const assign = ASSIGNORS.get(joined.protocolName ?? '')
		if (assign === undefined)
			throw new BrokerError(ERROR.INCONSISTENT_GROUP_PROTOCOL, `assign by ${joined.protocolName}`)
		return [...assign(members, counts)].map(([memberId, theirs]) => ({
			memberId,
			assignment: encodeData(consumerProtocolAssignment, 1, {
				assignedPartitions: [...theirs].map(([topic, partitions]) => ({ topic, partitions })),
			}),
		}))
	}

	/** True when the code says that we only have to join once more. */
	#isOutdated(code: number): boolean {
		if (LOST.has(code)) this.#forget()
		return LOST.has(code) || code === ERROR.REBALANCE_IN_PROGRESS
	}

	#identity() {
		const { instanceId } = this.#settings
		return { generationId: this.#generationId, memberId: this.#memberId, instanceId }
	}

	#beatSoon(): void {
		this.#stopBeating()
		if (this.#isClosed) return
		this.#beatTimer = this.#cluster.runtime.clock.after(this.#settings.heartbeatMs, () => void this.#beat())
	}

	#stopBeating(): void {
		this.#beatTimer?.cancel()
		this.#beatTimer = null
	}

	async #beat(): Promise<void> {
		const timer = this.#beatTimer
		const { groupId, instanceId } = this.#settings
		const generationId = this.#generationId
		let code: number
		try {
			const connection = await this.#coordinator()
			const version = connection.versionOf(heartbeat as unknown as Family)
			const answer = await connection.send(heartbeat, version, {
				groupId,
				generationId,
				memberId: this.#memberId,
				...(version >= 3 ? { groupInstanceId: instanceId } : {}),
			})
			code = answer.errorCode
		} catch (error) {
			if (!(error instanceof ConnectionError) && !(error instanceof BrokerError)) throw error
			// The coordinator is away: the session lives on until it expires, and the next beat asks for the new one.
			code = ERROR.NOT_COORDINATOR
		}
		if (code === ERROR.NOT_COORDINATOR || code === ERROR.COORDINATOR_NOT_AVAILABLE) this.#cluster.forgetCoordinators()
		if (this.#isClosed || this.#generationId !== generationId || this.#beatTimer !== timer) return
		if (code === ERROR.REBALANCE_IN_PROGRESS) this.#ask('rebalance')
		else if (LOST.has(code)) this.#ask('lost')
		else if (code !== ERROR.NONE && !new BrokerError(code, '').retriable) {
			this.#events.onFailure(new BrokerError(code, `Heartbeat ${groupId}`))
			return
		}
		this.#beatSoon()
	}

	#ask(what: 'rebalance' | 'lost'): void {
		if (this.#rejoin !== 'lost') this.#rejoin = what
		this.#wake?.()
		this.#wake = null
	}
}

/** How long a join is tried while coordinators move and load. */
const JOIN_MS = 300_000
