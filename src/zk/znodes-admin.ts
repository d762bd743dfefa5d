/**
 * Znodes by which brokers, tools and the controller ask and notify one another, and those of access control: requests
 * under `/admin`, sequential notifications, ACLs, delegation tokens, old consumer offsets. As `znodes.ts`: pure, bytes of
 * Apache Kafka 3.9, decoders throw `ZnodeFormatError`.
 */

import {
	decimal,
	integer,
	integers,
	json,
	list,
	object,
	optional,
	parse,
	text,
	ZnodeFormatError,
} from './znode-json.js'
import { sanitize } from './znodes.js'

/** Asks the controller to delete a topic; null data. */
export const deleteTopicZnode = {
	root: '/admin/delete_topics',
	path: (topic: string): string => `/admin/delete_topics/${topic}`,
}

export interface ReassignmentRequest {
	readonly topic: string
	readonly partition: number
	readonly replicas: readonly number[]
}

/** Old way to ask for reassignments; the controller takes entries out as they finish. */
export const reassignPartitionsZnode = {
	path: '/admin/reassign_partitions',
	encode: (partitions: readonly ReassignmentRequest[]): Buffer => json({ version: 1, partitions }),
	decode: (data: Buffer | null): ReassignmentRequest[] =>
		parse('reassign partitions', data, (root) =>
			list(root['partitions']).map((item) => {
				const entry = object(item)
				return {
					topic: text(entry['topic']),
					partition: integer(entry['partition']),
					replicas: integers(entry['replicas']),
				}
			}),
		),
}

export interface TopicPartitionEntry {
	readonly topic: string
	readonly partition: number
}

const encodePartitions = (partitions: readonly TopicPartitionEntry[]): Buffer =>
	json({ version: 1, partitions: partitions.map(({ topic, partition }) => ({ topic, partition })) })

const decodePartitions = (znode: string, data: Buffer | null): TopicPartitionEntry[] =>
	parse(znode, data, (root) =>
		list(root['partitions']).map((item) => {
			const entry = object(item)
			return { topic: text(entry['topic']), partition: integer(entry['partition']) }
		}),
	)

/** Old way to ask for the preferred leaders; the controller deletes it when done. */
export const preferredElectionZnode = {
	path: '/admin/preferred_replica_election',
	encode: encodePartitions,
	decode: (data: Buffer | null): TopicPartitionEntry[] => decodePartitions('preferred election', data),
}

/** Leaders of an older inter-broker version name partitions whose ISR they changed. */
export const isrChangeZnode = {
	root: '/isr_change_notification',
	prefix: '/isr_change_notification/isr_change_',
	encode: encodePartitions,
	decode: (data: Buffer | null): TopicPartitionEntry[] => decodePartitions('isr change', data),
}

/** A broker lost a log folder (event 1). Decodes to the broker's id. */
export const logDirEventZnode = {
	root: '/log_dir_event_notification',
	prefix: '/log_dir_event_notification/log_dir_event_',
	encode: (brokerId: number): Buffer => json({ version: 1, broker: brokerId, event: 1 }),
	decode: (data: Buffer | null): number => parse('log dir event', data, (root) => integer(root['broker'])),
}

/** Offset committed by OffsetCommit v0, as decimal text. */
export const consumerOffsetZnode = {
	path: (group: string, topic: string, partition: number): string =>
		`/consumers/${group}/offsets/${topic}/${partition}`,
	encode: (offset: number): Buffer => Buffer.from(String(offset)),
	decode: (data: Buffer | null): number => decimal('consumer offset', data),
}

export interface DelegationTokenInfo {
	readonly tokenId: string
	/** Principals in full, `User:alice`. */
	readonly owner: string
	readonly requester: string
	readonly renewers: readonly string[]
	readonly issueMs: number
	readonly maxMs: number
	readonly expiryMs: number
}

const principal = (value: unknown): string => decodeURIComponent(text(value))

/** A delegation token; principals are sanitized. Versions 1 and 2 lack the requester: it is the owner. */
export const delegationTokenZnode = {
	root: '/delegation_token/tokens',
	path: (tokenId: string): string => `/delegation_token/tokens/${tokenId}`,
	encode: (token: DelegationTokenInfo): Buffer =>
		json({
			issueTimestamp: token.issueMs,
			renewers: token.renewers.map(sanitize),
			tokenRequester: sanitize(token.requester),
			tokenId: token.tokenId,
			owner: sanitize(token.owner),
			expiryTimestamp: token.expiryMs,
			maxTimestamp: token.maxMs,
			version: 3,
		}),
	decode: (data: Buffer | null): DelegationTokenInfo =>
		parse('delegation token', data, (root) => {
			const owner = principal(root['owner'])
			return {
				tokenId: text(root['tokenId']),
				owner,
				requester: optional(root['tokenRequester'], principal, owner),
				renewers: list(root['renewers']).map(principal),
				issueMs: integer(root['issueTimestamp']),
				maxMs: integer(root['maxTimestamp']),
				expiryMs: integer(root['expiryTimestamp']),
			}
		}),
}

/** Names a token that changed, as plain text. */
export const tokenChangeZnode = {
	root: '/delegation_token/token_changes',
	prefix: '/delegation_token/token_changes/token_change_',
	encode: (tokenId: string): Buffer => Buffer.from(tokenId),
	decode: (data: Buffer | null): string => data?.toString('utf8') ?? '',
}

/** Resource types as ACL paths spell them, and as change notifications do. */
export const ACL_RESOURCE_TYPES = {
	Topic: 'TOPIC',
	Group: 'GROUP',
	Cluster: 'CLUSTER',
	TransactionalId: 'TRANSACTIONAL_ID',
	DelegationToken: 'DELEGATION_TOKEN',
	User: 'USER',
} as const

export type AclResourceType = keyof typeof ACL_RESOURCE_TYPES
export type AclPatternType = 'literal' | 'prefixed'

export interface AclResource {
	readonly type: AclResourceType
	readonly name: string
	readonly pattern: AclPatternType
}

export interface AclEntry {
	readonly principal: string
	/** `Allow` or `Deny`. */
	readonly permissionType: string
	readonly host: string
	/** `Read`, `DescribeConfigs` … */
	readonly operation: string
}

/** Stores of literal and of prefixed patterns. */
export const ACL_ROOTS: Readonly<Record<AclPatternType, string>> = {
	literal: '/kafka-acl',
	prefixed: '/kafka-acl-extended/prefixed',
}

/** The ACLs of one resource; the node goes when the list empties. */
export const aclZnode = {
	typePath: (pattern: AclPatternType, type: AclResourceType): string => `${ACL_ROOTS[pattern]}/${type}`,
	path: ({ pattern, type, name }: AclResource): string => `${ACL_ROOTS[pattern]}/${type}/${name}`,
	encode: (acls: readonly AclEntry[]): Buffer =>
		json({
			acls: acls.map(({ principal, permissionType, host, operation }) => ({
				principal,
				permissionType,
				host,
				operation,
			})),
			version: 1,
		}),
	decode: (data: Buffer | null): AclEntry[] => {
		if (data === null || data.length === 0) return []
		return parse('acl', data, (root) =>
			list(root['acls']).map((item) => {
				const entry = object(item)
				return {
					principal: text(entry['principal']),
					permissionType: text(entry['permissionType']),
					host: text(entry['host']),
					operation: text(entry['operation']),
				}
			}),
		)
	},
}

/** Names a resource whose ACLs changed: `TOPIC:name` for literal patterns, JSON for prefixed ones. */
export const aclChangeZnode = {
	root: (pattern: AclPatternType): string =>
		pattern === 'literal' ? '/kafka-acl-changes' : '/kafka-acl-extended-changes',
	prefix: (pattern: AclPatternType): string => `${aclChangeZnode.root(pattern)}/acl_changes_`,
	encode: ({ type, name, pattern }: AclResource): Buffer =>
		pattern === 'literal'
			? Buffer.from(`${ACL_RESOURCE_TYPES[type]}:${name}`)
			: json({ version: 1, resourceType: ACL_RESOURCE_TYPES[type], name, patternType: 'PREFIXED' }),
	decode: (pattern: AclPatternType, data: Buffer | null): AclResource => {
		if (pattern === 'prefixed') {
			return parse('acl change', data, (root) => ({
				type: aclResourceType(text(root['resourceType'])),
				name: text(root['name']),
				pattern,
			}))
		}
		const line = data?.toString('utf8') ?? ''
		const colon = line.indexOf(':')
		return { type: aclResourceType(line.slice(0, Math.max(0, colon))), name: line.slice(colon + 1), pattern }
	},
}

function aclResourceType(upper: string): AclResourceType {
	for (const [type, name] of Object.entries(ACL_RESOURCE_TYPES)) if (name === upper) return type as AclResourceType
	throw new ZnodeFormatError('acl change', upper)
}
