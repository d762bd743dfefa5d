/** A worker thread of `kcli log verify`: checks one partition's folder a message. */

import { parentPort } from 'node:worker_threads'
import { checkPartition } from '../engine/log/verify/partition-check.js'
import { loadNativeCrc32c } from '../runtime/node-crc.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import type { FolderToCheck } from './log-verify.js'

/** The most that one batch may decompress to here. */
const PLAIN_BYTES_MAX = 256 * 1024 * 1024

interface Question extends FolderToCheck {
	readonly isDeep: boolean
}

loadNativeCrc32c()
const { disk, clock, compression } = nodeRuntime()

parentPort?.on('message', ({ path, logStartOffset, wasCompacted, isDeep }: Question) => {
	checkPartition(disk, clock, compression, path, {
		isDeep,
		decompressedBytesMax: PLAIN_BYTES_MAX,
		logStartOffset,
		wasCompacted,
	}).then(
		(report) => parentPort?.postMessage({ report }),
		(error: unknown) => parentPort?.postMessage({ problem: error instanceof Error ? error.message : String(error) }),
	)
})
