/**
 * The state of one partition's log and the steps that change it: segments, offsets, epochs, producers, tail. Append, read,
 * truncate and recovery (their own files) go through this object; `partition-log.ts` is what the rest of the broker sees.
 *
 *     log start        recovery point     stable      high watermark     log end
 *         |  … flushed …  |  page cache      |  open txns   |  unreplicated  |
 */

import { assert } from '../../base/assert.js'
import type { ByteGate } from '../../base/byte-gate.js'
import type { Compression } from '../../base/compression.js'
import type { TopicId } from '../../base/ids.js'
import {
	batchAttributes,
	batchBaseOffset,
	batchBytes,
	batchLeaderEpoch,
	batchMagic,
	CONTROL_BIT,
} from '../../protocol/records/batch.js'
import type { Logger } from '../../runtime/logger.js'
import { type Clock, type Disk, DiskError, type Random } from '../../runtime/ports.js'
import type { EpochFile } from './checkpoint.js'
import type { EpochCache } from './epoch-cache.js'
import type { LogConfig } from './log-config.js'
import { markerOf } from './marker.js'
import type { ProducerState } from './producer-state.js'
import { lastOffsetOf, maxTimestampOf, Segment, segmentName } from './segment.js'
import { SegmentList } from './segment-list.js'
import type { SnapshotFiles } from './snapshot-files.js'
import type { LogTail, TailCache } from './tail-cache.js'
import type { WriteMode } from './write-mode.js'

/** What all logs of a data dir share. */
export interface LogServices {
	readonly disk: Disk
	readonly clock: Clock
	readonly random: Random
	readonly logger: Logger
	readonly compression: Compression
	readonly tails: TailCache
	readonly writes: WriteMode
	readonly producerExpirationMs: number
	/** The most bytes that one batch may decompress to. */
	readonly decompressedBytesMax: number
	/** Bounds the plain bytes of all batches that clients sent compressed, at once. */
	readonly plains: ByteGate
	/** A disk operation of a log failed: its dir goes offline. Called at most once a log. */
	readonly onDiskError: (error: DiskError) => void
	/** A log's cleaned offset has fallen: the dir's checkpoint is written at once. */
	readonly onCleanedOffset: () => void
}

/** A cleaner pass under way; whoever takes segments from under it aborts it, and it gives up at its next step. */
export interface CleaningRun {
	readonly isAborted: boolean
	abort(): void
}

/** How a log begins its life; made by recovery. */
export interface LogParts {
	readonly topic: string
	readonly partition: number
	readonly directory: string
	readonly config: LogConfig
	readonly topicId: TopicId | null
	readonly epochs: EpochCache
	readonly epochFile: EpochFile
	readonly producers: ProducerState
	readonly snapshots: SnapshotFiles
}

const SPAN_MAX = 0x7fff_ffff

/** Longest time that a segment stays the active one: what must be compacted in time has to be closed before (KIP-354). */
function rollMs({ isCompacted, segmentMs, maxCompactionLagMs }: LogConfig): number {
	return isCompacted && maxCompactionLagMs > 0 ? Math.min(segmentMs, maxCompactionLagMs) : segmentMs
}

export class LogCore {
	readonly services: LogServices
	readonly topic: string
	readonly partition: number
	readonly epochs: EpochCache
	readonly producers: ProducerState
	readonly snapshots: SnapshotFiles
	readonly segments = new SegmentList()
	readonly tail: LogTail
	/** Changes when the folder is renamed for deletion. */
	directory: string
	config: LogConfig
	topicId: TopicId | null
	logStartOffset = 0
	logEndOffset = 0
	highWatermark = 0
	/** All below is on stable storage. */
	recoveryPoint = 0
	lastFlushMs: number
	/** Why the log takes no more appends; null while it does. */
	fencedBy: DiskError | null = null
	isClosed = false
	/** A truncation is under way, over several turns: retention keeps away. */
	isCutting = false
	/** Retention keeps away from a log while a pass works on it. */
	cleaning: CleaningRun | null = null
	/** All below was compacted; null: the log never was. Its dir's checkpoint has it. */
	cleanedOffset: number | null = null
	#jitterMs = 0
	/** Segments with bytes or index entries that no sync has covered. */
	readonly #dirty = new Set<Segment>()
	readonly #epochFile: EpochFile
	/** Files were made whose names are not durable yet. */
	#hasNewFiles = false
	#flushing: Promise<void> = Promise.resolve()

	constructor(services: LogServices, parts: LogParts) {
		this.services = services
		this.topic = parts.topic
		this.partition = parts.partition
		this.directory = parts.directory
		this.config = parts.config
		this.topicId = parts.topicId
		this.epochs = parts.epochs
		this.#epochFile = parts.epochFile
		this.producers = parts.producers
		this.snapshots = parts.snapshots
		this.tail = services.tails.tail()
		this.lastFlushMs = services.clock.wallMs()
	}

	get name(): string {
		return `${this.topic}-${this.partition}`
	}

	/** First offset that read_committed may not pass (5.15). */
	get lastStableOffset(): number {
		const unstable = Math.max(this.producers.firstUnstableOffset, this.logStartOffset)
		return Math.min(unstable, this.highWatermark)
	}

	get sizeBytes(): number {
		let sum = 0
		for (const segment of this.segments.all) sum += segment.size
		return sum
	}

	/** A new last segment. Old files of that name, left by a crash, are emptied. */
	openSegment(baseOffset: number): Segment {
		const { disk, clock, random } = this.services
		const segment = new Segment(disk, this.directory, baseOffset, 0, this.config, clock.wallMs())
		segment.resetForRebuild()
		segment.cutFile()
		// Tools expect both index files from the first day of a segment, empty or not.
		for (const suffix of ['index', 'timeindex']) {
			disk.openNow(disk.join(this.directory, `${segmentName(baseOffset)}.${suffix}`), 'create').closeNow()
		}
		this.segments.push(segment)
		this.#hasNewFiles = true
		const jitterMax = Math.min(this.config.segmentJitterMs, rollMs(this.config))
		this.#jitterMs = jitterMax > 0 ? Math.floor(random.next() * jitterMax) : 0
		return segment
	}

	/** Whether `bytes` more need a new segment (20.1). `lastOffset` and `maxTimestamp` are those of the append. */
	shouldRoll(bytes: number, lastOffset: number, maxTimestamp: number): boolean {
		const active = this.segments.active
		if (lastOffset - active.baseOffset > SPAN_MAX) return true
		if (active.size === 0) return false
		if (active.size > this.config.segmentBytes - bytes) return true
		if (active.offsetIndex.isFull || active.timeIndex.isFull) return true
		const first = active.firstTimestamp
		const waited = first >= 0 ? maxTimestamp - first : this.services.clock.wallMs() - active.createdMs
		return waited > rollMs(this.config) - this.#jitterMs
	}

	/** Closes the active segment and begins one at `baseOffset` (20.2). The old one is flushed in the background. */
	roll(baseOffset: number): void {
		const active = this.segments.active
		assert(baseOffset >= this.logEndOffset, `${this.name} rolls at ${baseOffset}, below its end`)
		if (active.baseOffset === baseOffset) {
			assert(active.size === 0, `${this.name} rolls a segment onto itself`)
			return
		}
		this.seal(active)
		this.producers.endOffset = baseOffset
		this.snapshots.write(this.producers)
		this.openSegment(baseOffset)
		this.services.logger.debug('rolled', { log: this.name, baseOffset, bytes: active.size })
		// One that fails has taken its dir offline and said so.
		this.flush(baseOffset).catch(() => undefined)
	}

	/**
	 * Takes in whole batches that were just written at the end of the active segment, offsets final. Nothing of `bytes` is
	 * kept.
	 */
	applyWritten(bytes: Buffer): void {
		let lastOffset = this.logEndOffset - 1
		const firstOffset = batchBaseOffset(bytes, 0)
		let maxTimestamp = -1
		let maxOffset = -1
		const segment = this.segments.active
		this.#dirty.add(segment)
		for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) {
			lastOffset = lastOffsetOf(bytes, at)
			const timestamp = maxTimestampOf(bytes, at)
			if (timestamp > maxTimestamp) {
				maxTimestamp = timestamp
				maxOffset = lastOffset
			}
			if (batchMagic(bytes, at) === 2) this.trackProducer(bytes, at, segment)
		}
		segment.added(bytes.length, lastOffset, maxTimestamp, maxOffset, this.config)
		this.logEndOffset = lastOffset + 1
		this.producers.endOffset = this.logEndOffset
		this.tail.add(bytes, firstOffset, this.logEndOffset)
	}

	/** The folder was renamed; files that are open stay open. */
	moved(directory: string): void {
		this.directory = directory
		this.#epochFile.directory = directory
	}

	/** Ends a segment's indexes; what that writes is covered by the next flush. */
	seal(segment: Segment): void {
		segment.seal()
		this.#dirty.add(segment)
	}

	/** Epoch cache entries for batches that are about to be written. */
	noteEpochs(bytes: Buffer): void {
		for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) {
			if (batchMagic(bytes, at) < 2) continue
			const epoch = batchLeaderEpoch(bytes, at)
			if (epoch > this.epochs.latestEpoch) this.epochs.assign(epoch, batchBaseOffset(bytes, at))
		}
	}

	/** Producer state and transaction index for one batch. */
	trackProducer(bytes: Buffer, at: number, segment: Segment): void {
		const isControl = (batchAttributes(bytes, at) & CONTROL_BIT) !== 0
		const completed = this.producers.add(bytes, at, isControl ? markerOf(bytes, at) : null)
		if (completed === null) return
		if (completed.isAborted) {
			const { producerId, firstOffset, lastOffset } = completed
			const lastStableOffset = this.producers.lastStableOffsetAfter(completed)
			segment.txnIndex.append({ producerId, firstOffset, lastOffset, lastStableOffset })
		}
		this.producers.complete(completed)
	}

	/** Raises or (after truncation) lowers the high watermark; kept within the log. */
	setHighWatermark(offset: number): void {
		this.highWatermark = Math.min(Math.max(offset, this.logStartOffset), this.logEndOffset)
		this.producers.onHighWatermark(this.highWatermark)
	}

	/** What is at or above `offset` is about to be cut: a pass gives up, and what was clean there is not any more (21.10). */
	cutCleaned(offset: number): void {
		this.cleaning?.abort()
		if (this.cleanedOffset === null || this.cleanedOffset <= offset) return
		this.cleanedOffset = offset
		this.services.onCleanedOffset()
	}

	/** Raises the log start; epochs and snapshots below go. False when it is not above the old one. */
	raiseLogStart(offset: number): boolean {
		if (offset <= this.logStartOffset) return false
		this.logStartOffset = offset
		if (this.highWatermark < offset) this.setHighWatermark(offset)
		this.epochs.truncateFromStart(offset)
		this.snapshots.removeBelow(offset)
		return true
	}

	/** Everything below `offset` is on stable storage when it settles. One flush of a log at a time. */
	flush(offset: number): Promise<void> {
		const flushed = this.#flushing.then(() => this.#flushTo(offset))
		this.#flushing = flushed.catch(() => undefined)
		return flushed
	}

	/** No more appends: the disk failed. Cuts the file back to its last whole batch, as far as the disk lets it. */
	fence(error: DiskError): void {
		if (this.fencedBy !== null) return
		this.fencedBy = error
		this.cleaning?.abort()
		this.services.logger.error('log is fenced after a disk error', { log: this.name, error: error.message })
		try {
			this.segments.active.cutFile()
		} catch (cause) {
			this.services.logger.warn('could not cut back', { log: this.name, error: String(cause) })
		}
		this.services.onDiskError(error)
	}

	async #flushTo(offset: number): Promise<void> {
		if (this.fencedBy !== null || this.isClosed) return
		const dirty = [...this.#dirty].filter((segment) => segment.baseOffset < offset)
		try {
			for (const segment of dirty) this.#dirty.delete(segment)
			const hasNewFiles = this.#hasNewFiles
			this.#hasNewFiles = false
			for (const segment of dirty) {
				await segment.sync()
				// Rolled segments hold no descriptors: readers open them for themselves.
				if (segment !== this.segments.active) segment.close()
			}
			if (hasNewFiles) this.services.disk.syncDirectoryNow(this.directory)
			await this.#epochFile.sync()
		} catch (error) {
			if (!(error instanceof DiskError)) throw error
			if (this.isClosed) return
			this.fence(error)
			throw error
		}
		if (offset > this.recoveryPoint) this.recoveryPoint = Math.min(offset, this.logEndOffset)
		this.lastFlushMs = this.services.clock.wallMs()
	}
}
