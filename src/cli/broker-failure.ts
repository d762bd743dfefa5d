/** One line for each thing that can keep a broker from starting, with what to do about it. Behind `kcli broker start`. */

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../engine/config.js'
import { DirLockedError } from '../engine/log/dir-lock.js'
import { DataDirMismatchError } from '../engine/log/manager.js'
import { DiskError, NetworkError } from '../runtime/ports.js'
import { ZkError } from '../zk/port.js'
import { BrokerIdTakenError } from '../zk/recipes.js'
import { EmbeddedZooKeeperError } from './embedded-zookeeper.js'
import { CliError, EXIT, usageError } from './errors.js'
import { listenFailure, zooKeeperFailure } from './listen-failure.js'

/** What was given by flags, so that the flag is named and not the setting behind it. */
export interface GivenFlags {
	readonly listen: readonly string[]
	readonly advertised: readonly string[]
	readonly zookeeperPort: number
}

const LISTENER = 'PLAINTEXT://127.0.0.1:9092'

const LISTENER_FORM = /^[A-Za-z_][\w.-]*:\/\/(?:\[[^\]]*\]|[^:/[\]]*):\d{1,5}$/

/** Refuses listeners that are none before anything is started. Throws a usage error. */
export function checkListeners({ listen, advertised }: GivenFlags): void {
	for (const [flag, given] of [['--listen', listen] as const, ['--advertised', advertised] as const]) {
		const wrong = partsOf(given).find((each) => !LISTENER_FORM.test(each))
		if (wrong !== undefined)
			throw usageError(`${flag} wants NAME://host:port, not '${wrong}'`, `such as ${meantListener(wrong)}`)
	}
}

function partsOf(given: readonly string[]): string[] {
	return given.flatMap((each) => each.split(',')).map((each) => each.trim())
}

/** A setting that cannot be, by the flag that it came from. */
export function settingFailure(error: ConfigError, flags: GivenFlags): CliError {
	const isListen = error.key === 'listeners' && flags.listen.length > 0
	const isAdvertised = error.key === 'advertised.listeners' && flags.advertised.length > 0
	if (!isListen && !isAdvertised) return usageError(`bad setting ${error.message}`)
	return usageError(`${isListen ? '--listen' : '--advertised'} ${error.value}: ${error.problem}`)
}

/** What may have been meant: the missing parts are put in. */
function meantListener(text: string): string {
	const match = /^(?:([A-Za-z_][\w.-]*):?\/\/?)?(\[[^\]]+\]|[A-Za-z0-9.-]*[A-Za-z.][A-Za-z0-9.-]*)?:?(\d{1,5})?$/.exec(
		text,
	)
	if (match === null || (match[2] === undefined && match[3] === undefined)) return LISTENER
	// A word alone is rather the name of a listener than a host.
	if (match[1] === undefined && match[3] === undefined && /^[A-Z_]+$/.test(match[2] ?? ''))
		return `${match[2]}://127.0.0.1:9092`
	return `${match[1] ?? 'PLAINTEXT'}://${match[2] ?? '127.0.0.1'}:${match[3] ?? 9092}`
}

/** `error` as a {@link CliError} where it is known; else itself. */
export function explainStart(error: unknown, flags: GivenFlags, connect: string | null): unknown {
	if (error instanceof ConfigError) return settingFailure(error, flags)
	if (error instanceof DirLockedError) {
		const hint = 'Stop that broker first, or give another --data-dir.'
		return new CliError(error.message, EXIT.failed, hint, 'KCLI_DIR_LOCKED')
	}
	if (error instanceof DataDirMismatchError) {
		const hint = 'Give the folder of this broker, or an empty one.'
		return new CliError(error.message, EXIT.failed, hint, 'KCLI_DIR_MISMATCH')
	}
	if (error instanceof NetworkError) {
		return listenFailure(error.address, error.code, {
			port: 'Give another port with --listen.',
			host: 'Give a name or address of this machine with --listen.',
		})
	}
	if (error instanceof EmbeddedZooKeeperError) return embeddedFailure(error, flags)
	if (error instanceof DiskError) {
		const folder = existsSync(error.path) ? error.path : dirname(error.path)
		const hint = error.code === 'EACCES' || error.code === 'EROFS' ? `${folder} must be writable.` : null
		return new CliError(`cannot ${error.operation} ${error.path}: ${error.code}`, EXIT.failed, hint, 'KCLI_DISK')
	}
	if (error instanceof BrokerIdTakenError) {
		return new CliError(error.message, EXIT.failed, 'Give another --id, or stop that broker.', 'KCLI_BROKER_ID_TAKEN')
	}
	if (error instanceof ZkError) {
		const where = connect ?? 'the embedded ZooKeeper'
		return new CliError(`ZooKeeper at ${where} cannot be used: ${error.message}`, EXIT.failed, null, error.stableCode)
	}
	return error
}

function embeddedFailure(error: EmbeddedZooKeeperError, { zookeeperPort }: GivenFlags): CliError {
	const failure = zooKeeperFailure(error, {
		port: 'Give another with --zookeeper-port (0: any), or name a running ZooKeeper with --zookeeper.',
		host: 'Name a running ZooKeeper with --zookeeper.',
		folder:
			'To join the cluster of the broker that runs it, give its --zookeeper; to start a cluster, another --zookeeper-data-dir.',
	})
	if (failure.code !== 'KCLI_PORT_TAKEN') return failure
	const text = `ZooKeeper's port ${zookeeperPort} is in use by another process`
	return new CliError(text, failure.exitCode, failure.hint, failure.code)
}
