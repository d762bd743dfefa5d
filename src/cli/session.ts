/** From flags and client properties to a cluster: opened for one command and closed after it. */

import { Admin } from '../client/admin.js'
import { Cluster, type ClusterSettings, parseBootstrap } from '../client/cluster.js'
import type { ConsumerSettings } from '../client/consumer-settings.js'
import type { GroupMemberSettings } from '../client/group-member.js'
import type { ProducerSettings } from '../client/producer.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import type { Runtime } from '../runtime/ports.js'
import type { ClientProperties } from './client-properties.js'
import { usageError } from './errors.js'
import { parseDuration } from './parse.js'

export interface ConnectionChoice {
	readonly 'bootstrap-server': string | undefined
	readonly timeout: string
	readonly 'log-level'?: string | undefined
	readonly verbose?: boolean
	readonly property?: readonly string[] | undefined
	readonly 'command-config'?: string | undefined
}

export interface Session {
	readonly cluster: Cluster
	readonly admin: Admin
	/** What client properties say of producing; flags come before them. */
	readonly producerSettings: Partial<ProducerSettings>
	readonly consumerSettings: Partial<ConsumerSettings>
	readonly groupSettings: Partial<GroupMemberSettings>
}

/** Opens what `flags` name, runs `job`, and closes it whatever happens. */
export async function withCluster<T>(flags: ConnectionChoice, job: (session: Session) => Promise<T>): Promise<T> {
	const properties = await propertiesOf(flags)
	const text = flags['bootstrap-server'] ?? properties?.bootstrap ?? 'localhost:9092'
	const bootstrap = parseBootstrap(text)
	if (bootstrap === null) throw usageError(`--bootstrap-server wants host:port[,host:port…], not '${text}'`)
	const operationTimeoutMs = parseDuration(flags.timeout, '--timeout')
	if (operationTimeoutMs <= 0) throw usageError(`--timeout wants more than nothing, not '${flags.timeout}'`)
	const runtime = nodeRuntime()
	const cluster = new Cluster(runtime, {
		bootstrap,
		clientId: properties?.clientId ?? 'kcli',
		connectTimeoutMs: properties?.connectTimeoutMs ?? Math.min(10_000, operationTimeoutMs),
		requestTimeoutMs: properties?.requestTimeoutMs ?? operationTimeoutMs,
		operationTimeoutMs,
		retryBackoffMs: properties?.retryBackoffMs ?? 50,
		retryBackoffMaxMs: properties?.retryBackoffMaxMs ?? 1000,
		...(await loggerOf(flags)),
		...(properties === null ? {} : await securityOf(properties, runtime)),
	})
	try {
		return await job({
			cluster,
			admin: new Admin(cluster),
			producerSettings: producerOf(properties, operationTimeoutMs),
			consumerSettings: consumerOf(properties),
			groupSettings: groupOf(properties),
		})
	} finally {
		await cluster.close()
	}
}

/** Absent at the default level: nothing is loaded, and nothing is noted. */
async function loggerOf(flags: ConnectionChoice): Promise<Pick<ClusterSettings, 'logger'>> {
	const level = flags['log-level'] ?? (flags.verbose === true ? 'debug' : 'warn')
	if (level !== 'info' && level !== 'debug') return {}
	const { openLogger } = await import('./log-output.js')
	return { logger: openLogger({ level, format: 'text', file: null }).scoped('client') }
}

/** Null without `-X` and `--command-config`: what reads them is not even loaded. */
async function propertiesOf(flags: ConnectionChoice): Promise<ClientProperties | null> {
	const pairs = flags.property ?? []
	const file = flags['command-config'] ?? null
	if (pairs.length === 0 && file === null) return null
	const { readClientProperties } = await import('./client-properties.js')
	return readClientProperties(pairs, file)
}

async function securityOf(
	{ tls, sasl }: ClientProperties,
	{ random }: Runtime,
): Promise<Pick<ClusterSettings, 'tls' | 'authenticate'>> {
	if (sasl === null) return tls === null ? {} : { tls }
	const { saslAuthenticator } = await import('../client/sasl.js')
	const { NodeDigest } = await import('../runtime/node-digest.js')
	return { ...(tls === null ? {} : { tls }), authenticate: saslAuthenticator(sasl, new NodeDigest(), random) }
}

/** Only what was given: absent keys keep the client's own values. */
function given<T extends Record<string, unknown>>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
	const kept: { [K in keyof T]?: NonNullable<T[K]> } = {}
	for (const [name, value] of Object.entries(values)) {
		if (value !== null && value !== undefined) kept[name as keyof T] = value as NonNullable<T[keyof T]>
	}
	return kept
}

function producerOf(properties: ClientProperties | null, operationTimeoutMs: number): Partial<ProducerSettings> {
	return given({
		lingerMs: properties?.lingerMs,
		batchBytesMax: properties?.batchBytes,
		bufferBytesMax: properties?.bufferBytes,
		compressionLevel: properties?.compressionLevel,
		ackTimeoutMs: operationTimeoutMs,
		deliveryTimeoutMs: properties?.deliveryTimeoutMs ?? operationTimeoutMs,
	})
}

function consumerOf(properties: ClientProperties | null): Partial<ConsumerSettings> {
	return given({
		waitMsMax: properties?.fetchWaitMs,
		bytesMin: properties?.fetchBytesMin,
		bytesMax: properties?.fetchBytesMax,
		partitionBytesMax: properties?.partitionBytesMax,
		rackId: properties?.rack,
	})
}

function groupOf(properties: ClientProperties | null): Partial<GroupMemberSettings> {
	return given({
		instanceId: properties?.instanceId,
		sessionTimeoutMs: properties?.sessionTimeoutMs,
		rebalanceTimeoutMs: properties?.rebalanceTimeoutMs,
		heartbeatMs: properties?.heartbeatMs,
	})
}
