/**
 * The ZooKeeper session of this data folder's broker, kept in a small file: a broker that was killed and is started again
 * ends its old session at once, and need not wait until its registration expires (semantics 30.5: better than 3.9.2).
 * Whoever holds the folder's lock may do so, since no other process can be that broker. The file is its owner's alone: the
 * password is in it.
 */

import { type Disk, DiskError } from '../runtime/ports.js'

export interface SessionCredentials {
	readonly sessionId: bigint
	readonly password: Buffer
}

const FILE = '.kcli-session'

export class SessionMemory {
	readonly #disk: Disk
	readonly #path: string

	constructor(disk: Disk, folder: string) {
		this.#disk = disk
		this.#path = disk.join(folder, FILE)
	}

	/** Null when there is none, or it cannot be read: then the old session is waited out. */
	read(): SessionCredentials | null {
		if (this.#disk.statNow(this.#path) === null) return null
		const match = /^([0-9a-f]{16}) ([0-9a-f]{32})\n$/.exec(this.#disk.readFileNow(this.#path).toString('latin1'))
		if (match === null) return null
		return { sessionId: BigInt.asIntN(64, BigInt(`0x${match[1]}`)), password: Buffer.from(match[2] as string, 'hex') }
	}

	write({ sessionId, password }: SessionCredentials): void {
		const id = BigInt.asUintN(64, sessionId).toString(16).padStart(16, '0')
		try {
			const file = this.#disk.openNow(this.#path, 'secret')
			try {
				file.writeNow([Buffer.from(`${id} ${password.toString('hex')}\n`)], 0)
			} finally {
				file.closeNow()
			}
		} catch (error) {
			// A failing disk is met and told by the logs; a restart then only waits longer.
			if (!(error instanceof DiskError)) throw error
		}
	}
}
