/** Behind `kcli version`: ours, and with `--check` what the brokers speak. */

import { readFileSync } from 'node:fs'
import { CliError, EXIT } from './errors.js'
import type { ItemError } from './item-error.js'
import { type Column, type OutputChoice, printReport, tableOf } from './output.js'
import { isRetriable } from './own-codes.js'
import { servedRelease } from './served-release.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'

export interface VersionChoice extends ConnectionChoice, OutputChoice {
	readonly check: boolean
}

interface VersionItem {
	readonly component: string
	readonly version: string
	/** Calls of ours that it does not serve in a version we speak; null for ourselves. */
	readonly unserved: readonly string[] | null
}

/** The Kafka release whose protocol our brokers and clients speak. */
const PROTOCOL_RELEASE = '3.9'

/** Shows versions; the exit code: 3 when a broker lacks what our commands need. */
export async function showVersion(flags: VersionChoice): Promise<number> {
	const own: VersionItem[] = [
		{ component: 'kcli', version: ownVersion(), unserved: null },
		{ component: 'protocol', version: PROTOCOL_RELEASE, unserved: null },
		{ component: 'node', version: process.versions.node, unserved: null },
	]
	if (!flags.check) return await print(own, null, [], flags)
	return await withCluster(flags, async (session) => {
		const { items, errors } = await brokerVersions(session)
		const code = await print([...own, ...items], session.cluster.clusterId, errors, flags)
		return code === EXIT.done && items.some(({ unserved }) => (unserved ?? []).length > 0) ? EXIT.checkFailed : code
	})
}

function ownVersion(): string {
	const path = new URL('../../package.json', import.meta.url)
	return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

async function brokerVersions({ cluster }: Session): Promise<{ items: VersionItem[]; errors: ItemError[] }> {
	await cluster.refresh([])
	const { NEEDED } = await import('./needed-calls.js')
	const items: VersionItem[] = []
	const errors: ItemError[] = []
	for (const { id } of cluster.nodes) {
		try {
			const connection = await cluster.broker(id)
			const unserved = NEEDED.filter((family) => {
				const theirs = connection.versions.get(family.key)
				return theirs === undefined || theirs.max < family.versions.min || theirs.min > family.versions.max
			})
			items.push({
				component: `broker-${id}`,
				version: servedRelease(connection),
				unserved: unserved.map(({ name }) => name),
			})
		} catch (error) {
			const message = error instanceof Error ? error.message : String(error)
			errors.push({
				item: `broker-${id}`,
				code: 'KCLI_CONNECTION',
				name: 'KCLI_CONNECTION',
				message,
				retriable: isRetriable('KCLI_CONNECTION'),
			})
		}
	}
	if (items.length === 0 && errors.length === 0) throw new CliError('the cluster names no broker')
	return { items, errors }
}

async function print(
	items: readonly VersionItem[],
	clusterId: string | null,
	errors: readonly ItemError[],
	flags: VersionChoice,
): Promise<number> {
	const columns: Column<VersionItem>[] = [
		{ header: 'COMPONENT', value: ({ component }) => component },
		{ header: 'VERSION', value: ({ version }) => version },
		...(flags.check ? [{ header: 'UNSERVED', value: ({ unserved }: VersionItem) => unserved?.join(',') || null }] : []),
	]
	return await printReport(
		{ kind: 'Version', items, errors, clusterId, table: tableOf(items, columns), nameOf: ({ version }) => version },
		flags,
	)
}
