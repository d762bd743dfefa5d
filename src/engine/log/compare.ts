/**
 * Two folders of one partition held against each other, offline: by records, whatever their codec, batches and segments, or
 * by the bytes of their batches. Both are read as streams, side by side: memory holds one batch of each.
 */

import type { Compression } from '../../base/compression.js'
import {
	batchAttributes,
	batchBaseOffset,
	batchMagic,
	CONTROL_BIT,
	LOG_APPEND_TIME_BIT,
} from '../../protocol/records/batch.js'
import { recordsOf } from '../../protocol/records/compression.js'
import { messagesOf } from '../../protocol/records/legacy.js'
import type { DecodedRecord } from '../../protocol/records/record.js'
import type { Disk } from '../../runtime/ports.js'
import { SegmentScan } from './scan.js'
import { lastOffsetOf, SegmentDamage, segmentName } from './segment.js'

export interface LogSide {
	readonly directory: string
	/** Records below are deleted: they are not looked at. */
	readonly logStartOffset: number
}

/** What can differ at one offset; `batch` when bytes are compared. */
export type DifferingField = 'key' | 'value' | 'headers' | 'timestamp' | 'control' | 'batch'

export interface Difference {
	/** `differs`: both have it. `only-a`, `only-b`: one has it, up to `lastOffset`, without a break by the other. */
	readonly kind: 'differs' | 'only-a' | 'only-b'
	readonly offset: number
	readonly lastOffset: number
	/** Records (or batches) in it. */
	readonly count: number
	readonly fields: readonly DifferingField[]
	/** What both have there, for `differs` of records; null for batches and ranges. */
	readonly a: DecodedRecord | null
	readonly b: DecodedRecord | null
}

export interface Comparison {
	/** The first differences, at most as many as were asked for. */
	readonly differences: readonly Difference[]
	/** All of them, listed or not. */
	readonly differenceCount: number
	/** Records or batches that are in both and equal. */
	readonly equal: number
	readonly countA: number
	readonly countB: number
}

export interface CompareOptions {
	/** Batches byte by byte, not records. */
	readonly isByBytes: boolean
	readonly differencesMax: number
	/** The most bytes that one batch may decompress to. */
	readonly decompressedBytesMax: number
}

/** One thing that has a place in both logs. */
interface Unit {
	readonly offset: number
	readonly lastOffset: number
	readonly record: DecodedRecord | null
	readonly isControl: boolean
	readonly batch: Buffer | null
}

/** Throws {@link SegmentDamage} where a log cannot be read, `CodecError` and `RecordFormatError` for what is in it. */
export async function compareLogs(
	disk: Disk,
	compression: Compression,
	a: LogSide,
	b: LogSide,
	options: CompareOptions,
): Promise<Comparison> {
	const start = Math.max(a.logStartOffset, b.logStartOffset)
	const units = options.isByBytes ? batchUnits : recordUnits
	const left = units(disk, compression, a.directory, start, options.decompressedBytesMax)
	const right = units(disk, compression, b.directory, start, options.decompressedBytesMax)
	const found = new Differences(options.differencesMax)
	let equal = 0
	let countA = 0
	let countB = 0
	let [one, other] = [(await left.next()).value ?? null, (await right.next()).value ?? null]
	while (one !== null || other !== null) {
		const isA = other === null || (one !== null && one.offset <= other.offset)
		const isB = one === null || (other !== null && other.offset <= one.offset)
		if (isA && isB) {
			const fields = differingFields(one as Unit, other as Unit)
			if (fields.length === 0) {
				equal++
				found.broken()
			} else found.differs(one as Unit, other as Unit, fields)
		} else found.only(isA ? 'only-a' : 'only-b', (isA ? one : other) as Unit)
		if (isA) {
			countA++
			one = (await left.next()).value ?? null
		}
		if (isB) {
			countB++
			other = (await right.next()).value ?? null
		}
	}
	return { differences: found.first, differenceCount: found.count, equal, countA, countB }
}

/** The first differences, with neighbours that only one side has as one. */
class Differences {
	readonly first: Difference[] = []
	count = 0
	readonly #max: number
	/** What only one side has, and the other has nothing between so far. */
	#run: Difference | null = null

	constructor(max: number) {
		this.#max = max
	}

	/** Both have something here. */
	broken(): void {
		this.#run = null
	}

	differs(one: Unit, other: Unit, fields: readonly DifferingField[]): void {
		this.broken()
		const { offset, record } = one
		const lastOffset = Math.max(one.lastOffset, other.lastOffset)
		this.#add({ kind: 'differs', offset, lastOffset, count: 1, fields, a: record, b: other.record })
	}

	only(kind: 'only-a' | 'only-b', { offset, lastOffset }: Unit): void {
		const run = this.#run
		if (run?.kind === kind) {
			this.#run = { ...run, lastOffset, count: run.count + 1 }
			if (this.first.at(-1) === run) this.first[this.first.length - 1] = this.#run
			return
		}
		this.#run = { kind, offset, lastOffset, count: 1, fields: [], a: null, b: null }
		this.#add(this.#run)
	}

	#add(difference: Difference): void {
		this.count++
		if (this.first.length < this.#max) this.first.push(difference)
	}
}

function differingFields(one: Unit, other: Unit): DifferingField[] {
	if (one.batch !== null && other.batch !== null) return one.batch.equals(other.batch) ? [] : ['batch']
	const [a, b] = [one.record as DecodedRecord, other.record as DecodedRecord]
	const fields: DifferingField[] = []
	if (!areEqual(a.key, b.key)) fields.push('key')
	if (!areEqual(a.value, b.value)) fields.push('value')
	if (!areHeadersEqual(a.headers, b.headers)) fields.push('headers')
	if (a.timestamp !== b.timestamp) fields.push('timestamp')
	if (one.isControl !== other.isControl) fields.push('control')
	return fields
}

function areEqual(one: Buffer | null, other: Buffer | null): boolean {
	return one === null || other === null ? one === other : one.equals(other)
}

function areHeadersEqual(one: DecodedRecord['headers'], other: DecodedRecord['headers']): boolean {
	if (one.length !== other.length) return false
	return one.every(({ key, value }, i) => key === other[i]?.key && areEqual(value, other[i]?.value ?? null))
}

async function* recordUnits(
	disk: Disk,
	compression: Compression,
	directory: string,
	start: number,
	bytesMax: number,
): AsyncGenerator<Unit, null> {
	for (const batch of batchesOf(disk, directory, start)) {
		const isControl = batchMagic(batch, 0) === 2 && (batchAttributes(batch, 0) & CONTROL_BIT) !== 0
		for (const record of await recordsIn(compression, batch, bytesMax)) {
			const { offset } = record
			if (offset >= start) yield { offset, lastOffset: offset, record, isControl, batch: null }
		}
	}
	return null
}

async function recordsIn(compression: Compression, batch: Buffer, bytesMax: number): Promise<readonly DecodedRecord[]> {
	if (batchMagic(batch, 0) === 2) return await recordsOf(compression, batch, 0, bytesMax)
	const messages = await messagesOf(compression, batch, 0, bytesMax)
	// The time of a compressed message stands on its wrapper when the broker gave it.
	const appendMs = (batch.readInt8(17) & LOG_APPEND_TIME_BIT) !== 0 ? Number(batch.readBigInt64BE(18)) : null
	return messages.map(({ offset, timestamp, key, value }) => ({
		offset,
		timestamp: appendMs ?? timestamp,
		key,
		value,
		headers: [],
	}))
}

async function* batchUnits(
	disk: Disk,
	_compression: Compression,
	directory: string,
	start: number,
): AsyncGenerator<Unit, null> {
	for (const batch of batchesOf(disk, directory, start)) {
		const lastOffset = lastOffsetOf(batch, 0)
		yield { offset: batchBaseOffset(batch, 0), lastOffset, record: null, isControl: false, batch }
	}
	return null
}

/** Every batch with something at or above `start`; each is a copy, and the caller's. */
function* batchesOf(disk: Disk, directory: string, start: number): Generator<Buffer> {
	const names = disk.listNow(directory).map(({ name }) => /^(\d{20})\.log$/.exec(name)?.[1])
	const bases = names
		.filter((name) => name !== undefined)
		.map(Number)
		.sort((one, other) => one - other)
	for (const [i, base] of bases.entries()) {
		if ((bases[i + 1] ?? Number.POSITIVE_INFINITY) <= start) continue
		const path = disk.join(directory, `${segmentName(base)}.log`)
		const file = disk.openNow(path, 'read')
		try {
			const scan = new SegmentScan(file, 0, file.sizeNow())
			let expected = base
			while (scan.next()) {
				const problem = scan.problem(expected, Number.POSITIVE_INFINITY)
				if (problem !== null) throw new SegmentDamage(path, scan.position, problem)
				const last = lastOffsetOf(scan.bytes, scan.at)
				expected = last + 1
				if (last >= start) yield Buffer.from(scan.bytes.subarray(scan.at, scan.end))
			}
			if (scan.damage !== null) throw new SegmentDamage(path, scan.endPosition, scan.damage)
		} finally {
			file.closeNow()
		}
	}
}
