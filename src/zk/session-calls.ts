/**
 * The line of calls in front of a driver: deadlines, at most so many in flight, order kept, calls bound to a session
 * refused in another, lost ones tried again. Decides nothing about what a second outcome means: it tells that the first
 * was lost. Part of `session.ts`.
 */

import { Deque } from '../base/queues.js'
import type { Clock, Timer } from '../runtime/ports.js'
import type { DriverOutcome, DriverReply, DriverRequest, ZkDriver } from './driver.js'
import { ZkError, type ZkErrorCode, ZkMultiError } from './port.js'

export interface CallRules {
	readonly timeoutMs: number
	/** Session it is bound to, null for any. */
	readonly generation: number | null
	/** False: a call whose reply was lost is not sent again. */
	readonly retryLost: boolean
}

/** `wasLost`: an earlier try was sent and its reply never came, so it may have been done before this outcome. */
export type CallOutcome =
	| { readonly ok: true; readonly reply: DriverReply; readonly wasLost: boolean }
	| { readonly ok: false; readonly error: ZkError; readonly wasLost: boolean }

class Call {
	wasLost = false
	isInFlight = false
	isSettled = false
	timer: Timer | null = null
	constructor(
		readonly request: DriverRequest,
		readonly rules: CallRules,
		readonly resolve: (outcome: CallOutcome) => void,
	) {}
}

export class CallLine {
	readonly #clock: Clock
	readonly #inFlightMax: number
	readonly #waiting = new Deque<Call>()
	/** Lost calls to send again: they stand before all that wait. */
	readonly #again = new Deque<Call>()
	/** Everything not settled, to end it at once. */
	readonly #open = new Set<Call>()
	#inFlight = 0
	#driver: ZkDriver | null = null
	#generation = 0
	#isClosed = false

	constructor(clock: Clock, inFlightMax: number) {
		this.#clock = clock
		this.#inFlightMax = inFlightMax
	}

	/** Settles exactly once, never rejects. */
	submit(request: DriverRequest, rules: CallRules): Promise<CallOutcome> {
		return new Promise<CallOutcome>((resolve) => {
			const call = new Call(request, rules, resolve)
			this.#open.add(call)
			if (this.#isClosed) {
				this.#fail(call, 'CLOSED')
				return
			}
			call.timer = this.#clock.after(rules.timeoutMs, () => this.#fail(call, 'TIMEOUT'))
			this.#waiting.push(call)
			this.#pump()
		})
	}

	connected(driver: ZkDriver, generation: number): void {
		this.#driver = driver
		this.#generation = generation
		this.#inFlight = 0
		this.#pump()
	}

	disconnected(): void {
		this.#driver = null
	}

	/** The session is over: calls bound to it fail. */
	expired(): void {
		this.#driver = null
		for (const call of [...this.#open]) {
			if (call.rules.generation !== null && !call.isInFlight) this.#fail(call, 'SESSION_EXPIRED')
		}
	}

	close(): void {
		this.#isClosed = true
		this.#driver = null
		for (const call of [...this.#open]) this.#fail(call, 'CLOSED')
	}

	#pump(): void {
		while (this.#driver !== null && this.#inFlight < this.#inFlightMax) {
			const call = this.#again.shift() ?? this.#waiting.shift()
			if (call === undefined) return
			if (call.isSettled) continue
			if (call.rules.generation !== null && call.rules.generation !== this.#generation) {
				this.#fail(call, 'SESSION_EXPIRED')
				continue
			}
			const driver = this.#driver
			this.#inFlight++
			call.isInFlight = true
			driver.request(call.request, (outcome) => {
				call.isInFlight = false
				if (driver === this.#driver) this.#inFlight--
				this.#onOutcome(call, outcome)
				this.#pump()
			})
		}
	}

	#onOutcome(call: Call, outcome: DriverOutcome): void {
		if (call.isSettled) return
		if (outcome.ok) {
			this.#settle(call, { ok: true, reply: outcome.reply, wasLost: call.wasLost })
			return
		}
		const { code, wasSent, wireCode, index } = outcome.failure
		// A driver that was let go says CLOSED; the session itself goes on with another.
		const isLoss = code === 'CONNECTION_LOSS' || code === 'SESSION_EXPIRED' || code === 'CLOSED'
		if (!isLoss) {
			this.#settle(call, { ok: false, error: this.#error(call, code, false, wireCode, index), wasLost: call.wasLost })
			return
		}
		// A refusal by the server's own word was not done.
		if (wasSent && wireCode === 0) call.wasLost = true
		if (code === 'SESSION_EXPIRED' && call.rules.generation !== null) this.#fail(call, code)
		else if (call.wasLost && !call.rules.retryLost) this.#fail(call, 'CONNECTION_LOSS')
		else {
			if (wireCode !== 0) this.#driver?.reconnect()
			this.#again.push(call)
		}
	}

	#fail(call: Call, code: ZkErrorCode): void {
		if (call.isSettled) return
		const isAmbiguous = call.wasLost || call.isInFlight
		this.#settle(call, { ok: false, error: this.#error(call, code, isAmbiguous, 0, -1), wasLost: call.wasLost })
	}

	#error(call: Call, code: ZkErrorCode, isAmbiguous: boolean, wireCode: number, index: number): ZkError {
		const { request } = call
		if (request.op === 'multi' && index >= 0) {
			return new ZkMultiError(code, request.ops[index]?.path ?? request.path, index, wireCode)
		}
		const isRead = request.op === 'get' || request.op === 'exists' || request.op === 'children'
		return new ZkError(code, request.op, request.path, isAmbiguous && !isRead, wireCode)
	}

	#settle(call: Call, outcome: CallOutcome): void {
		call.isSettled = true
		call.timer?.cancel()
		this.#open.delete(call)
		call.resolve(outcome)
	}
}
