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
	/** What was there when the plan was made: first offset, and the one that the next record gets. */
	readonly start: number
	readonly end: number
	/** Offset that was asked for, where it may lie outside of what is there; null: a name or time that found its place. */
	readonly asked: number | null
	/** It is what the group has committed. */
	readonly isStored: boolean
	/** A time was asked for, and no record is that young. */
	readonly isTooYoung: boolean
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
		const point = froms[i] as Resolved
		const wanted = kept ?? point.offset
		const last = untils === null ? null : Math.max(start, (untils[i] as Resolved).offset)
		// An end that lies in the future is waited for, unless all ends now.
		const until = last !== null && endsNow ? Math.min(last, end) : last
		// Past the end there is nothing yet. A range is kept to; without one what comes next is meant.
		const from = Math.max(start, until === null ? Math.min(wanted, end) : wanted)
		const isStored = kept !== undefined
		const isNumber = isStored || range.from.kind === 'offset' || range.from.kind === 'fromStart'
		return {
			topic,
			partition,
			from,
			until,
			start,
			end,
			asked: isNumber ? wanted : null,
			isStored,
			isTooYoung: !isStored && point.isTooYoung,
		}
	})
}

interface Resolved {
	readonly offset: number
	readonly isTooYoung: boolean
}

/** The offset that a point means in each partition; numbers as they are, though they may lie outside. */
async function resolve(
	{ admin }: Session,
	bounds: readonly Bounds[],
	point: OffsetPoint,
	isolation: 0 | 1,
): Promise<Resolved[]> {
	if (point.kind === 'time') {
		const found = await offsetsAt(admin, bounds, () => point.ms, isolation)
		// No record that young: all that comes is younger.
		return bounds.map(({ start, end }, i) => {
			const offset = found[i] as number
			return offset < 0 ? { offset: end, isTooYoung: true } : { offset: Math.max(start, offset), isTooYoung: false }
		})
	}
	return bounds.map((each) => ({ offset: offsetOf(point, each), isTooYoung: false }))
}

function offsetOf(point: Exclude<OffsetPoint, { readonly kind: 'time' }>, { start, end }: Bounds): number {
	switch (point.kind) {
		case 'start':
		case 'stored':
			return start
		case 'end':
			return end
		case 'offset':
			return point.offset
		case 'fromStart':
			return start + point.count
		case 'fromEnd':
			return Math.max(start, end - point.count)
	}
}

/** Where partitions begin that the group has no offset for: what is committed of those that gave nothing. */
export function startsOf(plans: readonly PartitionPlan[]): { topic: string; partition: number; offset: number }[] {
	return plans
		.filter(({ isStored, from, end }) => !isStored && from <= end)
		.map(({ topic, partition, from }) => ({ topic, partition, offset: from }))
}
