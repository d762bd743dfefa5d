/**
 * Appends to one log, in order: validated record sets wait in a queue only while an earlier one is still being
 * decompressed or a pool write is under way; then all that wait go down in one gather write. On the usual path nothing
 * waits and the outcome is a value. Bytes become visible after the write has returned.
 *
 *     validate ──ready──▶ queue empty? ──▶ check producer, stamp offsets, roll, write, apply ──▶ outcome
 *         └─promise─▶ queue (in order of arrival) ──▶ the same, as one group
 */

import { ERROR } from '../../protocol/errors.js'
import {
	batchAttributes,
	batchBytes,
	batchLastOffsetDelta,
	batchMaxTimestamp,
	CONTROL_BIT,
	stampBatch,
} from '../../protocol/records/batch.js'
import { DiskError } from '../../runtime/ports.js'
import type { LogCore } from './log-core.js'
import { markerOf } from './marker.js'
import { validate } from './validate.js'
import type { RecordError, Validation } from './validation.js'

export interface LeaderAppendOptions {
	/** Written into every batch. */
	readonly leaderEpoch: number
	/** `coordinator`: group and transaction coordinators, markers; fewer checks. */
	readonly origin: 'client' | 'coordinator'
	/** Version of the Produce request. Coordinators give the newest. */
	readonly produceVersion: number
}

/** Outcome of one append. `errorCode` 0 is success; then offsets are real, else -1. */
export interface AppendOutcome {
	readonly errorCode: number
	readonly message: string | null
	readonly recordErrors: readonly RecordError[]
	readonly firstOffset: number
	readonly lastOffset: number
	/** -1 unless the topic has LogAppendTime; for a duplicate the stored batch's time. */
	readonly logAppendTimeMs: number
	/** -1 for errors that are found before the log is looked at (4.22). */
	readonly logStartOffset: number
	/** The batch was there already (5.4); acks wait on `lastOffset` as usual. */
	readonly duplicate: boolean
}

const NO_ERRORS: readonly RecordError[] = []

function failure(errorCode: number, message: string | null, logStartOffset: number): AppendOutcome {
	return {
		errorCode,
		message,
		recordErrors: NO_ERRORS,
		firstOffset: -1,
		lastOffset: -1,
		logAppendTimeMs: -1,
		logStartOffset,
		duplicate: false,
	}
}

interface Job {
	readonly options: LeaderAppendOptions
	/** Null until validation has settled. */
	validation: Validation | null
	readonly resolve: (outcome: AppendOutcome) => void
	readonly reject: (error: unknown) => void
}

/** A job that is stamped and waits for its write. */
interface Staged {
	readonly job: Job
	readonly bytes: Buffer
	readonly outcome: AppendOutcome
}

/** At most so many bytes go down in one gather write. */
const GROUP_BYTES_MAX = 16 * 1024 * 1024

export class Appender {
	readonly #core: LogCore
	#queue: Job[] = []
	#isWriting = false
	/** End offset of what is stamped but not yet written; the log end when nothing is. */
	#stagedEnd = 0

	constructor(core: LogCore) {
		this.#core = core
	}

	/** Appends one record set as leader. `records` are the log's until the outcome is there, and may change until then. */
	append(records: Buffer, options: LeaderAppendOptions): AppendOutcome | Promise<AppendOutcome> {
		const core = this.#core
		if (core.fencedBy !== null || core.isClosed) return storageError(core)
		const validation = validate(core.services, core.config, records, options)
		if (!(validation instanceof Promise)) {
			if (validation.code !== 0) return this.#rejected(validation)
			if (this.#queue.length === 0 && !this.#isWriting && !core.services.writes.usesPool) {
				return this.#appendNow(validation, options)
			}
		}
		return this.#enqueue(validation, options)
	}

	/** Settles when all appends that were begun are done. */
	async idle(): Promise<void> {
		while (this.#queue.length > 0 || this.#isWriting) {
			await new Promise<void>((resolve) => this.#core.services.clock.soon(resolve))
		}
	}

	#rejected(validation: Validation): AppendOutcome {
		const { code, message, recordErrors, isInsideLog } = validation
		const logStartOffset = isInsideLog ? this.#core.logStartOffset : -1
		return { ...failure(code, message, logStartOffset), recordErrors }
	}

	#appendNow(validation: Validation, options: LeaderAppendOptions): AppendOutcome | Promise<AppendOutcome> {
		const core = this.#core
		this.#stagedEnd = core.logEndOffset
		const refused = this.#stage(validation, options)
		if (refused !== null) return refused
		const bytes = validation.records
		const firstOffset = core.logEndOffset
		try {
			this.#rollIfNeeded([bytes], bytes.length)
			core.noteEpochs(bytes)
			const start = core.services.clock.monotonicMs()
			core.segments.active.writeNow([bytes])
			core.services.writes.note(bytes.length, core.services.clock.monotonicMs() - start)
			core.applyWritten(bytes)
		} catch (error) {
			return this.#diskFailure(error)
		}
		const outcome = this.#success(firstOffset, core.logEndOffset - 1, validation.appendMs)
		return this.#needsFlush() ? this.#flushed(outcome) : outcome
	}

	/** Producer checks and size of the set; stamps offsets. Null when it may be written, else the outcome. */
	#stage(validation: Validation, options: LeaderAppendOptions): AppendOutcome | null {
		const core = this.#core
		const bytes = validation.records
		if (bytes.length > core.config.segmentBytes) {
			return failure(ERROR.RECORD_LIST_TOO_LARGE, `${bytes.length} bytes do not fit a segment`, -1)
		}
		let offset = this.#stagedEnd
		for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) {
			const isControl = (batchAttributes(bytes, at) & CONTROL_BIT) !== 0
			const code = core.producers.check(bytes, at, options.origin, isControl ? markerOf(bytes, at) : null)
			if (code === -2) return this.#duplicate()
			if (code !== 0) return failure(code, core.producers.message, core.logStartOffset)
			stampBatch(bytes, at, offset, options.leaderEpoch)
			offset += batchLastOffsetDelta(bytes, at) + 1
		}
		this.#stagedEnd = offset
		return null
	}

	#rollIfNeeded(chunks: readonly Buffer[], total: number): void {
		const core = this.#core
		let maxTimestamp = -1
		for (const bytes of chunks) {
			for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) {
				const timestamp = batchMaxTimestamp(bytes, at)
				if (timestamp > maxTimestamp) maxTimestamp = timestamp
			}
		}
		if (core.shouldRoll(total, this.#stagedEnd - 1, maxTimestamp)) core.roll(core.logEndOffset)
	}

	#success(firstOffset: number, lastOffset: number, logAppendTimeMs: number): AppendOutcome {
		return {
			errorCode: 0,
			message: null,
			recordErrors: NO_ERRORS,
			firstOffset,
			lastOffset,
			logAppendTimeMs,
			logStartOffset: this.#core.logStartOffset,
			duplicate: false,
		}
	}

	#duplicate(): AppendOutcome {
		const { duplicateFirst, duplicateLast, duplicateTimestamp } = this.#core.producers
		return { ...this.#success(duplicateFirst, duplicateLast, duplicateTimestamp), duplicate: true }
	}

	#diskFailure(error: unknown): AppendOutcome {
		if (!(error instanceof DiskError)) throw error
		this.#core.fence(error)
		return storageError(this.#core)
	}

	#needsFlush(): boolean {
		return this.#core.logEndOffset - this.#core.recoveryPoint >= this.#core.config.flushMessages
	}

	async #flushed(outcome: AppendOutcome): Promise<AppendOutcome> {
		try {
			await this.#core.flush(outcome.lastOffset + 1)
			return outcome
		} catch (error) {
			return this.#diskFailure(error)
		}
	}

	#enqueue(validation: Validation | Promise<Validation>, options: LeaderAppendOptions): Promise<AppendOutcome> {
		return new Promise<AppendOutcome>((resolve, reject) => {
			const job: Job = { options, validation: null, resolve, reject }
			this.#queue.push(job)
			if (validation instanceof Promise) {
				validation.then(
					(done) => {
						job.validation = done
						void this.#drain()
					},
					(error: unknown) => {
						this.#queue = this.#queue.filter((one) => one !== job)
						reject(error)
						void this.#drain()
					},
				)
			} else {
				job.validation = validation
				void this.#drain()
			}
		})
	}

	/** Writes groups of ready jobs from the front until one is not ready. One drain at a time. */
	async #drain(): Promise<void> {
		if (this.#isWriting) return
		this.#isWriting = true
		while (this.#queue[0]?.validation) {
			const settle = await this.#writeGroup(this.#takeGroup())
			// Before anyone learns of it: who appends next may take the direct way again.
			this.#isWriting = this.#queue[0]?.validation != null
			settle()
			if (!this.#isWriting) return
		}
		this.#isWriting = false
	}

	/** Stages jobs from the front that go to one segment, and settles those that are refused. */
	#takeGroup(): Staged[] {
		const core = this.#core
		const group: Staged[] = []
		let bytes = 0
		this.#stagedEnd = core.logEndOffset
		const producers = new Set<string>()
		for (;;) {
			const job = this.#queue[0]
			const validation = job?.validation
			if (job === undefined || validation === null || validation === undefined) break
			if (core.fencedBy !== null || core.isClosed || validation.code !== 0) {
				this.#queue.shift()
				job.resolve(validation.code !== 0 ? this.#rejected(validation) : storageError(core))
				continue
			}
			const records = validation.records
			const isFull = bytes + records.length > Math.min(GROUP_BYTES_MAX, core.config.segmentBytes)
			// A producer's second batch is checked against its first, so it waits for the next group.
			const producer = records.toString('latin1', 43, 51)
			if (group.length > 0 && (isFull || producers.has(producer))) break
			const firstOffset = this.#stagedEnd
			const refused = this.#stage(validation, job.options)
			this.#queue.shift()
			if (refused !== null) {
				job.resolve(refused)
				continue
			}
			if (records.readInt8(43) >= 0) producers.add(producer)
			bytes += records.length
			const outcome = this.#success(firstOffset, this.#stagedEnd - 1, validation.appendMs)
			group.push({ job, bytes: records, outcome })
		}
		return group
	}

	/** Writes one group; what it answers settles the jobs. Never rejects. */
	async #writeGroup(group: readonly Staged[]): Promise<() => void> {
		const core = this.#core
		const chunks = group.map((one) => one.bytes)
		let total = 0
		for (const chunk of chunks) total += chunk.length
		if (total === 0) return () => undefined
		try {
			this.#rollIfNeeded(chunks, total)
			for (const chunk of chunks) core.noteEpochs(chunk)
			const start = core.services.clock.monotonicMs()
			if (core.services.writes.usesPool) await core.segments.active.write(chunks)
			else core.segments.active.writeNow(chunks)
			core.services.writes.note(total, core.services.clock.monotonicMs() - start)
			for (const chunk of chunks) core.applyWritten(chunk)
			if (this.#needsFlush()) await core.flush(core.logEndOffset)
		} catch (error) {
			if (!(error instanceof DiskError)) return () => group.forEach((one) => void one.job.reject(error))
			core.fence(error)
			return () => group.forEach((one) => void one.job.resolve(storageError(core)))
		}
		return () => group.forEach((one) => void one.job.resolve(one.outcome))
	}
}

function storageError(core: LogCore): AppendOutcome {
	return failure(ERROR.KAFKA_STORAGE_ERROR, `Log ${core.name} is offline`, -1)
}
