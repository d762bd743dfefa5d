/**
 * CreateTopics (key 19, versions 0–7), DeleteTopics (20, 0–6), CreatePartitions (37, 0–3); semantics 16. Only the
 * controller answers them. CreateTopics: 1 validateOnly, 4 broker defaults by -1 (KIP-464), 5 configs in the answer
 * (KIP-525), 7 topic id (KIP-516). DeleteTopics: 6 by id. Each waits until this broker's metadata shows the change.
 */

import { ZERO_TOPIC_ID } from '../../base/ids.js'
import { repeated } from '../../base/repeated.js'
import { ERROR } from '../../protocol/errors.js'
import { createPartitions, createTopics, deleteTopics } from '../../protocol/messages/topics.js'
import type { Decoded, ResponseInput } from '../../protocol/schema.js'
import type { Clock } from '../../runtime/ports.js'
import type { ZkSession } from '../../zk/port.js'
import { waitForRemoval } from '../../zk/recipes.js'
import { deleteTopicZnode } from '../../zk/znodes-admin.js'
import type { BrokerConfig, Overrides } from '../config.js'
import { TOPIC_KEYS } from '../config-topic-keys.js'
import type { MetadataCache, MetadataImage } from '../metadata/cache.js'
import { type Handler, handler } from './dispatch.js'
import { AdminError, type CreatedTopic, type TopicAdmin } from './topic-admin.js'

export interface TopicParts {
	readonly admin: TopicAdmin
	readonly config: BrokerConfig
	readonly metadata: MetadataCache
	readonly clock: Clock
	readonly session: ZkSession
	readonly isController: () => boolean
}

type CreateRequest = Decoded<typeof createTopics.request>['topics'][number]
type CreateAnswer = ResponseInput<typeof createTopics>['topics'][number]

/** Settles with true once `holds` is true of the metadata, with false at the deadline. */
export function awaitMetadata(
	metadata: MetadataCache,
	clock: Clock,
	timeoutMs: number,
	holds: (image: MetadataImage) => boolean,
): Promise<boolean> {
	if (holds(metadata.image)) return Promise.resolve(true)
	if (timeoutMs <= 0) return Promise.resolve(false)
	return new Promise((resolve) => {
		const timer = clock.after(timeoutMs, () => {
			stop()
			resolve(false)
		})
		const stop = metadata.onChange((image) => {
			if (!holds(image)) return
			stop()
			timer.cancel()
			resolve(true)
		})
	})
}

export function hasLeaders(image: MetadataImage, topic: string, count: number): boolean {
	const view = image.topics.get(topic)
	if (view === undefined || view.partitions.size < count) return false
	return [...view.partitions.values()].every(({ leader }) => leader >= 0)
}

/** The code and text of a failed admin step; anything but {@link AdminError} is thrown on. */
function refusal(error: unknown): { errorCode: number; errorMessage: string } {
	if (!(error instanceof AdminError)) throw error
	return { errorCode: error.code, errorMessage: error.message }
}

/** Names that differ only in `.` and `_` share the names of their metrics (semantics 16.1). */
function metricName(topic: string): string {
	return topic.replaceAll('.', '_')
}

export function createTopicsHandler(parts: TopicParts): Handler {
	const one = async (request: CreateRequest, validateOnly: boolean, timeoutMs: number): Promise<CreateAnswer> => {
		try {
			const created = await parts.admin.create(
				{
					name: request.name,
					partitions: request.numPartitions,
					replicationFactor: request.replicationFactor,
					assignments: assignmentOf(request),
					configs: request.configs,
				},
				validateOnly,
			)
			const answer = createdAnswer(parts.config, request.name, created, validateOnly)
			if (validateOnly) return answer
			const isUp = await awaitMetadata(parts.metadata, parts.clock, timeoutMs, (image) =>
				hasLeaders(image, request.name, created.partitions),
			)
			if (isUp) return answer
			return { name: request.name, errorCode: ERROR.REQUEST_TIMED_OUT, errorMessage: 'The topic has no leaders yet.' }
		} catch (error) {
			return { name: request.name, ...refusal(error) }
		}
	}
	return handler(createTopics, {
		async handle(request) {
			const answerAll = (errorCode: number, errorMessage: string): CreateAnswer[] =>
				request.topics.map(({ name }) => ({ name, errorCode, errorMessage }))
			if (!parts.isController()) {
				return { throttleTimeMs: 0, topics: answerAll(ERROR.NOT_CONTROLLER, 'This broker is not the controller.') }
			}
			const twice = repeated(request.topics.map(({ name }) => name))
			const seen = new Map<string, string>()
			const twinOf = new Map<string, string>()
			for (const { name } of request.topics) {
				const first = seen.get(metricName(name))
				if (first === undefined) seen.set(metricName(name), name)
				else if (first !== name) twinOf.set(name, first)
			}
			const once = request.topics.filter(({ name }) => !twice.has(name) && !twinOf.has(name))
			const topics: CreateAnswer[] = [...twice].map((name) => ({
				name,
				errorCode: ERROR.INVALID_REQUEST,
				errorMessage: `The request names topic '${name}' more than once.`,
			}))
			for (const [name, first] of twinOf) {
				if (twice.has(name)) continue
				const errorMessage = `Topic '${name}' collides with '${first}' of the same request.`
				topics.push({ name, errorCode: ERROR.INVALID_TOPIC_EXCEPTION, errorMessage })
			}
			topics.push(...(await Promise.all(once.map((each) => one(each, request.validateOnly, request.timeoutMs)))))
			return { throttleTimeMs: 0, topics }
		},
		fail: (request, errorCode) => ({
			throttleTimeMs: 0,
			topics: request.topics.map(({ name }) => ({ name, errorCode, errorMessage: null })),
		}),
	})
}

function assignmentOf(request: CreateRequest): Map<number, readonly number[]> {
	const found = new Map<number, readonly number[]>()
	for (const { partitionIndex, brokerIds } of request.assignments) {
		if (found.has(partitionIndex)) {
			throw new AdminError(ERROR.INVALID_REPLICA_ASSIGNMENT, `Partition ${partitionIndex} is assigned twice.`)
		}
		found.set(partitionIndex, brokerIds)
	}
	return found
}

function createdAnswer(config: BrokerConfig, name: string, created: CreatedTopic, validateOnly: boolean): CreateAnswer {
	return {
		name,
		topicId: validateOnly ? ZERO_TOPIC_ID : created.topicId,
		errorCode: ERROR.NONE,
		errorMessage: null,
		numPartitions: created.partitions,
		replicationFactor: created.replicationFactor,
		configs: effectiveConfigs(config, created.configs),
	}
}

function effectiveConfigs(config: BrokerConfig, overrides: Overrides): NonNullable<CreateAnswer['configs']> {
	return TOPIC_KEYS.map((key) => {
		const { value, source } = config.topicValue(key, overrides)
		return { name: key.name, value, readOnly: false, configSource: source, isSensitive: false }
	})
}

/** How long an answer waits for the znodes of a topic that is gone from the metadata. */
const ZNODES_MS = 1000

type DeleteAnswer = ResponseInput<typeof deleteTopics>['responses'][number]

export function deleteTopicsHandler(parts: TopicParts): Handler {
	type Target = { readonly name: string | null; readonly topicId: typeof ZERO_TOPIC_ID }
	const targetsOf = (request: Decoded<typeof deleteTopics.request>, version: number): Target[] =>
		version >= 6 ? request.topics : request.topicNames.map((name) => ({ name, topicId: ZERO_TOPIC_ID }))
	const one = async ({ name, topicId }: Target, timeoutMs: number): Promise<DeleteAnswer> => {
		const byId = name === null
		const topic = byId ? parts.metadata.topicById(topicId)?.name : name
		if (topic === undefined) {
			return { name: null, topicId, errorCode: ERROR.UNKNOWN_TOPIC_ID, errorMessage: 'There is no topic of this id.' }
		}
		// By name the answer carries no id, as 3.9 does (semantics 16.12).
		const answer = { name: topic, topicId: byId ? topicId : ZERO_TOPIC_ID }
		try {
			await parts.admin.delete(topic)
		} catch (error) {
			return { ...answer, ...refusal(error) }
		}
		const isGone = await awaitMetadata(parts.metadata, parts.clock, timeoutMs, (image) => !image.topics.has(topic))
		// Where all replicas live the znodes go at once: who creates the topic anew after our answer shall not meet them.
		if (isGone)
			await waitForRemoval(
				parts.session,
				parts.clock,
				deleteTopicZnode.path(topic),
				parts.clock.monotonicMs() + ZNODES_MS,
			)
		const errorCode = isGone ? ERROR.NONE : ERROR.REQUEST_TIMED_OUT
		return { ...answer, errorCode, errorMessage: isGone ? null : 'The topic is not gone yet.' }
	}
	return handler(deleteTopics, {
		async handle(request, { version }) {
			const targets = targetsOf(request, version)
			const answerAll = (errorCode: number, errorMessage: string): DeleteAnswer[] =>
				targets.map(({ name, topicId }) => ({ name, topicId, errorCode, errorMessage }))
			if (!parts.isController()) {
				return { throttleTimeMs: 0, responses: answerAll(ERROR.NOT_CONTROLLER, 'This broker is not the controller.') }
			}
			if (!parts.config.boolean('delete.topic.enable')) {
				const code = version < 3 ? ERROR.INVALID_REQUEST : ERROR.TOPIC_DELETION_DISABLED
				return { throttleTimeMs: 0, responses: answerAll(code, 'delete.topic.enable is false.') }
			}
			if (targets.some(({ name, topicId }) => name !== null && topicId !== ZERO_TOPIC_ID)) {
				const text = 'A topic is named by name or by id, not by both.'
				return { throttleTimeMs: 0, responses: answerAll(ERROR.INVALID_REQUEST, text) }
			}
			const responses = await Promise.all(targets.map((target) => one(target, request.timeoutMs)))
			return { throttleTimeMs: 0, responses }
		},
		fail: (request, errorCode, { version }) => ({
			throttleTimeMs: 0,
			responses: targetsOf(request, version).map(({ name, topicId }) => ({ name, topicId, errorCode })),
		}),
	})
}

type GrowAnswer = ResponseInput<typeof createPartitions>['results'][number]

export function createPartitionsHandler(parts: TopicParts): Handler {
	type Target = Decoded<typeof createPartitions.request>['topics'][number]
	const one = async (target: Target, validateOnly: boolean, timeoutMs: number): Promise<GrowAnswer> => {
		const { name, count } = target
		try {
			const assignments = target.assignments?.map(({ brokerIds }) => brokerIds) ?? null
			await parts.admin.grow(name, count, assignments, validateOnly)
		} catch (error) {
			return { name, ...refusal(error) }
		}
		if (validateOnly) return { name, errorCode: ERROR.NONE }
		const isUp = await awaitMetadata(parts.metadata, parts.clock, timeoutMs, (image) => hasLeaders(image, name, count))
		return { name, errorCode: isUp ? ERROR.NONE : ERROR.REQUEST_TIMED_OUT }
	}
	return handler(createPartitions, {
		async handle(request) {
			const answerAll = (errorCode: number, errorMessage: string): GrowAnswer[] =>
				request.topics.map(({ name }) => ({ name, errorCode, errorMessage }))
			if (!parts.isController()) {
				return { throttleTimeMs: 0, results: answerAll(ERROR.NOT_CONTROLLER, 'This broker is not the controller.') }
			}
			const twice = repeated(request.topics.map(({ name }) => name))
			const results: GrowAnswer[] = [...twice].map((name) => ({
				name,
				errorCode: ERROR.INVALID_REQUEST,
				errorMessage: `The request names topic '${name}' more than once.`,
			}))
			const once = request.topics.filter(({ name }) => !twice.has(name))
			results.push(...(await Promise.all(once.map((each) => one(each, request.validateOnly, request.timeoutMs)))))
			return { throttleTimeMs: 0, results }
		},
		fail: (request, errorCode) => ({
			throttleTimeMs: 0,
			results: request.topics.map(({ name }) => ({ name, errorCode })),
		}),
	})
}
