/**
 * Records of `__consumer_offsets` as 3.9 writes them (semantics 22.32, 23.5). Keys: version 1 {group, topic, partition}
 * for offsets, 2 {group} for group metadata. Values: offsets version 3, or 1 with an expiry; groups version 3. A null
 * value removes.
 */

import { ownCopy } from '../../base/bytes.js'
import { decodeData, encodeData } from '../../protocol/compile.js'
import {
	groupMetadataKey,
	groupMetadataValue,
	offsetCommitKey,
	offsetCommitValue,
} from '../../protocol/messages/internal.js'
import type { Decoded } from '../../protocol/schema.js'
import {
	type Group,
	type GroupStateName,
	type Member,
	metadataOf,
	NO_BYTES,
	type Now,
	newGroup,
} from './group-state.js'

export interface CommittedOffset {
	readonly offset: bigint
	readonly leaderEpoch: number
	readonly metadata: string
	readonly commitTimestamp: number
	/** -1: by the broker's retention. */
	readonly expireTimestamp: number
}

export interface InternalRecord {
	readonly key: Buffer
	readonly value: Buffer | null
}

const OFFSET_KEY_MAX = 1
const GROUP_KEY = 2

/** What a record's key names; null for a version that we do not know (it is skipped). */
export type RecordKey =
	| { readonly kind: 'offset'; readonly group: string; readonly topic: string; readonly partition: number }
	| { readonly kind: 'group'; readonly group: string }

export function decodeKey(key: Buffer): RecordKey | null {
	const version = key.length < 2 ? -1 : key.readInt16BE(0)
	if (version >= 0 && version <= OFFSET_KEY_MAX) return { kind: 'offset', ...decodeData(offsetCommitKey, key).message }
	if (version === GROUP_KEY) return { kind: 'group', ...decodeData(groupMetadataKey, key).message }
	return null
}

export function decodeOffset(value: Buffer): CommittedOffset {
	return decodeData(offsetCommitValue, value).message
}

export function offsetRecord(
	group: string,
	topic: string,
	partition: number,
	committed: CommittedOffset | null,
): InternalRecord {
	const key = encodeData(offsetCommitKey, 1, { group, topic, partition })
	if (committed === null) return { key, value: null }
	const { offset, metadata, commitTimestamp, expireTimestamp, leaderEpoch } = committed
	if (expireTimestamp >= 0) {
		return { key, value: encodeData(offsetCommitValue, 1, { offset, metadata, commitTimestamp, expireTimestamp }) }
	}
	return { key, value: encodeData(offsetCommitValue, 3, { offset, leaderEpoch, metadata, commitTimestamp }) }
}

/** The group as it stands, with the given assignments in place of the members' own. */
export function groupRecord(group: Group, assignments: ReadonlyMap<string, Buffer> | null): InternalRecord {
	const key = encodeData(groupMetadataKey, 2, { group: group.id })
	const members = group.protocol === null ? [] : [...group.members.values()]
	const value = encodeData(groupMetadataValue, 3, {
		protocolType: group.protocolType ?? '',
		generation: group.generation,
		protocol: group.protocol,
		leader: group.leaderId,
		currentStateTimestamp: group.stateSinceMs,
		members: members.map((member) => ({
			memberId: member.id,
			groupInstanceId: member.instanceId,
			clientId: member.clientId,
			clientHost: member.clientHost,
			rebalanceTimeout: member.rebalanceTimeoutMs,
			sessionTimeout: member.sessionTimeoutMs,
			subscription: metadataOf(member, group.protocol),
			assignment: assignments === null ? member.assignment : (assignments.get(member.id) ?? NO_BYTES),
		})),
	})
	return { key, value }
}

export function groupTombstone(group: string): InternalRecord {
	return { key: encodeData(groupMetadataKey, 2, { group }), value: null }
}

/** A group from its record: Stable with fresh sessions when it has members, else Empty (semantics 22.33). */
export function decodeGroup(id: string, value: Buffer, now: Now): Group {
	const stored = decodeData(groupMetadataValue, value).message
	const group = newGroup(id, now.wallMs)
	const state: GroupStateName = stored.members.length > 0 ? 'Stable' : 'Empty'
	group.state = state
	group.stateSinceMs = stored.currentStateTimestamp
	group.generation = stored.generation
	group.protocolType = stored.protocolType === '' ? null : stored.protocolType
	group.protocol = stored.protocol
	group.leaderId = stored.leader
	for (const member of stored.members) {
		const loaded = memberOf(member, stored.protocol ?? '', now)
		group.members.set(loaded.id, loaded)
		if (loaded.instanceId !== null) group.staticMembers.set(loaded.instanceId, loaded.id)
	}
	return group
}

type StoredMember = Decoded<typeof groupMetadataValue.fields>['members'][number]

function memberOf(stored: StoredMember, protocol: string, now: Now): Member {
	return {
		id: stored.memberId,
		instanceId: stored.groupInstanceId,
		clientId: stored.clientId,
		clientHost: stored.clientHost,
		sessionTimeoutMs: stored.sessionTimeout,
		rebalanceTimeoutMs: stored.rebalanceTimeout < 0 ? stored.sessionTimeout : stored.rebalanceTimeout,
		// Buffers of the log are borrowed: what lives on is copied.
		protocols: [{ name: protocol, metadata: ownCopy(stored.subscription) }],
		assignment: ownCopy(stored.assignment),
		joinTicket: null,
		syncTicket: null,
		isNew: false,
		expiresAtMs: now.monotonicMs + stored.sessionTimeout,
	}
}
