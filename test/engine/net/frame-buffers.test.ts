/** Memory of frames that is used again: never while somebody still looks at it, and never memory of others. */

import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { giveFrame, takeFrame } from '../../../src/engine/net/frame-buffers.js'
import { Framer } from '../../../src/protocol/framer.js'
import { batchBaseOffset, batchBytes, batchMaxTimestamp } from '../../../src/protocol/records/batch.js'
import { recordsOf } from '../../../src/protocol/records/compression.js'
import { rebuildBatch } from '../../../src/protocol/records/rebuild.js'
import { NodeCompression } from '../../../src/runtime/node-compression.js'
import { startTestBroker } from '../../helpers/broker.js'
import { Cleanup } from '../../helpers/processes.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../../helpers/requests.js'
import { seeded } from '../log/setup.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

describe('frame buffers', () => {
	it('memory given back is used again, for any frame that it fits', () => {
		const first = takeFrame(20_000)
		giveFrame(first.subarray(0, 20_000))
		expect(takeFrame(17_000).buffer).toBe(first.buffer)
		expect(takeFrame(17_000).buffer).not.toBe(first.buffer)
	})

	it('memory of others is let be, also where it looks like ours', () => {
		const other = Buffer.allocUnsafeSlow(65_536)
		giveFrame(other)
		giveFrame(other.subarray(0, 9000))
		giveFrame(Buffer.allocUnsafe(4000))
		expect(takeFrame(65_536).buffer).not.toBe(other.buffer)
	})

	it('what is given back twice is a fault', () => {
		const frame = takeFrame(100_000)
		giveFrame(frame)
		expect(() => giveFrame(frame)).toThrow('twice')
		takeFrame(100_000)
	})

	it('no more than 32 MiB are kept', () => {
		const frames = Array.from({ length: 100 }, () => takeFrame(1_048_576))
		for (const frame of frames) giveFrame(frame)
		const mine = new Set(frames.map(({ buffer }) => buffer))
		const again = Array.from({ length: 100 }, () => takeFrame(1_048_576))
		expect(again.filter(({ buffer }) => mine.has(buffer)).length).toBeLessThanOrEqual(32)
	})

	it('a stream in any pieces gives its frames whole, each in memory that an earlier one had', () => {
		const size = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 8000, max: 70_000 }))
		fc.assert(
			fc.property(fc.array(size, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 40_000 })), (sizes, cuts) => {
				const sent = sizes.map((length, i) => Buffer.alloc(length, i + 1))
				const stream = Buffer.concat(
					sent.flatMap((frame) => {
						const length = Buffer.alloc(4)
						length.writeInt32BE(frame.length)
						return [length, frame]
					}),
				)
				const framer = new Framer(1_000_000, takeFrame)
				let seen = 0
				const take = (frame: Buffer): void => {
					expect(frame.equals(sent[seen++] as Buffer)).toBe(true)
					giveFrame(frame)
				}
				let at = 0
				for (let i = 0; at < stream.length; i++) {
					const end = Math.min(stream.length, at + (cuts[i % Math.max(1, cuts.length)] ?? stream.length))
					while (at < end) {
						const space = framer.space()
						const copied = stream.copy(space, 0, at, end)
						at += copied
						framer.received(copied, take)
					}
				}
				expect(seen).toBe(sent.length)
			}),
		)
	})
})

it('many producers at once, every codec, small and large, read and not waited for: each record comes out as it went in', async () => {
	const broker = await startTestBroker()
	cleanup.add(() => broker.stop())
	const admin = await broker.connect()
	const producers = 6
	await makeTopic(admin, 't', producers)
	const compression = new NodeCompression()
	const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
	// Hard to compress, so that compressed ones are large too, and leave the event loop.
	const textOf = (producer: number, i: number): string => {
		const length = [20, 9000, 40_000, 200_000, 600_000][(producer + i) % 5] as number
		const next = seeded(producer * 100 + i)
		return Array.from({ length: length / 10 }, () =>
			Math.floor(next() * 1e10)
				.toString()
				.padStart(10),
		).join('')
	}
	const rounds = 25
	await Promise.all(
		Array.from({ length: producers }, async (_, producer) => {
			const connection = await broker.connect()
			await Promise.all(
				Array.from({ length: rounds }, async (_, i) => {
					const plain = batchOf([textOf(producer, i)])
					const codec = codecs[(i * 7 + producer) % codecs.length] as (typeof codecs)[number]
					const records =
						codec === 'none'
							? plain
							: rebuildBatch(
									plain,
									compression.compressNow(codec, plain.subarray(61), null),
									codec,
									-1,
									batchMaxTimestamp(plain, 0),
								)
					const answer = await send(connection, 't', records, { partition: producer, acks: i % 3 === 0 ? -1 : 1 })
					expect(answer.errorCode).toBe(0)
				}),
			)
		}),
	)
	for (let producer = 0; producer < producers; producer++) {
		const values: string[] = []
		for (let offset = 0; offset < rounds; ) {
			const { records, errorCode } = onlyPartition(await fetchFrom(admin, 't', offset, { partition: producer }))
			expect(errorCode).toBe(0)
			const bytes = records as Buffer
			// The last one may be cut, as an answer from the file is.
			for (
				let at = 0;
				at + 12 < bytes.length && at + batchBytes(bytes, at) <= bytes.length;
				at += batchBytes(bytes, at)
			) {
				offset = batchBaseOffset(bytes, at) + 1
				for (const { value } of await recordsOf(compression, bytes, at, 1e7)) values.push(String(value))
			}
		}
		const sent = Array.from({ length: rounds }, (_, i) => textOf(producer, i))
		expect(values.sort()).toEqual(sent.sort())
	}
})
