/** `kcli consume --latest-per-key`: of each key its last record, as compaction would leave it; in order of time. */

import { Consumer } from '../client/consumer.js'
import type { RecordReader } from '../client/record-reader.js'
import type { ConsumeOptions } from './consume-options.js'
import { inOrder, type KeptRecord, Paper, type PrintRecord, recordPrinter, sortable } from './consume-paper.js'
import { type PartitionName, type PartitionPlan, planPartitions } from './consume-plan.js'
import { consumerSettings } from './consume-printer.js'
import { EXIT } from './errors.js'
import type { Interrupt } from './interrupt.js'
import type { Session } from './session.js'
import { StdoutSink } from './stdout-sink.js'

/** `isShown` false: the last record of the key does not pass the filter. */
type Latest = KeptRecord & { readonly isShown: boolean }

interface Reading {
	readonly options: ConsumeOptions
	readonly print: PrintRecord
	readonly paper: Paper
	/** By topic: keys as bytes. A key has one partition, unless its topic grew: then the younger record counts. */
	readonly topics: Map<string, Map<string, Latest>>
	withoutKey: number
}

/** Reads to the end, keeps the last of each key in memory, prints; the exit code. */
export async function printLatest(
	session: Session,
	options: ConsumeOptions,
	partitions: readonly PartitionName[],
	interrupt: Interrupt,
): Promise<number> {
	const plans = await planPartitions(session, partitions, options.range, options.isolation, true, null)
	options.tell(plans)
	const print = await recordPrinter(options)
	const reading: Reading = { options, print, paper: new Paper(), topics: new Map(), withoutKey: 0 }
	await readAll(session, reading, plans, interrupt)
	if (interrupt.code !== null) return interrupt.code
	const kept = [...reading.topics.values()].flatMap((latest) => [...latest.values()])
	const shown = kept.filter(({ isShown }) => isShown).sort(inOrder)
	const sink = new StdoutSink()
	for (const { bytes } of shown) {
		sink.bytes(bytes, 0, bytes.length)
		if (sink.isFull) await sink.drain()
		if (sink.isGone) break
	}
	await sink.flush()
	if (sink.failure !== null) throw sink.failure
	if (reading.withoutKey > 0) {
		options.note(`${reading.withoutKey} record${reading.withoutKey === 1 ? '' : 's'} without a key left out`)
	}
	return EXIT.done
}

async function readAll(
	session: Session,
	reading: Reading,
	plans: readonly PartitionPlan[],
	interrupt: Interrupt,
): Promise<void> {
	const open = new Map(
		plans
			.filter(({ from, until }) => until !== null && from < until)
			.map((plan) => [`${plan.topic}-${plan.partition}`, plan]),
	)
	const consumer = new Consumer(session.cluster, consumerSettings(session, reading.options))
	interrupt.onSignal(() => consumer.wake())
	consumer.assign([...open.values()].map(({ topic, partition, from }) => ({ topic, partition, offset: from })))
	try {
		while (open.size > 0 && interrupt.code === null) {
			const event = await consumer.next()
			if (event === null) continue
			if ('kind' in event) {
				reading.options.tellReset(event)
				continue
			}
			const key = `${event.topic}-${event.partition}`
			const plan = open.get(key)
			if (plan === undefined) continue
			for (;;) {
				const batch = await event.nextBatch()
				if (batch === null) break
				keep(reading, plan, batch)
			}
			if (event.nextOffset >= (plan.until as number)) {
				open.delete(key)
				consumer.unassign([plan])
			}
		}
	} finally {
		consumer.close()
	}
}

function keep(reading: Reading, { topic, partition, from, until }: PartitionPlan, batch: RecordReader): void {
	const { options, print, paper } = reading
	const latest = reading.topics.get(topic) ?? new Map<string, Latest>()
	reading.topics.set(topic, latest)
	const place = sortable(topic, partition)
	const context = { topic, partition, nullText: options.nullText }
	while (batch.next()) {
		if (batch.offset < from || batch.offset >= (until as number)) continue
		const { offset, timestamp } = batch
		if (batch.keyLength < 0) {
			reading.withoutKey++
			continue
		}
		const key = batch.bytes.toString('latin1', batch.keyAt, batch.keyAt + batch.keyLength)
		const before = latest.get(key)
		if (before !== undefined && before.partition !== place && before.timestamp > timestamp) continue
		const isShown = options.filter === null || options.filter(batch)
		if (isShown) print(batch, context, paper)
		latest.set(key, { timestamp, offset, partition: place, bytes: paper.take(), isShown })
	}
}
