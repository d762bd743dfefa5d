/** Behind `kcli log repair`: what `log verify` finds is mended, offline, after a backup of every file that changes. */

import { availableParallelism } from 'node:os'
import { DirLockedError, LOCK_FILE, lockDirectory } from '../engine/log/dir-lock.js'
import { BackupDisk } from '../engine/log/repair/backup-disk.js'
import { type RepairedLog, repairCheckpoints } from '../engine/log/repair/checkpoint-repair.js'
import {
	type PartitionPlan,
	planRepair,
	type RepairStep,
	repairPartition,
} from '../engine/log/repair/partition-repair.js'
import { keyOfFolder, partitionFolders as namesIn, readDirFacts } from '../engine/log/verify/dir-check.js'
import { Faults } from '../engine/log/verify/finding.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import type { Disk, HostClaim, Runtime } from '../runtime/ports.js'
import { confirm } from './confirm.js'
import { CliError, EXIT, usageError } from './errors.js'
import { partitionFolders, pathOf } from './log-paths.js'
import { errorOf, type Verification, verify } from './log-verify.js'
import { notice, type OutputChoice, printReport, tableOf } from './output.js'

export interface LogRepairChoice extends OutputChoice {
	readonly 'data-dir': string
	readonly backup: string | undefined
	readonly yes: boolean
	readonly 'dry-run': boolean
}

/** The most that one batch may decompress to here. */
const PLAIN_BYTES_MAX = 256 * 1024 * 1024
/** A repair may bring to light what damage has hidden: then it is done again. */
const ROUNDS_MAX = 3

/** What was done, or would be, about one place. */
interface Repaired extends Omit<RepairStep, 'lost'> {
	/** Null for a file of the data folder. */
	readonly partition: string | null
	readonly lostFirst: number | null
	/** Null with `lostFirst`: up to an end that is not known. */
	readonly lostLast: number | null
	readonly status: 'repaired' | 'would-repair'
}

/** A data folder, or whatever holds a partition's folder. */
interface Place {
	readonly directory: string
	readonly disk: Disk
	readonly backup: string
}

interface Planned {
	readonly place: Place
	readonly name: string
	readonly plan: PartitionPlan
}

/** Repairs partitions and prints what was done; the exit code: 3 when something is wrong still. */
export async function repairLogs(words: readonly string[], flags: LogRepairChoice): Promise<number> {
	if (words.length === 0) throw usageError('missing PARTITION', 'a folder such as DATA or DATA/orders-0, or orders:0')
	const runtime = nodeRuntime()
	const { disk } = runtime
	const paths = words.map((word) => pathOf(disk, word, flags['data-dir']))
	const directories = new Set(
		paths.flatMap((path) => partitionFolders(disk, path).map((each) => disk.absolute(disk.join(each.path, '..')))),
	)
	const places = placesOf(runtime, [...directories], flags.backup)
	const claims = await lockAll(runtime, places)
	try {
		return await repairAll(runtime, paths, places, flags)
	} finally {
		for (const claim of claims) await claim.release()
	}
}

async function repairAll(
	runtime: Runtime,
	paths: readonly string[],
	places: readonly Place[],
	flags: LogRepairChoice,
): Promise<number> {
	const isDryRun = flags['dry-run']
	const items: Repaired[] = []
	let found = await verify(runtime.disk, paths, true, availableParallelism())
	for (let round = 0; found.faults.length > 0 && round < ROUNDS_MAX; round++) {
		const plans = await planAll(runtime, places, found)
		if (round === 0) {
			const steps = [...plans.flatMap(({ plan }) => plan.steps), ...checkpointSteps(places, found, plans, true)]
			const backups = places.map(({ backup }) => `Every file that changes is kept in ${backup} first.`)
			if (isDryRun) {
				items.push(...rowsOf(plans, checkpointSteps(places, found, plans, true), 'would-repair'))
				break
			}
			await confirm('Repair?', [...steps.map(lineOf), ...backups], flags)
			for (const line of backups) notice(line, flags)
		}
		for (const { plan, place } of plans) await repairPartition({ ...runtime, disk: place.disk }, plan)
		const after = await verify(runtime.disk, paths, true, availableParallelism())
		const steps = checkpointSteps(places, after, plans, false)
		items.push(...rowsOf(plans, steps, 'repaired'))
		found = await verify(runtime.disk, paths, true, availableParallelism())
	}
	if (!isDryRun && items.length > 0) tellLosses(items, flags)
	const left = isDryRun ? [] : found.faults
	const code = await print(items, left.map(errorOf), flags)
	return code === EXIT.done ? EXIT.done : EXIT.checkFailed
}

function placesOf({ disk, clock }: Runtime, directories: readonly string[], backup: string | undefined): Place[] {
	const stamp = new Date(clock.wallMs()).toISOString().replace(/[-:]|\.\d+Z$/g, '')
	return directories.map((directory, i) => {
		const own = directories.length === 1 ? backup : backup && disk.join(backup, String(i + 1))
		const folder = disk.absolute(own ?? `${directory}-backup-${stamp}`)
		if (disk.statNow(folder) !== null && disk.listNow(folder).length > 0) {
			throw usageError(`${folder} is not empty`, 'name a new folder with --backup')
		}
		if (folder === directory || folder.startsWith(`${directory}/`)) {
			throw usageError(`${folder} lies inside of what is repaired`, 'name a folder elsewhere with --backup')
		}
		return { directory, disk: new BackupDisk(disk, directory, folder), backup: folder }
	})
}

/** A broker that runs holds the lock of its data folder; where no lock ever was, no broker is. */
async function lockAll({ disk, host }: Runtime, places: readonly Place[]): Promise<HostClaim[]> {
	const claims: HostClaim[] = []
	try {
		for (const { directory } of places) {
			if (disk.statNow(disk.join(directory, LOCK_FILE)) === null) continue
			claims.push(await lockDirectory(disk, host, directory))
		}
		return claims
	} catch (error) {
		for (const claim of claims) await claim.release()
		if (!(error instanceof DirLockedError)) throw error
		throw new CliError(`refused: ${error.message}`, EXIT.usage, 'stop the broker first', 'KCLI_DIR_LOCKED')
	}
}

async function planAll(runtime: Runtime, places: readonly Place[], found: Verification): Promise<Planned[]> {
	const plans: Planned[] = []
	for (const { name, directory, faults } of found.reports) {
		if (faults.length === 0) continue
		const dir = runtime.disk.absolute(runtime.disk.join(directory, '..'))
		const place = places.find((each) => each.directory === dir)
		if (place === undefined) continue
		const key = keyOfFolder(name) ?? ''
		const { logStarts, cleaned, isDataDir } = readDirFacts(runtime.disk, dir, new Faults())
		const plan = await planRepair(runtime, directory, faults, {
			logStartOffset: logStarts.get(key) ?? null,
			wasCompacted: isDataDir ? cleaned.has(key) : null,
			decompressedBytesMax: PLAIN_BYTES_MAX,
		})
		plans.push({ place, name, plan })
	}
	return plans
}

/** Checkpoints of the data folders by what the logs are now. */
function checkpointSteps(
	places: readonly Place[],
	found: Verification,
	plans: readonly Planned[],
	isDryRun: boolean,
): RepairStep[] {
	return places.flatMap(({ directory, disk }) => {
		if (!readDirFacts(disk, directory, new Faults()).isDataDir) return []
		const logs = new Map<string, RepairedLog>()
		const inside = found.reports.filter((report) => disk.absolute(disk.join(report.directory, '..')) === directory)
		for (const { name, firstOffset, nextOffset } of inside) {
			const key = keyOfFolder(name)
			const plan = plans.find((each) => each.name === name && each.place.directory === directory)
			if (key !== null) logs.set(key, { firstOffset, nextOffset, hasGap: plan?.plan.hasGap ?? false })
		}
		const isWhole = namesIn(disk, directory).every((name) => inside.some((each) => each.name === name))
		return repairCheckpoints(disk, directory, logs, isWhole, isDryRun)
	})
}

function rowsOf(plans: readonly Planned[], steps: readonly RepairStep[], status: Repaired['status']): Repaired[] {
	const row = (partition: string | null, { lost, ...step }: RepairStep): Repaired => ({
		partition,
		...step,
		lostFirst: lost?.first ?? null,
		lostLast: lost?.last ?? null,
		status,
	})
	return [
		...plans.flatMap(({ name, plan }) => plan.steps.map((step) => row(name, step))),
		...steps.map((step) => row(null, step)),
	]
}

function lostText(first: number | null, last: number | null): string {
	if (first === null) return ''
	return last === null ? `${first} and up` : first === last ? String(first) : `${first} to ${last}`
}

function lineOf({ file, position, problem, action, lost }: RepairStep): string {
	const place = position === null ? '' : ` at byte ${position}`
	const gone = lost === null ? '' : ` (lost: offsets ${lostText(lost.first, lost.last)})`
	return `  ${file}${place}: ${problem}: ${action}${gone}`
}

function tellLosses(items: readonly Repaired[], flags: LogRepairChoice): void {
	for (const { partition, lostFirst, lostLast } of items) {
		if (lostFirst !== null) notice(`${partition}: lost offsets ${lostText(lostFirst, lostLast)}`, flags)
	}
}

function print(items: readonly Repaired[], errors: readonly ReturnType<typeof errorOf>[], flags: LogRepairChoice) {
	return printReport(
		{
			kind: 'LogRepair',
			items,
			errors,
			clusterId: null,
			dryRun: flags['dry-run'],
			table: tableOf(items, [
				{ header: 'PARTITION', value: ({ partition }) => partition },
				{ header: 'FILE', value: ({ file }) => file.replace(/^.*[/\\]/, '') },
				{ header: 'BYTE', value: ({ position }) => position },
				{ header: 'PROBLEM', value: ({ problem }) => problem },
				{ header: 'ACTION', value: ({ action }) => action },
				{ header: 'LOST', value: ({ lostFirst, lostLast }) => lostText(lostFirst, lostLast) },
				{ header: 'STATUS', value: ({ status }) => status },
				{ header: 'PATH', value: ({ file }) => file, isWide: true },
			]),
			nameOf: ({ file }) => file,
			whenEmpty: 'nothing is wrong',
		},
		flags,
	)
}
