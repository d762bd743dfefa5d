/** oclif's complaints about arguments in our words: what is wrong with which flag, and what is meant. Called by `failure.ts`. */

import { closeMatches, didYouMean } from './close-matches.js'
import { type CliError, isCliError, usageError } from './errors.js'

/** What a command says of its flags, as far as it matters here. */
export interface FlagFacts {
	readonly name: string
	readonly char?: string | undefined
	readonly aliases?: readonly string[] | undefined
	readonly env?: string | undefined
	readonly hidden?: boolean | undefined
}

/** A usage error for what oclif threw; null when `error` is something else. Told by its shape: its classes differ by copy. */
export function usageFailure(
	error: unknown,
	flags: readonly FlagFacts[],
	argv: readonly string[],
	usage: string | null,
): CliError | null {
	if (!(error instanceof Error) || isCliError(error) || !('oclif' in error)) return null
	const text = withoutColors(error.message).replace(/\nSee more help with --help$/, '')
	const missing = missingArguments(error)
	if (missing !== null) return usageError(`missing ${missing.join(' ')}`, usage ?? "'--help' shows how it is used")
	const unknown = /^Nonexistent flags?: (.*)$/.exec(text)
	if (unknown !== null) return unknownFlags((unknown[1] as string).split(', '), flags)
	const lines = text
		.replace(/^The following errors? occurred:/, '')
		// The reason of a value that cannot be read stands on a line of its own.
		.replace(/^(Parsing --\S+)\s+/, '$1 ')
		.split('\n')
		.map((line) => line.trim())
		.filter((line) => line !== '')
	const texts = [...new Set(lines.map((line) => complaint(line, flags, argv)))]
	return usageError(texts.join('; '), hintFor(text))
}

function withoutColors(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of oclif are taken away
	return text.replace(/\u001b\[\d+m/g, '')
}

/** Names of the arguments that are missing; null when that is not what is wrong. */
function missingArguments(error: Error & { readonly args?: unknown }): string[] | null {
	if (!/^Missing \d+ required arg/.test(error.message) || !Array.isArray(error.args)) return null
	return (error.args as readonly { readonly name: string }[]).map(({ name }) => name.toUpperCase())
}

function unknownFlags(names: readonly string[], flags: readonly FlagFacts[]): CliError {
	const known = flags.filter(({ hidden }) => hidden !== true).map(({ name }) => name)
	const meant = names.flatMap((name) => closeMatches(name.replace(/^-+/, ''), known))
	return usageError(
		`there is no flag ${names.join(', ')}`,
		didYouMean(meant.map((each) => `--${each}`)) ?? "'--help' lists the flags",
	)
}

/** One line of oclif's as one of ours. */
function complaint(line: string, flags: readonly FlagFacts[], argv: readonly string[]): string {
	const exclusive = /^--([\w-]+)(?:=.*)? cannot also be provided when using --([\w-]+)$/.exec(line)
	if (exclusive !== null) {
		return `${spelled(exclusive[1] as string, flags)} and ${spelled(exclusive[2] as string, flags)} exclude each other`
	}
	const number =
		/^Parsing --([\w-]+) Expected an integer(?: (greater|less) than or equal to (-?\d+))? but received: ?(.*)$/.exec(
			line,
		)
	if (number !== null) {
		const [, name = '', side, bound, given = ''] = number
		const range = side === undefined ? '' : side === 'greater' ? ` from ${bound} on` : ` up to ${bound}`
		return `${origin(name, given, flags, argv)} wants a whole number${range}, not '${given}'`
	}
	const choice = /^Expected --([\w-]+)=(.*) to be one of: (.*)$/s.exec(line)
	if (choice !== null) {
		const [, name = '', given = '', options = ''] = choice
		return `${origin(name, given, flags, argv)} is one of ${options}; not '${given}'`
	}
	const argument = /^Expected (.*) to be one of: (.*)$/s.exec(line)
	if (argument !== null) return `'${argument[1]}' is none of ${argument[2]}`
	const empty = /^Flag --([\w-]+) expects (?:a value|one of these values: (.*))$/.exec(line)
	if (empty !== null) return `--${empty[1]} wants a value${empty[2] === undefined ? '' : `: one of ${empty[2]}`}`
	const twice = /^Flag --([\w-]+) can only be specified once$/.exec(line)
	if (twice !== null) return `--${twice[1]} is given twice`
	const required = /^Missing required flag ([\w-]+)$/.exec(line)
	if (required !== null) return `--${required[1]} must be given`
	const surplus = /^Unexpected arguments?: (.*)$/.exec(line)
	if (surplus !== null) return `there is nothing to do with '${surplus[1]}'`
	return line.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())
}

/** `--json (-J)`: people know a flag by its letter. */
function spelled(name: string, flags: readonly FlagFacts[]): string {
	const char = flags.find((flag) => flag.name === name)?.char
	return char === undefined ? `--${name}` : `--${name} (-${char})`
}

/** The flag, or the variable that a value came from. */
function origin(name: string, given: string, flags: readonly FlagFacts[], argv: readonly string[]): string {
	const flag = flags.find((each) => each.name === name)
	if (flag?.env === undefined || process.env[flag.env] !== given) return `--${name}`
	const spellings = [name, ...(flag.aliases ?? [])].map((each) => `--${each}`)
	const isGiven = argv.some(
		(word) =>
			spellings.some((each) => word === each || word.startsWith(`${each}=`)) ||
			(flag.char !== undefined && new RegExp(`^-[A-Za-z]*${flag.char}`).test(word)),
	)
	return isGiven ? `--${name}` : flag.env
}

function hintFor(text: string): string | null {
	const choice = /=(.*) to be one of: (.*)$/s.exec(text)
	if (choice === null) return null
	return didYouMean(closeMatches(choice[1] as string, (choice[2] as string).split(', ')))
}
