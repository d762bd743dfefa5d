import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { InputRecord } from '../../src/cli/record-input.js'
import { formatParser } from '../../src/cli/record-input-format.js'
import { compileTemplate } from '../../src/cli/record-template.js'

const OPTIONS = { key: null, isEmptyNull: false, nullValue: null, isPartitionKept: true }

/** What the format reads of `bytes`, given in chunks of `step`. */
function read(format: string, bytes: Buffer, step = bytes.length || 1, more: Partial<typeof OPTIONS> = {}) {
	const found: (InputRecord & { value: string | null })[] = []
	const parser = formatParser(format, { ...OPTIONS, ...more }, (record, value, from, end) =>
		found.push({ ...record, value: value === null ? null : value.toString('latin1', from, end) }),
	)
	for (let at = 0; at < bytes.length; at += step) parser.push(bytes.subarray(at, at + step))
	parser.end()
	return found.map(({ key, value, partition, timestamp, headers }) => ({
		key: key?.toString('latin1') ?? null,
		value,
		partition,
		timestamp,
		headers: (headers ?? []).map((each) => `${each.key}=${each.value}`),
	}))
}

describe('input by a format', () => {
	it('reads back what the format prints, whatever the chunks', () => {
		const word = fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'é', '%'), maxLength: 6 })
		fc.assert(
			fc.property(fc.array(fc.tuple(word, word)), fc.integer({ min: 1, max: 9 }), (rows, step) => {
				const bytes = Buffer.from(rows.map(([key, value]) => `${key}|${value}\n`).join(''))
				const found = read('%k|%s\\n', bytes, step)
				const latin = (text: string): string => Buffer.from(text).toString('latin1')
				expect(found.map(({ key, value }) => [key, value])).toEqual(rows.map(([k, v]) => [latin(k), latin(v)]))
			}),
		)
	})

	it('reads lengths before fields, so that any bytes pass, and null', () => {
		const value = Buffer.from([0, 10, 255, 37])
		const length = Buffer.from([0, 0, 0, 4])
		const bytes = Buffer.concat([length, value, Buffer.from([255, 255, 255, 255])])
		expect(read('%R%s', bytes, 3).map((each) => each.value)).toEqual([value.toString('latin1'), null])
	})

	it('reads partition, time, headers and encodings; the last record needs no end', () => {
		const [found] = read('%p %T %h %k{hex}=%s{base64}\\n', Buffer.from('3 17 a=1,b=NULL 6b=dg=='), 4)
		expect(found).toEqual({ key: 'k', value: 'v', partition: 3, timestamp: 17, headers: ['a=1', 'b=null'] })
	})

	it('refuses formats that cannot be read, and input that does not fit', () => {
		expect(() => read('%k%s', Buffer.from('x'))).toThrow(/nothing stands between/)
		expect(() => read('%o\\n', Buffer.from('x'))).toThrow(/neither %s nor %k/)
		expect(() => read('[%s]\\n', Buffer.from('[a]\nx]\n'))).toThrow(/line 2/)
		expect(() => read('%k|%s\\n', Buffer.from('a|b\nc'))).toThrow(/line 2.*ends within/)
	})
})

describe('templates', () => {
	it('fill their places anew for each record', () => {
		const made = compileTemplate('{"n":{{n}},"at":{{ms}},"i":{{int:5:5}},"p":"{{pick:a}}"}', '--template')
		expect(made(7, 42)).toBe('{"n":7,"at":42,"i":5,"p":"a"}')
		expect(compileTemplate('{{uuid}}{{hex:2}}{{now}}', '-k')(1, 0)).toMatch(/^[0-9a-f-]{36}[0-9a-f]{4}1970-01-01T/)
	})

	it.each(['{{nope}}', '{{int:5:1}}', '{{pick:}}', '{{hex:-1}}', '{{}}'])('refuse %s', (text) =>
		expect(() => compileTemplate(text, '--template')).toThrow(/has no place/),
	)
})
