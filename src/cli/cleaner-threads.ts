/**
 * Compaction in worker threads of the broker's process. A thread works for one pass at a time, is kept for the next, and
 * ends when there was none for a while: a broker without compacted topics never has one.
 */

import { Worker } from 'node:worker_threads'
import { type PackedError, packError, unpackError } from '../engine/log/cleaner/pass-errors.js'
import {
	type PassJob,
	PassLost,
	type PassPorts,
	type PassResult,
	type PassRunner,
	type RunnerHost,
} from '../engine/log/cleaner/pass-job.js'

/** To the thread: a job, or the answer to its last call. `over` becomes 1 when the pass has to end. */
export type ToThread =
	| { readonly type: 'job'; readonly job: PassJob; readonly over: Int32Array }
	| { readonly type: 'answer'; readonly error: PackedError | null }

/** From the thread: a call of the host, one at a time, or the end of the pass. */
export type FromThread =
	| { readonly type: 'flush' }
	| { readonly type: 'swapIn'; readonly base: number; readonly bytes: number; readonly replaced: readonly number[] }
	| { readonly type: 'charge'; readonly bytes: number }
	| { readonly type: 'done'; readonly result: PassResult }
	| { readonly type: 'failed'; readonly error: PackedError }

const IDLE_MS = 30_000

export class CleanerThreads implements PassRunner {
	readonly #entry: URL
	readonly #idle = new Map<Worker, NodeJS.Timeout>()
	readonly #all = new Set<Worker>()

	constructor(entry: URL = new URL('./cleaner-thread.js', import.meta.url)) {
		this.#entry = entry
	}

	async run(_ports: PassPorts, job: PassJob, host: RunnerHost): Promise<PassResult> {
		const worker = this.#take()
		const over = new Int32Array(new SharedArrayBuffer(4))
		host.onOver(() => Atomics.store(over, 0, 1))
		try {
			return await converse(worker, { type: 'job', job, over }, host)
		} finally {
			if (this.#all.has(worker)) this.#keep(worker)
		}
	}

	async close(): Promise<void> {
		for (const timer of this.#idle.values()) clearTimeout(timer)
		this.#idle.clear()
		await Promise.all([...this.#all].map((worker) => worker.terminate()))
	}

	#take(): Worker {
		for (const [worker, timer] of this.#idle) {
			clearTimeout(timer)
			this.#idle.delete(worker)
			worker.ref()
			return worker
		}
		const worker = startThread(this.#entry)
		this.#all.add(worker)
		// The pass that it had is told by its own listener.
		worker.on('error', () => undefined)
		worker.once('exit', () => {
			this.#all.delete(worker)
			clearTimeout(this.#idle.get(worker))
			this.#idle.delete(worker)
		})
		return worker
	}

	#keep(worker: Worker): void {
		worker.unref()
		const timer = setTimeout(() => void worker.terminate(), IDLE_MS)
		timer.unref()
		this.#idle.set(worker, timer)
	}
}

/** Throws {@link PassLost} when the system gives none. */
function startThread(entry: URL): Worker {
	try {
		return new Worker(entry)
	} catch (error) {
		throw new PassLost(`no thread for the cleaner: ${error instanceof Error ? error.message : String(error)}`)
	}
}

/** One pass with a thread; rejects with {@link PassLost} when the thread ends under it. */
function converse(worker: Worker, job: ToThread, host: RunnerHost): Promise<PassResult> {
	return new Promise<PassResult>((resolve, reject) => {
		let reason = 'it ended'
		const settle = (end: () => void): void => {
			worker.off('message', onMessage)
			worker.off('error', onError)
			worker.off('exit', onExit)
			end()
		}
		const onMessage = (message: FromThread): void => {
			if (message.type === 'done') settle(() => resolve(message.result))
			else if (message.type === 'failed') settle(() => reject(unpackError(message.error)))
			else {
				answer(host, message).then(
					() => worker.postMessage({ type: 'answer', error: null } satisfies ToThread),
					(error: unknown) => worker.postMessage({ type: 'answer', error: packError(error) } satisfies ToThread),
				)
			}
		}
		const onError = (error: Error): void => {
			reason = error.message
		}
		const onExit = (): void => settle(() => reject(new PassLost(`the thread of the cleaner is lost: ${reason}`)))
		worker.on('message', onMessage)
		worker.on('error', onError)
		worker.on('exit', onExit)
		worker.postMessage(job)
	})
}

async function answer(host: RunnerHost, call: Exclude<FromThread, { type: 'done' | 'failed' }>): Promise<void> {
	if (call.type === 'flush') await host.flush()
	else if (call.type === 'charge') await host.charge(call.bytes)
	else await host.swapIn(call.base, call.bytes, call.replaced)
}
