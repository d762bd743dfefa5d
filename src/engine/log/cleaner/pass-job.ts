/**
 * What a pass is told of a log and what it asks for meanwhile: plain values, so that it may work in another thread
 * (`docs/adr/0011-compaction.md`). The log itself stays with the loop: only that flushes it and swaps its segments.
 *
 *     loop    job ─────────────────────▶ flush ──▶ swap in ──▶ swap in ──▶ cleaned offset
 *     pass        map the dirty part ──┘   write ──┘   write ──┘   result ──┘
 */

import type { Compression } from '../../../base/compression.js'
import type { Clock, Disk } from '../../../runtime/ports.js'
import type { AbortedTransaction } from '../txn-index.js'
import type { GroupSegment } from './groups.js'
import type { LastRecord } from './keep.js'

/** The log was truncated, closed or taken offline: the pass was given up, its files are gone. */
export class CleaningAborted extends Error {
	override readonly name = 'CleaningAborted'
}

/** What a pass worked in is gone; nothing is known against the log. */
export class PassLost extends Error {
	override readonly name = 'PassLost'
}

export interface SourceFacts extends GroupSegment {
	readonly modifiedMs: number
}

/** One pass over one log. */
export interface PassJob {
	/** For messages. */
	readonly log: string
	readonly directory: string
	readonly segmentBytes: number
	readonly segmentIndexBytes: number
	readonly indexIntervalBytes: number
	readonly deleteRetentionMs: number
	/** First offset that was not cleaned before, and first that may not be cleaned (a segment's base). */
	readonly firstDirtyOffset: number
	readonly bound: number
	/** All segments below `bound`, from the first. */
	readonly sources: readonly SourceFacts[]
	readonly aborted: readonly AbortedTransaction[]
	readonly lastRecords: ReadonlyMap<bigint, LastRecord>
	readonly nowMs: number
	readonly hashKey: Uint8Array
	/** For the offset map, and the share of its slots that is filled at most. */
	readonly mapBytes: number
	readonly loadFactor: number
	/** Bytes read at once; a larger batch is read whole. */
	readonly pieceBytes: number
	readonly decompressedBytesMax: number
}

/** The log's side of a pass. Each call may reject with {@link CleaningAborted} or `DiskError`. */
export interface PassHost {
	/** True once the pass has to end. Cheap: asked for each batch. */
	readonly isOver: boolean
	/** The whole log is on stable storage. */
	flush(): Promise<void>
	/** The cleaned segment `base` of `bytes` is synced and closed: it takes the place of the segments `replaced`. */
	swapIn(base: number, bytes: number, replaced: readonly number[]): Promise<void>
	/** So many bytes were read or written. A promise when the pass has to wait for their share of time. */
	charge(bytes: number): Promise<void> | null
}

/** What a runner gets: a pass in another thread cannot look at `isOver` itself. */
export interface RunnerHost extends PassHost {
	/** Calls `listener` once when the pass has to end. */
	onOver(listener: () => void): void
}

export interface PassResult {
	/** Everything below is clean now: the next pass begins here. */
	readonly endOffset: number
	/** Keys in the map. */
	readonly keys: number
	readonly segmentsBefore: number
	readonly segmentsAfter: number
	readonly bytesBefore: number
	readonly bytesAfter: number
}

/** The effects that a pass has by itself. */
export interface PassPorts {
	readonly disk: Disk
	readonly clock: Clock
	readonly compression: Compression
}

/** Where passes work. `ports` are for those that work here. */
export interface PassRunner {
	run(ports: PassPorts, job: PassJob, host: RunnerHost): Promise<PassResult>
	close(): Promise<void>
}
