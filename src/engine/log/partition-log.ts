/**
 * One partition's log as the broker sees it. Its owner is the replica layer; coordinators and handlers reach it through
 * there. All state is changed on the event loop; methods that answer a value do not suspend.
 */

import type { TopicId } from '../../base/ids.js'
import type { DiskError } from '../../runtime/ports.js'
import { Appender, type AppendOutcome, type LeaderAppendOptions } from './append.js'
import { appendAsFollower, type FollowerOutcome } from './append-follower.js'
import { cleanLog, type PassLimits } from './cleaner/clean-log.js'
import { type DirtyRange, dirtyRange } from './cleaner/dirty-range.js'
import type { PassResult } from './cleaner/pass-job.js'
import type { EpochEnd, EpochEntry } from './epoch-cache.js'
import { writePartitionMetadata } from './folder.js'
import type { LogConfig } from './log-config.js'
import type { LogCore } from './log-core.js'
import type { ActiveProducer } from './producer-state.js'
import { type ReadOutcome, type ReadRequest, readLog } from './read.js'
import { applyRetention } from './retention.js'
import { offsetForTimestamp, offsetOfMaxTimestamp, offsetsBefore, type TimedOffset } from './time-queries.js'
import { truncateFullyAndStartAt, truncateTo } from './truncate.js'

/** A segment as tools list it. */
export interface SegmentInfo {
	readonly baseOffset: number
	/** Offset after its last; the log end for the active one. */
	readonly endOffset: number
	readonly sizeBytes: number
	readonly maxTimestamp: number
	readonly isActive: boolean
}

export class PartitionLog {
	readonly #core: LogCore
	readonly #appender: Appender

	constructor(core: LogCore) {
		this.#core = core
		this.#appender = new Appender(core)
	}

	/** `topic-partition`. */
	get name(): string {
		return this.#core.name
	}

	get topic(): string {
		return this.#core.topic
	}

	get partition(): number {
		return this.#core.partition
	}

	/** The partition's folder. */
	get directory(): string {
		return this.#core.directory
	}

	/** Null until the topic's id is known here. */
	get topicId(): TopicId | null {
		return this.#core.topicId
	}

	get config(): LogConfig {
		return this.#core.config
	}

	get logStartOffset(): number {
		return this.#core.logStartOffset
	}

	get logEndOffset(): number {
		return this.#core.logEndOffset
	}

	get highWatermark(): number {
		return this.#core.highWatermark
	}

	get lastStableOffset(): number {
		return this.#core.lastStableOffset
	}

	/** All below is on stable storage. */
	get recoveryPoint(): number {
		return this.#core.recoveryPoint
	}

	/** Newest leader epoch known to the log, -1 when none. */
	get latestEpoch(): number {
		return this.#core.epochs.latestEpoch
	}

	get epochs(): readonly EpochEntry[] {
		return this.#core.epochs.entries
	}

	get sizeBytes(): number {
		return this.#core.sizeBytes
	}

	/** A disk error has ended this log: every append and read answers 56 until it is loaded anew. */
	get isFenced(): boolean {
		return this.#core.fencedBy !== null
	}

	/** Base offset of the first segment: it may lie below the log start. */
	get firstSegmentOffset(): number {
		return this.#core.segments.first.baseOffset
	}

	/** Writes `partition.metadata`. The id may be set once; another one is the caller's error to report. */
	setTopicId(topicId: TopicId): void {
		if (this.#core.topicId === topicId) return
		writePartitionMetadata(this.#core.services.disk, this.#core.directory, topicId)
		this.#core.topicId = topicId
	}

	/** Takes effect at once; index sizes at the next segment. */
	updateConfig(config: LogConfig): void {
		if (this.#core.config.isCompacted && !config.isCompacted) this.abortCleaning()
		this.#core.config = config
	}

	/** As becoming leader asks (12.10): notes that `epoch` begins at the log end, durably, before any append. */
	beginEpoch(epoch: number): void {
		this.#core.epochs.assign(epoch, this.#core.logEndOffset)
	}

	/** Largest known epoch at or below `epoch`, and its end (10.6); -1, -1 when unknown. */
	endOffsetForEpoch(epoch: number): EpochEnd {
		return this.#core.epochs.endOffsetFor(epoch, this.#core.logEndOffset)
	}

	/** Epoch of the record at `offset`, -1 when unknown. */
	epochOf(offset: number): number {
		return this.#core.epochs.epochOf(offset)
	}

	/** Moves the high watermark to `offset`, kept between log start and log end. It may fall only by truncation. */
	advanceHighWatermark(offset: number): void {
		if (offset > this.#core.highWatermark) this.#core.setHighWatermark(offset)
	}

	/**
	 * Checks and appends the records field of one partition of a Produce request (semantics 4, 5). Gives a value unless
	 * decompression left the loop, the disk is slow, or flush.messages asks for a sync. `records` are the log's until the
	 * outcome is there: base offset, leader epoch and, where 3.9 does, times and CRC are written into them. Nothing of them
	 * is kept beyond it.
	 */
	appendAsLeader(records: Buffer, options: LeaderAppendOptions): AppendOutcome | Promise<AppendOutcome> {
		return this.#appender.append(records, options)
	}

	/** Appends what the leader sent, as it came (13.3). `records` are the log's until the outcome is there. */
	appendAsFollower(records: Buffer): FollowerOutcome | Promise<FollowerOutcome> {
		return appendAsFollower(this.#core, records)
	}

	/** Reads whole batches (7.4–7.7); see {@link ReadOutcome}. File slices in it must be released. */
	read(request: ReadRequest): ReadOutcome {
		return readLog(this.#core, request)
	}

	/** Drops everything at or above `offset`, and with it epochs and producer state. Waits for appends under way. */
	async truncateTo(offset: number): Promise<void> {
		await this.#appender.idle()
		await truncateTo(this.#core, offset)
	}

	/** Drops all and begins anew at `offset`. */
	async truncateFullyAndStartAt(offset: number): Promise<void> {
		await this.#appender.idle()
		await truncateFullyAndStartAt(this.#core, offset)
	}

	/**
	 * Raises the log start (10.7, 10.8), never beyond the high watermark; segments below go with the next retention
	 * pass. False when nothing changed.
	 */
	deleteRecordsTo(offset: number): boolean {
		return this.#core.raiseLogStart(Math.min(offset, this.#core.highWatermark))
	}

	/** First record at or after `timestamp`; null when there is none. The caller applies its bound (10.2). */
	offsetForTimestamp(timestamp: number): Promise<TimedOffset | null> {
		return offsetForTimestamp(this.#core, timestamp)
	}

	/** First record with the largest timestamp; null when no record has one. */
	offsetOfMaxTimestamp(): Promise<TimedOffset | null> {
		return offsetOfMaxTimestamp(this.#core)
	}

	/** ListOffsets v0 (10.5). */
	offsetsBefore(timestamp: number, countMax: number, endOffset: number): number[] {
		return offsetsBefore(this.#core, timestamp, countMax, endOffset)
	}

	/** For DescribeProducers. */
	activeProducers(): ActiveProducer[] {
		return this.#core.producers.active()
	}

	hasOpenTransaction(producerId: bigint): boolean {
		return this.#core.producers.hasOpenTransaction(producerId)
	}

	segments(): SegmentInfo[] {
		const { segments, logEndOffset } = this.#core
		return segments.all.map((segment) => ({
			baseOffset: segment.baseOffset,
			endOffset: segments.endOf(segment, logEndOffset),
			sizeBytes: segment.size,
			maxTimestamp: segment.maxTimestamp,
			isActive: segment === segments.active,
		}))
	}

	/** Everything appended so far is on stable storage when it settles. */
	flush(): Promise<void> {
		return this.#core.flush(this.#core.logEndOffset)
	}

	/** Milliseconds since the last flush, 0 when nothing waits for one. */
	unflushedMs(nowMs: number): number {
		return this.#core.recoveryPoint < this.#core.logEndOffset ? nowMs - this.#core.lastFlushMs : 0
	}

	/** Deletes old segments by the topic's rules; returns how many. */
	applyRetention(): number {
		return applyRetention(this.#core)
	}

	/** All below was compacted; null: never. The log manager keeps it in the dir's checkpoint. */
	get cleanedOffset(): number | null {
		return this.#core.cleanedOffset
	}

	set cleanedOffset(offset: number) {
		this.#core.cleanedOffset = offset
	}

	/** What compaction may take now (21.2); null while the log is closed, offline or being cut. Throws on damage. */
	dirtyRange(nowMs: number): DirtyRange | null {
		const core = this.#core
		if (core.fencedBy !== null || core.isClosed || core.isCutting || core.cleaning !== null) return null
		const { logStartOffset, logEndOffset, lastStableOffset, cleanedOffset } = core
		const { minCleanableDirtyRatio, minCompactionLagMs, maxCompactionLagMs } = core.config
		return dirtyRange(
			{
				segments: core.segments.all,
				logStartOffset,
				logEndOffset,
				lastStableOffset,
				cleanedOffset,
				minCleanableDirtyRatio,
				minCompactionLagMs,
				maxCompactionLagMs,
			},
			nowMs,
		)
	}

	/** One pass of compaction, one at a time; see `cleanLog`. `cleanedOffset` is raised; the caller writes the checkpoint. */
	clean(range: DirtyRange, limits: PassLimits): Promise<PassResult> {
		return cleanLog(this.#core, range, limits)
	}

	/** Makes a pass that is under way give up at its next step. */
	abortCleaning(): void {
		this.#core.cleaning?.abort()
	}

	/** A disk operation on its files failed: the log and its dir go offline (20.11). */
	diskFailed(error: DiskError): void {
		this.#core.fence(error)
	}

	/** Forgets idle producers (5.16). */
	expireProducers(nowMs: number): number {
		return this.#core.producers.expire(nowMs, this.#core.services.producerExpirationMs)
	}

	/** Clean end: data synced, indexes trimmed, producer snapshot written. No append may be begun after the call. */
	async close(): Promise<void> {
		const core = this.#core
		if (core.isClosed) return
		await this.#appender.idle()
		if (core.fencedBy === null) {
			const isNewSnapshot = core.snapshots.write(core.producers)
			core.seal(core.segments.active)
			await core.flush(core.logEndOffset)
			if (isNewSnapshot) await core.snapshots.syncLatest()
		}
		this.abandon()
	}

	/** Lets go of all files without writing: the dir failed, or the folder is to be deleted. */
	abandon(): void {
		const core = this.#core
		core.isClosed = true
		core.cleaning?.abort()
		core.tail.clear()
		for (const segment of core.segments.all) segment.abandon()
	}

	/** The data dir went offline for another log's error: fenced like it. */
	failed(error: DiskError): void {
		this.#core.fencedBy ??= error
		this.#core.cleaning?.abort()
		this.#core.tail.clear()
	}

	/** The folder was renamed (for deletion): files that are open stay open. */
	moved(directory: string): void {
		this.#core.moved(directory)
		this.#core.snapshots.moved(directory)
	}
}
