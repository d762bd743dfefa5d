/**
 * An offline check of one partition's folder: every segment with its indexes (`segment-check.ts`), leader epochs, producer
 * snapshots and metadata against what the batches say. Reads only; a broker may run, then the newest bytes are seen as
 * they are at that moment.
 */

import type { Compression } from '../../../base/compression.js'
import type { Clock, Disk } from '../../../runtime/ports.js'
import { CheckpointError, EPOCH_FILE, readEpochCheckpoint } from '../checkpoint.js'
import type { EpochEntry } from '../epoch-cache.js'
import { METADATA_FILE, readPartitionMetadata } from '../folder.js'
import { decodeSnapshot, type ProducerSnapshotEntry, SnapshotDamage } from '../producer-snapshot.js'
import { ProducerState } from '../producer-state.js'
import { segmentName } from '../segment.js'
import { type Fault, Faults } from './finding.js'
import { checkSegment } from './segment-check.js'

export interface PartitionCheckOptions {
	readonly isDeep: boolean
	/** The most bytes that one batch may decompress to. */
	readonly decompressedBytesMax: number
	/** From the data dir's checkpoint; null where there is none: the first segment's base. */
	readonly logStartOffset: number | null
	/** The log was compacted once, so that gaps are legal; null where no data dir tells. */
	readonly wasCompacted: boolean | null
}

export interface PartitionReport {
	readonly directory: string
	readonly segments: number
	readonly batches: number
	readonly records: number
	/** Bytes of `.log` files. */
	readonly bytes: number
	/** Base of the first segment and next offset after the last good batch; both 0 in an empty folder. */
	readonly firstOffset: number
	readonly nextOffset: number
	readonly faults: readonly Fault[]
	/** Faults beyond those listed, of kinds that came very often. */
	readonly moreFaults: number
	/** Gaps between segments and leftovers: legal, and told. */
	readonly notes: readonly string[]
}

const FILE = /^(\d{20})\.(log|snapshot|index|timeindex|txnindex)$/
const LEFTOVER = /\.(cleaned|swap|deleted|tmp)$/

export async function checkPartition(
	disk: Disk,
	clock: Clock,
	compression: Compression,
	directory: string,
	options: PartitionCheckOptions,
): Promise<PartitionReport> {
	const faults = new Faults()
	const notes: string[] = []
	const bases: number[] = []
	const indexes: string[] = []
	let leftovers = 0
	const snapshots = new Map<number, readonly ProducerSnapshotEntry[]>()
	for (const { name, isDirectory } of disk.listNow(directory)) {
		const match = isDirectory ? null : FILE.exec(name)
		if (LEFTOVER.test(name)) leftovers++
		if (match === null) continue
		if (match[2] === 'log') bases.push(Number(match[1]))
		else if (match[2] !== 'snapshot') indexes.push(name)
		else {
			const entries = readSnapshot(disk, disk.join(directory, name), faults)
			if (entries !== null) snapshots.set(Number(match[1]), entries)
		}
	}
	bases.sort((a, b) => a - b)
	if (leftovers > 0) notes.push(`${leftovers} files of deleted or unfinished segments: the broker removes them`)
	for (const name of indexes) {
		const base = Number.parseInt(name, 10)
		if (bases.includes(base)) continue
		faults.add('missing', disk.join(directory, name), null, base, `${segmentName(base)}.log, its segment, is not there`)
	}
	if (bases.length === 0) faults.add('missing', directory, null, null, 'the folder has no segment')
	checkMetadata(disk, directory, faults)
	const producers = new ProducerState()
	const firstOffset = bases[0] ?? 0
	const epochs = new EpochCheck(disk, directory, Math.max(firstOffset, options.logStartOffset ?? 0), faults)
	// What was known before the log's first offset.
	const before = snapshots.get(firstOffset)
	if (before !== undefined) producers.load(before, firstOffset, 0, Number.POSITIVE_INFINITY)
	const totals = { batches: 0, records: 0, bytes: 0 }
	let next = firstOffset
	for (const base of bases) {
		const path = disk.join(directory, `${segmentName(base)}.log`)
		if (base > next) tellGap(path, next, base, options.wasCompacted, faults, notes)
		if (base < next) faults.add('order', path, 0, base, `begins at ${base}, the segment before goes to ${next - 1}`)
		compareSnapshot(disk, directory, base, snapshots.get(base), producers, faults)
		const checked = await checkSegment(
			{
				disk,
				clock,
				compression,
				...options,
				faults,
				producers,
				onEpoch: (file, position, offset, epoch) => epochs.passed(file, position, offset, epoch),
				isFromStart: firstOffset === 0,
			},
			directory,
			base,
		)
		totals.batches += checked.batches
		totals.records += checked.records
		totals.bytes += disk.statNow(path)?.size ?? 0
		next = Math.max(next, checked.nextOffset)
	}
	compareSnapshot(disk, directory, next, snapshots.get(next), producers, faults)
	for (const [offset, entries] of snapshots) checkSnapshotBounds(disk, directory, offset, entries, next, faults)
	epochs.ended(next)
	return {
		directory,
		segments: bases.length,
		...totals,
		firstOffset,
		nextOffset: next,
		faults: faults.all,
		moreFaults: faults.more,
		notes,
	}
}

/** Offsets that no segment has: legal in a log that was compacted, and a loss in another. */
function tellGap(
	path: string,
	from: number,
	to: number,
	wasCompacted: boolean | null,
	faults: Faults,
	notes: string[],
): void {
	const text = `offsets ${from} to ${to - 1} are in no segment`
	if (wasCompacted === false)
		faults.add(
			'missing',
			path,
			null,
			from,
			`${text}, and this log was never compacted (legal only in a replica of one that was)`,
		)
	else notes.push(`${text}${wasCompacted === true ? '' : ', as in a compacted log'}`)
}

function readSnapshot(disk: Disk, path: string, faults: Faults): readonly ProducerSnapshotEntry[] | null {
	try {
		return decodeSnapshot(disk.readFileNow(path))
	} catch (error) {
		if (!(error instanceof SnapshotDamage)) throw error
		faults.add('snapshot', path, 0, null, `not a producer snapshot: ${error.message}`)
		return null
	}
}

function snapshotPath(disk: Disk, directory: string, offset: number): string {
	return disk.join(directory, `${segmentName(offset)}.snapshot`)
}

/** The snapshot at `offset` against the state that the batches below it give. Producers that it leaves out have expired. */
function compareSnapshot(
	disk: Disk,
	directory: string,
	offset: number,
	entries: readonly ProducerSnapshotEntry[] | undefined,
	producers: ProducerState,
	faults: Faults,
): void {
	if (entries === undefined) return
	const known = new Map(producers.snapshot().map((entry) => [entry.producerId, entry]))
	for (const entry of entries) {
		const seen = known.get(entry.producerId)
		if (seen === undefined) continue
		const differs = (['producerEpoch', 'lastSequence', 'lastOffset'] as const).find(
			(field) => entry[field] !== seen[field],
		)
		if (differs === undefined) continue
		const text = `producer ${entry.producerId} has ${differs} ${entry[differs]}, the log says ${seen[differs]}`
		faults.add('snapshot', snapshotPath(disk, directory, offset), null, entry.lastOffset, text)
	}
}

function checkSnapshotBounds(
	disk: Disk,
	directory: string,
	offset: number,
	entries: readonly ProducerSnapshotEntry[],
	nextOffset: number,
	faults: Faults,
): void {
	const path = snapshotPath(disk, directory, offset)
	if (offset > nextOffset) faults.add('snapshot', path, null, offset, `lies behind the log's end ${nextOffset}`)
	const late = entries.find(({ lastOffset }) => lastOffset >= offset)
	if (late === undefined) return
	const text = `producer ${late.producerId} has last offset ${late.lastOffset} in a snapshot of what is below ${offset}`
	faults.add('snapshot', path, null, late.lastOffset, text)
}

function checkMetadata(disk: Disk, directory: string, faults: Faults): void {
	try {
		readPartitionMetadata(disk, directory)
	} catch (error) {
		if (!(error instanceof CheckpointError)) throw error
		faults.add('metadata', disk.join(directory, METADATA_FILE), 0, null, error.problem)
	}
}

/** `leader-epoch-checkpoint` against the batches' epochs. */
class EpochCheck {
	readonly #path: string
	readonly #faults: Faults
	readonly #entries: readonly EpochEntry[]
	/** What lies below has lost its entries with the raised log start. */
	readonly #logStart: number
	#at = -1
	#highest = -1

	constructor(disk: Disk, directory: string, logStart: number, faults: Faults) {
		this.#path = disk.join(directory, EPOCH_FILE)
		this.#logStart = logStart
		this.#faults = faults
		let entries: readonly EpochEntry[] = []
		try {
			entries = readEpochCheckpoint(disk, directory) ?? []
		} catch (error) {
			if (!(error instanceof CheckpointError)) throw error
			faults.add('epochs', this.#path, 0, null, error.problem)
		}
		this.#entries = entries
		for (let i = 1; i < entries.length; i++) {
			const [before, entry] = [entries[i - 1] as EpochEntry, entries[i] as EpochEntry]
			if (entry.epoch > before.epoch && entry.startOffset >= before.startOffset) continue
			const text = `epoch ${entry.epoch} from offset ${entry.startOffset} follows epoch ${before.epoch} from ${before.startOffset}`
			faults.add('epochs', this.#path, null, entry.startOffset, text)
		}
	}

	passed(file: string, position: number, offset: number, epoch: number): void {
		if (epoch < 0 || this.#entries.length === 0) return
		while ((this.#entries[this.#at + 1]?.startOffset ?? Number.POSITIVE_INFINITY) <= offset) this.#at++
		if (epoch < this.#highest) {
			this.#faults.add('epochs', file, position, offset, `batch of epoch ${epoch} after one of epoch ${this.#highest}`)
		}
		this.#highest = Math.max(this.#highest, epoch)
		const known = this.#entries[this.#at]?.epoch ?? -1
		if (known === epoch || (known < 0 && offset < this.#logStart)) return
		const text = `offset ${offset} has epoch ${epoch} in the log, ${known < 0 ? 'none' : known} in the checkpoint`
		this.#faults.add('epochs', this.#path, null, offset, text)
	}

	ended(nextOffset: number): void {
		const last = this.#entries[this.#entries.length - 1]
		if (last === undefined || last.startOffset <= nextOffset) return
		const text = `epoch ${last.epoch} begins at ${last.startOffset}, behind the log's end ${nextOffset}`
		this.#faults.add('epochs', this.#path, null, last.startOffset, text)
	}
}
