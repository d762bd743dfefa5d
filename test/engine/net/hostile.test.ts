/**
 * Hostile clients against a real broker process: claims that lie, peers that never read, frames that were tampered with.
 * The broker's memory stays within its bounds and a good client is served throughout.
 */

import { readFileSync } from 'node:fs'
import * as net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { BrokerConnection } from '../../../src/client/connection.js'
import { encodeRequest } from '../../../src/protocol/frame.js'
import { incrementalAlterConfigs } from '../../../src/protocol/messages/configs.js'
import { fetch } from '../../../src/protocol/messages/fetch.js'
import { listOffsets } from '../../../src/protocol/messages/offsets.js'
import { createPartitions } from '../../../src/protocol/messages/topics.js'
import { nodeRuntime } from '../../../src/runtime/node-runtime.js'
import { CLIENT } from '../../helpers/broker.js'
import { goldenFiles, readGolden } from '../../helpers/golden-wire.js'
import { type BrokerProcess, Cleanup, startBrokerProcess } from '../../helpers/processes.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../../helpers/requests.js'
import { until } from '../../helpers/until.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

async function start(
	args: readonly string[] = [],
): Promise<{ broker: BrokerProcess; good: BrokerConnection; port: number }> {
	const broker = await startBrokerProcess(`${cleanup.folder()}/data`, args)
	cleanup.add(() => broker.kill())
	const port = Number(broker.bootstrap.split(':')[1])
	const good = await BrokerConnection.open(nodeRuntime(), '127.0.0.1', port, CLIENT)
	cleanup.add(() => good.close())
	return { broker, good, port }
}

function residentMb(pid: number): number {
	const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
	return Number(match?.[1]) / 1024
}

function dial(port: number): Promise<net.Socket> {
	return new Promise((resolve, reject) => {
		const socket = net.connect({ host: '127.0.0.1', port })
		socket.on('error', () => undefined)
		socket.once('error', reject)
		socket.once('connect', () => resolve(socket))
		cleanup.add(() => socket.destroy())
	})
}

const isLinux = process.platform === 'linux'

describe.runIf(isLinux)('hostile clients', () => {
	it('a thousand sockets that claim 100 MB and send four bytes cost nothing', async () => {
		const { broker, good, port } = await start()
		await makeTopic(good, 'good')
		const before = residentMb(broker.pid)
		const claim = Buffer.alloc(4)
		claim.writeInt32BE(100 * 1024 * 1024)
		const sockets = await Promise.all(Array.from({ length: 1000 }, () => dial(port)))
		for (const socket of sockets) socket.write(claim)
		for (let i = 0; i < 20; i++) expect((await send(good, 'good', batchOf([`v${i}`]))).baseOffset).toBe(i)
		expect(residentMb(broker.pid) - before).toBeLessThan(100)
	})

	it('unfinished frames over the whole budget hold up nobody for ever', async () => {
		const { broker, good, port } = await start(['-c', 'kcli.memory.budget.bytes=16777216'])
		await makeTopic(good, 'good')
		const claim = Buffer.alloc(4)
		claim.writeInt32BE(50 * 1024 * 1024)
		const piece = Buffer.alloc(1024 * 1024)
		const sockets = await Promise.all(Array.from({ length: 30 }, () => dial(port)))
		for (const socket of sockets) {
			socket.write(claim)
			for (let i = 0; i < 4; i++) socket.write(piece)
		}
		const fresh = await BrokerConnection.open(nodeRuntime(), '127.0.0.1', port, { ...CLIENT, requestTimeoutMs: 60_000 })
		cleanup.add(() => fresh.close())
		for (const socket of sockets) socket.destroy()
		expect((await send(fresh, 'good', batchOf(['through']))).errorCode).toBe(0)
		expect(residentMb(broker.pid)).toBeLessThan(300)
	}, 60_000)

	it('two hundred clients that ask for 50 MB and never read leave memory within bounds', async () => {
		const { broker, good, port } = await start()
		await makeTopic(good, 'large')
		const batch = batchOf(Array.from({ length: 100 }, () => 'x'.repeat(9000)))
		for (let i = 0; i < 60; i++) expect((await send(good, 'large', Buffer.from(batch))).errorCode).toBe(0)
		const ask = Buffer.concat(
			encodeRequest(fetch, 11, 1, 'never-reads', {
				replicaId: -1,
				maxWaitMs: 0,
				minBytes: 1,
				maxBytes: 52_428_800,
				topics: [{ topic: 'large', partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 52_428_800 }] }],
				forgottenTopicsData: [],
			}) as Buffer[],
		)
		const sockets = await Promise.all(Array.from({ length: 200 }, () => dial(port)))
		for (const socket of sockets) {
			socket.pause()
			socket.write(ask)
		}
		await makeTopic(good, 'good')
		for (let i = 0; i < 50; i++) expect((await send(good, 'good', batchOf([`v${i}`]))).baseOffset).toBe(i)
		expect(onlyPartition(await fetchFrom(good, 'good', 0)).highWatermark).toBe(50)
		expect(residentMb(broker.pid)).toBeLessThan(450)
		const reader = sockets[0] as net.Socket
		let received = 0
		reader.on('data', (chunk: Buffer) => {
			received += chunk.length
		})
		reader.resume()
		await until('the one that reads at last gets all', () => received > 50_000_000, 20_000)
	}, 60_000)

	it('requests of very many entries are answered in a time that grows with them, not with their square', async () => {
		const { good } = await start()
		const ask = async (count: number): Promise<number> => {
			const began = performance.now()
			const partitions = Array.from({ length: count }, (_, i) => ({ partitionIndex: i, timestamp: -1 }))
			const listed = await good.send(
				listOffsets,
				7,
				{ replicaId: -1, isolationLevel: 0, topics: [{ name: 'none', partitions }] },
				60_000,
			)
			expect(listed.topics[0]?.partitions.length).toBe(count)
			const resources = Array.from({ length: count }, (_, i) => ({
				resourceType: 2,
				resourceName: `t${i}`,
				configs: [],
			}))
			const altered = await good.send(incrementalAlterConfigs, 1, { resources, validateOnly: true }, 60_000)
			expect(altered.responses.every(({ errorCode }) => errorCode === 3)).toBe(true)
			const topics = Array.from({ length: count }, (_, i) => ({ name: `n/${i}`, count: 2, assignments: null }))
			const grown = await good.send(createPartitions, 3, { topics, timeoutMs: 1000, validateOnly: true }, 60_000)
			expect(grown.results.every(({ errorCode }) => errorCode === 3)).toBe(true)
			return performance.now() - began
		}
		// The best of some runs each, so that a busy machine does not decide: ten times the entries take ten times as long, or
		// a hundred times where the square counts.
		const few = Math.min(await ask(6000), await ask(6000), await ask(6000))
		const many = Math.min(await ask(60_000), await ask(60_000))
		expect(many / few).toBeLessThan(40)
	}, 120_000)

	it('tampered frames never end the broker', async () => {
		const { broker, good, port } = await start()
		await makeTopic(good, 'good')
		let seed = 20_240_607
		const random = (below: number): number => {
			seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
			return seed % below
		}
		const frames = goldenFiles()
			.filter((file) => !file.includes('sweep'))
			.flatMap((file) => readGolden(file).filter((frame) => frame.direction === 'request'))
			.map((frame) => frame.bytes)
		for (let round = 0; round < 600; round++) {
			const frame = Buffer.from(frames[random(frames.length)] as Buffer)
			for (let hits = 1 + random(4); hits > 0; hits--) frame[4 + random(frame.length - 4)] = random(256)
			const socket = await dial(port)
			socket.end(frame)
			socket.resume()
			if (round % 50 === 0) expect((await send(good, 'good', batchOf([`v${round}`]))).errorCode).toBe(0)
		}
		expect((await send(good, 'good', batchOf(['last']))).errorCode).toBe(0)
		expect(broker.logText()).not.toContain('AssertionError')
	}, 60_000)
})
