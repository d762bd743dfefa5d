/**
 * Checked frames, of which the transaction log and snapshots are made. One frame is one write: in the log all
 * transactions that went down with one sync, so that a crash leaves at most the last frame broken.
 *
 * | offset | type | |
 * |---|---|---|
 * | 0 | u32 | magic 0x5a4b4652 |
 * | 4 | u32 | bytes of the payload |
 * | 8 | u32 | CRC-32C of the payload |
 * | 12 | bytes | payload |
 */

import { crc32c } from '../../base/crc32c.js'

const MAGIC = 0x5a4b4652
export const FRAME_HEADER = 12

/** The chunks of a frame around `payload`, for one gather write. */
export function frameOf(payload: readonly Buffer[]): Buffer[] {
	const header = Buffer.allocUnsafe(FRAME_HEADER)
	let length = 0
	let crc = 0
	for (const chunk of payload) {
		length += chunk.length
		crc = crc32c(chunk, crc)
	}
	header.writeUInt32BE(MAGIC, 0)
	header.writeUInt32BE(length, 4)
	header.writeUInt32BE(crc, 8)
	return [header, ...payload]
}

/** The payload of the frame at `at`, or null when there is no whole and right one. */
export function readFrame(bytes: Buffer, at: number): Buffer | null {
	if (at + FRAME_HEADER > bytes.length || bytes.readUInt32BE(at) !== MAGIC) return null
	const end = at + FRAME_HEADER + bytes.readUInt32BE(at + 4)
	if (end > bytes.length) return null
	const payload = bytes.subarray(at + FRAME_HEADER, end)
	return crc32c(payload) === bytes.readUInt32BE(at + 8) ? payload : null
}

/** Where a right frame begins at or after `from`; -1 when there is none. */
export function findFrame(bytes: Buffer, from: number): number {
	const magic = Buffer.alloc(4)
	magic.writeUInt32BE(MAGIC)
	for (let at = bytes.indexOf(magic, from); at >= 0; at = bytes.indexOf(magic, at + 1)) {
		if (readFrame(bytes, at) !== null) return at
	}
	return -1
}
