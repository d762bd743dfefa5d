/** Does to a `.log` file what `salvage.ts` decided: headers written in place, an end cut off, or the file written anew. */

import { writeInt64 } from '../../../base/bytes.js'
import { BATCH_HEADER_BYTES, batchMagic, stampBatch, stampTimestamps } from '../../../protocol/records/batch.js'
import type { Disk, File } from '../../../runtime/ports.js'
import { segmentName } from '../segment.js'
import type { Kept, Salvage } from './salvage.js'

const INDEXES = ['index', 'timeindex', 'txnindex'] as const
const COPY_BYTES = 1_048_576

/** Applies `salvage` to the segment in `directory`. Its indexes are removed: recovery makes them anew. */
export function rewriteSegment(disk: Disk, directory: string, salvage: Salvage): void {
	const { base, newBase, kept } = salvage
	const stem = disk.join(directory, segmentName(base))
	for (const ending of INDEXES) disk.removeNow(`${stem}.${ending}`)
	if (newBase === null) {
		disk.removeNow(`${stem}.log`)
		disk.syncDirectoryNow(directory)
		return
	}
	const path = `${stem}.log`
	const modifiedMs = disk.statNow(path)?.modifiedMs
	const isDense = kept.every(({ position }, i) => {
		const before = kept[i - 1]
		return position === (before === undefined ? 0 : before.position + before.bytes)
	})
	if (isDense && newBase === base) editInPlace(disk, path, kept)
	else writeAnew(disk, directory, path, salvage, newBase)
	const target = disk.join(directory, `${segmentName(newBase)}.log`)
	// Records without times are kept as long as before.
	if (modifiedMs !== undefined) disk.setModifiedNow(target, modifiedMs)
	disk.syncDirectoryNow(directory)
}

function editInPlace(disk: Disk, path: string, kept: readonly Kept[]): void {
	const file = disk.openNow(path, 'write')
	try {
		for (const one of kept) {
			if (isChanged(one)) file.writeNow([batchOf(file, one)], one.position)
		}
		const last = kept.at(-1)
		file.truncateNow(last === undefined ? 0 : last.position + last.bytes)
		file.syncNow()
	} finally {
		file.closeNow()
	}
}

/** Under a name that a start removes, then in place of the old: a crash leaves the one or the other. */
function writeAnew(disk: Disk, directory: string, path: string, { kept }: Salvage, newBase: number): void {
	const target = disk.join(directory, `${segmentName(newBase)}.log`)
	const source = disk.openNow(path, 'read')
	const file = disk.openNow(`${target}.cleaned`, 'fresh')
	try {
		let end = 0
		for (const one of kept) {
			if (isChanged(one)) file.writeNow([batchOf(source, one)], end)
			else copy(source, one, file, end)
			end += one.bytes
		}
		file.syncNow()
	} finally {
		file.closeNow()
		source.closeNow()
	}
	if (target !== path) disk.removeNow(path)
	disk.renameNow(`${target}.cleaned`, target)
}

function isChanged({ isStamped, largestTimestamp }: Kept): boolean {
	return isStamped || largestTimestamp !== null
}

function batchOf(file: File, { position, bytes, baseOffset, leaderEpoch, largestTimestamp }: Kept): Buffer {
	const batch = Buffer.allocUnsafe(bytes)
	file.readNow(batch, position)
	if (bytes >= BATCH_HEADER_BYTES && batchMagic(batch, 0) === 2) {
		stampBatch(batch, 0, baseOffset, leaderEpoch)
		if (largestTimestamp !== null) stampTimestamps(batch, 0, bytes, false, largestTimestamp)
	} else writeInt64(batch, baseOffset, 0)
	return batch
}

function copy(source: File, { position, bytes }: Kept, target: File, at: number): void {
	const block = Buffer.allocUnsafe(Math.min(COPY_BYTES, bytes))
	for (let done = 0; done < bytes; ) {
		const read = source.readNow(block.subarray(0, Math.min(block.length, bytes - done)), position + done)
		if (read === 0) throw new Error(`${source.path} became shorter while it was read`)
		target.writeNow([block.subarray(0, read)], at + done)
		done += read
	}
}
