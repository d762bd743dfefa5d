/** The static list of what a broker serves: one line a request. ApiVersions is made from it. */

import { ByteGate } from '../../base/byte-gate.js'
import type { Logger } from '../../runtime/logger.js'
import type { Runtime } from '../../runtime/ports.js'
import type { ZkSession } from '../../zk/port.js'
import type { BrokerConfig } from '../config.js'
import type { Controller } from '../controller/controller.js'
import type { GroupCoordinator } from '../group/coordinator.js'
import type { LogManager } from '../log/manager.js'
import { DEFAULT_LOG_SETTINGS } from '../log/manager-settings.js'
import { ReadMode } from '../log/read-mode.js'
import type { MetadataCache } from '../metadata/cache.js'
import type { ConfigStore } from '../metadata/config-store.js'
import type { MemoryBudget } from '../net/budget.js'
import type { FetchSessions } from '../replica/fetch-session.js'
import type { ReplicaManager } from '../replica/manager.js'
import type { ProducerIds } from '../txn/producer-ids.js'
import { alterConfigsHandler, describeConfigsHandler, incrementalAlterConfigsHandler } from './configs.js'
import type { Handler } from './dispatch.js'
import { fetchHandler } from './fetch.js'
import { groupHandlers } from './group.js'
import { groupOffsetHandlers } from './group-offsets.js'
import { apiVersionsHandler, saslHandlers } from './handshake.js'
import { describeLogDirsHandler } from './log-dirs.js'
import { describeClusterHandler, metadataHandler } from './metadata.js'
import { deleteRecordsHandler, listOffsetsHandler, offsetForLeaderEpochHandler } from './offsets.js'
import { produceHandler } from './produce.js'
import { describeProducersHandler, initProducerIdHandler } from './producer-ids.js'
import type { TopicAdmin } from './topic-admin.js'
import type { TopicCreator } from './topic-creator.js'
import { createPartitionsHandler, createTopicsHandler, deleteTopicsHandler } from './topics.js'

export interface HandlerParts {
	readonly brokerId: number
	readonly clusterId: string
	readonly runtime: Runtime
	readonly session: ZkSession
	readonly log: Logger
	readonly config: BrokerConfig
	readonly configs: ConfigStore
	readonly metadata: MetadataCache
	readonly replicas: ReplicaManager
	readonly logs: LogManager
	readonly controller: Controller
	readonly admin: TopicAdmin
	readonly creator: TopicCreator
	readonly groups: GroupCoordinator
	readonly sessions: FetchSessions
	readonly producerIds: ProducerIds
	readonly budget: MemoryBudget
	/** Version of `/feature`, -1 while it is not there. */
	readonly featureEpoch: () => number
}

export function makeHandlers(parts: HandlerParts): Handler[] {
	const { clock } = parts.runtime
	const { decompressedBytesMax } = DEFAULT_LOG_SETTINGS
	const topics = { ...parts, clock, isController: () => parts.controller.isActive }
	const handlers: Handler[] = [
		produceHandler(parts),
		fetchHandler({
			...parts,
			clock,
			reads: new ReadMode(),
			conversion: {
				compression: parts.runtime.compression,
				decompressedBytesMax,
				plains: new ByteGate(decompressedBytesMax),
				soon: (next) => clock.soon(next),
			},
		}),
		listOffsetsHandler(parts),
		metadataHandler({
			...parts,
			autoCreate: (topic) => parts.creator.autoCreate(topic),
			isAutoCreateEnabled: () => parts.config.boolean('auto.create.topics.enable'),
		}),
		...groupHandlers(parts),
		...groupOffsetHandlers(parts),
		apiVersionsHandler(() => handlers, parts.featureEpoch),
		...saslHandlers(),
		createTopicsHandler(topics),
		deleteTopicsHandler(topics),
		deleteRecordsHandler(parts),
		initProducerIdHandler(parts.producerIds, parts.log.scoped('request')),
		offsetForLeaderEpochHandler(parts),
		describeConfigsHandler(parts),
		alterConfigsHandler(parts),
		describeLogDirsHandler(parts.logs),
		createPartitionsHandler(topics),
		incrementalAlterConfigsHandler(parts),
		describeClusterHandler(parts),
		describeProducersHandler(parts.replicas),
	]
	return handlers.sort((a, b) => a.family.key - b.family.key)
}
