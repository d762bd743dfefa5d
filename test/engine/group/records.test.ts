/** Records of `__consumer_offsets`, held against those that Apache Kafka 3.9.2 wrote (semantics 22.32, 23.5). */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
	decodeGroup,
	decodeKey,
	decodeOffset,
	groupRecord,
	groupTombstone,
	offsetRecord,
} from '../../../src/engine/group/group-records.js'
import { batchAttributes, batchBytes, CONTROL_BIT, wholeBatchEnd } from '../../../src/protocol/records/batch.js'
import { recordsOf } from '../../../src/protocol/records/compression.js'
import type { DecodedRecord } from '../../../src/protocol/records/record.js'
import { nodeRuntime } from '../../../src/runtime/node-runtime.js'

async function goldenRecords(): Promise<DecodedRecord[]> {
	const path = new URL('../../fixtures/logs/clean/__consumer_offsets-0/00000000000000000000.log', import.meta.url)
	const bytes = readFileSync(path)
	const records: DecodedRecord[] = []
	for (let at = 0; wholeBatchEnd(bytes, at, bytes.length) > 0; at += batchBytes(bytes, at)) {
		if ((batchAttributes(bytes, at) & CONTROL_BIT) !== 0) continue
		records.push(...(await recordsOf(nodeRuntime().compression, bytes, at, 1_000_000)))
	}
	return records
}

describe('group records', () => {
	it('22.32 and 23.5 read and write as Kafka wrote them, byte for byte', async () => {
		let offsets = 0
		let groups = 0
		let tombstones = 0
		for (const { key, value } of await goldenRecords()) {
			const named = key === null ? null : decodeKey(key)
			if (named === null || key === null) continue
			if (named.kind === 'offset') {
				const committed = value === null ? null : decodeOffset(value)
				const ours = offsetRecord(named.group, named.topic, named.partition, committed)
				expect(ours.key.toString('hex')).toBe(key.toString('hex'))
				expect(ours.value?.toString('hex')).toBe(value?.toString('hex'))
				offsets++
			} else if (value === null) {
				expect(groupTombstone(named.group).key.toString('hex')).toBe(key.toString('hex'))
				tombstones++
			} else {
				const group = decodeGroup(named.group, value, { monotonicMs: 0, wallMs: 0 })
				expect(groupRecord(group, null).value?.toString('hex')).toBe(value.toString('hex'))
				groups++
			}
		}
		expect([offsets > 3, groups > 2, offsets + groups + tombstones]).toEqual([
			true,
			true,
			offsets + groups + tombstones,
		])
	})

	it('22.33 keys of unknown versions are passed over', () => {
		expect(decodeKey(Buffer.from([0, 9, 1, 2, 3]))).toBeNull()
		expect(decodeKey(Buffer.alloc(0))).toBeNull()
	})
})
