/** When groups last did something: no request tells, so it is read from `__consumer_offsets`. */

import { positiveHash } from '../base/ids.js'
import { decodeData } from '../protocol/compile.js'
import {
	groupMetadataKey,
	groupMetadataValue,
	offsetCommitKey,
	offsetCommitValue,
} from '../protocol/messages/internal.js'
import { boundsOf } from './consume-plan.js'
import { readRanges } from './read-ranges.js'
import type { Session } from './session.js'
import { findTopics } from './topic-lookup.js'

const OFFSETS_TOPIC = '__consumer_offsets'
/** Version of a key as of which it names a group and not an offset. */
const GROUP_KEY = 2

/**
 * The newest commit, or change of its members, of each group by name, in epoch ms; a group without any is left out. What
 * commits wrote and took back again counts no more. Reads the partitions of these groups whole.
 */
export async function lastActivity(session: Session, groups: readonly string[]): Promise<ReadonlyMap<string, number>> {
	if (groups.length === 0) return new Map()
	const [topic] = await findTopics(session.cluster, [OFFSETS_TOPIC])
	const count = topic?.partitions.length ?? 0
	const wanted = new Set(groups.map((group) => positiveHash(group) % count))
	const places = [...wanted].map((partition) => ({ topic: OFFSETS_TOPIC, partition }))
	// By key, since a later record of the key, a removal too, stands for all before it.
	const times = new Map<string, { readonly group: string; readonly ms: number }>()
	await readRanges(session, await boundsOf(session, places, 0), (_place, record) => {
		const key = record.key()
		if (key === null || key.length < 2 || record.facts.isControl) return
		const name = key.toString('latin1')
		const value = record.value()
		if (value === null) {
			times.delete(name)
		} else if (key.readInt16BE(0) < GROUP_KEY) {
			const { group } = decodeData(offsetCommitKey, key).message
			times.set(name, { group, ms: decodeData(offsetCommitValue, value).message.commitTimestamp })
		} else if (key.readInt16BE(0) === GROUP_KEY) {
			const { group } = decodeData(groupMetadataKey, key).message
			const { currentStateTimestamp } = decodeData(groupMetadataValue, value).message
			times.set(name, { group, ms: Math.max(currentStateTimestamp, record.timestamp) })
		}
	})
	const last = new Map<string, number>()
	for (const { group, ms } of times.values()) last.set(group, Math.max(ms, last.get(group) ?? 0))
	return last
}
