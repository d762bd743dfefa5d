/**
 * What a partition's log takes from its topic's configuration (`configs.md` 9), resolved: no nulls, no synonyms. The
 * replica layer builds one from topic and broker configs and hands it over, again when a config changes.
 */

import type { CodecName } from '../../base/compression.js'

export interface LogConfig {
	readonly segmentBytes: number
	readonly segmentMs: number
	readonly segmentJitterMs: number
	readonly segmentIndexBytes: number
	readonly indexIntervalBytes: number
	/** -1: without bound. */
	readonly retentionBytes: number
	/** -1: without bound. */
	readonly retentionMs: number
	readonly fileDeleteDelayMs: number
	readonly flushMessages: number
	readonly flushMs: number
	readonly maxMessageBytes: number
	readonly isCompacted: boolean
	readonly isDeleted: boolean
	/** Share of a log below the uncleanable bound that has to be dirty before a pass begins. */
	readonly minCleanableDirtyRatio: number
	readonly minCompactionLagMs: number
	readonly maxCompactionLagMs: number
	/** How long tombstones and markers stay after the first pass over them. */
	readonly deleteRetentionMs: number
	readonly timestampType: 'CreateTime' | 'LogAppendTime'
	/** How far before and after now a record's time may lie (message.timestamp.before.max.ms and after). */
	readonly timestampBeforeMaxMs: number
	readonly timestampAfterMaxMs: number
	/** `producer` keeps the codec of each batch; `none` is the config value `uncompressed`. */
	readonly compressionType: CodecName | 'none' | 'producer'
	readonly gzipLevel: number
	readonly lz4Level: number
	readonly zstdLevel: number
}

const WEEK_MS = 604_800_000

/** Apache Kafka 3.9's defaults. */
export const DEFAULT_LOG_CONFIG: LogConfig = {
	segmentBytes: 1_073_741_824,
	segmentMs: WEEK_MS,
	segmentJitterMs: 0,
	segmentIndexBytes: 10_485_760,
	indexIntervalBytes: 4096,
	retentionBytes: -1,
	retentionMs: WEEK_MS,
	fileDeleteDelayMs: 60_000,
	flushMessages: Number.POSITIVE_INFINITY,
	flushMs: Number.POSITIVE_INFINITY,
	maxMessageBytes: 1_048_588,
	isCompacted: false,
	isDeleted: true,
	minCleanableDirtyRatio: 0.5,
	minCompactionLagMs: 0,
	maxCompactionLagMs: Number.POSITIVE_INFINITY,
	deleteRetentionMs: 86_400_000,
	timestampType: 'CreateTime',
	timestampBeforeMaxMs: Number.POSITIVE_INFINITY,
	timestampAfterMaxMs: Number.POSITIVE_INFINITY,
	compressionType: 'producer',
	gzipLevel: -1,
	lz4Level: 9,
	zstdLevel: 3,
}
