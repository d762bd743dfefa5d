/** SHA-1 of short texts, for ZooKeeper's digest identities alone: fixed by the protocol, and no secret of ours. */

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

/** The 20-byte digest of `bytes`. */
export function sha1(bytes: Uint8Array): Buffer {
	const padded = Buffer.alloc(((bytes.length + 8) >> 6) * 64 + 64)
	padded.set(bytes)
	padded[bytes.length] = 0x80
	padded.writeUInt32BE(bytes.length * 8, padded.length - 4)
	const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]
	const words = new Int32Array(80)
	for (let block = 0; block < padded.length; block += 64) {
		for (let i = 0; i < 16; i++) words[i] = padded.readInt32BE(block + i * 4)
		for (let i = 16; i < 80; i++) {
			const mixed =
				(words[i - 3] as number) ^ (words[i - 8] as number) ^ (words[i - 14] as number) ^ (words[i - 16] as number)
			words[i] = rotate(mixed, 1)
		}
		mix(state, words)
	}
	const digest = Buffer.alloc(20)
	for (const [index, word] of state.entries()) digest.writeUInt32BE(word >>> 0, index * 4)
	return digest
}

function mix(state: number[], words: Int32Array): void {
	let [a, b, c, d, e] = state as [number, number, number, number, number]
	for (let i = 0; i < 80; i++) {
		let chosen: number
		let constant: number
		if (i < 20) {
			chosen = (b & c) | (~b & d)
			constant = 0x5a827999
		} else if (i < 40 || i >= 60) {
			chosen = b ^ c ^ d
			constant = i < 40 ? 0x6ed9eba1 : 0xca62c1d6
		} else {
			chosen = (b & c) | (b & d) | (c & d)
			constant = 0x8f1bbcdc
		}
		const next = (rotate(a, 5) + chosen + e + constant + (words[i] as number)) | 0
		e = d
		d = c
		c = rotate(b, 30)
		b = a
		a = next
	}
	for (const [index, value] of [a, b, c, d, e].entries()) state[index] = ((state[index] as number) + value) | 0
}
