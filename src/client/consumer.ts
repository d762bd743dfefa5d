/**
 * Reads assigned partitions: one fetch a leader in flight, the next one sent while the caller reads the last, bounded by
 * bytes. Sessionless, by names (Fetch 4 to 12), so that every Kafka from 0.11 to 4.x answers. Knows nothing of groups:
 * `group-member.ts` does.
 */

import { ERROR, errorInfo } from '../protocol/errors.js'
import { fetch } from '../protocol/messages/fetch.js'
import type { Decoded, Family } from '../protocol/schema.js'
import { Admin } from './admin.js'
import type { Cluster } from './cluster.js'
import type { Assignment, ConsumerSettings, OffsetReset } from './consumer-settings.js'
import { BrokerError, ConnectionError, UnsupportedError } from './errors.js'
import { endOfBatches, Fetched } from './fetched.js'
import { WakeTimer } from './wake-timer.js'

interface Position {
	readonly topic: string
	readonly partition: number
	/** Of the next fetch. */
	offset: number
	bytesMax: number
	/** Replica that the leader names for our rack (KIP-392); -1: the leader itself. */
	replica: number
	/** The leader is asked again then. */
	replicaUntilMs: number
	/** Answers that the caller has not taken. */
	buffered: number
	isBusy: boolean
	isPaused: boolean
	retryAtMs: number
	attempts: number
	/** Since when the brokers do not know it; -1 they do. */
	missingSinceMs: number
	isGone: boolean
}

type FetchAnswer = Decoded<typeof fetch.response>['responses'][number]['partitions'][number]

/** Answers a partition may have waiting for the caller. */
const ANSWERS_MAX = 2
/** Its own connections: see `Cluster.broker`. */
const FETCH_LANE = ' fetch'
/** A replica is read from so long before the leader is asked again, as Java's consumer does (metadata.max.age.ms). */
const REPLICA_MS = 300_000
const FETCH_VERSION_MAX = 12
const FETCH_VERSION_MIN = 4

export class Consumer {
	readonly #cluster: Cluster
	readonly #settings: ConsumerSettings
	readonly #admin: Admin
	readonly #positions = new Map<string, Position>()
	readonly #ready: { event: Fetched | OffsetReset; bytes: number; position: Position }[] = []
	readonly #busyLeaders = new Set<number>()
	#bufferedBytes = 0
	#failure: Error | null = null
	#waiter: (() => void) | null = null
	readonly #timer: WakeTimer
	#isWoken = false
	#isRefreshing = false
	#isClosed = false
	/** Since when no broker answers; -1: they do. */
	#troubleSinceMs = -1

	constructor(cluster: Cluster, settings: ConsumerSettings) {
		this.#cluster = cluster
		this.#settings = settings
		this.#admin = new Admin(cluster)
		this.#timer = new WakeTimer(cluster.runtime.clock, () => this.#pump())
	}

	/** Adds partitions, each to be read from its offset. One that is assigned already starts anew there. */
	assign(assignments: readonly Assignment[]): void {
		for (const { topic, partition, offset } of assignments) {
			const key = `${topic}-${partition}`
			this.#drop(key)
			this.#positions.set(key, {
				topic,
				partition,
				offset,
				bytesMax: this.#settings.partitionBytesMax,
				replica: -1,
				replicaUntilMs: 0,
				buffered: 0,
				isBusy: false,
				isPaused: false,
				retryAtMs: 0,
				attempts: 0,
				missingSinceMs: -1,
				isGone: false,
			})
		}
		this.#pump()
	}

	/** Takes partitions away; what was fetched of them and not taken is dropped. */
	unassign(partitions: readonly { readonly topic: string; readonly partition: number }[]): void {
		for (const { topic, partition } of partitions) this.#drop(`${topic}-${partition}`)
	}

	pause(topic: string, partition: number): void {
		const position = this.#positions.get(`${topic}-${partition}`)
		if (position !== undefined) position.isPaused = true
	}

	resume(topic: string, partition: number): void {
		const position = this.#positions.get(`${topic}-${partition}`)
		if (position !== undefined) position.isPaused = false
		this.#pump()
	}

	/** What came first and was not taken yet; null after {@link close} or {@link wake}. Rejects when reading cannot go on. */
	async next(): Promise<Fetched | OffsetReset | null> {
		for (;;) {
			const taken = this.takeNow()
			if (taken !== null) return taken
			if (this.#isClosed || this.#isWoken) {
				this.#isWoken = false
				return null
			}
			await new Promise<void>((resolve) => {
				this.#waiter = resolve
			})
			this.#waiter = null
		}
	}

	/** As {@link next}, without waiting; null when there is nothing. */
	takeNow(): Fetched | OffsetReset | null {
		const first = this.#ready.shift()
		if (first === undefined) {
			if (this.#failure !== null) throw this.#failure
			return null
		}
		this.#bufferedBytes -= first.bytes
		first.position.buffered--
		this.#pump()
		return first.event
	}

	/** Makes the {@link next} that waits, or the next one, give null. */
	wake(): void {
		this.#isWoken = true
		this.#waiter?.()
	}

	close(): void {
		this.#isClosed = true
		this.#timer.cancel()
		this.#positions.clear()
		this.#ready.splice(0)
		this.#waiter?.()
	}

	#drop(key: string): void {
		const position = this.#positions.get(key)
		if (position === undefined) return
		position.isGone = true
		this.#positions.delete(key)
		for (let i = this.#ready.length - 1; i >= 0; i--) {
			const each = this.#ready[i]
			if (each?.position !== position) continue
			this.#bufferedBytes -= each.bytes
			this.#ready.splice(i, 1)
		}
	}

	/** Sends a fetch to every leader that has none in flight and has something to be asked for. */
	#pump(): void {
		if (this.#isClosed || this.#failure !== null || this.#bufferedBytes >= this.#settings.bufferBytesMax) return
		const now = this.#cluster.runtime.clock.monotonicMs()
		const byLeader = new Map<number, Position[]>()
		let isLeaderMissing = false
		let wakeAtMs = Number.POSITIVE_INFINITY
		for (const position of this.#positions.values()) {
			if (position.isBusy || position.isPaused || position.buffered >= ANSWERS_MAX) continue
			if (position.retryAtMs > now) {
				wakeAtMs = Math.min(wakeAtMs, position.retryAtMs)
				continue
			}
			const leader = this.#sourceOf(position, now)
			if (leader === undefined) {
				isLeaderMissing = true
				this.#backOff(position)
				this.#checkMissing(position, now)
			} else if (!this.#busyLeaders.has(leader)) {
				const theirs = byLeader.get(leader)
				if (theirs === undefined) byLeader.set(leader, [position])
				else theirs.push(position)
			}
		}
		for (const [leader, positions] of byLeader) void this.#fetch(leader, positions)
		if (isLeaderMissing) this.#refresh()
		if (wakeAtMs !== Number.POSITIVE_INFINITY) this.#timer.within(wakeAtMs - now)
	}

	/** The broker to fetch from: the replica near us while it is good, else the leader. */
	#sourceOf(position: Position, now: number): number | undefined {
		if (position.replica >= 0 && now < position.replicaUntilMs) return position.replica
		position.replica = -1
		return this.#cluster.leaderOf(position.topic, position.partition)?.leader
	}

	async #fetch(leader: number, positions: readonly Position[]): Promise<void> {
		this.#busyLeaders.add(leader)
		for (const position of positions) position.isBusy = true
		try {
			const connection = await this.#cluster.broker(leader, FETCH_LANE)
			const version = connection.versionOf(fetch as unknown as Family, FETCH_VERSION_MAX)
			if (version < FETCH_VERSION_MIN) throw new UnsupportedError(`${connection.address} is older than Kafka 0.11`)
			const { waitMsMax, bytesMin, bytesMax, isolationLevel, rackId } = this.#settings
			const message = { maxWaitMs: waitMsMax, minBytes: bytesMin, maxBytes: bytesMax, isolationLevel }
			const answer = await connection.send(
				fetch,
				version,
				{ replicaId: -1, ...message, rackId, topics: this.#wanted(positions) },
				waitMsMax,
			)
			if (answer.errorCode !== ERROR.NONE) throw new BrokerError(answer.errorCode, 'Fetch')
			if (this.#troubleSinceMs >= 0) this.#settings.onTrouble(null)
			this.#troubleSinceMs = -1
			const asked = new Map(positions.map((position) => [`${position.topic}-${position.partition}`, position]))
			for (const { topic, partitions } of answer.responses) {
				for (const each of partitions) {
					const position = asked.get(`${topic}-${each.partitionIndex}`)
					if (position !== undefined && !position.isGone) this.#onAnswer(position, each)
				}
			}
		} catch (error) {
			const isRetriable = error instanceof ConnectionError || (error instanceof BrokerError && error.retriable)
			if (!isRetriable) this.#fail(error as Error)
			if (error instanceof ConnectionError) this.#trouble(error)
			for (const position of positions) {
				position.replica = -1
				this.#backOff(position)
			}
			this.#refresh()
		} finally {
			this.#busyLeaders.delete(leader)
			for (const position of positions) position.isBusy = false
		}
		this.#pump()
	}

	#wanted(positions: readonly Position[]) {
		const topics = new Map<
			string,
			{ partition: number; currentLeaderEpoch: number; fetchOffset: number; partitionMaxBytes: number }[]
		>()
		for (const { topic, partition, offset, bytesMax } of positions) {
			const currentLeaderEpoch = this.#cluster.leaderOf(topic, partition)?.epoch ?? -1
			const wanted = { partition, currentLeaderEpoch, fetchOffset: offset, partitionMaxBytes: bytesMax }
			const list = topics.get(topic)
			if (list === undefined) topics.set(topic, [wanted])
			else list.push(wanted)
		}
		return [...topics].map(([topic, partitions]) => ({ topic, partitions }))
	}

	#onAnswer(position: Position, answer: FetchAnswer): void {
		const { topic, partition } = position
		const code = answer.errorCode
		if (code !== ERROR.NONE && position.replica >= 0) {
			// A follower may be behind, or gone from the replicas: the leader knows.
			position.replica = -1
			this.#backOff(position)
			return
		}
		if (code === ERROR.OFFSET_OUT_OF_RANGE) {
			void this.#reset(position)
			return
		}
		if (code !== ERROR.NONE) {
			const error = new BrokerError(code, `Fetch ${topic}-${partition}`)
			if (!error.retriable) this.#fail(error)
			this.#backOff(position)
			if (code === ERROR.UNKNOWN_TOPIC_OR_PARTITION)
				this.#checkMissing(position, this.#cluster.runtime.clock.monotonicMs())
			if (errorInfo(code).refreshesMetadata) this.#refresh()
			return
		}
		position.attempts = 0
		position.missingSinceMs = -1
		if (answer.preferredReadReplica >= 0) {
			position.replica = answer.preferredReadReplica
			position.replicaUntilMs = this.#cluster.runtime.clock.monotonicMs() + REPLICA_MS
		}
		const bytes = Buffer.isBuffer(answer.records) ? answer.records : EMPTY
		const { nextOffset, wholeBytes } = endOfBatches(bytes, position.offset)
		if (bytes.length > 0 && wholeBytes === 0) {
			// An old broker cut the first batch: more room is asked for.
			position.bytesMax = Math.min(position.bytesMax * 2, 0x7fff_ffff)
			if (bytes.length < 17) return
		}
		const facts = {
			topic,
			partition,
			fetchOffset: position.offset,
			highWatermark: answer.highWatermark,
			lastStableOffset: answer.lastStableOffset,
			logStartOffset: answer.logStartOffset,
			aborted: this.#settings.isolationLevel === 1 ? (answer.abortedTransactions ?? []) : null,
			isControlShown: this.#settings.isControlShown,
			decompressedBytesMax: this.#settings.decompressedBytesMax,
		}
		position.offset = nextOffset
		if (bytes.length === 0) return
		this.#deliver(position, new Fetched(facts, bytes, this.#cluster.runtime.compression), bytes.length)
	}

	/** The log has been cut or aged away under us: go on at its nearer end, and say so. */
	async #reset(position: Position): Promise<void> {
		const { topic, partition, offset } = position
		position.isPaused = true
		try {
			const ask = { topic, partition }
			const [first] = await this.#admin.listOffsets([{ ...ask, timestamp: -2 }])
			const [last] = await this.#admin.listOffsets([{ ...ask, timestamp: -1 }], this.#settings.isolationLevel)
			const start = first?.offset ?? 0
			const to = offset < start ? start : Math.max(start, last?.offset ?? start)
			if (position.isGone) return
			position.isPaused = false
			position.offset = to
			this.#deliver(position, { kind: 'reset', topic, partition, from: offset, to }, 0)
		} catch (error) {
			this.#fail(error as Error)
		}
		this.#pump()
	}

	#deliver(position: Position, event: Fetched | OffsetReset, bytes: number): void {
		position.buffered++
		this.#bufferedBytes += bytes
		this.#ready.push({ event, bytes, position })
		this.#waiter?.()
	}

	#checkMissing(position: Position, now: number): void {
		if (position.missingSinceMs < 0) position.missingSinceMs = now
		if (now - position.missingSinceMs < this.#settings.missingMsMax) return
		this.#fail(new BrokerError(ERROR.UNKNOWN_TOPIC_OR_PARTITION, `Fetch ${position.topic}-${position.partition}`))
	}

	#backOff(position: Position): void {
		const { retryBackoffMs, retryBackoffMaxMs } = this.#cluster.settings
		const ms = Math.min(retryBackoffMs * 2 ** Math.min(position.attempts++, 10), retryBackoffMaxMs)
		position.retryAtMs = this.#cluster.runtime.clock.monotonicMs() + ms
		this.#timer.within(ms)
	}

	#refresh(): void {
		if (this.#isRefreshing || this.#isClosed || this.#failure !== null) return
		this.#isRefreshing = true
		const topics = [...new Set([...this.#positions.values()].map(({ topic }) => topic))]
		this.#cluster.refresh(topics).then(
			() => {
				this.#isRefreshing = false
				this.#timer.within(this.#cluster.settings.retryBackoffMs)
			},
			(error: unknown) => {
				this.#isRefreshing = false
				if (error instanceof ConnectionError) {
					this.#trouble(error)
					this.#timer.within(this.#cluster.settings.retryBackoffMaxMs)
				} else this.#fail(error as Error)
			},
		)
	}

	#trouble(error: ConnectionError): void {
		const now = this.#cluster.runtime.clock.monotonicMs()
		if (this.#troubleSinceMs < 0) {
			this.#troubleSinceMs = now
			if (!this.#isClosed) this.#settings.onTrouble(error)
		}
		if (now - this.#troubleSinceMs > this.#settings.unreachableMsMax) this.#fail(error)
	}

	#fail(error: Error): void {
		if (this.#failure !== null || this.#isClosed) return
		this.#failure = error
		this.#waiter?.()
	}
}

const EMPTY = Buffer.alloc(0)
