/** Messages of formats 0 and 1 as the records of one v2 batch, offsets 0, 1, 2 …, without an object a message. */

import {
	sizeOfBigVarlong,
	sizeOfVarint,
	sizeOfVarlong,
	writeBigVarlong,
	writeVarint,
	writeVarlong,
} from '../../base/bytes.js'
import type { Turns } from '../../base/turns.js'
import { BATCH_HEADER_BYTES, NO_PRODUCER_ID, writeBatchHeader } from './batch.js'
import { MessageFields } from './legacy.js'

/** What a set of messages adds up to; each is added before the next is read. */
export class UpConversion {
	/** Messages, and bytes of them as plain records. */
	count = 0
	bytes = 0
	/** Bigints where a number would not be exact. */
	baseTimestamp: number | bigint = -1
	maxTimestamp: number | bigint = -1

	add(fields: MessageFields): void {
		const timestamp = exactTime(fields)
		if (this.count === 0) this.baseTimestamp = timestamp
		if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp
		const body = bodyBytes(fields, timeDelta(timestamp, this.baseTimestamp), this.count)
		this.bytes += sizeOfVarint(body) + body
		this.count++
	}
}

const MESSAGES_A_TURN = 20_000

/** The uncompressed batch of all messages in `messages`, which were added to `sums` before. */
export function* upConvert(messages: Buffer, sums: UpConversion): Turns<Buffer> {
	const batch = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + sums.bytes)
	const fields = new MessageFields(messages)
	let at = BATCH_HEADER_BYTES
	for (let i = 0; i < sums.count; i++) {
		fields.read()
		const delta = timeDelta(exactTime(fields), sums.baseTimestamp)
		at = writeVarint(batch, bodyBytes(fields, delta, i), at)
		batch[at++] = 0
		at = typeof delta === 'bigint' ? writeBigVarlong(batch, delta, at) : writeVarlong(batch, delta, at)
		at = writeVarint(batch, i, at)
		at = writePart(batch, at, messages, fields.keyAt, fields.keyLength)
		at = writePart(batch, at, messages, fields.valueAt, fields.valueLength)
		batch[at++] = 0
		if (i % MESSAGES_A_TURN === MESSAGES_A_TURN - 1) yield
	}
	writeBatchHeader(batch, 0, batch.length, {
		baseOffset: 0,
		leaderEpoch: -1,
		attributes: 0,
		lastOffsetDelta: sums.count - 1,
		baseTimestamp: sums.baseTimestamp,
		maxTimestamp: sums.maxTimestamp,
		producerId: NO_PRODUCER_ID,
		producerEpoch: -1,
		baseSequence: -1,
		recordCount: sums.count,
	})
	return batch
}

function exactTime(fields: MessageFields): number | bigint {
	return Number.isSafeInteger(fields.timestamp) ? fields.timestamp : fields.exactTimestamp()
}

/** Both are at least -1, so that two numbers differ by one that is exact. */
function timeDelta(timestamp: number | bigint, base: number | bigint): number | bigint {
	if (typeof timestamp === 'number' && typeof base === 'number') return timestamp - base
	return BigInt(timestamp) - BigInt(base)
}

function bodyBytes({ keyLength, valueLength }: MessageFields, delta: number | bigint, index: number): number {
	const timeBytes = typeof delta === 'bigint' ? sizeOfBigVarlong(delta) : sizeOfVarlong(delta)
	return 2 + timeBytes + sizeOfVarint(index) + partBytes(keyLength) + partBytes(valueLength)
}

function partBytes(length: number): number {
	return sizeOfVarint(length) + Math.max(0, length)
}

function writePart(into: Buffer, at: number, from: Buffer, start: number, length: number): number {
	const next = writeVarint(into, length, at)
	return length <= 0 ? next : next + from.copy(into, next, start, start + length)
}
