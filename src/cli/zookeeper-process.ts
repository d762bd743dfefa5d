/** A ZooKeeper server in the foreground, behind `kcli zk start`. */

import { resolve } from 'node:path'
import { startEmbeddedZooKeeper } from './embedded-zookeeper.js'
import { CliError, EXIT, usageError } from './errors.js'

/** Runs until it is told to stop; returns the exit code. */
export async function runZooKeeper(listen: string, dataDir: string): Promise<number> {
	const match = /^\[?([^\]]+)\]?:(\d{1,5})$/.exec(listen)
	if (match === null || Number(match[2]) > 65_535) throw usageError(`--listen wants host:port, not '${listen}'`)
	const server = await startEmbeddedZooKeeper({
		host: match[1] as string,
		port: Number(match[2]),
		dataDir: resolve(dataDir),
	}).catch((error: Error) => {
		throw new CliError(error.message, EXIT.failed, null, 'KCLI_ZK_START_FAILED')
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
