/** The gate in front of what cannot be undone: shows the plan, asks on a terminal, refuses elsewhere without `--yes`. */

import { CliError, EXIT, usageError } from './errors.js'

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
	if (!(await ask(question))) throw new CliError('nothing was done', EXIT.usage, null, 'KCLI_DECLINED')
}

async function ask(question: string): Promise<boolean> {
	const { createInterface } = await import('node:readline/promises')
	const reader = createInterface({ input: process.stdin, output: process.stderr })
	try {
		return /^y(es)?$/i.test((await reader.question(`${question} [y/N] `)).trim())
	} finally {
		reader.close()
	}
}
