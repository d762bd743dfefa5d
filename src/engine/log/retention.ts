/** Which segments retention may take (20.4): a prefix, never with data at or above the high watermark. */

import type { LogCore } from './log-core.js'
import type { Segment } from './segment.js'
import { dropOldest } from './truncate.js'

/** How many of the oldest segments `isOver` takes, the active one included only when it holds something. */
function countPrefix(core: LogCore, isOver: (segment: Segment, next: number) => boolean): number {
	const { all } = core.segments
	let count = 0
	for (const segment of all) {
		const isActive = segment === core.segments.active
		const next = core.segments.endOf(segment, core.logEndOffset)
		if (next > core.highWatermark || (isActive && segment.size === 0) || !isOver(segment, next)) break
		count++
	}
	return count
}

function remove(core: LogCore, count: number, reason: string): number {
	if (count === 0) return 0
	const last = core.segments.all[count - 1] as Segment
	const next = core.segments.endOf(last, core.logEndOffset)
	// The active segment may go too: a new one takes its place first.
	if (count === core.segments.all.length) core.roll(core.logEndOffset)
	core.raiseLogStart(next)
	core.services.logger.info('old segments are deleted', { log: core.name, count, logStartOffset: next, reason })
	dropOldest(core, count)
	return count
}

/** Applies the log-start, size and time rules in that order; returns how many segments went. */
export function applyRetention(core: LogCore): number {
	if (core.fencedBy !== null || core.isClosed || core.isCutting || core.cleaning !== null) return 0
	const { config } = core
	const byStart = countPrefix(core, (segment, next) => segment !== core.segments.active && next <= core.logStartOffset)
	let removed = remove(core, byStart, 'log start')
	if (!config.isDeleted) return removed
	if (config.retentionBytes >= 0) {
		let excess = core.sizeBytes - config.retentionBytes
		const bySize = countPrefix(core, (segment) => {
			if (excess - segment.size < 0) return false
			excess -= segment.size
			return true
		})
		removed += remove(core, bySize, 'size')
	}
	if (config.retentionMs >= 0) {
		const now = core.services.clock.wallMs()
		const byTime = countPrefix(core, (segment) => {
			const newest = segment.maxTimestamp >= 0 ? segment.maxTimestamp : segment.modifiedMs()
			return now - newest > config.retentionMs
		})
		removed += remove(core, byTime, 'time')
	}
	return removed
}
