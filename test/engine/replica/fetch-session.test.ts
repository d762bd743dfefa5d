/** Fetch sessions by themselves: which partitions are served in what order, and who makes room for whom (semantics 8). */

import { describe, expect, it } from 'vitest'
import { type TopicId, ZERO_TOPIC_ID } from '../../../src/base/ids.js'
import { type FetchContext, FetchSessions, type FetchTarget } from '../../../src/engine/replica/fetch-session.js'
import { HandClock, seeded } from '../log/setup.js'

const target = (topic: string, partition = 0, topicId: TopicId = ZERO_TOPIC_ID): FetchTarget => ({
	topic,
	topicId,
	partition,
	fetchOffset: 0,
	logStartOffset: -1,
	maxBytes: 1000,
	currentLeaderEpoch: -1,
	lastFetchedEpoch: -1,
})

const QUIET = {
	errorCode: 0,
	highWatermark: 0,
	logStartOffset: 0,
	hasRecords: false,
	hasDivergingEpoch: false,
	preferredReadReplica: -1,
}

function sessions(slots: number): { sessions: FetchSessions; clock: HandClock } {
	const clock = new HandClock()
	const next = seeded(4)
	const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => Math.floor(next() * 256)))
	return { sessions: new FetchSessions(slots, clock, { next, bytes }), clock }
}

function open(
	from: FetchSessions,
	sessionId: number,
	sessionEpoch: number,
	targets: readonly FetchTarget[],
	more: { version?: number; isFollower?: boolean } = {},
): FetchContext {
	const { version = 12, isFollower = false } = more
	const opened = from.open({ version, sessionId, sessionEpoch, isFollower, targets, forgotten: [] })
	if ('errorCode' in opened) throw new Error(`answered ${opened.errorCode}`)
	return opened
}

const namesOf = (context: FetchContext): string[] => context.targets.map(({ topic }) => topic)

describe('a session', () => {
	it('8.1 is made from version 7 on', () => {
		const { sessions: all } = sessions(10)
		expect(open(all, 0, 0, [target('a')], { version: 6 }).sessionId).toBe(0)
		expect(all.count).toBe(0)
		expect(open(all, 0, 0, [target('a')], { version: 7 }).sessionId).toBeGreaterThan(0)
		expect(all.count).toBe(1)
	})

	it('7.20 may be made empty, to be filled by the next request', () => {
		const { sessions: all } = sessions(10)
		const { sessionId, targets } = open(all, 0, 0, [])
		expect(targets).toEqual([])
		expect(sessionId).toBeGreaterThan(0)
		expect(namesOf(open(all, sessionId, 1, [target('late')]))).toEqual(['late'])
	})

	it('8.6 fetches all that it remembers, not only what the request names', () => {
		const { sessions: all } = sessions(10)
		const { sessionId } = open(all, 0, 0, [target('a'), target('b')])
		expect(namesOf(open(all, sessionId, 1, [target('c')]))).toEqual(['a', 'b', 'c'])
		expect(namesOf(open(all, sessionId, 2, [{ ...target('b'), fetchOffset: 5 }]))).toEqual(['a', 'b', 'c'])
	})

	it('8.8 puts partitions that returned records at the end of its line', () => {
		const { sessions: all } = sessions(10)
		const first = open(all, 0, 0, [target('a'), target('b'), target('c')])
		for (const each of first.targets) first.select(each, { ...QUIET, hasRecords: each.topic === 'a' })
		const second = open(all, first.sessionId, 1, [])
		expect(namesOf(second)).toEqual(['b', 'c', 'a'])
		for (const each of second.targets) second.select(each, { ...QUIET, hasRecords: each.topic === 'b' })
		expect(namesOf(open(all, first.sessionId, 2, []))).toEqual(['c', 'a', 'b'])
	})

	it('8.7 tells an error again and again, and the first good answer after it', () => {
		const { sessions: all } = sessions(10)
		const full = open(all, 0, 0, [target('a')])
		const [only] = full.targets as [FetchTarget]
		full.select(only, QUIET)
		const turns = [
			[QUIET, false],
			[{ ...QUIET, errorCode: 6 }, true],
			[{ ...QUIET, errorCode: 6 }, true],
			[QUIET, true],
			[QUIET, false],
			[{ ...QUIET, logStartOffset: 1 }, true],
		] as const
		for (const [i, [answer, isTold]] of turns.entries()) {
			expect(open(all, full.sessionId, i + 1, []).select(only, answer)).toBe(isTold)
		}
	})
})

describe('room', () => {
	it('8.10 a new session gets none while all are in use, and evicts the one least recently used after 120 s', () => {
		const { sessions: all, clock } = sessions(2)
		const one = open(all, 0, 0, [target('a')]).sessionId
		clock.advance(1000)
		const two = open(all, 0, 0, [target('a')]).sessionId
		expect(open(all, 0, 0, [target('a')]).sessionId).toBe(0)
		clock.advance(60_000)
		open(all, one, 1, [])
		clock.advance(60_001)
		const three = open(all, 0, 0, [target('a')]).sessionId
		expect(three).toBeGreaterThan(0)
		expect(() => open(all, two, 1, [])).toThrow('answered 70')
		expect(open(all, one, 2, []).sessionId).toBe(one)
	})

	it("8.10 a follower's session takes a consumer's place at once, and gives it to a follower only", () => {
		const { sessions: all, clock } = sessions(1)
		const consumer = open(all, 0, 0, [target('a')]).sessionId
		const follower = open(all, 0, 0, [target('a')], { isFollower: true }).sessionId
		expect(() => open(all, consumer, 1, [])).toThrow('answered 70')
		clock.advance(500_000)
		expect(open(all, 0, 0, [target('a')]).sessionId).toBe(0)
		expect(open(all, 0, 0, [target('a')], { isFollower: true }).sessionId).toBeGreaterThan(0)
		expect(() => open(all, follower, 1, [])).toThrow('answered 70')
	})
})
