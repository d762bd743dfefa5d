import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JuteReader } from '../../../src/zk/jute.js'
import { WORLD_ALL } from '../../../src/zk/server/data-tree.js'
import { findFrame, frameOf, readFrame } from '../../../src/zk/server/frames.js'
import { recover, StorageDamage } from '../../../src/zk/server/recovery.js'
import { type TreeChange, transaction } from '../../../src/zk/server/transaction.js'
import { until } from '../../helpers/until.js'
import { MemoryDisk } from '../memory-disk.js'
import { DIRECTORY, describeTree, StorageDriver } from './storage-driver.js'

const PASSWORD = Buffer.alloc(16, 7)

async function someHistory(driver: StorageDriver): Promise<void> {
	driver.commit([], { kind: 'opened', timeoutMs: 4000, password: PASSWORD })
	driver.create('/a')
	await driver.flushed()
	driver.create('/a/b', 'hello')
	driver.create('/e', 'mine', 5n)
	await driver.flushed()
	driver.commit([{ kind: 'set', path: '/a/b', data: null, version: 1 }])
	driver.commit([
		{ kind: 'setAcl', path: '/a', acl: [{ perms: 1, id: { scheme: 'world', id: 'anyone' } }], aversion: 1 },
		{ kind: 'remove', path: '/a/b' },
	])
	await driver.flushed()
}

describe('frames', () => {
	test('a changed bit anywhere makes a frame no frame', () => {
		const frame = Buffer.concat(frameOf([Buffer.from('hello'), Buffer.from(' world')]))
		expect(readFrame(frame, 0)?.toString()).toBe('hello world')
		for (let bit = 0; bit < frame.length * 8; bit++) {
			const broken = Buffer.from(frame)
			broken[bit >> 3] = (broken[bit >> 3] as number) ^ (1 << (bit & 7))
			expect(readFrame(broken, 0), `bit ${bit}`).toBeNull()
		}
		expect(findFrame(Buffer.concat([Buffer.alloc(9, 1), frame]), 0)).toBe(9)
	})
})

describe('recovery', () => {
	test('of a clean log gives the same tree, sessions and zxid', async () => {
		const disk = new MemoryDisk()
		const driver = new StorageDriver(disk)
		await someHistory(driver)
		const again = recover(disk.crash(), DIRECTORY)
		expect(again.zxid).toBe(driver.zxid)
		expect(describeTree(again.tree)).toBe(describeTree(driver.tree))
		expect(again.tree.ephemeralsOf(5n)).toEqual(['/e'])
		expect(again.sessions.get(5n)).toEqual({ id: 5n, timeoutMs: 4000, password: PASSWORD })
		expect(again.lastSessionId).toBe(5n)
	})

	test('a log torn at every byte of its last batch comes back with all before it, and takes new writes', async () => {
		const disk = new MemoryDisk()
		const driver = new StorageDriver(disk)
		await someHistory(driver)
		const before = describeTree(driver.tree)
		const zxid = driver.zxid
		disk.holdsSyncs = true
		driver.create('/late')
		driver.create('/later')
		driver.storage.flush()
		const unsynced =
			(disk.files.get('/data/log.0000000000000001')?.bytes.length ?? 0) -
			(disk.crash().files.get('/data/log.0000000000000001')?.bytes.length ?? 0)
		expect(unsynced).toBeGreaterThan(100)
		for (let extra = 0; extra < unsynced; extra++) {
			const crashed = disk.crash(extra)
			const again = new StorageDriver(crashed)
			expect(again.zxid, `${extra} bytes`).toBe(zxid)
			expect(describeTree(again.tree)).toBe(before)
			again.create('/new')
			await again.flushed()
			expect(recover(crashed.crash(), DIRECTORY).tree.get('/new')).toBeDefined()
		}
		// With all of it the batch is there whole.
		expect(recover(disk.crash(unsynced), DIRECTORY).zxid).toBe(zxid + 2)
		disk.releaseSyncs()
	})

	test('a tail of zeros is cut', async () => {
		const disk = new MemoryDisk()
		const driver = new StorageDriver(disk)
		await someHistory(driver)
		const content = disk.files.get('/data/log.0000000000000001')
		if (content !== undefined) content.bytes = Buffer.concat([content.bytes, Buffer.alloc(512)])
		const again = recover(disk, DIRECTORY)
		expect([again.zxid, again.cutBytes]).toEqual([driver.zxid, 512])
	})

	test('a broken frame before a right one is damage, named by file and position', async () => {
		const disk = new MemoryDisk()
		await someHistory(new StorageDriver(disk))
		const content = disk.files.get('/data/log.0000000000000001')
		if (content !== undefined) content.bytes[20] = (content.bytes[20] as number) ^ 1
		expect(() => recover(disk, DIRECTORY)).toThrow(StorageDamage)
		expect(() => recover(disk, DIRECTORY)).toThrow('log.0000000000000001 at 0')
	})

	test('a missing log is damage', async () => {
		const disk = new MemoryDisk()
		const driver = new StorageDriver(disk, { snapshotTransactions: 3 })
		for (let i = 0; i < 9; i++) {
			driver.create(`/n${i}`)
			await driver.flushed()
		}
		await driver.storage.close()
		for (const name of [...disk.files.keys()]) if (name.includes('snapshot')) disk.files.delete(name)
		const logs = [...disk.files.keys()].sort()
		expect(logs.length).toBeGreaterThan(2)
		disk.files.delete(logs[1] as string)
		expect(() => recover(disk, DIRECTORY)).toThrow(StorageDamage)
	})
})

describe('group commit', () => {
	test('what comes while a sync runs goes down with the next, and nothing is durable before its sync', async () => {
		const disk = new MemoryDisk()
		const driver = new StorageDriver(disk)
		disk.holdsSyncs = true
		driver.create('/a')
		driver.storage.flush()
		driver.create('/b')
		driver.create('/c')
		driver.storage.flush()
		await Promise.resolve()
		expect(driver.durable).toBe(0)
		disk.releaseSyncs()
		await until('the first batch', () => driver.durable === 1)
		disk.releaseSyncs()
		await until('the second batch', () => driver.durable === 3)
		expect(driver.storage.syncs).toBe(2)
	})

	test('a failed sync is told, and nothing becomes durable any more', async () => {
		const disk = new MemoryDisk()
		const driver = new StorageDriver(disk)
		disk.failsSyncs = true
		driver.create('/a')
		driver.storage.flush()
		await until('the failure', () => driver.failed)
		disk.failsSyncs = false
		driver.create('/b')
		driver.storage.flush()
		await driver.storage.close()
		expect(driver.durable).toBe(0)
	})
})

describe('snapshots', () => {
	test('are written while changes go on, and old files are removed', async () => {
		const disk = new MemoryDisk()
		const driver = new StorageDriver(disk, { snapshotTransactions: 50 })
		for (let i = 0; i < 1500; i++) {
			driver.create(`/n${i}`)
			if (i % 7 === 0) await driver.flushed()
			// Whatever state the snapshot is in, a power loss now leaves exactly what was synced.
			if (i % 35 === 0) expect(describeTree(recover(disk.crash(), DIRECTORY).tree)).toBe(describeTree(driver.tree))
			if (i % 3 === 0) driver.commit([{ kind: 'remove', path: `/n${i}` }])
			if (i % 5 === 1 && i % 3 !== 0)
				driver.commit([{ kind: 'set', path: `/n${i}`, data: Buffer.from(`${i}`), version: 1 }])
		}
		await driver.flushed()
		await until('a snapshot to be done', () => !disk.files.has('/data/snapshot.tmp'))
		await driver.storage.close()
		const names = [...disk.files.keys()]
		expect(names.filter((name) => name.includes('snapshot.'))).toHaveLength(3)
		const again = recover(disk.crash(), DIRECTORY)
		expect(again.zxid).toBe(driver.zxid)
		expect(describeTree(again.tree)).toBe(describeTree(driver.tree))
	})

	test('a broken newest snapshot is passed over for an older one', async () => {
		const disk = new MemoryDisk()
		const driver = new StorageDriver(disk, { snapshotTransactions: 20 })
		for (let i = 0; i < 100; i++) {
			driver.create(`/n${i}`)
			await driver.flushed()
		}
		await until('a snapshot to be done', () => !disk.files.has('/data/snapshot.tmp'))
		await driver.storage.close()
		const newest = [...disk.files.keys()]
			.filter((name) => name.includes('snapshot.'))
			.sort()
			.at(-1) as string
		const content = disk.files.get(newest)
		if (content !== undefined) content.bytes = content.bytes.subarray(0, content.bytes.length - 1)
		expect(describeTree(recover(disk, DIRECTORY).tree)).toBe(describeTree(driver.tree))
	})

	test('whatever is replayed on a state that holds it already changes nothing', async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(fc.tuple(fc.nat(3), fc.nat(5), fc.nat(5)), { maxLength: 60 }), async (steps) => {
				const disk = new MemoryDisk()
				const driver = new StorageDriver(disk)
				for (const [kind, a, b] of steps) randomStep(driver, kind, a, b)
				await driver.flushed()
				// Recover, then replay the whole log once more on the result.
				const first = recover(disk.crash('all'), DIRECTORY)
				const expected = describeTree(first.tree)
				expect(expected).toBe(describeTree(driver.tree))
				for (const [zxid, changes] of history(disk)) {
					for (const change of changes) first.tree.replay(change, zxid, 1000 + zxid)
				}
				expect(first.tree.link()).toBeNull()
				expect(describeTree(first.tree)).toBe(expected)
			}),
			{ numRuns: 60 },
		)
	})
})

function randomStep(driver: StorageDriver, kind: number, a: number, b: number): void {
	const parent = `/p${a}`
	const child = `${parent}/c${b}`
	const path = b === 0 ? parent : child
	const node = driver.tree.get(path)
	if (kind === 0 && node === undefined && (path === parent || driver.tree.get(parent) !== undefined))
		driver.create(path)
	else if (kind === 1 && node !== undefined && driver.tree.children(node).size === 0)
		driver.commit([{ kind: 'remove', path }])
	else if (kind === 2 && node !== undefined) {
		driver.commit([{ kind: 'set', path, data: Buffer.from(`${driver.zxid}`), version: node.version + 1 }])
	} else if (kind === 3 && node !== undefined) {
		driver.commit([{ kind: 'setAcl', path, acl: WORLD_ALL, aversion: node.aversion + 1 }])
	}
}

/** Every transaction of the only log. */
function history(disk: MemoryDisk): [number, readonly TreeChange[]][] {
	const bytes = disk.files.get('/data/log.0000000000000001')?.bytes ?? Buffer.alloc(0)
	const found: [number, readonly TreeChange[]][] = []
	for (let at = 0; at < bytes.length; ) {
		const payload = readFrame(bytes, at)
		if (payload === null) break
		const reader = new JuteReader(payload)
		while (reader.left > 0) {
			const { zxid, changes } = transaction.read(reader)
			found.push([zxid, changes])
		}
		at += 12 + payload.length
	}
	return found
}
