/**
 * Varints, int64 and small byte helpers, shared by the record format and the wire codecs.
 *
 * int64 values that count something of ours (offsets, times) are JS numbers. A foreign int64 may lie outside ±2^53:
 * `readInt64` then gives the nearest double, which is right for comparing and never fed back into bytes
 * (`docs/adr/0001-int64-as-number.md`).
 */

const TWO_32 = 0x1_0000_0000

/** Reads a signed big-endian int64 as a number. Values outside ±2^53 lose their low bits. */
export function readInt64(bytes: Buffer, at: number): number {
	return bytes.readInt32BE(at) * TWO_32 + bytes.readUInt32BE(at + 4)
}

/** Writes a safe integer as a signed big-endian int64. Infinities become Long.MAX and Long.MIN. */
export function writeInt64(bytes: Buffer, value: number, at: number): void {
	if (value >= 2 ** 63) {
		bytes.writeInt32BE(0x7fffffff, at)
		bytes.writeUInt32BE(0xffffffff, at + 4)
		return
	}
	if (value <= -(2 ** 63)) {
		bytes.writeInt32BE(-0x80000000, at)
		bytes.writeUInt32BE(0, at + 4)
		return
	}
	const high = Math.floor(value / TWO_32)
	bytes.writeInt32BE(high, at)
	bytes.writeUInt32BE(value - high * TWO_32, at + 4)
}

/** Writes any int64; a bigint where a number would not be exact. */
export function writeExactInt64(bytes: Buffer, value: number | bigint, at: number): void {
	if (typeof value === 'bigint') bytes.writeBigInt64BE(value, at)
	else writeInt64(bytes, value, at)
}

/** Bytes that `value` (0 … 2^32-1) takes as an unsigned varint. */
export function sizeOfUnsignedVarint(value: number): number {
	if (value < 0x80) return 1
	if (value < 0x4000) return 2
	if (value < 0x20_0000) return 3
	if (value < 0x1000_0000) return 4
	return 5
}

/** Writes `value` (0 … 2^32-1) as an unsigned varint and returns the position after it. */
export function writeUnsignedVarint(bytes: Buffer, value: number, at: number): number {
	let rest = value >>> 0
	let position = at
	while (rest >= 0x80) {
		bytes[position++] = (rest & 0x7f) | 0x80
		rest >>>= 7
	}
	bytes[position++] = rest
	return position
}

/** Bytes that the int32 `value` takes as a zig-zag varint. */
export function sizeOfVarint(value: number): number {
	return sizeOfUnsignedVarint(((value << 1) ^ (value >> 31)) >>> 0)
}

/** Writes the int32 `value` as a zig-zag varint and returns the position after it. */
export function writeVarint(bytes: Buffer, value: number, at: number): number {
	return writeUnsignedVarint(bytes, ((value << 1) ^ (value >> 31)) >>> 0, at)
}

/** Bytes that the safe integer `value` takes as a zig-zag varlong. */
export function sizeOfVarlong(value: number): number {
	let rest = Math.floor((value >= 0 ? value : -value - 1) / 0x40)
	let size = 1
	while (rest > 0) {
		rest = Math.floor(rest / 0x80)
		size++
	}
	return size
}

/** Writes the safe integer `value` as a zig-zag varlong and returns the position after it. */
export function writeVarlong(bytes: Buffer, value: number, at: number): number {
	// The sign is the lowest bit; doubling first would lose it beyond 2^52.
	const magnitude = value >= 0 ? value : -value - 1
	let rest = Math.floor(magnitude / 0x40)
	let position = at
	let low = (magnitude % 0x40) * 2 + (value >= 0 ? 0 : 1)
	while (rest > 0) {
		bytes[position++] = low | 0x80
		low = rest % 0x80
		rest = Math.floor(rest / 0x80)
	}
	bytes[position++] = low
	return position
}

/** {@link sizeOfVarlong} of any int64. */
export function sizeOfBigVarlong(value: bigint): number {
	let rest = zigZag(value) >> 7n
	let size = 1
	for (; rest > 0n; rest >>= 7n) size++
	return size
}

/** {@link writeVarlong} of any int64. */
export function writeBigVarlong(bytes: Buffer, value: bigint, at: number): number {
	let rest = zigZag(value)
	let position = at
	for (; rest >= 0x80n; rest >>= 7n) bytes[position++] = Number(rest & 0x7fn) | 0x80
	bytes[position++] = Number(rest)
	return position
}

/** The zig-zag varlong at `at`, whole and at most 10 bytes. */
export function readBigVarlong(bytes: Buffer, at: number): bigint {
	let raw = 0n
	let position = at
	for (let shift = 0n; ; shift += 7n) {
		const byte = bytes[position++] as number
		raw |= BigInt(byte & 0x7f) << shift
		if (byte < 0x80) break
	}
	return BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n))
}

function zigZag(value: bigint): bigint {
	return BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
}

/** `bytes` as rows of 16 with offsets and printable text, for error messages and `log dump`. */
export function hexDump(bytes: Uint8Array, from = 0): string {
	const rows: string[] = []
	for (let at = 0; at < bytes.length; at += 16) {
		const row = [...bytes.subarray(at, at + 16)]
		const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
		const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
		rows.push(`${(from + at).toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text}`)
	}
	return rows.join('\n')
}

/** A copy in memory of its own, for bytes that are kept long: a slice of a pool would keep the whole pool. */
export function ownCopy(bytes: Buffer): Buffer {
	const copy = Buffer.allocUnsafeSlow(bytes.length)
	bytes.copy(copy)
	return copy
}
