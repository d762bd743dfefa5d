/**
 * Repair of one partition's folder, offline: the faults that `verify/` found are turned into a plan (reads only), and the plan
 * is carried out. Files that follow from the log (indexes, snapshots, epochs) are removed where they are wrong and made by
 * the recovery that every start of a broker uses; only damage inside `.log` files is dealt with here (`salvage.ts`).
 */

import { ByteGate } from '../../../base/byte-gate.js'
import { SILENT } from '../../../runtime/logger.js'
import type { Disk, Runtime } from '../../../runtime/ports.js'
import { CheckpointError, EPOCH_FILE, readEpochCheckpoint } from '../checkpoint.js'
import { EpochCache } from '../epoch-cache.js'
import { METADATA_FILE, readFolderName } from '../folder.js'
import { DEFAULT_LOG_CONFIG } from '../log-config.js'
import type { LogServices } from '../log-core.js'
import { PartitionLog } from '../partition-log.js'
import { loadLog } from '../recovery.js'
import { segmentName } from '../segment.js'
import { TailCache } from '../tail-cache.js'
import type { Fault } from '../verify/finding.js'
import { WriteMode } from '../write-mode.js'
import { readPieces } from './pieces.js'
import { rewriteSegment } from './rewrite.js'
import { decideSalvage, type Salvage } from './salvage.js'

/** What is done about one fault, or one place of damage. */
export interface RepairStep {
	readonly file: string
	readonly position: number | null
	readonly offset: number | null
	readonly problem: string
	readonly action: string
	/** Offsets that are gone: first and last, the last null when it is not known; null: none. */
	readonly lost: { readonly first: number; readonly last: number | null } | null
}

export interface PartitionPlan {
	readonly directory: string
	readonly steps: readonly RepairStep[]
	readonly salvages: readonly Salvage[]
	/** Files that are wrong and follow from the log. */
	readonly removals: readonly string[]
	/** Offsets are or will be missing between segments: the data dir must say that this is known. */
	readonly hasGap: boolean
	readonly logStartOffset: number | null
}

export interface PlanOptions {
	readonly logStartOffset: number | null
	/** Null: there is no data dir to tell. */
	readonly wasCompacted: boolean | null
	readonly decompressedBytesMax: number
}

const LOG_FILE = /(\d{20})\.log$/
const INDEX_FILE = /(\d{20})\.(?:index|timeindex|txnindex)$/

/** What would be done about `faults` of the folder `directory`. Reads only. */
export async function planRepair(
	runtime: Pick<Runtime, 'disk' | 'clock' | 'compression'>,
	directory: string,
	faults: readonly Fault[],
	options: PlanOptions,
): Promise<PartitionPlan> {
	const { disk } = runtime
	const bases = logBases(disk, directory)
	const salvages = await salvageSegments(runtime, directory, bases, faults, options)
	const removals = new Set<string>()
	const steps: RepairStep[] = []
	const done = new Set<string>()
	let hasGap = false
	for (const salvage of salvages) {
		const file = disk.join(directory, `${segmentName(salvage.base)}.log`)
		done.add(file)
		for (const change of salvage.changes) steps.push({ ...change, file, offset: change.lost?.first ?? null })
		if (salvage.newBase === null) steps.push(fileStep(file, 'no batch of it can be read', 'the segment is dropped'))
		const next = bases.find((base) => base > salvage.base)
		if (next !== undefined && salvage.endOffset < next) hasGap = true
	}
	for (const fault of faults) {
		if (done.has(fault.file) && fault.kind !== 'missing') continue
		const { action, isRemoved, isGap, lost } = actionFor(fault, bases)
		if (isRemoved) removals.add(fault.file)
		// A log without aborted transactions has no such file: recovery looks at the other two.
		if (fault.kind === 'txnindex') removals.add(fault.file.replace(/txnindex$/, 'index'))
		if (isGap) hasGap = true
		const { file, position, offset, problem } = fault
		steps.push({ file, position, offset, problem: `${fault.kind}: ${problem}`, action, lost })
	}
	return { directory, steps, salvages, removals: [...removals], hasGap, logStartOffset: options.logStartOffset }
}

function fileStep(file: string, problem: string, action: string): RepairStep {
	return { file, position: null, offset: null, problem, action, lost: null }
}

interface Action {
	readonly action: string
	readonly isRemoved: boolean
	readonly isGap: boolean
	readonly lost: RepairStep['lost']
}

function actionFor(fault: Fault, bases: readonly number[]): Action {
	const made = (action: string): Action => ({ action, isRemoved: true, isGap: false, lost: null })
	const { kind, file, offset } = fault
	if (kind === 'index' || kind === 'timeindex' || kind === 'txnindex')
		return made('the index is made anew from the log')
	if (kind === 'snapshot') return made('the snapshot is dropped, and made anew where one is needed')
	if (kind === 'epochs') return made('the epochs are read from the log again')
	if (kind === 'metadata') return made('the file is dropped: the broker writes the topic id again')
	if (kind !== 'missing')
		return { action: 'see the changes of its segment', isRemoved: false, isGap: false, lost: null }
	if (INDEX_FILE.test(file)) {
		const base = offset ?? 0
		if (bases.includes(base)) return made('the index is made from the log')
		const next = bases.find((each) => each > base)
		const lost = { first: base, last: next === undefined ? null : next - 1 }
		return { action: 'its segment is gone; the index is dropped', isRemoved: true, isGap: false, lost }
	}
	if (LOG_FILE.test(file)) {
		const next = Number(LOG_FILE.exec(file)?.[1])
		const lost = { first: offset ?? 0, last: next - 1 }
		const action = 'nothing holds these offsets; the gap is noted, so that brokers keep what follows'
		return { action, isRemoved: false, isGap: true, lost }
	}
	return { action: 'an empty segment is made', isRemoved: false, isGap: false, lost: null }
}

function logBases(disk: Disk, directory: string): number[] {
	const names = disk.listNow(directory).filter(({ isDirectory }) => !isDirectory)
	const bases = names.map(({ name }) => /^(\d{20})\.log$/.exec(name)?.[1]).filter((base) => base !== undefined)
	return bases.map(Number).sort((a, b) => a - b)
}

/** Decides for every segment with damage in its `.log`; one that begins too low may be the fault of the one before. */
async function salvageSegments(
	runtime: Pick<Runtime, 'disk' | 'clock' | 'compression'>,
	directory: string,
	bases: readonly number[],
	faults: readonly Fault[],
	options: PlanOptions,
): Promise<Salvage[]> {
	const { disk } = runtime
	const damaged = new Set<number>()
	for (const { kind, file } of faults) {
		const base = Number(LOG_FILE.exec(file)?.[1] ?? Number.NaN)
		if (Number.isNaN(base) || kind === 'missing') continue
		damaged.add(base)
		const before = bases[bases.indexOf(base) - 1]
		if (kind === 'order' && before !== undefined) damaged.add(before)
	}
	const epochs = soundEpochs(disk, directory, faults)
	const salvages: Salvage[] = []
	for (const [i, base] of bases.entries()) {
		if (!damaged.has(base)) continue
		const before = salvages.at(-1)
		const isNext = before !== undefined && bases[i - 1] === before.base
		const file = disk.openNow(disk.join(directory, `${segmentName(base)}.log`), 'read')
		try {
			const pieces = await readPieces({ ...runtime, decompressedBytesMax: options.decompressedBytesMax }, file)
			salvages.push(
				decideSalvage(pieces, {
					base,
					floor: isNext ? before.endOffset : base,
					nextBase: bases[i + 1] ?? null,
					epochBefore: isNext ? before.lastEpoch : (epochs?.epochOf(base - 1) ?? -1),
					epochOf: epochs === null ? null : (offset) => epochs.epochOf(offset),
					isDense: options.wasCompacted === false,
				}),
			)
		} finally {
			file.closeNow()
		}
	}
	return salvages
}

/** Leader epochs of the checkpoint; null when it is damaged, contradicts itself, or is not there. */
function soundEpochs(disk: Disk, directory: string, faults: readonly Fault[]): EpochCache | null {
	const path = disk.join(directory, EPOCH_FILE)
	if (faults.some(({ kind, file, problem }) => kind === 'epochs' && file === path && problem.includes('follows')))
		return null
	try {
		const entries = readEpochCheckpoint(disk, directory)
		return entries === null ? null : new EpochCache(entries, () => undefined)
	} catch (error) {
		if (!(error instanceof CheckpointError)) throw error
		return null
	}
}

/** Carries out `plan` on the disk of `runtime`. Throws `DiskError`; a second run goes on where one was broken off. */
export async function repairPartition(runtime: Runtime, plan: PartitionPlan): Promise<void> {
	const { disk } = runtime
	const { directory, salvages } = plan
	for (const path of plan.removals) disk.removeNow(path)
	for (const salvage of salvages) rewriteSegment(disk, directory, salvage)
	const first = salvages[0]
	// Snapshots behind the damage count what is not there any more.
	if (first !== undefined) {
		for (const { name } of disk.listNow(directory)) {
			const offset = Number(/^(\d{20})\.snapshot$/.exec(name)?.[1] ?? -1)
			if (offset > first.base) disk.removeNow(disk.join(directory, name))
		}
		// The log's batches are what is left: their epochs are.
		disk.removeNow(disk.join(directory, EPOCH_FILE))
	}
	disk.syncDirectoryNow(directory)
	const name = directory.replace(/[/\\]+$/, '').replace(/^.*[/\\]/, '')
	const folder = readFolderName(name)
	const key = folder.kind === 'partition' ? folder.key : { topic: name, partition: 0 }
	const core = await loadLog(servicesOf(runtime, directory), {
		...key,
		directory,
		config: DEFAULT_LOG_CONFIG,
		isClean: first === undefined,
		recoveryPoint: first?.base ?? 0,
		logStartOffset: plan.logStartOffset ?? 0,
		// Gaps are known: nothing behind one may be dropped.
		cleanedOffset: 0,
	})
	await new PartitionLog(core).close()
	for (const file of [EPOCH_FILE, METADATA_FILE]) syncIfThere(disk, disk.join(directory, file))
	disk.syncDirectoryNow(directory)
}

function syncIfThere(disk: Disk, path: string): void {
	if (disk.statNow(path) === null) return
	const file = disk.openNow(path, 'write')
	try {
		file.syncNow()
	} finally {
		file.closeNow()
	}
}

/** What recovery needs, for one log that nobody else uses. */
function servicesOf({ disk, clock, random, compression }: Runtime, directory: string): LogServices {
	const decompressedBytesMax = DEFAULT_LOG_CONFIG.segmentBytes
	return {
		disk,
		clock,
		random,
		compression,
		logger: SILENT,
		tails: new TailCache(0),
		writes: new WriteMode(directory, SILENT),
		producerExpirationMs: Number.POSITIVE_INFINITY,
		decompressedBytesMax,
		plains: new ByteGate(decompressedBytesMax),
		onDiskError: (error) => {
			throw error
		},
		onCleanedOffset: () => undefined,
	}
}
