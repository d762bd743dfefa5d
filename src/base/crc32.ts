/** CRC-32 (IEEE), the checksum of message formats 0 and 1. Table driven: those formats are only met in old segments. */

let table: Uint32Array | null = null

function makeTable(): Uint32Array {
	const made = new Uint32Array(256)
	for (let i = 0; i < 256; i++) {
		let crc = i
		for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
		made[i] = crc >>> 0
	}
	return made
}

/** CRC-32 of `bytes` as an unsigned int32. */
export function crc32(bytes: Uint8Array): number {
	table ??= makeTable()
	let crc = -1
	for (let at = 0; at < bytes.length; at++) {
		crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] as number)) & 0xff] as number)
	}
	return ~crc >>> 0
}
