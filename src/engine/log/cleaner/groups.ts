/** Which neighbouring segments a pass writes into one (21.7): pure. */

/** What grouping reads of a segment. */
export interface GroupSegment {
	readonly baseOffset: number
	/** Offset after its last; the next segment's base is an upper bound that does. */
	readonly endOffset: number
	readonly bytes: number
	readonly offsetIndexBytes: number
	readonly timeIndexBytes: number
}

export interface GroupLimits {
	readonly segmentBytes: number
	readonly segmentIndexBytes: number
}

const SPAN_MAX = 0x7fff_ffff

/**
 * Runs of neighbours whose sizes together keep within `limits` and whose offsets span at most 2^31-1 from the first base
 * (KAFKA-6264); empty segments join any group.
 */
export function groupSegments<T extends GroupSegment>(segments: readonly T[], limits: GroupLimits): T[][] {
	const groups: T[][] = []
	let group: T[] = []
	let bytes = 0
	let offsetIndexBytes = 0
	let timeIndexBytes = 0
	for (const segment of segments) {
		bytes += segment.bytes
		offsetIndexBytes += segment.offsetIndexBytes
		timeIndexBytes += segment.timeIndexBytes
		const first = group[0]
		const fits =
			first !== undefined &&
			bytes <= limits.segmentBytes &&
			offsetIndexBytes <= limits.segmentIndexBytes &&
			timeIndexBytes <= limits.segmentIndexBytes &&
			(segment.bytes === 0 || segment.endOffset - 1 - first.baseOffset <= SPAN_MAX)
		if (fits) {
			group.push(segment)
			continue
		}
		group = [segment]
		groups.push(group)
		bytes = segment.bytes
		offsetIndexBytes = segment.offsetIndexBytes
		timeIndexBytes = segment.timeIndexBytes
	}
	return groups
}
