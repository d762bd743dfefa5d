/**
 * Typed calls for operating a cluster, each retried and sent where it belongs: topics to the controller, configs of a
 * broker to that broker, offsets to leaders. Results carry a code an item; only what concerns the whole call rejects.
 */

import { ZERO_TOPIC_ID } from '../base/ids.js'
import { ERROR } from '../protocol/errors.js'
import { describeConfigs, incrementalAlterConfigs } from '../protocol/messages/configs.js'
import { listOffsets } from '../protocol/messages/offsets.js'
import { describeLogDirs } from '../protocol/messages/reassignment.js'
import { createPartitions, createTopics, deleteRecords, deleteTopics } from '../protocol/messages/topics.js'
import type { Decoded, Family } from '../protocol/schema.js'
import type { Cluster } from './cluster.js'
import { BrokerError, UnsupportedError } from './errors.js'

/** Outcome for one item: `errorCode` 0 is success. */
export interface ItemResult {
	readonly name: string
	readonly errorCode: number
	readonly message: string | null
}

export interface NewTopic {
	readonly name: string
	/** -1: the broker's default. */
	readonly partitions: number
	readonly replicationFactor: number
	/** Replicas by partition, instead of counts. */
	readonly assignments: ReadonlyMap<number, readonly number[]> | null
	readonly configs: ReadonlyMap<string, string>
}

/** How long the controller may take over a topic change. */
const TOPIC_TIMEOUT_MS = 15_000

export class Admin {
	readonly cluster: Cluster

	constructor(cluster: Cluster) {
		this.cluster = cluster
	}

	/** Creates topics and waits until they have leaders. */
	createTopics(topics: readonly NewTopic[], validateOnly: boolean): Promise<ItemResult[]> {
		return this.cluster.onController('CreateTopics', async (connection) => {
			const version = connection.versionOf(createTopics as unknown as Family)
			const needsDefaults = topics.some((topic) => topic.partitions === -1 || topic.replicationFactor === -1)
			const hasAssignments = topics.every((topic) => topic.assignments !== null)
			if (version < 4 && needsDefaults && !hasAssignments) {
				throw new UnsupportedError('this broker has no defaults for counts: give -p and -r')
			}
			const answer = await connection.request(
				createTopics,
				{
					topics: topics.map((topic) => ({
						name: topic.name,
						numPartitions: topic.assignments === null ? topic.partitions : -1,
						replicationFactor: topic.assignments === null ? topic.replicationFactor : -1,
						assignments: [...(topic.assignments ?? [])].map(([partitionIndex, brokerIds]) => ({
							partitionIndex,
							brokerIds: [...brokerIds],
						})),
						configs: [...topic.configs].map(([name, value]) => ({ name, value })),
					})),
					timeoutMs: TOPIC_TIMEOUT_MS,
					...(version >= 1 ? { validateOnly } : {}),
				},
				{ waitMs: TOPIC_TIMEOUT_MS },
			)
			return answer.topics.map(({ name, errorCode, errorMessage }) => {
				if (errorCode === ERROR.NOT_CONTROLLER) throw new BrokerError(errorCode, 'CreateTopics')
				return { name, errorCode, message: errorMessage }
			})
		})
	}

	deleteTopics(names: readonly string[]): Promise<ItemResult[]> {
		return this.cluster.onController('DeleteTopics', async (connection) => {
			const version = connection.versionOf(deleteTopics as unknown as Family)
			const answer = await connection.request(
				deleteTopics,
				{
					...(version >= 6
						? { topics: names.map((name) => ({ name, topicId: ZERO_TOPIC_ID })) }
						: { topicNames: [...names] }),
					timeoutMs: TOPIC_TIMEOUT_MS,
				},
				{ waitMs: TOPIC_TIMEOUT_MS },
			)
			return answer.responses.map(({ name, errorCode, errorMessage }) => {
				if (errorCode === ERROR.NOT_CONTROLLER) throw new BrokerError(errorCode, 'DeleteTopics')
				return { name: name ?? '', errorCode, message: errorMessage }
			})
		})
	}

	/** Grows topics to the given total counts. */
	createPartitions(counts: ReadonlyMap<string, number>, validateOnly: boolean): Promise<ItemResult[]> {
		return this.cluster.onController('CreatePartitions', async (connection) => {
			const answer = await connection.request(
				createPartitions,
				{
					topics: [...counts].map(([name, count]) => ({ name, count, assignments: null })),
					timeoutMs: TOPIC_TIMEOUT_MS,
					validateOnly,
				},
				{ waitMs: TOPIC_TIMEOUT_MS },
			)
			return answer.results.map(({ name, errorCode, errorMessage }) => {
				if (errorCode === ERROR.NOT_CONTROLLER) throw new BrokerError(errorCode, 'CreatePartitions')
				return { name, errorCode, message: errorMessage }
			})
		})
	}

	/** Configs of resources; a broker's are asked of that broker. Type 2 topic, 4 broker ('' the cluster's default). */
	async describeConfigs(
		resources: readonly { readonly type: number; readonly name: string; readonly keys: readonly string[] | null }[],
		withDocs = false,
	): Promise<DescribedResource[]> {
		const ask = async (brokerId: number | null, asked: typeof resources): Promise<DescribedResource[]> => {
			const message = {
				resources: asked.map(({ type, name, keys }) => ({
					resourceType: type,
					resourceName: name,
					configurationKeys: keys === null ? null : [...keys],
				})),
			}
			return await this.cluster.retry('DescribeConfigs', async () => {
				const connection = brokerId === null ? await this.cluster.any() : await this.cluster.broker(brokerId)
				const version = connection.versionOf(describeConfigs as unknown as Family)
				const answer = await connection.request(describeConfigs, {
					...message,
					...(version >= 1 ? { includeSynonyms: true } : {}),
					...(version >= 3 ? { includeDocumentation: withDocs } : {}),
				})
				return answer.results
			})
		}
		const shared = resources.filter(({ type, name }) => type !== BROKER || name === '')
		const results = shared.length === 0 ? [] : await ask(null, shared)
		for (const resource of resources) {
			if (resource.type === BROKER && resource.name !== '')
				results.push(...(await ask(Number(resource.name), [resource])))
		}
		return results
	}

	/** Sets (value) and unsets (null) keys of one resource, others untouched (KIP-339). */
	async alterConfigs(
		type: number,
		name: string,
		changes: readonly { readonly key: string; readonly operation: 0 | 1 | 2 | 3; readonly value: string | null }[],
		validateOnly: boolean,
	): Promise<ItemResult> {
		return await this.cluster.retry('IncrementalAlterConfigs', async () => {
			const isBroker = type === BROKER && name !== ''
			const connection = isBroker ? await this.cluster.broker(Number(name)) : await this.cluster.controller()
			const answer = await connection.request(incrementalAlterConfigs, {
				resources: [
					{
						resourceType: type,
						resourceName: name,
						configs: changes.map(({ key, operation, value }) => ({ name: key, configOperation: operation, value })),
					},
				],
				validateOnly,
			})
			const result = answer.responses[0]
			const errorCode = result?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
			if (errorCode === ERROR.NOT_CONTROLLER) throw new BrokerError(errorCode, 'IncrementalAlterConfigs')
			return { name, errorCode, message: result?.errorMessage ?? null }
		})
	}

	/**
	 * Offsets by timestamp for partitions (-1 latest, -2 earliest, -3 of the largest timestamp, else by time); asked of the
	 * leaders, each partition with its own result.
	 */
	async listOffsets(
		wanted: readonly { readonly topic: string; readonly partition: number; readonly timestamp: number }[],
		isolationLevel: 0 | 1 = 0,
	): Promise<ListedOffset[]> {
		const done = new Map<string, ListedOffset>()
		await this.cluster.retry('ListOffsets', async () => {
			const open = wanted.filter(({ topic, partition }) => !done.has(`${topic}-${partition}`))
			const missing = new Set(
				open
					.filter(({ topic, partition }) => this.cluster.leaderOf(topic, partition) === undefined)
					.map(({ topic }) => topic),
			)
			if (missing.size > 0) await this.cluster.refresh([...missing])
			const byLeader = new Map<number, typeof open>()
			let failure: BrokerError | null = null
			for (const each of open) {
				const leader = this.cluster.leaderOf(each.topic, each.partition)?.leader
				if (leader === undefined)
					failure = new BrokerError(ERROR.LEADER_NOT_AVAILABLE, `ListOffsets ${each.topic}-${each.partition}`)
				else byLeader.set(leader, [...(byLeader.get(leader) ?? []), each])
			}
			for (const [leader, theirs] of byLeader) {
				for (const result of await this.#listOffsetsOf(leader, theirs, isolationLevel)) {
					const error =
						result.errorCode === ERROR.NONE
							? null
							: new BrokerError(result.errorCode, `ListOffsets ${result.topic}-${result.partition}`)
					if (error?.retriable === true) {
						failure = error
						await this.cluster.refresh([result.topic])
					} else done.set(`${result.topic}-${result.partition}`, result)
				}
			}
			if (failure !== null) throw failure
		})
		return wanted.map(({ topic, partition }) => done.get(`${topic}-${partition}`) as ListedOffset)
	}

	async #listOffsetsOf(
		leader: number,
		wanted: readonly { readonly topic: string; readonly partition: number; readonly timestamp: number }[],
		isolationLevel: 0 | 1,
	): Promise<ListedOffset[]> {
		const topics = new Map<string, { partitionIndex: number; timestamp: number }[]>()
		for (const { topic, partition, timestamp } of wanted) {
			topics.set(topic, [...(topics.get(topic) ?? []), { partitionIndex: partition, timestamp }])
		}
		const connection = await this.cluster.broker(leader)
		const version = connection.versionOf(listOffsets as unknown as Family)
		const answer = await connection.request(listOffsets, {
			replicaId: -1,
			...(version >= 2 ? { isolationLevel } : {}),
			topics: [...topics].map(([name, partitions]) => ({ name, partitions })),
		})
		return answer.topics.flatMap(({ name, partitions }) =>
			partitions.map(({ partitionIndex, errorCode, offset, timestamp, oldStyleOffsets }) => ({
				topic: name,
				partition: partitionIndex,
				errorCode,
				offset: version === 0 ? (oldStyleOffsets[0] ?? -1) : offset,
				timestamp,
			})),
		)
	}

	/** Deletes records below the given offsets (-1: all); the new low watermarks. */
	async deleteRecords(
		targets: readonly { readonly topic: string; readonly partition: number; readonly offset: number }[],
	): Promise<{ topic: string; partition: number; errorCode: number; lowWatermark: number }[]> {
		const results: { topic: string; partition: number; errorCode: number; lowWatermark: number }[] = []
		for (const { topic, partition, offset } of targets) {
			results.push(
				await this.cluster.retry('DeleteRecords', async () => {
					if (this.cluster.leaderOf(topic, partition) === undefined) await this.cluster.refresh([topic])
					const leader = this.cluster.leaderOf(topic, partition)
					if (leader === undefined)
						throw new BrokerError(ERROR.LEADER_NOT_AVAILABLE, `DeleteRecords ${topic}-${partition}`)
					const answer = await this.cluster.ask(
						leader.leader,
						deleteRecords,
						{
							topics: [{ name: topic, partitions: [{ partitionIndex: partition, offset }] }],
							timeoutMs: TOPIC_TIMEOUT_MS,
						},
						TOPIC_TIMEOUT_MS,
					)
					const result = answer.topics[0]?.partitions[0]
					const errorCode = result?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
					const error = new BrokerError(errorCode, `DeleteRecords ${topic}-${partition}`)
					if (errorCode !== ERROR.NONE && error.retriable) {
						await this.cluster.refresh([topic])
						throw error
					}
					return { topic, partition, errorCode, lowWatermark: result?.lowWatermark ?? -1 }
				}),
			)
		}
		return results
	}

	/** Data folders of each broker with the sizes of their partitions. */
	async describeLogDirs(): Promise<{ broker: number; dirs: LogDir[] }[]> {
		if (this.cluster.nodes.length === 0) await this.cluster.refresh([])
		return await Promise.all(
			this.cluster.nodes.map(async ({ id }) => {
				const answer = await this.cluster.ask(id, describeLogDirs, { topics: null })
				return { broker: id, dirs: answer.results }
			}),
		)
	}
}

const BROKER = 4

export type DescribedResource = Decoded<typeof describeConfigs.response>['results'][number]
export type LogDir = Decoded<typeof describeLogDirs.response>['results'][number]

export interface ListedOffset {
	readonly topic: string
	readonly partition: number
	readonly errorCode: number
	/** -1: none. */
	readonly offset: number
	readonly timestamp: number
}
