/**
 * Puts a cleaned segment in the place of those it was made from (21.7), within one turn. What a crash leaves is finished or
 * undone by `folder.ts` at the next start:
 *
 *     <base>.log.cleaned …   synced               crash: dropped, the old segments are the log
 *     <base>.log.swap …      folder synced        crash: those it replaces are removed, it gets its plain name
 *     <old>.log.deleted …    gone after file.delete.delay.ms
 *     <base>.log …           folder synced
 */

import type { LogCore } from '../log-core.js'
import { Segment } from '../segment.js'
import { discardSegments } from '../truncate.js'

export const CLEANED = '.cleaned'
export const SWAP = '.swap'

/**
 * `cleaned` is sealed, synced and closed; `old` are the neighbours that it replaces, all of them in the log. Returns the
 * segment that now stands in the log. On a `DiskError` the folder is in between, and the caller fences the log.
 */
export function swapIn(core: LogCore, cleaned: Segment, old: readonly Segment[]): Segment {
	const { disk, clock } = core.services
	const { baseOffset, size } = cleaned
	const end = core.segments.endOf(old[old.length - 1] as Segment, core.logEndOffset)
	const present = cleaned.paths().filter((path) => disk.statNow(path) !== null)
	const stems = present.map((path) => path.slice(0, -CLEANED.length))
	// The log file first: as long as one is `.cleaned`, a `.swap` beside it counts for nothing.
	for (const stem of stems) disk.renameNow(stem + CLEANED, stem + SWAP)
	disk.syncDirectoryNow(core.directory)
	discardSegments(core, old, true)
	for (const stem of stems) disk.renameNow(stem + SWAP, stem)
	disk.syncDirectoryNow(core.directory)
	const fresh = new Segment(disk, core.directory, baseOffset, size, core.config, clock.wallMs())
	core.segments.replace(old, [fresh])
	for (const segment of old) if (segment.baseOffset !== baseOffset) core.snapshots.remove(segment.baseOffset)
	// Memory must not serve what the transaction index no longer tells of.
	core.tail.dropBelow(end)
	return fresh
}
