/** Corrects the checkpoints of a data dir where they contradict the logs: no offset stays that lies outside of its log. */

import { partitionKey } from '../../../base/ids.js'
import type { Disk } from '../../../runtime/ports.js'
import {
	CheckpointError,
	CLEANER_FILE,
	HIGH_WATERMARK_FILE,
	LOG_START_FILE,
	RECOVERY_POINT_FILE,
	readOffsetCheckpoint,
	readTextFile,
	writeOffsetCheckpoint,
} from '../checkpoint.js'
import { CLEAN_SHUTDOWN_FILE } from '../data-dir.js'
import type { LogSpan } from '../verify/dir-check.js'
import type { RepairStep } from './partition-repair.js'

/** What is known of a partition whose checkpoints are looked at. */
export interface RepairedLog extends LogSpan {
	/** Offsets are missing between its segments: it is listed with the compacted logs, whose gaps are legal. */
	readonly hasGap: boolean
}

/**
 * Corrects the files in `directory` by `logs` (by `topic-partition`); with `isWhole` these are all partitions there, and names
 * without a folder go. With `isDryRun` nothing is written.
 */
export function repairCheckpoints(
	disk: Disk,
	directory: string,
	logs: ReadonlyMap<string, RepairedLog>,
	isWhole: boolean,
	isDryRun: boolean,
): RepairStep[] {
	const steps: RepairStep[] = []
	const isClean = disk.statNow(disk.join(directory, CLEAN_SHUTDOWN_FILE)) !== null
	for (const name of [RECOVERY_POINT_FILE, LOG_START_FILE, HIGH_WATERMARK_FILE, CLEANER_FILE]) {
		const file = disk.join(directory, name)
		const tell = (problem: string, action: string, offset: number | null = null): void => {
			steps.push({ file, position: null, offset, problem: `checkpoint: ${problem}`, action, lost: null })
		}
		const { offsets, problem } = readWhatIsRight(disk, directory, name)
		if (problem !== null) tell(problem, `${offsets.size} entries that can be read are kept`)
		const before = steps.length - (problem === null ? 0 : 1)
		for (const [key, offset] of [...offsets]) {
			const log = logs.get(key)
			if (log === undefined) {
				if (!isWhole) continue
				offsets.delete(key)
				tell(`${key} has no folder`, 'its entry goes', offset)
				continue
			}
			const right = Math.min(Math.max(offset, 0), log.nextOffset)
			const wanted = name === RECOVERY_POINT_FILE && isClean ? log.nextOffset : right
			if (wanted === offset) continue
			offsets.set(key, wanted)
			tell(`${key} has ${offset}, its log ends at ${log.nextOffset}`, `${wanted} is written`, offset)
		}
		if (name === CLEANER_FILE) {
			for (const [key, { hasGap, firstOffset }] of logs) {
				if (!hasGap || offsets.has(key)) continue
				offsets.set(key, firstOffset)
				tell(`${key} has gaps`, 'it is listed here, so that brokers keep what is behind a gap', firstOffset)
			}
		}
		if (steps.length > before && !isDryRun) writeOffsetCheckpoint(disk, directory, name, offsets)
	}
	return steps
}

function readWhatIsRight(
	disk: Disk,
	directory: string,
	name: string,
): { readonly offsets: Map<string, number>; readonly problem: string | null } {
	try {
		return { offsets: readOffsetCheckpoint(disk, directory, name), problem: null }
	} catch (error) {
		if (!(error instanceof CheckpointError)) throw error
		const offsets = new Map<string, number>()
		for (const line of (readTextFile(disk, error.path) ?? '').split('\n')) {
			const match = /^([A-Za-z0-9._-]{1,249}) (\d{1,9}) (\d{1,15})$/.exec(line)
			if (match !== null) offsets.set(partitionKey(match[1] as string, Number(match[2])), Number(match[3]))
		}
		return { offsets, problem: error.problem }
	}
}
