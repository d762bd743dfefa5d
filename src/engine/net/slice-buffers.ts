/**
 * Buffers in which pieces of files are sent, used again when the system has taken them. Fresh memory for each piece would
 * be zeroed by the kernel page by page, which costs as much as reading it.
 */

/** One piece of a file slice. */
export const PIECE_BYTES = 262_144

/** Buffers kept for later; the rest is left to the collector. */
const KEPT_MAX = 32

const kept: Buffer[] = []

export function takePiece(): Buffer {
	return kept.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES)
}

/** The bytes were sent: nobody may look at the buffer any more. */
export function givePiece(piece: Buffer): void {
	if (kept.length < KEPT_MAX) kept.push(piece)
}
