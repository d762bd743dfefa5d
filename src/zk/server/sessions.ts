/**
 * Sessions of the server in time buckets: a session's deadline is rounded up to the next tick, and one timer a tick ends
 * whatever stands in the buckets that are over. So a session lives at least its timeout and at most a tick longer.
 *
 * Stall rule: when the tick itself comes late (a long collection, a suspended laptop), pings that came in time may
 * still wait in the sockets. All deadlines then move back by the delay.
 */

import type { Clock, Timer } from '../../runtime/ports.js'

export interface Session {
	readonly id: bigint
	readonly password: Buffer
	timeoutMs: number
	/** End of the bucket it stands in, monotonic. */
	deadlineMs: number
	/** Being closed: no further write may be started for it. */
	isClosing: boolean
}

export class SessionTable {
	readonly #clock: Clock
	readonly #tickMs: number
	readonly #expire: (session: Session) => void
	readonly #sessions = new Map<bigint, Session>()
	readonly #buckets = new Map<number, Set<Session>>()
	#timer: Timer | null = null
	/** End of the tick that runs, in the clock of deadlines (monotonic time less all delays). */
	#tickEndMs: number
	#delayMs = 0

	constructor(clock: Clock, tickMs: number, expire: (session: Session) => void) {
		this.#clock = clock
		this.#tickMs = tickMs
		this.#expire = expire
		this.#tickEndMs = this.#roundUp(clock.monotonicMs())
	}

	get size(): number {
		return this.#sessions.size
	}

	values(): IterableIterator<Session> {
		return this.#sessions.values()
	}

	get(id: bigint): Session | undefined {
		return this.#sessions.get(id)
	}

	/** Starts the ticks; every session that is there gets a full timeout from now. */
	start(): void {
		this.#tickEndMs = this.#roundUp(this.#now())
		for (const session of this.#sessions.values()) this.touch(session)
		this.#arm()
	}

	stop(): void {
		this.#timer?.cancel()
		this.#timer = null
	}

	add(id: bigint, timeoutMs: number, password: Buffer): Session {
		const session: Session = { id, password, timeoutMs, deadlineMs: 0, isClosing: false }
		this.#sessions.set(id, session)
		this.touch(session)
		return session
	}

	remove(id: bigint): void {
		const session = this.#sessions.get(id)
		if (session === undefined) return
		this.#sessions.delete(id)
		this.#leaveBucket(session)
	}

	/** The client spoke: its time begins anew. */
	touch(session: Session): void {
		const deadlineMs = this.#roundUp(this.#now() + session.timeoutMs)
		if (deadlineMs === session.deadlineMs) return
		this.#leaveBucket(session)
		session.deadlineMs = deadlineMs
		const bucket = this.#buckets.get(deadlineMs)
		if (bucket === undefined) this.#buckets.set(deadlineMs, new Set([session]))
		else bucket.add(session)
	}

	#now(): number {
		return this.#clock.monotonicMs() - this.#delayMs
	}

	#roundUp(ms: number): number {
		return (Math.floor(ms / this.#tickMs) + 1) * this.#tickMs
	}

	#leaveBucket(session: Session): void {
		const bucket = this.#buckets.get(session.deadlineMs)
		bucket?.delete(session)
		if (bucket?.size === 0) this.#buckets.delete(session.deadlineMs)
	}

	#arm(): void {
		this.#timer = this.#clock.after(Math.max(0, this.#tickEndMs - this.#now()), () => this.#tick())
	}

	#tick(): void {
		const late = this.#now() - this.#tickEndMs
		if (late > this.#tickMs) this.#delayMs += late
		while (this.#tickEndMs <= this.#now()) {
			const bucket = this.#buckets.get(this.#tickEndMs)
			this.#buckets.delete(this.#tickEndMs)
			for (const session of bucket ?? []) this.#expire(session)
			this.#tickEndMs += this.#tickMs
		}
		this.#arm()
	}
}
