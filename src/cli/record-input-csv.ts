/**
 * Records from CSV (RFC 4180: quotes, doubled quotes, line breaks within quotes). The first row names the columns: `key`,
 * `value`, `partition`, `timestamp`, and `header:NAME` for each header.
 */

import type { RecordHeaderInput } from '../client/producer-batch.js'
import { readTime } from './offset-grammar.js'
import { type Emit, InputError, type InputParser } from './record-input.js'

export interface CsvOptions {
	readonly isStrict: boolean
	readonly isPartitionKept: boolean
	readonly key: Buffer | null
	/** Unquoted text that means null. */
	readonly nullValue: string | null
	readonly isEmptyNull: boolean
}

const COMMA = 0x2c
const QUOTE = 0x22
const RETURN = 0x0d
const FEED = 0x0a

interface Cell {
	readonly bytes: Buffer
	readonly isQuoted: boolean
}

/** Cells and rows from bytes, whatever the chunks. */
class CsvReader implements InputParser {
	readonly #onRow: (cells: Cell[], line: number) => void
	#cells: Cell[] = []
	#cell: number[] = []
	#isQuoted = false
	#state: 'start' | 'plain' | 'quoted' | 'afterQuote' = 'start'
	#line = 1
	#rowLine = 1

	constructor(onRow: (cells: Cell[], line: number) => void) {
		this.#onRow = onRow
	}

	push(chunk: Buffer): void {
		for (const byte of chunk) this.#take(byte)
	}

	end(): void {
		if (this.#state === 'quoted') throw new InputError(this.#rowLine, 'a quote is not closed')
		if (this.#cells.length > 0 || this.#state !== 'start') this.#endRow()
	}

	#take(byte: number): void {
		if (this.#state === 'quoted') {
			if (byte === QUOTE) this.#state = 'afterQuote'
			else this.#cell.push(byte)
			if (byte === FEED) this.#line++
			return
		}
		if (byte === QUOTE) {
			if (this.#state === 'start') {
				this.#isQuoted = true
				this.#state = 'quoted'
			} else if (this.#state === 'afterQuote') {
				this.#cell.push(QUOTE)
				this.#state = 'quoted'
			} else throw new InputError(this.#line, 'a quote stands within a plain cell')
			return
		}
		if (byte === COMMA) {
			this.#endCell()
			return
		}
		if (byte === FEED) {
			const last = this.#cell.length - 1
			if (!this.#isQuoted && this.#cell[last] === RETURN) this.#cell.length = last
			this.#line++
			if (this.#cells.length > 0 || this.#cell.length > 0 || this.#isQuoted) this.#endRow()
			else this.#state = 'start'
			this.#rowLine = this.#line
			return
		}
		if (this.#state === 'afterQuote') {
			if (byte === RETURN) return
			throw new InputError(this.#line, 'something stands between a closing quote and the next comma')
		}
		this.#state = 'plain'
		this.#cell.push(byte)
	}

	#endCell(): void {
		this.#cells.push({ bytes: Buffer.from(this.#cell), isQuoted: this.#isQuoted })
		this.#cell = []
		this.#isQuoted = false
		this.#state = 'start'
	}

	#endRow(): void {
		this.#endCell()
		const cells = this.#cells
		this.#cells = []
		this.#onRow(cells, this.#rowLine)
	}
}

export function csvParser(options: CsvOptions, emit: Emit): InputParser {
	let columns: string[] | null = null
	return new CsvReader((cells, line) => {
		if (columns === null) {
			columns = readColumns(cells, options, line)
			return
		}
		if (cells.length !== columns.length) {
			throw new InputError(line, `${cells.length} cells where the first row names ${columns.length}`)
		}
		const headers: RecordHeaderInput[] = []
		let key = options.key
		let value: Buffer | null = null
		let partition = -1
		let timestamp = -1
		for (let i = 0; i < cells.length; i++) {
			const name = columns[i] as string
			const content = contentOf(cells[i] as Cell, options)
			if (name === 'key') key = content
			else if (name === 'value') value = content
			else if (name.startsWith('header:')) headers.push({ key: Buffer.from(name.slice(7)), value: content })
			else if (name === 'timestamp' && content !== null && content.length > 0) timestamp = timeOf(content, line)
			else if (name === 'partition' && options.isPartitionKept && content !== null)
				partition = Number(content.toString())
		}
		if (!Number.isInteger(partition)) throw new InputError(line, 'partition is no number')
		emit(
			{ key, headers: headers.length === 0 ? null : headers, partition, timestamp },
			value,
			0,
			value?.length ?? 0,
			line,
		)
	})
}

function readColumns(cells: readonly Cell[], { isStrict }: CsvOptions, line: number): string[] {
	const names = cells.map(({ bytes }) =>
		bytes
			.toString('utf8')
			.replace(/^\ufeff/, '')
			.trim(),
	)
	const hint = 'Columns are key, value, partition, timestamp and header:NAME; the first row names them.'
	if (!names.includes('value')) throw new InputError(line, "there is no column 'value'", hint)
	const isKnown = (name: string): boolean =>
		['key', 'value', 'partition', 'timestamp', 'offset', 'topic'].includes(name) || name.startsWith('header:')
	const unknown = names.filter((name) => !isKnown(name))
	if (isStrict && unknown.length > 0) throw new InputError(line, `unknown column ${unknown.join(', ')}`, hint)
	return names
}

function contentOf({ bytes, isQuoted }: Cell, { nullValue, isEmptyNull }: CsvOptions): Buffer | null {
	if (isQuoted) return bytes
	if (isEmptyNull && bytes.length === 0) return null
	return nullValue !== null && bytes.toString('utf8') === nullValue ? null : bytes
}

function timeOf(content: Buffer, line: number): number {
	const time = readTime(content.toString('utf8').trim(), 0)
	if (time === null) throw new InputError(line, `timestamp '${content.toString('utf8')}' is no time`)
	return time.ms
}
