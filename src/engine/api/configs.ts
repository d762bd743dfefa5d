/**
 * DescribeConfigs (key 32, versions 0–4), AlterConfigs (33, 0–2), IncrementalAlterConfigs (44, 0–1); semantics 29.1–29.3,
 * configs.md §1. Topics and brokers (this one, or the cluster's default by an empty name). DescribeConfigs: 1 synonyms
 * (KIP-226), 3 types and documentation (KIP-569). Left out: broker loggers and client metrics answer 42.
 */

import { repeated } from '../../base/repeated.js'
import { ERROR } from '../../protocol/errors.js'
import { alterConfigs, describeConfigs, incrementalAlterConfigs } from '../../protocol/messages/configs.js'
import type { Decoded, ResponseInput } from '../../protocol/schema.js'
import type { ZkSession } from '../../zk/port.js'
import { readConfig, writeConfig } from '../../zk/recipes-config.js'
import { DEFAULT_ENTITY } from '../../zk/znodes.js'
import { type BrokerConfig, brokerKey, type Overrides, SOURCE, splitList, topicKeyOf } from '../config.js'
import { BROKER_KEYS } from '../config-broker-keys.js'
import { problemOf, TYPE_ID } from '../config-key.js'
import { TOPIC_DOCS, TOPIC_KEYS } from '../config-topic-keys.js'
import type { MetadataCache } from '../metadata/cache.js'
import type { ConfigStore } from '../metadata/config-store.js'
import { type Handler, handler } from './dispatch.js'
import { AdminError, checkedTopicConfigs, topicNameProblem } from './topic-admin.js'

const TOPIC = 2
const BROKER = 4

export interface ConfigParts {
	readonly brokerId: number
	readonly session: ZkSession
	readonly config: BrokerConfig
	readonly configs: ConfigStore
	readonly metadata: MetadataCache
}

type DescribeResult = ResponseInput<typeof describeConfigs>['results'][number]
type DescribedKey = DescribeResult['configs'][number]

export function describeConfigsHandler(parts: ConfigParts): Handler {
	return handler(describeConfigs, {
		handle(request) {
			const results = request.resources.map((resource): DescribeResult => {
				const { resourceType, resourceName } = resource
				try {
					const keys = resource.configurationKeys
					const wanted = keys === null || keys.length === 0 ? null : new Set(keys)
					const all = describe(parts, resourceType, resourceName, request.includeDocumentation)
					const configs = all
						.filter(({ name }) => wanted === null || wanted.has(name))
						.map((each) => (request.includeSynonyms ? each : { ...each, synonyms: [] }))
					return { errorCode: ERROR.NONE, errorMessage: null, resourceType, resourceName, configs }
				} catch (error) {
					if (!(error instanceof AdminError)) throw error
					return { errorCode: error.code, errorMessage: error.message, resourceType, resourceName, configs: [] }
				}
			})
			return { throttleTimeMs: 0, results }
		},
		fail: (request, errorCode) => ({
			throttleTimeMs: 0,
			results: request.resources.map(({ resourceType, resourceName }) => ({
				errorCode,
				errorMessage: null,
				resourceType,
				resourceName,
				configs: [],
			})),
		}),
	})
}

function describe(parts: ConfigParts, type: number, name: string, withDocs: boolean): DescribedKey[] {
	if (type === TOPIC) return describeTopic(parts, name, withDocs)
	if (type !== BROKER) throw new AdminError(ERROR.INVALID_REQUEST, `Resource type ${type} cannot be described here.`)
	checkBrokerName(parts, name)
	return describeBroker(parts, name, withDocs)
}

function describeTopic({ config, configs, metadata }: ConfigParts, name: string, withDocs: boolean): DescribedKey[] {
	const problem = topicNameProblem(name)
	if (problem !== null) throw new AdminError(ERROR.INVALID_TOPIC_EXCEPTION, problem)
	if (metadata.topic(name) === undefined) {
		throw new AdminError(ERROR.UNKNOWN_TOPIC_OR_PARTITION, `There is no topic '${name}'.`)
	}
	const overrides = configs.topic(name)
	return TOPIC_KEYS.map((key) => {
		const layers = config.topicLayers(key, overrides)
		const top = layers[0] as (typeof layers)[number]
		// Only names that have a value of their own are listed (configs.md §1.10).
		const synonyms = layers.filter((layer) =>
			layer.name === key.name ? layer.source === SOURCE.topic : layer.name === key.synonym,
		)
		return {
			name: key.name,
			value: top.value,
			readOnly: false,
			isDefault: false,
			configSource: top.source,
			isSensitive: false,
			synonyms,
			configType: TYPE_ID[key.type],
			documentation: withDocs ? (TOPIC_DOCS[key.name] ?? null) : null,
		}
	})
}

function describeBroker({ config }: ConfigParts, name: string, withDocs: boolean): DescribedKey[] {
	const known = new Set(BROKER_KEYS.map((key) => key.name))
	const custom = [...config.given.keys()].filter((key) => !known.has(key))
	const all = [
		...BROKER_KEYS,
		...custom.map((each) => ({ name: each, type: 'string', dynamic: 'ro', doc: '' }) as const),
	]
	const described: DescribedKey[] = []
	for (const key of all) {
		const layers = known.has(key.name)
			? config.layersOf(key.name)
			: [{ name: key.name, value: config.given.get(key.name) ?? null, source: SOURCE.static }]
		// The cluster's default resource shows what is set there, and nothing else.
		const shown = name === '' ? layers.filter(({ source }) => source === SOURCE.dynamicDefault) : layers
		if (name === '' && shown.length === 0) continue
		const isSensitive = key.type === 'password'
		const hide = (value: string | null): string | null => (isSensitive ? null : value)
		described.push({
			name: key.name,
			value: hide(shown[0] === undefined ? null : (config.text(key.name) ?? shown[0].value)),
			readOnly: key.dynamic === 'ro',
			isDefault: false,
			configSource: shown[0]?.source ?? SOURCE.default,
			isSensitive,
			synonyms: shown.map((layer) => ({ ...layer, value: hide(layer.value) })),
			configType: TYPE_ID[key.type],
			documentation: withDocs ? key.doc : null,
		})
	}
	return described
}

function checkBrokerName({ brokerId }: ConfigParts, name: string): void {
	if (name === '' || name === String(brokerId)) return
	const text = /^-?\d+$/.test(name)
		? `Broker ${name} must be asked itself; this is broker ${brokerId}.`
		: `'${name}' is not a broker id.`
	throw new AdminError(ERROR.INVALID_REQUEST, text)
}

type Changes = readonly { readonly name: string; readonly value: string | null }[]

/** Stores a resource's whole set of settings after all checks. Throws {@link AdminError}. */
async function store(
	parts: ConfigParts,
	type: number,
	name: string,
	change: (present: Overrides) => { values: Map<string, string>; touched: ReadonlySet<string> },
	validateOnly: boolean,
): Promise<void> {
	if (type === TOPIC) {
		const problem = topicNameProblem(name)
		if (problem !== null) throw new AdminError(ERROR.INVALID_TOPIC_EXCEPTION, problem)
		if (parts.metadata.topic(name) === undefined) {
			throw new AdminError(ERROR.UNKNOWN_TOPIC_OR_PARTITION, `There is no topic '${name}'.`)
		}
		const { values } = change(await readConfig(parts.session, `topics/${name}`))
		const checked = checkedTopicConfigs(
			[...values].map(([key, value]) => ({ name: key, value })),
			parts.config,
		)
		if (!validateOnly) await write(parts, `topics/${name}`, checked)
		return
	}
	if (type !== BROKER) throw new AdminError(ERROR.INVALID_REQUEST, `Resource type ${type} cannot be altered here.`)
	checkBrokerName(parts, name)
	const entity = `brokers/${name === '' ? DEFAULT_ENTITY : name}`
	const { values, touched } = change(await readConfig(parts.session, entity))
	for (const key of touched) checkBrokerChange(parts.config, key, values.get(key), name === '')
	if (!validateOnly) await write(parts, entity, values)
}

/** Stores settings and has them take effect here before the answer: who asks next sees them. The others are notified. */
async function write({ session, configs }: ConfigParts, entity: string, values: Overrides): Promise<void> {
	await writeConfig(session, entity, values)
	await configs.apply(entity)
}

/** Pools that may be resized to between half and double of their present size only (semantics 29.2). */
const POOLS: ReadonlySet<string> = new Set([
	'background.threads',
	'num.io.threads',
	'num.network.threads',
	'num.recovery.threads.per.data.dir',
	'num.replica.fetchers',
])

/** What `name` would be with `value` (undefined: none) at the broker, or as the cluster's default. */
function effectiveAfter(config: BrokerConfig, name: string, value: string | undefined, isDefault: boolean): number {
	const changed = isDefault ? SOURCE.dynamicDefault : SOURCE.dynamicBroker
	const layers = config.layersOf(name).filter(({ source }) => source !== changed)
	const isShadowed = isDefault && layers[0]?.source === SOURCE.dynamicBroker
	return Number(value === undefined || isShadowed ? layers[0]?.value : value)
}

function checkBrokerChange(config: BrokerConfig, name: string, value: string | undefined, isDefault: boolean): void {
	const refuse = (text: string): never => {
		throw new AdminError(ERROR.INVALID_REQUEST, text)
	}
	const key = brokerKey(name)
	if (key === undefined) return
	if (key.dynamic === 'ro') refuse(`${name} can only be set at start.`)
	if (key.dynamic === 'pb' && isDefault) refuse(`${name} is set for one broker, not as the cluster's default.`)
	if (key.type === 'password') refuse(`${name} needs password.encoder.secret to be stored.`)
	const problem = value === undefined ? null : problemOf(key, value)
	if (problem !== null) refuse(`Invalid value ${value} for configuration ${name}: ${problem}`)
	if (!POOLS.has(name)) return
	const present = config.number(name)
	const wanted = effectiveAfter(config, name, value, isDefault)
	if (wanted < Math.floor(present / 2) || wanted > present * 2) {
		refuse(`${name} is ${present}: it may go to between half and double of that at a time, not to ${wanted}.`)
	}
}

export function alterConfigsHandler(parts: ConfigParts): Handler {
	const valuesOf = (given: Changes): Map<string, string> => {
		const values = new Map<string, string>()
		for (const { name, value } of given) {
			if (value === null) throw new AdminError(ERROR.INVALID_REQUEST, `Null value not supported for ${name}.`)
			if (values.has(name)) throw new AdminError(ERROR.INVALID_REQUEST, `The request names ${name} more than once.`)
			values.set(name, value)
		}
		return values
	}
	return handler(alterConfigs, {
		async handle(request) {
			const responses = await alterEach(request.resources, ({ resourceType, resourceName, configs }) => {
				const change = (present: Overrides) => {
					const values = valuesOf(configs)
					return { values, touched: new Set([...present.keys(), ...values.keys()]) }
				}
				return store(parts, resourceType, resourceName, change, request.validateOnly)
			})
			return { throttleTimeMs: 0, responses }
		},
		fail: (request, errorCode) => ({ throttleTimeMs: 0, responses: failEach(request.resources, errorCode) }),
	})
}

interface Resource {
	readonly resourceType: number
	readonly resourceName: string
}

interface Altered extends Resource {
	readonly errorCode: number
	readonly errorMessage: string | null
}

/** Alters one resource after the other. One that is named twice is 42: which of the two wins nobody could tell. */
async function alterEach<R extends Resource>(
	resources: readonly R[],
	alter: (resource: R) => Promise<void>,
): Promise<Altered[]> {
	const keyOf = ({ resourceType, resourceName }: Resource): string => `${resourceType}/${resourceName}`
	const twice = repeated(resources.map(keyOf))
	const responses: Altered[] = []
	for (const resource of resources) {
		const { resourceType, resourceName } = resource
		const outcome = await attempt(async () => {
			if (twice.has(keyOf(resource))) {
				throw new AdminError(ERROR.INVALID_REQUEST, `The request names resource '${resourceName}' more than once.`)
			}
			await alter(resource)
		})
		responses.push({ ...outcome, resourceType, resourceName })
	}
	return responses
}

function failEach(resources: readonly Resource[], errorCode: number): Altered[] {
	return resources.map(({ resourceType, resourceName }) => ({
		errorCode,
		errorMessage: null,
		resourceType,
		resourceName,
	}))
}

async function attempt(job: () => Promise<void>): Promise<{ errorCode: number; errorMessage: string | null }> {
	try {
		await job()
		return { errorCode: ERROR.NONE, errorMessage: null }
	} catch (error) {
		if (!(error instanceof AdminError)) throw error
		return { errorCode: error.code, errorMessage: error.message }
	}
}

type Operation = Decoded<typeof incrementalAlterConfigs.request>['resources'][number]['configs'][number]

const SET = 0
const DELETE = 1
const APPEND = 2
const SUBTRACT = 3

export function incrementalAlterConfigsHandler(parts: ConfigParts): Handler {
	return handler(incrementalAlterConfigs, {
		async handle(request) {
			const responses = await alterEach(request.resources, ({ resourceType, resourceName, configs }) => {
				const change = (present: Overrides) => applyOperations(parts, resourceType, present, configs)
				return store(parts, resourceType, resourceName, change, request.validateOnly)
			})
			return { throttleTimeMs: 0, responses }
		},
		fail: (request, errorCode) => ({ throttleTimeMs: 0, responses: failEach(request.resources, errorCode) }),
	})
}

function applyOperations(
	parts: ConfigParts,
	type: number,
	present: Overrides,
	operations: readonly Operation[],
): { values: Map<string, string>; touched: ReadonlySet<string> } {
	const values = new Map(present)
	const touched = new Set<string>()
	const invalid = type === TOPIC ? ERROR.INVALID_CONFIG : ERROR.INVALID_REQUEST
	for (const { name, configOperation, value } of operations) {
		if (touched.has(name)) throw new AdminError(ERROR.INVALID_REQUEST, `The request names ${name} more than once.`)
		touched.add(name)
		if (configOperation === DELETE) {
			values.delete(name)
			continue
		}
		if (value === null) throw new AdminError(ERROR.INVALID_REQUEST, `Null value not supported for ${name}.`)
		if (configOperation === SET) values.set(name, value)
		else if (configOperation === APPEND || configOperation === SUBTRACT) {
			const key = type === TOPIC ? topicKeyOf(name) : brokerKey(name)
			if (key?.type !== 'list')
				throw new AdminError(invalid, `${name} is not a list: it cannot be added to or taken from.`)
			const topicKey = type === TOPIC ? topicKeyOf(name) : undefined
			const effective =
				topicKey === undefined ? parts.config.text(name) : parts.config.topicValue(topicKey, values).value
			const before = splitList(values.get(name) ?? effective ?? '')
			const given = splitList(value)
			const after =
				configOperation === APPEND
					? [...before, ...given.filter((item) => !before.includes(item))]
					: before.filter((item) => !given.includes(item))
			values.set(name, after.join(','))
		} else throw new AdminError(ERROR.INVALID_REQUEST, `Operation ${configOperation} on ${name} is unknown.`)
	}
	return { values, touched }
}
