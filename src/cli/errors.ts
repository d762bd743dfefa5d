/** What goes wrong in a command, as its user sees it: one line that says what, where, and what to do; and an exit code. */

export const EXIT = {
	done: 0,
	/** A broker or network error, or an item that failed. */
	failed: 1,
	/** Wrong usage, or refused. */
	usage: 2,
	/** A check says no. */
	checkFailed: 3,
	/** Timed out waiting. */
	timedOut: 4,
	interrupted: 130,
	terminated: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export class CliError extends Error {
	override readonly name = 'CliError'
	constructor(
		message: string,
		readonly exitCode: ExitCode = EXIT.failed,
		/** What to do about it. */
		readonly hint: string | null = null,
		/** Stable code for JSON output. */
		readonly code: string = 'KCLI_FAILED',
	) {
		super(message)
	}
}

/** Wrong usage: exit 2. */
export function usageError(message: string, hint: string | null = null): CliError {
	return new CliError(message, EXIT.usage, hint, 'KCLI_USAGE')
}

/** By name: what runs long is loaded from beside the bundle of commands and has its own copy of the class. */
export function isCliError(error: unknown): error is CliError {
	return error instanceof Error && error.name === 'CliError'
}
