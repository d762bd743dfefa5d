/** An offline check of a data dir: its checkpoints against the logs that they speak of. */

import { partitionKey } from '../../../base/ids.js'
import type { Disk } from '../../../runtime/ports.js'
import {
	CheckpointError,
	CLEANER_FILE,
	HIGH_WATERMARK_FILE,
	LOG_START_FILE,
	RECOVERY_POINT_FILE,
	readOffsetCheckpoint,
} from '../checkpoint.js'
import { CLEAN_SHUTDOWN_FILE } from '../data-dir.js'
import { readFolderName } from '../folder.js'
import { type Fault, Faults } from './finding.js'

/** What a partition's check needs of the data dir around it. */
export interface DirFacts {
	/** By `topic-partition`; a name that is absent begins at its first segment. */
	readonly logStarts: ReadonlyMap<string, number>
	readonly recoveryPoints: ReadonlyMap<string, number>
	readonly highWatermarks: ReadonlyMap<string, number>
	/** Logs that were compacted, and how far. */
	readonly cleaned: ReadonlyMap<string, number>
	/** The dir has checkpoints at all: a partition's folder may lie anywhere. */
	readonly isDataDir: boolean
	/** The last stop was clean: everything is below its recovery point. */
	readonly isClean: boolean
}

/** Where a log begins and ends, as its batches tell. */
export interface LogSpan {
	readonly firstOffset: number
	readonly nextOffset: number
}

function readOrFault(disk: Disk, directory: string, name: string, faults: Faults): ReadonlyMap<string, number> {
	try {
		return readOffsetCheckpoint(disk, directory, name)
	} catch (error) {
		if (!(error instanceof CheckpointError)) throw error
		faults.add('checkpoint', error.path, 0, null, error.problem)
		return new Map()
	}
}

/** Reads what {@link checkDir} and the checks of partitions need; files that are no checkpoints are faults. */
export function readDirFacts(disk: Disk, directory: string, faults: Faults): DirFacts {
	return {
		logStarts: readOrFault(disk, directory, LOG_START_FILE, faults),
		recoveryPoints: readOrFault(disk, directory, RECOVERY_POINT_FILE, faults),
		highWatermarks: readOrFault(disk, directory, HIGH_WATERMARK_FILE, faults),
		cleaned: readOrFault(disk, directory, CLEANER_FILE, faults),
		isDataDir: disk.statNow(disk.join(directory, RECOVERY_POINT_FILE)) !== null,
		isClean: disk.statNow(disk.join(directory, CLEAN_SHUTDOWN_FILE)) !== null,
	}
}

/** Names of partition folders in a data dir, in order. */
export function partitionFolders(disk: Disk, directory: string): string[] {
	return disk
		.listNow(directory)
		.filter(({ name, isDirectory }) => isDirectory && readFolderName(name).kind === 'partition')
		.map(({ name }) => name)
}

/**
 * The checkpoints of `directory` against `spans` (by `topic-partition`): no offset lies outside its log. With `isWhole`, all
 * partitions are in `spans`: one that a checkpoint names and that has no folder is a fault after a clean stop, which writes
 * them anew, and a note otherwise.
 */
export function checkDir(
	disk: Disk,
	directory: string,
	spans: ReadonlyMap<string, LogSpan>,
	isWhole: boolean,
): { readonly faults: readonly Fault[]; readonly notes: readonly string[] } {
	const faults = new Faults()
	const notes: string[] = []
	const facts = readDirFacts(disk, directory, faults)
	const absent = new Set<string>()
	for (const [name, offsets] of [
		[RECOVERY_POINT_FILE, facts.recoveryPoints],
		[LOG_START_FILE, facts.logStarts],
		[HIGH_WATERMARK_FILE, facts.highWatermarks],
		[CLEANER_FILE, facts.cleaned],
	] as const) {
		const path = disk.join(directory, name)
		for (const [key, offset] of offsets) {
			const span = spans.get(key)
			if (span === undefined) {
				if (!isWhole || absent.has(key)) continue
				absent.add(key)
				const folder = disk.join(directory, key)
				if (facts.isClean) faults.add('missing', folder, null, offset, `${name} names it, and there is no such folder`)
				else notes.push(`${folder}: ${name} names it, and there is no such folder`)
			} else if (offset < 0 || offset > span.nextOffset) {
				faults.add('checkpoint', path, null, offset, `${key} has ${offset}, its log ends at ${span.nextOffset}`)
			} else if (name === RECOVERY_POINT_FILE && facts.isClean && offset !== span.nextOffset) {
				const text = `${key} has ${offset} after a clean stop, its log ends at ${span.nextOffset}`
				faults.add('checkpoint', path, null, offset, text)
			}
		}
	}
	return { faults: faults.all, notes }
}

/** The checkpoint's key of a partition folder. */
export function keyOfFolder(name: string): string | null {
	const folder = readFolderName(name)
	return folder.kind === 'partition' ? partitionKey(folder.key.topic, folder.key.partition) : null
}
