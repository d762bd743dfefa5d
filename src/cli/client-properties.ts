/**
 * Client properties by librdkafka's names and by Java's, from `-X key=value` and `--command-config FILE`, as settings of
 * ours. Keys that mean nothing to a command line tool are taken and ignored; keys that ask for what we cannot do are
 * refused, since leaving them out would be unsafe; unknown ones are refused with close matches.
 */

import { readFileSync } from 'node:fs'
import { parseProperties } from '../base/properties.js'
import { SASL_MECHANISMS, type SaslMechanism, type SaslSettings } from '../client/sasl.js'
import type { TlsOptions } from '../runtime/ports.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { type CliError, usageError } from './errors.js'
import { durationMs, parsePair, sizeBytes } from './parse.js'

export interface ClientProperties {
	readonly bootstrap: string | null
	readonly clientId: string | null
	readonly tls: TlsOptions | null
	readonly sasl: SaslSettings | null
	readonly connectTimeoutMs: number | null
	readonly requestTimeoutMs: number | null
	readonly retryBackoffMs: number | null
	readonly retryBackoffMaxMs: number | null
	readonly lingerMs: number | null
	readonly batchBytes: number | null
	readonly bufferBytes: number | null
	readonly deliveryTimeoutMs: number | null
	readonly compressionLevel: number | null
	readonly fetchWaitMs: number | null
	readonly fetchBytesMin: number | null
	readonly fetchBytesMax: number | null
	readonly partitionBytesMax: number | null
	readonly sessionTimeoutMs: number | null
	readonly heartbeatMs: number | null
	readonly rebalanceTimeoutMs: number | null
	readonly instanceId: string | null
	readonly rack: string | null
}

/** What each key sets: both spellings of one thing stand in one row. */
const KEYS = {
	bootstrap: ['bootstrap.servers', 'metadata.broker.list'],
	clientId: ['client.id'],
	protocol: ['security.protocol'],
	mechanism: ['sasl.mechanism', 'sasl.mechanisms'],
	username: ['sasl.username'],
	password: ['sasl.password'],
	jaas: ['sasl.jaas.config'],
	caFile: ['ssl.ca.location'],
	caText: ['ssl.ca.pem', 'ssl.truststore.certificates'],
	certFile: ['ssl.certificate.location'],
	certText: ['ssl.certificate.pem', 'ssl.keystore.certificate.chain'],
	keyFile: ['ssl.key.location'],
	keyText: ['ssl.key.pem', 'ssl.keystore.key'],
	keyPassword: ['ssl.key.password'],
	trustFile: ['ssl.truststore.location'],
	trustType: ['ssl.truststore.type'],
	trustPassword: ['ssl.truststore.password'],
	storeFile: ['ssl.keystore.location'],
	storeType: ['ssl.keystore.type'],
	storePassword: ['ssl.keystore.password'],
	hostCheck: ['ssl.endpoint.identification.algorithm'],
	verify: ['enable.ssl.certificate.verification'],
	serverName: ['kcli.tls.server.name'],
	connectTimeout: ['socket.connection.setup.timeout.ms'],
	requestTimeout: ['request.timeout.ms', 'socket.timeout.ms'],
	retryBackoff: ['retry.backoff.ms'],
	retryBackoffMax: ['retry.backoff.max.ms'],
	linger: ['linger.ms', 'queue.buffering.max.ms'],
	batchBytes: ['batch.size'],
	bufferBytes: ['buffer.memory'],
	bufferKbytes: ['queue.buffering.max.kbytes'],
	delivery: ['delivery.timeout.ms', 'message.timeout.ms'],
	level: ['compression.level', 'compression.gzip.level', 'compression.zstd.level', 'compression.lz4.level'],
	fetchWait: ['fetch.max.wait.ms', 'fetch.wait.max.ms'],
	fetchMin: ['fetch.min.bytes'],
	fetchMax: ['fetch.max.bytes'],
	partitionMax: ['max.partition.fetch.bytes', 'fetch.message.max.bytes'],
	session: ['session.timeout.ms'],
	heartbeat: ['heartbeat.interval.ms'],
	rebalance: ['max.poll.interval.ms'],
	instance: ['group.instance.id'],
	rack: ['client.rack'],
} as const

type Name = keyof typeof KEYS

const NAME_OF = new Map<string, Name>(
	Object.entries(KEYS).flatMap(([name, keys]) => keys.map((key) => [key, name as Name] as const)),
)

/** Taken without effect: tuning of other clients, and what flags say. */
const IGNORED: ReadonlySet<string> = new Set([
	'topic.metadata.refresh.interval.ms',
	'metadata.max.age.ms',
	'metadata.recovery.strategy',
	'connections.max.idle.ms',
	'socket.keepalive.enable',
	'socket.nagle.disable',
	'receive.buffer.bytes',
	'send.buffer.bytes',
	'reconnect.backoff.ms',
	'reconnect.backoff.max.ms',
	'api.version.request',
	'api.version.request.timeout.ms',
	'broker.version.fallback',
	'broker.address.family',
	'client.dns.lookup',
	'debug',
	'log_level',
	'statistics.interval.ms',
	'key.serializer',
	'value.serializer',
	'key.deserializer',
	'value.deserializer',
	'enable.auto.commit',
	'auto.commit.interval.ms',
	'auto.offset.reset',
	'isolation.level',
	'acks',
	'request.required.acks',
	'enable.idempotence',
	'compression.type',
	'compression.codec',
	'partitioner',
	'retries',
	'message.send.max.retries',
	'max.in.flight.requests.per.connection',
	'default.api.timeout.ms',
	'max.poll.records',
	'check.crcs',
	'group.id',
	'partition.assignment.strategy',
	'ssl.protocol',
	'ssl.enabled.protocols',
	'enable.metrics.push',
	'socket.connection.setup.timeout.max.ms',
])

/** Asked for what is not there. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
	[/^sasl\.kerberos\./, 'GSSAPI (Kerberos) is not supported'],
	[/^sasl\.oauthbearer\.|^sasl\.login\./, 'OAUTHBEARER is not supported'],
	[/^sasl\.client\.callback\.handler\.class$/, 'Java classes cannot be loaded'],
	[/^ssl\.(?:provider|engine\.factory\.class|engine\.location)$/, 'it names a Java or OpenSSL provider'],
	[/^ssl\.crl\.location$/, 'revocation lists are not checked'],
	[/^ssl\.(?:cipher\.suites|curves\.list|sigalgs\.list)$/, 'ciphers cannot be chosen'],
	[/^transactional\.id$/, 'transactions are not produced'],
	[/^group\.protocol$/, 'only the classic group protocol is spoken'],
	[/^plugin\.library\.paths$/, 'plugins cannot be loaded'],
]

/** All `-X` texts over the file's. Throws usage errors that name the key and where it came from. */
export function readClientProperties(pairs: readonly string[], file: string | null): ClientProperties {
	const given = new Map<Name, string>()
	if (file !== null) {
		for (const [key, value] of parseProperties(readText(file, '--command-config'))) take(given, key, value, file)
	}
	for (const pair of pairs) {
		const [key, value] = parsePair(pair, '-X')
		take(given, key, value, '-X')
	}
	return settingsOf(given)
}

function take(given: Map<Name, string>, key: string, value: string, origin: string): void {
	const name = NAME_OF.get(key)
	if (name !== undefined) {
		given.set(name, value)
		return
	}
	if (IGNORED.has(key)) return
	const refusal = REFUSED.find(([pattern]) => pattern.test(key))
	if (refusal !== undefined) throw usageError(`${origin}: ${key}: ${refusal[1]}`)
	const hint = didYouMean(closeMatches(key, [...NAME_OF.keys(), ...IGNORED]))
	throw usageError(`${origin}: there is no client property '${key}'`, hint)
}

function settingsOf(given: ReadonlyMap<Name, string>): ClientProperties {
	const text = (name: Name): string | null => given.get(name) ?? null
	const ms = (name: Name): number | null => numberOf(given, name, (value) => plain(value) ?? durationMs(value))
	const bytes = (name: Name): number | null => numberOf(given, name, sizeBytes)
	const kbytes = bytes('bufferKbytes')
	const protocol = protocolOf(given)
	return {
		bootstrap: text('bootstrap'),
		clientId: text('clientId'),
		tls: protocol.endsWith('SSL') ? tlsOf(given) : null,
		sasl: protocol.startsWith('SASL') ? saslOf(given) : null,
		connectTimeoutMs: ms('connectTimeout'),
		requestTimeoutMs: ms('requestTimeout'),
		retryBackoffMs: ms('retryBackoff'),
		retryBackoffMaxMs: ms('retryBackoffMax'),
		lingerMs: ms('linger'),
		batchBytes: bytes('batchBytes'),
		bufferBytes: bytes('bufferBytes') ?? (kbytes === null ? null : kbytes * 1024),
		deliveryTimeoutMs: ms('delivery'),
		compressionLevel: numberOf(given, 'level', plain),
		fetchWaitMs: ms('fetchWait'),
		fetchBytesMin: bytes('fetchMin'),
		fetchBytesMax: bytes('fetchMax'),
		partitionBytesMax: bytes('partitionMax'),
		sessionTimeoutMs: ms('session'),
		heartbeatMs: ms('heartbeat'),
		rebalanceTimeoutMs: ms('rebalance'),
		instanceId: text('instance'),
		rack: text('rack'),
	}
}

/** `security.protocol`; without it what else was given decides. */
function protocolOf(given: ReadonlyMap<Name, string>): string {
	const text = given.get('protocol')?.toUpperCase()
	if (text !== undefined) {
		if (!['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'].includes(text)) {
			throw usageError(`security.protocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, not '${text}'`)
		}
		return text
	}
	for (const name of ['mechanism', 'username', 'jaas'] as const) {
		if (given.has(name)) throw usageError(`${KEYS[name][0]} needs security.protocol: SASL_SSL or SASL_PLAINTEXT`)
	}
	const tlsName = (['caFile', 'caText', 'trustFile', 'certFile', 'storeFile'] as const).find((name) => given.has(name))
	if (tlsName !== undefined) throw usageError(`${KEYS[tlsName][0]} needs security.protocol: SSL or SASL_SSL`)
	return 'PLAINTEXT'
}

function saslOf(given: ReadonlyMap<Name, string>): SaslSettings {
	const mechanism = given.get('mechanism')?.toUpperCase()
	if (mechanism === undefined)
		throw usageError('SASL needs sasl.mechanism', `It is one of ${SASL_MECHANISMS.join(', ')}.`)
	if (!(SASL_MECHANISMS as readonly string[]).includes(mechanism)) {
		throw usageError(`sasl.mechanism ${mechanism} is not supported`, `It is one of ${SASL_MECHANISMS.join(', ')}.`)
	}
	const jaas = given.get('jaas')
	const login = jaas === undefined ? null : readJaas(jaas)
	const username = given.get('username') ?? login?.username
	const password = given.get('password') ?? login?.password
	if (username === undefined || password === undefined) {
		throw usageError('SASL needs sasl.username and sasl.password, or sasl.jaas.config')
	}
	return { mechanism: mechanism as SaslMechanism, username, password }
}

/** User and password of `…LoginModule required username="u" password="p";`. */
function readJaas(text: string): { username: string; password: string } {
	const option = (name: string): string | undefined => {
		const match = new RegExp(
			`\\b${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|'((?:[^'\\\\]|\\\\.)*)'|([^\\s;"']+))`,
		).exec(text)
		return (match?.[1] ?? match?.[2] ?? match?.[3])?.replace(/\\(.)/g, '$1')
	}
	if (!/(?:Plain|Scram)LoginModule\b/.test(text)) {
		throw usageError('sasl.jaas.config names a login module other than PlainLoginModule and ScramLoginModule')
	}
	const username = option('username')
	const password = option('password')
	if (username === undefined || password === undefined)
		throw usageError('sasl.jaas.config has no username and password')
	return { username, password }
}

function tlsOf(given: ReadonlyMap<Name, string>): TlsOptions {
	const hostCheck = given.get('hostCheck')
	const ca = given.get('caText') ?? fileOf(given, 'caFile') ?? trustOf(given)
	const store = given.get('storeFile')
	const isPkcs12 = store !== undefined && storeKind(store, given.get('storeType')) === 'PKCS12'
	const pem = store !== undefined && !isPkcs12 ? readText(store, 'ssl.keystore.location') : null
	const cert = given.get('certText') ?? fileOf(given, 'certFile') ?? pem
	const key = given.get('keyText') ?? fileOf(given, 'keyFile') ?? pem
	const passphrase = given.get('keyPassword') ?? given.get('storePassword')
	const serverName = given.get('serverName')
	return {
		...(ca === null ? {} : { ca }),
		...(cert === null ? {} : { cert }),
		...(key === null ? {} : { key }),
		...(isPkcs12 ? { pkcs12: readBytes(store, 'ssl.keystore.location') } : {}),
		...(passphrase === undefined ? {} : { passphrase }),
		...(serverName === undefined ? {} : { serverName }),
		...(given.get('verify')?.toLowerCase() === 'false' ? { verify: false } : {}),
		...(hostCheck !== undefined && hostCheck.toLowerCase() !== 'https' ? { verifyHost: false } : {}),
	}
}

function trustOf(given: ReadonlyMap<Name, string>): string | null {
	const path = given.get('trustFile')
	if (path === undefined) return null
	if (storeKind(path, given.get('trustType')) === 'PEM') return readText(path, 'ssl.truststore.location')
	throw usageError(
		`${path}: a PKCS12 truststore cannot be read by Node`,
		`Make it PEM: openssl pkcs12 -in ${path} -nokeys -out ca.pem, and give ssl.truststore.type=PEM or ssl.ca.location.`,
	)
}

/** By the type that was given, else by the file's first bytes. */
function storeKind(path: string, type: string | undefined): 'PEM' | 'PKCS12' {
	const bytes = readBytes(path, path)
	const kind =
		type?.toUpperCase() ??
		(bytes.includes('-----BEGIN') ? 'PEM' : bytes.readUInt32BE(0) === 0xfeedfeed ? 'JKS' : 'PKCS12')
	if (kind === 'PEM' || kind === 'PKCS12') return kind
	// Java's own tools write PKCS12 into files that are called JKS.
	if (kind === 'JKS' && bytes.readUInt32BE(0) !== 0xfeedfeed) return 'PKCS12'
	throw usageError(
		`${path}: ${kind} stores cannot be read`,
		`Make it PKCS12: keytool -importkeystore -srckeystore ${path} -destkeystore store.p12 -deststoretype PKCS12`,
	)
}

function fileOf(given: ReadonlyMap<Name, string>, name: Name): string | null {
	const path = given.get(name)
	return path === undefined ? null : readText(path, KEYS[name][0])
}

function readText(path: string, what: string): string {
	return readBytes(path, what).toString('utf8')
}

function readBytes(path: string, what: string): Buffer {
	try {
		return readFileSync(path)
	} catch (error) {
		throw usageError(`${what}: ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
	}
}

function plain(text: string): number | null {
	return /^-?\d+$/.test(text) ? Number(text) : null
}

function numberOf(given: ReadonlyMap<Name, string>, name: Name, read: (text: string) => number | null): number | null {
	const text = given.get(name)
	if (text === undefined) return null
	const value = read(text.trim())
	if (value === null) throw badNumber(KEYS[name][0], text)
	return value
}

function badNumber(key: string, text: string): CliError {
	return usageError(`${key} wants a number, not '${text}'`)
}
