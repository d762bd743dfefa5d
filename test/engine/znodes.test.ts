/** The ZooKeeper tree of a broker of ours beside that of Apache Kafka 3.9.2 after the same steps (golden dump). */

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ZkSession } from '../../src/zk/port.js'
import { startTestBroker, type TestBroker } from '../helpers/broker.js'
import { makeTopic } from '../helpers/requests.js'

let broker: TestBroker
beforeAll(async () => {
	broker = await startTestBroker()
	await makeTopic(await broker.connect(), 'orders', 2)
})
afterAll(() => broker.stop())

/** A znode as the dump writes it: path, version, kind, data. */
async function walk(session: ZkSession, path: string): Promise<string[]> {
	const node = await session.get(path)
	const children = await session.children(path)
	if (node === null || children === null) return []
	const kind = node.stat.ephemeralOwner === 0n ? 'persistent' : 'ephemeral'
	const data = node.data === null ? 'null' : node.data.length === 0 ? 'empty' : node.data.toString('utf8')
	const lines = [[path, `v${node.stat.version}`, kind, data].join('\t')]
	for (const name of children.names) {
		if (path === '/' && name === 'zookeeper') continue
		lines.push(...(await walk(session, path === '/' ? `/${name}` : `${path}/${name}`)))
	}
	return lines
}

/** What differs between any two clusters is taken out: ids, ports, times, replicas, racks, further listeners. */
function normal(line: string): string {
	return line
		.replace(/"topic_id":"[^"]+"|"id":"[^"]+"/g, '"id":ID')
		.replace(/"timestamp":"\d+"/g, '"timestamp":TIME')
		.replace(/127\.0\.0\.1:\d+/g, 'HOST')
		.replace(/"port":\d+/g, '"port":PORT')
		.replace(/"jmx_port":-?\d+/g, '"jmx_port":PORT')
		.replace(/,?"SASL(?::\/\/HOST)?"(?::"SASL_PLAINTEXT")?/g, '')
		.replace(/"rack":"[^"]+",/g, '')
		.replace(/\[[\d,]+\]/g, 'REPLICAS')
		.replace(/"leader":\d+/g, '"leader":N')
		.replace(/"partitions":\{.*?\}/g, '"partitions":{}')
}

describe('znodes', () => {
	it('are those of Apache Kafka 3.9.2 after its first topic', async () => {
		const ours = (await walk(broker.session, '/')).map(normal)
		const dump = readFileSync(new URL('../fixtures/zk/znodes/02-topic-created.txt', import.meta.url), 'utf8')
		const theirs = dump
			.split('\n')
			.filter((line) => line.startsWith('/'))
			// Its cluster had three brokers, six partitions, an authorizer and tokens.
			.filter(
				(line) =>
					!/^\/(brokers\/ids\/[23]|brokers\/topics\/orders\/partitions\/[2-5]|kafka-acl|delegation_token)/.test(line),
			)
			.map((line) => line.split('\t'))
			.map(([path, version, , kind, , data]) => normal([path, version, kind, data].join('\t')))
		expect(ours.sort()).toEqual(theirs.sort())
	})
})
