/** Why a server cannot listen or start, in one line, for brokers and ZooKeeper alike: what is taken, and what to give instead. */

import type { EmbeddedZooKeeperError } from './embedded-zookeeper.js'
import { CliError, EXIT } from './errors.js'

/** What to do about it depends on the command: the words of its flags. */
export interface ListenHints {
	/** The port is taken. */
	readonly port: string
	/** The host is not this machine's. */
	readonly host: string
	/** Another ZooKeeper has the folder. */
	readonly folder: string
}

/** `address` cannot be listened on, by the system's code. */
export function listenFailure(address: string, code: string, hints: Pick<ListenHints, 'port' | 'host'>): CliError {
	if (code === 'EADDRINUSE')
		return new CliError(`${address} is in use by another process`, EXIT.failed, hints.port, 'KCLI_PORT_TAKEN')
	const reason = REASONS[code]
	const hint = code === 'EACCES' ? 'Ports below 1024 need the right to use them; others do not.' : hints.host
	return new CliError(
		`cannot listen on ${address}: ${reason === undefined ? code : `${reason} (${code})`}`,
		EXIT.failed,
		hint,
	)
}

const REASONS: Readonly<Record<string, string>> = {
	ENOTFOUND: 'there is no such host',
	EAI_AGAIN: 'the host cannot be looked up',
	EADDRNOTAVAIL: 'the address is not of this machine',
	EACCES: 'not allowed',
}

/** A ZooKeeper of ours that did not start. */
export function zooKeeperFailure(error: EmbeddedZooKeeperError, hints: ListenHints): CliError {
	const inUse = /data directory (.*) is in use/.exec(error.message)
	if (inUse !== null) {
		const text = `${inUse[1]} is in use by another ZooKeeper`
		return new CliError(text, EXIT.failed, hints.folder, 'KCLI_DIR_LOCKED')
	}
	const listen = /listen on (\S+): (E[A-Z_]+)/.exec(error.message)
	if (listen !== null) return listenFailure(listen[1] as string, listen[2] as string, hints)
	return new CliError(error.message.replace('the embedded ZooKeeper', 'ZooKeeper'), EXIT.failed, null, error.code)
}
