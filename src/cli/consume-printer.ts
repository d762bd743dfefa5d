/** Prints what a consumer gives, filtered and formatted, until the plan is done: the loop of every way of reading. */

import type { Consumer } from '../client/consumer.js'
import { CONSUMER_DEFAULTS, type ConsumerSettings } from '../client/consumer-settings.js'
import type { Fetched } from '../client/fetched.js'
import type { RecordReader } from '../client/record-reader.js'
import type { ConsumeOptions } from './consume-options.js'
import type { PrintRecord } from './consume-paper.js'
import type { PartitionName, PartitionPlan } from './consume-plan.js'
import { EXIT } from './errors.js'
import type { Interrupt } from './interrupt.js'
import type { FormatContext } from './record-format.js'
import type { Session } from './session.js'
import { StdoutSink } from './stdout-sink.js'

export function consumerSettings(session: Session, options: ConsumeOptions): ConsumerSettings {
	return {
		...CONSUMER_DEFAULTS,
		...session.consumerSettings,
		isolationLevel: options.isolation,
		isControlShown: options.isControlShown,
		...(options.rack === null ? {} : { rackId: options.rack }),
		// What follows may wait for its brokers; what has an end is waited for by somebody.
		unreachableMsMax: options.hasEnd ? session.cluster.settings.operationTimeoutMs : Number.POSITIVE_INFINITY,
		onTrouble: (error) => options.note(error === null ? 'going on' : `${error.message}; trying on`),
	}
}

/** Node's timers hold no more, and end at once where they are given more. */
const TIMER_MS_MAX = 2_147_483_647

interface Open {
	readonly plan: PartitionPlan
	readonly context: FormatContext
}

export class Printer {
	readonly sink = new StdoutSink()
	/** Offset after the last record that was printed or passed over, by partition. */
	readonly printed = new Map<string, PartitionName & { readonly offset: number }>()
	readonly #options: ConsumeOptions
	readonly #printRecord: PrintRecord
	readonly #consumer: Consumer
	readonly #interrupt: Interrupt
	readonly #open = new Map<string, Open>()
	#count = 0
	#isDone = false
	#isIdle = false
	#idleTimer: NodeJS.Timeout | null = null

	constructor(options: ConsumeOptions, print: PrintRecord, consumer: Consumer, interrupt: Interrupt) {
		this.#printRecord = print
		this.#options = options
		this.#consumer = consumer
		this.#interrupt = interrupt
		interrupt.onSignal(() => this.stop())
		this.sink.onGone(() => this.stop())
	}

	/** The loop ends at its next turn. */
	stop(): void {
		this.#isDone = true
		this.#consumer.wake()
	}

	/** A change of the plan is seen at once. */
	wake(): void {
		this.#consumer.wake()
	}

	/** Adds partitions to be read. With an end for all of them the loop ends when the last has reached its own. */
	plan(plans: readonly PartitionPlan[]): void {
		const starts: { topic: string; partition: number; offset: number }[] = []
		for (const plan of plans) {
			const { topic, partition, from, until, start, end } = plan
			if (until !== null && from >= until) continue
			// What is not written yet cannot be asked for; what comes before it is passed over.
			const offset = Math.min(from, Math.max(start, end))
			this.#open.set(`${topic}-${partition}`, {
				plan,
				context: { topic, partition, nullText: this.#options.nullText },
			})
			starts.push({ topic, partition, offset })
		}
		if (this.#open.size === 0 && this.#options.hasEnd) this.#isDone = true
		if (this.#options.count === 0) this.#isDone = true
		this.#consumer.assign(starts)
	}

	/** Nothing more of these is printed; `printed` keeps what was. */
	drop(partitions: readonly PartitionName[]): void {
		this.#consumer.unassign(partitions)
		for (const { topic, partition } of partitions) this.#open.delete(`${topic}-${partition}`)
	}

	/** Reads until the plan is done, or stopped. `between` is called after each answer. */
	async run(between?: () => void | Promise<void>): Promise<void> {
		this.#restartIdle()
		try {
			while (!this.#isDone) {
				const event = this.#consumer.takeNow() ?? (await this.#pause())
				if (event !== null && this.#isDone === false) {
					if ('kind' in event) this.#options.tellReset(event)
					else await this.#print(event)
				}
				await between?.()
			}
		} finally {
			if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
			this.sink.push()
		}
	}

	exitCode(): number {
		if (this.sink.failure !== null) throw this.sink.failure
		if (this.#interrupt.code !== null) return this.#interrupt.code
		const { count } = this.#options
		if (this.#isIdle && count !== null && this.#count < count) return EXIT.timedOut
		return EXIT.done
	}

	/** Nothing is at hand: what was collected leaves before waiting. */
	async #pause() {
		this.sink.push()
		return await this.#consumer.next()
	}

	async #print(fetched: Fetched): Promise<void> {
		const key = `${fetched.topic}-${fetched.partition}`
		const open = this.#open.get(key)
		if (open === undefined) return
		const before = this.#count
		const until = open.plan.until ?? Number.POSITIVE_INFINITY
		let position = Math.max(fetched.facts.fetchOffset, open.plan.from)
		for (;;) {
			const next = fetched.nextBatch()
			const batch = next instanceof Promise ? await next : next
			if (batch === null) {
				position = Math.max(position, fetched.nextOffset)
				break
			}
			position = this.#printBatch(batch, open, position, until)
			if (!this.#isDone) position = Math.max(position, fetched.nextOffset)
			// At once: the partition may be taken away at the next wait.
			this.#note(key, open, position)
			if (this.#isDone || position >= until) break
			if (this.sink.isFull) await this.sink.drain()
			if (this.#isDone || this.#open.get(key) !== open) break
		}
		if (this.#open.get(key) === open) {
			this.#note(key, open, position)
			if (position >= until) this.#finish(key, open)
		}
		if (this.#count > before) this.#restartIdle()
	}

	/** What has been dealt with, once it is more than what was begun with. */
	#note(key: string, { plan }: Open, position: number): void {
		if (position <= plan.from) return
		const offset = Math.min(position, plan.until ?? Number.POSITIVE_INFINITY)
		this.printed.set(key, { topic: plan.topic, partition: plan.partition, offset })
	}

	/** Prints the records of one batch; the offset after the last that was dealt with. */
	#printBatch(batch: RecordReader, open: Open, from: number, until: number): number {
		const { filter, count } = this.#options
		const limit = count ?? Number.POSITIVE_INFINITY
		let position = from
		while (batch.next()) {
			if (batch.offset < from) continue
			if (batch.offset >= until) return until
			position = batch.offset + 1
			if (filter !== null && !filter(batch)) continue
			this.#printRecord(batch, open.context, this.sink)
			this.#count++
			if (this.#count >= limit) {
				this.#isDone = true
				return position
			}
		}
		return position
	}

	/** A partition has reached its end. */
	#finish(key: string, open: Open): void {
		this.#open.delete(key)
		this.#consumer.unassign([open.plan])
		if (this.#open.size === 0 && this.#options.hasEnd) this.#isDone = true
	}

	#restartIdle(): void {
		const { idleMs } = this.#options
		if (idleMs === null) return
		if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
		this.#idleTimer = setTimeout(
			() => {
				this.#isIdle = true
				this.stop()
			},
			Math.min(idleMs, TIMER_MS_MAX),
		)
	}
}
