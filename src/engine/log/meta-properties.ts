/** `meta.properties` of a data dir (19.14): which broker of which cluster the data belongs to. */

import type { Disk } from '../../runtime/ports.js'
import { CheckpointError, readTextFile, replaceFile } from './checkpoint.js'

export const META_FILE = 'meta.properties'

export interface MetaProperties {
	readonly clusterId: string | null
	readonly brokerId: number | null
}

/** Null when the file is absent. Unknown keys (`directory.id` of later versions) are kept out of sight. */
export function readMetaProperties(disk: Disk, directory: string): MetaProperties | null {
	const path = disk.join(directory, META_FILE)
	const text = readTextFile(disk, path)
	if (text === null) return null
	const values = new Map<string, string>()
	for (const line of text.split('\n')) {
		const trimmed = line.trim()
		if (trimmed === '' || trimmed.startsWith('#') || trimmed.startsWith('!')) continue
		const split = /^([^=:\s]+)\s*[=:\s]\s*(.*)$/.exec(trimmed)
		if (split !== null) values.set(split[1] ?? '', split[2] ?? '')
	}
	const version = values.get('version') ?? '0'
	if (version !== '0') throw new CheckpointError(path, `version ${version} (0 is ZooKeeper mode)`)
	const broker = values.get('broker.id')
	if (broker !== undefined && !/^-?\d+$/.test(broker)) throw new CheckpointError(path, `broker.id ${broker}`)
	return { clusterId: values.get('cluster.id') ?? null, brokerId: broker === undefined ? null : Number(broker) }
}

/** Why data of `meta` is not that of `identity` (19.14); null when it is, or has no owner yet. */
export function identityProblem(
	meta: MetaProperties,
	identity: { readonly clusterId: string; readonly brokerId: number },
): string | null {
	if (meta.clusterId !== null && meta.clusterId !== identity.clusterId) {
		return `belongs to cluster ${meta.clusterId}, not ${identity.clusterId}`
	}
	if (meta.brokerId !== null && meta.brokerId !== identity.brokerId) {
		return `belongs to broker ${meta.brokerId}, not ${identity.brokerId}`
	}
	return null
}

export function writeMetaProperties(
	disk: Disk,
	directory: string,
	meta: { clusterId: string; brokerId: number },
): void {
	const lines = ['#', `broker.id=${meta.brokerId}`, 'version=0', `cluster.id=${meta.clusterId}`]
	replaceFile(disk, directory, META_FILE, `${lines.join('\n')}\n`)
}
