/** `kcli produce` and `kcli consume` against Apache Kafka 3.9 (ZooKeeper) and 4.1 (KRaft): plain, TLS, SASL. */

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BrokerConnection } from '../../src/client/connection.js'
import { findCoordinator } from '../../src/protocol/messages/group.js'
import { addPartitionsToTxn, endTxn, initProducerId } from '../../src/protocol/messages/transactions.js'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { type Certificates, makeCertificates } from '../helpers/certificates.js'
import { freePorts } from '../helpers/free-port.js'
import { CODECS, HAS_JAVA, HAS_JAVA4, javaTool, peers } from '../helpers/peers.js'
import { CLI, Cleanup, isInstalled, kcli, run } from '../helpers/processes.js'
import { batchOf, send } from '../helpers/requests.js'
import { until } from '../helpers/until.js'

/** Times of records: young enough for retention, which looks at them. */
const recentMs = Date.now() - 60_000

const LISTENERS = ['PLAINTEXT', 'SASL_PLAINTEXT', 'SASL_SSL', 'SSL'] as const

/** Broker settings of all listeners, in the form of a properties file's lines. */
function settingsOf(
	ports: Readonly<Record<string, number>>,
	certificates: Certificates,
	controller: string | null,
): string[] {
	const listeners = LISTENERS.map((name) => `${name}://127.0.0.1:${ports[name]}`)
	const login = 'org.apache.kafka.common.security'
	return [
		`listeners=${[...listeners, ...(controller === null ? [] : [controller])].join(',')}`,
		`advertised.listeners=${listeners.join(',')}`,
		`listener.security.protocol.map=${['CONTROLLER:PLAINTEXT', ...LISTENERS.map((name) => `${name}:${name}`)].join(',')}`,
		'listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN',
		'listener.name.sasl_ssl.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512',
		`listener.name.sasl_plaintext.plain.sasl.jaas.config=${login}.plain.PlainLoginModule required user_alice="alice-secret";`,
		`listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=${login}.scram.ScramLoginModule required;`,
		`listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=${login}.scram.ScramLoginModule required;`,
		'ssl.keystore.type=PEM',
		`ssl.keystore.location=${certificates.serverStore}`,
		'ssl.truststore.type=PEM',
		`ssl.truststore.location=${certificates.ca}`,
		'listener.name.ssl.ssl.client.auth=required',
	]
}

const VERSIONS = [
	{ label: 'Kafka 3.9', tool: 'tool', isHere: HAS_JAVA },
	{ label: 'Kafka 4.1', tool: 'tool4', isHere: HAS_JAVA4 },
] as const

for (const { label, tool, isHere } of VERSIONS) {
	describe.skipIf(!isHere || !isInstalled('openssl'))(`kcli on ${label}`, () => {
		const cleanup = new Cleanup()
		let certificates: Certificates
		let folder = ''
		const ports: Record<string, number> = {}
		const address = (listener: string): string => `127.0.0.1:${ports[listener]}`
		const topic = async (name: string, partitions = 1): Promise<string> => {
			const at = ['-b', address('PLAINTEXT')]
			const made = await kcli(['topic', 'create', name, '-p', String(partitions), '-r', '1', ...at])
			expect(made.stderr).toBe('')
			return name
		}
		const produce = (args: readonly string[], input: string | Buffer) =>
			kcli(['produce', '-b', address('PLAINTEXT'), ...args], { input })
		const consume = (...args: string[]) => kcli(['consume', '-b', address('PLAINTEXT'), '-q', ...args])
		const lines = (text: string): string[] => text.split('\n').slice(0, -1)

		beforeAll(async () => {
			folder = cleanup.folder()
			certificates = makeCertificates(folder)
			const free = await freePorts(5)
			for (const [i, name] of LISTENERS.entries()) ports[name] = free[i] as number
			const start = async (...args: string[]): Promise<void> => {
				cleanup.add(() => peers(['stop', args[1] as string]))
				const done = await peers(args)
				if (done.code !== 0) throw new Error(done.stderr)
			}
			const plain = String(ports['PLAINTEXT'])
			if (tool === 'tool') {
				const zookeeper = `127.0.0.1:${free[4]}`
				await start('zk', join(folder, 'zk'), String(free[4]))
				await start('broker', join(folder, 'kafka'), '1', plain, zookeeper, ...settingsOf(ports, certificates, null))
			} else {
				const controller = `CONTROLLER://127.0.0.1:${Number(plain) + 1000}`
				await start('kraft', join(folder, 'kafka'), plain, ...settingsOf(ports, certificates, controller))
			}
			// One mechanism a call: KRaft takes no two changes of one user together.
			for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-512']) {
				const bob = [
					'--entity-type',
					'users',
					'--entity-name',
					'bob',
					'--add-config',
					`${mechanism}=[password=bob-secret]`,
				]
				const made = await javaTool(tool, 'configs', ['--bootstrap-server', address('PLAINTEXT'), '--alter', ...bob])
				expect(made.code, made.stderr).toBe(0)
			}
			await topic('secure')
			expect((await produce(['secure'], 'hello\n')).stderr).toBe('')
		})
		afterAll(() => cleanup.run())

		it.each(CODECS)('records go in with %s and come out equal, by kcli and by the Java consumer', async (codec) => {
			const name = await topic(`codec-${codec}`)
			const text = Array.from({ length: 3000 }, (_, i) => `${codec} line ${i} ${'x'.repeat(i % 50)}`)
			expect((await produce([name, '-z', codec], text.join('\n'))).stderr).toBe('')
			expect(lines((await consume(name, '-e')).stdout)).toEqual(text)
			const java = await javaTool(tool, 'console-consumer', [
				'--bootstrap-server',
				address('PLAINTEXT'),
				'--topic',
				name,
				'--from-beginning',
				'--max-messages',
				'3000',
			])
			expect(lines(java.stdout)).toEqual(text)
		})

		it('what consume -J prints goes in again byte for byte', async () => {
			const name = await topic('json')
			const copy = await topic('json-copy')
			const rows = Array.from({ length: 200 }, (_, i) => {
				const bytes = Buffer.from(Array.from({ length: i % 40 }, (_each, at) => (i * 31 + at * 17) & 0xff))
				return JSON.stringify({
					key: i % 3 === 0 ? null : bytes.toString('base64'),
					keyEncoding: 'base64',
					value: i % 5 === 0 ? null : bytes.toString('base64'),
					valueEncoding: 'base64',
					headers: [
						{ key: 'h', value: null },
						{ key: 'h', value: bytes.toString('base64'), encoding: 'base64' },
					],
					timestamp: recentMs + i,
				})
			})
			expect((await produce([name, '--input', 'json', '--strict'], rows.join('\n'))).stderr).toBe('')
			const first = await consume(name, '-e', '-J')
			expect((await produce([copy, '--input', 'json', '--strict'], first.stdout)).stderr).toBe('')
			expect((await consume(copy, '-e', '-J')).stdout.replaceAll('"json-copy"', '"json"')).toBe(first.stdout)
			expect(lines(first.stdout).length).toBe(200)
		})

		it('-g G -c 1 four times gives four records in order; offsets, ranges, times and --tail', async () => {
			const name = await topic('offsets')

			for (const [i, value] of ['a', 'b', 'c', 'd', 'e'].entries()) {
				expect((await produce([name, '--timestamp', String(recentMs + i)], value)).stderr).toBe('')
			}
			const found: string[] = []
			for (let i = 0; i < 4; i++) found.push((await consume(name, '-g', 'g', '-c', '1')).stdout)
			expect(found).toEqual(['a\n', 'b\n', 'c\n', 'd\n'])
			expect((await consume(name, '-e', '-o', `@${recentMs + 2}`)).stdout).toBe('c\nd\ne\n')
			expect((await consume(name, '-o', '1:3')).stdout).toBe('b\nc\n')
			expect((await consume(name, '--tail', '2')).stdout).toBe('d\ne\n')
			expect((await consume(name, '-e', '-g', 'g')).stdout).toBe('e\n')
		})

		it('keys go where the Java client sends them', async () => {
			const name = await topic('keys', 7)
			const keys = Array.from({ length: 50 }, (_, i) => `key-${i}`)
			await javaTool(
				tool,
				'console-producer',
				[
					'--bootstrap-server',
					address('PLAINTEXT'),
					'--topic',
					name,
					'--property',
					'parse.key=true',
					'--property',
					'key.separator=:',
				],
				keys.map((key) => `${key}:java\n`).join(''),
			)
			expect((await produce([name, '-K', ':'], keys.map((key) => `${key}:kcli`).join('\n'))).stderr).toBe('')
			const where = (by: string) => async (): Promise<string[]> =>
				lines((await consume(name, '-e', '-G', `^${by}$`, '-f', '%k %p\\n')).stdout).sort()
			const java = await where('java')()
			expect(java.length).toBe(50)
			expect(await where('kcli')()).toEqual(java)
		})

		it('a misspelled topic ends at once and is not created', async () => {
			const done = await produce(['secrue'], 'x')
			expect([done.code, done.stderr]).toEqual([1, "kcli: there is no topic 'secrue'\n  did you mean secure?\n"])
		})

		describe('security', () => {
			const read = (listener: string, ...properties: string[]) =>
				kcli(['consume', 'secure', '-b', address(listener), '-q', '-e', ...properties.flatMap((each) => ['-X', each])])

			it('SASL PLAIN by librdkafka’s keys and by Java’s; a wrong password is told, not tried again', async () => {
				const sasl = ['security.protocol=SASL_PLAINTEXT', 'sasl.mechanisms=PLAIN']
				const login = ['sasl.username=alice', 'sasl.password=alice-secret']
				expect((await read('SASL_PLAINTEXT', ...sasl, ...login)).stdout).toBe('hello\n')
				const jaas =
					'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="alice-secret";'
				expect((await read('SASL_PLAINTEXT', ...sasl, jaas)).stdout).toBe('hello\n')
				const wrong = await read('SASL_PLAINTEXT', ...sasl, 'sasl.username=alice', 'sasl.password=wrong')
				expect([wrong.code, wrong.stdout]).toEqual([1, ''])
				expect(wrong.stderr).toMatch(/Authentication failed/)
			})

			it.each(['SCRAM-SHA-256', 'SCRAM-SHA-512'])('SASL_SSL with %s from a Java properties file', async (mechanism) => {
				const path = join(folder, `${mechanism}.properties`)
				const jaas =
					'org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  username="bob" \\\n  password="bob-secret";'
				writeFileSync(
					path,
					`# a client's file\nsecurity.protocol=SASL_SSL\nsasl.mechanism=${mechanism}\nsasl.jaas.config=${jaas}\nssl.truststore.type=PEM\nssl.truststore.location=${certificates.ca}\nssl.endpoint.identification.algorithm=\n`,
				)
				const done = await kcli(['consume', 'secure', '-b', address('SASL_SSL'), '-q', '-e', '--command-config', path])
				expect([done.stderr, done.stdout]).toEqual(['', 'hello\n'])
				const produced = await kcli(['produce', 'secure', '-b', address('SASL_SSL'), '--command-config', path], {
					input: '',
				})
				expect([produced.code, produced.stderr]).toEqual([0, ''])
			})

			it('a wrong SCRAM password and a mechanism that is not offered are told', async () => {
				const tls = [
					'security.protocol=SASL_SSL',
					`ssl.ca.location=${certificates.ca}`,
					'kcli.tls.server.name=localhost',
				]
				const wrong = await read(
					'SASL_SSL',
					...tls,
					'sasl.mechanism=SCRAM-SHA-256',
					'sasl.username=bob',
					'sasl.password=x',
				)
				expect([wrong.code, wrong.stderr.includes('Authentication failed')]).toEqual([1, true])
				const plain = [
					'security.protocol=SASL_PLAINTEXT',
					'sasl.mechanism=SCRAM-SHA-256',
					'sasl.username=alice',
					'sasl.password=x',
				]
				expect((await read('SASL_PLAINTEXT', ...plain)).code).toBe(1)
			})

			it('TLS with a client certificate: PEM with an encrypted key, and PKCS12', async () => {
				const ssl = ['security.protocol=SSL', `ssl.ca.location=${certificates.ca}`, 'kcli.tls.server.name=localhost']
				const pem = [
					`ssl.certificate.location=${certificates.clientCert}`,
					`ssl.key.location=${certificates.clientKey}`,
					`ssl.key.password=${certificates.clientPassword}`,
				]
				const byPem = await read('SSL', ...ssl, ...pem)
				expect([byPem.stderr, byPem.stdout]).toEqual(['', 'hello\n'])
				const store = [
					`ssl.keystore.location=${certificates.clientPkcs12}`,
					`ssl.keystore.password=${certificates.clientPassword}`,
				]
				expect((await read('SSL', ...ssl, ...store)).stdout).toBe('hello\n')
				const without = await read('SSL', ...ssl)
				expect([without.code, without.stdout]).toEqual([1, ''])
			})

			it('a certificate for another host, or of an unknown authority, is refused unless that is asked for', async () => {
				const pem = [
					`ssl.certificate.location=${certificates.clientCert}`,
					`ssl.key.location=${certificates.clientKey}`,
					`ssl.key.password=${certificates.clientPassword}`,
				]
				const otherHost = await read('SSL', 'security.protocol=SSL', `ssl.ca.location=${certificates.ca}`, ...pem)
				expect([otherHost.code, /certificate is not accepted.*ALTNAME/.test(otherHost.stderr)]).toEqual([1, true])
				const unknown = await read('SSL', 'security.protocol=SSL', ...pem)
				expect([unknown.code, /certificate is not accepted/.test(unknown.stderr)]).toEqual([1, true])
				const insecure = await read('SSL', 'security.protocol=SSL', 'enable.ssl.certificate.verification=false', ...pem)
				expect(insecure.stdout).toBe('hello\n')
			})
		})

		it.skipIf(!isInstalled('kcat'))(
			'shares a group with kcat: each reads its partitions, and takes over when the other ends',
			async () => {
				const name = await topic('mixed', 2)
				const start = (command: string, args: readonly string[]) => {
					const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
					cleanup.add(() => child.kill('SIGKILL'))
					const shown = { text: '', errors: '' }
					child.stdout.on('data', (chunk: Buffer) => {
						shown.text += chunk.toString()
					})
					child.stderr.on('data', (chunk: Buffer) => {
						shown.errors += chunk.toString()
					})
					return { child, shown, ended: new Promise((resolve) => child.once('close', resolve)) }
				}
				const fast = ['-X', 'heartbeat.interval.ms=200']
				const ours = start(process.execPath, [CLI, 'consume', name, '-g', 'mixed', '-b', address('PLAINTEXT'), ...fast])
				await until('kcli has both', () => ours.shown.errors.includes('partitions from'), 30_000)
				const theirs = start('kcat', [
					'-b',
					address('PLAINTEXT'),
					...fast,
					'-X',
					'auto.offset.reset=earliest',
					'-u',
					'-G',
					'mixed',
					name,
				])
				await until('kcat has one', () => /assigned.*: mixed \[\d\]/.test(theirs.shown.errors), 30_000)
				await until('kcli has one', () => /reading mixed as mixed: partition \d/.test(ours.shown.errors), 30_000)
				for (const partition of ['0', '1']) await produce([name, '-p', partition], `one-${partition}`)
				await until(
					'each printed one',
					() => ours.shown.text.includes('one') && theirs.shown.text.includes('one'),
					30_000,
				)
				theirs.child.kill('SIGTERM')
				await theirs.ended
				for (const partition of ['0', '1']) await produce([name, '-p', partition], `two-${partition}`)
				await until(
					'kcli has all',
					() => ours.shown.text.includes('two-0') && ours.shown.text.includes('two-1'),
					30_000,
				)
				ours.child.kill('SIGINT')
				expect(await ours.ended).toBe(130)
			},
		)

		it('leaves out what transactions aborted or have not ended, and shows it and the markers when asked', async () => {
			const name = await topic('txn')
			const runtime = nodeRuntime()
			const settings = { clientId: 'test', connectTimeoutMs: 5000, requestTimeoutMs: 20_000 }
			const connection = await BrokerConnection.open(runtime, '127.0.0.1', ports['PLAINTEXT'] as number, settings)
			cleanup.add(() => connection.close())
			/** Writes one record in a transaction of its own; null leaves it open. */
			const transaction = async (id: string, value: string, committed: boolean | null): Promise<void> => {
				const { producerId, producerEpoch } = await until('the coordinator is ready', async () => {
					await connection.request(findCoordinator, { key: id, keyType: 1 }, { atMost: 3 })
					const answer = await connection.request(initProducerId, { transactionalId: id, transactionTimeoutMs: 60_000 })
					return answer.errorCode === 0 ? answer : null
				})
				const added = await until('the partition is in', async () => {
					const answer = await connection.request(
						addPartitionsToTxn,
						{
							v3AndBelowTransactionalId: id,
							v3AndBelowProducerId: Number(producerId),
							v3AndBelowProducerEpoch: producerEpoch,
							v3AndBelowTopics: [{ name, partitions: [0] }],
							transactions: [],
						},
						{ atMost: 3 },
					)
					const code = answer.resultsByTopicV3AndBelow[0]?.resultsByPartition[0]?.partitionErrorCode
					return code === 0 ? answer : null
				})
				expect(added.resultsByTopicV3AndBelow.length).toBe(1)
				const batch = batchOf([value], { producerId, producerEpoch, baseSequence: 0, attributes: 0x10 })
				expect((await send(connection, name, batch, { acks: -1, transactionalId: id })).errorCode).toBe(0)
				if (committed === null) return
				const ended = await connection.request(
					endTxn,
					{ transactionalId: id, producerId, producerEpoch, committed },
					{ atMost: 3 },
				)
				expect(ended.errorCode).toBe(0)
			}
			await transaction('aborts', 'aborted', false)
			await transaction('commits', 'committed', true)
			expect((await produce([name], 'plain')).stderr).toBe('')
			await transaction('open', 'open', null)
			await until('the markers are there', async () => (await consume(name, '-e')).stdout === 'committed\nplain\n')
			expect((await consume(name, '-e', '--isolation', 'uncommitted')).stdout).toBe('aborted\ncommitted\nplain\nopen\n')
			const all = lines((await consume(name, '-e', '-J', '--control', '--isolation', 'uncommitted')).stdout)
			// Markers are written in their own time: how many there are is certain, their place is not.
			const controls = all.filter((line) => (JSON.parse(line) as { control?: boolean }).control === true)
			expect([all.length, controls.length]).toEqual([6, 2])
		})

		it.skipIf(!isInstalled('kcat'))('kcat reads what kcli wrote, and kcli what kcat wrote', async () => {
			const name = await topic('kcat')
			const text = Array.from({ length: 1000 }, (_, i) => `line ${i}`).join('\n')
			expect((await produce([name, '-z', 'zstd'], text)).stderr).toBe('')
			const read = await run('kcat', ['-C', '-b', address('PLAINTEXT'), '-t', name, '-e', '-q'])
			expect(read.stdout).toBe(`${text}\n`)
			const back = await topic('kcat-back')
			await run('kcat', ['-P', '-b', address('PLAINTEXT'), '-t', back, '-z', 'snappy'], { input: text })
			expect((await consume(back, '-e')).stdout).toBe(`${text}\n`)
		})
	})
}
