/** One record as `kcli consume` prints it, onto stdout or aside: for every way of reading. */

import type { RecordReader } from '../client/record-reader.js'
import type { ConsumeOptions } from './consume-options.js'
import type { FormatContext, FormatTarget } from './record-format.js'
import { type RecordDecoder, recordJson } from './record-json.js'

/** What of the options says how a record looks. */
export type PrintOptions = Pick<ConsumeOptions, 'format' | 'isJson' | 'isBare' | 'decode'>

export type PrintRecord = (record: RecordReader, context: FormatContext, into: FormatTarget) => void

/** Loads what decodes Kafka's own records only where they are wanted. */
export async function recordPrinter({ format, isJson, isBare, decode }: PrintOptions): Promise<PrintRecord> {
	if (!isJson) return format
	const decoder = decode === null ? null : await internalDecoder(decode)
	return (record, { topic, partition }, into) => {
		into.text(recordJson(topic, partition, record, isBare, decoder))
		into.byte(0x0a)
	}
}

async function internalDecoder(kind: 'offsets' | 'txn'): Promise<RecordDecoder> {
	const { decodeInternal, jsonText } = await import('./log-record.js')
	return (key, value) => {
		const decoded = decodeInternal({ key, value }, kind)
		return decoded === null ? null : { key: jsonText(decoded['key']), value: jsonText(decoded['value']) }
	}
}

/** Collects a record's printed form. */
export class Paper implements FormatTarget {
	#parts: Buffer[] = []

	bytes(source: Buffer, from: number, end: number): void {
		this.#parts.push(Buffer.from(source.subarray(from, end)))
	}

	byte(value: number): void {
		this.#parts.push(Buffer.of(value))
	}

	text(value: string): void {
		this.#parts.push(Buffer.from(value))
	}

	take(): Buffer {
		const bytes = Buffer.concat(this.#parts)
		this.#parts = []
		return bytes
	}
}

/** A record that may be printed later, in its printed form already. */
export interface KeptRecord {
	readonly timestamp: number
	readonly partition: string
	readonly offset: number
	readonly bytes: Buffer
}

/** By time, then place. */
export function inOrder(a: KeptRecord, b: KeptRecord): number {
	return (
		a.timestamp - b.timestamp || (a.partition < b.partition ? -1 : a.partition > b.partition ? 1 : a.offset - b.offset)
	)
}

/** A partition's name that sorts as its number does. */
export function sortable(topic: string, partition: number): string {
	return `${topic}-${String(partition).padStart(9, '0')}`
}
