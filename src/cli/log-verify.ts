/** Behind `kcli log verify`: partitions on disk held against themselves, without a broker, several at a time. */

import { availableParallelism } from 'node:os'
import {
	checkDir,
	keyOfFolder,
	partitionFolders as partitionNames,
	readDirFacts,
} from '../engine/log/verify/dir-check.js'
import { type Fault, Faults } from '../engine/log/verify/finding.js'
import type { PartitionReport } from '../engine/log/verify/partition-check.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import type { Disk } from '../runtime/ports.js'
import { EXIT, usageError } from './errors.js'
import type { ItemError } from './item-error.js'
import { partitionFolders, pathOf } from './log-paths.js'
import { type OutputChoice, printReport, tableOf } from './output.js'
import { isRetriable } from './own-codes.js'
import { checkFolders } from './verify-workers.js'

export interface LogVerifyChoice extends OutputChoice {
	readonly 'data-dir': string
	/** Batches only, records unread. */
	readonly shallow: boolean
	readonly jobs?: number | undefined
}

/** A partition's folder to check, with what its data dir says of it. */
export interface FolderToCheck {
	readonly name: string
	readonly path: string
	/** Null: from the first segment. */
	readonly logStartOffset: number | null
	/** Null: there is no data dir to tell. */
	readonly wasCompacted: boolean | null
}

interface Verified {
	readonly partition: string
	readonly path: string
	readonly segments: number
	readonly batches: number
	readonly records: number
	readonly bytes: number
	readonly firstOffset: number
	readonly nextOffset: number
	/** Faults in all, those that are not listed with them. */
	readonly faults: number
	readonly notes: readonly string[]
}

/** What was checked, and every fault. */
export interface Verification {
	readonly reports: readonly (PartitionReport & { readonly name: string })[]
	readonly faults: readonly Fault[]
	/** What is odd and legal, by path. */
	readonly notes: readonly string[]
	/** Faults beyond those listed. */
	readonly more: number
}

/** Checks partitions and prints what was found; the exit code: 3 when anything is wrong. */
export async function verifyLogs(words: readonly string[], flags: LogVerifyChoice): Promise<number> {
	if (words.length === 0) throw usageError('missing PARTITION', 'a folder such as DATA or DATA/orders-0, or orders:0')
	const { disk } = nodeRuntime()
	const paths = words.map((word) => pathOf(disk, word, flags['data-dir']))
	const jobs = flags.jobs ?? availableParallelism()
	const { reports, faults, notes, more } = await verify(disk, paths, !flags.shallow, jobs)
	const items = reports.map(
		(report): Verified => ({
			partition: report.name,
			path: report.directory,
			segments: report.segments,
			batches: report.batches,
			records: report.records,
			bytes: report.bytes,
			firstOffset: report.firstOffset,
			nextOffset: report.nextOffset,
			faults: report.faults.length + report.moreFaults,
			notes: report.notes,
		}),
	)
	if (!flags.quiet) {
		for (const note of notes) process.stderr.write(`${note}\n`)
		if (more > 0) process.stderr.write(`${more} more of the same kinds are not listed\n`)
	}
	const code = await printReport(
		{
			kind: 'LogVerify',
			items,
			errors: faults.map(errorOf),
			clusterId: null,
			table: tableOf(items, [
				{ header: 'PARTITION', value: ({ partition }) => partition },
				{ header: 'FIRST', value: ({ firstOffset }) => firstOffset },
				{ header: 'NEXT', value: ({ nextOffset }) => nextOffset },
				{ header: 'SEGMENTS', value: ({ segments }) => segments, unit: 'count' },
				{ header: 'BATCHES', value: ({ batches }) => batches, unit: 'count' },
				{ header: 'RECORDS', value: ({ records }) => records, unit: 'count' },
				{ header: 'SIZE', value: ({ bytes }) => bytes, unit: 'bytes' },
				{ header: 'FAULTS', value: ({ faults: count }) => count, isBad: ({ faults: count }) => count > 0 },
				{ header: 'PATH', value: ({ path }) => path, isWide: true },
			]),
			nameOf: ({ path }) => path,
			whenEmpty: 'no partitions',
		},
		flags,
	)
	return code === EXIT.done ? EXIT.done : EXIT.checkFailed
}

/** One fault a line: file, byte, offset, what is wrong. */
export function errorOf({ kind, file, position, offset, problem }: Fault): ItemError {
	const place = position === null ? '' : ` at byte ${position}`
	const where = offset === null ? '' : ` (offset ${offset})`
	return {
		item: `${file}${place}${where}`,
		code: 'KCLI_LOG_DAMAGE',
		name: 'KCLI_LOG_DAMAGE',
		message: `${kind}: ${problem}`,
		retriable: isRetriable('KCLI_LOG_DAMAGE'),
	}
}

/** Checks partitions, and the checkpoints of the data dirs that they lie in. */
export async function verify(
	disk: Disk,
	paths: readonly string[],
	isDeep: boolean,
	jobs: number,
): Promise<Verification> {
	const byDir = new Map<string, FolderToCheck[]>()
	for (const path of paths) {
		for (const { name, path: folder } of partitionFolders(disk, path)) {
			const dir = disk.absolute(disk.join(folder, '..'))
			const { logStarts, cleaned, isDataDir } = readDirFacts(disk, dir, new Faults())
			const key = keyOfFolder(name) ?? ''
			const folders = byDir.get(dir) ?? []
			byDir.set(dir, folders)
			if (folders.some((each) => each.name === name)) continue
			const wasCompacted = isDataDir ? cleaned.has(key) : null
			folders.push({ name, path: folder, logStartOffset: logStarts.get(key) ?? null, wasCompacted })
		}
	}
	const folders = [...byDir.values()].flat()
	const reports = await checkFolders(folders, isDeep, jobs)
	const faults = reports.flatMap((report) => report.faults)
	const notes = reports.flatMap((report) => report.notes.map((note) => `${report.directory}: ${note}`))
	for (const [dir, inside] of byDir) {
		const spans = new Map<string, PartitionReport>()
		for (const [i, { name, path }] of folders.entries()) {
			const key = keyOfFolder(name)
			const isHere = inside.some((each) => each.path === path)
			if (key !== null && isHere) spans.set(key, reports[i] as PartitionReport)
		}
		const isWhole = partitionNames(disk, dir).every((name) => inside.some((each) => each.name === name))
		const checked = checkDir(disk, dir, spans, isWhole)
		faults.push(...checked.faults)
		notes.push(...checked.notes)
	}
	return {
		reports: reports.map((report, i) => ({ ...report, name: folders[i]?.name ?? '' })),
		faults,
		notes,
		more: reports.reduce((sum, { moreFaults }) => sum + moreFaults, 0),
	}
}
