/**
 * The one walk over the records of a v2 batch: every length is held against the bytes left, nothing is allocated for a
 * record that is right. Called for each produced batch (on the bytes as they came, or decompressed) and by the offline
 * checks. The state is an object that the caller keeps, so a very long batch can be walked in several turns.
 *
 * Record: length varint, attributes int8, timestampDelta varlong, offsetDelta varint, keyLength varint + key,
 * valueLength varint + value, headerCount varint, then for each header keyLength varint + key, valueLength varint +
 * value. All zig-zag; -1 is null (not for a header's key).
 */

/** A record that breaks a rule of the topic, by its index in the batch. */
export interface BadRecord {
	readonly batchIndex: number
	readonly reason: 'key' | 'timestamp'
	readonly timestamp: number
}

/** Bad records of a batch that are listed: a small request can have millions. */
export const BAD_RECORDS_MAX = 10_000

/** Rules and result of one walk. Reset before each batch. */
export class RecordWalk {
	/** Position of the next record, and how many are done. */
	at = 0
	index = 0
	maxTimestamp = -1
	/** Every offset delta so far equals its index. */
	isDense = true
	/** Some record has the timestamp -1. */
	hasNoTimestamp = false
	/** What is wrong with the shape, or null. */
	failure: string | null = null
	/** The first of them. */
	bad: BadRecord[] | null = null
	badCount = 0
	baseTimestamp = 0
	earliestMs = Number.NEGATIVE_INFINITY
	latestMs = Number.POSITIVE_INFINITY
	areKeysRequired = false

	/** Starts at `at`. Times outside [earliestMs, latestMs] (but -1) and, if asked, null keys are listed in `bad`. */
	reset(at: number, baseTimestamp: number, earliestMs: number, latestMs: number, areKeysRequired: boolean): void {
		this.at = at
		this.index = 0
		this.maxTimestamp = -1
		this.isDense = true
		this.hasNoTimestamp = false
		this.failure = null
		this.bad = null
		this.badCount = 0
		this.baseTimestamp = baseTimestamp
		this.earliestMs = earliestMs
		this.latestMs = latestMs
		this.areKeysRequired = areKeysRequired
	}
}

/** Position after the varint that was read last by a function below. A module variable, so that reading makes no object. */
let next = 0

/** A varint of 2 to 5 bytes at `at` (the first byte has its high bit set). -2^31 and `next` 0 when it is cut or too long. */
function longVarint(bytes: Uint8Array, at: number, end: number): number {
	let raw = (bytes[at] as number) & 0x7f
	let shift = 7
	let position = at + 1
	for (;;) {
		if (position >= end || shift > 28) {
			next = 0
			return 0
		}
		const byte = bytes[position++] as number
		raw |= (byte & 0x7f) << shift
		if (byte < 0x80) break
		shift += 7
	}
	next = position
	return (raw >>> 1) ^ -(raw & 1)
}

/** A varlong of 2 to 10 bytes as a number, exact to ±2^53; `next` 0 when it is cut or too long. */
function longVarlong(bytes: Uint8Array, at: number, end: number): number {
	const first = bytes[at] as number
	let rest = (first & 0x7f) >>> 1
	let scale = 64
	let position = at + 1
	for (;;) {
		if (position >= end || position - at >= 10) {
			next = 0
			return 0
		}
		const byte = bytes[position++] as number
		rest += (byte & 0x7f) * scale
		if (byte < 0x80) break
		scale *= 128
	}
	next = position
	return (first & 1) === 1 ? -rest - 1 : rest
}

/** Position after the headers of a record, or 0 when they do not fit before `end`. */
function skipHeaders(bytes: Uint8Array, from: number, end: number, count: number): number {
	let at = from
	for (let i = 0; i < count; i++) {
		for (let part = 0; part < 2; part++) {
			if (at >= end) return 0
			const byte = bytes[at] as number
			let length: number
			if (byte < 0x80) {
				length = (byte >>> 1) ^ -(byte & 1)
				at++
			} else {
				length = longVarint(bytes, at, end)
				if (next === 0) return 0
				at = next
			}
			if (length < 0) {
				if (part === 0 || length !== -1) return 0
				length = 0
			}
			if (length > end - at) return 0
			at += length
		}
	}
	return at
}

function fail(walk: RecordWalk, index: number, failure: string): boolean {
	walk.index = index
	walk.failure = failure
	return false
}

function addBad(walk: RecordWalk, batchIndex: number, reason: BadRecord['reason'], timestamp: number): void {
	walk.bad ??= []
	walk.badCount++
	if (walk.bad.length < BAD_RECORDS_MAX) walk.bad.push({ batchIndex, reason, timestamp })
}

/**
 * Position after key, value and headers that begin at `from`, or 0 when something does not fit. `keyIsNull` is left in
 * the module variable of that name.
 */
let keyIsNull = false

function skipBody(bytes: Uint8Array, from: number, end: number): number {
	let at = from
	if (at >= end) return 0
	let byte = bytes[at] as number
	let length: number
	if (byte < 0x80) {
		length = (byte >>> 1) ^ -(byte & 1)
		at++
	} else {
		length = longVarint(bytes, at, end)
		if (next === 0) return 0
		at = next
	}
	keyIsNull = length < 0
	if (length < -1 || length > end - at) return 0
	if (length > 0) at += length
	if (at >= end) return 0
	byte = bytes[at] as number
	if (byte < 0x80) {
		length = (byte >>> 1) ^ -(byte & 1)
		at++
	} else {
		length = longVarint(bytes, at, end)
		if (next === 0) return 0
		at = next
	}
	if (length < -1 || length > end - at) return 0
	if (length > 0) at += length
	if (at >= end) return 0
	byte = bytes[at] as number
	if (byte === 0) return at + 1
	if (byte < 0x80) {
		length = (byte >>> 1) ^ -(byte & 1)
		at++
	} else {
		length = longVarint(bytes, at, end)
		if (next === 0) return 0
		at = next
	}
	if (length < 0 || length > end - at) return 0
	return skipHeaders(bytes, at, end, length)
}

/**
 * Goes on with `walk` until `until` records of the batch are done. `end` is where the records must end at the latest.
 * False when a record is broken; `walk.failure` then says how. The caller checks after the last record that
 * `walk.at === end`.
 */
export function walkRecords(bytes: Uint8Array, walk: RecordWalk, end: number, until: number): boolean {
	let at = walk.at
	let maxTimestamp = walk.maxTimestamp
	const { baseTimestamp, earliestMs, latestMs, areKeysRequired } = walk
	for (let index = walk.index; index < until; index++) {
		if (at >= end) return fail(walk, index, 'fewer records than the header says')
		let byte = bytes[at] as number
		let length: number
		if (byte < 0x80) {
			length = (byte >>> 1) ^ -(byte & 1)
			at++
		} else {
			length = longVarint(bytes, at, end)
			if (next === 0) return fail(walk, index, 'record length is not a varint')
			at = next
		}
		// The least record: attributes, two deltas, key, value and header count of one byte each.
		if (length < 6 || length > end - at) return fail(walk, index, 'record length does not fit the batch')
		const recordEnd = at + length
		at++
		byte = bytes[at] as number
		let timestamp: number
		if (byte < 0x80) {
			timestamp = baseTimestamp + ((byte >>> 1) ^ -(byte & 1))
			at++
		} else {
			timestamp = baseTimestamp + longVarlong(bytes, at, recordEnd)
			if (next === 0) return fail(walk, index, 'timestamp delta is not a varlong')
			at = next
		}
		if (at >= recordEnd) return fail(walk, index, 'record ends before its offset')
		byte = bytes[at] as number
		let delta: number
		if (byte < 0x80) {
			delta = (byte >>> 1) ^ -(byte & 1)
			at++
		} else {
			delta = longVarint(bytes, at, recordEnd)
			if (next === 0) return fail(walk, index, 'offset delta is not a varint')
			at = next
		}
		if (delta !== index) walk.isDense = false
		if (skipBody(bytes, at, recordEnd) !== recordEnd) return fail(walk, index, 'record length differs from its content')
		at = recordEnd
		if (timestamp > maxTimestamp) maxTimestamp = timestamp
		if (areKeysRequired && keyIsNull) addBad(walk, index, 'key', timestamp)
		else if (timestamp === -1) walk.hasNoTimestamp = true
		else if (timestamp < earliestMs || timestamp > latestMs) addBad(walk, index, 'timestamp', timestamp)
	}
	walk.at = at
	walk.index = until
	walk.maxTimestamp = maxTimestamp
	return true
}
