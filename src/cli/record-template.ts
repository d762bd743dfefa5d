/**
 * `produce --template`: texts with places that differ from record to record.
 *
 * | place            | is                                                  |
 * |------------------|-----------------------------------------------------|
 * | `{{n}}`          | number of the record, from 1                        |
 * | `{{uuid}}`       | a random UUID                                       |
 * | `{{now}}`        | the time in ISO 8601; `{{ms}}` in ms since 1970     |
 * | `{{int:A:B}}`    | a whole number from A to B                          |
 * | `{{pick:a|b|c}}` | one of these                                        |
 * | `{{hex:N}}`      | N random bytes                                      |
 */

import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { usageError } from './errors.js'

/** The text for record number `n`. */
export type Template = (n: number, nowMs: number) => string

const PLACES = '{{n}} {{uuid}} {{now}} {{ms}} {{int:A:B}} {{pick:a|b|c}} {{hex:N}}'
const BYTES_MAX = 1_048_576

/** Compiles a text. Throws a usage error for a place that there is not. */
export function compileTemplate(text: string, flag: string): Template {
	const parts: (string | Template)[] = []
	let at = 0
	for (const match of text.matchAll(/\{\{(.*?)\}\}/gs)) {
		parts.push(text.slice(at, match.index), placeOf(match[1] as string, flag))
		at = match.index + match[0].length
	}
	parts.push(text.slice(at))
	return (n, nowMs) => {
		let made = ''
		for (const part of parts) made += typeof part === 'string' ? part : part(n, nowMs)
		return made
	}
}

function placeOf(body: string, flag: string): Template {
	const [name = '', ...rest] = body.trim().split(':')
	const argument = rest.join(':')
	if (rest.length === 0) {
		if (name === 'n') return (n) => String(n)
		if (name === 'uuid') return () => randomUUID()
		if (name === 'now') return (_n, nowMs) => new Date(nowMs).toISOString()
		if (name === 'ms') return (_n, nowMs) => String(nowMs)
	}
	const bounds = /^(-?\d{1,15}):(-?\d{1,15})$/.exec(argument)
	if (name === 'int' && bounds !== null) {
		const [from, to] = [Number(bounds[1]), Number(bounds[2])]
		// The generator's own limit.
		if (to >= from && to - from < 2 ** 48 - 1) return () => String(randomInt(from, to + 1))
	}
	if (name === 'pick' && argument !== '') {
		const choices = argument.split('|')
		return () => choices[randomInt(choices.length)] as string
	}
	if (name === 'hex' && /^\d{1,7}$/.test(argument) && Number(argument) <= BYTES_MAX) {
		return () => randomBytes(Number(argument)).toString('hex')
	}
	throw usageError(`${flag} has no place {{${body}}}`, `Places are ${PLACES}.`)
}
