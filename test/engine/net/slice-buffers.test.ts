/** Buffers for pieces of files: large ones while few are in use, small ones for the rest. */

import { expect, test } from 'vitest'
import {
	givePiece,
	LARGE_MAX,
	PIECE_BYTES,
	SMALL_PIECE_BYTES,
	takePiece,
} from '../../../src/engine/net/slice-buffers.js'

test('peers that hold their pieces cost small ones only, beyond 64 MiB; given back, large ones are there again', () => {
	const held = Array.from({ length: 1000 }, takePiece)
	const large = held.filter(({ length }) => length === PIECE_BYTES)
	expect(large).toHaveLength(LARGE_MAX)
	expect(held.filter(({ length }) => length === SMALL_PIECE_BYTES)).toHaveLength(1000 - LARGE_MAX)
	for (const piece of held) givePiece(piece)
	const again = takePiece()
	expect(large).toContain(again)
	givePiece(again)
})
