/**
 * One partition of `__consumer_offsets` as the coordinator uses it: append with the waits of acks=all, and replay from
 * the log start when its leadership is gained.
 */

import type { Compression } from '../../base/compression.js'
import { ERROR } from '../../protocol/errors.js'
import {
	batchAttributes,
	batchBytes,
	batchLastOffset,
	batchMagic,
	batchProducerId,
	CONTROL_BIT,
	TRANSACTIONAL_BIT,
	wholeBatchEnd,
} from '../../protocol/records/batch.js'
import { recordsOf } from '../../protocol/records/compression.js'
import { buildBatch, type DecodedRecord, readMarker } from '../../protocol/records/record.js'
import { FileSlice } from '../log/read.js'
import type { ReplicaManager } from '../replica/manager.js'
import type { Partition } from '../replica/partition.js'
import type { InternalRecord } from './group-records.js'

/** Newest Produce version: the coordinator's batches are checked as the newest client's. */
const PRODUCE_VERSION = 11
const READ_BYTES = 4 * 1024 * 1024
const BATCH_BYTES_MAX = 64 * 1024 * 1024

/** Appends one batch and waits until the ISR has it. Resolves with the code of semantics 4 and 6. */
export async function appendInternal(
	replicas: ReplicaManager,
	partition: Partition,
	records: readonly InternalRecord[],
	timestamp: number,
	baseSequence: number,
	timeoutMs: number,
): Promise<number> {
	if (!partition.isLeader) return ERROR.NOT_LEADER_OR_FOLLOWER
	if (partition.isr.length < replicas.minIsrOf(partition)) return ERROR.NOT_ENOUGH_REPLICAS
	const batch = buildBatch({ records: records.map(({ key, value }) => ({ timestamp, key, value })), baseSequence })
	const epoch = partition.leaderEpoch
	const outcome = await partition.append(batch, { origin: 'coordinator', produceVersion: PRODUCE_VERSION })
	if (outcome.errorCode !== ERROR.NONE) return outcome.errorCode
	replicas.appended(partition)
	if (partition.log.highWatermark > outcome.lastOffset) return ERROR.NONE
	return await new Promise<number>((resolve) => {
		replicas.produces.watch(
			{
				tryComplete: () => {
					const isOurs = partition.isLeader && partition.leaderEpoch === epoch
					if (isOurs && partition.log.highWatermark <= outcome.lastOffset) return false
					resolve(isOurs ? ERROR.NONE : ERROR.NOT_LEADER_OR_FOLLOWER)
					return true
				},
				expire: () => resolve(ERROR.REQUEST_TIMED_OUT),
			},
			[partition.key],
			timeoutMs,
		)
	})
}

/** What replay meets, in order of the log. */
export interface ReplayVisitor {
	/** A plain record, or one of a transaction of `producerId` that is not ended yet. */
	record(record: DecodedRecord, producerId: bigint | null): void
	/** A transaction's end. */
	marker(producerId: bigint, type: 'commit' | 'abort'): void
}

/** Reads a partition from log start to log end. `isCurrent` is asked between pieces; false ends the replay early. */
export async function replay(
	partition: Partition,
	compression: Compression,
	visitor: ReplayVisitor,
	isCurrent: () => boolean,
): Promise<void> {
	let offset = partition.log.logStartOffset
	while (offset < partition.log.logEndOffset && isCurrent()) {
		const outcome = partition.log.read({ offset, maxBytes: READ_BYTES, minOneBatch: true, upTo: 'logEnd' })
		if (outcome.errorCode !== ERROR.NONE)
			throw new Error(`reading ${partition.key} at ${offset}: code ${outcome.errorCode}`)
		if (outcome.bytes === 0) return
		for (const part of outcome.parts) {
			const bytes = part instanceof FileSlice ? await readSlice(part) : part
			offset = Math.max(offset, await replayBytes(bytes, offset, compression, visitor))
		}
	}
}

async function readSlice(slice: FileSlice): Promise<Buffer> {
	const bytes = Buffer.allocUnsafeSlow(slice.length)
	try {
		const read = await slice.file.read(bytes, slice.position)
		return bytes.subarray(0, read)
	} finally {
		slice.release()
	}
}

/** Visits the whole batches in `bytes`; returns the offset after the last. */
async function replayBytes(
	bytes: Buffer,
	from: number,
	compression: Compression,
	visitor: ReplayVisitor,
): Promise<number> {
	let next = from
	for (let at = 0; wholeBatchEnd(bytes, at, bytes.length) > 0; at += batchBytes(bytes, at)) {
		if (batchMagic(bytes, at) !== 2) throw new Error('old record format in an internal topic')
		const attributes = batchAttributes(bytes, at)
		const producerId = (attributes & TRANSACTIONAL_BIT) !== 0 ? batchProducerId(bytes, at) : null
		for (const record of await recordsOf(compression, bytes, at, BATCH_BYTES_MAX)) {
			if (record.offset < from) continue
			if ((attributes & CONTROL_BIT) === 0) visitor.record(record, producerId)
			else {
				const marker = readMarker(record)
				if (marker !== null && producerId !== null) visitor.marker(producerId, marker.type)
			}
		}
		next = batchLastOffset(bytes, at) + 1
	}
	return next
}
