/** Connections: statements of semantics 28 and 30 that a single broker has. */

import { existsSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { BrokerConnection } from '../../../src/client/connection.js'
import { ERROR } from '../../../src/protocol/errors.js'
import { encodeRequest } from '../../../src/protocol/frame.js'
import { metadata } from '../../../src/protocol/messages/metadata.js'
import { nodeRuntime } from '../../../src/runtime/node-runtime.js'
import { CLIENT, startTestBroker, type TestBroker } from '../../helpers/broker.js'
import { Cleanup, startBrokerProcess } from '../../helpers/processes.js'
import { RawSocket } from '../../helpers/raw-socket.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../../helpers/requests.js'
import { until } from '../../helpers/until.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

async function start(settings: Record<string, string> = {}): Promise<TestBroker> {
	const broker = await startTestBroker(settings)
	cleanup.add(() => broker.stop())
	return broker
}

const frameOf = (correlationId: number, clientId: string | null = 'x'): Buffer =>
	Buffer.concat(encodeRequest(metadata, 1, correlationId, clientId, { topics: [] }) as Buffer[])

describe('connections', () => {
	it('28.1 a frame over socket.request.max.bytes ends the connection', async () => {
		const broker = await start({ 'socket.request.max.bytes': '1000' })
		const socket = await RawSocket.open(broker.port)
		const claim = Buffer.alloc(4)
		claim.writeInt32BE(1001)
		socket.send(claim)
		await socket.closed()
	})

	it('28.3 and 28.11 answers come in the order of the requests, whatever their correlation ids', async () => {
		const broker = await start()
		const socket = await RawSocket.open(broker.port)
		cleanup.add(() => socket.destroy())
		const ids = [7, -1, 7, 0, 2147483647, -2147483648, 3]
		socket.send(Buffer.concat(ids.map((id) => frameOf(id))))
		for (const id of ids) expect((await socket.frame())?.readInt32BE(4)).toBe(id)
	})

	it('28.3 a frame that comes byte by byte is answered like any other', async () => {
		const broker = await start()
		const socket = await RawSocket.open(broker.port)
		cleanup.add(() => socket.destroy())
		for (const byte of frameOf(5)) socket.send(Buffer.from([byte]))
		expect((await socket.frame())?.readInt32BE(4)).toBe(5)
	})

	it('28.5 an idle connection is closed, one with a waiting fetch is not', async () => {
		const broker = await start({ 'connections.max.idle.ms': '300' })
		const idle = await RawSocket.open(broker.port)
		const busy = await broker.connect()
		await makeTopic(busy, 't')
		const waiting = fetchFrom(busy, 't', 0, { maxWaitMs: 1200 })
		await idle.closed()
		expect(onlyPartition(await waiting).errorCode).toBe(ERROR.NONE)
	})

	it('28.6 connections beyond max.connections.per.ip are closed at once', async () => {
		const broker = await start({ 'max.connections.per.ip': '2' })
		const kept = [await RawSocket.open(broker.port), await RawSocket.open(broker.port)]
		const surplus = await RawSocket.open(broker.port)
		await surplus.closed()
		kept[0]?.send(frameOf(1))
		expect((await kept[0]?.frame())?.readInt32BE(4)).toBe(1)
		for (const socket of kept) socket.destroy()
		await until('there is room again', async () => {
			const socket = await RawSocket.open(broker.port)
			socket.send(frameOf(2))
			const answer = await socket.frame()
			socket.destroy()
			return answer !== null
		})
	})

	it.runIf(process.platform === 'linux')('28.7 accepted connections have TCP keep-alive on', async () => {
		const broker = await start()
		const client = await broker.connect()
		await client.request(metadata, { topics: [] })
		const port = broker.port.toString(16).toUpperCase().padStart(4, '0')
		await until('nothing is under way and the keep-alive timer runs', async () => {
			// Columns of proc(5) net/tcp: local, remote, state (01 established), queues, timer (02 keep-alive).
			const rows = readFileSync('/proc/net/tcp', 'utf8')
				.split('\n')
				.map((line) => line.trim().split(/\s+/))
				.filter(([, local, , state]) => local?.endsWith(`:${port}`) && state === '01')
			return rows.length > 0 && rows.every(([, , , , , timer]) => timer?.startsWith('02:'))
		})
	})

	it('28.8 a null client id is as good as an empty one', async () => {
		const broker = await start()
		const socket = await RawSocket.open(broker.port)
		cleanup.add(() => socket.destroy())
		socket.send(frameOf(9, null))
		expect((await socket.frame())?.readInt32BE(4)).toBe(9)
	})

	it('28.12 bytes behind a body are passed over', async () => {
		const broker = await start()
		const socket = await RawSocket.open(broker.port)
		cleanup.add(() => socket.destroy())
		const frame = Buffer.concat([frameOf(4), Buffer.from([1, 2, 3])])
		frame.writeInt32BE(frame.length - 4, 0)
		socket.send(Buffer.concat([frame, frameOf(5)]))
		expect((await socket.frame())?.readInt32BE(4)).toBe(4)
		expect((await socket.frame())?.readInt32BE(4)).toBe(5)
	})

	it('28.10 a stop closes connections and ends waiting requests', async () => {
		const broker = await startTestBroker()
		const connection = await broker.connect()
		await makeTopic(connection, 't')
		const waiting = fetchFrom(connection, 't', 0, { maxWaitMs: 30_000 }).then(
			() => 'answered',
			() => 'closed',
		)
		await broker.stop()
		expect(await waiting).toBe('closed')
	})
})

describe('start and stop', () => {
	it('30.1 a client that connects before the broker serves waits, and is answered', async () => {
		const folder = cleanup.folder()
		const broker = await startBrokerProcess(`${folder}/data`)
		const port = Number(broker.bootstrap.split(':')[1])
		await broker.stop()
		const starting = startBrokerProcess(`${folder}/data`, ['--listen', `PLAINTEXT://127.0.0.1:${port}`])
		const answered = until('a connection is answered', async () => {
			try {
				const connection = await BrokerConnection.open(nodeRuntime(), '127.0.0.1', port, CLIENT)
				const answer = await connection.request(metadata, { topics: [] })
				connection.close()
				return answer.brokers.length === 1
			} catch {
				return false
			}
		})
		const again = await starting
		cleanup.add(() => again.kill())
		await answered
	})

	it('30.3 a clean stop leaves the marker, and its registration is gone at once', async () => {
		const broker = await startTestBroker()
		const connection = await broker.connect()
		await makeTopic(connection, 'kept')
		await send(connection, 'kept', batchOf(['a']))
		const again = await broker.restart()
		cleanup.add(() => again.stop())
		expect(again.lines.some(({ message, fields }) => message === 'logs are loaded' && fields['clean'] === true)).toBe(
			true,
		)
		expect(existsSync(`${again.folder}/data/.kafka_cleanshutdown`)).toBe(false)
		const node = await again.session.get('/brokers/ids/1')
		expect(node?.stat.ephemeralOwner).toBe(again.session.sessionId)
	})

	it('30.5 a broker id that lives elsewhere is refused, and said by whom', async () => {
		const folder = cleanup.folder()
		const first = await startBrokerProcess(`${folder}/one`, ['--zookeeper-port', '0'])
		cleanup.add(() => first.kill())
		const clash = startBrokerProcess(`${folder}/two`, [
			...['--zookeeper', first.zookeeper, '--id', '1'],
			...['-c', 'zookeeper.session.timeout.ms=4000', '-c', 'offsets.topic.replication.factor=1'],
		])
		await expect(clash).rejects.toThrow(/broker id 1 is registered by session/)
	})

	it('30.6 with ZooKeeper gone, produce and fetch go on', async () => {
		const folder = cleanup.folder()
		const { startEmbeddedZooKeeper } = await import('../../../dist/cli/embedded-zookeeper.js')
		const zookeeper = await startEmbeddedZooKeeper({ host: '127.0.0.1', port: 0, dataDir: `${folder}/zk` })
		const broker = await startBrokerProcess(`${folder}/data`, ['--zookeeper', zookeeper.address, '--id', '1'])
		cleanup.add(() => broker.kill())
		const connection = await BrokerConnection.open(
			nodeRuntime(),
			'127.0.0.1',
			Number(broker.bootstrap.split(':')[1]),
			CLIENT,
		)
		cleanup.add(() => connection.close())
		await makeTopic(connection, 'goes-on')
		await zookeeper.stop()
		expect((await send(connection, 'goes-on', batchOf(['a']), { acks: -1 })).errorCode).toBe(0)
		expect(onlyPartition(await fetchFrom(connection, 'goes-on', 0)).highWatermark).toBe(1)
		expect((await connection.request(metadata, { topics: [{ name: 'goes-on' }] })).topics[0]?.errorCode).toBe(0)
	})
})
