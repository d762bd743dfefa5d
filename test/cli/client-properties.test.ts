import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readClientProperties } from '../../src/cli/client-properties.js'

let folder = ''
beforeAll(() => {
	folder = mkdtempSync(join(tmpdir(), 'kcli-properties-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string, content: string | Buffer): string => {
	const path = join(folder, name)
	writeFileSync(path, content)
	return path
}
const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'

describe('client properties', () => {
	it('mean the same by librdkafka’s names and by Java’s', () => {
		const ca = file('ca.pem', PEM)
		const rdkafka = readClientProperties(
			[
				'metadata.broker.list=a:1',
				'security.protocol=sasl_ssl',
				'sasl.mechanisms=SCRAM-SHA-512',
				'sasl.username=u',
				'sasl.password=p=1',
				`ssl.ca.location=${ca}`,
				'socket.timeout.ms=5000',
				'message.timeout.ms=7000',
				'queue.buffering.max.ms=3',
			],
			null,
		)
		const jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p=1";'
		const java = readClientProperties(
			[
				'bootstrap.servers=a:1',
				'security.protocol=SASL_SSL',
				'sasl.mechanism=SCRAM-SHA-512',
				`sasl.jaas.config=${jaas}`,
				`ssl.truststore.location=${ca}`,
				'ssl.truststore.type=PEM',
				'request.timeout.ms=5000',
				'delivery.timeout.ms=7000',
				'linger.ms=3',
			],
			null,
		)
		expect(java).toEqual(rdkafka)
		expect(java).toMatchObject({
			bootstrap: 'a:1',
			sasl: { mechanism: 'SCRAM-SHA-512', username: 'u', password: 'p=1' },
			tls: { ca: PEM },
			requestTimeoutMs: 5000,
			deliveryTimeoutMs: 7000,
			lingerMs: 3,
		})
	})

	it('-X comes before the file; tuning of other clients is taken and has no effect', () => {
		const path = file('client.properties', '# mine\nclient.id=file\nretry.backoff.ms = 20\nmax.poll.records=10\n')
		expect(readClientProperties(['client.id=flag'], path)).toMatchObject({
			clientId: 'flag',
			retryBackoffMs: 20,
			tls: null,
			sasl: null,
		})
	})

	it('turn host checks and verification off only when asked', () => {
		expect(readClientProperties(['security.protocol=SSL'], null).tls).toEqual({})
		expect(readClientProperties(['security.protocol=SSL', 'ssl.endpoint.identification.algorithm='], null).tls).toEqual(
			{ verifyHost: false },
		)
		expect(
			readClientProperties(['security.protocol=SSL', 'ssl.endpoint.identification.algorithm=https'], null).tls,
		).toEqual({})
		expect(
			readClientProperties(['security.protocol=SSL', 'enable.ssl.certificate.verification=false'], null).tls,
		).toEqual({ verify: false })
	})

	it('take a PEM or PKCS12 keystore by its content', () => {
		const pem = file('store.pem', PEM)
		expect(readClientProperties(['security.protocol=SSL', `ssl.keystore.location=${pem}`], null).tls).toEqual({
			cert: PEM,
			key: PEM,
		})
		const pkcs12 = file('store.p12', Buffer.from([0x30, 0x82, 1, 2, 3]))
		expect(
			readClientProperties(
				['security.protocol=SSL', `ssl.keystore.location=${pkcs12}`, 'ssl.keystore.password=s'],
				null,
			).tls,
		).toEqual({ pkcs12: Buffer.from([0x30, 0x82, 1, 2, 3]), passphrase: 's' })
	})

	it.each<[string[], RegExp]>([
		[['security.protcol=SSL'], /no client property 'security.protcol'/],
		[['security.protocol=TLS'], /PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL/],
		[['sasl.username=u'], /needs security.protocol/],
		[['ssl.ca.location=x'], /needs security.protocol/],
		[['security.protocol=SASL_SSL'], /needs sasl.mechanism/],
		[['security.protocol=SASL_SSL', 'sasl.mechanism=GSSAPI'], /GSSAPI is not supported/],
		[['security.protocol=SASL_SSL', 'sasl.mechanism=PLAIN'], /needs sasl.username/],
		[
			['security.protocol=SASL_SSL', 'sasl.mechanism=PLAIN', 'sasl.jaas.config=com.sun.Krb5LoginModule required;'],
			/other than PlainLoginModule/,
		],
		[['sasl.kerberos.service.name=kafka'], /Kerberos/],
		[['ssl.cipher.suites=x'], /ciphers cannot be chosen/],
		[['transactional.id=t'], /transactions/],
		[['security.protocol=SSL', 'ssl.ca.location=/nowhere/ca.pem'], /ssl.ca.location: .* cannot be read: ENOENT/],
		[['request.timeout.ms=soon'], /request.timeout.ms wants a number/],
		[['nonsense'], /key=value/],
	])('%j is refused with exit 2', (pairs, message) => {
		expect(() => readClientProperties(pairs, null)).toThrow(message)
		expect(() => readClientProperties(pairs, null)).toThrow(expect.objectContaining({ exitCode: 2 }))
	})

	it('a JKS store, and a PKCS12 truststore, are refused with the command that helps', () => {
		const jks = file('store.jks', Buffer.from([0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2]))
		const p12 = file('trust.p12', Buffer.from([0x30, 0x82, 1, 2]))
		const hintOf = (pair: string): string | null => {
			try {
				readClientProperties(['security.protocol=SSL', pair], null)
				return null
			} catch (error) {
				return (error as { hint: string | null }).hint
			}
		}
		expect(hintOf(`ssl.keystore.location=${jks}`)).toMatch(/keytool -importkeystore/)
		expect(hintOf(`ssl.truststore.location=${p12}`)).toMatch(/openssl pkcs12/)
	})
})
