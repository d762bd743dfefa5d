/** Passes of compaction in worker threads: what is asked and answered, and what becomes of a pass whose thread ends. */

import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { CodecError } from '../../src/base/compression.js'
import { CleanerThreads } from '../../src/cli/cleaner-threads.js'
import { packError, unpackError } from '../../src/engine/log/cleaner/pass-errors.js'
import { CleaningAborted, type PassJob, PassLost, type RunnerHost } from '../../src/engine/log/cleaner/pass-job.js'
import { SegmentDamage } from '../../src/engine/log/segment.js'
import { IndexDamage } from '../../src/engine/log/sparse-index.js'
import { RecordFormatError } from '../../src/protocol/records/fields.js'
import { nodeRuntime } from '../../src/runtime/node-runtime.js'
import { DiskError } from '../../src/runtime/ports.js'
import { Cleanup } from '../helpers/processes.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

/** A thread of that script; `port` is its end. */
function threads(script: string): CleanerThreads {
	const path = `${cleanup.folder()}/thread.mjs`
	writeFileSync(path, `import { parentPort as port } from 'node:worker_threads'\n${script}`)
	const made = new CleanerThreads(pathToFileURL(path))
	cleanup.add(() => made.close())
	return made
}

const job = { log: 't-0', directory: '/nowhere', hashKey: new Uint8Array(16) } as unknown as PassJob
const ports = nodeRuntime()

function hostOf(calls: unknown[]): RunnerHost & { end(): void } {
	let listener: (() => void) | null = null
	let isOver = false
	return {
		get isOver() {
			return isOver
		},
		onOver: (told) => {
			listener = told
		},
		end: () => {
			isOver = true
			listener?.()
		},
		flush: async () => void calls.push('flush'),
		swapIn: async (base, bytes, replaced) => {
			calls.push([base, bytes, replaced])
			if (base < 0) throw new DiskError('rename', '/f', 'EIO')
		},
		charge: () => null,
	}
}

describe('a pass in a thread', () => {
	it('asks in order, is answered, and the thread is used again', async () => {
		const passes = threads(`
			let job = 0
			const ask = (message) => new Promise((resolve) => { port.once('message', resolve); port.postMessage(message) })
			port.on('message', async (message) => {
				if (message.type !== 'job') return
				job++
				await ask({ type: 'flush' })
				await ask({ type: 'charge', bytes: 5 })
				const { error } = await ask({ type: 'swapIn', base: job === 2 ? -1 : 0, bytes: 7, replaced: [0, 3] })
				if (error) port.postMessage({ type: 'failed', error })
				else port.postMessage({ type: 'done', result: { endOffset: job } })
			})`)
		const calls: unknown[] = []
		expect(await passes.run(ports, job, hostOf(calls))).toEqual({ endOffset: 1 })
		const failed = passes.run(ports, job, hostOf(calls))
		await expect(failed).rejects.toMatchObject({ name: 'DiskError', operation: 'rename', path: '/f', code: 'EIO' })
		await expect(failed).rejects.toThrow(DiskError)
		expect(await passes.run(ports, job, hostOf(calls))).toEqual({ endOffset: 3 })
		expect(calls).toEqual(['flush', [0, 7, [0, 3]], 'flush', [-1, 7, [0, 3]], 'flush', [0, 7, [0, 3]]])
	})

	it('hears that it is over while it works', async () => {
		const passes = threads(`
			port.on('message', (message) => {
				while (Atomics.load(message.over, 0) === 0) Atomics.wait(message.over, 0, 0, 5)
				port.postMessage({ type: 'failed', error: { kind: 'aborted', text: message.job.log } })
			})`)
		const host = hostOf([])
		const ended = passes.run(ports, job, host)
		host.end()
		await expect(ended).rejects.toThrow(CleaningAborted)
	})

	it('whose thread ends is lost, and the next one has a new thread', async () => {
		const passes =
			threads(`port.on('message', ({ job }) => { if (job.log === 't-0') throw new Error('out of everything')
			port.postMessage({ type: 'done', result: { endOffset: 9 } }) })`)
		const lost = passes.run(ports, job, hostOf([]))
		await expect(lost).rejects.toThrow(PassLost)
		await expect(lost).rejects.toThrow(/out of everything/)
		expect(await passes.run(ports, { ...job, log: 'u-0' }, hostOf([]))).toEqual({ endOffset: 9 })
	})
})

it.each([
	new DiskError('read', '/p', 'EIO'),
	new SegmentDamage('/p', 7, 'batch is cut'),
	new IndexDamage('/p', 'half an entry'),
	new CodecError('lz4', 'broken', 'no frame'),
	new RecordFormatError('record is cut'),
	new CleaningAborted('t-0'),
])('$name comes through whole', (error) => {
	const back = unpackError(structuredClone(packError(error)))
	expect(back).toBeInstanceOf(error.constructor)
	expect({ ...back, message: back.message }).toEqual({ ...error, message: error.message })
})
