/** From flags to a cluster: addresses and times, opened for one command and closed after it. */

import { Admin } from '../client/admin.js'
import { Cluster, parseBootstrap } from '../client/cluster.js'
import type { ConsumerSettings } from '../client/consumer.js'
import type { GroupMemberSettings } from '../client/group-member.js'
import type { ProducerSettings } from '../client/producer.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import { usageError } from './errors.js'
import { parseDuration } from './parse.js'

export interface ConnectionChoice {
	readonly 'bootstrap-server': string | undefined
	readonly timeout: string
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
	const text = flags['bootstrap-server'] ?? 'localhost:9092'
	const bootstrap = parseBootstrap(text)
	if (bootstrap === null) throw usageError(`--bootstrap-server wants host:port[,host:port…], not '${text}'`)
	const operationTimeoutMs = parseDuration(flags.timeout, '--timeout')
	const cluster = new Cluster(nodeRuntime(), {
		bootstrap,
		clientId: 'kcli',
		connectTimeoutMs: Math.min(10_000, operationTimeoutMs),
		requestTimeoutMs: operationTimeoutMs,
		operationTimeoutMs,
		retryBackoffMs: 50,
		retryBackoffMaxMs: 1000,
	})
	try {
		return await job({
			cluster,
			admin: new Admin(cluster),
			producerSettings: {},
			consumerSettings: {},
			groupSettings: {},
		})
	} finally {
		await cluster.close()
	}
}
