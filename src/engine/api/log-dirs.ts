/** DescribeLogDirs (key 35, versions 0–4), semantics 29.5: 3 top-level error, 4 sizes of the volumes (KIP-827). */

import { partitionKey } from '../../base/ids.js'
import { ERROR } from '../../protocol/errors.js'
import { describeLogDirs } from '../../protocol/messages/reassignment.js'
import type { LogManager } from '../log/manager.js'
import { type Handler, handler } from './dispatch.js'

export function describeLogDirsHandler(logs: LogManager): Handler {
	return handler(describeLogDirs, {
		handle(request) {
			const wanted =
				request.topics === null
					? null
					: new Set(request.topics.flatMap(({ topic, partitions }) => partitions.map((p) => partitionKey(topic, p))))
			const results = logs.dirs().map(({ path, isOnline }) => {
				if (!isOnline) return { errorCode: ERROR.KAFKA_STORAGE_ERROR, logDir: path, topics: [] }
				const topics = new Map<
					string,
					{ partitionIndex: number; partitionSize: number; offsetLag: number; isFutureKey: boolean }[]
				>()
				for (const log of logs.all()) {
					const key = partitionKey(log.topic, log.partition)
					if (logs.dirOf(key) !== path || (wanted !== null && !wanted.has(key))) continue
					const partitions = topics.get(log.topic) ?? []
					topics.set(log.topic, partitions)
					partitions.push({
						partitionIndex: log.partition,
						partitionSize: log.sizeBytes,
						offsetLag: Math.max(0, log.highWatermark - log.logEndOffset),
						isFutureKey: false,
					})
				}
				const space = logs.spaceOf(path)
				return {
					errorCode: ERROR.NONE,
					logDir: path,
					topics: [...topics].map(([name, partitions]) => ({ name, partitions })),
					totalBytes: space?.totalBytes ?? -1,
					usableBytes: space?.usableBytes ?? -1,
				}
			})
			return { throttleTimeMs: 0, errorCode: ERROR.NONE, results }
		},
		fail: (_request, errorCode) => ({ throttleTimeMs: 0, errorCode, results: [] }),
	})
}
