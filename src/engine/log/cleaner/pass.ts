/**
 * One pass over one log (21.3–21.7): the keys of its dirty part are mapped, as far as the map goes; then all segments from
 * the first to the mapped end are written again without what the map makes void, group by group, each swapped in when it is
 * whole. Appends and reads go on meanwhile; retention keeps away, and a truncation or the log's end gives the pass up.
 * Between two pieces of work the event loop gets its turn, and after each wait the pass looks whether it still may.
 */

import {
	batchAttributes,
	batchBaseOffset,
	batchHasProducer,
	batchLastOffset,
	batchMagic,
	batchProducerEpoch,
	batchProducerId,
	batchRecordCount,
	CONTROL_BIT,
} from '../../../protocol/records/batch.js'
import { RecordFormatError } from '../../../protocol/records/fields.js'
import { messagesOf } from '../../../protocol/records/legacy.js'
import type { CleaningRun, LogCore } from '../log-core.js'
import { Slices } from '../scan.js'
import { lastOffsetOf, maxTimestampOf, Segment } from '../segment.js'
import { IndexDamage } from '../sparse-index.js'
import type { AbortedTransaction } from '../txn-index.js'
import type { DirtyRange } from './dirty-range.js'
import { deleteHorizonOf, type FilterContext, filterBatch } from './filter-batch.js'
import { filterLegacy } from './filter-legacy.js'
import { type GroupSegment, groupSegments } from './groups.js'
import { fateOf, type LastRecord, mayDropLegacyTombstone } from './keep.js'
import { HASH_KEY_BYTES } from './key-hash.js'
import { OffsetMap, slotsFor } from './offset-map.js'
import { PieceReader } from './piece-reader.js'
import { plainRecords } from './plain-records.js'
import { RecordView } from './record-view.js'
import { CLEANED, removeCleaned, swapIn } from './swap.js'
import type { Throttle } from './throttle.js'
import { CleanedTransactions } from './transactions.js'

/** The log was truncated, closed or taken offline: the pass was given up, its files are gone. */
export class CleaningAborted extends Error {
	override readonly name = 'CleaningAborted'
}

/** What a pass may use. */
export interface PassLimits {
	/** For the offset map of one pass. */
	readonly mapBytes: number
	/** Share of the map's slots that is filled at most. */
	readonly loadFactor: number
	/** Bytes read at once; a larger batch is read whole. */
	readonly pieceBytes: number
	readonly throttle: Throttle
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

interface Source extends GroupSegment {
	readonly segment: Segment
}

const RECORDS_A_LOOK = 512
/** More small batches than this are copied together before they are written. */
const GATHER_MAX = 16

/**
 * Makes a pass over what `range` allows, and sets `core.cleanedOffset`. Rejects with {@link CleaningAborted}, with
 * `SegmentDamage`, `RecordFormatError` or `CodecError` when the log holds what cannot be read, and with `DiskError`; the
 * log is whole in each case but the last.
 */
export async function cleanLog(core: LogCore, range: DirtyRange, limits: PassLimits): Promise<PassResult> {
	const run: CleaningRun = { isAborted: false }
	const pass = new Pass(core, range, limits, run)
	core.cleaning = run
	try {
		return await pass.go()
	} catch (error) {
		// What a log that went away answers is not its own fault.
		throw pass.isOver ? new CleaningAborted(core.name) : error
	} finally {
		pass.close()
		core.cleaning = null
	}
}

class Pass {
	readonly #core: LogCore
	readonly #range: DirtyRange
	readonly #limits: PassLimits
	readonly #run: CleaningRun
	readonly #reader: PieceReader
	readonly #sources: readonly Source[]
	readonly #aborted: readonly AbortedTransaction[]
	readonly #lastRecords: ReadonlyMap<bigint, LastRecord>
	readonly #context: FilterContext
	readonly #legacyHorizonMs: number

	constructor(core: LogCore, range: DirtyRange, limits: PassLimits, run: CleaningRun) {
		this.#core = core
		this.#range = range
		this.#limits = limits
		this.#run = run
		this.#reader = new PieceReader(limits.pieceBytes)
		const { clock, random, compression, decompressedBytesMax } = core.services
		const inRange = core.segments.all.filter((segment) => segment.baseOffset < range.bound)
		this.#sources = inRange.map((segment) => this.#sourceOf(segment))
		// A marker may stand above the bound: the index entry is in its segment.
		const aborted = core.segments.all.flatMap((segment) => segment.txnIndex.entries())
		this.#aborted = aborted.filter((entry) => entry.firstOffset < range.bound)
		this.#lastRecords = core.producers.lastRecords()
		const slots = slotsFor(limits.mapBytes, limits.loadFactor, range.bound - range.firstDirtyOffset)
		this.#context = {
			services: { compression, decompressedBytesMax },
			map: new OffsetMap(slots, limits.loadFactor, random.bytes(HASH_KEY_BYTES)),
			nowMs: clock.wallMs(),
			deleteRetentionMs: core.config.deleteRetentionMs,
			slices: new Slices(clock),
		}
		const clean = inRange.filter((segment) => segment.baseOffset < range.firstDirtyOffset)
		const newestClean = clean[clean.length - 1]?.modifiedMs()
		this.#legacyHorizonMs = newestClean === undefined ? 0 : newestClean - core.config.deleteRetentionMs
	}

	get isOver(): boolean {
		return this.#run.isAborted || this.#core.isClosed || this.#core.fencedBy !== null
	}

	close(): void {
		this.#reader.close()
	}

	async go(): Promise<PassResult> {
		const { map } = this.#context
		await this.#mapKeys()
		const endOffset = map.latestOffset + 1
		const cleanable = this.#sources.filter((source) => source.baseOffset < endOffset)
		// What makes a record void must outlive a power loss, or that takes both: the mapped records, and the markers of
		// their transactions, which may stand above the bound.
		await this.#core.flush(this.#core.logEndOffset)
		this.#check()
		const groups = groupSegments(cleanable, this.#core.config)
		const transactions = new CleanedTransactions(this.#aborted)
		let bytesAfter = 0
		for (const group of groups) bytesAfter += await this.#cleanGroup(group, transactions)
		// In one turn: a truncation that came in between has put the mark where it belongs.
		this.#check()
		this.#core.cleanedOffset = endOffset
		return {
			endOffset,
			keys: map.size,
			segmentsBefore: cleanable.length,
			segmentsAfter: groups.length,
			bytesBefore: cleanable.reduce((total, source) => total + source.bytes, 0),
			bytesAfter,
		}
	}

	#sourceOf(segment: Segment): Source {
		const { segments, services, logEndOffset } = this.#core
		return {
			segment,
			baseOffset: segment.baseOffset,
			endOffset: segments.endOf(segment, logEndOffset),
			bytes: segment.size,
			offsetIndexBytes: services.disk.statNow(segment.offsetIndex.path)?.size ?? 0,
			timeIndexBytes: services.disk.statNow(segment.timeIndex.path)?.size ?? 0,
		}
	}

	#check(): void {
		if (this.isOver) throw new CleaningAborted(this.#core.name)
	}

	async #mapKeys(): Promise<void> {
		const { firstDirtyOffset } = this.#range
		const transactions = new CleanedTransactions(this.#aborted.filter((one) => one.lastOffset >= firstDirtyOffset))
		for (const source of this.#sources) {
			if (source.endOffset <= firstDirtyOffset) continue
			const isMapped = await this.#mapSegment(source.segment, transactions)
			if (!isMapped) return
			// Offsets that are missing at its end have no key either.
			this.#context.map.advance(source.endOffset - 1)
		}
	}

	/** False when the map is full before the end. */
	async #mapSegment(segment: Segment, transactions: CleanedTransactions): Promise<boolean> {
		const reader = this.#reader
		const { map, slices } = this.#context
		reader.open(segment, startOf(segment, this.#range.firstDirtyOffset))
		try {
			while (await this.#nextPiece()) {
				while (reader.nextBatch()) {
					const { bytes, at, end } = reader
					if (batchMagic(bytes, at) === 2 && (batchAttributes(bytes, at) & CONTROL_BIT) !== 0) {
						transactions.passMarker(bytes, at)
					} else if (batchMagic(bytes, at) < 2 || !transactions.passData(bytes, at)) {
						if (!(await this.#mapBatch(bytes.subarray(at, end)))) return false
					}
					if (lastOffsetOf(bytes, at) >= this.#range.firstDirtyOffset) map.advance(lastOffsetOf(bytes, at))
					if (slices.isOver) await slices.giveWay()
					this.#check()
				}
			}
		} finally {
			reader.close()
		}
		return true
	}

	async #mapBatch(batch: Buffer): Promise<boolean> {
		const { services, map, slices } = this.#context
		const from = this.#range.firstDirtyOffset
		if (batchMagic(batch, 0) < 2) {
			for (const { key, offset } of await messagesOf(services.compression, batch, 0, services.decompressedBytesMax)) {
				if (key !== null && offset >= from && !map.put(key, 0, key.length, offset)) return false
			}
			return true
		}
		const count = batchRecordCount(batch, 0)
		if (count === 0) return true
		const plain = await plainRecords(services, batch)
		const base = batchBaseOffset(batch, 0)
		const view = new RecordView()
		let at = 0
		for (let index = 0; index < count; index++) {
			view.read(plain, at, plain.length, base)
			at = view.end
			if (view.hasKey && view.offset >= from && !map.put(plain, view.keyAt, view.keyEnd, view.offset)) return false
			if (index % RECORDS_A_LOOK === 0 && slices.isOver) await slices.giveWay()
		}
		if (at !== plain.length) throw new RecordFormatError('bytes left after the last record')
		return true
	}

	/** Writes one group into a new segment and swaps it in; returns its bytes. */
	async #cleanGroup(group: readonly Source[], transactions: CleanedTransactions): Promise<number> {
		const core = this.#core
		const { disk, clock } = core.services
		const base = (group[0] as Source).baseOffset
		this.#check()
		const cleaned = new Segment(disk, core.directory, base, 0, core.config, clock.wallMs(), CLEANED)
		removeCleaned(core, cleaned)
		try {
			cleaned.file()
			for (const source of group) await this.#copy(source, cleaned, transactions)
			cleaned.seal()
			await cleaned.sync()
			this.#check()
			cleaned.close()
			disk.setModifiedNow(cleaned.path, (group[group.length - 1] as Source).segment.modifiedMs())
		} catch (error) {
			cleaned.abandon()
			// The folder of a closed log is another one's, or nobody's.
			if (!core.isClosed && core.fencedBy === null) removeCleaned(core, cleaned)
			throw error
		}
		const old = group.map((source) => source.segment)
		swapIn(core, cleaned, old)
		return cleaned.size
	}

	/** Appends to `cleaned` what stays of one segment. */
	async #copy(source: Source, cleaned: Segment, transactions: CleanedTransactions): Promise<void> {
		const reader = this.#reader
		const { slices } = this.#context
		const mayDropLegacy = mayDropLegacyTombstone(source.segment.modifiedMs(), this.#legacyHorizonMs)
		reader.open(source.segment, 0)
		try {
			while (await this.#nextPiece()) {
				const kept: Buffer[] = []
				while (reader.nextBatch()) {
					const batch = reader.bytes.subarray(reader.at, reader.end)
					const rest = await this.#filter(batch, cleaned, transactions, mayDropLegacy)
					if (rest !== null) kept.push(rest)
					if (slices.isOver) await slices.giveWay()
					this.#check()
				}
				await this.#write(cleaned, kept)
			}
		} finally {
			reader.close()
		}
	}

	async #filter(
		batch: Buffer,
		cleaned: Segment,
		transactions: CleanedTransactions,
		mayDropLegacyTombstones: boolean,
	): Promise<Buffer | null> {
		const context = this.#context
		if (batchMagic(batch, 0) < 2) return await filterLegacy(context, batch, mayDropLegacyTombstones)
		const isControl = (batchAttributes(batch, 0) & CONTROL_BIT) !== 0
		const isDiscardable = isControl ? transactions.passMarker(batch, 0) : transactions.passData(batch, 0)
		if (isControl && transactions.keptEntry !== null) cleaned.txnIndex.append(transactions.keptEntry)
		const producer = batchHasProducer(batch, 0) ? this.#lastRecords.get(batchProducerId(batch, 0)) : undefined
		const facts = {
			lastOffset: batchLastOffset(batch, 0),
			isControl,
			producerEpoch: batchProducerEpoch(batch, 0),
			deleteHorizonMs: deleteHorizonOf(batch, 0),
			isDiscardable,
			lastRecord: producer ?? null,
		}
		return await filterBatch(context, batch, 0, fateOf(facts, this.#range.bound, context.nowMs))
	}

	async #write(cleaned: Segment, batches: readonly Buffer[]): Promise<void> {
		if (batches.length === 0) return
		await cleaned.write(batches.length > GATHER_MAX ? [Buffer.concat(batches)] : batches)
		this.#check()
		let bytes = 0
		for (const batch of batches) {
			const last = lastOffsetOf(batch, 0)
			cleaned.added(batch.length, last, maxTimestampOf(batch, 0), last, this.#core.config)
			bytes += batch.length
		}
		await this.#charge(bytes)
	}

	async #nextPiece(): Promise<boolean> {
		const hasOne = await this.#reader.nextPiece()
		this.#check()
		if (hasOne) await this.#charge(this.#reader.pieceBytes)
		return hasOne
	}

	async #charge(bytes: number): Promise<void> {
		const wait = this.#limits.throttle.charge(bytes)
		if (wait === null) return
		await wait
		this.#check()
	}
}

/** File position of the first batch that reaches `offset`, from the index when that is right. */
function startOf(segment: Segment, offset: number): number {
	if (offset <= segment.baseOffset) return 0
	try {
		return segment.find(offset)?.position ?? segment.size
	} catch (error) {
		if (!(error instanceof IndexDamage)) throw error
		return 0
	}
}
