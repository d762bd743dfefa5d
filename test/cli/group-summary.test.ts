import { describe, expect, it } from 'vitest'
import { lagFilter, sumsOf } from '../../src/cli/group-summary.js'
import { type GroupOffset, sumOfLags } from '../../src/ops/group-view.js'

const offset = (topic: string, partition: number, lag: number | null, memberId: string | null): GroupOffset => ({
	topic,
	partition,
	offset: 0,
	endOffset: lag,
	lag,
	metadata: null,
	memberId,
	clientId: memberId === null ? null : `client-${memberId}`,
	host: null,
})
/** A partition that has records and no committed offset. */
const unread = (topic: string): GroupOffset => ({ ...offset(topic, 9, 50, 'm'), offset: null, lag: null })
const OFFSETS = [offset('a', 0, 5, 'm'), offset('a', 1, 7, 'n'), offset('b', 0, null, null)]

describe('a group in sums', () => {
	it('is not told where a partition with records has no committed offset', () => {
		const [five, seven, gone] = OFFSETS as [GroupOffset, GroupOffset, GroupOffset]
		expect(sumOfLags([five, seven, gone])).toBe(12)
		expect(sumOfLags([five, unread('a')])).toBe(null)
		expect(sumOfLags([five, { ...unread('a'), endOffset: 0 }])).toBe(5)
		expect(sumOfLags([gone])).toBe(null)
		expect(sumsOf([five, unread('a')], 'topic')).toMatchObject([{ lag: null, lagMax: 5 }])
	})

	it('by topic and by member: partitions, lag, the largest of it', () => {
		expect(sumsOf(OFFSETS, 'topic')).toMatchObject([
			{ name: 'a', partitions: 2, lag: 12, lagMax: 7 },
			{ name: 'b', partitions: 1, lag: null, lagMax: null },
		])
		expect(sumsOf(OFFSETS, 'member')).toMatchObject([
			{ name: 'm', clientId: 'client-m', lag: 5 },
			{ name: 'n', lag: 7 },
			{ name: null, lag: null },
		])
	})

	it.each<[string, number[]]>([
		['>5', [7]],
		['>=5', [5, 7]],
		['5', [5, 7]],
		['<7', [5]],
		['<= 7', [5, 7]],
		['=7', [7]],
	])('--lag %s', (text, fitting) => {
		const fits = lagFilter(text)
		expect(OFFSETS.map(({ lag }) => lag).filter(fits)).toEqual(fitting)
	})

	it('refuses what is no comparison', () => {
		for (const text of ['', 'much', '>', '>-1', '5..7']) expect(() => lagFilter(text), text).toThrow(/--lag/)
	})
})
