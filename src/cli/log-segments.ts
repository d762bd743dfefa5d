/** Behind `kcli log segments`: what a partition's folder holds, read without a broker. */

import { baseOffsetOf, dumpLog, dumpOffsetIndex, dumpTimeIndex, isDamage } from '../engine/log/dump.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import type { Disk } from '../runtime/ports.js'
import { EXIT, usageError } from './errors.js'
import type { ItemError } from './item-error.js'
import { type PartitionFolder, partitionFolders, pathOf } from './log-paths.js'
import { isHuman, type OutputChoice, printReport, tableOf } from './output.js'
import { isRetriable } from './own-codes.js'

export interface LogSegmentsChoice extends OutputChoice {
	readonly 'data-dir': string
}

interface Segment {
	readonly partition: string
	readonly baseOffset: number
	/** Offset behind the last batch; the base offset when there is none. */
	readonly nextOffset: number
	readonly batches: number
	/** Largest time of a batch, in ms; null when there is none. */
	readonly firstTimestamp: number | null
	readonly largestTimestamp: number | null
	/** Of the `.log` file. */
	readonly bytes: number
	/** `ok`, `missing`, or what is wrong. */
	readonly index: string
	readonly timeIndex: string
	/** `ok`, or what is wrong and where. */
	readonly log: string
	readonly path: string
}

/** Lists segments; the exit code: 3 when one is damaged. */
export async function listSegments(words: readonly string[], flags: LogSegmentsChoice): Promise<number> {
	if (words.length === 0) throw usageError('missing PARTITION', 'a folder such as DATA/orders-0, or orders:0')
	const { disk } = nodeRuntime()
	const items: Segment[] = []
	for (const word of words) {
		for (const folder of partitionFolders(disk, pathOf(disk, word, flags['data-dir']))) {
			for (const name of folder.segments) items.push(await readSegment(disk, folder, name))
		}
	}
	const errors = items.flatMap(damageOf)
	const human = isHuman(flags)
	const code = await printReport(
		{
			kind: 'LogSegments',
			items,
			errors,
			clusterId: null,
			table: tableOf(items, [
				{ header: 'PARTITION', value: ({ partition }) => partition },
				{ header: 'BASE', value: ({ baseOffset }) => baseOffset },
				{ header: 'NEXT', value: ({ nextOffset }) => nextOffset },
				{ header: 'BATCHES', value: ({ batches }) => batches, unit: 'count' },
				{ header: 'SIZE', value: ({ bytes }) => bytes, unit: 'bytes' },
				{ header: 'FIRST-TIME', value: ({ firstTimestamp }) => timeText(firstTimestamp, human) },
				{ header: 'LAST-TIME', value: ({ largestTimestamp }) => timeText(largestTimestamp, human) },
				{ header: 'LOG', value: ({ log }) => log, isBad: ({ log }) => log !== 'ok' },
				{ header: 'INDEX', value: ({ index }) => index, isBad: ({ index }) => isWrong(index) },
				{ header: 'TIMEINDEX', value: ({ timeIndex }) => timeIndex, isBad: ({ timeIndex }) => isWrong(timeIndex) },
				{ header: 'PATH', value: ({ path }) => path, isWide: true },
			]),
			nameOf: ({ path }) => path,
			whenEmpty: 'no segments',
		},
		flags,
	)
	return code === EXIT.done ? EXIT.done : EXIT.checkFailed
}

function timeText(ms: number | null, human: boolean): string | number | null {
	return ms === null || !human ? ms : new Date(ms).toISOString()
}

/** A broker makes a missing index anew by itself. */
function isWrong(state: string): boolean {
	return state !== 'ok' && state !== 'missing'
}

function damageOf({ path, log, index, timeIndex }: Segment): ItemError[] {
	const wrong = [
		...(log === 'ok' ? [] : [log]),
		...(isWrong(index) ? [`index: ${index}`] : []),
		...(isWrong(timeIndex) ? [`time index: ${timeIndex}`] : []),
	]
	return wrong.map((message) => ({
		item: path,
		code: 'KCLI_LOG_DAMAGE',
		name: 'KCLI_LOG_DAMAGE',
		message,
		retriable: isRetriable('KCLI_LOG_DAMAGE'),
	}))
}

async function readSegment(disk: Disk, folder: PartitionFolder, name: string): Promise<Segment> {
	const path = disk.join(folder.path, `${name}.log`)
	const baseOffset = baseOffsetOf(name)
	const starts = new Map<number, number>()
	let nextOffset = baseOffset
	let first: number | null = null
	let largest: number | null = null
	let log = 'ok'
	for await (const entry of dumpLog(disk, path, null)) {
		if (isDamage(entry)) {
			log = `${entry.reason} at ${entry.position}, ${entry.bytes} bytes left`
			continue
		}
		if (!entry.isValid && log === 'ok') log = `CRC does not match at ${entry.position}`
		starts.set(entry.position, entry.baseOffset)
		nextOffset = entry.lastOffset + 1
		if (entry.maxTimestamp >= 0) {
			first ??= entry.maxTimestamp
			largest = Math.max(largest ?? -1, entry.maxTimestamp)
		}
	}
	return {
		partition: folder.name,
		baseOffset,
		nextOffset,
		batches: starts.size,
		firstTimestamp: first,
		largestTimestamp: largest,
		bytes: disk.statNow(path)?.size ?? 0,
		index: offsetIndexState(disk, disk.join(folder.path, `${name}.index`), baseOffset, starts),
		timeIndex: timeIndexState(disk, disk.join(folder.path, `${name}.timeindex`), baseOffset, nextOffset),
		log,
		path,
	}
}

/** Entries must ascend and point at batches. Kafka notes an append of several batches at the first of them. */
function offsetIndexState(disk: Disk, path: string, baseOffset: number, starts: ReadonlyMap<number, number>): string {
	if (disk.statNow(path) === null) return 'missing'
	let last = { offset: -1, position: -1 }
	for (const entry of dumpOffsetIndex(disk, path, baseOffset)) {
		if (isPadding(entry.offset === baseOffset && entry.position === 0, last.offset)) continue
		if (entry.offset <= last.offset || entry.position <= last.position) return `entry ${entry.offset} does not ascend`
		const start = starts.get(entry.position)
		if (start === undefined) return `entry ${entry.offset} points at ${entry.position}, where no batch begins`
		if (entry.offset < start) return `entry ${entry.offset} points behind its batch`
		last = entry
	}
	return 'ok'
}

function timeIndexState(disk: Disk, path: string, baseOffset: number, nextOffset: number): string {
	if (disk.statNow(path) === null) return 'missing'
	let last = { timestamp: -1, offset: -1 }
	for (const entry of dumpTimeIndex(disk, path, baseOffset)) {
		if (isPadding(entry.timestamp === 0 && entry.offset === baseOffset, last.offset)) continue
		if (entry.timestamp < last.timestamp || entry.offset < last.offset)
			return `entry ${entry.timestamp} does not ascend`
		if (entry.offset >= nextOffset) return `entry ${entry.timestamp} names offset ${entry.offset}, which is not there`
		last = entry
	}
	return 'ok'
}

/** A file that was made in full size and not written yet begins with zeros. */
function isPadding(isZero: boolean, lastOffset: number): boolean {
	return isZero && lastOffset < 0
}
