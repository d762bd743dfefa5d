/** The segments of a log in offset order; the last is the active one. Never empty once the log is loaded. */

import { present } from '../../base/assert.js'
import type { Segment } from './segment.js'

export class SegmentList {
	#segments: Segment[] = []

	get all(): readonly Segment[] {
		return this.#segments
	}

	get active(): Segment {
		return present(this.#segments[this.#segments.length - 1], 'a log has a segment')
	}

	get first(): Segment {
		return present(this.#segments[0], 'a log has a segment')
	}

	/** Segment with the largest base at or below `offset`; null when all begin above. */
	floor(offset: number): Segment | null {
		const index = this.floorIndex(offset)
		return index < 0 ? null : (this.#segments[index] as Segment)
	}

	/** Segment with the smallest base at or above `offset`; null when all begin below. */
	from(offset: number): Segment | null {
		const floor = this.floorIndex(offset)
		const isExact = floor >= 0 && (this.#segments[floor] as Segment).baseOffset === offset
		return this.#segments[isExact ? floor : floor + 1] ?? null
	}

	floorIndex(offset: number): number {
		let low = 0
		let high = this.#segments.length
		while (low < high) {
			const middle = (low + high) >>> 1
			if ((this.#segments[middle] as Segment).baseOffset <= offset) low = middle + 1
			else high = middle
		}
		return low - 1
	}

	/** Base offset of the segment after `segment`, or `end` for the active one. */
	endOf(segment: Segment, end: number): number {
		const next = this.#segments[this.floorIndex(segment.baseOffset) + 1]
		return next === undefined ? end : next.baseOffset
	}

	/** Adds at the end. */
	push(segment: Segment): void {
		this.#segments.push(segment)
	}

	/** Takes out the first `count` and gives them back. */
	shiftMany(count: number): Segment[] {
		return this.#segments.splice(0, count)
	}

	/** Takes out all with a base at or above `offset` and gives them back. */
	popFrom(offset: number): Segment[] {
		let keep = this.#segments.length
		while (keep > 0 && (this.#segments[keep - 1] as Segment).baseOffset >= offset) keep--
		return this.#segments.splice(keep)
	}

	/** Puts `added` where the segments `removed` stand: for the cleaner. Both in offset order. */
	replace(removed: readonly Segment[], added: readonly Segment[]): void {
		const gone = new Set(removed)
		const kept = this.#segments.filter((segment) => !gone.has(segment))
		this.#segments = [...kept, ...added].sort((a, b) => a.baseOffset - b.baseOffset)
	}
}
