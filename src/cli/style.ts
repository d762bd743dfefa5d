/** Colours and units of what a person reads; scripts see neither. */

const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const

export type Paint = keyof typeof CODES

/** Whether `stream` takes colours: NO_COLOR says no, FORCE_COLOR yes, else a terminal that is not dumb. */
export function isColored(stream: NodeJS.WriteStream): boolean {
	const { NO_COLOR, FORCE_COLOR, TERM } = process.env
	if (NO_COLOR !== undefined && NO_COLOR !== '') return false
	if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
	return stream.isTTY === true && TERM !== 'dumb'
}

export function paint(color: Paint, text: string, isOn: boolean): string {
	if (!isOn) return text
	const [start, end] = CODES[color]
	return `\u001b[${start}m${text}\u001b[${end}m`
}

/** `1.5GiB`, in powers of 1024; -1, which means none or unlimited, stays. */
export function humanBytes(bytes: number): string {
	if (bytes < 0) return String(bytes)
	let value = bytes
	let unit = 0
	while (value >= 1024 && unit < UNITS.length - 1) {
		value /= 1024
		unit++
	}
	return `${trimmed(value)}${UNITS[unit]}`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** `7d`, `1.5h`: the largest unit that gives at least one; -1 stays. */
export function humanDuration(ms: number): string {
	if (ms < 0) return String(ms)
	for (const [size, name] of DURATIONS) {
		if (ms >= size) return `${trimmed(ms / size)}${name}`
	}
	return `${ms}ms`
}

const DURATIONS: readonly (readonly [number, string])[] = [
	[86_400_000, 'd'],
	[3_600_000, 'h'],
	[60_000, 'm'],
	[1000, 's'],
]

/** `1,234,567`. */
export function humanCount(count: number): string {
	return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** A setting in human units where its name says what it counts. The largest int64 is "no limit". */
export function humanSetting(key: string, value: string): string {
	if (!/^-?\d+$/.test(value)) return value
	if (value === '9223372036854775807') return 'max'
	const number = Number(value)
	if (!Number.isSafeInteger(number)) return value
	if (/\.ms$/.test(key)) return number === -1 ? '-1' : humanDuration(number)
	if (/\.bytes$/.test(key)) return number === -1 ? '-1' : humanBytes(number)
	return value
}

/** At most two digits behind the point, none that say nothing. */
function trimmed(value: number): string {
	return String(Number(value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)))
}
