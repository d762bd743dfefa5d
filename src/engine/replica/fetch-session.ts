/**
 * Incremental fetch sessions (KIP-227, semantics 8): the broker remembers which partitions a fetcher follows and what it
 * was told last, so that neither side repeats it.
 *
 * | request epoch | id      | meaning                                                                    |
 * |---------------|---------|----------------------------------------------------------------------------|
 * | -1            | any     | full fetch without a session; the session named by id is closed            |
 * | 0             | any     | full fetch that makes a new session when there is room                     |
 * | other         | known   | incremental: add, change and forget partitions, then fetch all remembered  |
 */

import type { TopicId } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import type { Clock, Random } from '../../runtime/ports.js'

/** A partition as a fetcher asked for it. */
export interface FetchTarget {
	/** '' until the id resolves (v13+). */
	topic: string
	readonly topicId: TopicId
	readonly partition: number
	fetchOffset: number
	logStartOffset: number
	maxBytes: number
	currentLeaderEpoch: number
	lastFetchedEpoch: number
}

/** What a session last said of a partition; -1: nothing that counts. */
interface Remembered {
	readonly target: FetchTarget
	highWatermark: number
	toldLogStart: number
}

export interface ForgottenTarget {
	readonly topic: string
	readonly topicId: TopicId
	readonly partition: number
}

export interface PartitionAnswer {
	readonly errorCode: number
	readonly highWatermark: number
	readonly logStartOffset: number
	readonly hasRecords: boolean
	readonly hasDivergingEpoch: boolean
	readonly preferredReadReplica: number
}

/** The partitions to read for one request, in order, and what becomes of their answers. */
export interface FetchContext {
	/** Session id of the response; 0 for none. */
	readonly sessionId: number
	readonly targets: readonly FetchTarget[]
	/** True when the answer for this target belongs in the response; remembers what is said. */
	select(target: FetchTarget, answer: PartitionAnswer): boolean
}

/** A session may be put out by a new one when it was not used for this long. */
const EVICT_AFTER_MS = 120_000

class Session {
	readonly id: number
	readonly usesTopicIds: boolean
	readonly isFollower: boolean
	readonly partitions = new Map<string, Remembered>()
	nextEpoch = 1
	lastUsedMs: number

	constructor(id: number, usesTopicIds: boolean, isFollower: boolean, nowMs: number) {
		this.id = id
		this.usesTopicIds = usesTopicIds
		this.isFollower = isFollower
		this.lastUsedMs = nowMs
	}

	keyOf(topic: string, topicId: TopicId, partition: number): string {
		return this.usesTopicIds ? `${topicId}/${partition}` : `${topic}/${partition}`
	}

	put(target: FetchTarget): void {
		const key = this.keyOf(target.topic, target.topicId, target.partition)
		const known = this.partitions.get(key)
		if (known === undefined) {
			this.partitions.set(key, { target, highWatermark: -1, toldLogStart: -1 })
			return
		}
		const mine = known.target
		mine.fetchOffset = target.fetchOffset
		mine.logStartOffset = target.logStartOffset
		mine.maxBytes = target.maxBytes
		mine.currentLeaderEpoch = target.currentLeaderEpoch
		mine.lastFetchedEpoch = target.lastFetchedEpoch
	}
}

export interface FetchRequestShape {
	readonly version: number
	readonly sessionId: number
	readonly sessionEpoch: number
	readonly isFollower: boolean
	readonly targets: readonly FetchTarget[]
	readonly forgotten: readonly ForgottenTarget[]
}

export class FetchSessions {
	readonly #slots: number
	readonly #clock: Clock
	readonly #random: Random
	readonly #sessions = new Map<number, Session>()

	constructor(slots: number, clock: Clock, random: Random) {
		this.#slots = slots
		this.#clock = clock
		this.#random = random
	}

	get count(): number {
		return this.#sessions.size
	}

	/** The context of a request, or the code that answers it as a whole (70, 71, 106). */
	open(request: FetchRequestShape): FetchContext | { readonly errorCode: number } {
		const { version, sessionId, sessionEpoch, targets } = request
		if (version < 7) return sessionless(targets)
		if (sessionEpoch === -1) {
			if (sessionId !== 0) this.#sessions.delete(sessionId)
			return sessionless(targets)
		}
		if (sessionEpoch === 0) {
			if (sessionId !== 0) this.#sessions.delete(sessionId)
			return this.#openNew(request)
		}
		const session = this.#sessions.get(sessionId)
		if (session === undefined) return { errorCode: ERROR.FETCH_SESSION_ID_NOT_FOUND }
		if (session.usesTopicIds !== version >= 13) return { errorCode: ERROR.FETCH_SESSION_TOPIC_ID_ERROR }
		if (session.nextEpoch !== sessionEpoch) return { errorCode: ERROR.INVALID_FETCH_SESSION_EPOCH }
		return this.#continue(session, request)
	}

	#openNew(request: FetchRequestShape): FetchContext {
		if (!this.#makeRoom(request.isFollower)) return sessionless(request.targets)
		let id = 0
		while (id === 0 || this.#sessions.has(id)) id = this.#random.bytes(4).readUInt32BE(0) & 0x7fffffff
		const session = new Session(id, request.version >= 13, request.isFollower, this.#clock.monotonicMs())
		this.#sessions.set(id, session)
		for (const target of request.targets) session.put(target)
		return contextOf(session, true)
	}

	#continue(session: Session, request: FetchRequestShape): FetchContext {
		for (const target of request.targets) session.put(target)
		for (const { topic, topicId, partition } of request.forgotten) {
			session.partitions.delete(session.keyOf(topic, topicId, partition))
		}
		session.lastUsedMs = this.#clock.monotonicMs()
		session.nextEpoch = session.nextEpoch === 0x7fffffff ? 1 : session.nextEpoch + 1
		if (session.partitions.size === 0) {
			this.#sessions.delete(session.id)
			return sessionless([])
		}
		return contextOf(session, false)
	}

	/** Puts out the session that was not used for the longest time, if for long enough; followers' only for followers. */
	#makeRoom(isFollower: boolean): boolean {
		if (this.#sessions.size < this.#slots) return true
		const nowMs = this.#clock.monotonicMs()
		let victim: Session | undefined
		for (const session of this.#sessions.values()) {
			const isOld = nowMs - session.lastUsedMs >= EVICT_AFTER_MS
			const mayGo = session.isFollower ? isFollower && isOld : isOld || isFollower
			if (mayGo && (victim === undefined || session.lastUsedMs < victim.lastUsedMs)) victim = session
		}
		if (victim === undefined) return false
		this.#sessions.delete(victim.id)
		return true
	}
}

function sessionless(targets: readonly FetchTarget[]): FetchContext {
	return { sessionId: 0, targets, select: () => true }
}

function contextOf(session: Session, isFull: boolean): FetchContext {
	const targets = [...session.partitions.values()].map((each) => each.target)
	return {
		sessionId: session.id,
		targets,
		select: (target, answer) => {
			const key = session.keyOf(target.topic, target.topicId, target.partition)
			const known = session.partitions.get(key)
			if (known === undefined) return true
			const hasNews =
				answer.hasRecords ||
				answer.errorCode !== ERROR.NONE ||
				answer.hasDivergingEpoch ||
				answer.preferredReadReplica >= 0 ||
				answer.highWatermark !== known.highWatermark ||
				answer.logStartOffset !== known.toldLogStart
			// After an error the next good answer is news, whatever it says.
			known.highWatermark = answer.errorCode === ERROR.NONE ? answer.highWatermark : -1
			known.toldLogStart = answer.errorCode === ERROR.NONE ? answer.logStartOffset : -1
			if (answer.hasRecords) {
				// Served partitions go to the end of the line: fairness when a response cannot hold all.
				session.partitions.delete(key)
				session.partitions.set(key, known)
			}
			return isFull || hasNews
		},
	}
}
