/** `kcli group describe --by` and `--lag`: a group's offsets summed by topic or member, and chosen by how far they are behind. */

import { type GroupOffset, sumOfLags } from '../ops/group-view.js'
import { usageError } from './errors.js'
import type { Column } from './output.js'

export type GroupBy = 'topic' | 'member'

/** Offsets of one topic or one member. */
export interface LagSum {
	/** Topic, or member id; null: partitions that nobody reads now. */
	readonly name: string | null
	readonly clientId: string | null
	readonly host: string | null
	readonly partitions: number
	/** Null: not known, see {@link sumOfLags}. */
	readonly lag: number | null
	/** Of the partition that is furthest behind. */
	readonly lagMax: number | null
}

export function sumsOf(offsets: readonly GroupOffset[], by: GroupBy): LagSum[] {
	const parts = new Map<string | null, GroupOffset[]>()
	for (const each of offsets) {
		const name = by === 'topic' ? each.topic : each.memberId
		const list = parts.get(name)
		if (list === undefined) parts.set(name, [each])
		else list.push(each)
	}
	return [...parts].map(([name, theirs]) => {
		const lags = theirs.flatMap(({ lag }) => (lag === null ? [] : [lag]))
		return {
			name,
			clientId: by === 'topic' ? null : (theirs[0]?.clientId ?? null),
			host: by === 'topic' ? null : (theirs[0]?.host ?? null),
			partitions: theirs.length,
			lag: sumOfLags(theirs),
			lagMax: lags.length === 0 ? null : lags.reduce((most, lag) => Math.max(most, lag), 0),
		}
	})
}

export function sumColumns(by: GroupBy): Column<LagSum>[] {
	return [
		{ header: by === 'topic' ? 'TOPIC' : 'MEMBER', value: ({ name }) => name },
		...(by === 'topic'
			? []
			: [
					{ header: 'CLIENT', value: ({ clientId }: LagSum) => clientId },
					{ header: 'HOST', value: ({ host }: LagSum) => host },
				]),
		{ header: 'PARTITIONS', value: ({ partitions }) => partitions },
		{ header: 'LAG', value: ({ lag }) => lag, unit: 'count' },
		{ header: 'LAG-MAX', value: ({ lagMax }) => lagMax, unit: 'count' },
	]
}

/** `>100`, `>=100`, `<5`, `<=5`, `=0`; a number alone is "at least". A lag that is not known fits nothing. */
export function lagFilter(text: string): (lag: number | null) => boolean {
	const match = /^\s*(>=|<=|>|<|={1,2})?\s*(\d{1,15})\s*$/.exec(text)
	if (match === null) throw usageError(`--lag wants a comparison such as '>100', not '${text}'`)
	const bound = Number(match[2])
	switch (match[1]) {
		case '>':
			return (lag) => lag !== null && lag > bound
		case '<':
			return (lag) => lag !== null && lag < bound
		case '<=':
			return (lag) => lag !== null && lag <= bound
		case '=':
		case '==':
			return (lag) => lag === bound
		default:
			return (lag) => lag !== null && lag >= bound
	}
}
