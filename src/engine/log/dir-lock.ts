/**
 * Keeps a data dir to one broker (19.15, DESIGN "Folder lock"). Node has no flock: the claim is a bound local socket,
 * which dies with its process; `.lock` says who holds it; and on Linux the inode of `.lock` is looked for among the
 * system's file locks, so that a running Java broker is seen. A Java broker does not see us by that: our clean-shutdown
 * and lock files are all it could look at.
 */

import type { Disk, Host, HostClaim } from '../../runtime/ports.js'

export const LOCK_FILE = '.lock'

/** Another process works in the folder. */
export class DirLockedError extends Error {
	override readonly name = 'DirLockedError'
	constructor(
		readonly directory: string,
		readonly holder: string,
	) {
		super(`${directory} is in use by ${holder}`)
	}
}

/** Takes the lock or throws {@link DirLockedError}; the claim is released on clean stop and by the system on a crash. */
export async function lockDirectory(disk: Disk, host: Host, directory: string): Promise<HostClaim> {
	const claim = await host.claim(directory)
	const path = disk.join(directory, LOCK_FILE)
	if (claim === null) {
		const content = disk.statNow(path) === null ? '' : disk.readFileNow(path).toString('utf8')
		const pid = /^pid \d+/.exec(content)?.[0]
		throw new DirLockedError(directory, pid === undefined ? 'another kcli broker' : `another kcli broker (${pid})`)
	}
	const stat = disk.statNow(path)
	const pid = stat === null ? null : host.lockHolder(stat.inode)
	if (pid !== null) {
		await claim.release()
		throw new DirLockedError(directory, `an Apache Kafka broker (pid ${pid})`)
	}
	const file = disk.openNow(path, 'create')
	try {
		file.truncateNow(0)
		file.writeNow([Buffer.from(`pid ${host.pid} started ${host.startedMs} boot ${host.bootId}\n`)], 0)
	} finally {
		file.closeNow()
	}
	return claim
}

/**
 * Throws {@link DirLockedError} when the folder is in another broker's hands now. For a clear word before anything else
 * is started; the lock itself decides.
 */
export async function assertDirectoryFree(disk: Disk, host: Host, directory: string): Promise<void> {
	if (disk.statNow(directory) !== null) await (await lockDirectory(disk, host, directory)).release()
}
