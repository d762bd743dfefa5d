/**
 * kill -9 in a loop under load: a real broker process, an idempotent producer that keeps several batches in flight. After
 * all kills every acknowledged record is there, once and in order; acks 1 and all alike (reliability, promise 8).
 */

import { afterEach, describe, expect, it } from 'vitest'
import { BrokerConnection } from '../../src/client/connection.js'
import { initProducerId } from '../../src/protocol/messages/transactions.js'
import { batchBytes, wholeBatchEnd } from '../../src/protocol/records/batch.js'
import { recordsOf } from '../../src/protocol/records/compression.js'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { CLIENT } from '../helpers/broker.js'
import { type BrokerProcess, Cleanup, startBrokerProcess } from '../helpers/processes.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../helpers/requests.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

const runtime = nodeRuntime()
const BATCH = 20
const IN_FLIGHT = 5

class Load {
	readonly #acks: number
	readonly producerId: bigint
	/** Sequence of the next batch that was never sent. */
	next = 0
	/** All below are acknowledged. */
	acknowledged = 0

	constructor(producerId: bigint, acks: number) {
		this.producerId = producerId
		this.#acks = acks
	}

	#batch(first: number): Buffer {
		const values = Array.from({ length: BATCH }, (_, i) => `value ${first + i} ${'x'.repeat((first + i) % 300)}`)
		return batchOf(values, { producerId: this.producerId, producerEpoch: 0, baseSequence: first })
	}

	/** Sends until the connection breaks; what was not acknowledged is sent again by the next call. */
	async run(connection: BrokerConnection): Promise<void> {
		this.next = this.acknowledged
		const flying: Promise<void>[] = []
		try {
			for (;;) {
				const first = this.next
				this.next += BATCH
				flying.push(
					send(connection, 'load', this.#batch(first), { acks: this.#acks }).then(({ errorCode }) => {
						expect(errorCode).toBe(0)
						expect(this.acknowledged).toBe(first)
						this.acknowledged = first + BATCH
					}),
				)
				if (flying.length >= IN_FLIGHT) await flying.shift()
			}
		} catch (error) {
			await Promise.allSettled(flying)
			if (connection.isOpen) throw error
		}
	}
}

async function readValues(connection: BrokerConnection): Promise<string[]> {
	const values: string[] = []
	let offset = 0
	for (;;) {
		const { errorCode, records, highWatermark } = onlyPartition(await fetchFrom(connection, 'load', offset))
		expect(errorCode).toBe(0)
		if (offset >= highWatermark) return values
		const bytes = records as Buffer
		for (let at = 0; wholeBatchEnd(bytes, at, bytes.length) > 0; at += batchBytes(bytes, at)) {
			for (const record of await recordsOf(runtime.compression, bytes, at, 1_000_000)) {
				expect(record.offset).toBe(values.length)
				values.push((record.value as Buffer).toString())
				offset = record.offset + 1
			}
		}
	}
}

describe('kill -9 under load', () => {
	for (const acks of [1, -1]) {
		it(`loses and doubles nothing, acks ${acks}`, async () => {
			const folder = `${cleanup.folder()}/data`
			const args = ['-c', 'log.segment.bytes=200000', '-c', 'log.index.interval.bytes=500']
			let broker: BrokerProcess = await startBrokerProcess(folder, args)
			cleanup.add(() => broker.kill())
			const port = broker.bootstrap.split(':')[1] as string
			const fixed = [...args, '--listen', `PLAINTEXT://127.0.0.1:${port}`]
			let load: Load | null = null
			for (let round = 0; round < 6; round++) {
				const connection = await BrokerConnection.open(runtime, '127.0.0.1', Number(port), CLIENT)
				if (load === null) {
					await makeTopic(connection, 'load')
					const id = await connection.request(initProducerId, { transactionalId: null, transactionTimeoutMs: 60_000 })
					load = new Load(id.producerId, acks)
				}
				const goal: number = load.acknowledged + BATCH * (10 + round * 17)
				const running = load.run(connection)
				const victim = broker
				const watch = setInterval(() => {
					if ((load as Load).acknowledged >= goal) void victim.kill()
				}, 1)
				await running
				clearInterval(watch)
				await victim.kill()
				broker = await startBrokerProcess(folder, fixed)
			}
			const connection = await BrokerConnection.open(runtime, '127.0.0.1', Number(port), CLIENT)
			cleanup.add(() => connection.close())
			const values = await readValues(connection)
			const { acknowledged } = load as Load
			expect(acknowledged).toBeGreaterThan(1000)
			expect(values.length).toBeGreaterThanOrEqual(acknowledged)
			for (const [i, value] of values.entries()) expect(value.startsWith(`value ${i} `)).toBe(true)
		}, 120_000)
	}

	it('starts at once after a kill, on the same id and folder', async () => {
		const folder = `${cleanup.folder()}/data`
		const first = await startBrokerProcess(folder)
		await first.kill()
		const second = await startBrokerProcess(folder)
		cleanup.add(() => second.kill())
		expect(second.readyMs).toBeLessThan(5000)
	})

	it('two starts on one folder: the second says who has it', async () => {
		const folder = `${cleanup.folder()}/data`
		const first = await startBrokerProcess(folder)
		cleanup.add(() => first.kill())
		await expect(startBrokerProcess(folder)).rejects.toThrow(/in use by another kcli broker/)
	})
})
