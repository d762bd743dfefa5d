/** Which log is compacted next, and what of it may be touched (21.1, 21.2): pure. */

/** What the choice reads of a segment. Times are asked only where a lag is set. */
export interface DirtySegment {
	readonly baseOffset: number
	readonly size: number
	/** Largest timestamp of the first batch, -1 without. */
	readonly firstTimestamp: number
	/** Largest timestamp, -1 without. */
	readonly maxTimestamp: number
	modifiedMs(): number
}

/** A log as the choice sees it. */
export interface DirtyLog {
	/** Ascending, at least one; the last is the active one. */
	readonly segments: readonly DirtySegment[]
	readonly logStartOffset: number
	readonly logEndOffset: number
	readonly lastStableOffset: number
	/** From the checkpoint: all below was cleaned. Null: never. */
	readonly cleanedOffset: number | null
	readonly minCleanableDirtyRatio: number
	readonly minCompactionLagMs: number
	readonly maxCompactionLagMs: number
}

export interface DirtyRange {
	/** The offset map begins here. */
	readonly firstDirtyOffset: number
	/** Base of the first segment that may not be touched: nothing at or above it changes. */
	readonly bound: number
	readonly cleanBytes: number
	/** Bytes of segments in the dirty part below the bound. */
	readonly cleanableBytes: number
	/** Cleanable bytes of all bytes below the bound; 0 when there are none. */
	readonly ratio: number
	/** The oldest dirty record has waited longer than max.compaction.lag.ms. */
	readonly isOverdue: boolean
	/** The checkpoint lay outside the log: it stands at the log start now. */
	readonly isReset: boolean
	/** A pass should be made. */
	readonly isDue: boolean
}

/** What of `log` can be cleaned at `nowMs`. */
export function dirtyRange(log: DirtyLog, nowMs: number): DirtyRange {
	const { segments, logStartOffset } = log
	const cleaned = log.cleanedOffset ?? logStartOffset
	const isReset = cleaned < logStartOffset || cleaned > log.logEndOffset
	const firstDirtyOffset = isReset ? logStartOffset : cleaned
	const activeBase = (segments[segments.length - 1] as DirtySegment).baseOffset
	const dirty = closedFrom(segments, firstDirtyOffset)
	let uncleanable = Math.min(log.lastStableOffset, activeBase)
	if (log.minCompactionLagMs > 0) {
		const youngest = nowMs - log.minCompactionLagMs
		const young = dirty.find((segment) => newestMs(segment) > youngest)
		if (young !== undefined) uncleanable = Math.min(uncleanable, young.baseOffset)
	}
	// Whole segments only: the one that holds the first uncleanable offset stays as it is.
	const bound = closedFrom(segments, uncleanable)[0]?.baseOffset ?? activeBase
	let cleanBytes = 0
	for (const segment of segments) if (segment.baseOffset < Math.min(firstDirtyOffset, bound)) cleanBytes += segment.size
	let cleanableBytes = 0
	for (const segment of dirty) if (segment.baseOffset < bound) cleanableBytes += segment.size
	const total = cleanBytes + cleanableBytes
	const ratio = total === 0 ? 0 : cleanableBytes / total
	const isOverdue = hasWaited(dirty, log.maxCompactionLagMs, nowMs)
	const isDue = cleanableBytes > 0 && firstDirtyOffset < bound && (isOverdue || ratio > log.minCleanableDirtyRatio)
	return { firstDirtyOffset, bound, cleanBytes, cleanableBytes, ratio, isOverdue, isReset, isDue }
}

/** The one with the highest ratio of those that are due; null when none is. */
export function dirtiest<T extends { readonly range: DirtyRange }>(candidates: readonly T[]): T | null {
	let best: T | null = null
	for (const candidate of candidates) {
		if (candidate.range.isDue && (best === null || candidate.range.ratio > best.range.ratio)) best = candidate
	}
	return best
}

/** Closed segments from the one that holds `offset` on. */
function closedFrom(segments: readonly DirtySegment[], offset: number): readonly DirtySegment[] {
	let from = 0
	while (from + 1 < segments.length && (segments[from + 1] as DirtySegment).baseOffset <= offset) from++
	return segments.slice(from, -1)
}

function newestMs(segment: DirtySegment): number {
	return segment.maxTimestamp >= 0 ? segment.maxTimestamp : segment.modifiedMs()
}

function hasWaited(dirty: readonly DirtySegment[], maxLagMs: number, nowMs: number): boolean {
	// Never, as it stands by default: no file has to be looked at.
	if (maxLagMs >= nowMs) return false
	const latest = nowMs - Math.max(maxLagMs, 0)
	return dirty.some((segment) => segment.firstTimestamp > 0 && segment.firstTimestamp < latest)
}
