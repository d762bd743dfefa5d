/** `kcli consume --tail N`: the last N records over all partitions, in order of time. */

import { Consumer } from '../client/consumer.js'
import type { RecordReader } from '../client/record-reader.js'
import type { ConsumeOptions } from './consume-options.js'
import { inOrder, type KeptRecord, Paper, type PrintRecord, recordPrinter, sortable } from './consume-paper.js'
import { type Bounds, boundsOf, type PartitionName } from './consume-plan.js'
import { consumerSettings } from './consume-printer.js'
import type { Session } from './session.js'
import { StdoutSink } from './stdout-sink.js'

export async function printTail(
	session: Session,
	options: ConsumeOptions,
	partitions: readonly PartitionName[],
): Promise<number> {
	const wanted = options.tail as number
	const bounds = await boundsOf(session, partitions, options.isolation)
	options.note(`the last ${wanted} of ${options.topics.join(', ')}; ends then`)
	const kept: KeptRecord[] = []
	let open = bounds.filter(({ start, end }) => end > start)
	// Offsets may have gaps (compaction, markers, filters): a partition that gave too few is read from further back.
	for (let span = wanted; open.length > 0; span *= 8) {
		const found = await readLast(session, options, open, span)
		const again: Bounds[] = []
		for (const each of open) {
			const records = found.get(`${each.topic}-${each.partition}`) ?? []
			if (records.length < wanted && each.end - span > each.start) again.push(each)
			else kept.push(...records.slice(-wanted))
		}
		open = again
	}
	kept.sort(inOrder)
	const sink = new StdoutSink()
	for (const { bytes } of kept.slice(-wanted)) sink.bytes(bytes, 0, bytes.length)
	await sink.flush()
	if (sink.failure !== null) throw sink.failure
	return 0
}

/** Printed records of the last `span` offsets of each partition. */
async function readLast(
	session: Session,
	options: ConsumeOptions,
	bounds: readonly Bounds[],
	span: number,
): Promise<Map<string, KeptRecord[]>> {
	const found = new Map<string, KeptRecord[]>()
	const open = new Map(bounds.map((each) => [`${each.topic}-${each.partition}`, each]))
	const consumer = new Consumer(session.cluster, consumerSettings(session, options))
	const paper = new Paper()
	const print = await recordPrinter(options)
	consumer.assign(
		bounds.map(({ topic, partition, start, end }) => ({ topic, partition, offset: Math.max(start, end - span) })),
	)
	try {
		while (open.size > 0) {
			const event = await consumer.next()
			if (event === null) break
			if ('kind' in event) continue
			const key = `${event.topic}-${event.partition}`
			const each = open.get(key)
			if (each === undefined) continue
			const from = Math.max(event.facts.fetchOffset, each.end - span)
			let records = found.get(key)
			if (records === undefined) {
				records = []
				found.set(key, records)
			}
			for (;;) {
				const batch = await event.nextBatch()
				if (batch === null) break
				collect(batch, from, each, options, print, paper, records)
			}
			if (event.nextOffset >= each.end) {
				open.delete(key)
				consumer.unassign([each])
			}
		}
	} finally {
		consumer.close()
	}
	return found
}

function collect(
	batch: RecordReader,
	from: number,
	{ topic, partition, end }: Bounds,
	options: ConsumeOptions,
	print: PrintRecord,
	paper: Paper,
	into: KeptRecord[],
): void {
	const context = { topic, partition, nullText: options.nullText }
	while (batch.next()) {
		if (batch.offset < from || batch.offset >= end) continue
		if (options.filter !== null && !options.filter(batch)) continue
		print(batch, context, paper)
		const { timestamp, offset } = batch
		into.push({ timestamp, offset, partition: sortable(topic, partition), bytes: paper.take() })
	}
}
