/** Behind `kcli log dump`: batches, records and index entries of files, read without a broker, as text or NDJSON. */

import {
	baseOffsetOf,
	batchLine,
	type DumpedBatch,
	dumpLog,
	dumpOffsetIndex,
	dumpSnapshot,
	dumpTimeIndex,
	dumpTxnIndex,
	isDamage,
	producerLine,
	recordLine,
} from '../engine/log/dump.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import type { Runtime } from '../runtime/ports.js'
import { CliError, EXIT, usageError } from './errors.js'
import { LineWriter } from './line-writer.js'
import { partitionFolders, pathOf, requireExisting } from './log-paths.js'
import { decodeInternal, type InternalKind, jsonText, recordObject } from './log-record.js'
import { streamFormOfEnvironment } from './stream-form.js'

export interface LogDumpChoice {
	readonly output: string | undefined
	readonly json: boolean
	readonly 'data-dir': string
	readonly records: boolean
	readonly deep: boolean
	readonly index: boolean
	readonly decode: string | undefined
	readonly from: number | undefined
	readonly to: number | undefined
}

interface Dump {
	readonly runtime: Runtime
	readonly flags: LogDumpChoice
	readonly isJson: boolean
	readonly lines: LineWriter
	/** What was wrong, by file. */
	readonly damage: string[]
}

/** Dumps files; the exit code: 3 when one is damaged. */
export async function dumpFiles(words: readonly string[], flags: LogDumpChoice): Promise<number> {
	if (words.length === 0)
		throw usageError('missing FILE', 'a segment file, a folder such as DATA/orders-0, or orders:0')
	if (flags.from !== undefined && flags.to !== undefined && flags.to <= flags.from) {
		throw usageError(`--to ${flags.to} is not past --from ${flags.from}: nothing lies between`)
	}
	const runtime = nodeRuntime()
	const isJson = isJsonWanted(flags)
	const dump: Dump = { runtime, flags, isJson, lines: new LineWriter(), damage: [] }
	for (const path of words.flatMap((word) => filesOf(dump, word))) await dumpFile(dump, path)
	await dump.lines.drain()
	for (const text of dump.damage) process.stderr.write(`kcli: ${text}\n`)
	return dump.damage.length === 0 ? EXIT.done : EXIT.checkFailed
}

function isJsonWanted({ json, output }: LogDumpChoice): boolean {
	if (json || output !== undefined) return json || output !== 'text'
	return streamFormOfEnvironment('log dump', 'text') === 'ndjson'
}

/** The file itself, or the logs of a folder, with their indexes where those are asked for. */
function filesOf({ runtime: { disk }, flags }: Dump, word: string): string[] {
	const path = pathOf(disk, word, flags['data-dir'])
	requireExisting(disk, path)
	if (disk.statNow(path)?.isDirectory !== true) {
		if (/\.(log|index|timeindex|txnindex|snapshot)$/.test(path)) return [path]
		throw usageError(
			`${path}: not a file of a log`,
			'Its files end with .log, .index, .timeindex, .txnindex and .snapshot.',
		)
	}
	return partitionFolders(disk, path).flatMap((folder) =>
		folder.segments.flatMap((name) => {
			const log = disk.join(folder.path, `${name}.log`)
			if (!flags.index) return [log]
			const indexes = ['index', 'timeindex', 'txnindex'].map((kind) => disk.join(folder.path, `${name}.${kind}`))
			return [log, ...indexes.filter((index) => disk.statNow(index) !== null)]
		}),
	)
}

async function dumpFile(dump: Dump, path: string): Promise<void> {
	if (!dump.isJson) dump.lines.add(`Dumping ${path}`)
	const name = path.replace(/^.*[/\\]/, '')
	const { disk } = dump.runtime
	const each = async (rows: readonly object[]): Promise<void> => {
		for (const row of rows) await put(dump, path, row, Object.entries(row).map(pairText).join(' '))
	}
	if (name.endsWith('.log')) await dumpBatches(dump, path)
	else if (name.endsWith('.index')) await each(dumpOffsetIndex(disk, path, baseOffsetOf(name)))
	else if (name.endsWith('.timeindex')) await each(dumpTimeIndex(disk, path, baseOffsetOf(name)))
	else if (name.endsWith('.txnindex')) await each(dumpTxnIndex(disk, path))
	else if (name.endsWith('.snapshot')) await dumpProducers(dump, path)
	else throw new CliError(`${path}: not a file of a log`, EXIT.usage)
}

function pairText([key, value]: [string, unknown]): string {
	return `${key}: ${value}`
}

async function dumpProducers(dump: Dump, path: string): Promise<void> {
	try {
		for (const entry of dumpSnapshot(dump.runtime.disk, path)) await put(dump, path, entry, producerLine(entry))
	} catch (error) {
		if (!(error instanceof Error) || error.name !== 'SnapshotDamage') throw error
		await putDamage(dump, path, { position: 0, bytes: 0, reason: error.message })
	}
}

async function dumpBatches(dump: Dump, path: string): Promise<void> {
	const { runtime, flags } = dump
	const needsRecords = flags.records || flags.deep || flags.decode !== undefined
	const decodeAs = kindOfRecords(flags.decode)
	const from = flags.from ?? 0
	const to = flags.to ?? Number.POSITIVE_INFINITY
	for await (const entry of dumpLog(runtime.disk, path, needsRecords ? runtime.compression : null)) {
		if (isDamage(entry)) {
			await putDamage(dump, path, entry)
			continue
		}
		if (entry.lastOffset < from || entry.baseOffset >= to) continue
		await putBatch(dump, path, entry, decodeAs)
		if (!entry.isValid) dump.damage.push(`${path}: CRC does not match at ${entry.position}`)
		else if (entry.problem !== null) dump.damage.push(`${path}: ${entry.problem} at ${entry.position}`)
	}
}

function kindOfRecords(text: string | undefined): InternalKind | null {
	return text === 'offsets' || text === 'txn' ? text : null
}

async function putBatch(dump: Dump, path: string, batch: DumpedBatch, decodeAs: InternalKind | null): Promise<void> {
	const { flags, isJson } = dump
	const { records, ...header } = batch
	// `--deep` alone reads every record to find damage and prints only what holds them.
	const shown = flags.records || decodeAs !== null ? (records ?? []) : []
	const inRange = shown.filter(({ offset }) => offset >= (flags.from ?? 0) && offset < (flags.to ?? Number.MAX_VALUE))
	if (isJson) {
		const printed = shown.length === 0 ? {} : { records: inRange.map((each) => recordObject(batch, each, decodeAs)) }
		await put(dump, path, { ...header, ...printed }, '')
		return
	}
	await put(dump, path, header, batchLine(batch))
	for (const record of inRange) {
		const decoded = decodeAs === null ? null : decodeInternal(record, decodeAs)
		const text = decoded === null ? recordLine(batch, record) : `| offset: ${record.offset} ${jsonText(decoded)}`
		if (dump.lines.add(text)) await dump.lines.drain()
	}
}

async function putDamage(
	dump: Dump,
	path: string,
	damage: { readonly position: number; readonly bytes: number; readonly reason: string },
): Promise<void> {
	const { position, bytes, reason } = damage
	dump.damage.push(`${path}: ${reason} at ${position}, ${bytes} bytes left`)
	await put(dump, path, { damage: reason, position, bytes }, `damage: ${reason} position: ${position} bytes: ${bytes}`)
}

async function put({ lines, isJson }: Dump, path: string, row: object, text: string): Promise<void> {
	if (lines.add(isJson ? jsonText({ file: path, ...row }) : text)) await lines.drain()
}
