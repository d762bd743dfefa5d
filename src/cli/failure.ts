/** How an error leaves a command: one line and a hint on stderr, a JSON document on stdout where JSON was asked for, a code. */

import { type CliError, isCliError } from './errors.js'
import { isRetriable } from './own-codes.js'
import { type FlagFacts, usageFailure } from './usage-failure.js'

/** Ends a command with a code once everything is written and closed. Not an error that anybody sees. */
export class ExitSignal extends Error {
	override readonly name = 'ExitSignal'
	constructor(readonly exitCode: number) {
		super('exit')
	}
}

export interface FailureContext {
	/** `topic:list`; null before a command is known. */
	readonly command: string | null
	readonly isJson: boolean
	/** Flags that the command has, and its words: for what is wrong with them. */
	readonly flags?: readonly FlagFacts[]
	readonly argv?: readonly string[]
	/** How the command is used, in one line: `kcli topic create TOPIC... [FLAGS]`. */
	readonly usage?: string | null
	readonly isQuiet: boolean
}

/** Commands whose JSON is a stream of records: a document of an error would be read as one of them. */
const STREAMS: ReadonlySet<string> = new Set(['consume', 'log:dump'])

/** Prints `error`; the exit code that it asks for. */
export async function reportError(error: unknown, context: FailureContext): Promise<number> {
	const failure =
		usageFailure(error, context.flags ?? [], context.argv ?? [], context.usage ?? null) ?? (await mappedError(error))
	if (context.isJson && !STREAMS.has(context.command ?? ''))
		process.stdout.write(`${JSON.stringify(failureDocument(failure, context.command), null, 2)}\n`)
	process.stderr.write(`kcli: ${failure.message}\n`)
	if (failure.hint !== null) process.stderr.write(`  ${failure.hint}\n`)
	const debug = process.env['KCLI_DEBUG']
	if (debug !== undefined && debug !== '' && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`)
	return failure.exitCode
}

/** Any error as one that a command ends with. */
export async function mappedError(error: unknown): Promise<CliError> {
	if (isCliError(error)) return error
	const { toCliError } = await import('./error-mapping.js')
	return toCliError(error)
}

/** The document of `cli.md` for a command that failed as a whole. */
export function failureDocument(failure: CliError, command: string | null): Record<string, unknown> {
	return {
		kind: kindOf(command),
		version: 1,
		context: null,
		clusterId: null,
		items: [],
		errors: [
			{
				item: null,
				code: failure.code,
				name: failure.code,
				message: failure.hint === null ? failure.message : `${failure.message} (${failure.hint})`,
				retriable: isRetriable(failure.code),
			},
		],
	}
}

/** `topic:list` → `TopicList`. */
export function kindOf(command: string | null): string {
	if (command === null) return 'Error'
	return command
		.split(/[:\s-]/)
		.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
		.join('')
}

/** True when the words ask for JSON, flag or environment: for errors that come before the flags are read. */
export function wantsJson(argv: readonly string[]): boolean {
	const end = argv.indexOf('--')
	const words = end < 0 ? argv : argv.slice(0, end)
	if (words.includes('--json') || words.includes('--output=json')) return true
	const at = words.findIndex((word) => word === '--output' || word === '-o')
	if (at >= 0 && words[at + 1] === 'json') return true
	if (words.includes('-ojson') || words.includes('-o=json')) return true
	return at < 0 && !words.some((word) => /^(?:-o.|--output=)/.test(word)) && process.env['KCLI_OUTPUT'] === 'json'
}
