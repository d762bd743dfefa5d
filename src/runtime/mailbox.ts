/**
 * A single-writer queue: jobs run one at a time, in order. State that belongs to a mailbox is only touched inside its
 * jobs, so a job may `await` between reading and writing it.
 */

import { Deque } from '../base/queues.js'

interface Job {
	readonly run: () => unknown
	readonly resolve: (value: unknown) => void
	readonly reject: (error: unknown) => void
}

/** The mailbox is full, or closed: the job was not run. */
export class MailboxError extends Error {
	override readonly name = 'MailboxError'
	constructor(
		readonly mailbox: string,
		readonly reason: 'full' | 'closed',
	) {
		super(`mailbox ${mailbox} is ${reason}`)
	}
}

export class Mailbox {
	readonly name: string
	readonly #limit: number
	readonly #jobs = new Deque<Job>()
	#running = false
	#closed = false

	constructor(name: string, limit = 10_000) {
		this.name = name
		this.#limit = limit
	}

	/** Jobs that wait, without the one that runs. */
	get waiting(): number {
		return this.#jobs.length
	}

	/** Runs `job` after all earlier ones; settles as it does. Rejects with {@link MailboxError} when full or closed. */
	post<T>(job: () => T | Promise<T>): Promise<T> {
		if (this.#closed) return Promise.reject(new MailboxError(this.name, 'closed'))
		if (this.#jobs.length >= this.#limit) return Promise.reject(new MailboxError(this.name, 'full'))
		return new Promise<T>((resolve, reject) => {
			this.#jobs.push({ run: job, resolve: resolve as (value: unknown) => void, reject })
			if (!this.#running) void this.#drain()
		})
	}

	/** Refuses further jobs; those that wait are rejected, the running one ends in its own time. */
	close(): void {
		this.#closed = true
		for (;;) {
			const job = this.#jobs.shift()
			if (job === undefined) return
			job.reject(new MailboxError(this.name, 'closed'))
		}
	}

	async #drain(): Promise<void> {
		this.#running = true
		for (;;) {
			const job = this.#jobs.shift()
			if (job === undefined) break
			try {
				job.resolve(await job.run())
			} catch (error) {
				job.reject(error)
			}
		}
		this.#running = false
	}
}
