/**
 * Offsets that were committed for partitions of deleted topics (semantics 16.15): forgotten at once, and tombstones are
 * stored, so that a topic made anew under the same name is read from where its readers' settings say.
 */

import type { GroupCoordinator, GroupEntry } from './coordinator.js'
import { groupTombstone, type InternalRecord, offsetRecord } from './group-records.js'

export interface PartitionName {
	readonly topic: string
	readonly partition: number
}

/** Forgets the offsets of `gone` in every group that is loaded. A group that is then empty of all goes too. */
export async function forgetOffsets(coordinator: GroupCoordinator, gone: readonly PartitionName[]): Promise<void> {
	for (const entry of [...coordinator.entries]) {
		const records = forgottenOf(entry, gone)
		if (records.length === 0) continue
		if (isUnused(entry)) {
			coordinator.remove(entry)
			if (entry.group.generation > 0) records.push(groupTombstone(entry.group.id))
		}
		await coordinator.storeTombstones(entry, records)
	}
}

/** Takes the offsets out of the group; tombstones of those that were stored. */
function forgottenOf({ group, offsets, pendingTxn }: GroupEntry, gone: readonly PartitionName[]): InternalRecord[] {
	const records: InternalRecord[] = []
	for (const { topic, partition } of gone) {
		const key = `${topic}/${partition}`
		for (const pending of pendingTxn.values()) pending.delete(key)
		if (offsets.delete(key)) records.push(offsetRecord(group.id, topic, partition, null))
	}
	return records
}

function isUnused({ group, offsets, pendingTxn, pendingCommits }: GroupEntry): boolean {
	const isPending = pendingCommits.size > 0 || [...pendingTxn.values()].some((pending) => pending.size > 0)
	return group.state === 'Empty' && offsets.size === 0 && !isPending
}
