/**
 * Messages as data: the notation in which every file of `messages/` is written. A message family names its key,
 * versions and the fields of request and response, in wire order; `compile.ts` turns it into straight-line codecs, and
 * the TypeScript types are inferred from it, so nothing is declared twice.
 *
 * A decoded message has all fields of all versions, absent ones at their default (Kafka's rule). When encoding, a field
 * with a default, a tag, a null or `ignorable` may be left out.
 *
 * | option     | meaning                                                                                  |
 * |------------|------------------------------------------------------------------------------------------|
 * | `nullable` | versions in which null may stand on the wire                                             |
 * | `default`  | value where the version lacks the field; 0, false, '', [] and zero uuid unless given     |
 * | `tag`      | the field stands in the tag section under this number (of `tagged` versions)             |
 * | `ignorable`| a value may be dropped silently where the version lacks the field; otherwise that throws |
 */

import { type TopicId, ZERO_TOPIC_ID } from '../base/ids.js'

/** A part of a records field that is not in memory: `connection.ts` reads it when the socket has room. */
export interface RecordsSlice {
	readonly length: number
}

/** Record bytes to send: in memory, as a list of parts, or none. Decoding always gives a Buffer or null. */
export type Records =
	| Buffer
	| { readonly byteLength: number; readonly parts: readonly (Buffer | RecordsSlice)[] }
	| null

export type Kind =
	| 'bool'
	| 'int8'
	| 'int16'
	| 'uint16'
	| 'int32'
	| 'uint32'
	| 'int64'
	| 'bigint64'
	| 'float64'
	| 'uuid'
	| 'string'
	| 'bytes'
	| 'records'
	| 'array'
	| 'struct'

export interface Options<T = unknown> {
	readonly nullable?: string
	readonly default?: T | null
	readonly tag?: number
	/** Versions in which the tag is used; all of the field's when absent. */
	readonly tagged?: string
	readonly ignorable?: true
	/** Versions in which the field has the flexible form; 'none' keeps the old form (RequestHeader's client id). */
	readonly flexible?: 'none'
}

/** One field. `T` is its value; `O` says that something stands in for it when it is left out; `V` are its versions. */
export interface Field<T, O extends boolean = boolean, V extends string = string> {
	readonly kind: Kind
	readonly versions: V
	readonly options: Options
	/** Of an array: what it holds. */
	readonly element?: Field<unknown>
	/** Of a struct: its fields. */
	readonly fields?: Fields
	readonly value?: T
	readonly optional?: O
}

// biome-ignore lint/suspicious/noExplicitAny: the field's type is only inferred, never called with
export type Fields = Readonly<Record<string, Field<any>>>

type Nullable<T, O> = O extends { readonly nullable: string } ? T | null : T
type MayLack<O> = O extends
	| { readonly default: unknown }
	| { readonly nullable: string }
	| { readonly tag: number }
	| { readonly ignorable: true }
	? true
	: false

/** The decoded form: every field present. */
export type Decoded<F extends Fields> = { -readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never }

/** Keys that may be left out: those with a stand-in, and those that are not in every version that has their parent. */
type OptionalKeys<F extends Fields, V extends string> = {
	[K in keyof F]: F[K] extends Field<unknown, infer O, infer W>
		? O extends true
			? K
			: W extends '0+' | V
				? never
				: K
		: never
}[keyof F]
type InputValue<T> = T extends Buffer | string | number | bigint | boolean | null
	? T
	: T extends readonly (infer E)[]
		? readonly InputValue<E>[]
		: T extends { readonly [inputOf]?: infer I }
			? I
			: T

declare const inputOf: unique symbol

/** The form that is given to encode. `V`: the versions of the parent. */
export type Input<F extends Fields, V extends string = '0+'> = {
	readonly [K in Exclude<keyof F, OptionalKeys<F, V>>]: F[K] extends Field<infer T> ? InputValue<T> : never
} & {
	readonly [K in OptionalKeys<F, V>]?: (F[K] extends Field<infer T> ? InputValue<T> : never) | undefined
}

/** A struct's decoded value, carrying the type of its input form. */
export type Struct<F extends Fields, V extends string> = Decoded<F> & { readonly [inputOf]?: Input<F, V> }

function field<T, const V extends string, const O extends Options<T>>(
	kind: Kind,
	versions: V,
	options?: O,
): Field<Nullable<T, O>, MayLack<O>, V> {
	return { kind, versions, options: options ?? {} }
}

export const bool = <const V extends string, const O extends Options<boolean>>(versions: V, options?: O) =>
	field<boolean, V, O>('bool', versions, options)
export const int8 = <const V extends string, const O extends Options<number>>(versions: V, options?: O) =>
	field<number, V, O>('int8', versions, options)
export const int16 = <const V extends string, const O extends Options<number>>(versions: V, options?: O) =>
	field<number, V, O>('int16', versions, options)
export const uint16 = <const V extends string, const O extends Options<number>>(versions: V, options?: O) =>
	field<number, V, O>('uint16', versions, options)
export const int32 = <const V extends string, const O extends Options<number>>(versions: V, options?: O) =>
	field<number, V, O>('int32', versions, options)
export const uint32 = <const V extends string, const O extends Options<number>>(versions: V, options?: O) =>
	field<number, V, O>('uint32', versions, options)
/** An int64 that counts: a number, exact within ±2^53 (`docs/adr/0001-int64-as-number.md`). */
export const int64 = <const V extends string, const O extends Options<number>>(versions: V, options?: O) =>
	field<number, V, O>('int64', versions, options)
/** An int64 that is an opaque id or must come back exactly. */
export const bigint64 = <const V extends string, const O extends Options<bigint>>(versions: V, options?: O) =>
	field<bigint, V, O>('bigint64', versions, options)
export const float64 = <const V extends string, const O extends Options<number>>(versions: V, options?: O) =>
	field<number, V, O>('float64', versions, options)
export const uuid = <const V extends string, const O extends Options<TopicId>>(versions: V, options?: O) =>
	field<TopicId, V, O>('uuid', versions, options)
export const string = <const V extends string, const O extends Options<string>>(versions: V, options?: O) =>
	field<string, V, O>('string', versions, options)
export const bytes = <const V extends string, const O extends Options<Buffer>>(versions: V, options?: O) =>
	field<Buffer, V, O>('bytes', versions, options)
export const records = <const V extends string, const O extends Options<Records>>(versions: V, options?: O) =>
	field<Records, V, O>('records', versions, options)

/** An array of structs, given by their fields. */
export function array<const V extends string, const F extends Fields, const O extends Options>(
	versions: V,
	element: F,
	options?: O,
): Field<Nullable<Struct<F, V>[], O>, MayLack<O>, V> {
	return {
		kind: 'array',
		versions,
		options: options ?? {},
		element: { kind: 'struct', versions: '0+', options: {}, fields: element },
	}
}

/** An array of one of the primitive fields. */
export function arrayOf<T, const V extends string, const O extends Options>(
	versions: V,
	element: (versions: '0+') => Field<T>,
	options?: O,
): Field<Nullable<T[], O>, MayLack<O>, V> {
	return { kind: 'array', versions, options: options ?? {}, element: element('0+') }
}

export function struct<const V extends string, const F extends Fields, const O extends Options>(
	versions: V,
	fields: F,
	options?: O,
): Field<Nullable<Struct<F, V>, O>, MayLack<O>, V> {
	return { kind: 'struct', versions, options: options ?? {}, fields }
}

/** A request and its response. */
export interface Family<Q extends Fields = Fields, P extends Fields = Fields> {
	readonly key: number
	readonly name: string
	readonly versions: VersionRange
	/** First flexible version; Infinity when never. */
	readonly flexibleFrom: number
	readonly request: Q
	readonly response: P
}

/** A record value or blob that starts with an int16 version (`messages/internal.ts`). */
export interface DataFormat<F extends Fields = Fields> {
	readonly name: string
	readonly versions: VersionRange
	readonly flexibleFrom: number
	readonly fields: F
}

export type RequestOf<T> = T extends Family<infer Q, Fields> ? Decoded<Q> : never
export type ResponseOf<T> = T extends Family<Fields, infer P> ? Decoded<P> : never
export type RequestInput<T> = T extends Family<infer Q, Fields> ? Input<Q> : never
export type ResponseInput<T> = T extends Family<Fields, infer P> ? Input<P> : never

export function family<const Q extends Fields, const P extends Fields>(given: {
	readonly key: number
	readonly name: string
	readonly versions: string
	readonly flexible: string
	readonly request: Q
	readonly response: P
}): Family<Q, P> {
	const { flexible, versions, ...rest } = given
	return { ...rest, versions: parseVersions(versions), flexibleFrom: parseVersions(flexible).min }
}

export function dataFormat<const F extends Fields>(given: {
	readonly name: string
	readonly versions: string
	readonly flexible: string
	readonly fields: F
}): DataFormat<F> {
	const { flexible, versions, ...rest } = given
	return { ...rest, versions: parseVersions(versions), flexibleFrom: parseVersions(flexible).min }
}

export interface VersionRange {
	readonly min: number
	readonly max: number
}

/** `a-b`, `a+`, `a` or `none`; `none` is a range that holds no version. */
export function parseVersions(text: string): VersionRange {
	if (text === 'none') return { min: Number.POSITIVE_INFINITY, max: -1 }
	const match = /^(\d+)(?:-(\d+)|(\+))?$/.exec(text)
	if (match === null) throw new Error(`bad version range '${text}'`)
	const min = Number(match[1])
	if (match[3] !== undefined) return { min, max: Number.POSITIVE_INFINITY }
	return { min, max: match[2] === undefined ? min : Number(match[2]) }
}

export function inVersions(range: VersionRange, version: number): boolean {
	return version >= range.min && version <= range.max
}

/** The value of a field that is not on the wire. Arrays and structs are made anew for each caller. */
export function defaultOf(field: Field<unknown>): unknown {
	const given = field.options.default
	if (given !== undefined) return given
	switch (field.kind) {
		case 'bool':
			return false
		case 'bigint64':
			return 0n
		case 'uuid':
			return ZERO_TOPIC_ID
		case 'string':
			return ''
		case 'bytes':
		case 'records':
			return EMPTY
		case 'array':
			return []
		case 'struct': {
			const made: Record<string, unknown> = {}
			for (const [name, inner] of Object.entries(field.fields ?? {})) made[name] = defaultOf(inner)
			return made
		}
		default:
			return 0
	}
}

const EMPTY = Buffer.alloc(0)
