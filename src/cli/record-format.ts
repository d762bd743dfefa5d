/**
 * The format language of `consume -f`, and what each verb prints: kcat's verbs as they are, and ours. A format is
 * compiled once into steps; the usual ones copy bytes without making an object a record.
 *
 * | verb                      | prints                                                            |
 * |---------------------------|-------------------------------------------------------------------|
 * | `%s` `%v`                 | value; `%v{hex}`, `%v{base64}`, `%v{json}` (as a JSON string)     |
 * | `%S` `%V`                 | length of the value, -1 for null                                  |
 * | `%k` `%K`                 | key (with the same forms) and its length                          |
 * | `%t` `%p` `%o` `%e`       | topic, partition, offset, leader epoch                            |
 * | `%T` `%d{iso}`            | timestamp in ms, in ISO 8601                                      |
 * | `%h` `%H{name}`           | headers as `a=1,b=2`; the last header of that name                |
 * | `%R`                      | length of the value as big-endian int32                           |
 * | `%%` `\n` `\r` `\t` `\0` `\xNN` `\\` | those characters                                       |
 */

import type { RecordReader } from '../client/record-reader.js'
import { usageError } from './errors.js'

/** Where formatted records go. */
export interface FormatTarget {
	bytes(source: Buffer, from: number, end: number): void
	byte(value: number): void
	text(value: string): void
}

export interface FormatContext {
	readonly topic: string
	readonly partition: number
	/** Printed in place of a null key or value. */
	readonly nullText: string
}

type Step = (record: RecordReader, context: FormatContext, into: FormatTarget) => void

export type RecordFormat = (record: RecordReader, context: FormatContext, into: FormatTarget) => void

export const FORMAT_VERBS = '%s %S %k %K %t %p %o %e %T %d{iso} %h %H{name} %R %v{hex|base64|json} %%'

/** A format taken apart: texts, and verbs with what stands in braces behind them. */
export type FormatPart =
	| { readonly kind: 'text'; readonly bytes: Buffer }
	| { readonly kind: 'verb'; readonly verb: string; readonly argument: string | null }

/** Takes a format apart. Throws a usage error for a verb that does not exist. */
export function parseFormat(format: string): FormatPart[] {
	const parts: FormatPart[] = []
	let literal: number[] = []
	const flush = (): void => {
		if (literal.length > 0) parts.push({ kind: 'text', bytes: Buffer.from(literal) })
		literal = []
	}
	for (let at = 0; at < format.length; ) {
		const char = format[at] as string
		if (char === '\\') {
			const { value, next } = escapeAt(format, at)
			literal.push(...value)
			at = next
		} else if (char === '%') {
			const { verb, argument, next } = verbAt(format, at)
			at = next
			if (verb === '%') literal.push(0x25)
			else {
				flush()
				stepOf(verb, argument, format)
				parts.push({ kind: 'verb', verb, argument })
			}
		} else {
			const code = format.codePointAt(at) as number
			const symbol = String.fromCodePoint(code)
			literal.push(...Buffer.from(symbol))
			at += symbol.length
		}
	}
	flush()
	return parts
}

/** Compiles a format for printing. Throws a usage error for a verb that does not exist. */
export function compileFormat(format: string): RecordFormat {
	const steps = parseFormat(format).map((part): Step => {
		if (part.kind === 'verb') return stepOf(part.verb, part.argument, format)
		const { bytes } = part
		return bytes.length === 1 ? (_r, _c, into) => into.byte(bytes[0] as number) : bytesStep(bytes)
	})
	return (record, context, into) => {
		for (let i = 0; i < steps.length; i++) (steps[i] as Step)(record, context, into)
	}
}

function bytesStep(bytes: Buffer): Step {
	return (_record, _context, into) => into.bytes(bytes, 0, bytes.length)
}

const ESCAPES: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, '0': 0, a: 7, b: 8, f: 12, v: 11, '\\': 92 }

function escapeAt(format: string, at: number): { value: number[]; next: number } {
	const hex = /^\\x([0-9a-fA-F]{2})/.exec(format.slice(at, at + 4))
	if (hex !== null) return { value: [Number.parseInt(hex[1] as string, 16)], next: at + 4 }
	const next = format[at + 1]
	if (next === undefined) return { value: [92], next: at + 1 }
	const known = ESCAPES[next]
	if (known !== undefined) return { value: [known], next: at + 2 }
	return { value: [92], next: at + 1 }
}

function verbAt(format: string, at: number): { verb: string; argument: string | null; next: number } {
	const verb = format[at + 1]
	if (verb === undefined) throw usageError(`format '${format}' ends with %`, 'Write %% for a percent sign.')
	const match = /^\{([^}]*)\}/.exec(format.slice(at + 2))
	// kcat's own verbs may be followed by a brace that means nothing.
	if (match === null || !'vskdH'.includes(verb)) return { verb, argument: null, next: at + 2 }
	return { verb, argument: match[1] as string, next: at + 2 + match[0].length }
}

function stepOf(verb: string, argument: string | null, format: string): Step {
	switch (verb) {
		case 's':
		case 'v':
			return argument === null ? valueStep : encodedStep(argument, format, (record) => record.value())
		case 'k':
			return argument === null ? keyStep : encodedStep(argument, format, (record) => record.key())
		case 'S':
		case 'V':
			return (record, _context, into) => into.text(String(record.valueLength))
		case 'K':
			return (record, _context, into) => into.text(String(record.keyLength))
		case 't':
			return (_record, context, into) => into.text(context.topic)
		case 'p':
			return (_record, context, into) => into.text(String(context.partition))
		case 'o':
			return (record, _context, into) => into.text(String(record.offset))
		case 'e':
			return (record, _context, into) => into.text(String(record.facts.leaderEpoch))
		case 'T':
			return (record, _context, into) => into.text(String(record.timestamp))
		case 'd':
			if (argument !== null && argument !== 'iso') break
			return (record, _context, into) => into.text(isoTime(record.timestamp))
		case 'h':
			return headersStep
		case 'H':
			if (argument === null || argument === '') break
			return headerStep(Buffer.from(argument))
		case 'R':
			return lengthStep
	}
	const whole = argument === null ? `%${verb}` : `%${verb}{${argument}}`
	throw usageError(`format '${format}' has no verb ${whole}`, `The verbs are ${FORMAT_VERBS}.`)
}

const valueStep: Step = (record, context, into) => {
	if (record.valueLength < 0) {
		if (context.nullText !== '') into.text(context.nullText)
	} else into.bytes(record.bytes, record.valueAt, record.valueAt + record.valueLength)
}

const keyStep: Step = (record, context, into) => {
	if (record.keyLength < 0) {
		if (context.nullText !== '') into.text(context.nullText)
	} else into.bytes(record.bytes, record.keyAt, record.keyAt + record.keyLength)
}

const lengthStep: Step = (record, _context, into) => {
	const bytes = Buffer.alloc(4)
	bytes.writeInt32BE(record.valueLength)
	into.bytes(bytes, 0, 4)
}

function encodedStep(encoding: string, format: string, of: (record: RecordReader) => Buffer | null): Step {
	if (encoding === 'hex' || encoding === 'base64') {
		return (record, context, into) => into.text(of(record)?.toString(encoding) ?? context.nullText)
	}
	if (encoding === 'json') {
		return (record, _context, into) => into.text(JSON.stringify(of(record)?.toString('utf8') ?? null))
	}
	throw usageError(`format '${format}' has no encoding {${encoding}}`, 'The encodings are hex, base64 and json.')
}

const headersStep: Step = (record, _context, into) => {
	if (record.headerCount === 0) return
	for (const [i, { key, value }] of record.headers().entries()) {
		if (i > 0) into.byte(0x2c)
		into.bytes(key, 0, key.length)
		into.byte(0x3d)
		if (value === null) into.text('NULL')
		else into.bytes(value, 0, value.length)
	}
}

function headerStep(name: Buffer): Step {
	return (record, context, into) => {
		if (record.headerCount === 0) return
		const found = record.headers().findLast(({ key }) => key.equals(name))
		if (found === undefined) return
		if (found.value === null) into.text(context.nullText)
		else into.bytes(found.value, 0, found.value.length)
	}
}

/** ISO 8601 in UTC; nothing for a record without time. */
function isoTime(ms: number): string {
	return ms < 0 || ms > 8.64e15 ? '' : new Date(ms).toISOString()
}
