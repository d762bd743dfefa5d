import { describe, expect, test } from 'vitest'
import { OP } from '../../src/zk/messages.js'
import type { ZkChildren, ZkData, ZkSession, ZkSessionEvent } from '../../src/zk/port.js'
import { until } from '../helpers/until.js'
import { openSession, runtime, startServer, temporaryFolder } from './fixture.js'
import { FaultProxy, loseReplyTo } from './proxy.js'

const bytes = (text: string): Buffer => Buffer.from(text)

function record(session: ZkSession): string[] {
	const events: string[] = []
	session.onEvent((event: ZkSessionEvent) => {
		const isNew = event.type === 'connected' ? (event.isNew ? ' new' : ' again') : ''
		events.push(`${event.type}${isNew}${'generation' in event ? ` ${event.generation}` : ''}`)
	})
	return events
}

describe('calls', () => {
	test('cover the tree, and say null for what is not there', async () => {
		const { address } = await startServer()
		const zk = await openSession(address)
		expect(await zk.create('/a/b/c', bytes('x'), { parents: true })).toBe('/a/b/c')
		expect((await zk.get('/a/b/c'))?.data?.toString()).toBe('x')
		expect((await zk.get('/a'))?.data).toBeNull()
		expect((await zk.children('/a'))?.names).toEqual(['b'])
		expect([await zk.get('/no'), await zk.exists('/no'), await zk.children('/no'), await zk.getAcl('/no')]).toEqual([
			null,
			null,
			null,
			null,
		])
		expect((await zk.set('/a/b/c', bytes('y'), 0)).version).toBe(1)
		expect((await zk.set('/a/b/c', null, 1)).dataLength).toBe(0)
		expect((await zk.get('/a/b/c'))?.data).toBeNull()
		await zk.sync()
		await expect(zk.remove('/a', -1)).rejects.toMatchObject({ code: 'NOT_EMPTY', path: '/a', ambiguous: false })
		await zk.remove('/a/b/c', 2)
		const acl = [{ perms: 1, scheme: 'world', id: 'anyone' }]
		expect((await zk.setAcl('/a/b', acl, 0)).aversion).toBe(1)
		expect((await zk.getAcl('/a/b'))?.acl).toEqual(acl)
	})

	test('sequential and ephemeral nodes', async () => {
		const { address } = await startServer()
		const zk = await openSession(address)
		const mode = 'persistentSequential'
		expect(await zk.create('/s-', null, { mode, duplicatesHarmless: true })).toBe('/s-0000000000')
		await zk.create('/e', null, { mode: 'ephemeral' })
		expect((await zk.exists('/e'))?.ephemeralOwner).toBe(zk.sessionId)
		await zk.close()
		const other = await openSession(address)
		expect(await other.exists('/e')).toBeNull()
	})

	test('a multi is all or nothing, and versions are sent as they are, 0 too', async () => {
		const { address } = await startServer()
		const zk = await openSession(address)
		await zk.create('/fence', bytes('1'))
		await zk.set('/fence', bytes('2'), 0)
		for (const op of [
			{ op: 'check', path: '/fence', version: 0 },
			{ op: 'set', path: '/fence', data: bytes('3'), version: 0 },
			{ op: 'remove', path: '/fence', version: 0 },
		] as const) {
			await expect(zk.multi([{ op: 'create', path: '/x', data: null }, op])).rejects.toMatchObject({
				code: 'BAD_VERSION',
				index: 1,
				path: '/fence',
			})
		}
		expect(await zk.exists('/x')).toBeNull()
		const results = await zk.multi([
			{ op: 'check', path: '/fence', version: 1 },
			{ op: 'create', path: '/x', data: bytes('d'), mode: 'ephemeral' },
			{ op: 'set', path: '/x', data: bytes('e'), version: 0 },
			{ op: 'remove', path: '/fence', version: 1 },
		])
		expect(results.map(({ op }) => op)).toEqual(['check', 'create', 'set', 'remove'])
		expect(results[2]).toMatchObject({ stat: { version: 1, ephemeralOwner: zk.sessionId } })
	})

	test('a chroot is made, and invisible', async () => {
		const { address } = await startServer()
		const zk = await openSession(`${address}/kafka/one`)
		await zk.create('/a', null)
		await zk.multi([{ op: 'create', path: '/b', data: null }])
		expect(await zk.create('/s', null, { mode: 'persistentSequential' })).toBe('/s0000000002')
		const seen: string[][] = []
		const watch = zk.watchChildren('/', (value) => seen.push([...(value?.names ?? [])]))
		await watch.ready
		await zk.create('/c', null)
		await until('the change', () => seen.at(-1)?.includes('c'))
		const root = await openSession(address)
		expect((await root.children('/kafka/one'))?.names).toEqual(['a', 'b', 'c', 's0000000002'])
	})

	test('are refused without a throw: no path, too large', async () => {
		const { address } = await startServer()
		const zk = await openSession(address)
		await expect(zk.get('a')).rejects.toMatchObject({ code: 'BAD_ARGUMENTS' })
		await expect(zk.create('/a/', null)).rejects.toMatchObject({ code: 'BAD_ARGUMENTS' })
		await expect(zk.create('/big', Buffer.alloc(1_100_000))).rejects.toMatchObject({ code: 'TOO_LARGE' })
		await zk.create('/large', Buffer.alloc(990_000, 1))
		expect((await zk.get('/large'))?.data?.length).toBe(990_000)
		expect(zk.generation).toBe(1)
	})

	test('after close reject, and none is left open', async () => {
		const { address } = await startServer()
		const proxy = await FaultProxy.start(address)
		const zk = await openSession(proxy.address)
		proxy.isFrozen = true
		const open = [zk.get('/a'), zk.create('/b', null), zk.sync()]
		const settled = Promise.allSettled(open)
		await zk.close(50)
		for (const each of await settled) expect(each).toMatchObject({ status: 'rejected', reason: { code: 'CLOSED' } })
		await expect(zk.get('/a')).rejects.toMatchObject({ code: 'CLOSED' })
		await zk.close()
		expect(zk.state).toBe('closed')
	})

	test('time out when the server answers no more', async () => {
		const { address } = await startServer()
		const proxy = await FaultProxy.start(address)
		const zk = await openSession(proxy.address)
		proxy.isFrozen = true
		await expect(zk.create('/a', null, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT', ambiguous: true })
		await expect(zk.get('/a', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT', ambiguous: false })
	})
})

test('no server: the first connection fails in time', async () => {
	const began = performance.now()
	await expect(openSession('127.0.0.1:1', { connectTimeoutMs: 200 })).rejects.toMatchObject({ code: 'TIMEOUT' })
	expect(performance.now() - began).toBeLessThan(2000)
})

describe('a lost connection', () => {
	test('is taken up again in the same session; waiting calls go on', async () => {
		const { address } = await startServer()
		const proxy = await FaultProxy.start(address)
		const zk = await openSession(proxy.address)
		const events = record(zk)
		await zk.create('/e', null, { mode: 'ephemeral' })
		proxy.cut()
		await zk.create('/after', null)
		expect(zk.generation).toBe(1)
		expect(events).toEqual(['disconnected 1', 'connected again 1'])
		expect((await zk.exists('/e'))?.ephemeralOwner).toBe(zk.sessionId)
	})

	test('keeps the order of calls, in flight or waiting', async () => {
		const { address } = await startServer()
		const proxy = await FaultProxy.start(address)
		const zk = await openSession(proxy.address, { inFlightMax: 4 })
		await zk.create('/a', Buffer.from(''))
		let replies = 0
		proxy.onReply = () => (++replies === 12 ? 'lose' : 'pass')
		const versions = Array.from({ length: 40 }, (_, i) => zk.set('/a', bytes(`${i}`), -1))
		await Promise.all(versions)
		expect((await zk.get('/a'))?.data?.toString()).toBe('39')
		const settled = (await Promise.all(versions)).map(({ version }) => version)
		expect([...settled].sort((a, b) => a - b)).toEqual(settled)
		expect(proxy.accepted).toBe(2)
	})

	test('a server restart keeps sessions, ephemeral nodes and watches', async () => {
		const dataDir = temporaryFolder()
		const first = await startServer({ dataDir })
		const proxy = await FaultProxy.start(first.address)
		const zk = await openSession(proxy.address)
		await zk.create('/e', bytes('1'), { mode: 'ephemeral' })
		const seen: (string | undefined)[] = []
		await zk.watchData('/e', (value) => seen.push(value?.data?.toString())).ready
		await first.stop()
		const second = await startServer({ dataDir })
		proxy.retarget(second.address)
		await zk.set('/e', bytes('2'), 0)
		await until('the change', () => seen.at(-1) === '2')
		expect(seen).toEqual(['1', '2'])
		expect(zk.generation).toBe(1)
	})

	test('changes made meanwhile are told by watches set before', async () => {
		const { address } = await startServer()
		const proxy = await FaultProxy.start(address)
		const zk = await openSession(proxy.address)
		const other = await openSession(address)
		await other.create('/a', bytes('1'))
		const data: (string | null | undefined)[] = []
		const children: (readonly string[] | undefined)[] = []
		const exists: boolean[] = []
		await zk.watchData('/a', (value: ZkData | null) => data.push(value === null ? null : value.data?.toString())).ready
		await zk.watchChildren('/a', (value: ZkChildren | null) => children.push(value?.names)).ready
		await zk.watchExists('/b', (value) => exists.push(value !== null)).ready
		proxy.refuses = true
		proxy.cut()
		await other.set('/a', bytes('2'), 0)
		await other.create('/a/x', null)
		await other.create('/b', null)
		proxy.refuses = false
		await until('all three', () => data.length === 2 && children.length === 2 && exists.length === 2)
		expect([data, children, exists]).toEqual([
			['1', '2'],
			[[], ['x']],
			[false, true],
		])
	})
})

describe('a write whose reply was lost', () => {
	async function lossy(operation: number): Promise<{ zk: ZkSession; wasLost: () => boolean }> {
		const { address } = await startServer()
		const proxy = await FaultProxy.start(address)
		const zk = await openSession(proxy.address)
		await zk.create('/a', bytes('0'))
		const wasLost = loseReplyTo(proxy, operation)
		return { zk, wasLost }
	}

	test('create: found as ours', async () => {
		const { zk, wasLost } = await lossy(OP.create)
		expect(await zk.create('/n', bytes('mine'))).toBe('/n')
		expect(wasLost()).toBe(true)
	})

	test('create of an ephemeral: owned by our session', async () => {
		const { zk, wasLost } = await lossy(OP.create)
		expect(await zk.create('/n', null, { mode: 'ephemeral' })).toBe('/n')
		expect(wasLost()).toBe(true)
	})

	test('create, sequential: not repeated unless harmless', async () => {
		const { zk } = await lossy(OP.create)
		const mode = 'persistentSequential'
		await expect(zk.create('/a/s', null, { mode })).rejects.toMatchObject({ code: 'CONNECTION_LOSS', ambiguous: true })
		expect((await zk.children('/a'))?.names).toHaveLength(1)
	})

	test('create, sequential and harmless: made twice at most', async () => {
		const { zk } = await lossy(OP.create)
		await zk.create('/a/s', null, { mode: 'persistentSequential', duplicatesHarmless: true })
		expect((await zk.children('/a'))?.names).toHaveLength(2)
	})

	test('set: ours when the data names its writer, ambiguous otherwise', async () => {
		const named = await lossy(OP.setData)
		expect((await named.zk.set('/a', bytes('me'), 0, { identified: true })).version).toBe(1)
		const unnamed = await lossy(OP.setData)
		await expect(unnamed.zk.set('/a', bytes('me'), 0)).rejects.toMatchObject({ code: 'BAD_VERSION', ambiguous: true })
	})

	test('remove: done', async () => {
		const { zk, wasLost } = await lossy(OP.delete)
		await zk.remove('/a', 0)
		expect(wasLost()).toBe(true)
		expect(await zk.exists('/a')).toBeNull()
	})

	test('multi: as the caller verifies, ambiguous without', async () => {
		const { zk } = await lossy(OP.multi)
		const ops = [{ op: 'set', path: '/a', data: bytes('1'), version: 0 }] as const
		await expect(zk.multi(ops)).rejects.toMatchObject({ code: 'CONNECTION_LOSS', ambiguous: true })
		const again = await lossy(OP.multi)
		const verify = async () => {
			const node = await again.zk.get('/a')
			return node?.data?.toString() === '1' ? [{ op: 'set', stat: node.stat } as const] : null
		}
		expect(await again.zk.multi(ops, { verify })).toMatchObject([{ op: 'set', stat: { version: 1 } }])
	})
})

describe('an expired session', () => {
	test('is told before the next is opened; bound calls fail, others go on; watches are read again', async () => {
		const server = await startServer()
		const proxy = await FaultProxy.start(server.address)
		const zk = await openSession(proxy.address, { sessionTimeoutMs: 300 })
		const other = await openSession(server.address)
		const events = record(zk)
		const first = zk.sessionId
		await zk.create('/e', null, { mode: 'ephemeral' })
		const seen: boolean[] = []
		await zk.watchExists('/e', (stat) => seen.push(stat !== null)).ready
		let wasOpenEarly = false
		zk.onEvent(async (event) => {
			if (event.type !== 'expired') return
			await other.sync()
			wasOpenEarly = zk.state !== 'expired'
		})
		proxy.refuses = true
		proxy.cut()
		await until('the server to expire it', async () => (await other.exists('/e')) === null)
		const bound = zk.create('/f', null, { mode: 'ephemeral' })
		const free = zk.create('/g', null)
		const settled = Promise.allSettled([bound, free])
		proxy.refuses = false
		await until('a new session', () => zk.generation === 2)
		expect(await settled).toMatchObject([{ reason: { code: 'SESSION_EXPIRED' } }, { value: '/g' }])
		await until('the watch to tell', () => seen.at(-1) === false)
		expect(wasOpenEarly).toBe(false)
		expect(zk.sessionId).not.toBe(first)
		expect([zk.wasOurs(first), zk.wasOurs(zk.sessionId)]).toEqual([true, false])
		expect(events).toEqual(['disconnected 1', 'leaseLost 1', 'expired 1', 'connected new 2'])
		await zk.create('/e', null, { mode: 'ephemeral' })
		await until('the watch to tell', () => seen.at(-1) === true)
	})

	test('is given up when it cannot be taken up, and a wiped server is served again', async () => {
		const first = await startServer()
		const proxy = await FaultProxy.start(first.address)
		const zk = await openSession(proxy.address, { sessionTimeoutMs: 300 })
		for (let i = 0; i < 20; i++) await zk.create(`/n${i}`, null)
		await first.stop()
		// Another server with no data: older zxids, sessions that nobody knows.
		const second = await startServer()
		proxy.retarget(second.address)
		await until('a new session', () => zk.generation === 2)
		expect(await zk.exists('/n0')).toBeNull()
	})
})

describe('the lease', () => {
	test('runs ahead of the server, and its loss is told while the server is frozen', async () => {
		const { address } = await startServer()
		const proxy = await FaultProxy.start(address)
		const zk = await openSession(proxy.address, { sessionTimeoutMs: 600 })
		const events = record(zk)
		await zk.sync()
		const { leaseDeadlineMs } = zk
		const nowMs = runtime.clock.monotonicMs()
		expect(zk.hasLease()).toBe(true)
		expect(leaseDeadlineMs).toBeGreaterThan(nowMs)
		expect(leaseDeadlineMs).toBeLessThan(nowMs + 600)
		proxy.isFrozen = true
		await until('the lease to be lost', () => events.includes('leaseLost 1'))
		expect(zk.hasLease()).toBe(false)
		expect(events).not.toContain('expired 1')
	})

	test('is kept alive by pings alone', async () => {
		const { address } = await startServer()
		const zk = await openSession(address, { sessionTimeoutMs: 300 })
		const events = record(zk)
		const deadlineMs = zk.leaseDeadlineMs
		await until('three timeouts to pass', () => runtime.clock.monotonicMs() > deadlineMs + 900)
		expect(zk.hasLease()).toBe(true)
		expect(events).toEqual([])
	})
})

describe('a predecessor that died', () => {
	test('is ended, so that its ephemeral nodes go at once', async () => {
		const { address } = await startServer()
		const proxy = await FaultProxy.start(address)
		let credentials = null as { sessionId: bigint; password: Buffer } | null
		const dead = await openSession(proxy.address, {
			onCredentials: (each) => {
				credentials = each
			},
		})
		await dead.create('/e', null, { mode: 'ephemeral' })
		proxy.refuses = true
		proxy.cut()
		const heir = await openSession(address, { predecessor: credentials })
		expect(await heir.exists('/e')).toBeNull()
		const other = await openSession(address, { predecessor: credentials })
		expect(other.state).toBe('connected')
	})
})

test('watches: a closed one is silent, many on one path all hear, an absent parent is waited for', async () => {
	const { address } = await startServer()
	const zk = await openSession(address)
	const first: unknown[] = []
	const second: unknown[] = []
	const a = zk.watchChildren('/p', (value) => first.push(value?.names ?? null))
	const b = zk.watchChildren('/p', (value) => second.push(value?.names ?? null))
	await Promise.all([a.ready, b.ready])
	await zk.create('/p', null)
	await until('both', () => first.length === 2 && second.length === 2)
	a.close()
	await zk.create('/p/x', null)
	await until('the second', () => second.length === 3)
	await zk.remove('/p/x', -1)
	await zk.remove('/p', -1)
	await until('the removal', () => second.at(-1) === null)
	expect(first).toEqual([null, []])
	expect(second.slice(0, 3)).toEqual([null, [], ['x']])
})
