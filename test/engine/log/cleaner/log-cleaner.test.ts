/** The background cleaner as the log manager runs it: choice, checkpoint, pauses, and logs that cannot be cleaned. */

import { describe, expect, test } from 'vitest'
import { partitionKey } from '../../../../src/base/ids.js'
import type { CleanerSettings } from '../../../../src/engine/log/cleaner/log-cleaner.js'
import type { LogConfig } from '../../../../src/engine/log/log-config.js'
import type { LogManager } from '../../../../src/engine/log/manager.js'
import { DEFAULT_CLEANER_SETTINGS } from '../../../../src/engine/log/manager-settings.js'
import type { PartitionLog } from '../../../../src/engine/log/partition-log.js'
import { SimDisk } from '../../../sim/disk.js'
import { World } from '../setup.js'
import { append, COMPACTED, limits, openCompacted, pairs, rollOver, textOf } from './setup.js'

interface Running {
	readonly world: World
	readonly manager: LogManager
	readonly disk: SimDisk
	readonly settings: { current: CleanerSettings }
	open(topic: string, config?: Partial<LogConfig>): Promise<PartitionLog>
	/** Lets what is under way come to rest. */
	rest(): Promise<void>
	checkpoint(): string[]
}

async function start(disk = new SimDisk(), some: Partial<CleanerSettings> = {}): Promise<Running> {
	const world = new World(disk)
	const settings = { current: { ...DEFAULT_CLEANER_SETTINGS, backoffMs: 100, ...some } }
	const manager = world.manager({ cleaner: () => settings.current, retentionCheckMs: Number.POSITIVE_INFINITY })
	await manager.open({ clusterId: 'c', brokerId: 1, configFor: () => COMPACTED })
	const path = '/data/cleaner-offset-checkpoint'
	return {
		world,
		manager,
		disk,
		settings,
		open: async (topic, config = {}) =>
			await manager.getOrCreate({ topic, partition: 0 }, null, { ...COMPACTED, ...config }),
		rest: async () => {
			for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
		},
		checkpoint: () => (disk.statNow(path) === null ? [] : disk.readFileNow(path).toString().trimEnd().split('\n')),
	}
}

async function fill(log: PartitionLog, count: number, keys = 3): Promise<void> {
	for (let i = 0; i < count; i++) await append(log, pairs([[`k${i % keys}`, String(i).padEnd(100)]]))
	log.advanceHighWatermark(log.logEndOffset)
}

const linesOf = ({ world }: Running, message: string): number =>
	world.lines.filter((line) => line.message === message).length

describe('the background', () => {
	test('21.1 compacts what is due after log.cleaner.backoff.ms, and writes the checkpoint as Kafka does', async () => {
		const running = await start()
		const log = await running.open('a')
		await fill(log, 30)
		const before = log.sizeBytes
		await running.rest()
		expect(log.sizeBytes).toBe(before)
		running.world.clock.advance(100)
		await running.rest()
		expect(log.sizeBytes).toBeLessThan(before / 2)
		expect(log.cleanedOffset).toBe(log.segments().at(-1)?.baseOffset)
		expect(running.checkpoint()).toEqual(['0', '1', `a 0 ${log.cleanedOffset}`])
		await running.manager.close(1n)
		const again = await start(running.disk)
		expect(again.manager.get(partitionKey('a', 0))?.cleanedOffset).toBe(log.cleanedOffset)
		await again.manager.close(1n)
	})

	test('21.1 the dirtiest log is first; what is not due or not compacted is let be', async () => {
		const running = await start()
		const half = await running.open('half')
		const full = await running.open('full')
		const plain = await running.open('plain', { isCompacted: false, isDeleted: true })
		const lazy = await running.open('lazy', { minCleanableDirtyRatio: 1 })
		await fill(half, 30)
		running.world.clock.advance(100)
		await running.rest()
		await fill(half, 10)
		await fill(full, 30)
		await fill(plain, 30)
		await fill(lazy, 30)
		running.world.clock.advance(100)
		await running.rest()
		const names = running.world.lines
			.filter(({ message }) => message === 'log is compacted')
			.map(({ fields }) => fields['log'])
		expect(names).toEqual(['half-0', 'full-0', 'half-0'])
		expect(await textOf(plain)).toHaveLength(30)
		await running.manager.close(1n)
	})

	test('21.9 a damaged log is marked and told once, others go on', async () => {
		const running = await start()
		const bad = await running.open('bad')
		const good = await running.open('good')
		await fill(bad, 30)
		await fill(good, 20)
		const file = running.disk.openNow('/data/bad-0/00000000000000000000.log', 'write')
		file.writeNow([Buffer.from([0xff])], 130)
		file.closeNow()
		const size = bad.sizeBytes
		for (let i = 0; i < 5; i++) {
			running.world.clock.advance(100)
			await running.rest()
		}
		expect(linesOf(running, 'log cannot be compacted, it is left as it is')).toBe(1)
		expect(bad.sizeBytes).toBe(size)
		expect(await textOf(good)).toHaveLength(3 + 20 - (good.cleanedOffset as number))
		expect(running.disk.listNow('/data/bad-0').filter(({ name }) => name.includes('.cleaned'))).toEqual([])
		await running.manager.close(1n)
	})

	test('20.11 a disk error of a pass takes the dir offline', async () => {
		const running = await start()
		const log = await running.open('a')
		await fill(log, 30)
		running.disk.fail = (operation, path) => (operation === 'write' && path.endsWith('.cleaned') ? 'ENOSPC' : null)
		running.world.clock.advance(100)
		await running.rest()
		expect(log.isFenced).toBe(true)
		expect(running.manager.dirs()[0]?.isOnline).toBe(false)
		await running.manager.close(1n)
	})

	test('a worker that fails is told and goes on after the pause', async () => {
		const running = await start()
		const log = await running.open('a')
		await fill(log, 30)
		const sound = running.settings.current
		running.settings.current = { ...sound, loadFactor: Number.NaN }
		running.world.clock.advance(100)
		await running.rest()
		expect(linesOf(running, 'the cleaner failed, it goes on after a pause')).toBe(1)
		running.settings.current = sound
		const other = await running.open('b')
		await fill(other, 30)
		running.world.clock.advance(100)
		await running.rest()
		expect(other.cleanedOffset).not.toBeNull()
		await running.manager.close(1n)
	})

	test('log.cleaner.enable false: nothing is compacted', async () => {
		const running = await start(new SimDisk(), { isEnabled: false })
		const log = await running.open('a')
		await fill(log, 30)
		running.world.clock.advance(1000)
		await running.rest()
		expect(await textOf(log)).toHaveLength(30)
		await running.manager.close(1n)
	})

	test('log.cleaner.threads is as many passes at a time, and may change', async () => {
		const running = await start(new SimDisk(), { threads: 0 })
		const log = await running.open('a')
		await fill(log, 30)
		running.world.clock.advance(300)
		await running.rest()
		expect(log.cleanedOffset).toBeNull()
		running.settings.current = { ...running.settings.current, threads: 2 }
		running.manager.wakeCleaner()
		await running.rest()
		expect(log.cleanedOffset).not.toBeNull()
		await running.manager.close(1n)
	})
})

describe('the checkpoint', () => {
	test('21.2 outside the log it is reset to the log start', async () => {
		const running = await start()
		const log = await running.open('a')
		await fill(log, 30)
		running.world.clock.advance(100)
		await running.rest()
		await running.manager.close(1n)
		const file = running.disk.openNow('/data/cleaner-offset-checkpoint', 'fresh')
		file.writeNow([Buffer.from('0\n1\na 0 4000\n')], 0)
		file.closeNow()
		const again = await start(running.disk)
		const reopened = again.manager.get(partitionKey('a', 0)) as PartitionLog
		reopened.advanceHighWatermark(reopened.logEndOffset)
		again.world.clock.advance(100)
		await again.rest()
		expect(linesOf(again, 'cleaner checkpoint lies outside the log, it is reset')).toBe(1)
		expect(reopened.cleanedOffset).toBe(reopened.segments().at(-1)?.baseOffset)
		await again.manager.close(1n)
	})

	test('21.10 falls with a truncation, at once', async () => {
		const running = await start()
		const log = await running.open('a')
		await fill(log, 30)
		running.world.clock.advance(100)
		await running.rest()
		expect(log.cleanedOffset).toBeGreaterThan(10)
		await log.truncateTo(5)
		expect(log.cleanedOffset).toBeLessThanOrEqual(5)
		expect(running.checkpoint()).toEqual(['0', '1', `a 0 ${log.cleanedOffset}`])
		await log.truncateFullyAndStartAt(100)
		await running.rest()
		expect(log.dirtyRange(running.world.clock.wallMs())?.firstDirtyOffset).toBe(100)
		await running.manager.close(1n)
	})

	test('forgets deleted logs', async () => {
		const running = await start()
		for (const topic of ['a', 'b']) await fill(await running.open(topic), 30)
		running.world.clock.advance(100)
		await running.rest()
		expect(running.checkpoint()[1]).toBe('2')
		running.manager.delete(partitionKey('a', 0))
		running.world.clock.advance(100)
		expect(running.checkpoint().slice(1)).toEqual(['1', expect.stringMatching(/^b 0 /)])
		await running.manager.close(1n)
	})
})

describe('what a log meets while a pass works on it', () => {
	/** A pass that is held before its `at`th wait for the throttle. */
	async function held(at: number) {
		const opened = await openCompacted(new SimDisk())
		const { log, world } = opened
		for (let i = 0; i < 30; i++) await append(log, pairs([['k', String(i).padEnd(100)]]))
		log.advanceHighWatermark(log.logEndOffset)
		const range = log.dirtyRange(world.clock.wallMs())
		let count = 0
		let resume: () => void = () => undefined
		let reached: () => void = () => undefined
		const isHeld = new Promise<void>((resolve) => {
			reached = resolve
		})
		const { throttle } = limits(world)
		throttle.charge = () => {
			if (++count !== at) return null
			reached()
			return new Promise<void>((resolve) => {
				resume = resolve
			})
		}
		const done = log.clean(range as NonNullable<typeof range>, limits(world, { throttle })).then(
			() => 'done',
			(error: Error) => error.name,
		)
		await isHeld
		return { ...opened, done, resume: () => resume(), disk: world.disk as SimDisk }
	}

	test.each([1, 15, 21])('21.10 a truncation makes it give up (wait %d), and leaves no file', async (at) => {
		const { log, done, resume, disk } = await held(at)
		await log.truncateTo(20)
		resume()
		expect(await done).toBe('CleaningAborted')
		expect(log.logEndOffset).toBe(20)
		expect(disk.listNow('/data/t-0').filter(({ name }) => /cleaned|swap/.test(name))).toEqual([])
		await append(log, pairs([['k', 'after']]))
		expect((await textOf(log)).at(-1)).toBe('20 k=after')
	})

	test.each([1, 15, 21])(
		'21.10 a deletion makes it give up (wait %d), and a new log of that name is its own',
		async (at) => {
			const { manager, done, resume, disk } = await held(at)
			manager.delete(partitionKey('t', 0))
			const next = await manager.getOrCreate({ topic: 't', partition: 0 }, null, COMPACTED)
			await append(next, pairs([['k', 'new']]))
			resume()
			expect(await done).toBe('CleaningAborted')
			expect(await textOf(next)).toEqual(['0 k=new'])
			expect(disk.listNow('/data/t-0').filter(({ name }) => /cleaned|swap/.test(name))).toEqual([])
			await manager.close(1n)
		},
	)

	test('a change of cleanup.policy to delete makes it give up', async () => {
		const { log, done, resume } = await held(15)
		log.updateConfig({ ...log.config, isCompacted: false, isDeleted: true })
		resume()
		expect(await done).toBe('CleaningAborted')
	})

	test('appends, reads and time queries go on, retention waits', async () => {
		const { log, done, resume } = await held(21)
		log.updateConfig({ ...log.config, isDeleted: true, retentionBytes: 0 })
		expect(log.applyRetention()).toBe(0)
		await rollOver(log)
		expect((await textOf(log)).length).toBeGreaterThan(0)
		const found = log.offsetForTimestamp(1_700_000_000_000)
		resume()
		expect(await done).toBe('done')
		expect((await found)?.offset).toBeLessThanOrEqual(29)
		log.advanceHighWatermark(log.logEndOffset)
		expect(log.applyRetention()).toBeGreaterThan(0)
	})

	test('a stop of the manager ends it', async () => {
		const running = await start(new SimDisk(), { bytesPerSecondMax: 1 })
		const log = await running.open('a')
		await fill(log, 30)
		running.world.clock.advance(100)
		await running.rest()
		await running.manager.close(1n)
		expect(running.disk.openFiles).toBe(0)
		expect(log.cleanedOffset).toBeNull()
	})
})

describe('cleanup.policy', () => {
	test('21.8 20.4 compact,delete: retention by size and time too', async () => {
		const running = await start()
		running.disk.nowMs = running.world.clock.now
		const log = await running.open('a', { isDeleted: true, retentionMs: 1000 })
		await fill(log, 30)
		running.world.clock.advance(100)
		await running.rest()
		expect(log.logStartOffset).toBe(0)
		running.world.clock.advance(2000)
		await running.rest()
		expect(log.logStartOffset).toBe(30)
		await running.manager.close(1n)
	})

	test('20.4 compact alone: only what lies below the log start goes', async () => {
		const running = await start()
		const log = await running.open('a', { retentionMs: 1000, retentionBytes: 1, minCleanableDirtyRatio: 1 })
		await fill(log, 30)
		running.world.clock.advance(5000)
		await running.rest()
		expect(log.firstSegmentOffset).toBe(0)
		log.deleteRecordsTo(12)
		running.world.clock.advance(100)
		await running.rest()
		expect(log.firstSegmentOffset).toBeGreaterThan(0)
		expect(log.firstSegmentOffset).toBeLessThanOrEqual(12)
		await running.manager.close(1n)
	})

	test('a topic that becomes compacted is compacted, one that is no more is not', async () => {
		const running = await start()
		const log = await running.open('a', { isCompacted: false, isDeleted: true })
		await fill(log, 30)
		running.world.clock.advance(100)
		await running.rest()
		expect(log.cleanedOffset).toBeNull()
		log.updateConfig(COMPACTED)
		running.world.clock.advance(100)
		await running.rest()
		const cleaned = log.cleanedOffset
		expect(cleaned).not.toBeNull()
		log.updateConfig({ ...COMPACTED, isCompacted: false, isDeleted: true, retentionMs: -1 })
		await fill(log, 30)
		running.world.clock.advance(100)
		await running.rest()
		expect(log.cleanedOffset).toBe(cleaned)
		await running.manager.close(1n)
	})

	test('KIP-354 a compacted segment is closed after max.compaction.lag.ms', async () => {
		const opened = await openCompacted(new SimDisk(), { maxCompactionLagMs: 1000, segmentBytes: 1_000_000 })
		await append(opened.log, pairs([['a', '1']], { time: 5000 }))
		await append(opened.log, pairs([['a', '2']], { time: 6000 }))
		expect(opened.log.segments()).toHaveLength(1)
		await append(opened.log, pairs([['a', '3']], { time: 6001 }))
		expect(opened.log.segments()).toHaveLength(2)
	})
})
