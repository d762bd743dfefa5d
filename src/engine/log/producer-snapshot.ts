/**
 * The `.snapshot` file: producer states before the offset in its name (19.9). Only the last batch of a producer is kept.
 *
 * int16 version 1, uint32 CRC-32C of what follows, int32 count, then for each producer: int64 id, int16 epoch,
 * int32 last sequence, int64 last offset, int32 offset delta, int64 timestamp, int32 coordinator epoch,
 * int64 first offset of the open transaction (-1 none)
 */

import { readInt64, writeInt64 } from '../../base/bytes.js'
import { crc32c } from '../../base/crc32c.js'

export interface ProducerSnapshotEntry {
	readonly producerId: bigint
	readonly producerEpoch: number
	readonly lastSequence: number
	readonly lastOffset: number
	readonly offsetDelta: number
	readonly timestamp: number
	readonly coordinatorEpoch: number
	readonly currentTxnFirstOffset: number
}

const HEADER_BYTES = 10
const ENTRY_BYTES = 46

/** Throws when the bytes are not a snapshot. */
export class SnapshotDamage extends Error {
	override readonly name = 'SnapshotDamage'
}

export function decodeSnapshot(bytes: Buffer): ProducerSnapshotEntry[] {
	if (bytes.length < HEADER_BYTES) throw new SnapshotDamage(`${bytes.length} bytes`)
	if (bytes.readInt16BE(0) !== 1) throw new SnapshotDamage(`version ${bytes.readInt16BE(0)}`)
	if (crc32c(bytes.subarray(6)) !== bytes.readUInt32BE(2)) throw new SnapshotDamage('CRC does not match')
	const count = bytes.readInt32BE(6)
	if (count < 0 || bytes.length !== HEADER_BYTES + count * ENTRY_BYTES) throw new SnapshotDamage(`${count} entries`)
	const entries: ProducerSnapshotEntry[] = []
	for (let i = 0; i < count; i++) {
		const at = HEADER_BYTES + i * ENTRY_BYTES
		entries.push({
			producerId: bytes.readBigInt64BE(at),
			producerEpoch: bytes.readInt16BE(at + 8),
			lastSequence: bytes.readInt32BE(at + 10),
			lastOffset: readInt64(bytes, at + 14),
			offsetDelta: bytes.readInt32BE(at + 22),
			timestamp: readInt64(bytes, at + 26),
			coordinatorEpoch: bytes.readInt32BE(at + 34),
			currentTxnFirstOffset: readInt64(bytes, at + 38),
		})
	}
	return entries
}

export function encodeSnapshot(entries: readonly ProducerSnapshotEntry[]): Buffer {
	const bytes = Buffer.alloc(HEADER_BYTES + entries.length * ENTRY_BYTES)
	bytes.writeInt16BE(1, 0)
	bytes.writeInt32BE(entries.length, 6)
	let at = HEADER_BYTES
	for (const entry of entries) {
		bytes.writeBigInt64BE(entry.producerId, at)
		bytes.writeInt16BE(entry.producerEpoch, at + 8)
		bytes.writeInt32BE(entry.lastSequence, at + 10)
		writeInt64(bytes, entry.lastOffset, at + 14)
		bytes.writeInt32BE(entry.offsetDelta, at + 22)
		writeInt64(bytes, entry.timestamp, at + 26)
		bytes.writeInt32BE(entry.coordinatorEpoch, at + 34)
		writeInt64(bytes, entry.currentTxnFirstOffset, at + 38)
		at += ENTRY_BYTES
	}
	bytes.writeUInt32BE(crc32c(bytes.subarray(6)), 2)
	return bytes
}
