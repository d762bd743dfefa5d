import { describe, expect, test } from 'vitest'
import type { Clock, Timer } from '../../../src/runtime/ports.js'
import { SessionTable } from '../../../src/zk/server/sessions.js'

/** Time that moves only when told; `late` lets a timer come after its hour, as after a stalled process. */
class ManualClock implements Clock {
	nowMs = 0
	#timers: { dueMs: number; run: () => void }[] = []

	wallMs(): number {
		return this.nowMs
	}

	monotonicMs(): number {
		return this.nowMs
	}

	after(ms: number, run: () => void): Timer {
		const timer = { dueMs: this.nowMs + ms, run }
		this.#timers.push(timer)
		return {
			cancel: () => {
				this.#timers = this.#timers.filter((each) => each !== timer)
			},
		}
	}

	soon(run: () => void): void {
		this.after(0, run)
	}

	/** Runs every timer at its time until `ms` have passed. */
	advance(ms: number): void {
		const endMs = this.nowMs + ms
		for (;;) {
			const next = this.#timers.sort((a, b) => a.dueMs - b.dueMs)[0]
			if (next === undefined || next.dueMs > endMs) break
			this.#timers.shift()
			this.nowMs = Math.max(this.nowMs, next.dueMs)
			next.run()
		}
		this.nowMs = endMs
	}

	/** The process stands still: time passes, no timer runs. */
	stall(ms: number): void {
		this.nowMs += ms
	}
}

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
