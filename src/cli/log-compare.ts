/** Behind `kcli log compare`: two folders of one partition, record by record or byte by byte. */

import { CodecError } from '../base/compression.js'
import { type Comparison, compareLogs, type Difference, type LogSide } from '../engine/log/compare.js'
import { keyOfFolder, readDirFacts } from '../engine/log/verify/dir-check.js'
import { Faults } from '../engine/log/verify/finding.js'
import type { DecodedRecord } from '../protocol/records/record.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import type { Disk } from '../runtime/ports.js'
import { CliError, EXIT, usageError } from './errors.js'
import { partitionFolders, pathOf } from './log-paths.js'
import { bytesField } from './log-record.js'
import { notice, type OutputChoice, printReport, tableOf } from './output.js'

export interface LogCompareChoice extends OutputChoice {
	readonly 'data-dir': string
	readonly bytes: boolean
	readonly count: number
}

/** The most that one batch may decompress to here. */
const PLAIN_BYTES_MAX = 256 * 1024 * 1024

/** Compares two folders and prints the first differences; the exit code: 3 when there is one. */
export async function compareFolders(words: readonly string[], flags: LogCompareChoice): Promise<number> {
	if (words.length !== 2) throw usageError('two folders are compared', 'such as DATA/orders-0 BACKUP/orders-0')
	const { disk, compression } = nodeRuntime()
	const [a, b] = words.map((word) => sideOf(disk, pathOf(disk, word, flags['data-dir']))) as [LogSide, LogSide]
	const found = await compare()
	const items = found.differences.map(rowOf)
	const what = flags.bytes ? 'batches' : 'records'
	if (found.differenceCount > items.length) {
		notice(`${found.differenceCount - items.length} more differences are not listed`, flags)
	}
	const end = found.differenceCount === 0 ? 'no difference' : `${found.differenceCount} differences`
	notice(`${found.equal} ${what} are equal, of ${found.countA} in A and ${found.countB} in B: ${end}`, flags)
	await printReport(
		{
			kind: 'LogCompare',
			items,
			errors: [],
			clusterId: null,
			table: tableOf(items, [
				{ header: 'OFFSET', value: ({ offset }) => offset },
				{ header: 'LAST', value: ({ lastOffset }) => lastOffset },
				{ header: 'COUNT', value: ({ count }) => count, unit: 'count' },
				{ header: 'KIND', value: ({ kind }) => kind },
				{ header: 'FIELDS', value: ({ fields }) => fields.join(',') },
			]),
			nameOf: ({ offset }) => String(offset),
		},
		flags,
	)
	return found.differenceCount === 0 ? EXIT.done : EXIT.checkFailed

	async function compare(): Promise<Comparison> {
		const options = {
			isByBytes: flags.bytes,
			differencesMax: flags.count,
			decompressedBytesMax: PLAIN_BYTES_MAX,
		}
		try {
			return await compareLogs(disk, compression, a, b, options)
		} catch (error) {
			const isDamage = error instanceof Error && /^(SegmentDamage|RecordFormatError)$/.test(error.name)
			if (!isDamage && !(error instanceof CodecError)) throw error
			throw new CliError(
				(error as Error).message,
				EXIT.failed,
				'see kcli log verify and kcli log repair',
				'KCLI_LOG_DAMAGE',
			)
		}
	}
}

/** One partition's folder, and from where on its records count. */
function sideOf(disk: Disk, path: string): LogSide {
	const [folder, ...more] = partitionFolders(disk, path)
	if (folder === undefined || more.length > 0) {
		throw usageError(`${path} holds several partitions`, "name a partition's folder, such as DATA/orders-0")
	}
	const { logStarts } = readDirFacts(disk, disk.absolute(disk.join(folder.path, '..')), new Faults())
	return { directory: folder.path, logStartOffset: logStarts.get(keyOfFolder(folder.name) ?? '') ?? 0 }
}

function rowOf({ kind, offset, lastOffset, count, fields, a, b }: Difference) {
	return { kind, offset, lastOffset, count, fields, a: shown(a), b: shown(b) }
}

function shown(record: DecodedRecord | null) {
	if (record === null) return null
	const [key, value] = [bytesField(record.key), bytesField(record.value)]
	return {
		timestamp: record.timestamp,
		key: key.text,
		keyEncoding: key.encoding,
		value: value.text,
		valueEncoding: value.encoding,
		headers: record.headers.map((header) => {
			const { text, encoding } = bytesField(header.value)
			return { key: header.key, value: text, encoding }
		}),
	}
}
