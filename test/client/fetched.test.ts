import { describe, expect, it } from 'vitest'
import { crc32 } from '../../src/base/crc32.js'
import { endOfBatches, Fetched, type FetchedFacts } from '../../src/client/fetched.js'
import { buildBatch, buildMarker, type NewBatch } from '../../src/protocol/records/record.js'
import { NodeCompression } from '../../src/runtime/node-compression.js'

const FACTS: FetchedFacts = {
	topic: 't',
	partition: 0,
	fetchOffset: 0,
	highWatermark: 100,
	lastStableOffset: 100,
	logStartOffset: 0,
	aborted: null,
	isControlShown: false,
	decompressedBytesMax: 1_000_000,
}

const batch = (baseOffset: number, values: readonly string[], more: Partial<NewBatch> = {}): Buffer =>
	buildBatch({
		baseOffset,
		records: values.map((value) => ({ timestamp: 1, key: null, value: Buffer.from(value) })),
		...more,
	})
const marker = (baseOffset: number, producerId: bigint, type: 'commit' | 'abort'): Buffer => {
	const bytes = buildMarker(type, { producerId, producerEpoch: 0, coordinatorEpoch: 0, timestamp: 1 })
	bytes.writeBigInt64BE(BigInt(baseOffset), 0)
	return bytes
}
const txn = (producerId: bigint) => ({ producerId, producerEpoch: 0, baseSequence: 0, attributes: 0x10 })

async function read(
	bytes: Buffer,
	facts: Partial<FetchedFacts> = {},
): Promise<{ values: (string | undefined)[]; next: number }> {
	const fetched = new Fetched({ ...FACTS, ...facts }, bytes, new NodeCompression())
	const values: (string | undefined)[] = []
	for (;;) {
		const reader = await fetched.nextBatch()
		if (reader === null) return { values, next: fetched.nextOffset }
		while (reader.next()) values.push(reader.value()?.toString())
	}
}

describe('fetched records', () => {
	it('leave out aborted transactions of several producers, listed in any order, and control batches', async () => {
		const bytes = Buffer.concat([
			batch(0, ['a0'], txn(1n)),
			batch(1, ['b0'], txn(2n)),
			batch(2, ['plain']),
			marker(3, 1n, 'abort'),
			batch(4, ['a1'], txn(1n)),
			marker(5, 2n, 'abort'),
			batch(6, ['b1'], txn(2n)),
			marker(7, 1n, 'commit'),
			marker(8, 2n, 'commit'),
		])
		const aborted = [
			{ producerId: 2n, firstOffset: 1 },
			{ producerId: 1n, firstOffset: 0 },
		]
		expect(await read(bytes, { aborted })).toEqual({ values: ['plain', 'a1', 'b1'], next: 9 })
		expect((await read(bytes)).values).toEqual(['a0', 'b0', 'plain', 'a1', 'b1'])
		expect((await read(bytes, { isControlShown: true })).values.length).toBe(9)
	})

	it('skip batches before the wanted offset, and a last batch that is cut', async () => {
		const whole = [batch(0, ['a', 'b']), batch(2, ['c']), batch(3, ['d'])]
		const bytes = Buffer.concat(whole).subarray(0, -1)
		expect(await read(bytes, { fetchOffset: 2 })).toEqual({ values: ['c'], next: 3 })
		expect(endOfBatches(bytes, 2)).toEqual({
			nextOffset: 3,
			wholeBytes: (whole[0]?.length ?? 0) + (whole[1]?.length ?? 0),
		})
	})

	it('a wrong checksum and an unpacked size beyond the bound name the batch', async () => {
		const broken = batch(5, ['x'])
		broken[broken.length - 1] = 0x21
		await expect(read(broken)).rejects.toThrow(/t-0: the batch at offset 5 cannot be read: its checksum is wrong/)
		await expect(read(Buffer.concat([broken, batch(6, ['y'])]))).rejects.toMatchObject({ offset: 5, nextOffset: 6 })
	})

	it('messages of the formats before 0.11 are records too', async () => {
		const message = (offset: number, magic: 0 | 1, value: string): Buffer => {
			const body = Buffer.alloc(magic === 1 ? 14 + 4 + value.length - 0 : 6 + 4 + value.length)
			body.writeInt8(magic, 0)
			let at = 2
			if (magic === 1) {
				body.writeBigInt64BE(77n, at)
				at += 8
			}
			body.writeInt32BE(-1, at)
			body.writeInt32BE(value.length, at + 4)
			body.write(value, at + 8)
			const bytes = Buffer.alloc(16 + body.length)
			bytes.writeBigInt64BE(BigInt(offset), 0)
			bytes.writeInt32BE(4 + body.length, 8)
			bytes.writeUInt32BE(crc32(body), 12)
			body.copy(bytes, 16)
			return bytes
		}
		const bytes = Buffer.concat([message(3, 0, 'old'), message(4, 1, 'older'), batch(5, ['new'])])
		expect(await read(bytes, { fetchOffset: 3 })).toEqual({ values: ['old', 'older', 'new'], next: 6 })
	})
})
