/**
 * What becomes of a damaged segment: a pure decision over its pieces. Whatever can be read stays. Offset and leader epoch of
 * a batch lie outside of its CRC: where only they are wrong, and the batches around say what they must be, they are written
 * anew. Everything else that is wrong is taken out, and the offsets that go with it are named.
 */

import type { Piece, Stretch } from './pieces.js'

/** A change of one place of a `.log` file. */
export interface Change {
	readonly position: number
	readonly bytes: number
	readonly problem: string
	readonly action: string
	/** Offsets that nobody will read again: first and last, the last null when it is not known. Null: none. */
	readonly lost: { readonly first: number; readonly last: number | null } | null
}

/** A stretch of the file that stays, with what is written over its header. */
export interface Kept {
	readonly position: number
	readonly bytes: number
	readonly baseOffset: number
	readonly leaderEpoch: number
	/** Base offset or epoch differ from what the file has. */
	readonly isStamped: boolean
	/** The header's largest time, where it is to be corrected. */
	readonly largestTimestamp: number | null
}

export interface Salvage {
	/** Base offset in the names of its files, before and after; null: nothing is left, its files go. */
	readonly base: number
	readonly newBase: number | null
	readonly kept: readonly Kept[]
	readonly changes: readonly Change[]
	/** Next offset behind what is kept. */
	readonly endOffset: number
	/** Leader epoch of the last batch that is kept. */
	readonly lastEpoch: number
}

export interface SalvageContext {
	readonly base: number
	/** Nothing below may stand here: end of the segment before. */
	readonly floor: number
	/** Base of the next segment, null for the last. */
	readonly nextBase: number | null
	/** Leader epoch of what stands before, -1 unknown. */
	readonly epochBefore: number
	/** Epoch that the checkpoint has for an offset, where the checkpoint is sound. */
	readonly epochOf: ((offset: number) => number) | null
	/** Offsets are dense: the log was never compacted. */
	readonly isDense: boolean
}

const SPAN_MAX = 0x7fff_ffff

export function decideSalvage(pieces: readonly (Piece | Stretch)[], context: SalvageContext): Salvage {
	const batches = pieces.filter((piece) => piece.kind === 'batch')
	/** Indexes of batches with a damaged stretch right behind them. */
	const isDamagedAfter = new Set<number>()
	let count = 0
	for (const { kind } of pieces) {
		if (kind === 'batch') count++
		else isDamagedAfter.add(count - 1)
	}
	const kept: Kept[] = []
	const changes: Change[] = []
	let floor = Math.max(context.floor, context.base)
	let epoch = context.epochBefore
	/** Changes whose loss is known once the next kept batch is. */
	let open: Omit<Change, 'lost'>[] = []

	function settle(next: number | null): void {
		const isLoss = next === null || next > floor
		for (const change of open) {
			const lost = isLoss ? { first: floor, last: next === null ? null : next - 1 } : null
			changes.push({ ...change, lost })
		}
		open = []
	}

	/** The base offset that batch `at` must have, null when it can have none. */
	function baseFor(all: readonly Piece[], at: number, lower: number, isNextToBefore: boolean): number | null {
		const { baseOffset, lastOffset, span } = all[at] as Piece
		const next = all[at + 1]?.baseOffset ?? context.nextBase
		const afterNext = all[at + 2]?.baseOffset ?? context.nextBase
		const isBelowNext = next === null || lastOffset < next
		const isNextOdd = at + 1 < all.length && (afterNext === null || lastOffset < afterNext)
		const isAbove = baseOffset >= lower && lastOffset - context.base <= SPAN_MAX
		// One that follows on what is before it is right, whatever its neighbour says.
		if (isAbove && (isBelowNext || baseOffset === lower)) return baseOffset
		if (next !== null && lower + span + 1 === next) return lower
		if (context.isDense) {
			// It stands right behind what is before it, or right before what follows, where nothing is lost between.
			const fits = next === null ? baseOffset > lower : lower + span < next
			if (isNextToBefore && fits) return lower
			const isNextSound = at + 1 >= all.length || (all[at + 1] as Piece).lastOffset + 1 === afterNext
			if (next !== null && isNextSound && !isDamagedAfter.has(at) && next - span - 1 >= lower) return next - span - 1
		}
		return isAbove && isNextOdd ? baseOffset : null
	}

	let at = -1
	for (const piece of pieces) {
		const { position, bytes } = piece
		if (piece.kind === 'batch') at++
		if (piece.kind === 'stretch') {
			open.push({ position, bytes, problem: piece.problem, action: `${bytes} bytes are taken out` })
			continue
		}
		const baseOffset = baseFor(batches, at, floor, open.length === 0)
		if (baseOffset === null) {
			const problem = `offsets ${piece.baseOffset} to ${piece.lastOffset} where ${floor} or more was expected`
			open.push({ position, bytes, problem, action: `the batch is taken out: its offsets are others'` })
			continue
		}
		const { records } = piece
		if (records !== null && records.largestTimestamp === null) {
			open.push({ position, bytes, problem: records.problem, action: 'the batch is taken out' })
			continue
		}
		settle(baseOffset)
		const leaderEpoch = epochFor(piece, at, baseOffset)
		const largestTimestamp = records?.largestTimestamp ?? null
		const isStamped = baseOffset !== piece.baseOffset || leaderEpoch !== piece.leaderEpoch
		kept.push({ position, bytes, baseOffset, leaderEpoch, isStamped, largestTimestamp })
		const note = (problem: string, action: string): void => {
			changes.push({ position, bytes, problem, action, lost: null })
		}
		if (baseOffset !== piece.baseOffset) {
			note(`base offset ${piece.baseOffset} where ${floor} was expected`, `its base offset is set to ${baseOffset}`)
		}
		if (leaderEpoch !== piece.leaderEpoch) {
			note(`leader epoch ${piece.leaderEpoch}`, `its leader epoch is set to ${leaderEpoch}`)
		}
		if (largestTimestamp !== null) {
			note(records?.problem ?? '', `its header gets ${largestTimestamp} for the largest time`)
		}
		floor = baseOffset + piece.span + 1
		epoch = Math.max(epoch, leaderEpoch)
	}
	settle(context.nextBase === null ? null : Math.max(context.nextBase, floor))

	/** Epochs never fall: one that does, or that is above all that follow, is not what was written. */
	function epochFor(piece: Piece, at: number, baseOffset: number): number {
		const own = piece.leaderEpoch
		if (own < 0) return own
		const next = batches[at + 1]?.leaderEpoch ?? -1
		const isOdd = own < epoch || (next >= 0 && own > next && next >= epoch)
		if (!isOdd) return own
		const known = context.epochOf?.(baseOffset) ?? -1
		return known >= 0 && known >= epoch ? known : Math.max(epoch, 0)
	}

	const first = kept[0]?.baseOffset
	const isNamedRight = context.base >= context.floor
	const isLast = context.nextBase === null
	const newBase =
		first === undefined ? (isLast && isNamedRight ? context.base : null) : isNamedRight ? context.base : first
	return { base: context.base, newBase, kept, changes, endOffset: floor, lastEpoch: epoch }
}
