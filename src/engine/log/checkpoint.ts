/**
 * The small text files of a log dir and of a partition, read and replaced whole: `<name>.tmp` is written and synced,
 * renamed over the old file, and the directory synced (19.13). Readers answer null for an absent file and throw
 * {@link CheckpointError} for one that is damaged.
 */

import { type Disk, DiskError } from '../../runtime/ports.js'
import type { EpochEntry } from './epoch-cache.js'

export const RECOVERY_POINT_FILE = 'recovery-point-offset-checkpoint'
export const LOG_START_FILE = 'log-start-offset-checkpoint'
export const HIGH_WATERMARK_FILE = 'replication-offset-checkpoint'
export const CLEANER_FILE = 'cleaner-offset-checkpoint'
export const EPOCH_FILE = 'leader-epoch-checkpoint'

/** A checkpoint file is not what the format says. */
export class CheckpointError extends Error {
	override readonly name = 'CheckpointError'
	constructor(
		readonly path: string,
		readonly problem: string,
	) {
		super(`${path}: ${problem}`)
	}
}

/** Replaces `path` by `content` so that after a crash either the old or the new content is there, whole. */
export function replaceFile(disk: Disk, directory: string, name: string, content: string): void {
	replaceUnsynced(disk, directory, name, content, true)
	disk.syncDirectoryNow(directory)
}

/**
 * The same, as far as a crash of the process goes; a loss of power may take either content, or leave nonsense. With
 * `isContentSynced` it leaves the old file or the new one.
 */
export function replaceUnsynced(
	disk: Disk,
	directory: string,
	name: string,
	content: string,
	isContentSynced: boolean,
): void {
	const path = disk.join(directory, name)
	const temporary = `${path}.tmp`
	const file = disk.openNow(temporary, 'fresh')
	try {
		file.writeNow([Buffer.from(content)], 0)
		if (isContentSynced) file.syncNow()
	} finally {
		file.closeNow()
	}
	disk.renameNow(temporary, path)
}

/** Content of a small file, or null when it is not there. */
export function readTextFile(disk: Disk, path: string): string | null {
	try {
		return disk.readFileNow(path).toString('utf8')
	} catch (error) {
		if (error instanceof DiskError && error.code === 'ENOENT') return null
		throw error
	}
}

/** Lines after version and count; null when the file is absent or, as fresh brokers leave it, empty. */
function readLines(disk: Disk, path: string): string[] | null {
	const text = readTextFile(disk, path)
	if (text === null || text === '') return null
	const lines = text.split('\n')
	if (lines[lines.length - 1] === '') lines.pop()
	if (lines[0] !== '0') throw new CheckpointError(path, `version ${lines[0] ?? ''}`)
	const count = Number(lines[1])
	const entries = lines.slice(2)
	if (!Number.isSafeInteger(count) || count !== entries.length) {
		throw new CheckpointError(path, `${entries.length} entries where it says ${lines[1] ?? ''}`)
	}
	return entries
}

function wholeNumber(path: string, text: string | undefined): number {
	const value = Number(text)
	if (text === undefined || text === '' || !Number.isSafeInteger(value)) {
		throw new CheckpointError(path, `not a number: ${text ?? 'nothing'}`)
	}
	return value
}

/** Offsets of a log dir by `topic-partition` key; empty when the file is absent. */
export function readOffsetCheckpoint(disk: Disk, directory: string, name: string): Map<string, number> {
	const path = disk.join(directory, name)
	const offsets = new Map<string, number>()
	for (const line of readLines(disk, path) ?? []) {
		const fields = line.split(' ')
		if (fields.length !== 3) throw new CheckpointError(path, `line ${line}`)
		offsets.set(`${fields[0]}-${wholeNumber(path, fields[1])}`, wholeNumber(path, fields[2]))
	}
	return offsets
}

/** Replaces an offset checkpoint. Keys are `topic-partition`. */
export function writeOffsetCheckpoint(
	disk: Disk,
	directory: string,
	name: string,
	offsets: ReadonlyMap<string, number>,
): void {
	const lines = ['0', String(offsets.size)]
	for (const [key, offset] of offsets) {
		const dash = key.lastIndexOf('-')
		lines.push(`${key.slice(0, dash)} ${key.slice(dash + 1)} ${offset}`)
	}
	replaceFile(disk, directory, name, `${lines.join('\n')}\n`)
}

/** Entries of `leader-epoch-checkpoint`, null when absent. */
export function readEpochCheckpoint(disk: Disk, directory: string): EpochEntry[] | null {
	const path = disk.join(directory, EPOCH_FILE)
	const lines = readLines(disk, path)
	if (lines === null) return null
	return lines.map((line) => {
		const fields = line.split(' ')
		if (fields.length !== 2) throw new CheckpointError(path, `line ${line}`)
		return { epoch: wholeNumber(path, fields[0]), startOffset: wholeNumber(path, fields[1]) }
	})
}

/**
 * `leader-epoch-checkpoint` of a log. Every change is written at once and synced with the log's next flush: what a loss of
 * power takes before, recovery reads from the batches again. Thousands of partitions that change their leader would
 * otherwise wait for as many syncs.
 */
export class EpochFile {
	/** Changes when the folder is renamed. */
	directory: string
	readonly #disk: Disk
	#isUnsynced = false
	/** What the file holds; null when that is not known. */
	#content: string | null = null

	constructor(disk: Disk, directory: string) {
		this.#disk = disk
		this.directory = directory
	}

	/** The file was read, and held these. */
	holds(entries: readonly EpochEntry[]): void {
		this.#content = textOf(entries)
	}

	/** Writes the file, unless it holds these already: a leader that comes back in its own epoch changes nothing. */
	write(entries: readonly EpochEntry[]): void {
		const content = textOf(entries)
		if (content === this.#content) return
		this.#content = null
		replaceUnsynced(this.#disk, this.directory, EPOCH_FILE, content, false)
		this.#content = content
		this.#isUnsynced = true
	}

	/** What was written is on stable storage when it settles. */
	async sync(): Promise<void> {
		if (!this.#isUnsynced) return
		this.#isUnsynced = false
		const file = this.#disk.openNow(this.#disk.join(this.directory, EPOCH_FILE), 'write')
		try {
			await file.sync()
		} finally {
			file.closeNow()
		}
		this.#disk.syncDirectoryNow(this.directory)
	}
}

function textOf(entries: readonly EpochEntry[]): string {
	return ['0', String(entries.length), ...entries.map((entry) => `${entry.epoch} ${entry.startOffset}`), ''].join('\n')
}
