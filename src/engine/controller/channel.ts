/**
 * Control requests to one broker: in order, one in flight, retried for as long as the broker lives (semantics 15.14).
 * Where they go is a {@link ControlEndpoint}: this broker itself, or another over the network.
 */

import { Deque } from '../../base/queues.js'
import type { leaderAndIsr, stopReplica, updateMetadata } from '../../protocol/messages/replication.js'
import type { RequestInput, ResponseInput } from '../../protocol/schema.js'
import { errorText, type Logger } from '../../runtime/logger.js'
import type { Clock, Timer } from '../../runtime/ports.js'

export type LeaderAndIsrRequest = RequestInput<typeof leaderAndIsr>
export type LeaderAndIsrResponse = ResponseInput<typeof leaderAndIsr>
export type UpdateMetadataRequest = RequestInput<typeof updateMetadata>
export type UpdateMetadataResponse = ResponseInput<typeof updateMetadata>
export type StopReplicaRequest = RequestInput<typeof stopReplica>
export type StopReplicaResponse = ResponseInput<typeof stopReplica>

/** How control requests reach a broker. Rejects when they cannot; the channel tries again. */
export interface ControlEndpoint {
	leaderAndIsr(request: LeaderAndIsrRequest): Promise<LeaderAndIsrResponse>
	updateMetadata(request: UpdateMetadataRequest): Promise<UpdateMetadataResponse>
	stopReplica(request: StopReplicaRequest): Promise<StopReplicaResponse>
	close(): void
}

export type ControlRequest =
	| {
			readonly kind: 'leaderAndIsr'
			readonly request: LeaderAndIsrRequest
			readonly onReply?: (reply: LeaderAndIsrResponse) => void
	  }
	| { readonly kind: 'updateMetadata'; readonly request: UpdateMetadataRequest }
	| {
			readonly kind: 'stopReplica'
			readonly request: StopReplicaRequest
			readonly onReply?: (reply: StopReplicaResponse) => void
	  }

const RETRY_MS = 100

export class ControlChannel {
	readonly #brokerId: number
	readonly #endpoint: ControlEndpoint
	readonly #clock: Clock
	readonly #log: Logger
	readonly #queue = new Deque<ControlRequest>()
	#sending = false
	#closed = false
	#retry: Timer | null = null

	constructor(brokerId: number, endpoint: ControlEndpoint, clock: Clock, log: Logger) {
		this.#brokerId = brokerId
		this.#endpoint = endpoint
		this.#clock = clock
		this.#log = log
	}

	get waiting(): number {
		return this.#queue.length
	}

	send(request: ControlRequest): void {
		if (this.#closed) return
		this.#queue.push(request)
		if (!this.#sending) void this.#drain()
	}

	/** Drops what was not sent: the broker is gone, or we are no longer controller. */
	close(): void {
		this.#closed = true
		this.#retry?.cancel()
		this.#queue.clear()
		this.#endpoint.close()
	}

	async #drain(): Promise<void> {
		this.#sending = true
		for (;;) {
			const next = this.#queue.peek()
			if (next === undefined || this.#closed) break
			try {
				await this.#deliver(next)
			} catch (error) {
				this.#log.warn('control request failed, trying again', {
					broker: this.#brokerId,
					request: next.kind,
					reason: errorText(error),
				})
				await new Promise<void>((resolve) => {
					this.#retry = this.#clock.after(RETRY_MS, resolve)
				})
				continue
			}
			this.#queue.shift()
		}
		this.#sending = false
	}

	async #deliver(next: ControlRequest): Promise<void> {
		if (next.kind === 'updateMetadata') await this.#endpoint.updateMetadata(next.request)
		else if (next.kind === 'leaderAndIsr') {
			const reply = await this.#endpoint.leaderAndIsr(next.request)
			if (!this.#closed) next.onReply?.(reply)
		} else {
			const reply = await this.#endpoint.stopReplica(next.request)
			if (!this.#closed) next.onReply?.(reply)
		}
	}
}

/** Channels to the live brokers. */
export class Channels {
	readonly #endpointOf: (brokerId: number) => ControlEndpoint
	readonly #clock: Clock
	readonly #log: Logger
	readonly #channels = new Map<number, ControlChannel>()

	constructor(endpointOf: (brokerId: number) => ControlEndpoint, clock: Clock, log: Logger) {
		this.#endpointOf = endpointOf
		this.#clock = clock
		this.#log = log
	}

	to(broker: number): ControlChannel {
		let channel = this.#channels.get(broker)
		if (channel === undefined) {
			channel = new ControlChannel(broker, this.#endpointOf(broker), this.#clock, this.#log)
			this.#channels.set(broker, channel)
		}
		return channel
	}

	drop(broker: number): void {
		this.#channels.get(broker)?.close()
		this.#channels.delete(broker)
	}

	close(): void {
		for (const broker of [...this.#channels.keys()]) this.drop(broker)
	}
}
