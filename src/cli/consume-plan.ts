/** From the offset grammar to numbers: where each partition is read from, and where its reading ends. */

import { CliError, EXIT } from './errors.js'
import type { OffsetPoint, OffsetRange } from './offset-grammar.js'
import type { Session } from './session.js'

export interface PartitionName {
	readonly topic: string
	readonly partition: number
}

/** Reading of one partition: `[from, until)`; `until` null follows new records. */
export interface PartitionPlan extends PartitionName {
	readonly from: number
	readonly until: number | null
}

export interface Bounds extends PartitionName {
	readonly start: number
	/** End for the isolation level that was asked for. */
	readonly end: number
}

/** First and end offsets of partitions. Rejects with the first partition that does not answer. */
export async function boundsOf(
	{ admin }: Session,
	partitions: readonly PartitionName[],
	isolation: 0 | 1,
): Promise<Bounds[]> {
	if (partitions.length === 0) return []
	const starts = await offsetsAt(admin, partitions, () => -2, 0)
	const ends = await offsetsAt(admin, partitions, () => -1, isolation)
	return partitions.map(({ topic, partition }, i) => ({
		topic,
		partition,
		start: starts[i] as number,
		end: Math.max(starts[i] as number, ends[i] as number),
	}))
}

async function offsetsAt(
	admin: Session['admin'],
	partitions: readonly PartitionName[],
	timestampOf: (each: PartitionName) => number,
	isolation: 0 | 1,
): Promise<number[]> {
	const asked = partitions.map((each) => ({ ...each, timestamp: timestampOf(each) }))
	const listed = await admin.listOffsets(asked, isolation)
	return listed.map(({ topic, partition, errorCode, offset }) => {
		if (errorCode !== 0) {
			throw new CliError(`offsets of ${topic}-${partition} cannot be had: code ${errorCode}`, EXIT.failed)
		}
		return offset
	})
}

/**
 * Plans for partitions. `stored` are the group's offsets by `topic-partition`; where there is none, `range.from` decides
 * (start, if that is `stored` itself). `endsNow`: reading ends where each partition ends now.
 */
export async function planPartitions(
	session: Session,
	partitions: readonly PartitionName[],
	range: OffsetRange,
	isolation: 0 | 1,
	endsNow: boolean,
	stored: ReadonlyMap<string, number> | null,
): Promise<PartitionPlan[]> {
	const bounds = await boundsOf(session, partitions, isolation)
	const froms = await resolve(session, bounds, range.from, isolation)
	const to = range.to ?? (endsNow ? { kind: 'end' as const } : null)
	const untils = to === null ? null : await resolve(session, bounds, to, isolation)
	return bounds.map(({ topic, partition, start, end }, i) => {
		const kept = stored?.get(`${topic}-${partition}`)
		const from = Math.max(kept ?? (froms[i] as number), start)
		const until = untils === null ? null : (untils[i] as number)
		// An end that lies in the future is waited for, unless all ends now.
		return { topic, partition, from, until: until !== null && endsNow ? Math.min(until, end) : until }
	})
}

/** The offset that a point means in each partition, never below its start. */
async function resolve(
	{ admin }: Session,
	bounds: readonly Bounds[],
	point: OffsetPoint,
	isolation: 0 | 1,
): Promise<number[]> {
	switch (point.kind) {
		case 'start':
		case 'stored':
			return bounds.map(({ start }) => start)
		case 'end':
			return bounds.map(({ end }) => end)
		case 'offset':
			return bounds.map(({ start }) => Math.max(point.offset, start))
		case 'fromStart':
			return bounds.map(({ start }) => start + point.count)
		case 'fromEnd':
			return bounds.map(({ start, end }) => Math.max(start, end - point.count))
		case 'time': {
			const found = await offsetsAt(admin, bounds, () => point.ms, isolation)
			// No record that young: all that comes is younger.
			return bounds.map(({ start, end }, i) => ((found[i] as number) < 0 ? end : Math.max(start, found[i] as number)))
		}
	}
}
