/**
 * Creating, growing and deleting topics by writing znodes (semantics 16): all checks, then the writes. Used by the
 * handlers, by auto-creation, and for the internal topics. The controller acts on what is written.
 */

import { newTopicId, type TopicId } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import type { Logger } from '../../runtime/logger.js'
import type { Random } from '../../runtime/ports.js'
import { isZkError, type ZkSession } from '../../zk/port.js'
import { readConfig, storeConfig, writeConfig } from '../../zk/recipes-config.js'
import { configZnode, topicZnode } from '../../zk/znodes.js'
import { deleteTopicZnode } from '../../zk/znodes-admin.js'
import { type BrokerConfig, type Overrides, topicKeyOf } from '../config.js'
import { problemOf } from '../config-key.js'
import { placeReplicas } from '../controller/placement.js'
import type { MetadataCache } from '../metadata/cache.js'
import type { ConfigStore } from '../metadata/config-store.js'

/** Why an admin request was refused, as it goes on the wire. */
export class AdminError extends Error {
	override readonly name = 'AdminError'
	constructor(
		readonly code: number,
		message: string,
	) {
		super(message)
	}
}

export interface TopicRequest {
	readonly name: string
	/** -1: the broker's default. */
	readonly partitions: number
	readonly replicationFactor: number
	/** Replicas by partition; empty: placed by us. */
	readonly assignments: ReadonlyMap<number, readonly number[]>
	readonly configs: readonly { readonly name: string; readonly value: string | null }[]
}

export interface CreatedTopic {
	readonly topicId: TopicId
	readonly partitions: number
	readonly replicationFactor: number
	readonly configs: Overrides
}

const LEGAL_NAME = /^[a-zA-Z0-9._-]{1,249}$/

/** What is wrong with a topic's name, or null (semantics 16.1). */
export function topicNameProblem(name: string): string | null {
	if (name === '') return 'a topic name cannot be empty'
	if (name === '.' || name === '..') return `a topic cannot be named '${name}'`
	if (name.length > 249) return `a topic name has at most 249 characters, this one has ${name.length}`
	if (!LEGAL_NAME.test(name)) return `topic name '${name}' has characters other than letters, digits, '.', '_' and '-'`
	return null
}

export interface TopicAdminParts {
	readonly session: ZkSession
	readonly random: Random
	readonly log: Logger
	readonly config: BrokerConfig
	readonly metadata: MetadataCache
	readonly configs: ConfigStore
}

export class TopicAdmin {
	readonly #parts: TopicAdminParts

	constructor(parts: TopicAdminParts) {
		this.#parts = parts
	}

	/** Checks and, unless `validateOnly`, writes. Throws {@link AdminError}. */
	async create(request: TopicRequest, validateOnly: boolean): Promise<CreatedTopic> {
		const { session, random, configs, log } = this.#parts
		this.#checkName(request.name)
		if ((await session.exists(deleteTopicZnode.path(request.name))) !== null) {
			throw new AdminError(ERROR.TOPIC_ALREADY_EXISTS, `Topic '${request.name}' is being deleted.`)
		}
		if ((await session.exists(topicZnode.path(request.name))) !== null) {
			throw new AdminError(ERROR.TOPIC_ALREADY_EXISTS, `Topic '${request.name}' already exists.`)
		}
		await this.#checkCollision(request.name)
		const assignment = this.#assign(request)
		const overrides = checkedTopicConfigs(request.configs, this.#parts.config)
		const topicId = newTopicId((count) => random.bytes(count))
		const replicationFactor = assignment.get(0)?.length ?? 0
		const created = { topicId, partitions: assignment.size, replicationFactor, configs: overrides }
		if (validateOnly) return created
		if (overrides.size > 0) configs.remember(request.name, overrides)
		await storeConfig(session, configZnode.entityPath('topics', request.name), overrides)
		const data = topicZnode.encode({ topicId, partitions: assignment, adding: new Map(), removing: new Map() })
		try {
			await session.create(topicZnode.path(request.name), data, { parents: true })
		} catch (error) {
			if (!isZkError(error, 'NODE_EXISTS')) throw error
			throw new AdminError(ERROR.TOPIC_ALREADY_EXISTS, `Topic '${request.name}' already exists.`)
		}
		log.info('topic created', { topic: request.name, partitions: assignment.size, replicas: replicationFactor })
		return created
	}

	#checkName(name: string): void {
		const problem = topicNameProblem(name)
		if (problem !== null) throw new AdminError(ERROR.INVALID_TOPIC_EXCEPTION, problem)
		if (name === '__cluster_metadata') throw new AdminError(ERROR.INVALID_REQUEST, `'${name}' is reserved`)
	}

	/** Names that differ only in `.` and `_` would share metric names (Kafka's rule). */
	async #checkCollision(name: string): Promise<void> {
		if (!name.includes('.') && !name.includes('_')) return
		const normal = name.replaceAll('.', '_')
		const topics = await this.#parts.session.children(topicZnode.root)
		const twin = (topics?.names ?? []).find((other) => other.replaceAll('.', '_') === normal)
		if (twin === undefined) return
		throw new AdminError(ERROR.INVALID_TOPIC_EXCEPTION, `Topic '${name}' collides with existing topic '${twin}'.`)
	}

	#assign(request: TopicRequest): Map<number, readonly number[]> {
		const { config, metadata, random } = this.#parts
		const brokers = [...metadata.image.brokers.values()].map(({ id, rack }) => ({ id, rack }))
		if (request.assignments.size > 0) {
			if (request.partitions !== -1 || request.replicationFactor !== -1) {
				throw new AdminError(ERROR.INVALID_REQUEST, 'Counts and an assignment cannot both be given.')
			}
			return checkedAssignment(request.assignments, new Set(brokers.map(({ id }) => id)), 0)
		}
		const partitions = request.partitions === -1 ? config.number('num.partitions') : request.partitions
		const wanted = request.replicationFactor
		const replicationFactor = wanted === -1 ? config.number('default.replication.factor') : wanted
		checkCount(partitions)
		if (partitions < 1) throw new AdminError(ERROR.INVALID_PARTITIONS, 'Number of partitions must be at least 1.')
		if (replicationFactor < 1) {
			throw new AdminError(ERROR.INVALID_REPLICATION_FACTOR, 'Replication factor must be at least 1.')
		}
		if (replicationFactor > brokers.length) {
			throw new AdminError(
				ERROR.INVALID_REPLICATION_FACTOR,
				`Replication factor ${replicationFactor} is larger than the number of live brokers, ${brokers.length}.`,
			)
		}
		return placeReplicas({
			brokers,
			partitions,
			replicationFactor,
			startIndex: Math.floor(random.next() * brokers.length),
			startShift: Math.floor(random.next() * brokers.length),
		})
	}

	/** Adds partitions up to `count`. Throws {@link AdminError}. */
	async grow(
		topic: string,
		count: number,
		assignments: readonly (readonly number[])[] | null,
		validateOnly: boolean,
	): Promise<void> {
		const { session, metadata, random, log } = this.#parts
		checkKnowable(topic)
		const node = await session.get(topicZnode.path(topic))
		if (node === null) throw new AdminError(ERROR.UNKNOWN_TOPIC_OR_PARTITION, `There is no topic '${topic}'.`)
		if ((await session.exists(deleteTopicZnode.path(topic))) !== null) {
			throw new AdminError(ERROR.INVALID_TOPIC_EXCEPTION, `Topic '${topic}' is being deleted.`)
		}
		const info = topicZnode.decode(node.data)
		const present = info.partitions.size
		if (info.adding.size > 0 || info.removing.size > 0) {
			throw new AdminError(ERROR.REASSIGNMENT_IN_PROGRESS, `Topic '${topic}' is being reassigned.`)
		}
		if (count <= present) {
			const problem = count === present ? 'already has' : 'has more than that:'
			throw new AdminError(ERROR.INVALID_PARTITIONS, `Topic '${topic}' ${problem} ${present} partitions.`)
		}
		checkCount(count)
		const brokers = [...metadata.image.brokers.values()].map(({ id, rack }) => ({ id, rack }))
		const first = info.partitions.get(0) ?? []
		let added: Map<number, readonly number[]>
		if (assignments === null) {
			const ids = brokers.map(({ id }) => id).sort((a, b) => a - b)
			const start = Math.max(
				0,
				ids.findIndex((id) => id >= (first[0] ?? 0)),
			)
			added = placeReplicas({
				brokers,
				partitions: count - present,
				replicationFactor: Math.min(first.length, brokers.length),
				firstPartition: present,
				startIndex: start,
				startShift: Math.floor(random.next() * brokers.length),
			})
		} else {
			if (assignments.length !== count - present) {
				const text = `${count - present} partitions are added, ${assignments.length} assignments are given.`
				throw new AdminError(ERROR.INVALID_REPLICA_ASSIGNMENT, text)
			}
			const given = new Map(assignments.map((replicas, i) => [present + i, replicas]))
			added = checkedAssignment(given, new Set(brokers.map(({ id }) => id)), present, first.length)
		}
		if (validateOnly) return
		const data = topicZnode.encode({ ...info, partitions: new Map([...info.partitions, ...added]) })
		await session.set(topicZnode.path(topic), data, node.stat.version)
		log.info('topic grown', { topic, from: present, to: count })
	}

	/** Asks the controller to delete a topic. Throws {@link AdminError} when there is none. */
	async delete(topic: string): Promise<void> {
		const { session, log } = this.#parts
		checkKnowable(topic)
		if ((await session.exists(topicZnode.path(topic))) === null) {
			throw new AdminError(ERROR.UNKNOWN_TOPIC_OR_PARTITION, `There is no topic '${topic}'.`)
		}
		try {
			await session.create(deleteTopicZnode.path(topic), null, { parents: true })
		} catch (error) {
			// Asked for before: both wait for the same end.
			if (!isZkError(error, 'NODE_EXISTS')) throw error
		}
		log.info('topic deletion asked for', { topic })
	}

	/** Replaces a topic's own settings and tells every broker. */
	async setConfigs(topic: string, overrides: Overrides): Promise<void> {
		await writeConfig(this.#parts.session, configZnode.entityPath('topics', topic), overrides)
	}

	readConfigs(topic: string): Promise<Map<string, string>> {
		return readConfig(this.#parts.session, configZnode.entityPath('topics', topic))
	}
}

/** More would not fit in the topic's znode, and placing them would hold up all else. */
const PARTITIONS_MAX = 100_000

function checkCount(partitions: number): void {
	if (partitions <= PARTITIONS_MAX) return
	throw new AdminError(ERROR.INVALID_PARTITIONS, `A topic has ${PARTITIONS_MAX} partitions at most, not ${partitions}.`)
}

/** A name that no topic can have must not become a path: `a/partitions` is a node of topic `a`. Throws {@link AdminError} 3. */
function checkKnowable(topic: string): void {
	if (topicNameProblem(topic) === null) return
	throw new AdminError(ERROR.UNKNOWN_TOPIC_OR_PARTITION, `There is no topic '${topic}'.`)
}

/** Holds an assignment against the rules (semantics 16.3, 16.11); throws {@link AdminError} 39. */
function checkedAssignment(
	assignments: ReadonlyMap<number, readonly number[]>,
	live: ReadonlySet<number>,
	first: number,
	replicas = assignments.values().next().value?.length ?? 0,
): Map<number, readonly number[]> {
	const refuse = (text: string): never => {
		throw new AdminError(ERROR.INVALID_REPLICA_ASSIGNMENT, text)
	}
	for (let partition = first; partition < first + assignments.size; partition++) {
		const ids = assignments.get(partition)
		if (ids === undefined) return refuse(`Partitions must be numbered from ${first} without gaps.`)
		if (ids.length === 0) refuse(`Partition ${partition} has no replicas.`)
		if (ids.length !== replicas) refuse('All partitions must have the same number of replicas.')
		if (new Set(ids).size !== ids.length) refuse(`Partition ${partition} names a broker twice.`)
		const unknown = ids.find((id) => !live.has(id))
		if (unknown !== undefined) refuse(`Partition ${partition} names broker ${unknown}, which does not live.`)
	}
	return new Map(assignments)
}

/** Checks topic settings one by one; throws {@link AdminError} 40 at the first that cannot be. */
export function checkedTopicConfigs(
	given: readonly { readonly name: string; readonly value: string | null }[],
	config: BrokerConfig,
): Map<string, string> {
	const checked = new Map<string, string>()
	for (const { name, value } of given) {
		const key = topicKeyOf(name)
		if (key === undefined) throw new AdminError(ERROR.INVALID_CONFIG, `Unknown topic config name: ${name}`)
		if (value === null) throw new AdminError(ERROR.INVALID_CONFIG, `Null value not supported for topic config ${name}.`)
		const problem = problemOf(key, value)
		if (problem !== null) {
			throw new AdminError(ERROR.INVALID_CONFIG, `Invalid value ${value} for configuration ${name}: ${problem}`)
		}
		if (/^remote\./.test(name) && value.trim().toLowerCase() === 'true') {
			throw new AdminError(ERROR.INVALID_CONFIG, `${name} cannot be turned on: tiered storage is not available.`)
		}
		checked.set(name, value)
	}
	const lags = ['min.compaction.lag.ms', 'max.compaction.lag.ms'] as const
	if (lags.some((name) => checked.has(name))) {
		const [least, most] = lags.map((name) => config.topicNumber(name, checked)) as [number, number]
		if (least > most) throw new AdminError(ERROR.INVALID_CONFIG, `${lags[0]} (${least}) is above ${lags[1]} (${most}).`)
	}
	return checked
}
