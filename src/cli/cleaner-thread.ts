/** The worker thread of {@link CleanerThreads}: makes the passes that it is sent, and asks for what only the log can do. */

import { parentPort } from 'node:worker_threads'
import { makePass } from '../engine/log/cleaner/pass.js'
import { packError, unpackError } from '../engine/log/cleaner/pass-errors.js'
import { CleaningAborted, type PassHost } from '../engine/log/cleaner/pass-job.js'
import { loadNativeCrc32c } from '../runtime/node-crc.js'
import { nodeRuntime } from '../runtime/node-runtime.js'
import type { FromThread, ToThread } from './cleaner-threads.js'

loadNativeCrc32c()
const ports = nodeRuntime()

function post(message: FromThread): void {
	parentPort?.postMessage(message)
}

let answered: ((error: Error | null) => void) | null = null

function call(message: FromThread): Promise<void> {
	return new Promise((resolve, reject) => {
		answered = (error) => (error === null ? resolve() : reject(error))
		post(message)
	})
}

function hostOf(over: Int32Array): PassHost {
	return {
		get isOver() {
			return Atomics.load(over, 0) === 1
		},
		flush: () => call({ type: 'flush' }),
		swapIn: (base, bytes, replaced) => call({ type: 'swapIn', base, bytes, replaced }),
		charge: (bytes) => call({ type: 'charge', bytes }),
	}
}

parentPort?.on('message', (message: ToThread) => {
	if (message.type === 'answer') {
		const settle = answered
		answered = null
		settle?.(message.error === null ? null : unpackError(message.error))
		return
	}
	const { job, over } = message
	const host = hostOf(over)
	makePass(ports, job, host).then(
		(result) => post({ type: 'done', result }),
		(error: unknown) => post({ type: 'failed', error: packError(host.isOver ? new CleaningAborted(job.log) : error) }),
	)
})
