/** What a configuration key is: its type, default, check and class. The tables beside this file are made of these. */

export type ConfigType = 'boolean' | 'string' | 'int' | 'short' | 'long' | 'double' | 'list' | 'class' | 'password'

/** `ro`: at start only; `pb`: dynamic, per broker; `cw`: dynamic, per broker or as the cluster's default. */
export type Dynamic = 'ro' | 'pb' | 'cw'

/** Says what is wrong with a value of the right type, or null. */
export type Check = (value: string) => string | null

export interface ConfigKey {
	readonly name: string
	readonly type: ConfigType
	/** Null: unset. */
	readonly default: string | null
	readonly dynamic: Dynamic
	readonly doc: string
	readonly check: Check | undefined
}

export interface TopicKey {
	readonly name: string
	readonly type: ConfigType
	readonly default: string
	/** The broker key whose value is the topic's default; null: none. */
	readonly synonym: string | null
	readonly check: Check | undefined
}

export function key(
	name: string,
	type: ConfigType,
	initial: string | null,
	dynamic: Dynamic,
	doc: string,
	check?: Check,
): ConfigKey {
	return { name, type, default: initial, dynamic, doc, check }
}

export function topicKey(
	name: string,
	type: ConfigType,
	initial: string,
	synonym: string | null,
	check?: Check,
): TopicKey {
	return { name, type, default: initial, synonym, check }
}

export function atLeast(least: number): Check {
	return (value) => (Number(value) < least ? `must be at least ${least}` : null)
}

export function between(least: number, most: number): Check {
	return (value) => (Number(value) < least || Number(value) > most ? `must be from ${least} to ${most}` : null)
}

/** -1 for the library's own, 1 to 9. */
export const gzipLevel: Check = (value) =>
	value === '-1' || (Number(value) >= 1 && Number(value) <= 9) ? null : 'must be -1 or from 1 to 9'

/** `*`, nothing, or `partition:broker` items (Kafka's ThrottledReplicaListValidator). */
export const throttledReplicas: Check = (value) => {
	if (value === '*' || value === '') return null
	const wrong = value.split(',').find((item) => !/^\d+:\d+$/.test(item.trim()))
	return wrong === undefined ? null : `'${wrong}' is not partition:broker, and the list is not *`
}

/** Releases by their numbers, with the highest IV that each has (Kafka's MetadataVersion up to 3.9). */
const RELEASES: Readonly<Record<string, number>> = {
	'0.8.0': -1,
	'0.8.1': -1,
	'0.8.2': -1,
	'0.9.0': -1,
	'0.10.0': 1,
	'0.10.1': 2,
	'0.10.2': 0,
	'0.11.0': 2,
	'1.0': 0,
	'1.1': 0,
	'2.0': 1,
	'2.1': 2,
	'2.2': 1,
	'2.3': 1,
	'2.4': 1,
	'2.5': 0,
	'2.6': 0,
	'2.7': 2,
	'2.8': 1,
	'3.0': 1,
	'3.1': 0,
	'3.2': 0,
	'3.3': 3,
	'3.4': 0,
	'3.5': 2,
	'3.6': 2,
	'3.7': 4,
	'3.8': 0,
	'3.9': 0,
}

/** A release, with any patch level, or one of its inter-broker versions: `2.8`, `2.8.1`, `2.8-IV1`. */
export const release: Check = (value) => {
	const match = /^(0\.\d+\.\d+|[1-9]\d*\.\d+)(?:-IV(\d+)|(?:\.\d+)*)$/.exec(value)
	const highest = match === null ? undefined : RELEASES[match[1] as string]
	const isKnown = highest !== undefined && (match?.[2] === undefined || Number(match[2]) <= highest)
	return isKnown ? null : `'${value}' is not a release of Apache Kafka up to 3.9`
}

/** For lists each item is checked. */
export function oneOf(...allowed: string[]): Check {
	return (value) => {
		const wrong = value.split(',').find((item) => !allowed.includes(item.trim()))
		return wrong === undefined ? null : `'${wrong}' is not one of ${allowed.join(', ')}`
	}
}

const LONG_MAX = 9223372036854775807n
const INTEGER = /^[+-]?\d+$/
const RANGES: Readonly<Record<string, readonly [bigint, bigint]>> = {
	short: [-32768n, 32767n],
	int: [-2147483648n, 2147483647n],
	long: [-LONG_MAX - 1n, LONG_MAX],
}

/** What is wrong with `value` as a value of this key, or null. */
export function problemOf(key: ConfigKey | TopicKey, value: string): string | null {
	const text = value.trim()
	const range = RANGES[key.type]
	if (range !== undefined) {
		if (!INTEGER.test(text)) return `'${value}' is not a whole number`
		const number = BigInt(text)
		if (number < range[0] || number > range[1]) return `${text} is out of the range of ${key.type}`
	} else if (key.type === 'boolean') {
		if (!/^(true|false)$/i.test(text)) return `'${value}' is not true or false`
	} else if (key.type === 'double') {
		if (text === '' || Number.isNaN(Number(text))) return `'${value}' is not a number`
	}
	return key.check?.(text) ?? null
}

/** Wire ids of types (DescribeConfigs v3+). */
export const TYPE_ID: Readonly<Record<ConfigType, number>> = {
	boolean: 1,
	string: 2,
	int: 3,
	short: 4,
	long: 5,
	double: 6,
	list: 7,
	class: 8,
	password: 9,
}
