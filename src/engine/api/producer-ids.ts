/**
 * InitProducerId (key 22, versions 0–5) without a transactional id, and DescribeProducers (key 61, version 0);
 * semantics 24.5, 29.6. With a transactional id it answers 15 (the transaction coordinator is not built yet): clients
 * retry and time out, and nothing is written.
 */

import { ERROR } from '../../protocol/errors.js'
import { describeProducers, initProducerId } from '../../protocol/messages/transactions.js'
import type { ResponseInput } from '../../protocol/schema.js'
import { errorText, type Logger } from '../../runtime/logger.js'
import { isZkError } from '../../zk/port.js'
import type { ReplicaManager } from '../replica/manager.js'
import type { ProducerIds } from '../txn/producer-ids.js'
import { type Handler, handler } from './dispatch.js'

type InitAnswer = ResponseInput<typeof initProducerId>

export function initProducerIdHandler(ids: ProducerIds, log: Logger): Handler {
	const refuse = (errorCode: number): InitAnswer => ({
		throttleTimeMs: 0,
		errorCode,
		producerId: -1n,
		producerEpoch: -1,
	})
	return handler(initProducerId, {
		async handle(request) {
			if (request.transactionalId === '') return refuse(ERROR.INVALID_REQUEST)
			const hasId = request.producerId !== -1n
			const hasEpoch = request.producerEpoch !== -1
			if (hasId !== hasEpoch) return refuse(ERROR.INVALID_REQUEST)
			if (request.transactionalId !== null) return refuse(ERROR.COORDINATOR_NOT_AVAILABLE)
			try {
				return { throttleTimeMs: 0, errorCode: ERROR.NONE, producerId: await ids.next(), producerEpoch: 0 }
			} catch (error) {
				if (!isZkError(error, 'CONNECTION_LOSS') && !isZkError(error, 'TIMEOUT')) throw error
				log.warn('no producer id block', { reason: errorText(error) })
				return refuse(ERROR.COORDINATOR_LOAD_IN_PROGRESS)
			}
		},
		fail: (_request, errorCode) => refuse(errorCode),
	})
}

export function describeProducersHandler(replicas: ReplicaManager): Handler {
	return handler(describeProducers, {
		handle: (request) => ({
			throttleTimeMs: 0,
			topics: request.topics.map(({ name, partitionIndexes }) => ({
				name,
				partitions: partitionIndexes.map((partitionIndex) => {
					const partition = replicas.find(name, partitionIndex)
					if (typeof partition === 'number') {
						return { partitionIndex, errorCode: partition, errorMessage: null, activeProducers: [] }
					}
					const activeProducers = partition.log.activeProducers().map((each) => ({
						producerId: each.producerId,
						producerEpoch: each.producerEpoch,
						lastSequence: each.lastSequence,
						lastTimestamp: each.lastTimestamp,
						coordinatorEpoch: each.coordinatorEpoch,
						currentTxnStartOffset: each.currentTxnStartOffset,
					}))
					return { partitionIndex, errorCode: ERROR.NONE, errorMessage: null, activeProducers }
				}),
			})),
		}),
		fail: (request, errorCode) => ({
			throttleTimeMs: 0,
			topics: request.topics.map(({ name, partitionIndexes }) => ({
				name,
				partitions: partitionIndexes.map((partitionIndex) => ({
					partitionIndex,
					errorCode,
					errorMessage: null,
					activeProducers: [],
				})),
			})),
		}),
	})
}
