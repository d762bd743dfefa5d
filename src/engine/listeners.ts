/** Listeners as the configuration writes them: `NAME://host:port`, and the protocol that each name stands for. */

import type { BrokerEndpoint } from '../zk/znodes.js'
import { type BrokerConfig, ConfigError } from './config.js'

export interface ListenerSpec {
	readonly name: string
	readonly protocol: string
	/** '' binds all addresses. */
	readonly host: string
	/** 0: any. */
	readonly port: number
}

const PATTERN = /^([A-Za-z0-9_.-]+):\/\/(?:\[([0-9a-fA-F:.%]*)\]|([^:/]*)):(\d{1,5})$/

/** Parses one listener; throws {@link ConfigError} against `key`. */
function parseOne(key: string, text: string, protocols: ReadonlyMap<string, string>): ListenerSpec {
	const match = PATTERN.exec(text)
	const problem = (what: string): never => {
		throw new ConfigError(key, text, what)
	}
	if (match === null) return problem('is not NAME://host:port')
	const name = (match[1] as string).toUpperCase()
	const port = Number(match[4])
	if (port > 65_535) problem(`port ${port} is above 65535`)
	const protocol = protocols.get(name)
	if (protocol === undefined) return problem(`${name} is not in listener.security.protocol.map`)
	return { name, protocol, host: match[2] ?? match[3] ?? '', port }
}

function protocolMap(config: BrokerConfig): Map<string, string> {
	const key = 'listener.security.protocol.map'
	const map = new Map<string, string>()
	for (const pair of config.list(key)) {
		const [name, protocol] = pair.split(':')
		if (name === undefined || protocol === undefined) throw new ConfigError(key, pair, 'is not NAME:PROTOCOL')
		map.set(name.trim().toUpperCase(), protocol.trim().toUpperCase())
	}
	return map
}

/** The sockets to bind. Throws {@link ConfigError} on names or ports that clash, and on protocols that are not served yet. */
export function parseListeners(config: BrokerConfig): ListenerSpec[] {
	const protocols = protocolMap(config)
	const specs = config.list('listeners').map((text) => parseOne('listeners', text, protocols))
	if (specs.length === 0) throw new ConfigError('listeners', '', 'at least one listener is needed')
	const names = new Set<string>()
	const ports = new Set<number>()
	for (const spec of specs) {
		if (names.has(spec.name)) throw new ConfigError('listeners', spec.name, 'is named twice')
		if (spec.port !== 0 && ports.has(spec.port)) throw new ConfigError('listeners', String(spec.port), 'is bound twice')
		names.add(spec.name)
		ports.add(spec.port)
		if (spec.protocol !== 'PLAINTEXT') {
			const text = `${spec.protocol} is not served yet; only PLAINTEXT listeners can be started`
			throw new ConfigError('listeners', spec.name, text)
		}
	}
	return specs
}

/** Name of the listener by which brokers reach one another. */
export function interBrokerListener(config: BrokerConfig, specs: readonly ListenerSpec[]): string {
	const named = config.text('inter.broker.listener.name')
	const protocol = config.string('security.inter.broker.protocol').toUpperCase()
	const found =
		named === null
			? specs.find((spec) => spec.protocol === protocol)
			: specs.find((spec) => spec.name === named.toUpperCase())
	if (found === undefined) {
		const key = named === null ? 'security.inter.broker.protocol' : 'inter.broker.listener.name'
		throw new ConfigError(key, named ?? protocol, 'no listener has it')
	}
	return found.name
}

/**
 * What is advertised for the bound sockets, in their order: `advertised.listeners` where set, else the listener itself
 * (`fallbackHost` when it binds all addresses), with the real port where 0 was asked for.
 */
export function advertisedEndpoints(
	config: BrokerConfig,
	specs: readonly ListenerSpec[],
	ports: ReadonlyMap<string, number>,
	fallbackHost: string,
): BrokerEndpoint[] {
	const key = 'advertised.listeners'
	const given = config.list(key).map((text) => parseOne(key, text, protocolMap(config)))
	for (const { name, host } of given) {
		if (host === '0.0.0.0' || host === '::') throw new ConfigError(key, host, 'clients cannot dial it')
		if (!specs.some((spec) => spec.name === name)) throw new ConfigError(key, name, 'is not among the listeners')
	}
	const advertised = given.length > 0 ? given : specs
	return advertised.map(({ name, protocol, host, port }) => ({
		listener: name,
		securityProtocol: protocol,
		host: host === '' || host === '0.0.0.0' || host === '::' ? fallbackHost : host,
		port: port === 0 ? (ports.get(name) ?? 0) : port,
	}))
}
