/** `-w`: a report again and again, until a signal ends the process. */

import { setTimeout as after } from 'node:timers/promises'
import { usageError } from './errors.js'
import { failureDocument, mappedError } from './failure.js'
import { formOf, type OutputChoice, printJsonLine } from './output.js'
import { parseDuration } from './parse.js'

export interface WatchChoice extends OutputChoice {
	readonly watch: boolean
	readonly interval: string | undefined
}

const INTERVAL_MS = 2000
/** The longest timer of Node's. */
const INTERVAL_MS_MAX = 2_147_483_647

/**
 * Calls `report` once, or with `--watch` for ever. Its first failure is the command's; later ones are told and tried again,
 * since a cluster that restarts is what one watches for. `command` is the command's id. The exit code.
 */
export async function watching<F extends WatchChoice>(
	command: string,
	flags: F,
	report: (flags: F) => Promise<number>,
): Promise<number> {
	if (!flags.watch) return await report(flags)
	const intervalMs = flags.interval === undefined ? INTERVAL_MS : parseDuration(flags.interval, '--interval')
	if (intervalMs <= 0 || intervalMs > INTERVAL_MS_MAX) {
		throw usageError(`--interval wants a time between 1ms and 24 days, not '${flags.interval}'`)
	}
	await report({ ...flags, showing: 'first' })
	for (;;) {
		await after(intervalMs)
		await report({ ...flags, showing: 'again' }).catch((error: unknown) => tell(error, command, flags))
	}
}

async function tell(error: unknown, command: string, flags: OutputChoice): Promise<void> {
	const failure = await mappedError(error)
	if (formOf(flags) === 'json') printJsonLine(failureDocument(failure, command))
	process.stderr.write(`kcli: ${failure.message}; it is asked again\n`)
}
