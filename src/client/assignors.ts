/**
 * Who reads what in a group: pure functions from members, their topics and the partition counts to an assignment, the
 * same as Java's assignors of the same name make it.
 */

export interface GroupMemberTopics {
	readonly memberId: string
	/** Static members are ordered by it, as Java does. */
	readonly instanceId: string | null
	readonly topics: readonly string[]
}

/** By member, then topic. Every member has an entry. */
export type GroupAssignment = Map<string, Map<string, number[]>>

export type Assignor = (
	members: readonly GroupMemberTopics[],
	partitionCounts: ReadonlyMap<string, number>,
) => GroupAssignment

/** In the order in which they are offered to a coordinator. */
export const ASSIGNORS: ReadonlyMap<string, Assignor> = new Map([
	['range', assignRange],
	['roundrobin', assignRoundRobin],
])

/** Static members first, by instance id; then the others by member id. Code units decide, as in Java. */
function ordered(members: readonly GroupMemberTopics[]): GroupMemberTopics[] {
	const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
	return [...members].sort((a, b) => {
		if (a.instanceId !== null && b.instanceId !== null) return compare(a.instanceId, b.instanceId)
		if (a.instanceId !== null) return -1
		if (b.instanceId !== null) return 1
		return compare(a.memberId, b.memberId)
	})
}

function empty(members: readonly GroupMemberTopics[]): GroupAssignment {
	return new Map(members.map(({ memberId }) => [memberId, new Map<string, number[]>()]))
}

function topicsOf(members: readonly GroupMemberTopics[]): string[] {
	return [...new Set(members.flatMap(({ topics }) => topics))].sort()
}

/** Each topic by itself: consecutive partitions, the first members get one more where it does not divide. */
export function assignRange(
	members: readonly GroupMemberTopics[],
	partitionCounts: ReadonlyMap<string, number>,
): GroupAssignment {
	const assignment = empty(members)
	const all = ordered(members)
	for (const topic of topicsOf(members)) {
		const count = partitionCounts.get(topic) ?? 0
		const readers = all.filter(({ topics }) => topics.includes(topic))
		const each = Math.floor(count / readers.length)
		const extra = count % readers.length
		let next = 0
		for (const [i, { memberId }] of readers.entries()) {
			const size = each + (i < extra ? 1 : 0)
			if (size === 0) continue
			const partitions = Array.from({ length: size }, (_, at) => next + at)
			assignment.get(memberId)?.set(topic, partitions)
			next += size
		}
	}
	return assignment
}

/** All partitions of all topics dealt out in turn, members that do not read a topic passed over. */
export function assignRoundRobin(
	members: readonly GroupMemberTopics[],
	partitionCounts: ReadonlyMap<string, number>,
): GroupAssignment {
	const assignment = empty(members)
	const all = ordered(members)
	let turn = 0
	for (const topic of topicsOf(members)) {
		for (let partition = 0; partition < (partitionCounts.get(topic) ?? 0); partition++) {
			while (!all[turn % all.length]?.topics.includes(topic)) turn++
			const theirs = assignment.get(all[turn % all.length]?.memberId as string) as Map<string, number[]>
			const list = theirs.get(topic)
			if (list === undefined) theirs.set(topic, [partition])
			else list.push(partition)
			turn++
		}
	}
	return assignment
}
