import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ASSIGNORS, assignRange, assignRoundRobin, type GroupAssignment } from '../../src/client/assignors.js'

const member = (memberId: string, topics: readonly string[], instanceId: string | null = null) => ({
	memberId,
	instanceId,
	topics,
})
const plain = (assignment: GroupAssignment) =>
	Object.fromEntries([...assignment].map(([id, topics]) => [id, Object.fromEntries(topics)]))

describe('assignors', () => {
	it('range: consecutive partitions of each topic, the first members get the rest', () => {
		const members = [member('b', ['t', 'u']), member('a', ['t', 'u']), member('c', ['u'])]
		expect(
			plain(
				assignRange(
					members,
					new Map([
						['t', 5],
						['u', 4],
					]),
				),
			),
		).toEqual({
			a: { t: [0, 1, 2], u: [0, 1] },
			b: { t: [3, 4], u: [2] },
			c: { u: [3] },
		})
	})

	it('round robin: all partitions in turn, members without the topic passed over', () => {
		const members = [member('a', ['t']), member('b', ['t', 'u']), member('c', ['t', 'u'])]
		expect(
			plain(
				assignRoundRobin(
					members,
					new Map([
						['t', 3],
						['u', 3],
					]),
				),
			),
		).toEqual({
			a: { t: [0] },
			b: { t: [1], u: [0, 2] },
			c: { t: [2], u: [1] },
		})
	})

	it('static members come first, by instance id', () => {
		const members = [member('a', ['t']), member('z', ['t'], 'i1')]
		expect(plain(assignRange(members, new Map([['t', 1]])))).toEqual({ a: {}, z: { t: [0] } })
	})

	it('every partition has one owner that reads the topic, and no member has two more than another of one topic', () => {
		const topics = ['t0', 't1', 't2']
		fc.assert(
			fc.property(
				fc.array(fc.subarray(topics), { minLength: 1, maxLength: 7 }),
				fc.array(fc.nat(12), { minLength: 3, maxLength: 3 }),
				fc.constantFrom(...ASSIGNORS.keys()),
				(subscriptions, counts, name) => {
					const members = subscriptions.map((read, i) => member(`m${i}`, read))
					const partitionCounts = new Map(topics.map((topic, i) => [topic, counts[i] as number]))
					const assignment = (ASSIGNORS.get(name) as typeof assignRange)(members, partitionCounts)
					expect([...assignment.keys()].sort()).toEqual(members.map(({ memberId }) => memberId).sort())
					for (const [topic, count] of partitionCounts) {
						const readers = members.filter(({ topics: read }) => read.includes(topic))
						const owned = members.map(({ memberId }) => assignment.get(memberId)?.get(topic) ?? [])
						const all = owned.flat().sort((a, b) => a - b)
						expect(all).toEqual(readers.length === 0 ? [] : Array.from({ length: count }, (_, i) => i))
						for (const [i, { topics: read }] of members.entries()) {
							if (!read.includes(topic)) expect(owned[i]).toEqual([])
						}
						if (name === 'range' && readers.length > 0) {
							const sizes = readers.map(({ memberId }) => assignment.get(memberId)?.get(topic)?.length ?? 0)
							expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
						}
					}
				},
			),
		)
	})
})
