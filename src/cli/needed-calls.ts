/** The calls that our commands make: what `kcli version --check` looks for on a broker. */

import { describeConfigs, incrementalAlterConfigs } from '../protocol/messages/configs.js'
import { fetch } from '../protocol/messages/fetch.js'
import {
	describeGroups,
	findCoordinator,
	heartbeat,
	joinGroup,
	leaveGroup,
	listGroups,
	syncGroup,
} from '../protocol/messages/group.js'
import { offsetCommit, offsetFetch } from '../protocol/messages/group-offsets.js'
import { metadata } from '../protocol/messages/metadata.js'
import { listOffsets } from '../protocol/messages/offsets.js'
import { produce } from '../protocol/messages/produce.js'
import { describeLogDirs } from '../protocol/messages/reassignment.js'
import { createPartitions, createTopics, deleteTopics } from '../protocol/messages/topics.js'
import type { Family } from '../protocol/schema.js'

export const NEEDED: readonly Pick<Family, 'key' | 'name' | 'versions'>[] = [
	produce,
	fetch,
	listOffsets,
	metadata,
	offsetCommit,
	offsetFetch,
	findCoordinator,
	joinGroup,
	heartbeat,
	leaveGroup,
	syncGroup,
	describeGroups,
	listGroups,
	createTopics,
	deleteTopics,
	createPartitions,
	describeConfigs,
	incrementalAlterConfigs,
	describeLogDirs,
]
