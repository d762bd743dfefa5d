/** A change of settings as people write it, as brokers take it, and as it is shown: old → new. */

import type { Admin, DescribedResource } from '../client/admin.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { usageError } from './errors.js'
import { parsePair, settingValue } from './parse.js'

/** Operations of IncrementalAlterConfigs. */
export const OPERATION = { set: 0, unset: 1, append: 2, subtract: 3 } as const
export type Operation = keyof typeof OPERATION

export interface SettingChange {
	readonly key: string
	readonly operation: Operation
	/** Null for unset. */
	readonly value: string | null
}

export interface SettingOutcome {
	readonly entity: string
	readonly key: string
	readonly operation: Operation
	/** Effective value before; null: none. Secrets stay hidden. */
	readonly oldValue: string | null
	readonly newValue: string | null
	readonly status: 'changed' | 'unchanged' | 'would-change'
}

/** `key=value` words to set, append to or subtract from. */
export function pairChanges(words: readonly string[], operation: Operation, what: string): SettingChange[] {
	return words.map((word) => {
		const [key, value] = parsePair(word, what)
		return { key, operation, value: settingValue(key, value) }
	})
}

/** Keys to unset, parted by commas or repeated. */
export function unsetChanges(words: readonly string[]): SettingChange[] {
	return words
		.flatMap((word) => word.split(','))
		.map((key) => key.trim())
		.filter((key) => key !== '')
		.map((key) => {
			if (key.includes('=')) throw usageError(`unset wants only the name of a setting, not '${key}'`)
			return { key, operation: 'unset', value: null }
		})
}

/** Refuses a key twice: brokers refuse it too, with less to say. */
export function checkedChanges(changes: readonly SettingChange[]): readonly SettingChange[] {
	const seen = new Set<string>()
	for (const { key } of changes) {
		if (seen.has(key)) throw usageError(`${key} is named twice`)
		seen.add(key)
	}
	return changes
}

type Config = DescribedResource['configs'][number]

/** Effective values before and after. `after` null: a dry run, where the new value is what was asked for. */
export function outcomesOf(
	entity: Owner,
	changes: readonly SettingChange[],
	before: readonly Config[],
	after: readonly Config[] | null,
): SettingOutcome[] {
	return changes.map((change) => {
		const { key, operation } = change
		const old = before.find(({ name }) => name === key)
		const oldValue = shown(old)
		const now = after?.find(({ name }) => name === key)
		const newValue = after === null ? expected(entity, change, old) : shown(now)
		// An override that says what the default says is a change all the same.
		const isMoved = now !== undefined && now.configSource !== old?.configSource
		const isSame = oldValue === newValue && !isMoved && old?.isSensitive !== true
		const status = isSame ? 'unchanged' : after === null ? 'would-change' : 'changed'
		return { entity: entity.text, key, operation, oldValue, newValue, status }
	})
}

/** Whose settings change: as it is written, and its type on the wire. */
export interface Owner {
	readonly text: string
	readonly type: number
	readonly name: string
}

/** Brokers send no secret; the mark says that there is one. */
function shown(config: Config | undefined): string | null {
	if (config === undefined) return null
	return config.isSensitive ? '(hidden)' : config.value
}

function expected(entity: Owner, { operation, value }: SettingChange, old: Config | undefined): string | null {
	const items = (old?.value ?? '').split(',').filter((item) => item !== '')
	const given = (value ?? '').split(',')
	if (operation === 'append') return [...items, ...given.filter((item) => !items.includes(item))].join(',')
	if (operation === 'subtract') return items.filter((item) => !given.includes(item)).join(',')
	if (operation === 'set') return old?.isSensitive === true ? '(hidden)' : value
	// Without its own value a setting falls back to the next of its synonyms.
	if (old?.configSource !== sourceOf(entity)) return old?.value ?? null
	return old.synonyms.find(({ source }) => source !== old.configSource)?.value ?? null
}

/** The source that a value of the entity's own has: topic, one broker, all brokers. */
function sourceOf({ type, name }: Owner): number {
	if (type === 2) return 1
	return name === '' ? 3 : 2
}

/** How long a change may take to reach the broker that is asked: it travels by notification. */
const SETTLE_MS = 3000
const LOOK_EVERY_MS = 10

/** The settings once they show `changes`, or as they are after a while. */
export async function settledConfigs(
	admin: Admin,
	entity: Owner,
	changes: readonly SettingChange[],
	before: readonly Config[],
): Promise<readonly Config[]> {
	const { clock } = admin.cluster.runtime
	const deadline = clock.monotonicMs() + SETTLE_MS
	for (;;) {
		const now = await readConfigs(admin, entity)
		const isSettled = changes.every((change) => {
			const config = now.find(({ name }) => name === change.key)
			if (change.operation === 'unset') return config === undefined || config.configSource !== sourceOf(entity)
			const old = before.find(({ name }) => name === change.key)
			if (config !== undefined && config.configSource !== -1 && config.configSource !== sourceOf(entity)) return false
			return config?.isSensitive === true || config?.value === expected(entity, change, old)
		})
		if (isSettled || clock.monotonicMs() > deadline) return now
		await new Promise<void>((resolve) => {
			clock.after(LOOK_EVERY_MS, resolve)
		})
	}
}

export async function readConfigs(admin: Admin, { type, name }: Owner): Promise<readonly Config[]> {
	return (await admin.describeConfigs([{ type, name, keys: null }]))[0]?.configs ?? []
}

/** What may have been meant by a key that is none of `names`. */
export function nearestKey(key: string, names: readonly string[]): string | null {
	return didYouMean(closeMatches(key, names))
}

/** What may have been meant by keys that the entity does not have. */
export function keyHint(changes: readonly SettingChange[], before: readonly Config[]): string | null {
	const names = before.map(({ name }) => name)
	const unknown = changes.filter(({ key }) => !names.includes(key))
	return didYouMean(unknown.flatMap(({ key }) => closeMatches(key, names)))
}
