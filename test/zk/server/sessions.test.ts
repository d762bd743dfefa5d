import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SessionTable } from '../../../src/zk/server/sessions.js'
import { ManualClock } from '../manual-clock.js'

const PASSWORD = Buffer.alloc(16)

function table(tickMs = 1000): { clock: ManualClock; sessions: SessionTable; expired: [bigint, number][] } {
	const clock = new ManualClock()
	clock.nowMs = 12_345
	const expired: [bigint, number][] = []
	const sessions = new SessionTable(clock, tickMs, (session) => {
		expired.push([session.id, clock.nowMs])
		sessions.remove(session.id)
	})
	sessions.start()
	return { clock, sessions, expired }
}

describe('a session', () => {
	test('expires no earlier than its timeout and at most a tick later', () => {
		for (const offset of [0, 1, 500, 655, 999]) {
			const { clock, sessions, expired } = table()
			clock.advance(offset)
			const openedMs = clock.nowMs
			sessions.add(1n, 4000, PASSWORD)
			clock.advance(10_000)
			expect(expired).toHaveLength(1)
			const lived = (expired[0]?.[1] ?? 0) - openedMs
			expect(lived).toBeGreaterThan(4000)
			expect(lived).toBeLessThanOrEqual(5000)
		}
	})

	test('lives as long as it is touched', () => {
		const { clock, sessions, expired } = table()
		const session = sessions.add(1n, 4000, PASSWORD)
		for (let i = 0; i < 20; i++) {
			clock.advance(3900)
			sessions.touch(session)
		}
		expect(expired).toEqual([])
		clock.advance(5000)
		expect(expired).toHaveLength(1)
	})

	test('is not expired by a stall of the server: its pings may wait in the socket', () => {
		const { clock, sessions, expired } = table()
		const session = sessions.add(1n, 4000, PASSWORD)
		clock.advance(1000)
		clock.stall(60_000)
		clock.advance(1)
		expect(expired).toEqual([])
		sessions.touch(session)
		clock.advance(3900)
		expect(expired).toEqual([])
		clock.advance(3000)
		expect(expired).toHaveLength(1)
	})

	test('that was recovered gets a full timeout from the start', () => {
		const clock = new ManualClock()
		const expired: number[] = []
		const sessions = new SessionTable(clock, 1000, () => expired.push(clock.nowMs))
		sessions.add(1n, 4000, PASSWORD)
		clock.stall(30_000)
		sessions.start()
		clock.advance(4000)
		expect(expired).toEqual([])
		clock.advance(1001)
		expect(expired).toHaveLength(1)
	})
})

test('whatever clients do: none expires early, none lives two ticks longer than it may', () => {
	const act = fc.record({
		kind: fc.constantFrom('open', 'touch', 'touch', 'wait', 'wait'),
		id: fc.nat(4),
		ms: fc.nat(2500),
	})
	fc.assert(
		fc.property(fc.constantFrom(100, 1000, 2000), fc.array(act, { maxLength: 60 }), (tickMs, acts) => {
			const { clock, sessions, expired } = table(tickMs)
			/** Since when nothing was heard of a session, and its timeout. */
			const heard = new Map<bigint, { sinceMs: number; timeoutMs: number }>()
			const check = (): void => {
				for (const [id, atMs] of expired.splice(0)) {
					const { sinceMs, timeoutMs } = heard.get(id) as { sinceMs: number; timeoutMs: number }
					heard.delete(id)
					expect(atMs - sinceMs).toBeGreaterThanOrEqual(timeoutMs)
					expect(atMs - sinceMs).toBeLessThanOrEqual(timeoutMs + 2 * tickMs)
				}
				for (const { sinceMs, timeoutMs } of heard.values())
					expect(clock.nowMs - sinceMs).toBeLessThanOrEqual(timeoutMs + 2 * tickMs)
			}
			for (const { kind, id: number, ms } of acts) {
				const id = BigInt(number)
				const session = sessions.get(id)
				if (kind === 'wait') clock.advance(ms)
				else if (kind === 'open' && session === undefined) {
					sessions.add(id, ms + 1, PASSWORD)
					heard.set(id, { sinceMs: clock.nowMs, timeoutMs: ms + 1 })
				} else if (kind === 'touch' && session !== undefined) {
					sessions.touch(session)
					heard.set(id, { sinceMs: clock.nowMs, timeoutMs: session.timeoutMs })
				}
				check()
			}
			clock.advance(10_000)
			check()
			expect([heard.size, sessions.size]).toEqual([0, 0])
		}),
		{ numRuns: 200 },
	)
})
