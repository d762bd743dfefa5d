/**
 * Assertions that stay on in production. A failure is a bug of ours, never bad input: the process that meets one
 * stops (see `docs/adr/0007-error-kinds.md`). Bad input and a failing world have their own error kinds.
 */

export class AssertionError extends Error {
	override readonly name = 'AssertionError'
}

/** Throws {@link AssertionError} unless `condition` holds. `message` says what was expected. */
export function assert(condition: unknown, message: string): asserts condition {
	if (!condition) throw new AssertionError(message)
}

/** Returns `value`, or throws {@link AssertionError} when it is null or undefined. */
export function present<T>(value: T | null | undefined, message: string): T {
	if (value === null || value === undefined) throw new AssertionError(message)
	return value
}

/** Marks a branch that the types say cannot be reached. */
export function unreachable(value: never, message = 'unreachable'): never {
	throw new AssertionError(`${message}: ${String(value)}`)
}
