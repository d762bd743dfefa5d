/**
 * Data of a node as it is kept: of a hundred thousand nodes nearly all have a few bytes, and a buffer of its own costs four
 * times as much as that. Small data is kept as a string of bytes (Latin-1), large data as a buffer.
 */

export type NodeData = Buffer | string | null

/** The most bytes that are kept as a string. */
const SMALL_BYTES = 4096

/** A copy of `data` to keep: it pins nothing that `data` was part of. */
export function packData(data: Buffer | null): NodeData {
	if (data === null) return null
	if (data.length <= SMALL_BYTES) return data.toString('latin1')
	const copy = Buffer.allocUnsafeSlow(data.length)
	data.copy(copy)
	return copy
}

/** The bytes; a large node's are the ones that are kept, not a copy. */
export function unpackData(data: NodeData): Buffer | null {
	return typeof data === 'string' ? Buffer.from(data, 'latin1') : data
}

export function dataLength(data: NodeData): number {
	return data === null ? 0 : data.length
}
