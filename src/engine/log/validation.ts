/** What the checks of a produced record set (`validate.ts`) begin with and what they find. */

export interface RecordError {
	readonly batchIndex: number
	readonly message: string
}

export interface ValidateOptions {
	readonly origin: 'client' | 'coordinator'
	/** Version of the Produce request; for coordinators the newest. */
	readonly produceVersion: number
}

const NO_ERRORS: readonly RecordError[] = []

/** What validation found: a record set fit to append, or why not. */
export class Validation {
	/** 0, or the error code. */
	code = 0
	message: string | null = null
	recordErrors: readonly RecordError[] = NO_ERRORS
	/** The error was found inside the log: the answer then carries the log start offset (4.22). */
	isInsideLog = false
	/** Whole batches to append; the same buffer as came unless it was rebuilt. */
	records: Buffer
	/** Time given to all records of a LogAppendTime topic, else -1. */
	appendMs = -1

	constructor(records: Buffer) {
		this.records = records
	}

	fail(code: number, message: string, isInsideLog: boolean): this {
		this.code = code
		this.message = message
		this.isInsideLog = isInsideLog
		return this
	}
}
