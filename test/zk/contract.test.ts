/** The contract of a ZooKeeper server, held by the embedded one. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startZkServer } from '../../src/zk/server/server.js'
import { zooKeeperContract } from './contract.js'
import { runtime } from './fixture.js'

zooKeeperContract({
	start: async ({ hasTtlNodes }) => {
		const dataDir = mkdtempSync(join(tmpdir(), 'kcli-zk-'))
		const server = await startZkServer(runtime, {
			host: '127.0.0.1',
			port: 0,
			dataDir,
			tickMs: 200,
			...(hasTtlNodes ? { hasTtlNodes, sweepMs: 100, words: ['*'] } : {}),
		})
		return {
			address: server.address,
			stop: async () => {
				await server.stop()
				rmSync(dataDir, { recursive: true, force: true })
			},
		}
	},
})
