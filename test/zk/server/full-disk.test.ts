/** A server whose disk fills up while clients write: it stops with the reason, and comes back with all it acknowledged. */

import { expect, test } from 'vitest'
import { DiskError } from '../../../src/runtime/ports.js'
import { startZkServer } from '../../../src/zk/server/server.js'
import { until } from '../../helpers/until.js'
import { SimDisk } from '../../sim/disk.js'
import { runtime } from '../fixture.js'
import { RawClient } from '../raw-client.js'

test('acknowledged writes are there again, refused ones were never acknowledged, the reason is told once', async () => {
	const disk = new SimDisk()
	disk.makeDirectoryNow('/data')
	const host = { ...runtime.host, claim: async () => ({ release: async () => undefined }) }
	const failures: unknown[] = []
	const start = () =>
		startZkServer(
			{ ...runtime, disk, host },
			{ host: '127.0.0.1', port: 0, dataDir: '/data', onFailure: (error) => failures.push(error) },
		)
	const server = await start()
	const clients = await Promise.all(Array.from({ length: 4 }, () => RawClient.open(server.address)))
	const acknowledged: string[] = []
	let room = 20_000
	disk.fail = (operation) => (operation === 'write' && disk.bytesWritten > room ? 'ENOSPC' : null)
	await Promise.all(
		clients.map(async (client, index) => {
			for (let i = 0; !client.isClosed; i++) {
				const path = `/c${index}-${i}`
				const { err } = await client.create(path, 'x'.repeat(50)).catch(() => ({ err: null }))
				if (err === 0) acknowledged.push(path)
				else expect(err).toBeNull()
			}
		}),
	)
	expect(acknowledged.length).toBeGreaterThan(50)
	await until('the failure', () => failures.length > 0)
	expect(failures).toHaveLength(1)
	expect(failures[0]).toBeInstanceOf(DiskError)
	expect(failures[0]).toMatchObject({ code: 'ENOSPC', operation: 'write', path: expect.stringContaining('log.') })
	await server.stop()
	// Still full: it starts and serves, but can take no session, which is a write.
	const full = await start()
	const refused = await RawClient.dial(full.address)
	refused.greet({})
	await refused.closed()
	expect(refused.greeting).toBeNull()
	await full.stop()
	room = Number.POSITIVE_INFINITY
	const again = await start()
	const reader = await RawClient.open(again.address)
	const { names } = await reader.children('/')
	for (const path of acknowledged) expect(names).toContain(path.slice(1))
	expect((await reader.create('/room')).err).toBe(0)
	await reader.end()
	await again.stop()
})
