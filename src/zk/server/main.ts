/**
 * Entry of the embedded ZooKeeper as a process of its own; started by `cli/embedded-zookeeper.ts` and `kcli zk start`.
 *
 *   node main.js --listen 127.0.0.1:2181 --data-dir D [--tick-ms N] [--min-timeout-ms N] [--max-timeout-ms N]
 *     [--ttl-nodes] [--snapshot-transactions N] [--attached]
 *
 * Prints `zookeeper HOST:PORT` once it serves. SIGTERM and SIGINT end it flushed; with `--attached` so does the end of
 * its stdin, which is how it learns that its parent died. Exit 0 after a stop, 1 with one line on stderr otherwise.
 */

import { NodeClock, NodeRandom } from '../../runtime/node-clock.js'
import { NodeDisk } from '../../runtime/node-disk.js'
import { NodeHost } from '../../runtime/node-host.js'
import { NodeNetwork } from '../../runtime/node-net.js'
import { DiskError } from '../../runtime/ports.js'
import { startZkServer, type ZkServerOptions, type ZkServerRuntime } from './server.js'

/** A stop that takes longer ends the process all the same: what was acknowledged is in the log. */
const STOP_MS = 900

function argument(name: string): string | undefined {
	const at = process.argv.indexOf(`--${name}`)
	return at < 0 ? undefined : process.argv[at + 1]
}

function positive(name: string, what: string): number | undefined {
	const text = argument(name)
	if (text === undefined) return undefined
	if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new Error(`--${name} wants ${what}, not ${text}`)
	return Number(text)
}

const milliseconds = (name: string): number | undefined => positive(name, 'milliseconds')

function readOptions(): ZkServerOptions {
	const listen = argument('listen') ?? '127.0.0.1:2181'
	const parts = /^\[?([^\]]*)\]?:([0-9]{1,5})$/.exec(listen)
	if (parts === null || Number(parts[2]) > 65_535) throw new Error(`--listen wants host:port, not ${listen}`)
	const dataDir = argument('data-dir')
	if (dataDir === undefined) throw new Error('--data-dir is missing')
	const tickMs = milliseconds('tick-ms')
	const sessionTimeoutMinMs = milliseconds('min-timeout-ms')
	const sessionTimeoutMaxMs = milliseconds('max-timeout-ms')
	const snapshotTransactions = positive('snapshot-transactions', 'a count')
	return {
		host: parts[1] as string,
		port: Number(parts[2]),
		dataDir,
		...(tickMs === undefined ? {} : { tickMs }),
		...(sessionTimeoutMinMs === undefined ? {} : { sessionTimeoutMinMs }),
		...(sessionTimeoutMaxMs === undefined ? {} : { sessionTimeoutMaxMs }),
		...(snapshotTransactions === undefined ? {} : { snapshotTransactions }),
		hasTtlNodes: process.argv.includes('--ttl-nodes'),
		onFailure: (error) => fail(error),
	}
}

function fail(error: unknown): never {
	const isFull = error instanceof DiskError && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
	const advice = isFull ? '; the disk is full: make room and start again, what was acknowledged is there' : ''
	process.stderr.write(`zookeeper: ${error instanceof Error ? error.message : String(error)}${advice}\n`)
	process.exit(1)
}

async function main(): Promise<void> {
	// Only what the server needs: codecs and native helpers would double the start and the memory of an idle process.
	const runtime: ZkServerRuntime = {
		clock: new NodeClock(),
		random: new NodeRandom(),
		disk: new NodeDisk(),
		network: new NodeNetwork(),
		host: new NodeHost(),
	}
	const server = await startZkServer(runtime, readOptions())
	const stop = (): void => {
		runtime.clock.after(STOP_MS, () => process.exit(0))
		server.stop().then(() => process.exit(0), fail)
	}
	process.on('SIGTERM', stop)
	process.on('SIGINT', stop)
	if (process.argv.includes('--attached')) {
		// Ctrl-C and a service manager's SIGTERM reach the whole group: the parent needs us for its own clean stop, and
		// decides when we end.
		for (const signal of ['SIGINT', 'SIGTERM'] as const) {
			process.off(signal, stop)
			process.on(signal, () => undefined)
		}
		process.stdin.on('close', stop)
		process.stdin.on('error', () => undefined)
		process.stdin.resume()
	}
	process.stdout.on('error', () => undefined)
	process.stdout.write(`zookeeper ${server.address}\n`)
}

main().catch(fail)
