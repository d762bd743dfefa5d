/**
 * The files of a partition's folder at start: leftovers of deletions and of the cleaner are settled (20.6), what belongs
 * to a segment is told from what does not; `partition.metadata` is read and written (19.11).
 */

import { parsePartitionKey, type TopicId, type TopicPartition } from '../../base/ids.js'
import type { Logger } from '../../runtime/logger.js'
import type { Disk } from '../../runtime/ports.js'
import { CheckpointError, readTextFile, replaceUnsynced } from './checkpoint.js'
import { SegmentScan } from './scan.js'
import { lastOffsetOf, segmentName } from './segment.js'

export const METADATA_FILE = 'partition.metadata'
const NAME_MAX = 255

/** What stands in a folder once it is tidy. */
export interface FolderFiles {
	/** Base offsets of `.log` files, ascending. */
	readonly bases: readonly number[]
	/** Names of index files that exist. */
	readonly names: ReadonlySet<string>
	/** Offsets of `.snapshot` files. */
	readonly snapshots: readonly number[]
}

const SEGMENT_FILE = /^(\d{20})\.(log|index|timeindex|txnindex|snapshot)(\.cleaned|\.swap|\.deleted)?$/

interface Found {
	readonly name: string
	readonly base: number
	readonly kind: string
	readonly state: string
}

function list(disk: Disk, directory: string): Found[] {
	const found: Found[] = []
	for (const { name, isDirectory } of disk.listNow(directory)) {
		const match = isDirectory ? null : SEGMENT_FILE.exec(name)
		if (match === null) continue
		found.push({ name, base: Number(match[1]), kind: match[2] ?? '', state: match[3] ?? '' })
	}
	return found
}

/**
 * Removes `.deleted` and `.cleaned` files, finishes swaps and drops indexes without a log. A `.swap` at or above the lowest
 * `.cleaned` offset belongs to a cleaning that did not end: it goes first, so that a crash in here changes nothing. Any
 * other takes the place of all that its log file covers.
 */
export function tidyFolder(disk: Disk, directory: string, logger: Logger): FolderFiles {
	let files = list(disk, directory)
	let cleanedMin = Number.POSITIVE_INFINITY
	for (const file of files) if (file.state === '.cleaned') cleanedMin = Math.min(cleanedMin, file.base)
	const swaps = files.filter((file) => file.state === '.swap' && file.base < cleanedMin)
	const doomed = files.filter((file) => file.state === '.swap' && file.base >= cleanedMin)
	doomed.push(...files.filter((file) => file.state === '.cleaned' || file.state === '.deleted'))
	doomed.push(...replacedBy(disk, directory, files, swaps))
	for (const { name } of doomed) disk.removeNow(disk.join(directory, name))
	if (doomed.length > 0) disk.syncDirectoryNow(directory)
	for (const { name } of swaps) {
		const plain = name.slice(0, -'.swap'.length)
		logger.info('a finished cleaning is put in place', { file: disk.join(directory, plain) })
		disk.renameNow(disk.join(directory, name), disk.join(directory, plain))
	}
	if (swaps.length > 0) disk.syncDirectoryNow(directory)
	if (doomed.length > 0 || swaps.length > 0) files = list(disk, directory)
	const bases = files.filter((file) => file.kind === 'log').map((file) => file.base)
	const hasLog = new Set(bases)
	const names = new Set<string>()
	for (const file of files) {
		if (file.kind === 'log' || file.kind === 'snapshot') continue
		if (hasLog.has(file.base)) names.add(file.name)
		else disk.removeNow(disk.join(directory, file.name))
	}
	const snapshots = files.filter((file) => file.kind === 'snapshot').map((file) => file.base)
	return { bases: bases.sort((a, b) => a - b), names, snapshots }
}

/** Files in place of segments that the swapped logs were made from and that are still there. */
function replacedBy(disk: Disk, directory: string, files: readonly Found[], swaps: readonly Found[]): Found[] {
	const replaced: Found[] = []
	for (const swap of swaps.filter((file) => file.kind === 'log')) {
		const end = endOffsetOf(disk, disk.join(directory, swap.name))
		for (const file of files) {
			if (file.state !== '' || file.kind === 'snapshot') continue
			if (file.base >= swap.base && file.base < Math.max(end, swap.base + 1)) replaced.push(file)
		}
	}
	return replaced
}

/** Offset after the last whole batch of a log file, 0 when it has none. */
function endOffsetOf(disk: Disk, path: string): number {
	const file = disk.openNow(path, 'read')
	try {
		const scan = new SegmentScan(file, 0, file.sizeNow())
		let end = 0
		while (scan.next()) end = lastOffsetOf(scan.bytes, scan.at) + 1
		return end
	} finally {
		file.closeNow()
	}
}

export function hasIndexes(files: FolderFiles, base: number): boolean {
	const stem = segmentName(base)
	return files.names.has(`${stem}.index`) && files.names.has(`${stem}.timeindex`)
}

/** Topic id of the partition in `directory`, null when the file is absent. Throws {@link CheckpointError}. */
export function readPartitionMetadata(disk: Disk, directory: string): TopicId | null {
	const path = disk.join(directory, METADATA_FILE)
	const text = readTextFile(disk, path)
	if (text === null) return null
	const match = /^version: 0\ntopic_id: ([A-Za-z0-9_-]{22})\n?$/.exec(text)
	if (match === null) throw new CheckpointError(path, 'not version 0 with a topic id')
	return match[1] as TopicId
}

export function writePartitionMetadata(disk: Disk, directory: string, topicId: TopicId): void {
	// Its name becomes durable with those of the log's other files, at the first flush.
	replaceUnsynced(disk, directory, METADATA_FILE, `version: 0\ntopic_id: ${topicId}\n`, true)
}

/** What the name of a folder in a data dir says. */
export type FolderName =
	| { readonly kind: 'partition'; readonly key: TopicPartition }
	| { readonly kind: 'deleted' | 'future' | 'stray' }
	| { readonly kind: 'other' }

const SUFFIXED = /\.[0-9a-f]{32}-(delete|future|stray)$/

/** Reads a folder name, split at its last separators only (KAFKA-5232: topics have dots and dashes). */
export function readFolderName(name: string): FolderName {
	const suffixed = SUFFIXED.exec(name)
	if (suffixed !== null) {
		return { kind: suffixed[1] === 'delete' ? 'deleted' : suffixed[1] === 'future' ? 'future' : 'stray' }
	}
	const key = parsePartitionKey(name)
	return key === null ? { kind: 'other' } : { kind: 'partition', key }
}

/** `<topic>-<partition>.<32 hex>-delete`, the topic cut so that it fits a file name (19.1). */
export function suffixedName(key: string, randomHex: string, suffix: 'delete' | 'future' | 'stray'): string {
	const ending = `.${randomHex}-${suffix}`
	const dash = key.lastIndexOf('-')
	const partition = key.slice(dash)
	const topic = key.slice(0, Math.min(dash, NAME_MAX - ending.length - partition.length))
	return `${topic}${partition}${ending}`
}
