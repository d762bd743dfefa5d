/** Reading from a replica near by (KIP-392): where fetches go, and that they come back to the leader. */

import { describe, expect, it } from 'vitest'
import { Cluster } from '../../src/client/cluster.js'
import { Consumer } from '../../src/client/consumer.js'
import { CONSUMER_DEFAULTS } from '../../src/client/consumer-settings.js'
import { fetch } from '../../src/protocol/messages/fetch.js'
import type { Family } from '../../src/protocol/schema.js'
import { type Answer, scriptedRuntime } from '../helpers/scripted-broker.js'
import { until } from '../helpers/until.js'

describe('a rack', () => {
	it('is told to the broker, and a replica that is named and does not serve is left for the leader', async () => {
		const racks: string[] = []
		let count = 0
		const handle = (message: { rackId: string }): Answer => {
			racks.push(message.rackId)
			count++
			if (count >= 4) return 'silence'
			// The leader names a replica, that one is behind, the leader serves nothing new.
			const partition =
				count === 1
					? { errorCode: 0, preferredReadReplica: 1 }
					: { errorCode: count === 2 ? 1 : 0, preferredReadReplica: -1 }
			const answer = {
				partitionIndex: 0,
				highWatermark: 0,
				lastStableOffset: 0,
				logStartOffset: 0,
				abortedTransactions: [],
				records: null,
			}
			return { errorCode: 0, sessionId: 0, responses: [{ topic: 't', partitions: [{ ...answer, ...partition }] }] }
		}
		const runtime = scriptedRuntime({
			topics: { t: 1 },
			handlers: [[fetch as unknown as Family, handle as (message: never) => Answer]],
		})
		const cluster = new Cluster(runtime, {
			bootstrap: [{ host: 'scripted', port: 9092 }],
			clientId: 'rack',
			connectTimeoutMs: 1000,
			requestTimeoutMs: 1000,
			operationTimeoutMs: 1000,
			retryBackoffMs: 1,
			retryBackoffMaxMs: 5,
		})
		await cluster.refresh(['t'])
		const consumer = new Consumer(cluster, { ...CONSUMER_DEFAULTS, rackId: 'r1', waitMsMax: 1 })
		consumer.assign([{ topic: 't', partition: 0, offset: 5 }])
		await until('four fetches', () => count >= 4)
		// OFFSET_OUT_OF_RANGE of a follower is no reset: only the leader knows.
		expect(consumer.takeNow()).toBe(null)
		expect(new Set(racks)).toEqual(new Set(['r1']))
		consumer.close()
		await cluster.close()
	})
})
