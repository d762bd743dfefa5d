/**
 * Records from bytes: lines, whole files, JSON lines, CSV. Each form is a parser that is given chunks as they come and
 * emits records with the number of the line that they began on; nothing here knows of a cluster.
 */

import type { RecordHeaderInput } from '../client/producer-batch.js'
import { CliError, EXIT } from './errors.js'

/** What a record is beside its value's bytes. Null and -1: nothing was said. */
export interface InputRecord {
	readonly key: Buffer | null
	readonly headers: readonly RecordHeaderInput[] | null
	readonly partition: number
	readonly timestamp: number
}

/** Takes a record whose value is `value[from, end)`, valid only during the call; `line` counts from 1. */
export type Emit = (record: InputRecord, value: Buffer | null, from: number, end: number, line: number) => void

export interface InputParser {
	push(chunk: Buffer): void
	/** No more input. */
	end(): void
}

/** A piece of input that is no record. */
export class InputError extends CliError {
	constructor(
		readonly line: number,
		message: string,
		hint: string | null = null,
	) {
		super(`line ${line}: ${message}`, EXIT.failed, hint, 'KCLI_INPUT')
	}
}

/** Parts bytes at a delimiter and counts; the last piece needs none, and an empty last piece is none. */
export class Splitter implements InputParser {
	readonly #delimiter: Buffer
	readonly #onPiece: (bytes: Buffer, from: number, end: number, line: number) => void
	/** The beginning of a piece whose end has not come: kept in parts, so that a very long line is copied once. */
	#carry: Buffer[] = []
	#line = 0

	constructor(delimiter: Buffer, onPiece: (bytes: Buffer, from: number, end: number, line: number) => void) {
		this.#delimiter = delimiter
		this.#onPiece = onPiece
	}

	push(chunk: Buffer): void {
		const { length } = this.#delimiter
		const single = length === 1 ? (this.#delimiter[0] as number) : -1
		let bytes = chunk
		if (this.#carry.length > 0) {
			// A delimiter of one byte cannot lie across chunks: without one here the piece only grows.
			if (single >= 0 && !chunk.includes(single)) {
				this.#carry.push(chunk)
				return
			}
			bytes = Buffer.concat([...this.#carry, chunk])
			this.#carry = []
		}
		let from = 0
		for (;;) {
			const end = single >= 0 ? bytes.indexOf(single, from) : bytes.indexOf(this.#delimiter, from)
			if (end < 0) break
			this.#onPiece(bytes, from, end, ++this.#line)
			from = end + length
		}
		if (from < bytes.length) this.#carry.push(bytes.subarray(from))
	}

	end(): void {
		if (this.#carry.length === 0) return
		const rest = Buffer.concat(this.#carry)
		this.#carry = []
		this.#onPiece(rest, 0, rest.length, ++this.#line)
	}
}

export interface LineOptions {
	readonly delimiter: Buffer
	/** Parts key and value at its first place in the line; null: the line is the value. */
	readonly keyDelimiter: Buffer | null
	/** For lines without a key of their own. */
	readonly key: Buffer | null
	/** Empty keys and values become null. */
	readonly isEmptyNull: boolean
	/** A value equal to it becomes null. */
	readonly nullValue: Buffer | null
}

const PLAIN: InputRecord = { key: null, headers: null, partition: -1, timestamp: -1 }

/** A record a line. */
export function lineParser(options: LineOptions, emit: Emit): InputParser {
	const { delimiter, keyDelimiter, isEmptyNull, nullValue } = options
	const fixed: InputRecord = options.key === null ? PLAIN : { ...PLAIN, key: options.key }
	return new Splitter(delimiter, (bytes, from, end, line) => {
		let record = fixed
		let valueFrom = from
		if (keyDelimiter !== null) {
			const at = bytes.subarray(from, end).indexOf(keyDelimiter)
			if (at >= 0) {
				const key = isEmptyNull && at === 0 ? null : bytes.subarray(from, from + at)
				record = { ...PLAIN, key }
				valueFrom = from + at + keyDelimiter.length
			}
		}
		const isNull =
			(isEmptyNull && valueFrom === end) ||
			(nullValue !== null && nullValue.length === end - valueFrom && nullValue.equals(bytes.subarray(valueFrom, end)))
		if (isNull) emit(record, null, 0, 0, line)
		else emit(record, bytes, valueFrom, end, line)
	})
}

/** All bytes of one source as one record, its last line break included. */
export function wholeParser(options: LineOptions, emit: Emit): InputParser {
	const chunks: Buffer[] = []
	return {
		push: (chunk) => {
			chunks.push(chunk)
		},
		end: () => {
			const bytes = Buffer.concat(chunks)
			chunks.length = 0
			const isNull = options.isEmptyNull && bytes.length === 0
			emit({ ...PLAIN, key: options.key }, isNull ? null : bytes, 0, isNull ? 0 : bytes.length, 1)
		},
	}
}
