/** What a read_committed consumer sees of a log, by the rules that clients have: per fetch, with its list of aborted ones. */

import type { PartitionLog } from '../../../../src/engine/log/partition-log.js'
import {
	batchAttributes,
	batchBytes,
	batchLastOffset,
	batchProducerId,
	CONTROL_BIT,
	TRANSACTIONAL_BIT,
} from '../../../../src/protocol/records/batch.js'
import { recordsOf } from '../../../../src/protocol/records/compression.js'
import { type DecodedRecord, readMarker } from '../../../../src/protocol/records/record.js'
import { NodeCompression } from '../../../../src/runtime/node-compression.js'
import { bytesOf } from '../setup.js'

const compression = new NodeCompression()

/** Committed records up to the last stable offset. Where a reader stands still before it: throws, or ends if it `mayStop`. */
export async function committedRecords(log: PartitionLog, mayStop = false): Promise<DecodedRecord[]> {
	const seen: DecodedRecord[] = []
	const end = log.lastStableOffset
	for (let offset = log.logStartOffset; offset < end; ) {
		const request = { offset, maxBytes: 700, minOneBatch: true, upTo: 'lastStable', withAborted: true } as const
		const outcome = log.read(request)
		if (outcome.errorCode !== 0) throw new Error(`read at ${offset}: ${outcome.errorCode}`)
		const bytes = await bytesOf(outcome)
		const waiting = [...(outcome.aborted ?? [])].sort((a, b) => a.firstOffset - b.firstOffset)
		const aborting = new Set<bigint>()
		const before = offset
		for (
			let at = 0;
			at + 61 <= bytes.length && at + batchBytes(bytes, at) <= bytes.length;
			at += batchBytes(bytes, at)
		) {
			const last = batchLastOffset(bytes, at)
			const attributes = batchAttributes(bytes, at)
			const producerId = batchProducerId(bytes, at)
			while (waiting[0] !== undefined && waiting[0].firstOffset <= last) {
				aborting.add((waiting.shift() as { producerId: bigint }).producerId)
			}
			offset = last + 1
			const records = await recordsOf(compression, bytes, at, 1e8)
			if ((attributes & CONTROL_BIT) !== 0) {
				if (records[0] !== undefined && readMarker(records[0])?.type === 'abort') aborting.delete(producerId)
			} else if ((attributes & TRANSACTIONAL_BIT) === 0 || !aborting.has(producerId)) {
				seen.push(...records.filter((record) => record.offset >= before))
			}
		}
		if (offset === before && mayStop) return seen
		if (offset === before) throw new Error(`a reader at ${offset} gets nothing below ${end}`)
	}
	return seen
}

/** The table that records make: the last value of each key, tombstones taken out. */
export function folded(
	records: Iterable<{ readonly key: Buffer | string | null; readonly value: Buffer | string | null }>,
): Map<string, string> {
	const table = new Map<string, string>()
	for (const { key, value } of records) {
		if (value === null) table.delete(String(key))
		else table.set(String(key), String(value))
	}
	return table
}
