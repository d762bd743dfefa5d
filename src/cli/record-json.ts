/**
 * A record as one line of JSON without loss: text where the bytes are UTF-8, else base64, and which it is; null stays
 * null and differs from empty; headers keep order and repetition. Read back by `record-input-json.ts`.
 */

import { isUtf8 } from 'node:buffer'
import type { RecordReader } from '../client/record-reader.js'

/** Key and value as JSON; null where the bytes are something else. */
export type RecordDecoder = (
	key: Buffer | null,
	value: Buffer | null,
) => { readonly key: string; readonly value: string } | null

export type Encoding = 'utf8' | 'base64' | 'json'

/** The record as an object of cli.md's shape; `isBare` leaves key, value and headers out but tells their sizes. */
export function recordJson(
	topic: string,
	partition: number,
	record: RecordReader,
	isBare: boolean,
	decode: RecordDecoder | null = null,
): string {
	const { facts } = record
	let text = `{"topic":${JSON.stringify(topic)},"partition":${partition},"offset":${record.offset}`
	text += `,"timestamp":${record.timestamp},"timestampType":"${record.timestampType}","leaderEpoch":${facts.leaderEpoch}`
	if (facts.isControl) text += ',"control":true'
	if (isBare) {
		const keySize = record.keyLength < 0 ? 'null' : record.keyLength
		const valueSize = record.valueLength < 0 ? 'null' : record.valueLength
		return `${text},"keySize":${keySize},"valueSize":${valueSize},"headerCount":${record.headerCount}}`
	}
	text += ',"headers":'
	if (record.headerCount === 0) text += '[]'
	else {
		const headers = record.headers().map(({ key, value }) => {
			const name = bytesJson(key)
			const encoding = name.encoding === 'utf8' ? '' : ',"keyEncoding":"base64"'
			const content = bytesJson(value)
			return `{"key":${name.text}${encoding},"value":${content.text},"encoding":"${content.encoding}"}`
		})
		text += `[${headers.join(',')}]`
	}
	const decoded = decode === null ? null : decode(record.key(), record.value())
	const key = decoded === null ? bytesJson(record.key()) : { text: decoded.key, encoding: 'json' }
	const value = decoded === null ? bytesJson(record.value()) : { text: decoded.value, encoding: 'json' }
	return `${text},"key":${key.text},"keyEncoding":"${key.encoding}","value":${value.text},"valueEncoding":"${value.encoding}"}`
}

function bytesJson(bytes: Buffer | null): { text: string; encoding: Encoding } {
	if (bytes === null) return { text: 'null', encoding: 'utf8' }
	if (isUtf8(bytes)) return { text: JSON.stringify(bytes.toString('utf8')), encoding: 'utf8' }
	return { text: `"${bytes.toString('base64')}"`, encoding: 'base64' }
}
