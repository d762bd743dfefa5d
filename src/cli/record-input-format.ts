/**
 * Records by a format: `produce --input format -f FORMAT` reads what `consume -f FORMAT` prints. A field goes up to the text
 * that follows it in the format; behind `%R` it has the length that stands there, whatever its bytes are.
 *
 * | verb                          | is read as                                                |
 * |-------------------------------|-----------------------------------------------------------|
 * | `%s` `%v` `%k`                | value, key; `{hex}`, `{base64}`, `{json}` as they say      |
 * | `%R`                          | length of the next field, big-endian int32, -1 null       |
 * | `%h` `%H{name}`               | headers `a=1,b=2`; one header                             |
 * | `%T` `%d{iso}`                | time                                                      |
 * | `%p`                          | partition, used with --keep-partition                     |
 * | `%t` `%o` `%e` `%S` `%K` `%V` | read and left                                             |
 */

import type { RecordHeaderInput } from '../client/producer-batch.js'
import { usageError } from './errors.js'
import { readTime } from './offset-grammar.js'
import { type FormatPart, parseFormat } from './record-format.js'
import { type Emit, InputError, type InputParser, type LineOptions } from './record-input.js'

export interface FormatInputOptions extends Omit<LineOptions, 'delimiter' | 'keyDelimiter'> {
	readonly isPartitionKept: boolean
}

/** What is gathered of one record. */
interface Draft {
	key: Buffer | null
	value: Buffer | null
	headers: RecordHeaderInput[]
	partition: number
	timestamp: number
}

/** Compiles the format for reading. Throws a usage error when it cannot be read back. */
export function formatParser(format: string, options: FormatInputOptions, emit: Emit): InputParser {
	const parts = checkFormat(format)
	let carry: Buffer = Buffer.alloc(0)
	let count = 0
	const take = (isEnd: boolean): void => {
		let at = 0
		while (at < carry.length) {
			const made = readRecord(parts, carry, at, isEnd, options, count + 1)
			if (made === null) break
			count++
			const { draft, end } = made
			const { key, value, headers, partition, timestamp } = draft
			const record = { key, headers: headers.length === 0 ? null : headers, partition, timestamp }
			emit(record, value, 0, value?.length ?? 0, count)
			at = end
		}
		carry = carry.subarray(at)
	}
	return {
		push: (chunk) => {
			carry = carry.length === 0 ? chunk : Buffer.concat([carry, chunk])
			take(false)
		},
		end: () => {
			take(true)
			if (carry.length > 0) throw new InputError(count + 1, `the input ends within a record of '${format}'`)
		},
	}
}

/** The parts of a format that can be read back. Throws a usage error for one that cannot. */
export function checkFormat(format: string): FormatPart[] {
	const parts = parseFormat(format)
	checkParts(parts, format)
	return parts
}

/** Every field needs an end: a length before it, or text behind it. */
function checkParts(parts: readonly FormatPart[], format: string): void {
	let isMeasured = false
	let hasContent = false
	for (const [i, part] of parts.entries()) {
		if (part.kind === 'text') {
			isMeasured = false
			continue
		}
		hasContent ||= 'skv'.includes(part.verb)
		if (part.verb === 'R') {
			isMeasured = true
			continue
		}
		const next = parts[i + 1]
		if (!isMeasured && next !== undefined && next.kind !== 'text') {
			throw usageError(`format '${format}': nothing stands between %${part.verb} and %${next.verb}, where one ends`)
		}
		isMeasured = false
	}
	if (!hasContent) throw usageError(`format '${format}' has neither %s nor %k`)
}

/** The record at `at` and where it ends; null: it is not all there yet. */
function readRecord(
	parts: readonly FormatPart[],
	bytes: Buffer,
	from: number,
	isEnd: boolean,
	options: FormatInputOptions,
	line: number,
): { draft: Draft; end: number } | null {
	const draft: Draft = { key: options.key, value: null, headers: [], partition: -1, timestamp: -1 }
	let at = from
	let length: number | null = null
	for (const [i, part] of parts.entries()) {
		if (part.kind === 'text') {
			const there = bytes.subarray(at, at + part.bytes.length)
			if (!there.equals(part.bytes)) {
				const isCut = there.length < part.bytes.length && part.bytes.subarray(0, there.length).equals(there)
				if (!isCut)
					throw new InputError(line, `${textOf(part.bytes)} is wanted at ${textOf(bytes.subarray(at, at + 20))}`)
				// The last record may lack what parts it from the next.
				if (!isEnd || i !== parts.length - 1) return null
			}
			at += there.length
			continue
		}
		if (part.verb === 'R') {
			if (bytes.length - at < 4) return null
			length = bytes.readInt32BE(at)
			if (length < -1) throw new InputError(line, `${length} is no length`)
			at += 4
			continue
		}
		const end =
			length !== null ? at + Math.max(0, length) : endOf(parts[i + 1], bytes, at, isEnd && i >= parts.length - 2)
		if (end === null || end > bytes.length) return null
		take(draft, part, length === -1 ? null : bytes.subarray(at, end), options, line)
		length = null
		at = end
	}
	return at === from ? null : { draft, end: at }
}

function endOf(next: FormatPart | undefined, bytes: Buffer, at: number, isLast: boolean): number | null {
	if (next === undefined || next.kind !== 'text') return isLast ? bytes.length : null
	const found = bytes.indexOf(next.bytes, at)
	if (found >= 0) return found
	return isLast ? bytes.length : null
}

function take(
	draft: Draft,
	{ verb, argument }: Extract<FormatPart, { readonly kind: 'verb' }>,
	bytes: Buffer | null,
	options: FormatInputOptions,
	line: number,
): void {
	switch (verb) {
		case 's':
		case 'v':
			draft.value = contentOf(bytes, argument, options, line)
			return
		case 'k':
			draft.key = contentOf(bytes, argument, { ...options, nullValue: null }, line)
			return
		case 'h':
			draft.headers.push(...headersOf(bytes))
			return
		case 'H':
			draft.headers.push({ key: Buffer.from(argument ?? ''), value: bytes })
			return
		case 'p':
			if (!options.isPartitionKept) return
			if (!/^\d{1,9}$/.test(String(bytes))) throw new InputError(line, `'${bytes}' is no partition`)
			draft.partition = Number(String(bytes))
			return
		case 'T':
		case 'd': {
			const text = String(bytes ?? '').trim()
			const time = verb === 'T' && /^\d{1,16}$/.test(text) ? { ms: Number(text) } : readTime(text, 0)
			if (time === null && text !== '' && text !== '-1') throw new InputError(line, `'${text}' is no time`)
			if (time !== null) draft.timestamp = time.ms
		}
	}
}

function contentOf(
	bytes: Buffer | null,
	encoding: string | null,
	{ isEmptyNull, nullValue }: Pick<FormatInputOptions, 'isEmptyNull' | 'nullValue'>,
	line: number,
): Buffer | null {
	if (bytes === null || (isEmptyNull && bytes.length === 0) || nullValue?.equals(bytes) === true) return null
	// The chunk may be used again before the record has left.
	if (encoding === null) return Buffer.from(bytes)
	const text = bytes.toString('utf8')
	if (encoding === 'hex' && /^(?:[0-9a-f]{2})*$/i.test(text)) return Buffer.from(text, 'hex')
	if (encoding === 'base64' && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return Buffer.from(text, 'base64')
	if (encoding === 'json') {
		try {
			const value: unknown = JSON.parse(text)
			if (value === null) return null
			if (typeof value === 'string') return Buffer.from(value)
		} catch {
			// Told below.
		}
	}
	throw new InputError(line, `'${text.slice(0, 40)}' is no ${encoding}${encoding === 'json' ? ' string' : ''}`)
}

function headersOf(bytes: Buffer | null): RecordHeaderInput[] {
	if (bytes === null || bytes.length === 0) return []
	return bytes
		.toString('latin1')
		.split(',')
		.map((pair) => {
			const equals = pair.indexOf('=')
			const name = equals < 0 ? pair : pair.slice(0, equals)
			const value = equals < 0 ? null : pair.slice(equals + 1)
			return {
				key: Buffer.from(name, 'latin1'),
				value: value === null || value === 'NULL' ? null : Buffer.from(value, 'latin1'),
			}
		})
}

function textOf(bytes: Buffer): string {
	return JSON.stringify(bytes.toString('utf8'))
}
