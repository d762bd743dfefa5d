/**
 * One message of format 0 or 1, plain or compressed, as the rules leave it (21.3). Such messages have no producer, no
 * transaction and no delete horizon: a tombstone goes by the age of its segment. An emptied one leaves nothing.
 */

import {
	hasAppendTime,
	messageCodec,
	messagesOf,
	type ReadMessage,
	readMessage,
	wrapMessages,
} from '../../../protocol/records/legacy.js'
import type { FilterContext } from './filter-batch.js'
import { keepsRecord } from './keep.js'
import type { OffsetMap } from './offset-map.js'

const RECORDS_A_LOOK = 512

/** The message at the start of `batch`, with all that is inside it, filtered; null when nothing stays. */
export async function filterLegacy(
	context: FilterContext,
	batch: Buffer,
	mayDropTombstone: boolean,
): Promise<Buffer | null> {
	const { services, map, slices } = context
	const outer = readMessage(batch, 0)
	const messages = await messagesOf(services.compression, batch, 0, services.decompressedBytesMax)
	const kept: ReadMessage[] = []
	for (const [index, message] of messages.entries()) {
		if (keeps(map, message, mayDropTombstone)) kept.push(message)
		if (index % RECORDS_A_LOOK === 0 && slices.isOver) await slices.giveWay()
	}
	if (kept.length === 0) return null
	const codec = messageCodec(outer)
	if (kept.length === messages.length || codec === 'none') return batch
	return await wrapMessages(services.compression, outer.magic, codec, kept, hasAppendTime(outer) ? outer.timestamp : -1)
}

function keeps(map: OffsetMap, { offset, key, value }: ReadMessage, mayDropTombstone: boolean): boolean {
	const mappedOffset = key === null || offset > map.latestOffset ? -1 : map.get(key, 0, key.length)
	const facts = { offset, hasKey: key !== null, hasValue: value !== null, mappedOffset }
	return keepsRecord(facts, map.latestOffset, mayDropTombstone)
}
