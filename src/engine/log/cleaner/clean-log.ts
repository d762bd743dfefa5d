/** A pass over one log, from the log's side: what it is told, what it gets, what becomes of the log when it is done. */

import type { CleaningRun, LogCore } from '../log-core.js'
import { Segment } from '../segment.js'
import type { DirtyRange } from './dirty-range.js'
import { HASH_KEY_BYTES } from './key-hash.js'
import { CleaningAborted, type PassJob, type PassResult, type PassRunner, type RunnerHost } from './pass-job.js'
import { CLEANED, swapIn } from './swap.js'
import type { Throttle } from './throttle.js'

/** What a pass may use. */
export interface PassLimits {
	/** For the offset map of one pass. */
	readonly mapBytes: number
	/** Share of the map's slots that is filled at most. */
	readonly loadFactor: number
	/** Bytes read at once; a larger batch is read whole. */
	readonly pieceBytes: number
	readonly throttle: Throttle
	readonly runner: PassRunner
}

/**
 * Makes a pass over what `range` allows, and sets `core.cleanedOffset`. Rejects with {@link CleaningAborted}, with
 * `SegmentDamage`, `RecordFormatError` or `CodecError` when the log holds what cannot be read, with `PassLost`, and with
 * `DiskError`; the log is whole in each case but the last.
 */
export async function cleanLog(core: LogCore, range: DirtyRange, limits: PassLimits): Promise<PassResult> {
	const run = new CleaningSwitch()
	core.cleaning = run
	const { disk, clock, compression } = core.services
	try {
		const result = await limits.runner.run({ disk, clock, compression }, jobOf(core, range, limits), {
			get isOver() {
				return run.isAborted
			},
			onOver: (listener) => run.onAbort(listener),
			flush: () => core.flush(core.logEndOffset),
			swapIn: async (base, bytes, replaced) => swap(core, run, base, bytes, replaced),
			charge: (bytes) => limits.throttle.charge(bytes),
		} satisfies RunnerHost)
		// In one turn: a truncation that came in between has put the mark where it belongs.
		if (run.isAborted) throw new CleaningAborted(core.name)
		core.cleanedOffset = result.endOffset
		return result
	} catch (error) {
		// The folder of a closed log is another one's, or nobody's.
		if (!core.isClosed && core.fencedBy === null) removeUnfinished(core)
		// What a log that went away answers is not its own fault.
		throw run.isAborted ? new CleaningAborted(core.name) : error
	} finally {
		core.cleaning = null
	}
}

class CleaningSwitch implements CleaningRun {
	isAborted = false
	#listener: (() => void) | null = null

	abort(): void {
		this.isAborted = true
		this.#listener?.()
		this.#listener = null
	}

	onAbort(listener: () => void): void {
		if (this.isAborted) listener()
		else this.#listener = listener
	}
}

function jobOf(core: LogCore, range: DirtyRange, limits: PassLimits): PassJob {
	const { clock, random, disk, decompressedBytesMax } = core.services
	const { segmentBytes, segmentIndexBytes, indexIntervalBytes, deleteRetentionMs } = core.config
	const sources = core.segments.all.filter((segment) => segment.baseOffset < range.bound)
	// A marker may stand above the bound: the index entry is in its segment.
	const aborted = core.segments.all.flatMap((segment) => segment.txnIndex.entries())
	return {
		log: core.name,
		directory: core.directory,
		segmentBytes,
		segmentIndexBytes,
		indexIntervalBytes,
		deleteRetentionMs,
		firstDirtyOffset: range.firstDirtyOffset,
		bound: range.bound,
		sources: sources.map((segment) => ({
			baseOffset: segment.baseOffset,
			endOffset: core.segments.endOf(segment, core.logEndOffset),
			bytes: segment.size,
			offsetIndexBytes: disk.statNow(segment.offsetIndex.path)?.size ?? 0,
			timeIndexBytes: disk.statNow(segment.timeIndex.path)?.size ?? 0,
			modifiedMs: segment.modifiedMs(),
		})),
		aborted: aborted.filter((entry) => entry.firstOffset < range.bound),
		lastRecords: core.producers.lastRecords(),
		nowMs: clock.wallMs(),
		hashKey: random.bytes(HASH_KEY_BYTES),
		mapBytes: limits.mapBytes,
		loadFactor: limits.loadFactor,
		pieceBytes: limits.pieceBytes,
		decompressedBytesMax,
	}
}

function swap(core: LogCore, run: CleaningRun, base: number, bytes: number, replaced: readonly number[]): void {
	if (run.isAborted) throw new CleaningAborted(core.name)
	const bases = new Set(replaced)
	const old = core.segments.all.filter((segment) => bases.has(segment.baseOffset))
	const { disk, clock } = core.services
	swapIn(core, new Segment(disk, core.directory, base, bytes, core.config, clock.wallMs(), CLEANED), old)
}

/** What a pass that failed has left of its last group. */
function removeUnfinished(core: LogCore): void {
	const { disk } = core.services
	for (const { name } of disk.listNow(core.directory)) {
		if (name.endsWith(CLEANED)) disk.removeNow(disk.join(core.directory, name))
	}
}
