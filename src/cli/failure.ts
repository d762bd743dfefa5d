/** How an error leaves a command: one line and a hint on stderr, a JSON document on stdout where JSON was asked for, a code. */

import { closeMatches, didYouMean } from './close-matches.js'
import { type CliError, isCliError, usageError } from './errors.js'

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
	/** Flags that the command has, long and short, for close matches. */
	readonly flags?: readonly string[]
	readonly isQuiet: boolean
}

/** Prints `error`; the exit code that it asks for. */
export async function reportError(error: unknown, context: FailureContext): Promise<number> {
	const failure = usageFailure(error, context.flags ?? []) ?? (await mapped(error))
	if (context.isJson) process.stdout.write(`${JSON.stringify(failureDocument(failure, context.command), null, 2)}\n`)
	process.stderr.write(`kcli: ${failure.message}\n`)
	if (failure.hint !== null) process.stderr.write(`  ${failure.hint}\n`)
	const debug = process.env['KCLI_DEBUG']
	if (debug !== undefined && debug !== '' && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`)
	return failure.exitCode
}

async function mapped(error: unknown): Promise<CliError> {
	if (isCliError(error)) return error
	const { toCliError } = await import('./error-mapping.js')
	return toCliError(error)
}

/** oclif's complaint about arguments in our words; null when `error` is none. Told by its shape: its classes differ by copy. */
function usageFailure(error: unknown, flags: readonly string[]): CliError | null {
	if (!(error instanceof Error) || isCliError(error) || !('oclif' in error)) return null
	const [first = '', ...more] = error.message.replace(/\nSee more help with --help$/, '').split('\n')
	const unknown = /^Nonexistent flags?: (.*)$/.exec(first)
	if (unknown !== null) {
		const names = (unknown[1] as string).split(', ')
		const meant = names.flatMap((name) =>
			closeMatches(
				name.replace(/^-+/, ''),
				flags.filter((flag) => flag.length > 1),
			),
		)
		return usageError(
			`there is no flag ${names.join(', ')}`,
			didYouMean(meant.map((each) => `--${each}`)) ?? "'--help' lists the flags",
		)
	}
	const missing = /^Missing (\d+) required args?/.exec(first)
	if (missing !== null) {
		const names = more.map((line) => line.trim().split(/\s+/)[0]).filter((name) => name !== undefined && name !== '')
		const list = names.slice(0, Number(missing[1])).map((name) => (name as string).toUpperCase())
		return usageError(`missing ${list.join(' ')}`, "'--help' shows how it is used")
	}
	const detail = more.map((line) => line.trim()).filter((line) => line !== '')
	// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of oclif are taken away
	const text = [first, ...detail].join(' ').replace(/\u001b\[\d+m/g, '')
	return usageError(text.replace(/^The following errors? occurred: /, '').replace(/^[A-Z](?=[a-z])/, lowerFirst))
}

function lowerFirst(letter: string): string {
	return letter.toLowerCase()
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
				retriable: false,
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
	return at < 0 && process.env['KCLI_OUTPUT'] === 'json'
}
