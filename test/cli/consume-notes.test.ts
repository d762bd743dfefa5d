import { describe, expect, it } from 'vitest'
import { planNotes } from '../../src/cli/consume-notes.js'
import type { PartitionPlan } from '../../src/cli/consume-plan.js'
import { parseOffset } from '../../src/cli/offset-grammar.js'

const NOW = Date.UTC(2024, 4, 17)
const plan = (given: Partial<PartitionPlan>): PartitionPlan => ({
	topic: 'orders',
	partition: 0,
	from: 0,
	until: null,
	start: 0,
	end: 30,
	asked: null,
	isStored: false,
	isTooYoung: false,
	...given,
})
const notes = (text: string, given: Partial<PartitionPlan>, endsNow = false): readonly string[] =>
	planNotes([plan(given)], parseOffset(text, NOW), endsNow, NOW)

describe('what a plan does not find', () => {
	it('is said with what is there and what is done', () => {
		expect(notes('100', { asked: 100 })).toEqual([
			'offset 100 is past the last record of orders-0 (first 0, next 30): waits for new records',
		])
		expect(notes('100', { asked: 100 }, true)[0]).toMatch(/nothing to read there$/)
		expect(notes('100:200', { asked: 100, until: 200 })[0]).toMatch(/waits for offset 100$/)
		expect(notes('5', { asked: 5, start: 10 })).toEqual([
			'offset 5 is no longer in orders-0 (first 10, next 30): begins at the first',
		])
		expect(notes('3:5', { asked: 3, start: 10, until: 10 })).toEqual([
			'nothing of the range is left in orders-0 (first 10, next 30)',
		])
		expect(notes('3:200', { asked: 3, until: 200 })[0]).toMatch(/the range ends at 200, past the end of orders-0/)
	})

	it('of times: in the future, and later than every record', () => {
		expect(notes('@2030-01-01T00:00Z', { isTooYoung: true }, true)).toEqual([
			'2030-01-01T00:00:00.000Z lies in the future: nothing to read',
		])
		expect(notes('@-1h', { isTooYoung: true })[0]).toMatch(
			/^no record is from 2024-05-16T23:00:00.000Z or later: waits/,
		)
		expect(notes('@-2h:2030-01-01T00:00Z', { until: 30 })[0]).toMatch(/lies in the future: ends at the present end/)
		expect(notes('@now', { isTooYoung: true })).toEqual([])
	})

	it('of groups: what they committed is gone, or more than there is; standing at the end is usual', () => {
		expect(notes('start', { asked: 5, start: 10, isStored: true })[0]).toMatch(
			/what the group would read next is no longer/,
		)
		expect(notes('start', { asked: 40, isStored: true })[0]).toMatch(/committed more than there is/)
		expect(notes('start', { asked: 30, isStored: true })).toEqual([])
	})

	it('is nothing where all is found', () => {
		for (const text of ['start', 'end', '-3', ':end', '0:30']) expect(notes(text, {}), text).toEqual([])
		expect(notes('0', { asked: 0, end: 0 })).toEqual([])
	})
})
