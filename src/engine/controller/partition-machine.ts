/**
 * Brings partitions online: decides leaders and the znode writes that record them. Pure; `controller.ts` carries the
 * writes out under the controller's fence and then tells the brokers.
 *
 * | status  | legal previous status  | meaning                                          |
 * |---------|------------------------|--------------------------------------------------|
 * | new     | (none)                 | assigned, no state znode                         |
 * | online  | new, online, offline   | led by a live replica                            |
 * | offline | new, online, offline   | has a state znode and no live leader             |
 */

import { type PartitionKey, partitionKey } from '../../base/ids.js'
import type { PartitionState } from '../../zk/znodes.js'
import type { ControllerContext } from './context.js'
import { type Elected, electNew, electOffline } from './elect.js'

export interface PartitionTarget {
	readonly topic: string
	readonly partition: number
	readonly key: PartitionKey
}

export function targetOf(topic: string, partition: number): PartitionTarget {
	return { topic, partition, key: partitionKey(topic, partition) }
}

export interface PartitionWrite extends PartitionTarget {
	readonly state: PartitionState
	/** Version of the state znode that is replaced; null: it is created. */
	readonly expectedVersion: number | null
}

export interface OnlinePlan {
	readonly writes: readonly PartitionWrite[]
	/** No leader can be had now. */
	readonly stuck: readonly PartitionTarget[]
}

/** Plans leaders for partitions that have none. `allowsUnclean` is asked by topic. */
export function planOnline(
	context: ControllerContext,
	targets: Iterable<PartitionTarget>,
	allowsUnclean: (topic: string) => boolean,
): OnlinePlan {
	const writes: PartitionWrite[] = []
	const stuck: PartitionTarget[] = []
	for (const target of targets) {
		const replicas = context.replicasOf(target.topic, target.partition)
		const isLive = (replica: number): boolean => context.isReplicaLive(replica, target.key)
		const current = context.leadership.get(target.key)
		const elected =
			current === undefined
				? electNew(replicas, isLive)
				: electOffline(replicas, current.state, isLive, allowsUnclean(target.topic))
		if (elected === null) stuck.push(target)
		else {
			const leaderEpoch = current === undefined ? 0 : current.state.leaderEpoch + 1
			const expectedVersion = current?.partitionEpoch ?? null
			writes.push({ ...target, state: stateOf(elected, leaderEpoch, context.epoch), expectedVersion })
		}
	}
	return { writes, stuck }
}

/** Plans what it means for partitions that a replica of them is gone: it leaves the ISR, and the leadership if it led. */
export function planReplicaGone(
	context: ControllerContext,
	broker: number,
	targets: Iterable<PartitionTarget>,
): PartitionWrite[] {
	const writes: PartitionWrite[] = []
	for (const target of targets) {
		const current = context.leadership.get(target.key)
		if (current === undefined) continue
		const { state } = current
		const led = state.leader === broker
		const inIsr = state.isr.includes(broker)
		if (!led && !inIsr) continue
		// The last member stays in the ISR: it alone has all records.
		const isr = inIsr && state.isr.length > 1 ? state.isr.filter((replica) => replica !== broker) : state.isr
		const changed: PartitionState = {
			...state,
			leader: led ? -1 : state.leader,
			leaderEpoch: state.leaderEpoch + 1,
			controllerEpoch: context.epoch,
			isr,
		}
		writes.push({ ...target, state: changed, expectedVersion: current.partitionEpoch })
	}
	return writes
}

function stateOf(elected: Elected, leaderEpoch: number, controllerEpoch: number): PartitionState {
	return { ...elected, leaderEpoch, controllerEpoch }
}
