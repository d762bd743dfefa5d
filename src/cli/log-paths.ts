/** Files of partitions on disk, as people name them: a file, a partition's folder, or `topic:partition` of a data folder. */

import type { Disk } from '../runtime/ports.js'
import { CliError, EXIT } from './errors.js'

/** `orders-0`: topic, hyphen, partition; also of a deleted or a moving one. */
const FOLDER = /-\d+(?:\.[0-9a-f]+-(?:delete|future|stray))?$/

export interface PartitionFolder {
	/** Name of the folder: `orders-0`. */
	readonly name: string
	readonly path: string
	/** Base offsets of its segments, ascending, as they stand in the names of files. */
	readonly segments: readonly string[]
}

/** `topic:partition` inside `dataDir`; anything else as it is. */
export function pathOf(disk: Disk, text: string, dataDir: string): string {
	const match = /^([A-Za-z0-9._-]+):(\d+)$/.exec(text)
	if (match === null || disk.statNow(text) !== null) return text
	return disk.join(dataDir, `${match[1]}-${match[2]}`)
}

/** A partition's folder, or all of a data folder. Throws a {@link CliError} when there is none at `path`. */
export function partitionFolders(disk: Disk, path: string): PartitionFolder[] {
	requireExisting(disk, path)
	const own = folderAt(disk, path)
	if (own.segments.length > 0) return [own]
	const inside = disk
		.listNow(path)
		.filter(({ name, isDirectory }) => isDirectory && FOLDER.test(name))
		.map(({ name }) => folderAt(disk, disk.join(path, name)))
	if (inside.length === 0) {
		throw new CliError(`${path}: no segments there`, EXIT.failed, 'name a folder such as DATA/orders-0, or DATA itself')
	}
	return inside
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
	if (disk.statNow(path) === null) throw new CliError(`${path}: there is no such file or folder`, EXIT.failed)
}
