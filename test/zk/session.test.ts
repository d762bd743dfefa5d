import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { nodeDriverFactory } from '../../src/zk/node-driver.js'
import { startZkServer } from '../../src/zk/server/server.js'
import { openZkSession } from '../../src/zk/session.js'

test('smoke', async () => {
	const dir = mkdtempSync(join(tmpdir(), 'kcli-zk-'))
	const runtime = nodeRuntime()
	const server = await startZkServer(runtime, { host: '127.0.0.1', port: 0, dataDir: dir })
	const zk = await openZkSession(runtime, nodeDriverFactory(runtime), { connect: `${server.address}/chroot/x` })
	console.log(zk.state, zk.sessionId, zk.hasLease())
	console.log(await zk.create('/a/b', Buffer.from('x'), { parents: true }))
	console.log(await zk.get('/a/b'), await zk.children('/'), await zk.exists('/nope'))
	console.log(
		await zk.multi([
			{ op: 'check', path: '/a', version: 0 },
			{ op: 'set', path: '/a/b', data: Buffer.from('y'), version: 0 },
		]),
	)
	await expect(zk.multi([{ op: 'check', path: '/a', version: 1 }])).rejects.toThrow('BAD_VERSION')
	const seen: unknown[] = []
	const watch = zk.watchChildren('/a', (v) => seen.push(v?.names))
	await watch.ready
	await zk.create('/a/c', null)
	await zk.sync()
	await zk.create('/a/d', null)
	await zk.sync()
	await zk.sync()
	console.log(seen)
	const t = performance.now()
	await Promise.all(Array.from({ length: 5000 }, (_, i) => zk.create(`/n${i}`, Buffer.from('hello'))))
	console.log('creates/s pipelined', 5000 / ((performance.now() - t) / 1000))
	const t2 = performance.now()
	for (let i = 0; i < 300; i++) await zk.set('/a', null, -1)
	console.log('sets/s seq', 300 / ((performance.now() - t2) / 1000))
	const t3 = performance.now()
	await Promise.all(Array.from({ length: 20000 }, (_, i) => zk.get(`/n${i % 5000}`)))
	console.log('gets/s', 20000 / ((performance.now() - t3) / 1000))
	await zk.close()
	await server.stop()
	rmSync(dir, { recursive: true })
})
