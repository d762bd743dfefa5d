import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { partitionKey } from '../../../src/base/ids.js'
import { DEFAULT_LOG_CONFIG } from '../../../src/engine/log/log-config.js'
import { LogManager } from '../../../src/engine/log/manager.js'
import { DEFAULT_LOG_SETTINGS } from '../../../src/engine/log/manager-settings.js'
import { buildBatch } from '../../../src/protocol/records/record.js'
import { SILENT } from '../../../src/runtime/logger.js'
import { nodeRuntime } from '../../../src/runtime/node-runtime.js'

let dir = ''
beforeEach(() => {
	dir = mkdtempSync(join(tmpdir(), 'kcli-log-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const options = { leaderEpoch: 0, origin: 'client', produceVersion: 9 } as const

test('append, read, roll, clean close and reopen on a real disk', async () => {
	const runtime = nodeRuntime()
	const make = (): LogManager =>
		new LogManager(runtime, { ...DEFAULT_LOG_SETTINGS, dataDirs: [dir] }, SILENT, { onDirFailed: () => undefined })
	const config = { ...DEFAULT_LOG_CONFIG, segmentBytes: 2000 }
	const open = { clusterId: 'c', brokerId: 1, configFor: () => config }
	const manager = make()
	await manager.lock()
	await manager.open(open)
	const log = await manager.getOrCreate({ topic: 'a.b-c', partition: 3 }, null, config)
	for (let i = 0; i < 100; i++) {
		const batch = buildBatch({ records: [{ timestamp: 1000 + i, key: null, value: Buffer.alloc(100, i) }] })
		const outcome = log.appendAsLeader(batch, options)
		expect(outcome).toMatchObject({ errorCode: 0, firstOffset: i, lastOffset: i })
	}
	log.advanceHighWatermark(100)
	const read = await log.read({ offset: 42, maxBytes: 1000, minOneBatch: true, upTo: 'highWatermark' })
	expect(read).toMatchObject({ errorCode: 0, firstOffset: 42 })
	expect(log.segments().length).toBeGreaterThan(5)
	await expect(make().lock()).rejects.toThrow('in use')
	expect(await manager.close(7n)).toEqual([])
	const again = make()
	await again.lock()
	await again.open(open)
	const reopened = again.get(partitionKey('a.b-c', 3))!
	expect(reopened.logEndOffset).toBe(100)
	reopened.advanceHighWatermark(100)
	const slice = await reopened.read({ offset: 42, maxBytes: 1000, minOneBatch: true, upTo: 'highWatermark' })
	expect(slice).toMatchObject({ errorCode: 0, firstOffset: 42 })
	expect(await reopened.offsetForTimestamp(1050)).toMatchObject({ offset: 50, timestamp: 1050 })
	expect(await reopened.offsetOfMaxTimestamp()).toMatchObject({ offset: 99 })
	await again.close(8n)
})
