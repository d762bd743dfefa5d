import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { settingValue } from '../../src/cli/parse.js'
import { humanBytes, humanCount, humanDuration, humanSetting } from '../../src/cli/style.js'

describe('units for people', () => {
	it('are the largest that give at least one', () => {
		expect([0, 1023, 1024, 1536, 1_073_741_824].map(humanBytes)).toEqual(['0B', '1023B', '1KiB', '1.5KiB', '1GiB'])
		expect([0, 999, 1000, 90_000, 604_800_000].map(humanDuration)).toEqual(['0ms', '999ms', '1s', '1m30s', '7d'])
		expect(humanCount(1_234_567)).toBe('1,234,567')
	})

	it('have a mark where they are not exact', () => {
		expect([1_048_588, 1_000_000, 1_048_575].map(humanBytes)).toEqual(['~1.00MiB', '~977KiB', '~1.00MiB'])
	})

	it('leave "none" and "no limit" alone', () => {
		expect(humanBytes(-1)).toBe('-1')
		expect(humanSetting('retention.bytes', '-1')).toBe('-1')
		expect(humanSetting('flush.ms', '9223372036854775807')).toBe('max')
	})

	it('follow the name of a setting, and never round it', () => {
		expect(humanSetting('retention.ms', '604800000')).toBe('7d')
		expect(humanSetting('segment.bytes', '1073741824')).toBe('1GiB')
		expect(humanSetting('max.message.bytes', '1048588')).toBe('1048588')
		expect(humanSetting('min.insync.replicas', '2')).toBe('2')
		expect(humanSetting('cleanup.policy', 'delete')).toBe('delete')
	})

	it('of settings can be set again as they are shown', () => {
		fc.assert(
			fc.property(fc.constantFrom('retention.ms', 'segment.bytes'), fc.nat(Number.MAX_SAFE_INTEGER), (key, number) => {
				expect(settingValue(key, humanSetting(key, String(number)))).toBe(String(number))
			}),
		)
		expect(settingValue('flush.ms', 'max')).toBe('9223372036854775807')
	})

	it('that are written out are refused, with what is meant', () => {
		const hintOf = (key: string, value: string): unknown => {
			try {
				return settingValue(key, value)
			} catch (error) {
				return (error as { hint: string | null }).hint
			}
		}
		expect(hintOf('retention.ms', '7days')).toBe('did you mean 7d?')
		expect(hintOf('retention.ms', '12 Hours')).toBe('did you mean 12h?')
		expect(hintOf('retention.ms', 'soon')).toBe(null)
		expect(hintOf('segment.bytes', '64M')).toBe('did you mean 64MiB?')
	})
})
