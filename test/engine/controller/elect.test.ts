/** Elections and the partition machine: pure decisions (semantics 15.6, 15.7, 15.9). */

import { describe, expect, it } from 'vitest'
import { partitionKey, type TopicId } from '../../../src/base/ids.js'
import { ControllerContext } from '../../../src/engine/controller/context.js'
import { electForShutdown, electNew, electOffline, electPreferred } from '../../../src/engine/controller/elect.js'
import { planOnline, planReplicaGone, targetOf } from '../../../src/engine/controller/partition-machine.js'
import type { RegisteredBroker } from '../../../src/zk/recipes.js'
import type { PartitionState } from '../../../src/zk/znodes.js'

const live =
	(...ids: number[]) =>
	(id: number) =>
		ids.includes(id)
const state = (leader: number, isr: number[]): PartitionState => ({
	leader,
	isr,
	leaderEpoch: 5,
	controllerEpoch: 1,
	leaderRecoveryState: 0,
})

describe('elections', () => {
	it('15.6 a new partition is led by its first live replica; all live ones are in sync', () => {
		expect(electNew([1, 2, 3], live(2, 3))).toEqual({ leader: 2, isr: [2, 3], leaderRecoveryState: 0 })
		expect(electNew([1], live())).toBeNull()
	})

	it('15.7 offline: the first live replica in sync, in assignment order; the dead leave the ISR', () => {
		expect(electOffline([1, 2, 3], state(1, [3, 1, 2]), live(2, 3), false)).toEqual({
			leader: 2,
			isr: [3, 2],
			leaderRecoveryState: 0,
		})
		expect(electOffline([1, 2, 3], state(1, [1]), live(2, 3), false)).toBeNull()
	})

	it('15.7 unclean: only where it is allowed, alone in the ISR and recovering', () => {
		expect(electOffline([1, 2, 3], state(1, [1]), live(2, 3), true)).toEqual({
			leader: 2,
			isr: [2],
			leaderRecoveryState: 1,
		})
	})

	it('15.7 preferred: the head of the assignment if live and in sync', () => {
		expect(electPreferred([1, 2], state(2, [1, 2]), live(1, 2))?.leader).toBe(1)
		expect(electPreferred([1, 2], state(2, [2]), live(1, 2))).toBeNull()
		expect(electPreferred([1, 2], state(2, [1, 2]), live(2))).toBeNull()
	})

	it('15.7 controlled shutdown: another in-sync replica, without those that stop', () => {
		expect(electForShutdown([1, 2, 3], state(1, [1, 2, 3]), live(1, 2, 3), live(1))).toMatchObject({
			leader: 2,
			isr: [2, 3],
		})
		expect(electForShutdown([1], state(1, [1]), live(1), live(1))).toBeNull()
	})
})

function contextWith(brokers: number[], partitions: Record<number, number[]>): ControllerContext {
	const context = new ControllerContext(3, 7)
	for (const id of brokers) context.brokers.set(id, { id } as RegisteredBroker)
	const assignment = new Map(Object.entries(partitions).map(([partition, replicas]) => [Number(partition), replicas]))
	const info = { topicId: null, partitions: assignment, adding: new Map(), removing: new Map() }
	context.topics.set('t', { name: 't', topicId: 'x' as TopicId, info })
	return context
}

describe('partition machine', () => {
	it('15.6 first leaders are created at epoch 0 with the controller epoch', () => {
		const context = contextWith([1, 2], { 0: [1, 2], 1: [9] })
		const plan = planOnline(context, [targetOf('t', 0), targetOf('t', 1)], () => false)
		expect(plan.writes).toMatchObject([
			{ partition: 0, expectedVersion: null, state: { leader: 1, isr: [1, 2], leaderEpoch: 0, controllerEpoch: 3 } },
		])
		expect(plan.stuck.map(({ partition }) => partition)).toEqual([1])
	})

	it('15.7 a later election raises the leader epoch and expects the version it read', () => {
		const context = contextWith([2], { 0: [1, 2] })
		context.leadership.set(partitionKey('t', 0), { state: state(1, [1, 2]), partitionEpoch: 11 })
		const plan = planOnline(context, [targetOf('t', 0)], () => false)
		expect(plan.writes).toMatchObject([{ expectedVersion: 11, state: { leader: 2, isr: [2], leaderEpoch: 6 } }])
	})

	it('15.9 a replica that is gone leaves the ISR, but never as its last member', () => {
		const context = contextWith([2, 3], { 0: [1, 2], 1: [1] })
		context.leadership.set(partitionKey('t', 0), { state: state(2, [1, 2]), partitionEpoch: 4 })
		context.leadership.set(partitionKey('t', 1), { state: state(1, [1]), partitionEpoch: 0 })
		const writes = planReplicaGone(context, 1, [targetOf('t', 0), targetOf('t', 1)])
		expect(writes).toMatchObject([
			{ partition: 0, state: { leader: 2, isr: [2], leaderEpoch: 6 } },
			{ partition: 1, state: { leader: -1, isr: [1], leaderEpoch: 6 } },
		])
	})

	it('the context names what is wrong with it', () => {
		const context = contextWith([1], { 0: [1] })
		context.leadership.set(partitionKey('t', 0), { state: state(2, [2]), partitionEpoch: 0 })
		expect(context.checkInvariants()).toEqual(['t-0: ISR outside the replicas'])
	})
})
