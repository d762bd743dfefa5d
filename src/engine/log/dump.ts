/**
 * Offline reader of a partition's files, for `kcli log dump|segments` and for tests: every batch with its place, the entries
 * of the indexes, producer snapshots. Opens files to read only, and stops at damage, which it names by position.
 */

import { readInt64 } from '../../base/bytes.js'
import { CodecError, type Compression } from '../../base/compression.js'
import {
	batchAttributes,
	batchBaseOffset,
	batchBaseSequence,
	batchBaseTimestamp,
	batchCrc,
	batchLastOffset,
	batchLastSequence,
	batchLeaderEpoch,
	batchMagic,
	batchMaxTimestamp,
	batchProducerEpoch,
	batchProducerId,
	batchRecordCount,
	CODEC_MASK,
	CONTROL_BIT,
	DELETE_HORIZON_BIT,
	isStoredCrcRight,
	LOG_APPEND_TIME_BIT,
	TRANSACTIONAL_BIT,
} from '../../protocol/records/batch.js'
import { codecName, recordsOf } from '../../protocol/records/compression.js'
import { RecordFormatError } from '../../protocol/records/fields.js'
import { type DecodedRecord, readMarker } from '../../protocol/records/record.js'
import type { Disk } from '../../runtime/ports.js'
import { decodeSnapshot, type ProducerSnapshotEntry } from './producer-snapshot.js'
import { SegmentScan } from './scan.js'
import { type AbortedTransaction, decodeAborted } from './txn-index.js'

/** One batch of a `.log` file. Times in ms; -1 where there is none. */
export interface DumpedBatch {
	readonly baseOffset: number
	readonly lastOffset: number
	readonly count: number
	readonly baseSequence: number
	readonly lastSequence: number
	readonly producerId: bigint
	readonly producerEpoch: number
	readonly leaderEpoch: number
	readonly isTransactional: boolean
	readonly isControl: boolean
	/** -1: none is set. */
	readonly deleteHorizonMs: number
	readonly position: number
	readonly timestampType: 'CreateTime' | 'LogAppendTime'
	readonly maxTimestamp: number
	readonly size: number
	readonly magic: number
	readonly codec: string
	readonly crc: number
	readonly isValid: boolean
	/** Null when not asked for, or not readable (then `problem` says why). */
	readonly records: readonly DecodedRecord[] | null
	readonly problem: string | null
}

/** What follows the last whole batch of a file. */
export interface DumpedDamage {
	readonly position: number
	readonly bytes: number
	readonly reason: string
}

/** The most that one batch may decompress to here. */
const PLAIN_BYTES_MAX = 256 * 1024 * 1024

function readHeader(scan: SegmentScan): Omit<DumpedBatch, 'records' | 'problem'> {
	const { bytes, at, end, position } = scan
	const magic = batchMagic(bytes, at)
	const isV2 = magic === 2
	const attributes = isV2 ? batchAttributes(bytes, at) : bytes.readInt8(at + 17)
	const hasHorizon = isV2 && (attributes & DELETE_HORIZON_BIT) !== 0
	const legacyTime = magic === 1 ? readInt64(bytes, at + 18) : -1
	return {
		baseOffset: batchBaseOffset(bytes, at),
		lastOffset: isV2 ? batchLastOffset(bytes, at) : batchBaseOffset(bytes, at),
		count: isV2 ? batchRecordCount(bytes, at) : 1,
		baseSequence: isV2 ? batchBaseSequence(bytes, at) : -1,
		lastSequence: isV2 ? batchLastSequence(bytes, at) : -1,
		producerId: isV2 ? batchProducerId(bytes, at) : -1n,
		producerEpoch: isV2 ? batchProducerEpoch(bytes, at) : -1,
		leaderEpoch: isV2 ? batchLeaderEpoch(bytes, at) : -1,
		isTransactional: isV2 && (attributes & TRANSACTIONAL_BIT) !== 0,
		isControl: isV2 && (attributes & CONTROL_BIT) !== 0,
		deleteHorizonMs: hasHorizon ? batchBaseTimestamp(bytes, at) : -1,
		position,
		timestampType: (attributes & LOG_APPEND_TIME_BIT) !== 0 ? 'LogAppendTime' : 'CreateTime',
		maxTimestamp: isV2 ? batchMaxTimestamp(bytes, at) : legacyTime,
		size: end - at,
		magic,
		codec: codecName(attributes & CODEC_MASK) ?? `unknown(${attributes & CODEC_MASK})`,
		crc: isV2 ? batchCrc(bytes, at) : bytes.readUInt32BE(at + 12),
		isValid: isStoredCrcRight(bytes, at, end),
	}
}

/** Every batch of the `.log` file at `path`, then its damage if there is any. `compression` null leaves records out. */
export async function* dumpLog(
	disk: Disk,
	path: string,
	compression: Compression | null,
): AsyncGenerator<DumpedBatch | DumpedDamage> {
	const file = disk.openNow(path, 'read')
	try {
		const size = file.sizeNow()
		const scan = new SegmentScan(file, 0, size)
		while (scan.next()) {
			const header = readHeader(scan)
			let records: readonly DecodedRecord[] | null = null
			let problem: string | null = null
			if (compression !== null && header.magic === 2) {
				try {
					records = await recordsOf(compression, scan.bytes, scan.at, PLAIN_BYTES_MAX)
				} catch (error) {
					if (!(error instanceof RecordFormatError) && !(error instanceof CodecError)) throw error
					problem = error.message
				}
			}
			yield { ...header, records, problem }
		}
		const end = scan.endPosition
		if (end < size) yield { position: end, bytes: size - end, reason: scan.damage ?? 'unreadable' }
	} finally {
		file.closeNow()
	}
}

export function isDamage(entry: DumpedBatch | DumpedDamage): entry is DumpedDamage {
	return 'reason' in entry
}

/** Base offset from a segment file's name, as Kafka's tool takes it. */
export function baseOffsetOf(name: string): number {
	return Number.parseInt(name, 10)
}

/** Entries of an `.index` file up to its zero tail. */
export function dumpOffsetIndex(disk: Disk, path: string, baseOffset: number): { offset: number; position: number }[] {
	const bytes = disk.readFileNow(path)
	const entries: { offset: number; position: number }[] = []
	for (let at = 0; at + 8 <= bytes.length; at += 8) {
		const offset = bytes.readInt32BE(at)
		const position = bytes.readInt32BE(at + 4)
		if (offset === 0 && at > 0) break
		entries.push({ offset: baseOffset + offset, position })
	}
	return entries
}

/** Entries of a `.timeindex` file up to its zero tail. */
export function dumpTimeIndex(disk: Disk, path: string, baseOffset: number): { timestamp: number; offset: number }[] {
	const bytes = disk.readFileNow(path)
	const entries: { timestamp: number; offset: number }[] = []
	for (let at = 0; at + 12 <= bytes.length; at += 12) {
		const timestamp = readInt64(bytes, at)
		const offset = bytes.readInt32BE(at + 8)
		if (timestamp === 0 && offset === 0 && at > 0) break
		entries.push({ timestamp, offset: baseOffset + offset })
	}
	return entries
}

/** Entries of a `.txnindex` file; a cut one at the end is left out. */
export function dumpTxnIndex(disk: Disk, path: string): AbortedTransaction[] {
	const bytes = disk.readFileNow(path)
	const entries: AbortedTransaction[] = []
	for (let at = 0; at + 34 <= bytes.length; at += 34) entries.push(decodeAborted(bytes, at))
	return entries
}

/** Producers of a `.snapshot` file. Throws `SnapshotDamage`. */
export function dumpSnapshot(disk: Disk, path: string): ProducerSnapshotEntry[] {
	return decodeSnapshot(disk.readFileNow(path))
}

const optional = (value: number): string => (value < 0 ? 'OptionalLong.empty' : `OptionalLong[${value}]`)

/** A batch in the words of Kafka's dump tool. */
export function batchLine(batch: DumpedBatch): string {
	return (
		`baseOffset: ${batch.baseOffset} lastOffset: ${batch.lastOffset} count: ${batch.count} ` +
		`baseSequence: ${batch.baseSequence} lastSequence: ${batch.lastSequence} producerId: ${batch.producerId} ` +
		`producerEpoch: ${batch.producerEpoch} partitionLeaderEpoch: ${batch.leaderEpoch} ` +
		`isTransactional: ${batch.isTransactional} isControl: ${batch.isControl} ` +
		`deleteHorizonMs: ${optional(batch.deleteHorizonMs)} position: ${batch.position} ` +
		`${batch.timestampType}: ${batch.maxTimestamp} size: ${batch.size} magic: ${batch.magic} ` +
		`compresscodec: ${batch.codec} crc: ${batch.crc} isvalid: ${batch.isValid}`
	)
}

/** A record in the words of Kafka's dump tool, key and payload as text. */
export function recordLine(batch: DumpedBatch, record: DecodedRecord): string {
	const sequence = batch.baseSequence < 0 ? -1 : batch.baseSequence + (record.offset - batch.baseOffset)
	const headers = record.headers.map((header) => header.key).join(',')
	let line =
		`| offset: ${record.offset} ${batch.timestampType}: ${record.timestamp} keySize: ${record.key?.length ?? -1} ` +
		`valueSize: ${record.value?.length ?? -1} sequence: ${sequence} headerKeys: [${headers}]`
	const marker = batch.isControl ? readMarker(record) : null
	if (marker !== null)
		return `${line} endTxnMarker: ${marker.type.toUpperCase()} coordinatorEpoch: ${marker.coordinatorEpoch}`
	if (record.key !== null) line += ` key: ${record.key}`
	if (record.value !== null) line += ` payload: ${record.value}`
	return line
}

/** A producer in the words of Kafka's dump tool. */
export function producerLine(entry: ProducerSnapshotEntry): string {
	const { lastSequence, offsetDelta } = entry
	const first =
		lastSequence < 0
			? -1
			: lastSequence >= offsetDelta
				? lastSequence - offsetDelta
				: 2 ** 31 + lastSequence - offsetDelta
	return (
		`producerId: ${entry.producerId} producerEpoch: ${entry.producerEpoch} coordinatorEpoch: ${entry.coordinatorEpoch} ` +
		`currentTxnFirstOffset: ${optional(entry.currentTxnFirstOffset)} lastTimestamp: ${entry.timestamp} ` +
		`firstSequence: ${first} lastSequence: ${lastSequence} lastOffset: ${entry.lastOffset} ` +
		`offsetDelta: ${offsetDelta} timestamp: ${entry.timestamp}`
	)
}
