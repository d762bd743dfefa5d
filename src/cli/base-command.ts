/** What every command shares: how an error becomes one line and an exit code, on stderr and in JSON. */

import { Command } from '@oclif/core'
import { CliError, EXIT, type ExitCode } from './errors.js'

export abstract class BaseCommand extends Command {
	/** Errors end here: a line on stderr, the hint under it, the exit code of its kind. */
	protected override async catch(error: Error & { exitCode?: number; oclif?: { exit?: number } }): Promise<void> {
		if (error instanceof CliError) {
			process.stderr.write(`kcli: ${error.message}\n`)
			if (error.hint !== null) process.stderr.write(`  ${error.hint}\n`)
			process.exitCode = error.exitCode
			this.exitNow(error.exitCode)
		}
		// oclif's own: parsing errors and wishes to exit carry their code.
		const code = error.oclif?.exit
		if (code !== undefined) {
			if (error.message !== '' && !error.message.startsWith('EEXIT')) process.stderr.write(`kcli: ${error.message}\n`)
			this.exitNow(code)
		}
		process.stderr.write(`kcli: ${error.message}\n`)
		if (process.env['KCLI_DEBUG'] !== undefined) process.stderr.write(`${error.stack ?? ''}\n`)
		this.exitNow(EXIT.failed)
	}

	/** Ends the process with everything written. */
	protected exitNow(code: ExitCode | number): never {
		process.exit(code)
	}
}
