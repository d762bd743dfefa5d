/**
 * What the elected controller does: take over, follow brokers and topics, give partitions leaders, delete topics. One
 * object a term of office; `controller.ts` runs its methods one at a time and drops it when the role is lost.
 */

import { newTopicId, type PartitionKey } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import { isZkError, type ZkChildren, ZkMultiError, type ZkOp, type ZkSubscription } from '../../zk/port.js'
import { fencedMulti, fencedRemoveTree, type RegisteredBroker, readBrokers } from '../../zk/recipes.js'
import { configZnode, featureZnode, partitionStateZnode, type TopicInfo, topicZnode } from '../../zk/znodes.js'
import { deleteTopicZnode, logDirEventZnode } from '../../zk/znodes-admin.js'
import { Channels } from './channel.js'
import type { ControllerContext } from './context.js'
import type { ControllerOptions } from './controller.js'
import {
	type PartitionTarget,
	type PartitionWrite,
	planOnline,
	planReplicaGone,
	targetOf,
} from './partition-machine.js'
import { deleteReplicasFor, leaderAndIsrFor, type Sender, updateMetadataFor } from './requests.js'

type Post = (name: string, job: () => unknown) => Promise<void>

/** Most state znodes written in one multi: three operations each, far below the frame limit. */
const WRITES_A_MULTI = 100

export class ControllerDuties {
	readonly context: ControllerContext
	readonly #options: ControllerOptions
	readonly #post: Post
	readonly #channels: Channels
	readonly #sender: Sender
	readonly #watches: ZkSubscription[] = []
	readonly #topicWatches = new Map<string, ZkSubscription>()

	constructor(options: ControllerOptions, context: ControllerContext, post: Post) {
		this.context = context
		this.#options = options
		this.#post = post
		this.#channels = new Channels(options.endpointOf, options.clock, options.log)
		this.#sender = { controllerId: options.brokerId, interBrokerListener: options.interBrokerListener }
	}

	/** Ends the term: no watch fires and no request leaves any more. */
	close(): void {
		for (const watch of this.#watches) watch.close()
		for (const watch of this.#topicWatches.values()) watch.close()
		this.#channels.close()
	}

	/** Reads the cluster's state, tells the brokers, elects where a leader is missing (semantics 15.2, 15.5). */
	async takeOver(): Promise<void> {
		const { session, log } = this.#options
		await this.#writeFeature()
		for (const broker of await readBrokers(session)) this.context.brokers.set(broker.id, broker)
		const topics = await session.children(topicZnode.root)
		await Promise.all((topics?.names ?? []).map((topic) => this.#loadTopic(topic)))
		this.#tellMetadata([], [...this.context.brokers.keys()])
		const known: PartitionTarget[] = []
		for (const topic of this.context.topics.keys()) {
			for (const { key, partition } of this.context.partitionsOf(topic)) {
				const target = { topic, partition, key }
				known.push(target)
				this.context.status.set(key, this.#statusOf(key))
			}
		}
		for (const broker of this.context.brokers.keys()) this.#tellLeaders(broker, known, new Set())
		this.#tellMetadata(known, [...this.context.brokers.keys()])
		log.info('controller state read', { brokers: this.context.brokers.size, partitions: known.length })
		this.#watchAll()
		await this.#bringOnline(known.filter(({ key }) => this.context.status.get(key) !== 'online'))
	}

	#statusOf(key: PartitionKey): 'new' | 'online' | 'offline' {
		const current = this.context.leadership.get(key)
		if (current === undefined) return 'new'
		return this.context.isLive(current.state.leader) ? 'online' : 'offline'
	}

	#watchAll(): void {
		const { session } = this.#options
		const children = (path: string, name: string, job: (names: readonly string[]) => unknown): void => {
			const watch = session.watchChildren(path, (value: ZkChildren | null) => {
				void this.#post(name, () => job(value?.names ?? []))
			})
			this.#watches.push(watch)
		}
		children('/brokers/ids', 'broker change', () => this.#onBrokers())
		children(topicZnode.root, 'topic change', (names) => this.#onTopics(names))
		children('/admin/delete_topics', 'topic deletion', (names) => this.#onDeletions(names))
		children('/log_dir_event_notification', 'log dir event', (names) => this.#onLogDirEvents(names))
	}

	async #writeFeature(): Promise<void> {
		const { session } = this.#options
		const data = featureZnode.encode({ enabled: true, features: new Map() })
		const node = await session.get(featureZnode.path)
		if (node?.data?.equals(data) === true) return
		const op: ZkOp =
			node === null
				? { op: 'create', path: featureZnode.path, data }
				: { op: 'set', path: featureZnode.path, data, version: node.stat.version }
		await fencedMulti(session, this.context.epochVersion, [op])
	}

	/** Reads a topic's assignment and leaders. Gives it an id when an old tool made it without one. */
	async #loadTopic(topic: string): Promise<void> {
		const { session, random } = this.#options
		const node = await session.get(topicZnode.path(topic))
		if (node === null) return
		let info: TopicInfo = topicZnode.decode(node.data)
		const topicId = info.topicId ?? newTopicId((count) => random.bytes(count))
		if (info.topicId === null) {
			info = { ...info, topicId }
			const data = topicZnode.encode(info)
			const set: ZkOp = { op: 'set', path: topicZnode.path(topic), data, version: node.stat.version }
			await fencedMulti(session, this.context.epochVersion, [set])
		}
		this.context.topics.set(topic, { name: topic, topicId, info })
		this.#watchTopic(topic)
		await this.#loadStates([...info.partitions.keys()].map((partition) => targetOf(topic, partition)))
	}

	#watchTopic(topic: string): void {
		if (this.#topicWatches.has(topic)) return
		const watch = this.#options.session.watchData(topicZnode.path(topic), (node) => {
			if (node !== null) void this.#post('topic data', () => this.#onTopicData(topic, topicZnode.decode(node.data)))
		})
		this.#topicWatches.set(topic, watch)
	}

	async #loadStates(targets: readonly PartitionTarget[]): Promise<void> {
		const { session } = this.#options
		await Promise.all(
			targets.map(async ({ topic, partition, key }) => {
				const node = await session.get(partitionStateZnode.path(topic, partition))
				if (node === null) this.context.leadership.delete(key)
				else {
					const state = partitionStateZnode.decode(node.data)
					this.context.leadership.set(key, { state, partitionEpoch: node.stat.version })
				}
			}),
		)
	}

	async #onBrokers(): Promise<void> {
		const live = new Map((await readBrokers(this.#options.session)).map((broker) => [broker.id, broker]))
		const gone: number[] = []
		const come: RegisteredBroker[] = []
		const changed: RegisteredBroker[] = []
		for (const [id, known] of this.context.brokers) if (live.get(id)?.epoch !== known.epoch) gone.push(id)
		for (const [id, broker] of live) {
			const known = this.context.brokers.get(id)
			if (known?.epoch !== broker.epoch) come.push(broker)
			else if (known.version !== broker.version) changed.push(broker)
		}
		for (const broker of changed) this.context.brokers.set(broker.id, broker)
		for (const id of gone) await this.#onBrokerGone(id)
		for (const broker of come) await this.#onBrokerCome(broker)
		if (changed.length > 0) this.#tellMetadata([], [...this.context.brokers.keys()])
	}

	async #onBrokerGone(id: number): Promise<void> {
		this.#options.log.info('broker gone', { broker: id })
		this.context.brokers.delete(id)
		this.context.stopping.delete(id)
		this.context.offlineReplicas.delete(id)
		this.#channels.drop(id)
		const led: PartitionTarget[] = []
		const followed: PartitionTarget[] = []
		for (const target of this.#partitionsOn(id)) {
			if (this.context.leadership.get(target.key)?.state.leader === id) led.push(target)
			else followed.push(target)
		}
		for (const { key } of led) this.context.status.set(key, 'offline')
		await this.#bringOnline(led)
		await this.#record(planReplicaGone(this.context, id, followed))
		this.#tellMetadata(followed, [...this.context.brokers.keys()])
	}

	async #onBrokerCome(broker: RegisteredBroker): Promise<void> {
		this.#options.log.info('broker come', { broker: broker.id, epoch: broker.epoch })
		const others = [...this.context.brokers.keys()]
		this.context.brokers.set(broker.id, broker)
		this.#tellMetadata([], others)
		const all = [...this.context.topics.keys()].flatMap((topic) =>
			[...this.context.partitionsOf(topic)].map(({ key, partition }) => ({ topic, partition, key })),
		)
		this.#tellMetadata(all, [broker.id])
		this.#tellLeaders(broker.id, this.#partitionsOn(broker.id), new Set())
		await this.#bringOnline(all.filter(({ key }) => this.context.status.get(key) !== 'online'))
		await this.#resumeDeletions()
	}

	*#eachPartition(): IterableIterator<PartitionTarget & { replicas: readonly number[] }> {
		for (const topic of this.context.topics.keys()) {
			for (const each of this.context.partitionsOf(topic)) yield { topic, ...each }
		}
	}

	#partitionsOn(broker: number): PartitionTarget[] {
		return [...this.#eachPartition()].filter(({ replicas }) => replicas.includes(broker))
	}

	async #onTopics(names: readonly string[]): Promise<void> {
		const present = new Set(names)
		for (const topic of [...this.context.topics.keys()]) {
			if (!present.has(topic) && !this.context.deleting.has(topic)) this.#forget(topic)
		}
		const fresh = names.filter((topic) => !this.context.topics.has(topic))
		await Promise.all(fresh.map((topic) => this.#loadTopic(topic)))
		const targets = fresh.flatMap((topic) =>
			[...this.context.partitionsOf(topic)].map(({ key, partition }) => ({ topic, partition, key })),
		)
		for (const { key } of targets) this.context.status.set(key, this.#statusOf(key))
		await this.#bringOnline(targets)
	}

	async #onTopicData(topic: string, info: TopicInfo): Promise<void> {
		const known = this.context.topics.get(topic)
		if (known === undefined || this.context.deleting.has(topic)) return
		const added = [...info.partitions.keys()].filter((partition) => !known.info.partitions.has(partition))
		if (added.length === 0) return
		this.context.topics.set(topic, { ...known, info: { ...info, topicId: known.topicId } })
		const targets = added.map((partition) => targetOf(topic, partition))
		for (const { key } of targets) this.context.status.set(key, 'new')
		await this.#bringOnline(targets)
	}

	/** Elects leaders for `targets`, records them, tells the brokers. Those without a live replica stay as they are. */
	async #bringOnline(targets: readonly PartitionTarget[]): Promise<void> {
		const wanted = targets.filter(({ topic }) => !this.context.deleting.has(topic))
		if (wanted.length === 0) return
		const plan = planOnline(this.context, wanted, this.#options.allowsUnclean)
		const isNew = new Set(plan.writes.filter((write) => write.expectedVersion === null).map((write) => write.key))
		const written = await this.#record(plan.writes)
		for (const { key } of written) this.context.status.set(key, 'online')
		for (const { key, topic, partition } of plan.stuck) {
			if (this.context.leadership.has(key)) this.context.status.set(key, 'offline')
			this.#options.log.warn('no live replica can lead', { topic, partition })
		}
		const brokers = new Set(written.flatMap(({ topic, partition }) => this.context.replicasOf(topic, partition)))
		for (const broker of brokers) {
			if (!this.context.isLive(broker)) continue
			const theirs = written.filter((each) => this.context.replicasOf(each.topic, each.partition).includes(broker))
			this.#tellLeaders(broker, theirs, isNew)
		}
		this.#tellMetadata([...written, ...plan.stuck], [...this.context.brokers.keys()])
	}

	/** Writes states under the fence; returns those that were written. A conflict is read again and tried once more. */
	async #record(writes: readonly PartitionWrite[]): Promise<PartitionWrite[]> {
		const done: PartitionWrite[] = []
		for (let at = 0; at < writes.length; at += WRITES_A_MULTI) {
			const batch = writes.slice(at, at + WRITES_A_MULTI)
			try {
				await this.#recordBatch(batch)
				done.push(...batch)
			} catch (error) {
				if (!(error instanceof ZkMultiError)) throw error
				for (const write of batch) if (await this.#recordAlone(write)) done.push(write)
			}
		}
		return done
	}

	async #recordBatch(batch: readonly PartitionWrite[]): Promise<void> {
		const { session } = this.#options
		const ops: ZkOp[] = []
		const roots = new Set<string>()
		for (const { topic, partition, state, expectedVersion } of batch) {
			const path = partitionStateZnode.path(topic, partition)
			const data = partitionStateZnode.encode(state)
			if (expectedVersion !== null) {
				ops.push({ op: 'set', path, data, version: expectedVersion })
				continue
			}
			const root = topicZnode.partitionsPath(topic)
			if (!roots.has(root) && (await session.exists(root)) === null) ops.push({ op: 'create', path: root, data: null })
			roots.add(root)
			ops.push({ op: 'create', path: topicZnode.partitionPath(topic, partition), data: null })
			ops.push({ op: 'create', path, data })
		}
		await fencedMulti(session, this.context.epochVersion, ops)
		for (const write of batch) this.#recorded(write)
	}

	#recorded({ key, state, expectedVersion }: PartitionWrite): void {
		this.context.leadership.set(key, { state, partitionEpoch: expectedVersion === null ? 0 : expectedVersion + 1 })
	}

	async #recordAlone(write: PartitionWrite): Promise<boolean> {
		try {
			await this.#recordBatch([write])
			return true
		} catch (error) {
			if (!(error instanceof ZkMultiError)) throw error
			// Somebody else changed it: what is there counts, and the next event elects from it.
			await this.#loadStates([write])
			this.#options.log.warn('partition state changed under us', { topic: write.topic, partition: write.partition })
			return false
		}
	}

	#tellLeaders(broker: number, targets: readonly PartitionTarget[], isNew: ReadonlySet<PartitionKey>): void {
		if (targets.length === 0) return
		const request = leaderAndIsrFor(this.context, this.#sender, broker, targets, isNew)
		if ((request.topicStates ?? []).length === 0) return
		this.#channels.to(broker).send({ kind: 'leaderAndIsr', request })
	}

	#tellMetadata(targets: readonly PartitionTarget[], brokers: readonly number[]): void {
		for (const broker of brokers) {
			if (!this.context.isLive(broker)) continue
			const request = updateMetadataFor(this.context, this.#sender, broker, targets)
			this.#channels.to(broker).send({ kind: 'updateMetadata', request })
		}
	}

	async #onDeletions(names: readonly string[]): Promise<void> {
		const { log, isTopicDeletionEnabled } = this.#options
		for (const topic of names) {
			if (this.context.deleting.has(topic)) continue
			if (!this.context.topics.has(topic)) await this.#loadTopic(topic)
			if (!this.context.topics.has(topic) || !isTopicDeletionEnabled()) {
				// The list may be older than a deletion that was finished since: then nothing is left to drop.
				if (await this.#endDeletion(topic)) {
					log.info('topic deletion dropped', { topic, reason: isTopicDeletionEnabled() ? 'no such topic' : 'disabled' })
				}
				continue
			}
			this.context.deleting.add(topic)
			this.#tellMetadata(this.#targetsOf(topic), [...this.context.brokers.keys()])
			await this.#tryDelete(topic)
		}
	}

	async #resumeDeletions(): Promise<void> {
		for (const topic of [...this.context.deleting]) await this.#tryDelete(topic)
	}

	#targetsOf(topic: string): PartitionTarget[] {
		return [...this.context.partitionsOf(topic)].map(({ key, partition }) => ({ topic, partition, key }))
	}

	/** Has every live replica deleted; the znodes go when no replica is left anywhere (semantics 16.13). */
	async #tryDelete(topic: string): Promise<void> {
		const targets = this.#targetsOf(topic)
		const brokers = new Set(targets.flatMap(({ partition }) => this.context.replicasOf(topic, partition)))
		const waiting = new Set(brokers)
		for (const broker of brokers) {
			if (!this.context.isLive(broker)) continue
			const theirs = targets.filter(({ partition }) => this.context.replicasOf(topic, partition).includes(broker))
			const request = deleteReplicasFor(this.context, this.#sender, broker, theirs)
			this.#channels.to(broker).send({
				kind: 'stopReplica',
				request,
				onReply: (reply) => {
					const failed = (reply.partitionErrors ?? []).some(({ errorCode }) => errorCode !== ERROR.NONE)
					if (reply.errorCode !== ERROR.NONE || failed) return
					waiting.delete(broker)
					if (waiting.size === 0) void this.#post('topic deleted', () => this.#finishDeletion(topic))
				},
			})
		}
		if (brokers.size === 0) await this.#finishDeletion(topic)
	}

	async #finishDeletion(topic: string): Promise<void> {
		if (!this.context.deleting.has(topic)) return
		const { session, log } = this.#options
		const { epochVersion } = this.context
		await fencedRemoveTree(session, epochVersion, topicZnode.path(topic))
		await fencedRemoveTree(session, epochVersion, configZnode.path(configZnode.entityPath('topics', topic)))
		this.#forget(topic)
		await this.#endDeletion(topic)
		log.info('topic deleted', { topic })
	}

	/** Takes the wish to delete a topic away; false when it was gone already. */
	async #endDeletion(topic: string): Promise<boolean> {
		const path = deleteTopicZnode.path(topic)
		try {
			await fencedMulti(this.#options.session, this.context.epochVersion, [{ op: 'remove', path, version: -1 }])
			return true
		} catch (error) {
			if (!isZkError(error, 'NO_NODE')) throw error
			return false
		}
	}

	#forget(topic: string): void {
		this.#topicWatches.get(topic)?.close()
		this.#topicWatches.delete(topic)
		this.context.forgetTopic(topic)
	}

	/** A broker says that a directory failed: its LeaderAndIsr answer tells which replicas are gone (semantics 15.15). */
	async #onLogDirEvents(names: readonly string[]): Promise<void> {
		const { session } = this.#options
		for (const name of names) {
			const path = `/log_dir_event_notification/${name}`
			const node = await session.get(path)
			if (node === null) continue
			const broker = logDirEventZnode.decode(node.data)
			await this.#askReplicas(broker)
			await fencedMulti(session, this.context.epochVersion, [{ op: 'remove', path, version: -1 }])
		}
	}

	async #askReplicas(broker: number): Promise<void> {
		if (!this.context.isLive(broker)) return
		const targets = this.#partitionsOn(broker)
		const request = leaderAndIsrFor(this.context, this.#sender, broker, targets, new Set())
		this.#channels.to(broker).send({
			kind: 'leaderAndIsr',
			request,
			onReply: (reply) => {
				const failed = new Set<PartitionKey>()
				const names = new Map([...this.context.topics.values()].map(({ topicId, name }) => [topicId, name]))
				for (const topic of reply.topics ?? []) {
					const name = names.get(topic.topicId)
					for (const { partitionIndex, errorCode } of topic.partitionErrors) {
						if (name !== undefined && errorCode === ERROR.KAFKA_STORAGE_ERROR)
							failed.add(targetOf(name, partitionIndex).key)
					}
				}
				void this.#post('replicas offline', () => this.#onReplicasOffline(broker, failed))
			},
		})
	}

	async #onReplicasOffline(broker: number, failed: ReadonlySet<PartitionKey>): Promise<void> {
		this.context.offlineReplicas.set(broker, new Set(failed))
		const lost = this.#partitionsOn(broker).filter(({ key }) => failed.has(key))
		await this.#record(planReplicaGone(this.context, broker, lost))
		const led = lost.filter(({ key }) => this.context.leadership.get(key)?.state.leader === -1)
		for (const { key } of led) this.context.status.set(key, 'offline')
		await this.#bringOnline(led)
		this.#tellMetadata(lost, [...this.context.brokers.keys()])
	}
}
