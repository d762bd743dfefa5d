/**
 * CRC-32C (Castagnoli) over slices, resumable: `crc32c(b, crc32c(a))` is the CRC of a then b.
 * The engine sets the native function at start (`runtime/node-crc.ts`); without it the table below is used, so that
 * this file needs nothing and every platform works.
 */

type Crc32c = (bytes: Uint8Array, previous?: number) => number

let tables: Uint32Array[] | null = null

function makeTables(): Uint32Array[] {
	const made: Uint32Array[] = []
	for (let k = 0; k < 8; k++) made.push(new Uint32Array(256))
	const first = made[0] as Uint32Array
	for (let i = 0; i < 256; i++) {
		let crc = i
		for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
		first[i] = crc >>> 0
	}
	for (let k = 1; k < 8; k++) {
		const table = made[k] as Uint32Array
		const before = made[k - 1] as Uint32Array
		for (let i = 0; i < 256; i++) {
			const value = before[i] as number
			table[i] = ((value >>> 8) ^ (first[value & 0xff] as number)) >>> 0
		}
	}
	return made
}

/** The portable implementation: eight tables, eight bytes a step. */
export function portableCrc32c(bytes: Uint8Array, previous = 0): number {
	tables ??= makeTables()
	const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
		Uint32Array,
		Uint32Array,
		Uint32Array,
		Uint32Array,
		Uint32Array,
		Uint32Array,
		Uint32Array,
		Uint32Array,
	]
	let crc = ~previous
	let at = 0
	const end = bytes.length
	for (; at + 8 <= end; at += 8) {
		crc ^=
			(bytes[at] as number) |
			((bytes[at + 1] as number) << 8) |
			((bytes[at + 2] as number) << 16) |
			((bytes[at + 3] as number) << 24)
		crc =
			(t7[crc & 0xff] as number) ^
			(t6[(crc >>> 8) & 0xff] as number) ^
			(t5[(crc >>> 16) & 0xff] as number) ^
			(t4[crc >>> 24] as number) ^
			(t3[bytes[at + 4] as number] as number) ^
			(t2[bytes[at + 5] as number] as number) ^
			(t1[bytes[at + 6] as number] as number) ^
			(t0[bytes[at + 7] as number] as number)
	}
	for (; at < end; at++) crc = (crc >>> 8) ^ (t0[(crc ^ (bytes[at] as number)) & 0xff] as number)
	return ~crc >>> 0
}

let implementation: Crc32c = portableCrc32c

/** Replaces the portable table by a native function with the same contract. */
export function setNativeCrc32c(native: Crc32c): void {
	implementation = native
}

/** CRC-32C of `bytes`, continuing from `previous` (the CRC of what came before), as an unsigned int32. */
export function crc32c(bytes: Uint8Array, previous = 0): number {
	return implementation(bytes, previous)
}
