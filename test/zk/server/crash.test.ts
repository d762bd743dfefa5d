/**
 * The process dies in the middle of any write, at every byte of the log and of snapshots, and between any two operations
 * on the disk; or the machine loses power there. Afterwards every acknowledged transaction is there, and of the others
 * each is there whole or not at all, in order. A disk that is full never costs what was acknowledged.
 */

import { describe, expect, test } from 'vitest'
import { DiskError } from '../../../src/runtime/ports.js'
import { recover } from '../../../src/zk/server/recovery.js'
import { SimDisk } from '../../sim/disk.js'
import { DIRECTORY, describeTree, StorageDriver } from './storage-driver.js'

const OPTIONS = { snapshotTransactions: 4 }

/** What clients may see after each zxid: the tree, and the sessions. */
class States {
	readonly #texts: string[] = []

	note(driver: StorageDriver): void {
		this.#texts[driver.zxid] = text(driver)
	}

	at(zxid: number): string | undefined {
		return this.#texts[zxid]
	}
}

const text = (driver: Pick<StorageDriver, 'tree' | 'sessions'>): string =>
	[...[...driver.sessions.values()].map(({ id, timeoutMs }) => `${id}:${timeoutMs}`), describeTree(driver.tree)].join(
		'\n',
	)

/** Five batches of two or three transactions; snapshots are taken in between. Ends early when the disk fails. */
async function work(driver: StorageDriver, states: States): Promise<void> {
	states.note(driver)
	const steps: (() => void)[] = [
		() => driver.commit([], { kind: 'opened', timeoutMs: 4000, password: Buffer.alloc(16, 7) }),
		() => driver.create('/a', 'first'),
		() => driver.create('/a/b', 'x'),
		() => driver.create('/e', 'mine', 5n),
		() => driver.commit([{ kind: 'set', path: '/a/b', data: Buffer.from('second'), version: 1 }]),
		() => driver.create('/a/c', 'y'),
		() =>
			driver.commit([
				{ kind: 'set', path: '/a', data: Buffer.from('multi'), version: 1 },
				{ kind: 'remove', path: '/a/c' },
				{ kind: 'set', path: '/a/b', data: null, version: 2 },
			]),
		() => driver.commit([{ kind: 'remove', path: '/e' }], { kind: 'closed' }),
		() => driver.create('/d', 'z'),
		() => driver.commit([{ kind: 'remove', path: '/a/b' }]),
		() => driver.create('/a/b', 'again'),
	]
	for (const [index, step] of steps.entries()) {
		if (driver.failed !== null) return
		step()
		states.note(driver)
		if (index % 2 === 1) await driver.flushed()
	}
	await driver.flushed()
	await driver.storage.close()
}

/** Plays the work on a disk that dies or fails as `arm` says, then recovers and checks. */
async function crashAndCheck(
	arm: (disk: SimDisk) => void,
	kind: 'process' | 'power',
	random: () => number,
	what: string,
): Promise<void> {
	const disk = new SimDisk()
	disk.makeDirectoryNow(DIRECTORY)
	disk.syncDirectoryNow('/')
	const states = new States()
	const driver = new StorageDriver(disk, OPTIONS)
	arm(disk)
	await work(driver, states)
	disk.restart(kind, random)
	const again = new StorageDriver(disk, OPTIONS)
	expect(again.zxid, what).toBeGreaterThanOrEqual(driver.durable)
	expect(text(again), `${what}, zxid ${again.zxid}`).toBe(states.at(again.zxid))
	// What it shows from now on is on the disk.
	disk.restart('power', random)
	expect(text(new StorageDriver(disk, OPTIONS)), what).toBe(text(again))
	// It goes on, and that stays too.
	const third = new StorageDriver(disk, OPTIONS)
	third.create('/after')
	await third.flushed()
	expect(third.failed, what).toBeNull()
	await third.storage.close()
	disk.restart('power', random)
	expect(describeTree(recover(disk, DIRECTORY).tree), what).toBe(describeTree(third.tree))
}

/** Small seeded generator. */
function seeded(seed: number): () => number {
	let state = seed + 1
	return () => {
		state = (Math.imul(state, 48_271) + 11) >>> 0
		return (state % 10_007) / 10_007
	}
}

/** What the whole work writes and asks of the disk. */
async function whole(): Promise<{ bytes: number; operations: number; snapshots: number }> {
	const disk = new SimDisk()
	disk.makeDirectoryNow(DIRECTORY)
	const driver = new StorageDriver(disk, OPTIONS)
	const before = disk.operations
	await work(driver, new States())
	expect(driver.failed).toBeNull()
	const snapshots = disk.listNow(DIRECTORY).filter(({ name }) => name.startsWith('snapshot.')).length
	return { bytes: disk.bytesWritten, operations: disk.operations - before, snapshots }
}

describe('a crash', () => {
	test('at every byte that is written, to the log and to snapshots', async () => {
		const { bytes, snapshots } = await whole()
		expect(snapshots).toBeGreaterThanOrEqual(2)
		expect(bytes).toBeGreaterThan(1000)
		for (let at = 0; at < bytes; at++) {
			const arm = (disk: SimDisk): void => {
				disk.crashAfterBytes = at
			}
			await crashAndCheck(arm, 'process', seeded(at), `process, byte ${at}`)
			await crashAndCheck(arm, 'power', seeded(at), `power, byte ${at}`)
		}
	}, 120_000)

	test('before every operation on the disk', async () => {
		const { operations } = await whole()
		for (let at = 0; at < operations; at++) {
			const arm = (disk: SimDisk): void => {
				disk.crashAfterOperations = at
			}
			await crashAndCheck(arm, 'process', seeded(at), `process, operation ${at}`)
			for (let seed = 0; seed < 6; seed++) {
				await crashAndCheck(arm, 'power', seeded(at * 6 + seed), `power, operation ${at}, seed ${seed}`)
			}
		}
	}, 120_000)
})

describe('a disk that fails', () => {
	test('full or broken at any operation: told, and nothing acknowledged is lost', async () => {
		const { operations } = await whole()
		for (const code of ['ENOSPC', 'EIO']) {
			for (let at = 0; at < operations; at++) {
				let count = 0
				let operation = ''
				const disk = new SimDisk()
				disk.makeDirectoryNow(DIRECTORY)
				const states = new States()
				const driver = new StorageDriver(disk, OPTIONS)
				disk.fail = (name) => {
					if (count++ < at || (name === 'read' && count > at + 1)) return null
					if (operation === '') operation = name
					// A full disk goes on taking removals and reads; so does a broken one, here.
					return ['write', 'sync', 'open', 'rename'].includes(name) ? code : null
				}
				await work(driver, states)
				const what = `${code} at ${at} (${operation})`
				if (driver.failed !== null) expect(driver.failed, what).toBeInstanceOf(DiskError)
				const acknowledged = driver.durable
				disk.restart('process', seeded(at))
				const again = new StorageDriver(disk, OPTIONS)
				expect(again.zxid, what).toBeGreaterThanOrEqual(acknowledged)
				expect(text(again), what).toBe(states.at(again.zxid))
			}
		}
	}, 60_000)

	test('that has no room for a snapshot goes on with the log, and takes the snapshot when there is room', async () => {
		const disk = new SimDisk()
		disk.makeDirectoryNow(DIRECTORY)
		const driver = new StorageDriver(disk, OPTIONS)
		disk.fail = (operation, path) => (operation === 'write' && path.endsWith('snapshot.tmp') ? 'ENOSPC' : null)
		for (let i = 0; i < 20; i++) {
			driver.create(`/n${i}`)
			await driver.flushed()
		}
		expect([driver.failed, driver.durable]).toEqual([null, 20])
		const names = (): string[] => disk.listNow(DIRECTORY).map(({ name }) => name)
		expect(names().filter((name) => name.startsWith('snapshot'))).toEqual([])
		disk.fail = () => null
		for (let i = 20; i < 30; i++) {
			driver.create(`/n${i}`)
			await driver.flushed()
		}
		await driver.storage.close()
		expect(names().filter((name) => name.startsWith('snapshot.')).length).toBeGreaterThan(0)
		expect(describeTree(recover(disk, DIRECTORY).tree)).toBe(describeTree(driver.tree))
	})
})
