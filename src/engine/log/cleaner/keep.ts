/**
 * What a pass keeps of a batch and of a record: pure rules (21.3–21.6, KIP-534). Kafka's names: `RETAIN_EMPTY` is
 * `keepsEmpty`, a delete horizon is the time from which a tombstone or a marker may go.
 *
 *     data:    kept as long as its offset is the key's last ─▶ tombstone: first pass sets the horizon ─▶ goes after it
 *     marker:  kept as long as data of its transaction is there ─▶ first pass without sets the horizon ─▶ goes after it
 */

/** Of an active producer, what keeps its state alive (21.4, 21.6). */
export interface LastRecord {
	/** Last offset of its last data batch, -1 when only a marker is known. */
	readonly lastDataOffset: number
	readonly producerEpoch: number
}

/** What the rules read of a batch. */
export interface BatchFacts {
	readonly lastOffset: number
	readonly isControl: boolean
	readonly producerEpoch: number
	/** ms; -1: none is set. */
	readonly deleteHorizonMs: number
	/** Data of an aborted transaction, or a marker before which no data was met. */
	readonly isDiscardable: boolean
	/** Null when the producer is not active here, or there is none. */
	readonly lastRecord: LastRecord | null
}

/** What is kept of a batch. */
export interface BatchFate {
	/** No record stays, whatever it is. */
	readonly dropsRecords: boolean
	/** Its header stays when no record does. */
	readonly keepsEmpty: boolean
	/** Gets a delete horizon if it has none and something of it stays. */
	readonly isMarkerOfNothing: boolean
}

/** `bound` is the first offset that the pass may not touch: the batch before it always stays, for readers to arrive there. */
export function fateOf(batch: BatchFacts, bound: number, nowMs: number): BatchFate {
	const isOver = batch.deleteHorizonMs >= 0 && batch.deleteHorizonMs <= nowMs
	return {
		dropsRecords: batch.isControl ? batch.isDiscardable && isOver : batch.isDiscardable,
		keepsEmpty: isLastOfProducer(batch) || batch.lastOffset + 1 === bound,
		isMarkerOfNothing: batch.isControl && batch.isDiscardable,
	}
}

function isLastOfProducer({ lastRecord, lastOffset, isControl, producerEpoch }: BatchFacts): boolean {
	if (lastRecord === null) return false
	if (lastRecord.lastDataOffset >= 0) return lastOffset === lastRecord.lastDataOffset
	return isControl && producerEpoch === lastRecord.producerEpoch
}

/** What the rules read of a data record. */
export interface RecordFacts {
	readonly offset: number
	readonly hasKey: boolean
	readonly hasValue: boolean
	/** Last offset of its key in the map, -1 when the map does not have it. Not read when `hasKey` is false. */
	readonly mappedOffset: number
}

/** `mappedTo`: last offset that the map covers. `mayDropTombstone`: the horizon of its batch is over. */
export function keepsRecord(record: RecordFacts, mappedTo: number, mayDropTombstone: boolean): boolean {
	if (record.offset > mappedTo) return true
	if (!record.hasKey) return false
	return record.offset >= record.mappedOffset && (record.hasValue || !mayDropTombstone)
}

/** Horizon for a batch of magic 2 that has `horizonMs` (-1: none) and of which something stays; -1 when it gets none. */
export function horizonFor(
	horizonMs: number,
	hasTombstone: boolean,
	isMarkerOfNothing: boolean,
	nowMs: number,
	deleteRetentionMs: number,
): number {
	if (horizonMs >= 0 || !(hasTombstone || isMarkerOfNothing)) return horizonMs
	return nowMs + deleteRetentionMs
}

/** Formats 0 and 1 have no horizon: a tombstone may go when its segment is older than the clean part's newest by that time. */
export function mayDropLegacyTombstone(segmentModifiedMs: number, legacyHorizonMs: number): boolean {
	return segmentModifiedMs <= legacyHorizonMs
}
