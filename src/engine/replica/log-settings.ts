/** A topic's settings as its logs take them: resolved over topic and broker layers. */

import type { CodecName } from '../../base/compression.js'
import type { BrokerConfig, Overrides } from '../config.js'
import type { LogConfig } from '../log/log-config.js'

export function logConfigOf(config: BrokerConfig, overrides: Overrides): LogConfig {
	const number = (name: string): number => config.topicNumber(name, overrides)
	const text = (name: string): string => config.topicText(name, overrides)
	const policy = text('cleanup.policy')
		.split(',')
		.map((item) => item.trim())
	const before = number('message.timestamp.before.max.ms')
	const after = number('message.timestamp.after.max.ms')
	// The deprecated bound counts only where the newer ones stand at their default (configs.md §4).
	const both = number('message.timestamp.difference.max.ms')
	const isUnset = before >= LONG_MAX && after >= LONG_MAX
	const compression = text('compression.type')
	return {
		segmentBytes: number('segment.bytes'),
		segmentMs: number('segment.ms'),
		segmentJitterMs: number('segment.jitter.ms'),
		segmentIndexBytes: number('segment.index.bytes'),
		indexIntervalBytes: number('index.interval.bytes'),
		retentionBytes: number('retention.bytes'),
		retentionMs: number('retention.ms'),
		fileDeleteDelayMs: number('file.delete.delay.ms'),
		flushMessages: number('flush.messages'),
		flushMs: number('flush.ms'),
		maxMessageBytes: number('max.message.bytes'),
		isCompacted: policy.includes('compact'),
		isDeleted: policy.includes('delete'),
		minCleanableDirtyRatio: number('min.cleanable.dirty.ratio'),
		minCompactionLagMs: number('min.compaction.lag.ms'),
		maxCompactionLagMs: number('max.compaction.lag.ms'),
		deleteRetentionMs: number('delete.retention.ms'),
		timestampType: text('message.timestamp.type') === 'LogAppendTime' ? 'LogAppendTime' : 'CreateTime',
		timestampBeforeMaxMs: isUnset ? both : before,
		timestampAfterMaxMs: isUnset ? both : after,
		compressionType: compression === 'uncompressed' ? 'none' : (compression as CodecName | 'producer'),
		gzipLevel: number('compression.gzip.level'),
		lz4Level: number('compression.lz4.level'),
		zstdLevel: number('compression.zstd.level'),
	}
}

const LONG_MAX = 2 ** 63
