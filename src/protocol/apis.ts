/** The static list of message families: key, name, versions. `dispatch` and the client find codecs through it. */

import { alterConfigs, describeConfigs, incrementalAlterConfigs } from './messages/configs.js'
import { fetch } from './messages/fetch.js'
import {
	deleteGroups,
	describeGroups,
	findCoordinator,
	heartbeat,
	joinGroup,
	leaveGroup,
	listGroups,
	syncGroup,
} from './messages/group.js'
import { offsetCommit, offsetDelete, offsetFetch } from './messages/group-offsets.js'
import { apiVersions, saslAuthenticate, saslHandshake } from './messages/handshake.js'
import { describeCluster, metadata } from './messages/metadata.js'
import { listOffsets, offsetForLeaderEpoch } from './messages/offsets.js'
import { produce } from './messages/produce.js'
import {
	alterPartitionReassignments,
	alterReplicaLogDirs,
	describeLogDirs,
	electLeaders,
	listPartitionReassignments,
} from './messages/reassignment.js'
import {
	allocateProducerIds,
	alterPartition,
	controlledShutdown,
	leaderAndIsr,
	stopReplica,
	updateMetadata,
} from './messages/replication.js'
import { createPartitions, createTopics, deleteRecords, deleteTopics } from './messages/topics.js'
import {
	addOffsetsToTxn,
	addPartitionsToTxn,
	describeProducers,
	describeTransactions,
	endTxn,
	initProducerId,
	listTransactions,
	txnOffsetCommit,
	writeTxnMarkers,
} from './messages/transactions.js'
import type { Family } from './schema.js'

export const FAMILIES: readonly Family[] = [
	produce,
	fetch,
	listOffsets,
	metadata,
	leaderAndIsr,
	stopReplica,
	updateMetadata,
	controlledShutdown,
	offsetCommit,
	offsetFetch,
	findCoordinator,
	joinGroup,
	heartbeat,
	leaveGroup,
	syncGroup,
	describeGroups,
	listGroups,
	saslHandshake,
	apiVersions,
	createTopics,
	deleteTopics,
	deleteRecords,
	initProducerId,
	offsetForLeaderEpoch,
	addPartitionsToTxn,
	addOffsetsToTxn,
	endTxn,
	writeTxnMarkers,
	txnOffsetCommit,
	describeConfigs,
	alterConfigs,
	alterReplicaLogDirs,
	describeLogDirs,
	saslAuthenticate,
	createPartitions,
	deleteGroups,
	electLeaders,
	incrementalAlterConfigs,
	alterPartitionReassignments,
	listPartitionReassignments,
	offsetDelete,
	alterPartition,
	describeCluster,
	describeProducers,
	describeTransactions,
	listTransactions,
	allocateProducerIds,
] as unknown as readonly Family[]

const byKey = new Map(FAMILIES.map((family) => [family.key, family]))

/** The family of an API key; undefined when there is none. */
export function familyOf(key: number): Family | undefined {
	return byKey.get(key)
}
