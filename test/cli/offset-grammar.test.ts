import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type OffsetPoint, parseOffset, parseOffsets, readTime } from '../../src/cli/offset-grammar.js'

const NOW = Date.UTC(2024, 4, 17, 12, 0, 0)
const read = (text: string) => {
	const { from, to } = parseOffset(text, NOW)
	return { from, to }
}
const refused = (text: string): void => expect(() => parseOffset(text, NOW), text).toThrow(/is no offset/)
const reversed = (text: string): void => expect(() => parseOffset(text, NOW), text).toThrow(/ends before it begins/)

const point = fc.oneof(
	fc.constantFrom('start', 'beginning', 'earliest', 'oldest').map((text) => ({ text, is: { kind: 'start' as const } })),
	fc.constantFrom('end', 'latest', 'newest').map((text) => ({ text, is: { kind: 'end' as const } })),
	fc.nat(2 ** 31).map((offset) => ({ text: String(offset), is: { kind: 'offset' as const, offset } })),
	fc.nat(1_000_000).map((count) => ({ text: `-${count}`, is: { kind: 'fromEnd' as const, count } })),
	fc.nat(1_000_000).map((count) => ({ text: `+${count}`, is: { kind: 'fromStart' as const, count } })),
)

const time = fc.oneof(
	fc.integer({ min: 0, max: 99_999_999_999 }).map((s) => ({ text: String(s), ms: s * 1000 })),
	fc.integer({ min: 100_000_000_000, max: 8_000_000_000_000 }).map((ms) => ({ text: String(ms), ms })),
	fc.integer({ min: 0, max: 4_000_000_000_000 }).map((ms) => ({ text: new Date(ms).toISOString(), ms })),
	fc
		.integer({ min: 0, max: 4_000_000_000 })
		.map((s) => ({ text: new Date(s * 1000).toISOString().replace('.000Z', '+00:00'), ms: s * 1000 })),
	fc.tuple(fc.integer({ min: 1, max: 500 }), fc.constantFrom('s', 'm', 'h', 'd', 'w')).map(([n, unit]) => ({
		text: `-${n}${unit}`,
		ms: NOW - n * ({ s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }[unit] as number),
	})),
	fc.constant({ text: 'now', ms: NOW }),
)

describe('offset grammar', () => {
	it('reads every point as what it names', () => {
		fc.assert(
			fc.property(point, ({ text, is }) => {
				expect(read(text)).toEqual({ from: is, to: null })
			}),
		)
	})

	it('reads every range of offsets, its end exclusive, and refuses one that runs backwards', () => {
		fc.assert(
			fc.property(point, point, (a, b) => {
				const isBackwards = a.is.kind === 'offset' && b.is.kind === 'offset' && b.is.offset < a.is.offset
				if (isBackwards) reversed(`${a.text}:${b.text}`)
				else if (b.is.kind === 'start') refused(`${a.text}:${b.text}`)
				else expect(read(`${a.text}:${b.text}`)).toEqual({ from: a.is, to: b.is })
			}),
		)
	})

	it('reads every time, and every range of times whose colons are those of the times too', () => {
		fc.assert(
			fc.property(time, time, (a, b) => {
				expect(read(`@${a.text}`)).toEqual({ from: { kind: 'time', ms: a.ms }, to: null })
				if (b.ms < a.ms) return
				expect(read(`@${a.text}:${b.text}`)).toEqual({
					from: { kind: 'time', ms: a.ms },
					to: { kind: 'time', ms: b.ms },
				})
			}),
		)
	})

	it('never throws anything but a usage error that names the forms', () => {
		fc.assert(
			fc.property(fc.string({ unit: fc.constantFrom(...'@:+-0123456789Tsendartlo.Zm') }), (text) => {
				try {
					parseOffset(text, NOW)
				} catch (error) {
					expect(error).toMatchObject({ name: 'CliError', exitCode: 2 })
				}
			}),
		)
	})

	it.each<[string, OffsetPoint, OffsetPoint | null]>([
		[':end', { kind: 'start' }, { kind: 'end' }],
		[':100', { kind: 'start' }, { kind: 'offset', offset: 100 }],
		['5:', { kind: 'offset', offset: 5 }, null],
		['-10:end', { kind: 'fromEnd', count: 10 }, { kind: 'end' }],
		['stored', { kind: 'stored' }, null],
		['EARLIEST', { kind: 'start' }, null],
		['@-2h:-1h', { kind: 'time', ms: NOW - 7_200_000 }, { kind: 'time', ms: NOW - 3_600_000 }],
		['@2024-05-01T10:00:00Z:end', { kind: 'time', ms: Date.UTC(2024, 4, 1, 10) }, { kind: 'end' }],
		[
			'@1714557600:2024-05-01T11:00+00:00',
			{ kind: 'time', ms: 1714557600_000 },
			{ kind: 'time', ms: Date.UTC(2024, 4, 1, 11) },
		],
		['s@1714557600000', { kind: 'time', ms: 1714557600000 }, null],
		['e@1714557600000', { kind: 'start' }, { kind: 'time', ms: 1714557600000 }],
	])('%s', (text, from, to) => expect(read(text)).toEqual({ from, to }))

	it.each([
		'',
		':',
		'@',
		'@:',
		'begining',
		'1.5',
		'--3',
		'@yesterday',
		'@2024-13-01',
		'@2024-02-30',
		':start',
		'@T10:00',
	])('refuses %j', (text) => refused(text))

	it.each(['10:5', '@now:-1h', '@2024-05-02:2024-05-01'])('says of %j that it runs backwards', (text) => reversed(text))

	it('takes kcat’s two times together, and no two of one kind', () => {
		const { from, to } = parseOffsets(['s@1714557600000', 'e@1714557700000'], NOW)
		expect([from, to]).toEqual([
			{ kind: 'time', ms: 1714557600000 },
			{ kind: 'time', ms: 1714557700000 },
		])
		expect(() => parseOffsets(['1', '2'], NOW)).toThrow(/two of the same kind/)
	})

	it('takes a time without zone as local, and says which zone', () => {
		const found = readTime('2024-05-01T10:00', NOW)
		expect(found?.ms).toBe(new Date(2024, 4, 1, 10).getTime())
		expect(found?.notes[0]).toMatch(/local zone/)
		expect(readTime('2024-05-01T10:00Z', NOW)?.notes).toEqual([])
	})
})
