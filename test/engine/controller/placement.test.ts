/** Where replicas go: Kafka's own assignment, by example and by property (semantics 16.8–16.10). */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BrokerRack, placeReplicas } from '../../../src/engine/controller/placement.js'

const plain = (ids: readonly number[]): BrokerRack[] => ids.map((id) => ({ id, rack: null }))

describe('placement', () => {
	it('16.8 without racks: the example of Kafka itself, five brokers, ten partitions, three replicas', () => {
		const placed = placeReplicas({
			brokers: plain([0, 1, 2, 3, 4]),
			partitions: 10,
			replicationFactor: 3,
			startIndex: 0,
			startShift: 0,
		})
		expect([...placed.values()]).toEqual([
			[0, 1, 2],
			[1, 2, 3],
			[2, 3, 4],
			[3, 4, 0],
			[4, 0, 1],
			[0, 2, 3],
			[1, 3, 4],
			[2, 4, 0],
			[3, 0, 1],
			[4, 1, 2],
		])
	})

	it('16.9 with racks: each partition stands on as many racks as it can', () => {
		const brokers: BrokerRack[] = [0, 1, 2, 3, 4, 5].map((id) => ({ id, rack: `r${id % 3}` }))
		const placed = placeReplicas({ brokers, partitions: 12, replicationFactor: 3, startIndex: 0, startShift: 0 })
		for (const replicas of placed.values()) expect(new Set(replicas.map((id) => id % 3)).size).toBe(3)
	})

	it('16.9 some brokers with a rack and some without: racks are ignored', () => {
		const mixed: BrokerRack[] = [
			{ id: 1, rack: 'a' },
			{ id: 2, rack: null },
			{ id: 3, rack: 'a' },
		]
		const request = { partitions: 4, replicationFactor: 2, startIndex: 1, startShift: 1 }
		expect(placeReplicas({ brokers: mixed, ...request })).toEqual(
			placeReplicas({ brokers: plain([1, 2, 3]), ...request }),
		)
	})

	it('16.10 new partitions go on where the old ones ended', () => {
		const request = { brokers: plain([1, 2, 3, 4]), replicationFactor: 2, startIndex: 2, startShift: 1 }
		const whole = placeReplicas({ ...request, partitions: 3 })
		const more = placeReplicas({ ...request, partitions: 2, firstPartition: 3 })
		expect([...more.keys()]).toEqual([3, 4])
		expect([...whole.keys(), ...more.keys()]).toEqual([0, 1, 2, 3, 4])
	})

	it('never puts two replicas on one broker, and spreads leaders evenly', () => {
		fc.assert(
			fc.property(
				fc.integer({ min: 1, max: 9 }),
				fc.integer({ min: 1, max: 4 }),
				fc.integer({ min: 1, max: 40 }),
				fc.integer({ min: 1, max: 9 }),
				fc.nat(50),
				fc.nat(50),
				(count, racks, partitions, wanted, startIndex, startShift) => {
					const brokers = Array.from({ length: count }, (_, id) => ({
						id,
						rack: racks === 1 ? null : `r${id % racks}`,
					}))
					const replicationFactor = Math.min(wanted, count)
					const placed = placeReplicas({ brokers, partitions, replicationFactor, startIndex, startShift })
					expect(placed.size).toBe(partitions)
					const leads = new Map<number, number>()
					for (const replicas of placed.values()) {
						expect(new Set(replicas).size).toBe(replicationFactor)
						const leader = replicas[0] as number
						leads.set(leader, (leads.get(leader) ?? 0) + 1)
					}
					const counts = brokers.map(({ id }) => leads.get(id) ?? 0)
					expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
				},
			),
		)
	})
})
