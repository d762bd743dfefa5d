/** Cuts of a log by a follower (13.6), whole restarts, and the removal of old segments (5.17, 20.4, 20.5). */

import type { LogCore } from './log-core.js'
import { replayTo } from './recovery.js'
import type { Segment } from './segment.js'

/** Renames the files of segments that left the list to `.deleted`, and removes them after file.delete.delay.ms. */
export function discardSegments(core: LogCore, segments: readonly Segment[], isDelayed: boolean): void {
	const { disk, clock, logger } = core.services
	const doomed: string[] = []
	for (const segment of segments) {
		segment.abandon()
		for (const path of segment.paths()) {
			if (disk.statNow(path) === null) continue
			if (isDelayed) {
				disk.renameNow(path, `${path}.deleted`)
				doomed.push(`${path}.deleted`)
			} else disk.removeNow(path)
		}
	}
	if (doomed.length === 0) return
	clock.after(core.config.fileDeleteDelayMs, () => {
		for (const path of doomed) {
			try {
				disk.removeNow(path)
			} catch (error) {
				logger.warn('could not remove an old segment', { path, error: String(error) })
			}
		}
	})
}

/** Drops everything at or above `offset`. A cut inside a batch takes the whole batch. */
export async function truncateTo(core: LogCore, offset: number): Promise<void> {
	if (offset >= core.logEndOffset) return
	core.cutCleaned(offset)
	if (offset < core.segments.first.baseOffset) {
		await truncateFullyAndStartAt(core, offset)
		return
	}
	core.tail.clear()
	discardSegments(core, core.segments.popFrom(offset + 1), false)
	const active = core.segments.active
	const place = active.find(offset)
	let end = offset
	if (place !== null) {
		active.truncate(place.baseOffset, place.position)
		// Never below the log start, which other checkpoints hold fast.
		if (place.baseOffset < offset) end = Math.max(place.baseOffset, Math.min(offset, core.logStartOffset))
	}
	await afterCut(core, end)
	if (place !== null && end > place.baseOffset) leaveDeleted(core, end)
}

/**
 * The cut took a batch in which the log start lies: all that is left was deleted. It goes, since what is appended next would
 * follow it with a gap, and recovery takes a gap between segments for a loss and drops what is behind it.
 */
function leaveDeleted(core: LogCore, end: number): void {
	core.snapshots.write(core.producers)
	discardSegments(core, core.segments.popFrom(0), false)
	core.openSegment(end)
	core.snapshots.removeBelow(end)
}

/** Drops everything and begins anew at `offset`. */
export async function truncateFullyAndStartAt(core: LogCore, offset: number): Promise<void> {
	core.cutCleaned(offset)
	core.tail.clear()
	discardSegments(core, core.segments.popFrom(0), false)
	core.openSegment(offset)
	core.epochs.clear()
	core.snapshots.removeAll()
	core.logStartOffset = offset
	await afterCut(core, offset)
}

/**
 * An empty follower whose start lies inside a batch of the leader takes that batch whole (KAFKA-6975): its files begin at
 * the batch's base, the log start stays.
 */
export function beginInsideBatch(core: LogCore, baseOffset: number): void {
	core.cutCleaned(baseOffset)
	core.tail.clear()
	discardSegments(core, core.segments.popFrom(0), false)
	core.snapshots.removeAll()
	core.producers.clear(baseOffset)
	core.epochs.clear()
	core.openSegment(baseOffset)
	core.logEndOffset = baseOffset
	core.recoveryPoint = Math.min(core.recoveryPoint, baseOffset)
}

async function afterCut(core: LogCore, end: number): Promise<void> {
	core.cutCleaned(end)
	core.logEndOffset = end
	core.logStartOffset = Math.min(core.logStartOffset, end)
	core.recoveryPoint = Math.min(core.recoveryPoint, end)
	core.epochs.truncateFromEnd(end)
	core.snapshots.removeAbove(end)
	core.producers.clear(0)
	core.setHighWatermark(Math.min(core.highWatermark, end))
	core.isCutting = true
	try {
		await replayTo(core, end)
	} finally {
		core.isCutting = false
	}
	core.producers.onHighWatermark(core.highWatermark)
}

/** Drops the oldest `count` segments: the log start has moved up before, files go after the delay (20.5). */
export function dropOldest(core: LogCore, count: number): void {
	discardSegments(core, core.segments.shiftMany(count), true)
}
