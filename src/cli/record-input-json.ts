/**
 * Records from JSON lines: our own shape (what `consume -J` prints) without loss, and the rows of kcat (`payload`, `ts`,
 * flat headers), kaf and rpk. A row's partition and offset say where it came from, and are not used.
 */

import { isUtf8 } from 'node:buffer'
import type { RecordHeaderInput } from '../client/producer-batch.js'
import { readTime } from './offset-grammar.js'
import { type Emit, InputError, type InputParser, type InputRecord, Splitter } from './record-input.js'

export interface JsonOptions {
	/** A field that nobody knows is a fault. */
	readonly isStrict: boolean
	/** The row's own partition is kept. */
	readonly isPartitionKept: boolean
	/** For rows without a key. */
	readonly key: Buffer | null
}

const FIELDS: ReadonlySet<string> = new Set([
	'topic',
	'partition',
	'offset',
	'timestamp',
	'timestampType',
	'leaderEpoch',
	'headers',
	'key',
	'keyEncoding',
	'value',
	'valueEncoding',
	'control',
	// kcat
	'payload',
	'ts',
	'tstype',
	'broker',
	// rpk and kaf
	'value_size',
	'key_size',
	'schemaId',
	'keySchemaId',
])

const LINE_END = Buffer.from('\n')
const NOT_TEXT = 'Bytes that are no text go in as base64 or hex, with "valueEncoding".'
/** JSON.stringify escapes halves only; behind an even number of backslashes it is an escape. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/

export function jsonParser(options: JsonOptions, emit: Emit): InputParser {
	return new Splitter(LINE_END, (bytes, from, end, line) => {
		// What is not UTF-8 would be stored as something else without a word.
		if (!isUtf8(bytes.subarray(from, end))) throw new InputError(line, 'this is not UTF-8', NOT_TEXT)
		const text = bytes.toString('utf8', from, end)
		if (text.trim() === '') return
		let row: unknown
		try {
			row = JSON.parse(text)
		} catch (error) {
			throw new InputError(line, `this is no JSON: ${(error as Error).message}`, 'Each line holds one object.')
		}
		if (typeof row !== 'object' || row === null || Array.isArray(row)) throw new InputError(line, 'this is no object')
		if (/\\u[dD][89a-fA-F]/.test(text) && LONE_SURROGATE.test(JSON.stringify(row))) {
			throw new InputError(line, 'half of a surrogate pair is no character', NOT_TEXT)
		}
		const { record, value } = readRow(row as Record<string, unknown>, options, line)
		emit(record, value, 0, value?.length ?? 0, line)
	})
}

/** One row as a record. Throws {@link InputError}. */
export function readRow(
	row: Readonly<Record<string, unknown>>,
	options: JsonOptions,
	line: number,
): { record: InputRecord; value: Buffer | null } {
	if (options.isStrict) {
		const unknown = Object.keys(row).filter((name) => !FIELDS.has(name))
		if (unknown.length > 0)
			throw new InputError(line, `unknown field ${unknown.join(', ')}`, 'It is left out without --strict.')
	}
	const valueField = 'value' in row ? 'value' : 'payload'
	if (!(valueField in row) && !('key' in row)) {
		throw new InputError(line, 'there is no value, payload or key', 'A row is {"key": …, "value": …, "headers": […]}.')
	}
	const key = 'key' in row ? readBytes(row['key'], row['keyEncoding'], 'key', line) : options.key
	const value = readBytes(row[valueField] ?? null, row['valueEncoding'], valueField, line)
	const partition = options.isPartitionKept && typeof row['partition'] === 'number' ? row['partition'] : -1
	const timestamp = readTimestamp(row['timestamp'] ?? row['ts'], line)
	return { record: { key, headers: readHeaders(row['headers'], line), partition, timestamp }, value }
}

function readBytes(content: unknown, encoding: unknown, name: string, line: number): Buffer | null {
	if (content === null || content === undefined) return null
	if (encoding === 'json') return Buffer.from(JSON.stringify(content))
	if (typeof content !== 'string') {
		if (encoding === undefined) return Buffer.from(JSON.stringify(content))
		throw new InputError(line, `${name} is no string, as its encoding ${String(encoding)} wants it`)
	}
	if (encoding === undefined || encoding === 'utf8') return Buffer.from(content, 'utf8')
	if (encoding === 'base64') {
		if (!/^[A-Za-z0-9+/]*={0,2}$/.test(content)) throw new InputError(line, `${name} is no base64`)
		return Buffer.from(content, 'base64')
	}
	if (encoding === 'hex') {
		if (!/^(?:[0-9a-fA-F]{2})*$/.test(content)) throw new InputError(line, `${name} is no hex`)
		return Buffer.from(content, 'hex')
	}
	throw new InputError(
		line,
		`${name} has the unknown encoding '${String(encoding)}'`,
		'Encodings are utf8, base64, hex, json.',
	)
}

/** Objects with key and value (ours, rpk, kaf), an object of names, or kcat's flat list of names and values. */
function readHeaders(content: unknown, line: number): RecordHeaderInput[] | null {
	if (content === undefined || content === null) return null
	const headers: RecordHeaderInput[] = []
	if (Array.isArray(content)) {
		if (content.length > 0 && content.every((each) => typeof each === 'string' || each === null)) {
			if (content.length % 2 !== 0) throw new InputError(line, 'headers have a name without a value')
			for (let i = 0; i < content.length; i += 2) {
				headers.push({ key: Buffer.from(String(content[i])), value: readBytes(content[i + 1], 'utf8', 'header', line) })
			}
			return headers
		}
		for (const each of content as unknown[]) {
			if (typeof each !== 'object' || each === null) throw new InputError(line, 'a header is no object')
			const fields = each as Record<string, unknown>
			const name = fields['key'] ?? fields['Key']
			if (typeof name !== 'string') throw new InputError(line, 'a header has no key')
			const value = 'value' in fields ? fields['value'] : fields['Value']
			headers.push({
				key: readBytes(name, fields['keyEncoding'], 'header key', line) as Buffer,
				value: readBytes(value, fields['encoding'], `header ${name}`, line),
			})
		}
		return headers
	}
	if (typeof content !== 'object') throw new InputError(line, 'headers are no list')
	for (const [name, value] of Object.entries(content as Record<string, unknown>)) {
		headers.push({ key: Buffer.from(name), value: readBytes(value, undefined, `header ${name}`, line) })
	}
	return headers
}

function readTimestamp(content: unknown, line: number): number {
	if (content === undefined || content === null) return -1
	if (typeof content === 'number' && Number.isSafeInteger(content)) return content
	if (typeof content === 'string') {
		const time = readTime(content.trim(), 0)
		if (time !== null) return time.ms
	}
	throw new InputError(line, `timestamp ${JSON.stringify(content)} is no time`)
}
