/** The gate in front of what cannot be undone: shows the plan, asks on a terminal, refuses elsewhere without `--yes`. */

import type { Readable, Writable } from 'node:stream'
import { CliError, EXIT, type ExitCode, usageError } from './errors.js'

export interface ConfirmChoice {
	readonly yes: boolean
	readonly 'dry-run': boolean
}

/** Refuses every change when the environment says read only. */
export function refuseWhenReadOnly(isDryRun: boolean): void {
	const value = process.env['KCLI_READ_ONLY']
	if (isDryRun || value === undefined || value === '' || value === '0' || value === 'false') return
	throw new CliError('refused: KCLI_READ_ONLY is set', EXIT.usage, null, 'KCLI_READ_ONLY')
}

/**
 * Settles when the change may be made. Throws a {@link CliError} with exit 2 when it may not: no terminal and no `--yes`,
 * or the answer was no. `plan` goes to stderr before the question.
 */
export async function confirm(question: string, plan: readonly string[], choice: ConfirmChoice): Promise<void> {
	refuseWhenReadOnly(choice['dry-run'])
	if (choice['dry-run'] || choice.yes) return
	if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
		throw usageError(
			'refused: this cannot be undone and nobody can be asked',
			'add --yes to do it, --dry-run to see what would be done',
		)
	}
	for (const line of plan) process.stderr.write(`${line}\n`)
	if (!(await ask(question, process.stdin, process.stderr))) throw declined(EXIT.usage)
}

/** Ctrl-C is exit 130, the end of input a no: nothing was done either way. */
export async function ask(question: string, input: Readable, output: Writable): Promise<boolean> {
	const { createInterface } = await import('node:readline')
	const reader = createInterface({ input, output, terminal: true })
	try {
		const answer = await new Promise<string>((resolve, reject) => {
			reader.on('SIGINT', () => reject(declined(EXIT.interrupted)))
			reader.on('close', () => resolve(''))
			reader.question(`${question} [y/N] `, resolve)
		})
		return /^y(es)?$/i.test(answer.trim())
	} catch (error) {
		output.write('\n')
		throw error
	} finally {
		reader.close()
	}
}

function declined(code: ExitCode): CliError {
	return new CliError('nothing was done', code, null, 'KCLI_DECLINED')
}
