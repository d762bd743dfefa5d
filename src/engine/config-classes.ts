/**
 * Three classes of keys (`docs/configuration.md`): honoured; of no effect here, since this broker works otherwise (told in
 * one line); refused, since to ignore them would be unsafe.
 */

import { type BrokerConfig, brokerKey, ConfigError } from './config.js'

/** Set, and of no effect: thread counts, socket buffers, preallocation and the like. */
const NO_EFFECT: ReadonlySet<string> = new Set([
	'num.network.threads',
	'num.io.threads',
	'background.threads',
	'queued.max.requests',
	'queued.max.request.bytes',
	'socket.send.buffer.bytes',
	'socket.receive.buffer.bytes',
	'log.preallocate',
	'num.recovery.threads.per.data.dir',
	'num.replica.fetchers',
	'num.replica.alter.log.dirs.threads',
	'replica.socket.receive.buffer.bytes',
	'fetch.purgatory.purge.interval.requests',
	'producer.purgatory.purge.interval.requests',
	'delete.records.purgatory.purge.interval.requests',
	'offsets.load.buffer.size',
	'transaction.state.log.load.buffer.size',
	'log.dir.failure.timeout.ms',
	'log.message.format.version',
	'max.request.partition.size.limit',
	'metric.reporters',
	'metrics.num.samples',
	'metrics.recording.level',
	'metrics.sample.window.ms',
	'auto.include.jmx.reporter',
])

/** Keys that promise protection or behaviour that is not there; only the listed value may be given. */
const REFUSED: Readonly<Record<string, { readonly unless: readonly string[]; readonly why: string }>> = {
	'authorizer.class.name': { unless: [''], why: 'authorization is not built yet: the broker would let everyone in' },
	'create.topic.policy.class.name': { unless: [''], why: 'policies cannot be loaded' },
	'alter.config.policy.class.name': { unless: [''], why: 'policies cannot be loaded' },
	'client.quota.callback.class': { unless: [''], why: 'quota callbacks cannot be loaded' },
	'remote.log.storage.system.enable': { unless: ['false'], why: 'there is no tiered storage' },
	'process.roles': { unless: [''], why: 'KRaft is not supported; brokers are coordinated by ZooKeeper' },
	'zookeeper.set.acl': { unless: ['false'], why: 'znode ACLs are not set yet' },
	'zookeeper.ssl.client.enable': { unless: ['false'], why: 'TLS to ZooKeeper is not built yet' },
	'delegation.token.secret.key': { unless: [''], why: 'delegation tokens are not built yet' },
	'control.plane.listener.name': { unless: [''], why: 'a control plane listener is not built yet' },
}

export interface ConfigReport {
	/** Given and known, but of no effect here. */
	readonly ineffective: readonly string[]
	/** Given and unknown to Kafka 3.9. */
	readonly unknown: readonly string[]
}

/** Sorts what was given; throws {@link ConfigError} on the first key that must not be ignored. */
export function reportConfig(config: BrokerConfig): ConfigReport {
	const ineffective: string[] = []
	const unknown: string[] = []
	for (const [name, value] of config.given) {
		const refused = REFUSED[name]
		if (refused !== undefined && !refused.unless.includes(value.trim())) throw new ConfigError(name, value, refused.why)
		if (NO_EFFECT.has(name)) ineffective.push(name)
		else if (brokerKey(name) === undefined && refused === undefined && !isPrefixed(name)) unknown.push(name)
	}
	return { ineffective, unknown }
}

function isPrefixed(name: string): boolean {
	return name.startsWith('listener.name.') || name.startsWith('kcli.')
}
