import { describe, expect, it } from 'vitest'
import { humanBytes, humanCount, humanDuration, humanSetting } from '../../src/cli/style.js'

describe('units for people', () => {
	it('are the largest that give at least one', () => {
		expect([0, 1023, 1024, 1536, 1_073_741_824].map(humanBytes)).toEqual(['0B', '1023B', '1KiB', '1.5KiB', '1GiB'])
		expect([0, 999, 1000, 90_000, 604_800_000].map(humanDuration)).toEqual(['0ms', '999ms', '1s', '1.5m', '7d'])
		expect(humanCount(1_234_567)).toBe('1,234,567')
	})

	it('leave "none" and "no limit" alone', () => {
		expect(humanBytes(-1)).toBe('-1')
		expect(humanSetting('retention.bytes', '-1')).toBe('-1')
		expect(humanSetting('flush.ms', '9223372036854775807')).toBe('max')
	})

	it('follow the name of a setting', () => {
		expect(humanSetting('retention.ms', '604800000')).toBe('7d')
		expect(humanSetting('segment.bytes', '1073741824')).toBe('1GiB')
		expect(humanSetting('min.insync.replicas', '2')).toBe('2')
		expect(humanSetting('cleanup.policy', 'delete')).toBe('delete')
	})
})
