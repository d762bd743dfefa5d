/** Data folders and the embedded ZooKeeper that fail under a running broker process. */

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { BrokerConnection } from '../../src/client/connection.js'
import { ERROR } from '../../src/protocol/errors.js'
import { describeLogDirs } from '../../src/protocol/messages/reassignment.js'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { nodeDriverFactory } from '../../src/zk/node-driver.js'
import { openZkSession } from '../../src/zk/session.js'
import { CLIENT } from '../helpers/broker.js'
import { Cleanup, startBrokerProcess } from '../helpers/processes.js'
import { batchOf, fetchFrom, makeTopic, onlyPartition, send } from '../helpers/requests.js'
import { until } from '../helpers/until.js'

const cleanup = new Cleanup()
afterEach(() => cleanup.run())

async function connect(bootstrap: string): Promise<BrokerConnection> {
	const connection = await BrokerConnection.open(nodeRuntime(), '127.0.0.1', Number(bootstrap.split(':')[1]), CLIENT)
	cleanup.add(() => connection.close())
	return connection
}

/** As built: the server is a process of its own. */
async function embeddedZooKeeper() {
	return (await import('../../dist/cli/embedded-zookeeper.js')).startEmbeddedZooKeeper
}

describe('several data folders', () => {
	it('20.12 new partitions go to the folder with the fewest', async () => {
		const folder = cleanup.folder()
		const broker = await startBrokerProcess(`${folder}/a,${folder}/b`, ['--data-dir', `${folder}/c`])
		cleanup.add(() => broker.kill())
		const connection = await connect(broker.bootstrap)
		await makeTopic(connection, 'spread', 6)
		const { results } = await connection.send(describeLogDirs, 4, {
			topics: [{ topic: 'spread', partitions: [0, 1, 2, 3, 4, 5] }],
		})
		expect(results.map(({ logDir }) => logDir)).toEqual(['a', 'b', 'c'].map((name) => `${folder}/${name}`))
		expect(results.map(({ topics }) => topics[0]?.partitions.length)).toEqual([2, 2, 2])
	})

	it('20.11, 4.6 and 7.16 a folder that fails takes only its partitions, and the controller hears of it', async () => {
		const folder = cleanup.folder()
		const broker = await startBrokerProcess(`${folder}/a,${folder}/b`, ['-c', 'log.segment.bytes=1000'])
		cleanup.add(() => broker.kill())
		const connection = await connect(broker.bootstrap)
		await makeTopic(connection, 'half', 2)
		const where = await connection.send(describeLogDirs, 4, { topics: [{ topic: 'half', partitions: [0, 1] }] })
		const lost =
			where.results.find(({ logDir }) => logDir.endsWith('/b'))?.topics[0]?.partitions[0]?.partitionIndex ?? -1
		for (const partition of [0, 1]) {
			expect((await send(connection, 'half', batchOf(['x'.repeat(900)]), { partition })).errorCode).toBe(0)
		}
		rmSync(`${folder}/b`, { recursive: true })
		// The next roll cannot make its files.
		await until('the folder is found out', async () => {
			const code = (await send(connection, 'half', batchOf(['x'.repeat(900)]), { partition: lost })).errorCode
			return code === ERROR.KAFKA_STORAGE_ERROR || code === ERROR.NOT_LEADER_OR_FOLLOWER
		})
		expect((await send(connection, 'half', batchOf(['y']), { partition: lost })).errorCode).toBe(
			ERROR.KAFKA_STORAGE_ERROR,
		)
		const fetched = async (version: number) =>
			onlyPartition(await fetchFrom(connection, 'half', 0, { partition: lost, version })).errorCode
		expect([await fetched(5), await fetched(6)]).toEqual([ERROR.NOT_LEADER_OR_FOLLOWER, ERROR.KAFKA_STORAGE_ERROR])
		const other = 1 - lost
		expect((await send(connection, 'half', batchOf(['y']), { partition: other })).errorCode).toBe(0)
		const dirs = await connection.send(describeLogDirs, 4, { topics: null })
		expect(dirs.results.map(({ errorCode }) => errorCode)).toEqual([0, ERROR.KAFKA_STORAGE_ERROR])
		expect(broker.logText()).toContain('data dir is offline')
	})
})

describe('the embedded ZooKeeper', () => {
	it('is started again when it dies, and topics can be made again', async () => {
		const broker = await startBrokerProcess(`${cleanup.folder()}/data`)
		cleanup.add(() => broker.kill())
		const connection = await connect(broker.bootstrap)
		await makeTopic(connection, 'before')
		const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(broker.pid)], { encoding: 'utf8' })
		process.kill(Number(children.trim()), 'SIGKILL')
		await until('it serves again', () => broker.logText().includes('the embedded ZooKeeper serves again'))
		await makeTopic(connection, 'after')
		await send(connection, 'after', batchOf(['a']))
		expect(onlyPartition(await fetchFrom(connection, 'after', 0)).highWatermark).toBe(1)
		expect(await broker.stop()).toBe(143)
	})

	it('a broker that was frozen for longer than its session comes back, leads again and makes topics', async () => {
		const broker = await startBrokerProcess(`${cleanup.folder()}/data`, ['-c', 'zookeeper.session.timeout.ms=4000'])
		cleanup.add(() => broker.kill())
		const connection = await connect(broker.bootstrap)
		await makeTopic(connection, 'before')
		broker.signal('SIGSTOP')
		const runtime = nodeRuntime()
		const session = await openZkSession(runtime, nodeDriverFactory(runtime), { connect: broker.zookeeper })
		cleanup.add(() => session.close())
		await until('its session is over', async () => (await session.exists('/brokers/ids/1')) === null, 20_000)
		broker.signal('SIGCONT')
		await until(
			'it is registered again',
			() => broker.logText().includes('registered again in a new ZooKeeper session'),
			20_000,
		)
		await until('it is controller again', () => (broker.logText().match(/elected controller/g)?.length ?? 0) >= 2)
		const again = await connect(broker.bootstrap)
		await until('it leads again', async () => (await send(again, 'before', batchOf(['a']))).errorCode === 0)
		await makeTopic(again, 'after')
		expect((await send(again, 'after', batchOf(['b']))).errorCode).toBe(0)
	}, 60_000)

	it('a session that outlives its lease leaves no controller without duties', async () => {
		const folder = cleanup.folder()
		const startEmbeddedZooKeeper = await embeddedZooKeeper()
		const first = await startEmbeddedZooKeeper({ host: '127.0.0.1', port: 0, dataDir: `${folder}/zk` })
		const [host, port] = first.address.split(':') as [string, string]
		const timeouts = ['-c', 'zookeeper.session.timeout.ms=6000']
		const broker = await startBrokerProcess(`${folder}/data`, ['--zookeeper', first.address, '--id', '1', ...timeouts])
		cleanup.add(() => broker.kill())
		const connection = await connect(broker.bootstrap)
		await makeTopic(connection, 'before')
		process.kill(first.pid, 'SIGKILL')
		await until('the lease is over', () => broker.logText().includes('no longer controller'), 20_000)
		const second = await startEmbeddedZooKeeper({ host, port: Number(port), dataDir: `${folder}/zk` })
		cleanup.add(() => second.stop())
		await until(
			'it is controller again',
			() => (broker.logText().match(/elected controller/g)?.length ?? 0) >= 2,
			20_000,
		)
		await makeTopic(connection, 'after')
		expect((await send(connection, 'after', batchOf(['b']))).errorCode).toBe(0)
	}, 60_000)
})

describe('a broker that was killed', () => {
	it('30.4 is registered until its session is over, then not; on the next start its log is recovered, and nothing is lost', async () => {
		const folder = cleanup.folder()
		const startEmbeddedZooKeeper = await embeddedZooKeeper()
		const zookeeper = await startEmbeddedZooKeeper({ host: '127.0.0.1', port: 0, dataDir: `${folder}/zk` })
		cleanup.add(() => zookeeper.stop())
		const args = ['--zookeeper', zookeeper.address, '--id', '1', '-c', 'zookeeper.session.timeout.ms=4000']
		const first = await startBrokerProcess(`${folder}/data`, args)
		cleanup.add(() => first.kill())
		const connection = await connect(first.bootstrap)
		await makeTopic(connection, 'kept')
		for (const value of ['a', 'b', 'c']) await send(connection, 'kept', batchOf([value]))
		const runtime = nodeRuntime()
		const session = await openZkSession(runtime, nodeDriverFactory(runtime), { connect: zookeeper.address })
		cleanup.add(() => session.close())
		const killedMs = performance.now()
		await first.kill()
		expect(await session.exists('/brokers/ids/1')).not.toBeNull()
		await until('its session is over', async () => (await session.exists('/brokers/ids/1')) === null, 20_000)
		expect(performance.now() - killedMs).toBeGreaterThan(2000)
		expect(await session.exists('/controller')).toBeNull()
		const second = await startBrokerProcess(`${folder}/data`, args)
		cleanup.add(() => second.kill())
		expect(second.logText()).toMatch(/logs are loaded .*clean=false/)
		const again = await connect(second.bootstrap)
		await until('it leads', async () => onlyPartition(await fetchFrom(again, 'kept', 0)).errorCode === 0)
		expect(onlyPartition(await fetchFrom(again, 'kept', 0)).highWatermark).toBe(3)
		expect(await session.exists('/brokers/ids/1')).not.toBeNull()
	}, 60_000)
})

describe('what lies in a data folder', () => {
	it('16.16 a partition that nobody knows is kept; what was being deleted goes when its time is over', async () => {
		const folder = `${cleanup.folder()}/data`
		const first = await startBrokerProcess(folder)
		const connection = await connect(first.bootstrap)
		await makeTopic(connection, 'stray')
		await send(connection, 'stray', batchOf(['a']))
		expect(await first.stop()).toBe(143)
		const unknown = `${folder}/unknown-3`
		renameSync(`${folder}/stray-0`, unknown)
		rmSync(`${unknown}/partition.metadata`)
		const deleted = `${folder}/old-0.0123456789abcdef0123456789abcdef-delete`
		cpSync(unknown, deleted, { recursive: true })
		const second = await startBrokerProcess(folder, ['-c', 'log.segment.delete.delay.ms=200'])
		cleanup.add(() => second.kill())
		await until('the deleted one is gone', () => !existsSync(deleted))
		expect(readdirSync(unknown).filter((name) => name.endsWith('.log'))).toEqual(['00000000000000000000.log'])
		expect(await second.stop()).toBe(143)
		expect(existsSync(unknown)).toBe(true)
	})
})

describe('a file of nonsense', () => {
	it('19.11 in one partition costs that partition only', async () => {
		const data = `${cleanup.folder()}/data`
		const first = await startBrokerProcess(data)
		await makeTopic(await connect(first.bootstrap), 'parts', 4)
		await first.kill()
		truncateSync(`${data}/parts-2/partition.metadata`)
		const second = await startBrokerProcess(data)
		cleanup.add(() => second.kill())
		const connection = await connect(second.bootstrap)
		for (const partition of [0, 1, 2, 3]) {
			await until(`partition ${partition} has its role`, async () => {
				const { errorCode } = await send(connection, 'parts', batchOf(['a']), { partition })
				return partition === 2 ? errorCode === ERROR.KAFKA_STORAGE_ERROR : errorCode === 0
			})
		}
		await makeTopic(connection, 'more')
		expect((await send(connection, 'more', batchOf(['b']))).errorCode).toBe(0)
	})
})
