/** Behind `kcli cluster info`. */

import { selectTopics } from '../ops/topic-view.js'
import { type OutputChoice, type Page, printReport, tableOf } from './output.js'
import { withSpinner } from './progress.js'
import { servedRelease } from './served-release.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'

export interface ClusterInfoChoice extends ConnectionChoice, OutputChoice {}

interface BrokerInfo {
	readonly id: number
	readonly host: string
	readonly port: number
	readonly rack: string | null
	readonly isController: boolean
	/** Kafka release whose protocol it speaks, `3.9`; null when it cannot be asked. */
	readonly release: string | null
	readonly leaders: number
	readonly replicas: number
	/** Of all replicas on it; null when it cannot be asked. */
	readonly bytes: number | null
}

interface ClusterInfo {
	readonly clusterId: string | null
	readonly controller: number | null
	readonly topics: number
	readonly partitions: number
	readonly underReplicated: number
	readonly offline: number
	readonly brokers: readonly BrokerInfo[]
}

/** Shows a cluster and its brokers; the exit code. */
export async function showClusterInfo(flags: ClusterInfoChoice): Promise<number> {
	return await withCluster(flags, async (session) => {
		const info = await withSpinner('asking the brokers', flags, () => gather(session))
		return await printReport(
			{
				kind: 'ClusterInfo',
				items: [info],
				errors: [],
				clusterId: info.clusterId,
				table: brokersTable(info),
				nameOf: ({ clusterId }) => clusterId ?? '',
				page: (page) => writePage(page, info),
			},
			flags,
		)
	})
}

async function gather(session: Session): Promise<ClusterInfo> {
	const { cluster } = session
	const { topics } = await selectTopics(cluster, [], { includeInternal: true, isRegex: false })
	const partitions = topics.flatMap((topic) => topic.partitions)
	const { nodes, controllerId, clusterId } = cluster
	const [releases, bytes] = await Promise.all([
		Promise.all(nodes.map(({ id }) => cluster.broker(id).then(servedRelease, () => null))),
		sizes(session),
	])
	return {
		clusterId,
		controller: controllerId < 0 ? null : controllerId,
		topics: topics.length,
		partitions: partitions.length,
		underReplicated: topics.reduce((sum, { underReplicated }) => sum + underReplicated, 0),
		offline: topics.reduce((sum, { offline }) => sum + offline, 0),
		brokers: nodes.map(({ id, host, port, rack }, i) => ({
			id,
			host,
			port,
			rack,
			isController: id === controllerId,
			release: releases[i] ?? null,
			leaders: partitions.filter(({ leader }) => leader === id).length,
			replicas: partitions.filter(({ replicas }) => replicas.includes(id)).length,
			bytes: bytes.get(id) ?? null,
		})),
	}
}

/** Bytes by broker; a cluster that does not tell has none. */
async function sizes({ admin }: Session): Promise<ReadonlyMap<number, number>> {
	const dirs = await admin.describeLogDirs().catch(() => [])
	return new Map(
		dirs.map(({ broker, dirs: held }) => [
			broker,
			held
				.flatMap(({ topics }) => topics.flatMap(({ partitions }) => partitions))
				.reduce((sum, { partitionSize }) => sum + partitionSize, 0),
		]),
	)
}

async function writePage(page: Page, info: ClusterInfo): Promise<void> {
	page.pairs([
		['cluster', info.clusterId],
		['controller', info.controller],
		['brokers', info.brokers.length],
		['topics', page.count(info.topics)],
		['partitions', page.count(info.partitions)],
		['under-replicated', info.underReplicated],
		['offline', info.offline],
	])
	page.line()
	await page.table(brokersTable(info))
}

function brokersTable({ brokers }: ClusterInfo) {
	return tableOf(brokers, [
		{ header: 'BROKER', value: ({ id }) => id },
		{ header: 'HOST', value: ({ host }) => host },
		{ header: 'PORT', value: ({ port }) => port },
		{ header: 'RACK', value: ({ rack }) => rack },
		{ header: 'CONTROLLER', value: ({ isController }) => (isController ? 'yes' : 'no') },
		{ header: 'RELEASE', value: ({ release }) => release },
		{ header: 'LEADERS', value: ({ leaders }) => leaders, unit: 'count' },
		{ header: 'REPLICAS', value: ({ replicas }) => replicas, unit: 'count' },
		{ header: 'SIZE', value: ({ bytes }) => bytes, unit: 'bytes' },
	])
}
