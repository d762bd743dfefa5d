/**
 * The broker's configuration: typed reads over layers (configs.md §1). A broker value comes from, in this order: this
 * broker's dynamic config, the cluster's dynamic default, the static file and flags, the built-in default. A topic value
 * comes from the topic's own config, then from the broker key it inherits from.
 */

import { assert, present } from '../base/assert.js'
import { BROKER_KEYS } from './config-broker-keys.js'
import { type ConfigKey, problemOf, type TopicKey } from './config-key.js'
import { TOPIC_KEYS } from './config-topic-keys.js'

const brokerKeys = new Map(BROKER_KEYS.map((key) => [key.name, key]))
const topicKeys = new Map(TOPIC_KEYS.map((key) => [key.name, key]))

export function brokerKey(name: string): ConfigKey | undefined {
	return brokerKeys.get(name)
}

export function topicKeyOf(name: string): TopicKey | undefined {
	return topicKeys.get(name)
}

/** Older names of a key with another unit: [name, milliseconds of one]. The first that is set statically counts. */
const FAMILIES: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
	'log.retention.ms': [
		['log.retention.minutes', 60_000],
		['log.retention.hours', 3_600_000],
	],
	'log.roll.ms': [['log.roll.hours', 3_600_000]],
	'log.roll.jitter.ms': [['log.roll.jitter.hours', 3_600_000]],
	'log.flush.interval.ms': [['log.flush.scheduler.interval.ms', 1]],
	'log.dirs': [['log.dir', 0]],
}

/** Where an effective value comes from; the numbers are those of DescribeConfigs. */
export const SOURCE = { topic: 1, dynamicBroker: 2, dynamicDefault: 3, static: 4, default: 5 } as const

export interface Sourced {
	readonly name: string
	/** Null: unset. */
	readonly value: string | null
	readonly source: number
}

/** The configuration is not one to start with: which key, which value, why. */
export class ConfigError extends Error {
	override readonly name = 'ConfigError'
	constructor(
		readonly key: string,
		readonly value: string,
		readonly problem: string,
	) {
		super(`${key}=${value}: ${problem}`)
	}
}

export type Overrides = ReadonlyMap<string, string>

const NONE: Overrides = new Map()

export class BrokerConfig {
	readonly #static: Overrides
	#dynamicDefault: Overrides = NONE
	#dynamicBroker: Overrides = NONE

	/** Throws {@link ConfigError} on the first value that its key cannot have. Unknown keys are kept. */
	constructor(given: Overrides) {
		for (const [name, value] of given) {
			const key = brokerKeys.get(name)
			const problem = key === undefined ? null : problemOf(key, value)
			if (problem !== null) throw new ConfigError(name, value, problem)
		}
		this.#static = given
	}

	setDynamicDefault(values: Overrides): void {
		this.#dynamicDefault = values
	}

	setDynamicBroker(values: Overrides): void {
		this.#dynamicBroker = values
	}

	/** All settings of the static layer, unknown ones included. */
	get given(): Overrides {
		return this.#static
	}

	/** The layers in which `name` (or a family member of it) has a value, highest first; the default last, when not null. */
	layersOf(name: string): Sourced[] {
		const found: Sourced[] = []
		const add = (source: number, layer: Overrides, as: string): void => {
			const value = layer.get(as)
			if (value !== undefined) found.push({ name: as, value, source })
		}
		add(SOURCE.dynamicBroker, this.#dynamicBroker, name)
		add(SOURCE.dynamicDefault, this.#dynamicDefault, name)
		const family = FAMILIES[name] ?? []
		for (const as of [name, ...family.map(([member]) => member)]) add(SOURCE.static, this.#static, as)
		for (const as of [name, ...family.map(([member]) => member)]) {
			const value = brokerKeys.get(as)?.default ?? null
			if (value !== null) found.push({ name: as, value, source: SOURCE.default })
		}
		return found
	}

	/** Effective value as text, in the unit of `name`; null when unset. */
	text(name: string): string | null {
		const top = this.layersOf(name)[0]
		if (top === undefined || top.value === null) return null
		return inUnitOf(name, top)
	}

	string(name: string): string {
		return present(this.text(name), `config ${name} is not set`)
	}

	/** A number; longs beyond 2^53 keep their nearest double, which is right for comparing. */
	number(name: string): number {
		const value = Number(this.string(name))
		assert(!Number.isNaN(value), `config ${name} is not a number`)
		return value
	}

	boolean(name: string): boolean {
		return this.string(name).trim().toLowerCase() === 'true'
	}

	list(name: string): string[] {
		return splitList(this.text(name) ?? '')
	}

	/** A topic's effective value with where it comes from. */
	topicValue(key: TopicKey, overrides: Overrides): Sourced {
		return present(this.topicLayers(key, overrides)[0], `topic config ${key.name} has no value`)
	}

	/** As {@link layersOf}, for a topic key: its own value first. Broker values keep the broker key's name. */
	topicLayers(key: TopicKey, overrides: Overrides): Sourced[] {
		const own = overrides.get(key.name)
		const found: Sourced[] = own === undefined ? [] : [{ name: key.name, value: own, source: SOURCE.topic }]
		if (key.synonym !== null && brokerKeys.has(key.synonym)) {
			const synonym = key.synonym
			for (const layer of this.layersOf(synonym)) found.push({ ...layer, value: inUnitOf(synonym, layer) })
		}
		if (found.length === 0 || found[found.length - 1]?.source !== SOURCE.default) {
			found.push({ name: key.name, value: key.default, source: SOURCE.default })
		}
		return found
	}

	topicText(name: string, overrides: Overrides): string {
		return this.topicValue(present(topicKeys.get(name), `no topic config ${name}`), overrides).value as string
	}

	topicNumber(name: string, overrides: Overrides): number {
		return Number(this.topicText(name, overrides))
	}

	topicBoolean(name: string, overrides: Overrides): boolean {
		return this.topicText(name, overrides).trim().toLowerCase() === 'true'
	}
}

export function splitList(text: string): string[] {
	return text
		.split(',')
		.map((item) => item.trim())
		.filter((item) => item !== '')
}

function inUnitOf(name: string, layer: Sourced): string {
	const value = layer.value as string
	if (layer.name === name) return value
	const unit = FAMILIES[name]?.find(([member]) => member === layer.name)?.[1] ?? 0
	if (unit === 0 || Number(value) < 0) return value
	const product = BigInt(value.trim()) * BigInt(unit)
	return (product > 9223372036854775807n ? 9223372036854775807n : product).toString()
}
