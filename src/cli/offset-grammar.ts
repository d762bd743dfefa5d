/**
 * The one grammar of offsets and times, for consume, seek, trim and mirror:
 *
 * | text                                    | meaning                                             |
 * |-----------------------------------------|-----------------------------------------------------|
 * | `start` `beginning` `earliest` `oldest` | first record that is there                          |
 * | `end` `latest` `newest`                 | after the last                                      |
 * | `stored`                                | what the group has committed                        |
 * | `N`                                     | that offset                                         |
 * | `-N`, `+N`                              | last N of each partition; start + N                 |
 * | `N:M`, `N:`, `:M`, `:end`               | a range; its end is not part of it                  |
 * | `@TIME`, `@T1:T2`, `@T1:`               | first record at or after a time; a range of times   |
 * | `s@MS`, `e@MS`                          | kcat's start and stop times                         |
 *
 * TIME is epoch seconds or milliseconds (told apart by length), ISO 8601 with or without zone, a date, `now`, `today`, or
 * `-DUR` (`-1h`). Pure: the time now is given.
 */

import { type CliError, usageError } from './errors.js'
import { durationMs } from './parse.js'

export type OffsetPoint =
	| { readonly kind: 'start' }
	| { readonly kind: 'end' }
	| { readonly kind: 'stored' }
	| { readonly kind: 'offset'; readonly offset: number }
	| { readonly kind: 'fromStart'; readonly count: number }
	| { readonly kind: 'fromEnd'; readonly count: number }
	| { readonly kind: 'time'; readonly ms: number }

export interface OffsetRange {
	readonly from: OffsetPoint
	/** Exclusive; null: no end. */
	readonly to: OffsetPoint | null
	/** Things the user should know: which zone a time was taken in. */
	readonly notes: readonly string[]
}

const NAMES: Readonly<Record<string, 'start' | 'end' | 'stored'>> = {
	start: 'start',
	beginning: 'start',
	earliest: 'start',
	oldest: 'start',
	end: 'end',
	latest: 'end',
	newest: 'end',
	stored: 'stored',
}

export const OFFSET_FORMS = 'start, end, stored, N, -N, +N, N:M, :end, @TIME, @T1:T2, s@MS or e@MS'

/** Several texts are allowed for kcat's `-o s@T1 -o e@T2`. Throws a usage error. */
export function parseOffsets(texts: readonly string[], nowMs: number): OffsetRange {
	if (texts.length <= 1) return parseOffset(texts[0] ?? 'start', nowMs)
	let from: OffsetPoint | null = null
	let to: OffsetPoint | null = null
	const notes: string[] = []
	for (const text of texts) {
		const range = parseOffset(text, nowMs)
		const isEndOnly = text.startsWith('e@')
		if ((isEndOnly && to !== null) || (!isEndOnly && from !== null)) {
			throw usageError(`-o ${texts.join(' -o ')}: two of the same kind`, 'Only s@MS and e@MS can stand together.')
		}
		if (isEndOnly) to = range.to
		else {
			from = range.from
			if (range.to !== null) to = range.to
		}
		notes.push(...range.notes)
	}
	return { from: from ?? { kind: 'start' }, to, notes }
}

/** Reads one text of the grammar. Throws a usage error that names the forms. */
export function parseOffset(text: string, nowMs: number): OffsetRange {
	const range = readOffset(text.trim(), nowMs)
	if (range === null) throw usageError(`'${text}' is no offset`, `An offset is ${OFFSET_FORMS}.`)
	return range
}

function readOffset(text: string, nowMs: number): OffsetRange | null {
	const time = /^([se]?)@(.*)$/.exec(text)
	if (time !== null) return readTimes(time[1] as string, time[2] as string, nowMs)
	const colon = text.indexOf(':')
	if (colon < 0) {
		const from = readPoint(text)
		return from === null ? null : { from, to: null, notes: [] }
	}
	const first = text.slice(0, colon)
	const second = text.slice(colon + 1)
	if (first === '' && second === '') return null
	const from: OffsetPoint | null = first === '' ? { kind: 'start' } : readPoint(first)
	const to = second === '' ? null : readPoint(second)
	if (from === null || (second !== '' && to === null) || to?.kind === 'start' || to?.kind === 'stored') return null
	if (from.kind === 'offset' && to?.kind === 'offset' && to.offset < from.offset) throw reversed(text)
	return { from, to, notes: [] }
}

function readPoint(text: string): OffsetPoint | null {
	const named = Object.hasOwn(NAMES, text.toLowerCase()) ? NAMES[text.toLowerCase()] : undefined
	if (named !== undefined) return { kind: named }
	const match = /^([+-]?)(\d{1,16})$/.exec(text)
	const count = Number(match?.[2])
	if (match === null || !Number.isSafeInteger(count)) return null
	if (match[1] === '+') return { kind: 'fromStart', count }
	if (match[1] === '-') return { kind: 'fromEnd', count }
	return { kind: 'offset', offset: count }
}

function readTimes(prefix: string, text: string, nowMs: number): OffsetRange | null {
	const whole = readTime(text, nowMs)
	if (prefix !== '') {
		if (whole === null) return null
		// kcat's numbers are always milliseconds.
		const point: OffsetPoint = { kind: 'time', ms: /^\d+$/.test(text) ? Number(text) : whole.ms }
		if (prefix === 's') return { from: point, to: null, notes: whole.notes }
		return { from: { kind: 'start' }, to: point, notes: whole.notes }
	}
	if (whole !== null) return { from: { kind: 'time', ms: whole.ms }, to: null, notes: whole.notes }
	let isReversed = false
	// A time may hold colons itself: the parting colon is the one with a time on either side.
	for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
		const first = text.slice(0, colon)
		const second = text.slice(colon + 1)
		const from = first === '' ? null : readTime(first, nowMs)
		const to = second === '' || second === 'end' ? null : readTime(second, nowMs)
		if (first !== '' && from === null) continue
		if (to === null && second !== '' && second !== 'end') continue
		if (first === '' && second === '') return null
		if (from !== null && to !== null && to.ms < from.ms) {
			isReversed = true
			continue
		}
		return {
			from: from === null ? { kind: 'start' } : { kind: 'time', ms: from.ms },
			to: second === 'end' ? { kind: 'end' } : to === null ? null : { kind: 'time', ms: to.ms },
			notes: [...(from?.notes ?? []), ...(to?.notes ?? [])],
		}
	}
	if (isReversed) throw reversed(`@${text}`)
	return null
}

function reversed(text: string): CliError {
	return usageError(`-o ${text}: the range ends before it begins`)
}

interface ReadTime {
	readonly ms: number
	readonly notes: readonly string[]
}

/** Digits from which a number is milliseconds: 1e11 s is the year 5138, 1e11 ms is 1973. */
const MS_DIGITS = 12

/** One TIME of the grammar; null when it is none. */
export function readTime(text: string, nowMs: number): ReadTime | null {
	if (text === 'now') return { ms: nowMs, notes: [] }
	if (text === 'today') {
		const now = new Date(nowMs)
		const ms = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime()
		return { ms, notes: [zoneNote(text, ms)] }
	}
	if (/^\d{1,16}$/.test(text)) {
		return { ms: text.length >= MS_DIGITS ? Number(text) : Number(text) * 1000, notes: [] }
	}
	if (text.startsWith('-')) {
		const ago = durationMs(text.slice(1))
		return ago === null ? null : { ms: nowMs - ago, notes: [] }
	}
	return readIso(text)
}

const ISO =
	/^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?$/

function readIso(text: string): ReadTime | null {
	const match = ISO.exec(text)
	if (match === null) return null
	const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
		number,
		number,
		number,
		number,
		number,
		number,
	]
	const ms = Math.floor(Number(`0.${match[7] ?? '0'}`) * 1000)
	const utc = Date.UTC(year, month - 1, day, hour, minute, second, ms)
	const check = new Date(utc)
	const isReal =
		check.getUTCMonth() === month - 1 && check.getUTCDate() === day && hour < 24 && minute < 60 && second < 60
	if (!isReal) return null
	const zone = match[8]
	if (zone === undefined) {
		const local = new Date(year, month - 1, day, hour, minute, second, ms).getTime()
		return { ms: local, notes: [zoneNote(text, local)] }
	}
	if (zone === 'Z' || zone === 'z') return { ms: utc, notes: [] }
	if (match[4] === undefined) return null
	const digits = zone.replace(':', '')
	const offset = (Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3, 5) || 0)) * 60_000
	return { ms: digits.startsWith('-') ? utc + offset : utc - offset, notes: [] }
}

function zoneNote(text: string, ms: number): string {
	const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
	return `'${text}' is taken in the local zone ${zone}: ${new Date(ms).toISOString()}`
}
