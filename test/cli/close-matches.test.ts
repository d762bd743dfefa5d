import { describe, expect, it } from 'vitest'
import { closeMatches, didYouMean, editDistance } from '../../src/cli/close-matches.js'

describe('close matches', () => {
	it('count a swap of neighbours as one edit', () => {
		expect(editDistance('ab', 'ba')).toBe(1)
		expect(editDistance('kitten', 'sitting')).toBe(3)
		expect(editDistance('', 'abc')).toBe(3)
	})

	it('come nearest first, at most three', () => {
		expect(closeMatches('orderes', ['ordered', 'orders', 'payments', 'order', 'orderess', 'border'])).toEqual([
			'ordered',
			'orderess',
			'orders',
		])
	})

	it('take a beginning or an inner part for near', () => {
		expect(closeMatches('pay', ['payments', 'repay'])).toEqual(['payments'])
		expect(closeMatches('ments', ['payments'])).toEqual(['payments'])
	})

	it('see another case as a match, and never the name itself', () => {
		expect(closeMatches('Orders', ['orders'])).toEqual(['orders'])
		expect(closeMatches('orders', ['orders'])).toEqual([])
	})

	it('are told in words', () => {
		expect(didYouMean([])).toBeNull()
		expect(didYouMean(['a'])).toBe('did you mean a?')
		expect(didYouMean(['a', 'b', 'c'])).toBe('did you mean a, b or c?')
	})
})
