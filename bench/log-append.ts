/**
 * Speed of `appendAsLeader` with all checks on: 1 KB records in 1 MB batches, 100-byte records, one small batch at a time.
 * Files of 64 MB are written over and over (segments are deleted as they fill), so at most some 200 MB of page cache are in
 * play and write-back does not decide: `npm run bench:log-append`.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_LOG_CONFIG, type LogConfig } from '../src/engine/log/log-config.js'
import { LogManager } from '../src/engine/log/manager.js'
import { DEFAULT_LOG_SETTINGS } from '../src/engine/log/manager-settings.js'
import type { PartitionLog } from '../src/engine/log/partition-log.js'
import { stampBatch } from '../src/protocol/records/batch.js'
import { buildBatch } from '../src/protocol/records/record.js'
import { SILENT } from '../src/runtime/logger.js'
import { nodeRuntime } from '../src/runtime/node-runtime.js'

const options = { leaderEpoch: 0, origin: 'client', produceVersion: 9 } as const
const SEGMENT_BYTES = 64 * 1024 * 1024

function batchOf(recordBytes: number, batchBytes: number): Buffer {
	const value = Buffer.alloc(recordBytes, 0x61)
	const records = []
	for (let i = 0; i * (recordBytes + 8) < batchBytes; i++)
		records.push({ timestamp: 1_700_000_000_000 + i, key: null, value })
	return buildBatch({ records })
}

/** Appends copies of one batch, as a socket would hand them over, and reports rates. */
function run(log: PartitionLog, name: string, recordBytes: number, batchBytes: number, totalBytes: number): void {
	const source = batchOf(recordBytes, batchBytes)
	const records = source.readInt32BE(57)
	const count = Math.max(1, Math.floor(totalBytes / source.length))
	const pool: Buffer[] = []
	for (let i = 0; i < 70; i++) pool.push(Buffer.from(source))
	let worst = 0
	let spent = 0
	for (let i = 0; i < count; i++) {
		// The bytes are as a client sends them; the log has stamped them the time before.
		const batch = source.length > 100_000 ? (pool[i % pool.length] as Buffer) : Buffer.from(source)
		stampBatch(batch, 0, 0, -1)
		const start = performance.now()
		const outcome = log.appendAsLeader(batch, options)
		const took = performance.now() - start
		spent += took
		if (took > worst) worst = took
		if (outcome instanceof Promise || outcome.errorCode !== 0) throw new Error(JSON.stringify(outcome))
		log.advanceHighWatermark(log.logEndOffset)
		if (i % 64 === 63 && log.segments().length > 2) log.applyRetention()
	}
	const mb = (count * source.length) / 1e6
	const rate = (count * records) / spent / 1000
	console.log(
		`${name.padEnd(28)} ${(mb / (spent / 1000)).toFixed(0).padStart(6)} MB/s ${rate.toFixed(2).padStart(7)} M records/s ` +
			`${((spent * 1000) / count).toFixed(1).padStart(8)} µs a batch, worst ${worst.toFixed(1)} ms`,
	)
}

const directory = mkdtempSync(join(process.env['BENCH_DIR'] ?? tmpdir(), 'kcli-bench-'))
const manager = new LogManager(nodeRuntime(), { ...DEFAULT_LOG_SETTINGS, dataDirs: [directory] }, SILENT, {
	onDirFailed: (_path, _partitions, error) => console.error(error),
})
const config: LogConfig = {
	...DEFAULT_LOG_CONFIG,
	segmentBytes: SEGMENT_BYTES,
	retentionBytes: SEGMENT_BYTES,
	fileDeleteDelayMs: 0,
	maxMessageBytes: 2_000_000,
}
await manager.open({ clusterId: 'bench', brokerId: 1, configFor: () => config })
const log = await manager.getOrCreate({ topic: 'bench', partition: 0 }, null, config)
const rounds = Number(process.env['ROUNDS'] ?? 2)
for (let round = 0; round < rounds; round++) {
	run(log, '1 KB records, 1 MB batches', 1024, 1_000_000, 1_000_000_000)
	await new Promise((resolve) => setTimeout(resolve, 50))
	run(log, '100 B records, 1 MB batches', 92, 1_000_000, 700_000_000)
	await new Promise((resolve) => setTimeout(resolve, 50))
	run(log, '100 B records, 16 KB batches', 92, 16_000, 300_000_000)
	await new Promise((resolve) => setTimeout(resolve, 50))
	run(log, 'one 200 B batch', 130, 1, 20_000_000)
}
await manager.close(0n)
rmSync(directory, { recursive: true, force: true })
