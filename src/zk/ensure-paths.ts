/** Makes znodes that may be there already. */

import { isZkError, type ZkSession } from './port.js'

/** Makes `paths` and their parents as persistent nodes with null data, all in one round trip; present ones stay. */
export async function ensurePaths(session: ZkSession, paths: readonly string[]): Promise<void> {
	const wanted = new Set<string>()
	for (const path of paths) {
		for (let slash = path.indexOf('/', 1); slash > 0; slash = path.indexOf('/', slash + 1)) {
			wanted.add(path.slice(0, slash))
		}
		wanted.add(path)
	}
	await Promise.all([...wanted].map((path) => createUnlessPresent(session, path, null)))
}

/** False when the node was there already. */
export async function createUnlessPresent(session: ZkSession, path: string, data: Buffer | null): Promise<boolean> {
	try {
		await session.create(path, data)
		return true
	} catch (error) {
		if (isZkError(error, 'NODE_EXISTS')) return false
		// Without a right on the parent ZooKeeper does not say that the node is there (KAFKA-12866).
		if (isZkError(error, 'NO_AUTH') && (await session.exists(path)) !== null) return false
		throw error
	}
}
