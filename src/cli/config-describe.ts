/** Behind `kcli config describe`. */

import type { Admin, DescribedResource } from '../client/admin.js'
import { ERROR } from '../protocol/errors.js'
import { type Entity, entityError, parseEntities, requireBrokers } from './config-entity.js'
import { readQuotas } from './config-quota.js'
import { type ItemError, itemError } from './item-error.js'
import { type Column, isHuman, type OutputChoice, printReport, tableOf } from './output.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import { nearestKey } from './setting-change.js'
import { humanSetting } from './style.js'

export interface ConfigDescribeChoice extends ConnectionChoice, OutputChoice {
	readonly all: boolean
	readonly docs: boolean
	readonly source: boolean
	readonly key: readonly string[] | undefined
}

interface Setting {
	readonly entity: string
	readonly key: string
	/** Null: none, or a secret. */
	readonly value: string | null
	readonly source: string
	readonly type: string
	readonly readOnly: boolean
	readonly sensitive: boolean
	readonly synonyms: readonly { readonly key: string; readonly value: string | null; readonly source: string }[]
	readonly documentation?: string | null
}

const SOURCES: Readonly<Record<number, string>> = {
	1: 'topic',
	2: 'broker',
	3: 'broker-default',
	4: 'static',
	5: 'default',
	6: 'logger',
	7: 'client-metrics',
	8: 'group',
}

const VALUE_TYPES = ['unknown', 'boolean', 'string', 'int', 'short', 'long', 'double', 'list', 'class', 'password']

/** Shows settings of entities; the exit code. */
export async function describeConfig(words: readonly string[], flags: ConfigDescribeChoice): Promise<number> {
	const entities = parseEntities(words)
	return await withCluster(flags, async (session) => {
		await requireBrokers(session.cluster, entities)
		if (session.cluster.clusterId === null) await session.cluster.refresh([])
		const { settings, errors } = await gather(session, entities, flags)
		const human = isHuman(flags)
		return await printReport(
			{
				kind: 'ConfigDescribe',
				items: settings,
				errors,
				clusterId: session.cluster.clusterId,
				table: tableOf(settings, columnsFor(entities.length > 1, human, flags)),
				nameOf: ({ key }) => key,
				whenEmpty: flags.all ? 'no settings' : 'no settings other than the defaults; --all shows those too',
			},
			flags,
		)
	})
}

async function gather(
	session: Session,
	entities: readonly Entity[],
	flags: ConfigDescribeChoice,
): Promise<{ settings: Setting[]; errors: ItemError[] }> {
	const { admin, cluster } = session
	const keys = flags.key?.flatMap((each) => each.split(',')) ?? null
	const resources = await admin.describeConfigs(
		entities.filter(({ quota }) => quota === null).map(({ type, name }) => ({ type, name, keys })),
		flags.docs,
	)
	const settings: Setting[] = []
	const errors: ItemError[] = []
	for (const entity of entities) {
		if (entity.quota !== null) {
			for (const [key, value] of await readQuotas(session, entity.quota))
				if (keys === null || keys.includes(key)) settings.push(quotaSetting(entity, key, value))
			continue
		}
		const found = resources.find(
			({ resourceType, resourceName }) => resourceType === entity.type && resourceName === entity.name,
		)
		const errorCode = found?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
		if (found === undefined || errorCode !== ERROR.NONE) {
			errors.push(await entityError(cluster, entity, errorCode, found?.errorMessage ?? null))
			continue
		}
		const unknown = (entity.text.startsWith('topic/') ? (keys ?? []) : []).filter(
			(key) => !found.configs.some(({ name }) => name === key),
		)
		if (unknown.length > 0) errors.push(...(await unknownKeys(admin, entity, unknown)))
		const shown = found.configs
			.map((config) => settingOf(entity, config, flags.docs))
			.filter(({ source }) => flags.all || keys !== null || (source !== 'default' && isOwn(entity, source)))
		settings.push(...shown.sort((a, b) => (a.key < b.key ? -1 : 1)))
	}
	return { settings, errors }
}

/** Settings that the broker does not know, with the nearest that it does. */
async function unknownKeys(admin: Admin, entity: Entity, keys: readonly string[]): Promise<ItemError[]> {
	const all = (await admin.describeConfigs([{ type: entity.type, name: entity.name, keys: null }]))[0]
	const names = all?.configs.map(({ name }) => name) ?? []
	return keys.map((key) =>
		itemError(entity.text, ERROR.INVALID_CONFIG, `${key} is no setting here`, nearestKey(key, names)),
	)
}

/** A topic inherits what its broker has; that is not its own. */
function isOwn({ text }: Entity, source: string): boolean {
	return text.startsWith('topic/') ? source === 'topic' : true
}

function settingOf(entity: Entity, config: DescribedResource['configs'][number], hasDocs: boolean): Setting {
	const { name, value, configSource, isDefault, configType, readOnly, isSensitive, synonyms, documentation } = config
	const oldSource = isDefault ? 'default' : entity.type === 2 ? 'topic' : 'broker'
	return {
		entity: entity.text,
		key: name,
		value,
		source: configSource === -1 ? oldSource : (SOURCES[configSource] ?? `source-${configSource}`),
		type: VALUE_TYPES[configType] ?? 'unknown',
		readOnly,
		sensitive: isSensitive,
		synonyms: synonyms.map((each) => ({
			key: each.name,
			value: each.value,
			source: SOURCES[each.source] ?? `source-${each.source}`,
		})),
		...(hasDocs ? { documentation } : {}),
	}
}

function quotaSetting({ text }: Entity, key: string, value: string): Setting {
	const common = { type: 'double', readOnly: false, sensitive: false, synonyms: [] }
	return { entity: text, key, value, source: 'quota', ...common }
}

function columnsFor(hasEntity: boolean, human: boolean, flags: ConfigDescribeChoice): Column<Setting>[] {
	const text = ({ key, value, sensitive }: Setting): string | null => {
		if (sensitive) return '(hidden)'
		return value === null || !human ? value : humanSetting(key, value)
	}
	return [
		...(hasEntity ? [{ header: 'ENTITY', value: ({ entity }: Setting) => entity }] : []),
		{ header: 'KEY', value: ({ key }) => key },
		{ header: 'VALUE', value: text },
		{ header: 'SOURCE', value: ({ source }) => source },
		{ header: 'TYPE', value: ({ type }) => type, isWide: true },
		{ header: 'READ-ONLY', value: ({ readOnly }) => readOnly, isWide: true },
		...(flags.source
			? [
					{
						header: 'SYNONYMS',
						value: ({ synonyms }: Setting) =>
							synonyms.map((each) => `${each.source}:${each.key}=${each.value ?? ''}`).join(' '),
					},
				]
			: []),
		...(flags.docs ? [{ header: 'DOCUMENTATION', value: ({ documentation }: Setting) => documentation }] : []),
	]
}
