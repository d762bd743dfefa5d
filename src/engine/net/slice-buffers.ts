/**
 * Buffers in which pieces of files are sent, used again when the system has taken them. Fresh memory for each piece would
 * be zeroed by the kernel page by page, which costs as much as reading it.
 *
 * Large pieces keep the socket busy while the next is read. Peers that do not read hold theirs for as long as they like,
 * so only so many large ones are given out; whoever comes then gets small ones, which are slower and do no harm.
 */

/** One piece of a file slice, while there are few. */
export const PIECE_BYTES = 524_288
export const SMALL_PIECE_BYTES = 32_768

/** Large pieces in use at most: 64 MiB. */
export const LARGE_MAX = 128
/** Large buffers kept for later; the rest is left to the collector. */
const KEPT_MAX = 32

const kept: Buffer[] = []
let largeInUse = 0

export function takePiece(): Buffer {
	if (largeInUse >= LARGE_MAX) return Buffer.allocUnsafeSlow(SMALL_PIECE_BYTES)
	largeInUse++
	return kept.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES)
}

/** The bytes were sent, or their connection is gone: nobody may look at the buffer any more. */
export function givePiece(piece: Buffer): void {
	if (piece.length < PIECE_BYTES) return
	largeInUse--
	if (kept.length < KEPT_MAX) kept.push(piece)
}
