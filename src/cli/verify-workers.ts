/** Checks of partitions, spread over worker threads: each takes the next folder when it is done with one. */

import { Worker } from 'node:worker_threads'
import type { PartitionReport } from '../engine/log/verify/partition-check.js'
import type { FolderToCheck } from './log-verify.js'

/** Reports in the order of `folders`. A thread more costs its start: few folders are checked by few. */
export async function checkFolders(
	folders: readonly FolderToCheck[],
	isDeep: boolean,
	jobs: number,
): Promise<PartitionReport[]> {
	const reports: PartitionReport[] = []
	let next = 0
	const work = async (): Promise<void> => {
		const worker = new Worker(new URL('./verify-thread.js', import.meta.url))
		try {
			for (;;) {
				const index = next++
				const folder = folders[index]
				if (folder === undefined) return
				reports[index] = await ask(worker, folder, isDeep)
			}
		} finally {
			await worker.terminate()
		}
	}
	await Promise.all(Array.from({ length: Math.max(1, Math.min(jobs, folders.length)) }, work))
	return reports
}

function ask(worker: Worker, folder: FolderToCheck, isDeep: boolean): Promise<PartitionReport> {
	return new Promise((resolve, reject) => {
		const settle = (): void => {
			worker.off('message', onMessage)
			worker.off('error', onError)
		}
		const onMessage = (answer: { report?: PartitionReport; problem?: string }): void => {
			settle()
			if (answer.report !== undefined) resolve(answer.report)
			else reject(new Error(answer.problem))
		}
		const onError = (error: Error): void => {
			settle()
			reject(error)
		}
		worker.on('message', onMessage)
		worker.on('error', onError)
		worker.postMessage({ ...folder, isDeep })
	})
}
