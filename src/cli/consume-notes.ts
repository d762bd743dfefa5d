/**
 * What a plan does not find, said before reading begins: offsets past the end or gone, times in the future, ranges with
 * nothing in them; what is there instead, and what is done about it. Pure; one line a kind.
 */

import type { PartitionPlan } from './consume-plan.js'
import type { OffsetPoint, OffsetRange } from './offset-grammar.js'

/** Partitions that a line names; the others are counted. */
const NAMED_MAX = 4

export function planNotes(
	plans: readonly PartitionPlan[],
	range: OffsetRange,
	endsNow: boolean,
	nowMs: number,
): readonly string[] {
	const notes: string[] = []
	const add = (chosen: readonly PartitionPlan[], text: (places: string) => string): void => {
		if (chosen.length > 0) notes.push(text(placesOf(chosen)))
	}
	const isPast = (plan: PartitionPlan): boolean => plan.asked !== null && plan.asked >= plan.end && plan.asked > 0
	const isGone = (plan: PartitionPlan): boolean => plan.asked !== null && plan.asked < plan.start
	const isOver = (plan: PartitionPlan): boolean => plan.until !== null && plan.until <= plan.start && plan.start > 0
	const [stored, own] = [plans.filter(({ isStored }) => isStored), plans.filter(({ isStored }) => !isStored)]
	const past = own.filter(isPast)
	add(past, (places) => `${named(range.from)} is past the last record of ${places}: ${onPast(range, endsNow)}`)
	// A group that has read all stands at the end: that is nothing to speak of.
	const ahead = stored.filter((plan) => isPast(plan) && (plan.asked as number) > plan.end)
	add(ahead, (places) => `the group has committed more than there is in ${places}: ${onPast(range, endsNow)}`)
	const gone = own.filter((plan) => isGone(plan) && !isOver(plan))
	add(gone, (places) => `${named(range.from)} is no longer in ${places}: begins at the first`)
	add(
		stored.filter(isGone),
		(places) => `what the group would read next is no longer in ${places}: begins at the first`,
	)
	add(own.filter(isOver), (places) => `nothing of the range is left in ${places}`)
	const until = range.to
	if (until?.kind === 'offset' && !endsNow) {
		const waiting = plans.filter((plan) => plan.until !== null && plan.until > plan.end && !past.includes(plan))
		add(waiting, (places) => `the range ends at ${until.offset}, past the end of ${places}: waits for it; -e does not`)
	}
	const time = timeNote(plans, range.from, endsNow || range.to !== null, nowMs)
	if (time !== null) notes.push(time)
	if (until?.kind === 'time' && until.ms > nowMs) {
		notes.push(`${isoOf(until.ms)} lies in the future: ends at the present end`)
	}
	return notes
}

function onPast({ from, to }: OffsetRange, endsNow: boolean): string {
	if (endsNow) return 'nothing to read there'
	if (to !== null && from.kind === 'offset') return `waits for offset ${from.offset}`
	return 'waits for new records'
}

function timeNote(plans: readonly PartitionPlan[], point: OffsetPoint, endsNow: boolean, nowMs: number): string | null {
	if (point.kind !== 'time') return null
	const action = endsNow ? 'nothing to read' : 'waits for new records, from the end of each partition'
	const asked = plans.filter(({ isStored }) => !isStored)
	if (point.ms > nowMs) return `${isoOf(point.ms)} lies in the future: ${action}`
	// `now` and the like mean the end: nobody expects a record.
	if (asked.length === 0 || nowMs - point.ms < 1000 || !asked.every(({ isTooYoung }) => isTooYoung)) return null
	return `no record is from ${isoOf(point.ms)} or later: ${action}`
}

function isoOf(ms: number): string {
	return Math.abs(ms) > 8.64e15 ? `${ms} ms` : new Date(ms).toISOString()
}

function named(point: OffsetPoint): string {
	if (point.kind === 'offset') return `offset ${point.offset}`
	return point.kind === 'fromStart' ? `the first offset + ${point.count}` : 'the offset'
}

/** `orders-0 (first 0, next 30), orders-1 (…) and 3 more`. */
function placesOf(plans: readonly PartitionPlan[]): string {
	const places = plans
		.slice(0, NAMED_MAX)
		.map(({ topic, partition, start, end }) => `${topic}-${partition} (first ${start}, next ${end})`)
	const more = plans.length - places.length
	return `${places.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
