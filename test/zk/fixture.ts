/** Servers and sessions for tests: temporary folders, ephemeral ports, everything ended and removed afterwards. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { nodeDriverFactory } from '../../src/zk/node-driver.js'
import type { ZkSession } from '../../src/zk/port.js'
import { startZkServer, type ZkServer, type ZkServerOptions } from '../../src/zk/server/server.js'
import { openZkSession, type ZkSessionOptions } from '../../src/zk/session.js'

export const runtime = nodeRuntime()

export function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), 'kcli-zk-'))
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
	return folder
}

/** A server that ends with the test. Ticks are short, so that expiry can be waited for. */
export async function startServer(options: Partial<ZkServerOptions> = {}): Promise<ZkServer> {
	const server = await startZkServer(runtime, {
		host: '127.0.0.1',
		port: 0,
		dataDir: options.dataDir ?? temporaryFolder(),
		tickMs: 100,
		sessionTimeoutMaxMs: 40_000,
		...options,
	})
	onTestFinished(() => server.stop())
	return server
}

export async function openSession(connect: string, options: Partial<ZkSessionOptions> = {}): Promise<ZkSession> {
	const session = await openZkSession(runtime, nodeDriverFactory(runtime), {
		connect,
		sessionTimeoutMs: 10_000,
		connectTimeoutMs: 5000,
		...options,
	})
	onTestFinished(() => session.close(500))
	return session
}
