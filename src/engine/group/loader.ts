/** Groups and their offsets as a partition of `__consumer_offsets` tells them, in order of its log (semantics 22.33). */

import { ownCopy } from '../../base/bytes.js'
import type { DecodedRecord } from '../../protocol/records/record.js'
import { type CommittedOffset, decodeGroup, decodeKey, decodeOffset } from './group-records.js'
import { type Group, type Now, newGroup } from './group-state.js'

export interface LoadedGroup {
	readonly group: Group
	/** By `topic/partition`. */
	readonly offsets: Map<string, CommittedOffset>
	/** Offsets of transactions that are still open, by producer. */
	readonly pendingTxn: Map<bigint, Map<string, CommittedOffset>>
}

/** Gathers groups and offsets while a partition is replayed. */
export class GroupLoader {
	readonly #groups = new Map<string, Buffer>()
	readonly #offsets = new Map<string, Map<string, CommittedOffset>>()
	readonly #pending = new Map<bigint, { group: string; key: string; committed: CommittedOffset | null }[]>()

	record({ key, value }: DecodedRecord, producerId: bigint | null): void {
		const named = key === null ? null : decodeKey(key)
		if (named === null) return
		if (named.kind === 'group') {
			if (value === null) this.#groups.delete(named.group)
			else this.#groups.set(named.group, ownCopy(value))
			return
		}
		const committed = value === null ? null : decodeOffset(value)
		const change = { group: named.group, key: `${named.topic}/${named.partition}`, committed }
		if (producerId === null) this.#apply(change)
		else this.#pending.set(producerId, [...(this.#pending.get(producerId) ?? []), change])
	}

	marker(producerId: bigint, type: 'commit' | 'abort'): void {
		if (type === 'commit') for (const change of this.#pending.get(producerId) ?? []) this.#apply(change)
		this.#pending.delete(producerId)
	}

	#apply({ group, key, committed }: { group: string; key: string; committed: CommittedOffset | null }): void {
		const offsets = this.#offsets.get(group) ?? new Map<string, CommittedOffset>()
		this.#offsets.set(group, offsets)
		if (committed === null) offsets.delete(key)
		else offsets.set(key, committed)
	}

	*result(now: Now): IterableIterator<LoadedGroup> {
		const ids = new Set([...this.#groups.keys(), ...this.#offsets.keys()])
		const pendingOf = new Map<string, Map<bigint, Map<string, CommittedOffset>>>()
		for (const [producer, changes] of this.#pending) {
			for (const { group, key, committed } of changes) {
				if (committed === null) continue
				ids.add(group)
				const byProducer = pendingOf.get(group) ?? new Map<bigint, Map<string, CommittedOffset>>()
				pendingOf.set(group, byProducer)
				byProducer.set(producer, (byProducer.get(producer) ?? new Map()).set(key, committed))
			}
		}
		for (const id of ids) {
			const stored = this.#groups.get(id)
			const offsets = this.#offsets.get(id) ?? new Map<string, CommittedOffset>()
			const pendingTxn = pendingOf.get(id) ?? new Map<bigint, Map<string, CommittedOffset>>()
			if (stored === undefined && offsets.size === 0 && pendingTxn.size === 0) continue
			const group = stored === undefined ? newGroup(id, now.wallMs) : decodeGroup(id, stored, now)
			yield { group, offsets, pendingTxn }
		}
	}
}
