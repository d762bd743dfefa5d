/** Files of partitions on disk, as people name them: a file, a partition's folder, or `topic:partition` of a data folder. */

import type { Disk } from '../runtime/ports.js'
import { CliError, EXIT, usageError } from './errors.js'

/** `orders-0`: topic, hyphen, partition; also of a deleted or a moving one. */
const FOLDER = /-\d+(?:\.[0-9a-f]+-(?:delete|future|stray))?$/

export interface PartitionFolder {
	/** Name of the folder: `orders-0`. */
	readonly name: string
	readonly path: string
	/** Base offsets of its segments, ascending, as they stand in the names of files. */
	readonly segments: readonly string[]
}

/** `topic:partition` inside `dataDir` (several, parted by commas), or a broker's folder in it; anything else as it is. */
export function pathOf(disk: Disk, text: string, dataDir: string): string {
	const match = /^([A-Za-z0-9._-]+):(\d+)$/.exec(text)
	if (match === null || disk.statNow(text) !== null) return text
	const name = `${match[1]}-${match[2]}`
	const dirs = dataDir.split(',').filter((each) => each !== '')
	const paths = dirs.flatMap((each) => [each, ...brokersIn(disk, each)]).map((each) => disk.join(each, name))
	return paths.find((path) => disk.statNow(path) !== null) ?? disk.join(dirs[0] ?? '.', name)
}

/** Data folders of brokers directly inside a folder, as `kcli broker start` makes them by default. */
function brokersIn(disk: Disk, path: string): string[] {
	if (disk.statNow(path)?.isDirectory !== true) return []
	return disk
		.listNow(path)
		.filter(({ name, isDirectory }) => isDirectory && disk.statNow(disk.join(path, name, 'meta.properties')) !== null)
		.map(({ name }) => disk.join(path, name))
}

/** A partition's folder, or all of a data folder. Throws a {@link CliError} when there is none at `path`. */
export function partitionFolders(disk: Disk, path: string): PartitionFolder[] {
	requireExisting(disk, path)
	if (disk.statNow(path)?.isDirectory !== true) {
		throw new CliError(
			`${path}: no folder`,
			EXIT.usage,
			"name a partition's folder such as DATA/orders-0, or DATA itself",
		)
	}
	const own = folderAt(disk, path)
	if (own.segments.length > 0 || isPartition(disk, path)) return [own]
	const inside = [path, ...brokersIn(disk, path)].flatMap((dir) =>
		disk
			.listNow(dir)
			.filter(({ name, isDirectory }) => isDirectory && FOLDER.test(name))
			.map(({ name }) => folderAt(disk, disk.join(dir, name)))
			// Folders of others may be named alike: `dbus-1`, `broker-1`.
			.filter(({ path: folder, segments }) => segments.length > 0 || isPartition(disk, folder)),
	)
	if (inside.length === 0) {
		throw new CliError(`${path}: no segments there`, EXIT.failed, 'name a folder such as DATA/orders-0, or DATA itself')
	}
	return inside
}

/** Without a segment it is a partition's folder by the files that only those have. */
function isPartition(disk: Disk, path: string): boolean {
	return ['partition.metadata', 'leader-epoch-checkpoint'].some((name) => disk.statNow(disk.join(path, name)) !== null)
}

function folderAt(disk: Disk, path: string): PartitionFolder {
	const segments = disk
		.listNow(path)
		.filter(({ name, isDirectory }) => !isDirectory && /^\d{20}\.log$/.test(name))
		.map(({ name }) => name.slice(0, -4))
		.sort()
	return { name: path.replace(/[/\\]+$/, '').replace(/^.*[/\\]/, ''), path, segments }
}

export function requireExisting(disk: Disk, path: string): void {
	if (path === '') throw usageError('a name is empty', 'Is a variable not set?')
	if (disk.statNow(path) === null) throw new CliError(`${path}: there is no such file or folder`, EXIT.failed)
}
