/** Reading and writing the JSON of znodes: checked accessors, one error for whatever does not fit. Used by the znode files. */

/** Data that no version of the znode allows. */
export class ZnodeFormatError extends Error {
	override readonly name = 'ZnodeFormatError'
	constructor(
		readonly znode: string,
		readonly text: string,
		override readonly cause?: unknown,
	) {
		super(`unreadable ${znode} znode: ${text.slice(0, 200)}`)
	}
}

export type Json = Record<string, unknown>

export const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** Parses a JSON object and hands it to `read`; whatever goes wrong becomes a format error. */
export function parse<T>(znode: string, data: Buffer | null, read: (object: Json) => T): T {
	const text = data === null ? '' : data.toString('utf8')
	try {
		return read(object(JSON.parse(text)))
	} catch (error) {
		throw new ZnodeFormatError(znode, text, error)
	}
}

export function object(value: unknown): Json {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('not an object')
	return value as Json
}

export function list(value: unknown): unknown[] {
	if (!Array.isArray(value)) throw new TypeError('not a list')
	return value
}

export function text(value: unknown): string {
	if (typeof value !== 'string') throw new TypeError('not a string')
	return value
}

/** An integer, as a number or as text. */
export function integer(value: unknown): number {
	const number = typeof value === 'string' && value !== '' ? Number(value) : value
	if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw new TypeError('not an integer')
	return number
}

export const integers = (value: unknown): number[] => list(value).map(integer)

export const optional = <T>(value: unknown, read: (value: unknown) => T, absent: T): T =>
	value === undefined || value === null ? absent : read(value)

export function partitionLists(value: unknown): Map<number, number[]> {
	return new Map(Object.entries(object(value)).map(([key, replicas]) => [integer(key), integers(replicas)]))
}

export function decimal(znode: string, data: Buffer | null): number {
	const digits = data === null ? '' : data.toString('utf8')
	if (!/^-?[0-9]+$/.test(digits) || !Number.isSafeInteger(Number(digits))) throw new ZnodeFormatError(znode, digits)
	return Number(digits)
}
