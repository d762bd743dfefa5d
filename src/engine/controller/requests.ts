/** Builds control requests from the controller's state: whole topics grouped, epochs stamped. Pure. */

import type { PartitionKey } from '../../base/ids.js'
import { LEADER_DURING_DELETE } from '../metadata/cache.js'
import type { LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest } from './channel.js'
import type { ControllerContext } from './context.js'
import type { PartitionTarget } from './partition-machine.js'

/** Wire numbers of security protocols. */
export const PROTOCOL_ID: Readonly<Record<string, number>> = { PLAINTEXT: 0, SSL: 1, SASL_PLAINTEXT: 2, SASL_SSL: 3 }

export interface Sender {
	readonly controllerId: number
	/** Listener by which brokers reach one another. */
	readonly interBrokerListener: string
}

/** LeaderAndIsr for one broker over the given partitions, as the context has them. Those without a leader are left out. */
export function leaderAndIsrFor(
	context: ControllerContext,
	sender: Sender,
	broker: number,
	targets: readonly PartitionTarget[],
	isNew: ReadonlySet<PartitionKey>,
): LeaderAndIsrRequest {
	type TopicState = NonNullable<LeaderAndIsrRequest['topicStates']>[number]
	const topics = new Map<
		string,
		{ topicName: string; topicId: TopicState['topicId']; partitionStates: PartitionStates }
	>()
	type PartitionStates = TopicState['partitionStates'][number][]
	const leaders = new Set<number>()
	for (const { topic, partition, key } of targets) {
		const record = context.topics.get(topic)
		const current = context.leadership.get(key)
		if (record === undefined || current === undefined) continue
		const { state, partitionEpoch } = current
		const entry = topics.get(topic) ?? { topicName: topic, topicId: record.topicId, partitionStates: [] }
		topics.set(topic, entry)
		if (state.leader >= 0) leaders.add(state.leader)
		entry.partitionStates.push({
			partitionIndex: partition,
			controllerEpoch: state.controllerEpoch,
			leader: state.leader,
			leaderEpoch: state.leaderEpoch,
			isr: state.isr,
			partitionEpoch,
			replicas: context.replicasOf(topic, partition),
			addingReplicas: record.info.adding.get(partition) ?? [],
			removingReplicas: record.info.removing.get(partition) ?? [],
			isNew: isNew.has(key),
			leaderRecoveryState: state.leaderRecoveryState,
		})
	}
	const liveLeaders = [...leaders].flatMap((id) => {
		const endpoints = context.brokers.get(id)?.info.endpoints ?? []
		const endpoint = endpoints.find((each) => each.listener === sender.interBrokerListener) ?? endpoints[0]
		return endpoint === undefined ? [] : [{ brokerId: id, hostName: endpoint.host, port: endpoint.port }]
	})
	return {
		controllerId: sender.controllerId,
		controllerEpoch: context.epoch,
		brokerEpoch: context.brokers.get(broker)?.epoch ?? -1n,
		type: 0,
		topicStates: [...topics.values()],
		liveLeaders,
	}
}

/** UpdateMetadata for one broker: all live brokers, and the given partitions. Deleted topics get leader -2. */
export function updateMetadataFor(
	context: ControllerContext,
	sender: Sender,
	broker: number,
	targets: readonly PartitionTarget[],
): UpdateMetadataRequest {
	type TopicState = NonNullable<UpdateMetadataRequest['topicStates']>[number]
	const topics = new Map<
		string,
		{ topicName: string; topicId: TopicState['topicId']; partitionStates: PartitionStates }
	>()
	type PartitionStates = TopicState['partitionStates'][number][]
	for (const { topic, partition, key } of targets) {
		const record = context.topics.get(topic)
		const current = context.leadership.get(key)
		if (record === undefined || current === undefined) continue
		const entry = topics.get(topic) ?? { topicName: topic, topicId: record.topicId, partitionStates: [] }
		topics.set(topic, entry)
		const replicas = context.replicasOf(topic, partition)
		entry.partitionStates.push({
			partitionIndex: partition,
			controllerEpoch: current.state.controllerEpoch,
			leader: context.deleting.has(topic) ? LEADER_DURING_DELETE : current.state.leader,
			leaderEpoch: current.state.leaderEpoch,
			isr: current.state.isr,
			zkVersion: current.partitionEpoch,
			replicas,
			offlineReplicas: replicas.filter((replica) => !context.isReplicaLive(replica, key)),
		})
	}
	const liveBrokers = [...context.brokers.values()].map(({ id, info }) => ({
		id,
		endpoints: info.endpoints.map(({ listener, host, port, securityProtocol }) => ({
			listener,
			host,
			port,
			securityProtocol: PROTOCOL_ID[securityProtocol] ?? 0,
		})),
		rack: info.rack,
	}))
	return {
		controllerId: sender.controllerId,
		controllerEpoch: context.epoch,
		brokerEpoch: context.brokers.get(broker)?.epoch ?? -1n,
		topicStates: [...topics.values()],
		liveBrokers,
	}
}

/** StopReplica that deletes the given partitions on one broker. */
export function deleteReplicasFor(
	context: ControllerContext,
	sender: Sender,
	broker: number,
	targets: readonly PartitionTarget[],
): StopReplicaRequest {
	const topics = new Map<string, { partitionIndex: number; leaderEpoch: number; deletePartition: boolean }[]>()
	for (const { topic, partition } of targets) {
		const states = topics.get(topic) ?? []
		topics.set(topic, states)
		states.push({ partitionIndex: partition, leaderEpoch: LEADER_DURING_DELETE, deletePartition: true })
	}
	return {
		controllerId: sender.controllerId,
		controllerEpoch: context.epoch,
		brokerEpoch: context.brokers.get(broker)?.epoch ?? -1n,
		topicStates: [...topics].map(([topicName, partitionStates]) => ({ topicName, partitionStates })),
	}
}
