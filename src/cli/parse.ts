/** Texts that people type: durations, sizes, key=value. Each refusal says what is wrong and what is meant. */

import { usageError } from './errors.js'

const DURATION_MS: Readonly<Record<string, number>> = {
	ms: 1,
	s: 1000,
	m: 60_000,
	h: 3_600_000,
	d: 86_400_000,
	w: 604_800_000,
}

/** Milliseconds of `500ms`, `10s`, `5m`, `2h`, `7d`, `4w`, `1h30m`, or ISO 8601 `PT1H30M`; null when it is none. */
export function durationMs(text: string): number | null {
	const iso = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i.exec(text)
	if (iso !== null && text.length > 1 && !/T$/i.test(text)) {
		const [days, hours, minutes, seconds] = iso.slice(1).map((part) => Number(part ?? 0))
		return Math.round((((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60_000 + (seconds ?? 0) * 1000)
	}
	if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+$/.test(text)) return null
	let sum = 0
	for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/g)) {
		sum += Number(number) * (DURATION_MS[unit as string] as number)
	}
	return Math.round(sum)
}

export function parseDuration(text: string, what: string): number {
	const ms = durationMs(text)
	if (ms === null) {
		throw usageError(`${what} wants a duration such as 500ms, 10s, 5m, 2h or 7d, not '${text}'`, meantHint(text))
	}
	return ms
}

/** Units as people write them out, by their first letters. */
const WRITTEN_OUT: readonly (readonly [RegExp, string])[] = [
	[/^(?:ms|msecs?|millis|milliseconds?)$/, 'ms'],
	[/^(?:s|secs?|seconds?)$/, 's'],
	[/^(?:m|mins?|minutes?)$/, 'm'],
	[/^(?:h|hrs?|hours?)$/, 'h'],
	[/^(?:d|days?)$/, 'd'],
	[/^(?:w|wks?|weeks?)$/, 'w'],
]

/** `did you mean 7d?` for `7days`, `7 d`, `7D`; null where nothing is near. */
function meantHint(text: string): string | null {
	const match = /^\s*(\d+(?:\.\d+)?)[\s_-]*([a-z]+)\s*$/i.exec(text)
	const word = match?.[2]?.toLowerCase() ?? ''
	const unit = WRITTEN_OUT.find(([pattern]) => pattern.test(word))?.[1]
	return unit === undefined ? null : `did you mean ${match?.[1]}${unit}?`
}

const SIZE_BYTES: Readonly<Record<string, number>> = {
	B: 1,
	KB: 1000,
	MB: 1000 ** 2,
	GB: 1000 ** 3,
	TB: 1000 ** 4,
	KIB: 1024,
	MIB: 1024 ** 2,
	GIB: 1024 ** 3,
	TIB: 1024 ** 4,
}

/** Bytes of `100`, `10MB` (powers of 1000) or `1GiB` (powers of 1024); null when it is none. */
export function sizeBytes(text: string): number | null {
	const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?i?b)?$/i.exec(text)
	if (match === null) return null
	return Math.round(Number(match[1]) * (SIZE_BYTES[(match[2] ?? 'B').toUpperCase()] as number))
}

/** Parts `key=value` at its first `=`. */
export function parsePair(text: string, what: string): [string, string] {
	const equals = text.indexOf('=')
	if (equals <= 0) throw usageError(`${what} wants key=value, not '${text}'`)
	return [text.slice(0, equals).trim(), text.slice(equals + 1)]
}

/**
 * A Kafka setting with human units where its name says what it is: `retention.ms=7d`, `segment.bytes=1GiB`. Throws a usage
 * error for what is neither a number nor a unit: a broker's own words would not say what is meant.
 */
export function settingValue(key: string, value: string): string {
	const text = value.trim()
	if (/^-?\d+$/.test(text)) return value
	const isMeasure = /(?:\.ms|\.bytes|_byte_rate)$/.test(key)
	if (isMeasure && text === 'max') return '9223372036854775807'
	if (/\.ms$/.test(key)) {
		const ms = durationMs(text)
		if (ms !== null) return String(ms)
		throw usageError(`${key} wants milliseconds or a duration such as 12h or 7d, not '${value}'`, meantHint(text))
	}
	if (/(?:\.bytes|_byte_rate)$/.test(key)) {
		const bytes = sizeBytes(text)
		if (bytes !== null) return String(bytes)
		throw usageError(`${key} wants bytes or a size such as 64MiB or 10MB, not '${value}'`, meantSize(text))
	}
	return value
}

/** `did you mean 64MiB?` for `64M`, `64 mb`, `64Mi`. */
function meantSize(text: string): string | null {
	const match = /^(\d+(?:\.\d+)?)\s*([kmgt])i?(?:b|bytes?)?$/i.exec(text)
	if (match === null) return null
	const letter = (match[2] as string).toUpperCase()
	return `did you mean ${match[1]}${letter}iB?`
}
