/**
 * What a Fetch request reads of each partition, within its limits: roles and epochs checked, batches from memory or as
 * slices of files, and for clients of old formats converted (`down-conversion.ts`). Semantics 7.1–7.9, 2.6.
 */

import { ZERO_TOPIC_ID } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import type { DownConversionParts } from '../../protocol/records/down-convert.js'
import type { Clock } from '../../runtime/ports.js'
import type { BrokerConfig } from '../config.js'
import { FileSlice, type ReadBound, type ReadOutcome } from '../log/read.js'
import type { ReadMode } from '../log/read-mode.js'
import type { MetadataCache } from '../metadata/cache.js'
import type { ConfigStore } from '../metadata/config-store.js'
import type { MemoryBudget } from '../net/budget.js'
import type { FetchSessions, FetchTarget } from '../replica/fetch-session.js'
import type { ReplicaManager } from '../replica/manager.js'
import type { Partition } from '../replica/partition.js'
import { type Converted, convertRecords, overflow } from './down-conversion.js'

export interface FetchParts {
	readonly replicas: ReplicaManager
	readonly metadata: MetadataCache
	readonly sessions: FetchSessions
	readonly config: BrokerConfig
	readonly configs: ConfigStore
	readonly budget: MemoryBudget
	readonly clock: Clock
	readonly reads: ReadMode
	/** For clients of old formats. */
	readonly conversion: DownConversionParts
}

/** The isolation and role of a request. */
export interface Reader {
	readonly version: number
	readonly isFollower: boolean
	readonly bound: ReadBound
	readonly isReadCommitted: boolean
	readonly maxBytes: number
}

/** Most bytes of records that an answer holds in memory: a peer that does not read would hold what it is given. */
const MEMORY_BYTES_MAX = 2 * 1024 * 1024
/** Above this share of the broker's budget answers hold no records in memory. */
const MEMORY_LOAD_MAX = 0.25

/** One partition's part of an answer, with what it holds. */
export interface Result {
	readonly target: FetchTarget
	readonly errorCode: number
	readonly outcome: ReadOutcome | null
	readonly diverging: { readonly epoch: number; readonly endOffset: number } | null
	/** The first batch is larger than what an old client takes: set to what it takes. */
	readonly overflowBytes?: number
	/** In place of the outcome's records, for old clients. */
	readonly converted?: Converted
}

/** Versions below take message formats 0 and 1 only; below 3 an answer is never larger than asked for. */
export const FORMAT_2_VERSION = 4
const ONE_BATCH_VERSION = 3

/** Results as clients of formats 0 and 1 read them. */
export async function convertAll(parts: FetchParts, reader: Reader, results: readonly Result[]): Promise<Result[]> {
	const done: Result[] = []
	for (const result of results) {
		const { target, outcome, overflowBytes } = result
		const partition = parts.replicas.findLeader(target.topic, target.partition)
		if (outcome === null || typeof partition === 'number') {
			releaseOutcome(outcome)
			done.push(outcome === null ? result : { ...result, outcome: null, errorCode: partition as number })
			continue
		}
		const conversion = {
			...parts.conversion,
			readFrom: (offset: number) =>
				partition.log.read({ offset, maxBytes: target.maxBytes, minOneBatch: true, upTo: reader.bound }),
		}
		const magic = reader.version <= 1 ? 0 : 1
		const converted =
			overflowBytes === undefined
				? await convertRecords(conversion, outcome, target.fetchOffset, magic)
				: overflow(conversion, overflowBytes)
		done.push({ ...result, errorCode: converted.errorCode, converted })
	}
	return done
}

/** A cheap look before all is read again: has any partition data, or changed its role? */
export function mayComplete(parts: FetchParts, reader: Reader, targets: readonly FetchTarget[]): boolean {
	for (const { topic, partition, fetchOffset, currentLeaderEpoch } of targets) {
		const found = parts.replicas.findLeader(topic, partition)
		if (typeof found === 'number' || found.epochError(currentLeaderEpoch) !== ERROR.NONE) return true
		if (boundOf(found, reader.bound) !== fetchOffset) return true
	}
	return false
}

function boundOf({ log }: Partition, bound: ReadBound): number {
	if (bound === 'logEnd') return log.logEndOffset
	return bound === 'highWatermark' ? log.highWatermark : log.lastStableOffset
}

export function bytesOf(results: readonly Result[]): number {
	let sum = 0
	for (const { outcome } of results) sum += outcome?.bytes ?? 0
	return sum
}

export function releaseOutcome(outcome: ReadOutcome | null): void {
	for (const part of outcome?.parts ?? []) if (part instanceof FileSlice) part.release()
}

export function readAll(parts: FetchParts, reader: Reader, targets: readonly FetchTarget[]): Result[] {
	let left = reader.maxBytes
	let inMemory = 0
	let isFirst = true
	const results: Result[] = []
	for (const target of targets) {
		// What is converted is read batch by batch, and cut where Kafka cuts it.
		const isOld = reader.version < FORMAT_2_VERSION
		const fromFile = isOld || inMemory > MEMORY_BYTES_MAX || parts.budget.load > MEMORY_LOAD_MAX
		const result = readOne(parts, reader, target, { left, isFirst, fromFile })
		results.push(result)
		const bytes = result.outcome?.bytes ?? 0
		if (result.outcome?.parts.some(Buffer.isBuffer)) inMemory += bytes
		if (bytes > 0) isFirst = false
		left = Math.max(0, left - bytes)
	}
	return results
}

/** Where an answer stands when the next partition is read. */
interface SoFar {
	/** Bytes that the answer may still take. */
	readonly left: number
	readonly isFirst: boolean
	readonly fromFile: boolean
}

function readOne(parts: FetchParts, reader: Reader, target: FetchTarget, soFar: SoFar): Result {
	const failed = (errorCode: number): Result => ({ target, errorCode, outcome: null, diverging: null })
	if (target.topic === '' && target.topicId !== ZERO_TOPIC_ID) {
		// A session may learn the name later (semantics 8.9).
		target.topic = parts.metadata.topicById(target.topicId)?.name ?? ''
		if (target.topic === '') return failed(ERROR.UNKNOWN_TOPIC_ID)
	}
	const partition = parts.replicas.findLeader(target.topic, target.partition)
	if (typeof partition === 'number') return failed(partition)
	const known = partition.topicId
	if (target.topicId !== ZERO_TOPIC_ID && known !== null && known !== target.topicId) {
		return failed(ERROR.INCONSISTENT_TOPIC_ID)
	}
	const epochError = partition.epochError(target.currentLeaderEpoch)
	if (epochError !== ERROR.NONE) return failed(epochError)
	if (target.lastFetchedEpoch >= 0) {
		const diverging = divergence(partition, target)
		if (typeof diverging === 'number') return failed(diverging)
		if (diverging !== null) return { target, errorCode: ERROR.NONE, outcome: null, diverging }
	}
	if (reader.version < 10 && parts.config.topicText('compression.type', parts.configs.topic(target.topic)) === 'zstd') {
		return failed(ERROR.UNSUPPORTED_COMPRESSION_TYPE)
	}
	if (reader.version < FORMAT_2_VERSION && !reader.isFollower && !mayConvert(parts, target.topic)) {
		return failed(ERROR.UNSUPPORTED_VERSION)
	}
	const maxBytes = Math.max(0, Math.min(target.maxBytes, soFar.left))
	const outcome = partition.log.read({
		offset: target.fetchOffset,
		maxBytes,
		minOneBatch: reader.version < ONE_BATCH_VERSION ? maxBytes > 0 : soFar.isFirst,
		upTo: reader.bound,
		withAborted: reader.isReadCommitted,
		fromFile: soFar.fromFile,
	})
	if (outcome.errorCode !== ERROR.NONE) return failed(outcome.errorCode)
	if (reader.version < ONE_BATCH_VERSION && outcome.bytes > maxBytes) {
		releaseOutcome(outcome)
		const nothing = { ...outcome, parts: [], bytes: maxBytes }
		return { target, errorCode: ERROR.NONE, outcome: nothing, diverging: null, overflowBytes: maxBytes }
	}
	return { target, errorCode: ERROR.NONE, outcome, diverging: null }
}

function mayConvert({ config, configs }: FetchParts, topic: string): boolean {
	return config.topicText('message.downconversion.enable', configs.topic(topic)) !== 'false'
}

/** Where the fetcher's log parts from ours (semantics 7.9): null when it does not, or the code 1. */
function divergence(partition: Partition, target: FetchTarget): { epoch: number; endOffset: number } | null | number {
	const { epoch, endOffset } = partition.log.endOffsetForEpoch(target.lastFetchedEpoch)
	if (epoch < 0 || endOffset < 0 || target.fetchOffset < partition.log.logStartOffset) return ERROR.OFFSET_OUT_OF_RANGE
	if (epoch < target.lastFetchedEpoch || endOffset < target.fetchOffset) return { epoch, endOffset }
	return null
}
