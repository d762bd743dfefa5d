/**
 * Random producers, transactions, codecs, passes and restarts against a plain list of all records that were acknowledged:
 * compaction changes nothing of what readers make of a log.
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batchBaseOffset } from '../../../../src/protocol/records/batch.js'
import { compressStream } from '../../../../src/protocol/records/compression.js'
import { rebuildBatch } from '../../../../src/protocol/records/rebuild.js'
import { NodeCompression } from '../../../../src/runtime/node-compression.js'
import { SimDisk } from '../../../sim/disk.js'
import { CLIENT, World } from '../setup.js'
import { committedRecords, folded } from './consumer.js'
import { append, appendMarker, batchesOf, limits, openCompacted, type Pair, pairs, recordsIn } from './setup.js'

const compression = new NodeCompression()
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
const TRANSACTIONAL = 0x10

interface Appending {
	readonly kind: 'append'
	readonly keys: readonly number[]
	readonly isDelete: boolean
	readonly codec: (typeof CODECS)[number]
	readonly bytes: number
	/** 0: none; 1, 2: idempotent; 3, 4: transactional. */
	readonly producer: number
}

type Step =
	| Appending
	| { readonly kind: 'end'; readonly producer: number; readonly isCommit: boolean }
	/** `isBusy`: the appends that follow go on while the pass runs. */
	| { readonly kind: 'pass'; readonly slots: number; readonly isBusy: boolean }
	| { readonly kind: 'time'; readonly ms: number }
	| { readonly kind: 'repeat'; readonly producer: number }
	| { readonly kind: 'reopen' | 'kill' | 'expire' }

const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 12,
		arbitrary: fc.record({
			kind: fc.constant('append' as const),
			keys: fc.array(fc.nat(7), { minLength: 1, maxLength: 4 }),
			isDelete: fc.boolean(),
			codec: fc.constantFrom(...CODECS),
			bytes: fc.integer({ min: 1, max: 150 }),
			producer: fc.nat(4),
		}),
	},
	{
		weight: 3,
		arbitrary: fc.record({
			kind: fc.constant('end' as const),
			producer: fc.integer({ min: 3, max: 4 }),
			isCommit: fc.boolean(),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			kind: fc.constant('pass' as const),
			slots: fc.integer({ min: 3, max: 40 }),
			isBusy: fc.boolean(),
		}),
	},
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.nat(300) }) },
	{
		weight: 1,
		arbitrary: fc.record({ kind: fc.constant('repeat' as const), producer: fc.integer({ min: 1, max: 4 }) }),
	},
	{ weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('reopen' as const, 'kill' as const, 'expire' as const) }) },
)

interface Sent {
	readonly offset: number
	readonly key: string
	readonly value: string | null
	readonly timestamp: number
	/** Transaction it belongs to, null outside of any. */
	readonly transaction: { state: 'open' | 'committed' | 'aborted' } | null
}

interface Sender {
	sequence: number
	transaction: { state: 'open' | 'committed' | 'aborted' } | null
	/** Its last batch, to be sent again, and where it went. */
	last: { readonly bytes: Buffer; readonly offset: number } | null
}

async function packed(batch: Buffer, codec: (typeof CODECS)[number], maxTimestamp: number): Promise<Buffer> {
	if (codec === 'none') return batch
	const stream = await compressStream(compression, codec, batch.subarray(61), null)
	return rebuildBatch(batch, stream, codec, -1, maxTimestamp)
}

test('21.3 21.4 21.6 readers make the same of a compacted log as of all its records', async () => {
	let passes = 0
	let removed = 0
	await fc.assert(
		fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 90 }), async (steps) => {
			const disk = new SimDisk()
			const world = new World(disk)
			const config = { segmentBytes: 800, deleteRetentionMs: 400, indexIntervalBytes: 150 }
			let { manager, log } = await openCompacted(disk, config, world)
			const sent: Sent[] = []
			const senders = new Map<number, Sender>()
			const senderOf = (id: number): Sender => {
				const sender = senders.get(id) ?? { sequence: 0, transaction: null, last: null }
				senders.set(id, sender)
				return sender
			}
			let serial = 0
			const check = async (): Promise<void> => {
				log.advanceHighWatermark(log.logEndOffset)
				const stable = log.lastStableOffset
				const expected = sent.filter(
					({ offset, transaction }) => offset < stable && (transaction?.state ?? 'committed') === 'committed',
				)
				const seen = await committedRecords(log)
				expect(folded(seen)).toEqual(folded(expected))
				const byOffset = new Map(expected.map((one) => [one.offset, one]))
				let before = -1
				for (const { offset, key, value, timestamp } of seen) {
					expect(offset).toBeGreaterThan(before)
					before = offset
					expect({ key: String(key), value: value === null ? null : String(value), timestamp }).toEqual({
						key: byOffset.get(offset)?.key,
						value: byOffset.get(offset)?.value,
						timestamp: byOffset.get(offset)?.timestamp,
					})
				}
				removed += expected.length - seen.length
			}
			const appendOne = async (one: Appending): Promise<void> => {
				const isTransactional = one.producer >= 3
				const sender = one.producer === 0 ? null : senderOf(one.producer)
				const list = one.keys.map((key): Pair => {
					const value = one.isDelete && key % 2 === 0 ? null : `${serial++}`.padEnd(one.bytes, '.')
					return [`k${key}`, value]
				})
				world.clock.now += 1
				const time = world.clock.now
				const options =
					sender === null
						? {}
						: {
								producerId: BigInt(one.producer),
								producerEpoch: 0,
								baseSequence: sender.sequence,
								attributes: isTransactional ? TRANSACTIONAL : 0,
							}
				const bytes = await packed(pairs(list, { ...options, time }), one.codec, time + list.length - 1)
				const first = await append(log, Buffer.from(bytes))
				if (sender !== null) {
					sender.sequence += list.length
					sender.last = { bytes, offset: first }
					if (isTransactional) sender.transaction ??= { state: 'open' }
				}
				for (const [i, [key, value]] of list.entries()) {
					const transaction = isTransactional ? (sender?.transaction ?? null) : null
					sent.push({ offset: first + i, key, value, timestamp: time + i, transaction })
				}
			}
			for (const [at, one] of steps.entries()) {
				if (one.kind === 'append') await appendOne(one)
				else if (one.kind === 'end') {
					const sender = senderOf(one.producer)
					if (sender.transaction === null) continue
					await appendMarker(log, one.isCommit ? 'commit' : 'abort', BigInt(one.producer), 0, world.clock.now)
					sender.transaction.state = one.isCommit ? 'committed' : 'aborted'
					sender.transaction = null
				} else if (one.kind === 'pass') {
					log.advanceHighWatermark(log.logEndOffset)
					const range = log.dirtyRange(world.clock.wallMs())
					if (range === null || range.cleanableBytes === 0 || range.firstDirtyOffset >= range.bound) continue
					const above = Buffer.concat(await batchesOf(log, range.bound))
					const cleaning = log.clean(range, limits(world, { mapBytes: one.slots * 24 }))
					for (let next = at + 1; one.isBusy && steps[next]?.kind === 'append'; next++) {
						await appendOne(steps[next] as Appending)
						log.advanceHighWatermark(log.logEndOffset)
					}
					const result = await cleaning
					passes++
					expect(result.endOffset).toBeGreaterThan(range.firstDirtyOffset)
					expect(result.endOffset).toBeLessThanOrEqual(range.bound)
					// Nothing at or above the bound was touched.
					const left = Buffer.concat(await batchesOf(log, range.bound))
					expect(left.subarray(0, above.length).equals(above)).toBe(true)
					await check()
				} else if (one.kind === 'time') world.clock.advance(one.ms)
				else if (one.kind === 'repeat') {
					const last = senders.get(one.producer)?.last
					const isOpen = one.producer < 3 || senders.get(one.producer)?.transaction !== null
					if (last === null || last === undefined || !isOpen) continue
					const outcome = await log.appendAsLeader(Buffer.from(last.bytes), CLIENT)
					expect(outcome).toMatchObject({ errorCode: 0, duplicate: true, firstOffset: last.offset })
				} else if (one.kind === 'reopen') {
					await manager.close(1n)
					expect(disk.openFiles).toBe(0)
					;({ manager, log } = await openCompacted(disk, config, world))
				} else if (one.kind === 'kill') {
					await new Promise((resolve) => setImmediate(resolve))
					disk.restart('process', () => 0)
					world.claimed.clear()
					;({ manager, log } = await openCompacted(disk, config, world))
				}
			}
			await check()
			// Every producer's last batch is known still, as a start without a snapshot would find it too.
			const records = await recordsIn(await batchesOf(log))
			expect(new Set(records.map(({ offset }) => offset)).size).toBe(records.length)
			for (const batch of await batchesOf(log)) expect(batchBaseOffset(batch, 0)).toBeLessThan(log.logEndOffset)
			await manager.close(1n)
		}),
		{ numRuns: 150 },
	)
	expect(passes).toBeGreaterThan(100)
	expect(removed).toBeGreaterThan(1000)
}, 120_000)
