/** A ZooKeeper server in the foreground, behind `kcli zk start`. */

import { EmbeddedZooKeeperError, startEmbeddedZooKeeper } from './embedded-zookeeper.js'
import { EXIT, usageError } from './errors.js'
import { zooKeeperFailure } from './listen-failure.js'
import { OwnFolder } from './own-folder.js'

const HINTS = {
	port: 'Give another port with --listen (0: any).',
	host: 'Give a name or address of this machine with --listen.',
	folder: 'Stop that ZooKeeper first, or give another --data-dir.',
}

/** Runs until it is told to stop; returns the exit code. `hasTtlNodes` allows TTL nodes. Throws a {@link CliError} when it cannot start. */
export async function runZooKeeper(listen: string, dataDir: string, hasTtlNodes: boolean): Promise<number> {
	const match = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(listen)
	if (match === null || Number(match[2]) > 65_535) {
		throw usageError(`--listen wants host:port, not '${listen}'`, `such as ${meantAddress(listen)}`)
	}
	if (dataDir.trim() === '') throw usageError('--data-dir wants a folder')
	const folder = OwnFolder.make(dataDir)
	const host = (match[1] as string).replace(/^\[|\]$/g, '')
	const server = await startEmbeddedZooKeeper({
		host,
		port: Number(match[2]),
		dataDir: folder.path,
		hasTtlNodes,
	}).catch((error: unknown) => {
		folder.removeEmpty()
		throw error instanceof EmbeddedZooKeeperError ? zooKeeperFailure(error, HINTS) : error
	})
	return await new Promise<number>((settle) => {
		let code: number | null = null
		const stop = (to: number) => (): void => {
			if (code !== null) process.exit(to)
			code = to
			void server.stop()
		}
		process.on('SIGINT', stop(EXIT.interrupted))
		process.on('SIGTERM', stop(EXIT.terminated))
		server.onExit(({ message }) => {
			if (code === null) process.stderr.write(`kcli: ZooKeeper ended: ${message}\n`)
			settle(code ?? EXIT.failed)
		})
		// Said last: whoever reads the line may send a signal at once.
		process.stdout.write(`zookeeper ${server.address}\n`)
	})
}

/** The missing half is put in. */
function meantAddress(text: string): string {
	if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return `127.0.0.1:${text}`
	return /^[A-Za-z0-9.-]+$/.test(text) ? `${text}:2181` : '127.0.0.1:2181'
}
