/** Reads what stands between two offsets of several partitions, once, and no more. */

import { Consumer } from '../client/consumer.js'
import { CONSUMER_DEFAULTS } from '../client/consumer-settings.js'
import type { RecordReader } from '../client/record-reader.js'
import type { Bounds } from './consume-plan.js'
import { CliError } from './errors.js'
import type { Session } from './session.js'

/**
 * Calls `onRecord` with a cursor that stands on each record of `bounds`, in the order of each partition. Rejects when a
 * partition was cut while it was read, or cannot be read for the time of one operation.
 */
export async function readRanges(
	session: Session,
	bounds: readonly Bounds[],
	onRecord: (place: Bounds, record: RecordReader) => void,
): Promise<void> {
	const { operationTimeoutMs } = session.cluster.settings
	const settings = { ...CONSUMER_DEFAULTS, ...session.consumerSettings, unreachableMsMax: operationTimeoutMs }
	const consumer = new Consumer(session.cluster, settings)
	const open = new Map(bounds.filter(({ start, end }) => end > start).map((each) => [each.partition, each]))
	try {
		consumer.assign([...open.values()].map(({ topic, partition, start }) => ({ topic, partition, offset: start })))
		while (open.size > 0) {
			const event = await consumer.next()
			if (event === null) continue
			if ('kind' in event) throw new CliError(`${event.topic}-${event.partition} was cut while it was read`)
			const each = open.get(event.partition)
			if (each === undefined) continue
			for (;;) {
				const batch = await event.nextBatch()
				if (batch === null) break
				while (batch.next()) {
					if (batch.offset >= each.start && batch.offset < each.end) onRecord(each, batch)
				}
			}
			if (event.nextOffset < each.end) continue
			open.delete(each.partition)
			consumer.unassign([each])
		}
	} finally {
		consumer.close()
	}
}
