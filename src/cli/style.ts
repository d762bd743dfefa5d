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

/**
 * `1.5GiB`, in powers of 1024, for what is measured. What two digits do not say exactly has a mark: `~1.00MiB` is near one
 * MiB, `1MiB` is one. -1, which means none or unlimited, stays.
 */
export function humanBytes(bytes: number): string {
	if (bytes < 0) return String(bytes)
	const exact = exactBytes(bytes)
	if (exact !== null) return exact
	let value = bytes
	let unit = 0
	while (value >= 1023.995 && unit < UNITS.length - 1) {
		value /= 1024
		unit++
	}
	return `~${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)}${UNITS[unit]}`
}

/** The same, only where it says the number to the byte; else null. */
function exactBytes(bytes: number): string | null {
	let unit = UNITS.length - 1
	while (unit > 0 && bytes < 1024 ** unit) unit--
	const size = BigInt(1024 ** unit)
	const hundredths = BigInt(bytes) * 100n
	if (hundredths % size !== 0n) return null
	return `${Number(hundredths / size) / 100}${UNITS[unit]}`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** `7d`, `1h30m`: to the millisecond; what has more than three parts stays a number of milliseconds. -1 stays. */
export function humanDuration(ms: number): string {
	return exactDuration(ms) ?? (ms < 0 ? String(ms) : `${ms}ms`)
}

function exactDuration(ms: number): string | null {
	if (ms < 0) return null
	let left = ms
	const parts: string[] = []
	for (const [size, name] of DURATIONS) {
		const count = Math.floor(left / size)
		if (count > 0) parts.push(`${count}${name}`)
		left -= count * size
	}
	return parts.length > 3 ? null : parts.length === 0 ? '0ms' : parts.join('')
}

const DURATIONS: readonly (readonly [number, string])[] = [
	[86_400_000, 'd'],
	[3_600_000, 'h'],
	[60_000, 'm'],
	[1000, 's'],
	[1, 'ms'],
]

/** `1,234,567`. */
export function humanCount(count: number): string {
	return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/**
 * A setting in human units where its name says what it counts, and a unit says it exactly: what is shown can be set again.
 * The largest int64 is "no limit".
 */
export function humanSetting(key: string, value: string): string {
	if (!/^-?\d+$/.test(value)) return value
	if (value === '9223372036854775807') return 'max'
	const number = Number(value)
	if (!Number.isSafeInteger(number) || number < 0) return value
	if (/\.ms$/.test(key)) return exactDuration(number) ?? value
	if (/(?:\.bytes|_byte_rate)$/.test(key)) return exactBytes(number) ?? value
	return value
}
