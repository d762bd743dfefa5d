/**
 * The only printer of results: one report in the form that was asked for. Data goes to stdout, everything else (errors of
 * items, notices, spinners) to stderr. Forms and the JSON document are described in `docs/cli.md`.
 */

import type { ItemError } from './item-error.js'
import { humanBytes, humanCount, humanDuration, isColored, paint } from './style.js'

export type { ItemError } from './item-error.js'

export type OutputForm = 'table' | 'wide' | 'json' | 'yaml' | 'tsv' | 'csv' | 'name'

/** What the output flags say. */
export interface OutputChoice {
	readonly output: string
	readonly json: boolean
	readonly quiet: boolean
	readonly human?: boolean
	readonly raw?: boolean
	/** Set where one report is shown again and again. */
	readonly showing?: 'first' | 'again'
}

export type Cell = string | number | bigint | boolean | null | undefined

export interface Column<T> {
	/** One word, hyphens inside, so that `awk '{print $3}'` finds it. */
	readonly header: string
	readonly value: (item: T) => Cell
	/** Unit of a number, for people. */
	readonly unit?: 'bytes' | 'ms' | 'count'
	/** Only in wide, tsv and csv. */
	readonly isWide?: boolean
	/** Needs attention: painted on a terminal. */
	readonly isBad?: (item: T) => boolean
}

export interface Report<T> {
	/** `TopicList`: the kind of the JSON document. */
	readonly kind: string
	readonly items: readonly T[]
	readonly errors: readonly ItemError[]
	readonly clusterId: string | null
	/** Set by commands that change something. */
	readonly dryRun?: boolean
	/** Rows of table, tsv and csv: the items, or what stands inside them. */
	readonly table: Table<never>
	readonly nameOf: (item: T) => string
	/** A page of text in place of the table. */
	readonly page?: (page: Page) => void | Promise<void>
	/** Printed in place of an empty table, on stderr. */
	readonly whenEmpty?: string
}

export interface Table<R> {
	readonly rows: readonly R[]
	readonly columns: readonly Column<R>[]
}

/** Hides the row type, which only the table itself needs. */
export function tableOf<R>(rows: readonly R[], columns: readonly Column<R>[]): Table<never> {
	return { rows, columns } as unknown as Table<never>
}

/** What a page of text is written with. */
export interface Page {
	readonly isHuman: boolean
	readonly isWide: boolean
	line(text?: string): void
	/** A bold heading. */
	heading(text: string): void
	/** A number for people or scripts, as the choice says. */
	bytes(value: number | null): Cell
	count(value: number | null): Cell
	/** `key  value` lines, values in one column. */
	pairs(pairs: readonly (readonly [string, Cell])[]): void
	table(table: Table<never>): Promise<void>
}

export function formOf(choice: OutputChoice): OutputForm {
	return choice.json ? 'json' : (choice.output as OutputForm)
}

/** Whether numbers are written for people: on a terminal, or when asked. */
export function isHuman(choice: OutputChoice): boolean {
	if (choice.human === true) return true
	return choice.raw !== true && process.stdout.isTTY === true
}

/** Prints a report; the exit code: 1 when an item failed, else 0. */
export async function printReport<T>(report: Report<T>, choice: OutputChoice): Promise<number> {
	const form = formOf(choice)
	const table = report.table as unknown as Table<unknown>
	const { showing } = choice
	if (form === 'json' && showing !== undefined) printJsonLine(documentOf(report))
	else if (form === 'json') write(`${toJson(documentOf(report))}\n`)
	else if (form === 'yaml') {
		const { stringify } = await import('yaml')
		if (showing === 'again') write('---\n')
		write(stringify(JSON.parse(toJson(documentOf(report))), { lineWidth: 0 }))
	} else if (form === 'name') write(report.items.map((item) => `${report.nameOf(item)}\n`).join(''))
	else if (form === 'tsv') write(separated(table, '\t', false))
	else if (form === 'csv') write(separated(table, ',', showing !== 'again'))
	else await printText(report, table, choice, form === 'wide')
	if (form !== 'json' && form !== 'yaml') reportItemErrors(report.errors)
	return report.errors.length === 0 ? 0 : 1
}

async function printText<T>(
	report: Report<T>,
	table: Table<unknown>,
	choice: OutputChoice,
	isWide: boolean,
): Promise<void> {
	beginShowing(choice)
	if (report.page !== undefined) {
		if (report.items.length > 0) await runPage(report.page, isHuman(choice), isWide)
	} else if (table.rows.length > 0) write(await tableText(table, isHuman(choice), isWide))
	if (report.items.length === 0 && report.errors.length === 0 && report.whenEmpty !== undefined) {
		notice(report.whenEmpty, choice)
	}
}

/** A terminal is wiped for the next showing, its history left alone; elsewhere an empty line parts two. */
function beginShowing({ showing }: OutputChoice): void {
	if (showing === undefined) return
	if (process.stdout.isTTY === true) write(`\x1b[H\x1b[J${new Date().toISOString()}  Ctrl-C ends\n\n`)
	else if (showing === 'again') write('\n')
}

async function runPage(fill: (page: Page) => void | Promise<void>, human: boolean, isWide: boolean): Promise<void> {
	let text = ''
	const isOn = isColored(process.stdout)
	await fill({
		isHuman: human,
		isWide,
		line: (line = '') => {
			text += `${line}\n`
		},
		heading: (line) => {
			text += `${paint('bold', line, isOn)}\n`
		},
		bytes: (value) => (human ? humanCell(value, 'bytes') : value),
		count: (value) => (human ? humanCell(value, 'count') : value),
		pairs: (pairs) => {
			const width = Math.max(...pairs.map(([key]) => key.length)) + 2
			for (const [key, value] of pairs) text += `${key.padEnd(width)}${cellText(value)}\n`
		},
		table: async (table) => {
			text += await tableText(table as unknown as Table<unknown>, human, isWide)
		},
	})
	write(text)
}

/** Errors of single items: a line each, the hint behind it. */
export function reportItemErrors(errors: readonly ItemError[]): void {
	for (const { item, message, name, code, hint } of errors) {
		const label = typeof code === 'number' ? ` [${name} ${code}]` : ''
		process.stderr.write(`kcli: ${item === null ? '' : `${item}: `}${message}${label}\n`)
		if (hint !== undefined && hint !== null) process.stderr.write(`  ${hint}\n`)
	}
}

/** A line for the person at the terminal, kept off stdout. */
export function notice(text: string, { quiet }: { readonly quiet: boolean }): void {
	if (!quiet) process.stderr.write(`${text}\n`)
}

/** One line of NDJSON. */
export function printJsonLine(value: unknown): void {
	write(`${JSON.stringify(value, plain)}\n`)
}

/** Text that is the result itself. */
export function printPlain(text: string): void {
	write(text)
}

function write(text: string): void {
	if (text !== '') process.stdout.write(text)
}

function documentOf<T>(report: Report<T>): Record<string, unknown> {
	return {
		kind: report.kind,
		version: 1,
		context: null,
		clusterId: report.clusterId,
		items: report.items,
		errors: report.errors.map(({ item, code, name, message, retriable }) => ({ item, code, name, message, retriable })),
		...(report.dryRun === undefined ? {} : { dryRun: report.dryRun }),
	}
}

export function toJson(value: unknown): string {
	return JSON.stringify(value, plain, 2)
}

/** Integers beyond 2^53 leave as strings, since a reader's number would round them. */
function plain(_key: string, value: unknown): unknown {
	if (typeof value === 'bigint') return value <= SAFE_MAX && value >= -SAFE_MAX ? Number(value) : value.toString()
	if (value instanceof Map) return Object.fromEntries(value)
	return value
}

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER)

function cellText(cell: Cell): string {
	return cell === null || cell === undefined ? '-' : String(cell)
}

function separated(table: Table<unknown>, separator: string, hasHeader: boolean): string {
	const clean = separator === '\t' ? tsvField : csvField
	const raw = (cell: Cell): string => clean(cell === null || cell === undefined ? '' : String(cell))
	const lines = table.rows.map((row) => table.columns.map(({ value }) => raw(value(row))).join(separator))
	if (hasHeader) lines.unshift(table.columns.map(({ header }) => header.toLowerCase()).join(separator))
	return lines.map((line) => `${line}\n`).join('')
}

function tsvField(text: string): string {
	return text.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
}

function csvField(text: string): string {
	return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function humanCell(cell: Cell, unit: Column<unknown>['unit']): string {
	if (typeof cell !== 'number') return cellText(cell)
	if (unit === 'bytes') return humanBytes(cell)
	if (unit === 'ms') return humanDuration(cell)
	return unit === 'count' ? humanCount(cell) : String(cell)
}

const NO_LINES = {
	top: '',
	'top-mid': '',
	'top-left': '',
	'top-right': '',
	bottom: '',
	'bottom-mid': '',
	'bottom-left': '',
	'bottom-right': '',
	left: '',
	'left-mid': '',
	mid: '',
	'mid-mid': '',
	right: '',
	'right-mid': '',
	middle: '  ',
} as const

/** Rows in columns, numbers to the right, no frame: as `kubectl` prints. */
export async function tableText(table: Table<unknown>, human: boolean, isWide: boolean): Promise<string> {
	const { default: CliTable } = await import('cli-table3')
	const columns = table.columns.filter((column) => isWide || column.isWide !== true)
	const isOn = isColored(process.stdout)
	const isNumeric = columns.map(({ value }) =>
		table.rows.every((row) => ['number', 'bigint', 'undefined'].includes(typeof (value(row) ?? undefined))),
	)
	const view = new CliTable({
		chars: NO_LINES,
		colAligns: isNumeric.map((numeric) => (numeric ? 'right' : 'left')),
		style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
	})
	view.push(columns.map(({ header }) => paint('dim', header, isOn)))
	for (const row of table.rows) {
		view.push(
			columns.map(({ value, unit, isBad }) => {
				const text = human ? humanCell(value(row), unit) : cellText(value(row))
				const oneLine = text.replaceAll('\r', '\\r').replaceAll('\n', '\\n')
				return isBad?.(row) === true ? paint('red', oneLine, isOn) : oneLine
			}),
		)
	}
	return `${view.toString().replace(/[ \t]+$/gm, '')}\n`
}
