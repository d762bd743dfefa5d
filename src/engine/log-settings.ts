/** The broker's settings as the log layer reads them. */

import type { BrokerConfig } from './config.js'
import type { CleanerSettings } from './log/cleaner/log-cleaner.js'
import { DEFAULT_LOG_SETTINGS, type LogManagerSettings } from './log/manager-settings.js'

export function logSettings(config: BrokerConfig): LogManagerSettings {
	const finite = (name: string): number => {
		const value = config.number(name)
		return value >= 2 ** 62 ? Number.POSITIVE_INFINITY : value
	}
	const cleaner = (): CleanerSettings => ({
		isEnabled: config.boolean('log.cleaner.enable'),
		threads: config.number('log.cleaner.threads'),
		dedupeBufferBytes: config.number('log.cleaner.dedupe.buffer.size'),
		ioBufferBytes: config.number('log.cleaner.io.buffer.size'),
		loadFactor: config.number('log.cleaner.io.buffer.load.factor'),
		bytesPerSecondMax: config.number('log.cleaner.io.max.bytes.per.second'),
		backoffMs: config.number('log.cleaner.backoff.ms'),
	})
	return {
		...DEFAULT_LOG_SETTINGS,
		cleaner,
		dataDirs: config.list('log.dirs'),
		retentionCheckMs: config.number('log.retention.check.interval.ms'),
		flushCheckMs: finite('log.flush.scheduler.interval.ms'),
		recoveryPointCheckpointMs: config.number('log.flush.offset.checkpoint.interval.ms'),
		logStartCheckpointMs: config.number('log.flush.start.offset.checkpoint.interval.ms'),
		initialTaskDelayMs: config.number('log.initial.task.delay.ms'),
		producerExpirationMs: config.number('producer.id.expiration.ms'),
		producerExpirationCheckMs: config.number('producer.id.expiration.check.interval.ms'),
		tailCacheBytes: config.number('kcli.tail.cache.bytes'),
	}
}
