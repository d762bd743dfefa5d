/**
 * The znodes of a Kafka cluster in ZooKeeper mode, one object each: path, encode, decode. Pure. Requests, notifications,
 * ACLs and tokens stand in `znodes-admin.ts`. The bytes are those of
 * Apache Kafka 3.9 (held against its dumps in `test/fixtures/zk/znodes`): key order as it writes, numbers as text where
 * it does so. Decoders ignore unknown keys and take the older versions named beside each.
 *
 * A decoder throws `ZnodeFormatError` on anything else. Null or empty data is decoded only where said.
 */

import type { TopicId } from '../base/ids.js'
import {
	decimal,
	integer,
	integers,
	type Json,
	json,
	list,
	object,
	optional,
	parse,
	partitionLists,
	text,
} from './znode-json.js'

/** Number at the end of a sequence node's name; null when there is none. */
export function sequenceNumber(name: string): number | null {
	const digits = /(-?[0-9]{10})$/.exec(name)
	return digits === null ? null : Number(digits[1])
}

/** Kafka's Sanitizer: users and client ids as they stand in paths (Java's URL encoding, space and star escaped). */
export function sanitize(name: string): string {
	return encodeURIComponent(name.replace(/\p{Surrogate}/gu, '?')).replace(
		/[!~*'()]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	)
}

export function desanitize(name: string): string {
	return decodeURIComponent(name.replace(/\+/g, ' '))
}

/** The entity that holds defaults; never sanitized. */
export const DEFAULT_ENTITY = '<default>'

/** Made empty at broker start when absent, in this order, with their parents. */
export const ROOT_PATHS: readonly string[] = [
	'/consumers',
	'/brokers/ids',
	'/brokers/topics',
	'/config/changes',
	'/admin/delete_topics',
	'/brokers/seqid',
	'/isr_change_notification',
	'/latest_producer_id_block',
	'/log_dir_event_notification',
	'/config/topics',
	'/config/clients',
	'/config/users',
	'/config/brokers',
	'/config/ips',
]

/** `{"version":"1","id":"<22 characters>"}`; the version is text. */
export const clusterIdZnode = {
	path: '/cluster/id',
	encode: (id: string): Buffer => json({ version: '1', id }),
	decode: (data: Buffer | null): string => parse('cluster id', data, (root) => text(root['id'])),
}

export interface BrokerEndpoint {
	readonly listener: string
	readonly securityProtocol: string
	readonly host: string
	readonly port: number
}

export interface BrokerInfo {
	readonly endpoints: readonly BrokerEndpoint[]
	readonly rack: string | null
	readonly jmxPort: number
	readonly timestamp: number
	readonly features: ReadonlyMap<string, { readonly min: number; readonly max: number }>
}

function endpointText(endpoint: BrokerEndpoint): string {
	const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host
	return `${endpoint.listener}://${host}:${endpoint.port}`
}

function parseEndpoint(value: unknown, protocols: Json): BrokerEndpoint {
	const parts = /^(.*):\/\/\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)$/.exec(text(value))
	if (parts === null) throw new TypeError('not an endpoint')
	const listener = parts[1] as string
	const securityProtocol = optional(protocols[listener], text, listener)
	return { listener, securityProtocol, host: parts[2] as string, port: integer(parts[3]) }
}

/**
 * A registered broker, ephemeral. Versions: 1 host and port (listener PLAINTEXT); 2 endpoints whose listener is the
 * protocol; 3 rack; 4 protocol map; 5 features. `host` and `port` repeat the first PLAINTEXT endpoint, else null and -1.
 */
export const brokerZnode = {
	root: '/brokers/ids',
	path: (id: number): string => `/brokers/ids/${id}`,
	encode: (info: BrokerInfo): Buffer => {
		const plain = info.endpoints.find((endpoint) => endpoint.securityProtocol === 'PLAINTEXT')
		const features = [...info.features].map(([name, { min, max }]) => [name, { min_version: min, max_version: max }])
		return json({
			features: Object.fromEntries(features),
			listener_security_protocol_map: Object.fromEntries(
				info.endpoints.map((endpoint) => [endpoint.listener, endpoint.securityProtocol]),
			),
			endpoints: info.endpoints.map(endpointText),
			...(info.rack === null ? {} : { rack: info.rack }),
			jmx_port: info.jmxPort,
			port: plain?.port ?? -1,
			host: plain?.host ?? null,
			version: 5,
			timestamp: String(info.timestamp),
		})
	},
	decode: (data: Buffer | null): BrokerInfo =>
		parse('broker', data, (root) => {
			const version = integer(root['version'])
			if (version < 1) throw new TypeError('unknown version')
			const protocols = optional(root['listener_security_protocol_map'], object, {})
			const endpoints =
				version === 1
					? [
							{
								listener: 'PLAINTEXT',
								securityProtocol: 'PLAINTEXT',
								host: text(root['host']),
								port: integer(root['port']),
							},
						]
					: list(root['endpoints']).map((endpoint) => parseEndpoint(endpoint, protocols))
			const features = Object.entries(optional(root['features'], object, {})).map(([name, range]) => {
				const { min_version: min, max_version: max } = object(range)
				return [name, { min: integer(min), max: integer(max) }] as const
			})
			return {
				endpoints,
				rack: optional(root['rack'], text, null),
				jmxPort: optional(root['jmx_port'], integer, -1),
				timestamp: optional(root['timestamp'], integer, -1),
				features: new Map(features),
			}
		}),
}

/** Only its data version counts: broker ids are generated from it. */
export const brokerSequenceZnode = { path: '/brokers/seqid' }

export interface ControllerInfo {
	readonly brokerId: number
	readonly timestamp: number
}

/** Who is controller, ephemeral. Version 1 lacks `kraftControllerEpoch` (-1: ZooKeeper mode). */
export const controllerZnode = {
	path: '/controller',
	encode: ({ brokerId, timestamp }: ControllerInfo): Buffer =>
		json({ version: 2, brokerid: brokerId, timestamp: String(timestamp), kraftControllerEpoch: -1 }),
	decode: (data: Buffer | null): ControllerInfo =>
		parse('controller', data, (root) => ({
			brokerId: integer(root['brokerid']),
			timestamp: optional(root['timestamp'], integer, -1),
		})),
}

/** Decimal text. Its data version fences every controller write. */
export const controllerEpochZnode = {
	path: '/controller_epoch',
	encode: (epoch: number): Buffer => Buffer.from(String(epoch)),
	decode: (data: Buffer | null): number => decimal('controller epoch', data),
}

export interface TopicInfo {
	/** Null in versions 1 and 2: the controller gives one. */
	readonly topicId: TopicId | null
	readonly partitions: ReadonlyMap<number, readonly number[]>
	/** Only partitions under reassignment. */
	readonly adding: ReadonlyMap<number, readonly number[]>
	readonly removing: ReadonlyMap<number, readonly number[]>
}

/** Assignment of a topic. Versions: 1 partitions; 2 adding and removing replicas; 3 topic id. */
export const topicZnode = {
	root: '/brokers/topics',
	path: (topic: string): string => `/brokers/topics/${topic}`,
	partitionsPath: (topic: string): string => `/brokers/topics/${topic}/partitions`,
	partitionPath: (topic: string, partition: number): string => `/brokers/topics/${topic}/partitions/${partition}`,
	encode: (info: TopicInfo): Buffer =>
		json({
			partitions: Object.fromEntries(info.partitions),
			...(info.topicId === null ? {} : { topic_id: info.topicId }),
			adding_replicas: Object.fromEntries(info.adding),
			removing_replicas: Object.fromEntries(info.removing),
			version: info.topicId === null ? 2 : 3,
		}),
	decode: (data: Buffer | null): TopicInfo =>
		parse('topic', data, (root) => ({
			topicId: optional(root['topic_id'], text, null) as TopicId | null,
			partitions: partitionLists(root['partitions']),
			adding: optional(root['adding_replicas'], partitionLists, new Map()),
			removing: optional(root['removing_replicas'], partitionLists, new Map()),
		})),
}

export interface PartitionState {
	/** -1: none. */
	readonly leader: number
	readonly leaderEpoch: number
	readonly controllerEpoch: number
	readonly isr: readonly number[]
	/** 0 recovered (left out of the znode), 1 recovering from an unclean election. */
	readonly leaderRecoveryState: number
}

/** Leader and ISR of a partition. The znode's data version is the partition epoch. */
export const partitionStateZnode = {
	path: (topic: string, partition: number): string => `/brokers/topics/${topic}/partitions/${partition}/state`,
	encode: (state: PartitionState): Buffer =>
		json({
			controller_epoch: state.controllerEpoch,
			leader: state.leader,
			version: 1,
			...(state.leaderRecoveryState === 0 ? {} : { leader_recovery_state: state.leaderRecoveryState }),
			leader_epoch: state.leaderEpoch,
			isr: state.isr,
		}),
	decode: (data: Buffer | null): PartitionState =>
		parse('partition state', data, (root) => ({
			leader: integer(root['leader']),
			leaderEpoch: integer(root['leader_epoch']),
			controllerEpoch: integer(root['controller_epoch']),
			isr: integers(root['isr']),
			leaderRecoveryState: optional(root['leader_recovery_state'], integer, 0),
		})),
}

export type ConfigEntityType = 'topics' | 'brokers' | 'users' | 'clients' | 'ips'

/** Dynamic configs of an entity. Values are text. Null or empty data is no config. */
export const configZnode = {
	root: (type: ConfigEntityType): string => `/config/${type}`,
	/** `entityPath` as change notifications name it: `topics/T`, `users/U/clients/C`, `brokers/<default>`. */
	path: (entityPath: string): string => `/config/${entityPath}`,
	/** Entity path of a topic or broker as it is named, or of a user, client or ip (sanitized here). Null is the default. */
	entityPath: (type: ConfigEntityType, name: string | null): string => `${type}/${configEntityName(type, name)}`,
	userClientPath: (user: string | null, client: string | null): string =>
		`users/${configEntityName('users', user)}/clients/${configEntityName('clients', client)}`,
	encode: (config: ReadonlyMap<string, string>): Buffer => json({ version: 1, config: Object.fromEntries(config) }),
	decode: (data: Buffer | null): Map<string, string> => {
		if (data === null || data.length === 0) return new Map()
		return parse('config', data, (root) => {
			if (integer(root['version']) !== 1) throw new TypeError('unknown version')
			return new Map(Object.entries(object(root['config'])).map(([key, value]) => [key, text(value)]))
		})
	},
}

function configEntityName(type: ConfigEntityType, name: string | null): string {
	if (name === null) return DEFAULT_ENTITY
	return type === 'users' || type === 'clients' ? sanitize(name) : name
}

/** Tells every broker which entity to read again. Version 1 names type and name, 2 the entity path. */
export const configChangeZnode = {
	root: '/config/changes',
	prefix: '/config/changes/config_change_',
	encode: (entityPath: string): Buffer => json({ version: 2, entity_path: entityPath }),
	/** The entity path, whichever version. */
	decode: (data: Buffer | null): string =>
		parse('config change', data, (root) =>
			integer(root['version']) === 1
				? `${text(root['entity_type'])}/${text(root['entity_name'])}`
				: text(root['entity_path']),
		),
}

export interface ProducerIdBlock {
	readonly brokerId: number
	readonly first: bigint
	/** Inclusive. */
	readonly last: bigint
}

/** The block of producer ids given out last; no data before the first. */
export const producerIdBlockZnode = {
	path: '/latest_producer_id_block',
	encode: ({ brokerId, first, last }: ProducerIdBlock): Buffer =>
		json({ version: 1, broker: brokerId, block_start: String(first), block_end: String(last) }),
	/** Null when no block was ever given out. */
	decode: (data: Buffer | null): ProducerIdBlock | null => {
		if (data === null || data.length === 0) return null
		return parse('producer id block', data, (root) => ({
			brokerId: integer(root['broker']),
			first: BigInt(text(root['block_start'])),
			last: BigInt(text(root['block_end'])),
		}))
	},
}

export interface FeatureInfo {
	readonly enabled: boolean
	/** Finalized level by feature; empty in ZooKeeper mode. */
	readonly features: ReadonlyMap<string, number>
}

/** Finalized features; the data version is their epoch. Version 1 has a `min_version_level` beside each level. */
export const featureZnode = {
	path: '/feature',
	encode: ({ enabled, features }: FeatureInfo): Buffer =>
		json({
			features: Object.fromEntries([...features].map(([name, level]) => [name, { max_version_level: level }])),
			version: 2,
			status: enabled ? 1 : 0,
		}),
	decode: (data: Buffer | null): FeatureInfo =>
		parse('feature', data, (root) => ({
			enabled: integer(root['status']) === 1,
			features: new Map(
				Object.entries(optional(root['features'], object, {})).map(([name, range]) => [
					name,
					integer(object(range)['max_version_level']),
				]),
			),
		})),
}
