import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ZnodeFormatError } from '../../src/zk/znode-json.js'
import * as znodes from '../../src/zk/znodes.js'
import * as admin from '../../src/zk/znodes-admin.js'

const FOLDER = new URL('../fixtures/zk/znodes/', import.meta.url)

interface Codec {
	readonly path: RegExp
	readonly recode: (data: Buffer) => Buffer
}

const CODECS: readonly Codec[] = [
	{ path: /^\/cluster\/id$/, recode: (data) => znodes.clusterIdZnode.encode(znodes.clusterIdZnode.decode(data)) },
	{ path: /^\/brokers\/ids\/\d+$/, recode: (data) => znodes.brokerZnode.encode(znodes.brokerZnode.decode(data)) },
	{ path: /^\/controller$/, recode: (data) => znodes.controllerZnode.encode(znodes.controllerZnode.decode(data)) },
	{
		path: /^\/controller_epoch$/,
		recode: (data) => znodes.controllerEpochZnode.encode(znodes.controllerEpochZnode.decode(data)),
	},
	{ path: /^\/brokers\/topics\/[^/]+$/, recode: (data) => znodes.topicZnode.encode(znodes.topicZnode.decode(data)) },
	{
		path: /^\/brokers\/topics\/[^/]+\/partitions\/\d+\/state$/,
		recode: (data) => znodes.partitionStateZnode.encode(znodes.partitionStateZnode.decode(data)),
	},
	{
		path: /^\/config\/changes\/config_change_\d+$/,
		recode: (data) => znodes.configChangeZnode.encode(znodes.configChangeZnode.decode(data)),
	},
	{
		path: /^\/config\/(topics|brokers|users|clients|ips)\//,
		recode: (data) => znodes.configZnode.encode(znodes.configZnode.decode(data)),
	},
	{ path: /^\/feature$/, recode: (data) => znodes.featureZnode.encode(znodes.featureZnode.decode(data)) },
	{
		path: /^\/latest_producer_id_block$/,
		recode: (data) => {
			const block = znodes.producerIdBlockZnode.decode(data)
			if (block === null) throw new Error('no block')
			return znodes.producerIdBlockZnode.encode(block)
		},
	},
	{
		path: /^\/admin\/reassign_partitions$/,
		recode: (data) => admin.reassignPartitionsZnode.encode(admin.reassignPartitionsZnode.decode(data)),
	},
	{
		path: /^\/admin\/preferred_replica_election$/,
		recode: (data) => admin.preferredElectionZnode.encode(admin.preferredElectionZnode.decode(data)),
	},
	{
		path: /^\/isr_change_notification\/isr_change_\d*$/,
		recode: (data) => admin.isrChangeZnode.encode(admin.isrChangeZnode.decode(data)),
	},
	{
		path: /^\/log_dir_event_notification\/log_dir_event_\d*$/,
		recode: (data) => admin.logDirEventZnode.encode(admin.logDirEventZnode.decode(data)),
	},
	{
		path: /^\/consumers\/[^/]+\/offsets\//,
		recode: (data) => admin.consumerOffsetZnode.encode(admin.consumerOffsetZnode.decode(data)),
	},
	{
		path: /^\/delegation_token\/tokens\//,
		recode: (data) => admin.delegationTokenZnode.encode(admin.delegationTokenZnode.decode(data)),
	},
	{
		path: /^\/delegation_token\/token_changes\//,
		recode: (data) => admin.tokenChangeZnode.encode(admin.tokenChangeZnode.decode(data)),
	},
	{
		path: /^\/kafka-acl(-extended\/prefixed)?\/[^/]+\/[^/]+$/,
		recode: (data) => admin.aclZnode.encode(admin.aclZnode.decode(data)),
	},
	{
		path: /^\/kafka-acl-changes\//,
		recode: (data) => admin.aclChangeZnode.encode(admin.aclChangeZnode.decode('literal', data)),
	},
	{
		path: /^\/kafka-acl-extended-changes\//,
		recode: (data) => admin.aclChangeZnode.encode(admin.aclChangeZnode.decode('prefixed', data)),
	},
]

interface Line {
	readonly path: string
	readonly data: string
}

function readDump(file: string): Line[] {
	return readFileSync(new URL(file, FOLDER), 'utf8')
		.split('\n')
		.filter((line) => line.startsWith('/'))
		.map((line) => line.split('\t'))
		.map((fields) => ({ path: fields[0] as string, data: fields.at(-1) as string }))
		.filter(({ data }) => data !== 'null' && data !== 'empty')
}

const files = readdirSync(FOLDER).filter((name) => name.endsWith('.txt') && !name.startsWith('ibp-'))

describe('every znode of the dumps of Apache Kafka 3.9.2 decodes, and encodes to the same bytes', () => {
	for (const file of files) {
		test(file, () => {
			for (const { path, data } of readDump(file)) {
				const codec = CODECS.find((each) => each.path.test(path))
				expect(codec, path).toBeDefined()
				expect(codec?.recode(Buffer.from(data)).toString(), path).toBe(data)
			}
		})
	}
})

test('dumps of older inter-broker versions decode', () => {
	for (const file of ['ibp-2.1.txt', 'ibp-2.4.txt', 'ibp-2.8.txt']) {
		for (const { path, data } of readDump(file)) {
			CODECS.find((codec) => codec.path.test(path))?.recode(Buffer.from(data))
		}
	}
	const topics = readDump('ibp-2.1.txt').filter(({ path }) => /^\/brokers\/topics\/[^/]+$/.test(path))
	expect(topics.length).toBeGreaterThan(0)
	for (const { data } of topics) expect(znodes.topicZnode.decode(Buffer.from(data)).topicId).toBeNull()
})

describe('brokers of older versions', () => {
	const decode = (value: unknown) => znodes.brokerZnode.decode(Buffer.from(JSON.stringify(value)))

	test('version 1 has host and port alone', () => {
		const info = decode({ version: 1, host: 'h', port: 9092, jmx_port: 9999, timestamp: '2233345666' })
		expect(info.endpoints).toEqual([{ listener: 'PLAINTEXT', securityProtocol: 'PLAINTEXT', host: 'h', port: 9092 }])
		expect(info.jmxPort).toBe(9999)
	})

	test('version 2 names endpoints by protocol', () => {
		const info = decode({ version: 2, endpoints: ['SSL://h:9093'], host: null, port: -1, timestamp: '1' })
		expect(info.endpoints[0]).toEqual({ listener: 'SSL', securityProtocol: 'SSL', host: 'h', port: 9093 })
	})

	test('version 4 maps listeners to protocols and knows IPv6', () => {
		const info = decode({
			version: 4,
			endpoints: ['INTERNAL://[::1]:9092'],
			listener_security_protocol_map: { INTERNAL: 'SASL_SSL' },
			rack: 'r',
		})
		expect(info).toMatchObject({ rack: 'r', endpoints: [{ securityProtocol: 'SASL_SSL', host: '::1' }] })
	})

	test('a broker without a plaintext endpoint has no host', () => {
		const endpoints = [{ listener: 'SSL', securityProtocol: 'SSL', host: '::1', port: 1 }]
		const bytes = znodes.brokerZnode.encode({ endpoints, rack: null, jmxPort: -1, timestamp: 5, features: new Map() })
		expect(JSON.parse(bytes.toString())).toEqual({
			features: {},
			listener_security_protocol_map: { SSL: 'SSL' },
			endpoints: ['SSL://[::1]:1'],
			jmx_port: -1,
			port: -1,
			host: null,
			version: 5,
			timestamp: '5',
		})
	})
})

test('the sanitizer is Java URL encoding with %20 and %2A', () => {
	expect(znodes.sanitize('ann marie')).toBe('ann%20marie')
	expect(znodes.sanitize('*')).toBe('%2A')
	expect(znodes.sanitize("~!'()")).toBe('%7E%21%27%28%29')
	expect(znodes.sanitize('a.b-c_d')).toBe('a.b-c_d')
	expect(znodes.sanitize('user:ü')).toBe('user%3A%C3%BC')
	expect(znodes.sanitize('\ud800')).toBe('%3F')
	for (const name of ['', 'a b', '%', 'CN=x,O=y', '<default>', 'ü*~']) {
		expect(znodes.desanitize(znodes.sanitize(name))).toBe(name)
	}
	expect(znodes.configZnode.entityPath('users', null)).toBe('users/<default>')
	expect(znodes.configZnode.userClientPath('ann marie', null)).toBe('users/ann%20marie/clients/<default>')
})

test('a recovering leader shows between version and leader epoch, as Kafka writes it', () => {
	const state = { leader: 1, leaderEpoch: 2, controllerEpoch: 3, isr: [1], leaderRecoveryState: 1 }
	expect(znodes.partitionStateZnode.encode(state).toString()).toBe(
		'{"controller_epoch":3,"leader":1,"version":1,"leader_recovery_state":1,"leader_epoch":2,"isr":[1]}',
	)
	expect(znodes.partitionStateZnode.decode(znodes.partitionStateZnode.encode(state))).toEqual(state)
})

test('change notifications of version 1 name the entity by type and name', () => {
	const data = Buffer.from('{"version":1,"entity_type":"topics","entity_name":"T"}')
	expect(znodes.configChangeZnode.decode(data)).toBe('topics/T')
})

test('what fits no version is a format error that quotes it', () => {
	for (const data of [null, Buffer.from(''), Buffer.from('[]'), Buffer.from('{"version":1}'), Buffer.from('{')]) {
		expect(() => znodes.topicZnode.decode(data)).toThrow(ZnodeFormatError)
		expect(() => znodes.partitionStateZnode.decode(data)).toThrow(ZnodeFormatError)
	}
	expect(() => znodes.controllerEpochZnode.decode(Buffer.from('x'))).toThrow(ZnodeFormatError)
	expect(znodes.configZnode.decode(null)).toEqual(new Map())
	expect(znodes.producerIdBlockZnode.decode(null)).toBeNull()
})
