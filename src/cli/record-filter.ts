/**
 * `consume -G`: which records are shown. `PATTERN` and `v:PATTERN` look at the value, `k:` at the key, `h:NAME=PATTERN` at
 * headers of that name (`h:NAME`: there is one); `!` before it turns it. Patterns are regular expressions over UTF-8
 * text. A null fits nothing.
 */

import type { RecordReader } from '../client/record-reader.js'
import { usageError } from './errors.js'

export type RecordFilter = (record: RecordReader) => boolean

/** All filters together; null when there is none. Throws a usage error. */
export function compileFilters(texts: readonly string[]): RecordFilter | null {
	if (texts.length === 0) return null
	const filters = texts.map(compileFilter)
	return (record) => {
		for (const filter of filters) if (!filter(record)) return false
		return true
	}
}

function compileFilter(text: string): RecordFilter {
	const isTurned = text.startsWith('!')
	const body = isTurned ? text.slice(1) : text
	const filter = plainFilter(body, text)
	return isTurned ? (record) => !filter(record) : filter
}

function plainFilter(body: string, text: string): RecordFilter {
	if (body.startsWith('k:')) {
		const pattern = patternOf(body.slice(2), text)
		return (record) => record.keyLength >= 0 && pattern.test(textAt(record, record.keyAt, record.keyLength))
	}
	if (body.startsWith('h:')) {
		const equals = body.indexOf('=')
		const name = Buffer.from(body.slice(2, equals < 0 ? undefined : equals))
		const pattern = equals < 0 ? null : patternOf(body.slice(equals + 1), text)
		return (record) =>
			record.headerCount > 0 &&
			record
				.headers()
				.some(
					({ key, value }) =>
						key.equals(name) && (pattern === null || (value !== null && pattern.test(value.toString('utf8')))),
				)
	}
	const pattern = patternOf(body.startsWith('v:') ? body.slice(2) : body, text)
	return (record) => record.valueLength >= 0 && pattern.test(textAt(record, record.valueAt, record.valueLength))
}

function textAt(record: RecordReader, at: number, length: number): string {
	return record.bytes.toString('utf8', at, at + length)
}

function patternOf(source: string, text: string): RegExp {
	if (source === '')
		throw usageError(`-G '${text}' has no pattern`, 'A filter is PATTERN, k:PATTERN or h:NAME=PATTERN.')
	try {
		return new RegExp(source, 'su')
	} catch {
		try {
			// Old habits such as `\-` are refused in Unicode mode only.
			return new RegExp(source, 's')
		} catch (error) {
			throw usageError(`-G '${text}': ${(error as Error).message}`)
		}
	}
}
