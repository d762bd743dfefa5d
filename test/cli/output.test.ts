/** The printer: each form of one report, byte for byte. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import { type OutputChoice, printReport, type Report, tableOf } from '../../src/cli/output.js'

interface Row {
	readonly name: string
	readonly size: number | null
	readonly note: string
	readonly big: bigint
}

const ROWS: readonly Row[] = [
	{ name: 'a', size: 1536, note: 'tab\there', big: 9_007_199_254_740_993n },
	{ name: 'bb', size: null, note: 'x,"y"', big: 7n },
]

function report(rows: readonly Row[] = ROWS): Report<Row> {
	return {
		kind: 'Test',
		items: rows,
		errors: rows.length === 0 ? [] : [{ item: 'c', code: 3, name: 'UNKNOWN', message: 'not there', retriable: true }],
		clusterId: 'id',
		dryRun: true,
		table: tableOf(rows, [
			{ header: 'NAME', value: ({ name }) => name },
			{ header: 'SIZE', value: ({ size }) => size, unit: 'bytes' },
			{ header: 'NOTE', value: ({ note }) => note, isWide: true },
		]),
		nameOf: ({ name }) => name,
		whenEmpty: 'nothing',
	}
}

let stdout = ''
let stderr = ''

beforeEach(() => {
	stdout = ''
	stderr = ''
	vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
		stdout += text
		return true
	})
	vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
		stderr += text
		return true
	})
})
afterEach(() => vi.restoreAllMocks())

function choice(output: string, more: Partial<OutputChoice> = {}): OutputChoice {
	return { output, json: false, quiet: false, ...more }
}

describe('printReport', () => {
	it('writes a table that awk can read, errors beside it, and 1 when an item failed', async () => {
		expect(await printReport(report(), choice('table'))).toBe(1)
		expect(stdout).toBe('NAME  SIZE\na     1536\nbb       -\n')
		expect(stderr).toBe('kcli: c: not there [UNKNOWN 3]\n')
	})

	it('writes units for people where they are asked for', async () => {
		await printReport(report(), choice('table', { human: true }))
		expect(stdout).toContain('1.5KiB')
	})

	it('writes more columns in wide', async () => {
		await printReport(report(), choice('wide'))
		expect(stdout.split('\n')[0]).toBe('NAME  SIZE  NOTE')
	})

	it('writes JSON of one shape, integers beyond 2^53 as strings, errors inside', async () => {
		await printReport(report(), choice('json'))
		expect(JSON.parse(stdout)).toEqual({
			kind: 'Test',
			version: 1,
			context: null,
			clusterId: 'id',
			items: [
				{ name: 'a', size: 1536, note: 'tab\there', big: '9007199254740993' },
				{ name: 'bb', size: null, note: 'x,"y"', big: 7 },
			],
			errors: [{ item: 'c', code: 3, name: 'UNKNOWN', message: 'not there', retriable: true }],
			dryRun: true,
		})
		expect(stderr).toBe('')
	})

	it('writes YAML of the same shape', async () => {
		await printReport(report(), choice('json'))
		const json = JSON.parse(stdout)
		stdout = ''
		await printReport(report(), choice('yaml'))
		expect(parse(stdout)).toEqual(json)
	})

	it('writes tsv without a header, csv with one, name alone', async () => {
		await printReport(report(), choice('tsv'))
		expect(stdout).toBe('a\t1536\ttab\\there\nbb\t\tx,"y"\n')
		stdout = ''
		await printReport(report(), choice('csv'))
		expect(stdout).toBe('name,size,note\na,1536,tab\there\nbb,,"x,""y"""\n')
		stdout = ''
		await printReport(report(), choice('name'))
		expect(stdout).toBe('a\nbb\n')
	})

	it('writes no header without rows, and says so on stderr unless quiet', async () => {
		expect(await printReport(report([]), choice('table'))).toBe(0)
		expect([stdout, stderr]).toEqual(['', 'nothing\n'])
		stderr = ''
		await printReport(report([]), choice('table', { quiet: true }))
		expect(stderr).toBe('')
		await printReport(report([]), choice('json'))
		expect(JSON.parse(stdout)).toMatchObject({ items: [], errors: [] })
	})
})
