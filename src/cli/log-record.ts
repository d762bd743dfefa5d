/** Records of a dumped batch as objects: bytes as text or base64, those of Kafka's own topics decoded. */

import { isUtf8 } from 'node:buffer'
import type { DumpedBatch } from '../engine/log/dump.js'
import { decodeData } from '../protocol/compile.js'
import {
	groupMetadataKey,
	groupMetadataValue,
	offsetCommitKey,
	offsetCommitValue,
	transactionLogKey,
	transactionLogValue,
} from '../protocol/messages/internal.js'
import { type DecodedRecord, readMarker } from '../protocol/records/record.js'

/** `__consumer_offsets` or `__transaction_state`. */
export type InternalKind = 'offsets' | 'txn'

export function recordObject(
	batch: DumpedBatch,
	record: DecodedRecord,
	decodeAs: InternalKind | null,
): Record<string, unknown> {
	const marker = batch.isControl ? readMarker(record) : null
	const place = { offset: record.offset, timestamp: record.timestamp }
	if (marker !== null) return { ...place, marker: marker.type, coordinatorEpoch: marker.coordinatorEpoch }
	const decoded = decodeAs === null ? null : decodeInternal(record, decodeAs)
	if (decoded !== null) return { ...place, ...decoded }
	const key = bytesField(record.key)
	const value = bytesField(record.value)
	return {
		...place,
		headers: record.headers.map((header) => {
			const { text, encoding } = bytesField(header.value)
			return { key: header.key, value: text, encoding }
		}),
		key: key.text,
		keyEncoding: key.encoding,
		value: value.text,
		valueEncoding: value.encoding,
	}
}

/** Key and value of a record of Kafka's own; null when the bytes are something else. */
export function decodeInternal(
	record: Pick<DecodedRecord, 'key' | 'value'>,
	kind: InternalKind,
): Record<string, unknown> | null {
	const { key, value } = record
	if (key === null || key.length < 2) return null
	const version = key.readInt16BE(0)
	try {
		if (kind === 'txn') {
			const message = decodeData(transactionLogKey, key).message
			return { key: message, value: value === null ? null : decodeData(transactionLogValue, value).message }
		}
		if (version === GROUP_KEY) {
			const message = decodeData(groupMetadataKey, key).message
			return { key: message, value: value === null ? null : groupValue(value) }
		}
		const message = decodeData(offsetCommitKey, key).message
		return { key: message, value: value === null ? null : decodeData(offsetCommitValue, value).message }
	} catch {
		// Not what the topic should hold: shown as plain bytes.
		return null
	}
}

const GROUP_KEY = 2

function groupValue(value: Buffer): Record<string, unknown> {
	const { members, ...group } = decodeData(groupMetadataValue, value).message
	return {
		...group,
		members: members.map(({ subscription, assignment, ...member }) => ({
			...member,
			subscription: subscription.toString('base64'),
			assignment: assignment.toString('base64'),
		})),
	}
}

export function bytesField(bytes: Buffer | null): { text: string | null; encoding: 'utf8' | 'base64' } {
	if (bytes === null) return { text: null, encoding: 'utf8' }
	return isUtf8(bytes)
		? { text: bytes.toString('utf8'), encoding: 'utf8' }
		: { text: bytes.toString('base64'), encoding: 'base64' }
}

export function jsonText(value: unknown): string {
	return JSON.stringify(value, (_key, each: unknown) => {
		if (typeof each !== 'bigint') return each
		return Number.isSafeInteger(Number(each)) ? Number(each) : each.toString()
	})
}
