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
	if (ms === null) throw usageError(`${what} wants a duration such as 500ms, 10s, 5m, 2h or 7d, not '${text}'`)
	return ms
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

/** A Kafka setting with human units where its name says what it is: `retention.ms=7d`, `segment.bytes=1GiB`. */
export function settingValue(key: string, value: string): string {
	if (/\.ms$/.test(key)) {
		const ms = durationMs(value)
		if (ms !== null) return String(ms)
	}
	if (/\.bytes$/.test(key)) {
		const bytes = /[a-z]/i.test(value) ? sizeBytes(value) : null
		if (bytes !== null) return String(bytes)
	}
	return value
}
