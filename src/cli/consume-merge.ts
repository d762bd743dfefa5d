/**
 * `kcli consume --merge`: all partitions in one order of time. Of every partition the next record is at hand before the
 * oldest of them is printed; a partition whose records wait is not fetched meanwhile, so that memory stays bounded. Within a
 * partition the order of offsets is kept, whatever the times.
 */

import { Consumer } from '../client/consumer.js'
import type { Fetched } from '../client/fetched.js'
import type { RecordReader } from '../client/record-reader.js'
import type { ConsumeOptions } from './consume-options.js'
import { type PrintRecord, recordPrinter } from './consume-paper.js'
import { type PartitionName, type PartitionPlan, planPartitions } from './consume-plan.js'
import { consumerSettings } from './consume-printer.js'
import { EXIT } from './errors.js'
import type { Interrupt } from './interrupt.js'
import type { FormatContext } from './record-format.js'
import type { Session } from './session.js'
import { StdoutSink } from './stdout-sink.js'

/** One partition's part in the merge. `head` null: its next record has not come yet. */
interface Lane {
	readonly plan: PartitionPlan
	readonly context: FormatContext
	/** Fetched and not looked at. */
	readonly waiting: Fetched[]
	current: Fetched | null
	head: RecordReader | null
	isDone: boolean
}

export async function printMerged(
	session: Session,
	options: ConsumeOptions,
	partitions: readonly PartitionName[],
	interrupt: Interrupt,
): Promise<number> {
	const { range, isolation, endsNow } = options
	const plans = await planPartitions(session, partitions, range, isolation, endsNow, null)
	options.tell(plans)
	const consumer = new Consumer(session.cluster, consumerSettings(session, options))
	try {
		return await new Merge(options, await recordPrinter(options), consumer, interrupt).run(plans)
	} finally {
		consumer.close()
	}
}

class Merge {
	readonly #options: ConsumeOptions
	readonly #print: PrintRecord
	readonly #consumer: Consumer
	readonly #interrupt: Interrupt
	readonly #sink = new StdoutSink()
	readonly #lanes = new Map<string, Lane>()
	#isStopped = false

	constructor(options: ConsumeOptions, print: PrintRecord, consumer: Consumer, interrupt: Interrupt) {
		this.#options = options
		this.#print = print
		this.#consumer = consumer
		this.#interrupt = interrupt
		const stop = (): void => {
			this.#isStopped = true
			consumer.wake()
		}
		interrupt.onSignal(stop)
		this.#sink.onGone(stop)
	}

	async run(plans: readonly PartitionPlan[]): Promise<number> {
		const limit = this.#options.count ?? Number.POSITIVE_INFINITY
		const starts: { topic: string; partition: number; offset: number }[] = []
		for (const plan of plans) {
			const { topic, partition, from, until, end } = plan
			if (until === null || from >= until) continue
			const context = { topic, partition, nullText: this.#options.nullText }
			this.#lanes.set(`${topic}-${partition}`, {
				plan,
				context,
				waiting: [],
				current: null,
				head: null,
				isDone: false,
			})
			starts.push({ topic, partition, offset: Math.min(from, end) })
		}
		this.#consumer.assign(starts)
		let count = 0
		while (count < limit && !this.#isStopped) {
			const lane = await this.#oldest()
			if (lane === null) break
			this.#print(lane.head as RecordReader, lane.context, this.#sink)
			count++
			lane.head = (lane.head as RecordReader).next() ? lane.head : null
			this.#skip(lane)
			if (this.#sink.isFull) await this.#sink.drain()
		}
		await this.#sink.flush()
		if (this.#sink.failure !== null) throw this.#sink.failure
		return this.#interrupt.code ?? EXIT.done
	}

	/** The lane whose next record is the oldest, once all are known; null when none is left. */
	async #oldest(): Promise<Lane | null> {
		for (;;) {
			let oldest: Lane | null = null
			let isComplete = true
			for (const lane of this.#lanes.values()) {
				if (lane.head === null && !lane.isDone) await this.#advance(lane)
				if (lane.isDone) continue
				if (lane.head === null) isComplete = false
				else if (oldest?.head == null || lane.head.timestamp < oldest.head.timestamp) oldest = lane
			}
			if (isComplete || this.#isStopped) return this.#isStopped ? null : oldest
			this.#sink.push()
			await this.#take()
		}
	}

	/** Waits for one answer and puts it into its lane. */
	async #take(): Promise<void> {
		const event = await this.#consumer.next()
		if (event === null) return
		if ('kind' in event) {
			this.#options.tellReset(event)
			return
		}
		const lane = this.#lanes.get(`${event.topic}-${event.partition}`)
		if (lane === undefined || lane.isDone) return
		lane.waiting.push(event)
		this.#consumer.pause(event.topic, event.partition)
	}

	/** Goes on to the lane's next record as far as what was fetched reaches. */
	async #advance(lane: Lane): Promise<void> {
		const { topic, partition, until } = lane.plan
		while (lane.head === null && !lane.isDone) {
			if (lane.current === null) {
				lane.current = lane.waiting.shift() ?? null
				if (lane.current === null) {
					this.#consumer.resume(topic, partition)
					return
				}
			}
			const batch = await lane.current.nextBatch()
			if (batch !== null) {
				lane.head = batch.next() ? batch : null
				this.#skip(lane)
			} else {
				if (lane.current.nextOffset >= (until as number)) this.#finish(lane)
				lane.current = null
			}
		}
	}

	/** Passes over what is out of the range or filtered. */
	#skip(lane: Lane): void {
		const { filter } = this.#options
		const { from, until } = lane.plan
		for (let { head } = lane; head !== null; head = head.next() ? head : null) {
			lane.head = head
			if (head.offset >= (until as number)) {
				this.#finish(lane)
				return
			}
			if (head.offset >= from && (filter === null || filter(head))) return
		}
		lane.head = null
	}

	#finish(lane: Lane): void {
		lane.isDone = true
		lane.head = null
		this.#consumer.unassign([lane.plan])
	}
}
