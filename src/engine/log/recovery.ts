/**
 * Opens the log of one partition from its folder (semantics 20.6–20.10). After a clean stop nothing is scanned. After any
 * other, every segment from the one with the recovery point on is read whole: at the first batch that is not right the log
 * is cut, later segments go, indexes and producer state are made anew. Work goes in slices, so the loop lives on.
 */

import type { TopicId } from '../../base/ids.js'
import {
	batchAttributes,
	batchBaseOffset,
	batchLeaderEpoch,
	batchMagic,
	CONTROL_BIT,
} from '../../protocol/records/batch.js'
import { CheckpointError, EpochFile, readEpochCheckpoint } from './checkpoint.js'
import { EpochCache, type EpochEntry } from './epoch-cache.js'
import { type FolderFiles, hasIndexes, readPartitionMetadata, tidyFolder } from './folder.js'
import type { LogConfig } from './log-config.js'
import { LogCore, type LogServices } from './log-core.js'
import { markerOf } from './marker.js'
import { ProducerState } from './producer-state.js'
import { SegmentScan, Slices } from './scan.js'
import { lastOffsetOf, maxTimestampOf, Segment, SegmentDamage, segmentName } from './segment.js'
import { SnapshotFiles } from './snapshot-files.js'
import { IndexDamage } from './sparse-index.js'

export interface LoadOptions {
	readonly topic: string
	readonly partition: number
	readonly directory: string
	readonly config: LogConfig
	/** The last stop was clean: the folder is trusted. */
	readonly isClean: boolean
	/** From the dir's checkpoints, 0 when absent. */
	readonly recoveryPoint: number
	readonly logStartOffset: number
	/** Null when the log was never compacted. */
	readonly cleanedOffset: number | null
}

const SPAN_MAX = 0x7fff_ffff

/** Loads a folder that exists, or begins a new log in an empty one. Throws `DiskError` and {@link CheckpointError}. */
export async function loadLog(services: LogServices, options: LoadOptions): Promise<LogCore> {
	const { disk, logger } = services
	const { directory } = options
	const files = tidyFolder(disk, directory, logger)
	const topicId: TopicId | null = readPartitionMetadata(disk, directory)
	const { epochs, epochFile, isEpochFileLost } = loadEpochs(services, directory)
	const core = new LogCore(services, {
		topic: options.topic,
		partition: options.partition,
		directory,
		config: options.config,
		topicId,
		epochs,
		epochFile,
		producers: new ProducerState(),
		snapshots: new SnapshotFiles(disk, logger, directory, files.snapshots),
	})
	core.cleanedOffset = options.cleanedOffset
	addSegments(core, files)
	await repairSegments(core, files, options)
	if (isEpochFileLost) await rebuildEpochs(core)
	await checkActive(core)
	settle(core, options)
	await restoreProducers(core, options)
	// Thousands of idle partitions hold no descriptors.
	for (const segment of core.segments.all) segment.close()
	return core
}

interface LoadedEpochs {
	readonly epochs: EpochCache
	readonly epochFile: EpochFile
	readonly isEpochFileLost: boolean
}

function loadEpochs(services: LogServices, directory: string): LoadedEpochs {
	const epochFile = new EpochFile(services.disk, directory)
	const save = (entries: readonly EpochEntry[]): void => epochFile.write(entries)
	try {
		const entries = readEpochCheckpoint(services.disk, directory)
		if (entries !== null) epochFile.holds(entries)
		return { epochs: new EpochCache(entries ?? [], save), epochFile, isEpochFileLost: entries === null }
	} catch (error) {
		if (!(error instanceof CheckpointError)) throw error
		services.logger.warn('leader epochs are damaged, they are read from the log', { error: error.message })
		return { epochs: new EpochCache([], save), epochFile, isEpochFileLost: true }
	}
}

function addSegments(core: LogCore, files: FolderFiles): void {
	const { disk, clock } = core.services
	for (const base of files.bases) {
		const path = disk.join(core.directory, `${segmentName(base)}.log`)
		const size = disk.statNow(path)?.size ?? 0
		core.segments.push(new Segment(disk, core.directory, base, size, core.config, clock.wallMs()))
	}
}

/** Scans what must be scanned: unflushed segments after an unclean stop, and segments that lost an index. */
async function repairSegments(core: LogCore, files: FolderFiles, options: LoadOptions): Promise<void> {
	const { logger } = core.services
	let from = Number.POSITIVE_INFINITY
	if (!options.isClean) from = core.segments.floor(options.recoveryPoint)?.baseOffset ?? 0
	for (const segment of [...core.segments.all]) {
		const isUnflushed = segment.baseOffset >= from
		if (!isUnflushed && (segment.size === 0 || hasIndexes(files, segment.baseOffset))) continue
		if (!isUnflushed) logger.warn('an index is missing, it is made anew', { log: core.name, segment: segment.path })
		const isWhole = await recoverSegment(core, segment)
		if (isWhole && !(isUnflushed && hasLossAfter(core, segment))) continue
		for (const later of core.segments.popFrom(segment.baseOffset + 1)) {
			logger.warn('segment behind the damage is dropped', { log: core.name, segment: later.path })
			later.abandon()
			for (const path of later.paths()) core.services.disk.removeNow(path)
		}
		break
	}
}

/**
 * A power loss can take the end of a segment and leave the next one: what follows was never synced, and a reader would
 * pass over the loss. Compaction leaves such gaps too: a log that ever was compacted keeps them. A follower of a compacted
 * leader has its gaps inside segments (`append-follower.ts`), but for those that the segment could not span.
 */
function hasLossAfter(core: LogCore, segment: Segment): boolean {
	if (core.config.isCompacted || core.cleanedOffset !== null) return false
	const end = core.producers.endOffset
	const next = core.segments.endOf(segment, end)
	return next > end && next - segment.baseOffset <= SPAN_MAX
}

/** Reads every batch of `segment`, makes its indexes anew and cuts at the first bad batch. False when it was cut. */
async function recoverSegment(core: LogCore, segment: Segment): Promise<boolean> {
	const { logger, clock } = core.services
	await replayTo(core, segment.baseOffset)
	const size = segment.size
	const scan = new SegmentScan(segment.file(), 0, size)
	const slices = new Slices(clock)
	segment.resetForRebuild()
	let expected = segment.baseOffset
	core.producers.endOffset = expected
	let problem: string | null = null
	while (scan.next()) {
		problem = scan.problem(expected, segment.baseOffset + SPAN_MAX)
		if (problem !== null) break
		const { bytes, at, end } = scan
		const last = lastOffsetOf(bytes, at)
		segment.added(end - at, last, maxTimestampOf(bytes, at), last, core.config)
		if (batchMagic(bytes, at) === 2) {
			core.epochs.assignIfNewer(batchLeaderEpoch(bytes, at), batchBaseOffset(bytes, at))
			core.trackProducer(bytes, at, segment)
		}
		expected = last + 1
		core.producers.endOffset = expected
		if (slices.isOver) await slices.giveWay()
	}
	problem ??= scan.damage
	if (problem !== null) {
		logger.warn('log is cut at the first bad batch', {
			log: core.name,
			segment: segment.path,
			position: segment.size,
			offset: expected,
			droppedBytes: size - segment.size,
			reason: problem,
		})
	}
	segment.cutFile()
	core.seal(segment)
	return problem === null
}

/** Producer state as it was before `offset`, from the newest snapshot below and the log behind it. */
export async function replayTo(core: LogCore, offset: number): Promise<void> {
	const { producers, snapshots, services } = core
	if (producers.endOffset === offset && producers.size > 0) {
		snapshots.write(producers)
		return
	}
	const loaded = snapshots.load(offset)
	producers.load(loaded?.entries ?? [], loaded?.offset ?? 0, services.clock.wallMs(), services.producerExpirationMs)
	const slices = new Slices(services.clock)
	for (const segment of core.segments.all) {
		if (segment.baseOffset >= offset) break
		if (core.segments.endOf(segment, offset) <= producers.endOffset || segment.size === 0) continue
		const start = segment.find(Math.max(producers.endOffset, segment.baseOffset))
		if (start === null) continue
		const scan = new SegmentScan(segment.file(), start.position, segment.size)
		while (scan.next() && batchBaseOffset(scan.bytes, scan.at) < offset) {
			replayBatch(core, scan)
			if (slices.isOver) await slices.giveWay()
		}
	}
	producers.endOffset = offset
}

/** State alone: the transaction index is there already. */
function replayBatch(core: LogCore, scan: SegmentScan): void {
	const { bytes, at } = scan
	if (batchMagic(bytes, at) < 2) return
	const isControl = (batchAttributes(bytes, at) & CONTROL_BIT) !== 0
	const completed = core.producers.add(bytes, at, isControl ? markerOf(bytes, at) : null)
	if (completed !== null) core.producers.complete(completed)
}

/** The epoch file was lost: every batch says its epoch. Epoch 0 is a real one (KAFKA-10432). */
async function rebuildEpochs(core: LogCore): Promise<void> {
	const slices = new Slices(core.services.clock)
	for (const segment of core.segments.all) {
		if (segment.size === 0) continue
		const scan = new SegmentScan(segment.file(), 0, segment.size)
		while (scan.next()) {
			const { bytes, at } = scan
			if (batchMagic(bytes, at) === 2)
				core.epochs.assignIfNewer(batchLeaderEpoch(bytes, at), batchBaseOffset(bytes, at))
			if (slices.isOver) await slices.giveWay()
		}
	}
}

/** The log end is found through the active segment's index: when that is wrong, the segment is read whole. */
async function checkActive(core: LogCore): Promise<void> {
	if (core.segments.all.length === 0) return
	const { active } = core.segments
	try {
		active.nextOffset()
	} catch (error) {
		if (!(error instanceof IndexDamage) && !(error instanceof SegmentDamage)) throw error
		core.services.logger.warn('the end of the log is damaged, its segment is read again', {
			log: core.name,
			reason: error.message,
		})
		await recoverSegment(core, active)
	}
}

/** Offsets of the loaded log (20.9, 20.10). */
function settle(core: LogCore, options: LoadOptions): void {
	const { segments, services } = core
	let end = segments.all.length === 0 ? 0 : segments.active.nextOffset()
	if (segments.all.length > 0 && end < options.logStartOffset) {
		services.logger.warn('log ends below its start, it begins anew there', {
			log: core.name,
			logEndOffset: end,
			logStartOffset: options.logStartOffset,
		})
		for (const segment of segments.popFrom(0)) {
			segment.abandon()
			for (const path of segment.paths()) services.disk.removeNow(path)
		}
	}
	if (segments.all.length === 0) {
		end = options.logStartOffset
		core.openSegment(end)
		core.snapshots.removeAll()
	}
	if (end < options.recoveryPoint) {
		const cause = options.isClean ? '' : ', or the log was truncated just before the stop'
		services.logger.warn(`log ends below its recovery point: records that were on disk are lost${cause}`, {
			log: core.name,
			logEndOffset: end,
			recoveryPoint: options.recoveryPoint,
		})
	}
	core.logEndOffset = end
	core.logStartOffset = Math.max(options.logStartOffset, segments.first.baseOffset)
	if (core.cleanedOffset !== null && core.cleanedOffset > end) {
		// A compacted log that was cut inside a gap ends lower after a start: what comes there now was never compacted.
		const fields = { log: core.name, checkpoint: core.cleanedOffset, from: core.logStartOffset }
		services.logger.warn('cleaner checkpoint lies outside the log, it is reset', fields)
		core.cleanedOffset = core.logStartOffset
	}
	core.highWatermark = core.logStartOffset
	core.recoveryPoint = options.isClean ? end : Math.min(options.recoveryPoint, end)
	core.epochs.truncateFromEnd(end + 1)
	core.epochs.forgetFromEnd(end)
	core.epochs.truncateFromStart(core.logStartOffset)
	core.snapshots.removeAbove(end)
	core.snapshots.removeStray(new Set(segments.all.map((segment) => segment.baseOffset)))
}

/** After a recovery the state is there; after a clean stop it comes from the snapshot of that stop. */
async function restoreProducers(core: LogCore, options: LoadOptions): Promise<void> {
	const end = core.logEndOffset
	if (options.isClean || core.producers.endOffset !== end) await replayTo(core, end)
	core.producers.endOffset = end
	if (!options.isClean) core.snapshots.write(core.producers)
}
