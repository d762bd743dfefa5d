/** Topics that nobody asked to create by name: auto-created ones and the two internal ones (semantics 11.6, 11.14). */

import { ERROR } from '../../protocol/errors.js'
import type { BrokerConfig } from '../config.js'
import { AdminError, type TopicAdmin, type TopicRequest } from './topic-admin.js'

export class TopicCreator {
	readonly #admin: TopicAdmin
	readonly #config: BrokerConfig
	readonly #underWay = new Map<string, Promise<number>>()

	constructor(admin: TopicAdmin, config: BrokerConfig) {
		this.#admin = admin
		this.#config = config
	}

	/** Creates a topic by the broker's defaults; the code to answer: 5 when it is (or was just) made, or why not. */
	autoCreate(topic: string): Promise<number> {
		const internal = this.#internal(topic)
		return this.#once(
			internal ?? { name: topic, partitions: -1, replicationFactor: -1, assignments: new Map(), configs: [] },
		)
	}

	/** Makes sure that an internal topic is being created. */
	ensureInternal(topic: '__consumer_offsets' | '__transaction_state'): Promise<number> {
		return this.#once(this.#internal(topic) as TopicRequest)
	}

	#once(request: TopicRequest): Promise<number> {
		const running = this.#underWay.get(request.name)
		// Others that ask meanwhile get "unknown" and come back (semantics 11.7).
		if (running !== undefined) return Promise.resolve(ERROR.UNKNOWN_TOPIC_OR_PARTITION)
		const made = this.#create(request).finally(() => this.#underWay.delete(request.name))
		this.#underWay.set(request.name, made)
		return made
	}

	async #create(request: TopicRequest): Promise<number> {
		try {
			await this.#admin.create(request, false)
			return ERROR.LEADER_NOT_AVAILABLE
		} catch (error) {
			if (!(error instanceof AdminError)) throw error
			return error.code === ERROR.TOPIC_ALREADY_EXISTS ? ERROR.LEADER_NOT_AVAILABLE : error.code
		}
	}

	/** Counts and settings of an internal topic (configs.md §9); null for any other name. */
	#internal(topic: string): TopicRequest | null {
		const number = (name: string): number => this.#config.number(name)
		const base = { name: topic, assignments: new Map<number, readonly number[]>() }
		if (topic === '__consumer_offsets') {
			return {
				...base,
				partitions: number('offsets.topic.num.partitions'),
				replicationFactor: number('offsets.topic.replication.factor'),
				configs: [
					{ name: 'segment.bytes', value: this.#config.string('offsets.topic.segment.bytes') },
					{ name: 'compression.type', value: 'producer' },
					{ name: 'cleanup.policy', value: 'compact' },
				],
			}
		}
		if (topic !== '__transaction_state') return null
		return {
			...base,
			partitions: number('transaction.state.log.num.partitions'),
			replicationFactor: number('transaction.state.log.replication.factor'),
			configs: [
				{ name: 'unclean.leader.election.enable', value: 'false' },
				{ name: 'compression.type', value: 'uncompressed' },
				{ name: 'cleanup.policy', value: 'compact' },
				{ name: 'min.insync.replicas', value: this.#config.string('transaction.state.log.min.isr') },
				{ name: 'segment.bytes', value: this.#config.string('transaction.state.log.segment.bytes') },
			],
		}
	}
}
