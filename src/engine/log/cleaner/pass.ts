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
import { Slices } from '../scan.js'
import { lastOffsetOf, maxTimestampOf, Segment } from '../segment.js'
import { IndexDamage } from '../sparse-index.js'
import { deleteHorizonOf, type FilterContext, filterBatch } from './filter-batch.js'
import { filterLegacy } from './filter-legacy.js'
import { groupSegments } from './groups.js'
import { fateOf, mayDropLegacyTombstone } from './keep.js'
import { OffsetMap, slotsFor } from './offset-map.js'
import {
	CleaningAborted,
	type PassHost,
	type PassJob,
	type PassPorts,
	type PassResult,
	type PassRunner,
	type SourceFacts,
} from './pass-job.js'
import { PieceReader } from './piece-reader.js'
import { plainRecords } from './plain-records.js'
import { RecordView } from './record-view.js'
import { CLEANED } from './swap.js'
import { CleanedTransactions } from './transactions.js'

interface Source extends SourceFacts {
	readonly segment: Segment
}

const RECORDS_A_LOOK = 512
/** More small batches than this are copied together before they are written. */
const GATHER_MAX = 16

/** Makes the pass of `job`. Rejects with {@link CleaningAborted} once `host` is over, and as `cleanLog` says. */
export async function makePass(ports: PassPorts, job: PassJob, host: PassHost): Promise<PassResult> {
	const pass = new Pass(ports, job, host)
	try {
		return await pass.go()
	} catch (error) {
		throw host.isOver ? new CleaningAborted(job.log) : error
	} finally {
		pass.close()
	}
}

/** Passes on the caller's own loop. */
export const INLINE_PASSES: PassRunner = { run: makePass, close: () => Promise.resolve() }

class Pass {
	readonly #ports: PassPorts
	readonly #job: PassJob
	readonly #host: PassHost
	readonly #reader: PieceReader
	readonly #sources: readonly Source[]
	readonly #context: FilterContext
	readonly #legacyHorizonMs: number

	constructor(ports: PassPorts, job: PassJob, host: PassHost) {
		this.#ports = ports
		this.#job = job
		this.#host = host
		this.#reader = new PieceReader(job.pieceBytes)
		const { disk, clock, compression } = ports
		this.#sources = job.sources.map((facts) => ({
			...facts,
			segment: new Segment(disk, job.directory, facts.baseOffset, facts.bytes, job, job.nowMs),
		}))
		const slots = slotsFor(job.mapBytes, job.loadFactor, job.bound - job.firstDirtyOffset)
		this.#context = {
			services: { compression, decompressedBytesMax: job.decompressedBytesMax },
			map: new OffsetMap(slots, job.loadFactor, Buffer.from(job.hashKey)),
			nowMs: job.nowMs,
			deleteRetentionMs: job.deleteRetentionMs,
			slices: new Slices(clock),
		}
		const clean = job.sources.filter((source) => source.baseOffset < job.firstDirtyOffset)
		const newestClean = clean[clean.length - 1]?.modifiedMs
		this.#legacyHorizonMs = newestClean === undefined ? 0 : newestClean - job.deleteRetentionMs
	}

	close(): void {
		this.#reader.close()
		for (const { segment } of this.#sources) segment.close()
	}

	async go(): Promise<PassResult> {
		const { map } = this.#context
		await this.#mapKeys()
		const endOffset = map.latestOffset + 1
		const cleanable = this.#sources.filter((source) => source.baseOffset < endOffset)
		// What makes a record void must outlive a power loss, or that takes both: the mapped records, and the markers of
		// their transactions, which may stand above the bound.
		await this.#host.flush()
		this.#check()
		const groups = groupSegments(cleanable, this.#job)
		const transactions = new CleanedTransactions(this.#job.aborted)
		let bytesAfter = 0
		for (const group of groups) bytesAfter += await this.#cleanGroup(group, transactions)
		this.#check()
		return {
			endOffset,
			keys: map.size,
			segmentsBefore: cleanable.length,
			segmentsAfter: groups.length,
			bytesBefore: cleanable.reduce((total, source) => total + source.bytes, 0),
			bytesAfter,
		}
	}

	#check(): void {
		if (this.#host.isOver) throw new CleaningAborted(this.#job.log)
	}

	async #mapKeys(): Promise<void> {
		const { firstDirtyOffset, aborted } = this.#job
		const transactions = new CleanedTransactions(aborted.filter((one) => one.lastOffset >= firstDirtyOffset))
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
		reader.open(segment, startOf(segment, this.#job.firstDirtyOffset))
		try {
			while (await this.#nextPiece()) {
				while (reader.nextBatch()) {
					const { bytes, at, end } = reader
					if (batchMagic(bytes, at) === 2 && (batchAttributes(bytes, at) & CONTROL_BIT) !== 0) {
						transactions.passMarker(bytes, at)
					} else if (batchMagic(bytes, at) < 2 || !transactions.passData(bytes, at)) {
						if (!(await this.#mapBatch(bytes.subarray(at, end)))) return false
					}
					if (lastOffsetOf(bytes, at) >= this.#job.firstDirtyOffset) map.advance(lastOffsetOf(bytes, at))
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
		const from = this.#job.firstDirtyOffset
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
		const { disk } = this.#ports
		const base = (group[0] as Source).baseOffset
		this.#check()
		const cleaned = new Segment(disk, this.#job.directory, base, 0, this.#job, this.#job.nowMs, CLEANED)
		for (const path of cleaned.paths()) disk.removeNow(path)
		try {
			cleaned.file()
			for (const source of group) await this.#copy(source, cleaned, transactions)
			cleaned.seal()
			await cleaned.sync()
			this.#check()
			cleaned.close()
			disk.setModifiedNow(cleaned.path, (group[group.length - 1] as Source).modifiedMs)
		} catch (error) {
			cleaned.abandon()
			throw error
		}
		for (const { segment } of group) segment.close()
		const bases = group.map((source) => source.baseOffset)
		await this.#host.swapIn(base, cleaned.size, bases)
		return cleaned.size
	}

	/** Appends to `cleaned` what stays of one segment. */
	async #copy(source: Source, cleaned: Segment, transactions: CleanedTransactions): Promise<void> {
		const reader = this.#reader
		const { slices } = this.#context
		const mayDropLegacy = mayDropLegacyTombstone(source.modifiedMs, this.#legacyHorizonMs)
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
		const producer = batchHasProducer(batch, 0) ? this.#job.lastRecords.get(batchProducerId(batch, 0)) : undefined
		const facts = {
			lastOffset: batchLastOffset(batch, 0),
			isControl,
			producerEpoch: batchProducerEpoch(batch, 0),
			deleteHorizonMs: deleteHorizonOf(batch, 0),
			isDiscardable,
			lastRecord: producer ?? null,
		}
		return await filterBatch(context, batch, 0, fateOf(facts, this.#job.bound, context.nowMs))
	}

	async #write(cleaned: Segment, batches: readonly Buffer[]): Promise<void> {
		if (batches.length === 0) return
		await cleaned.write(batches.length > GATHER_MAX ? [Buffer.concat(batches)] : batches)
		this.#check()
		let bytes = 0
		for (const batch of batches) {
			const last = lastOffsetOf(batch, 0)
			cleaned.added(batch.length, last, maxTimestampOf(batch, 0), last, this.#job)
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
		const wait = this.#host.charge(bytes)
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
