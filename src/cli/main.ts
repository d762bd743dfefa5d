/** Entry of the command line: hands the arguments to oclif. Nothing heavy is loaded before the command is known. */

import { fileURLToPath } from 'node:url'
import { execute } from '@oclif/core'

/** Runs one command line; the process ends with the command's exit code. */
export async function run(args: string[]): Promise<void> {
	process.stdout.on('error', (error: NodeJS.ErrnoException) => {
		// The reader of our pipe has gone (`kcli consume … | head`): that is the end of the work, not a fault.
		if (error.code === 'EPIPE') process.exit(0)
		throw error
	})
	await execute({ args, dir: fileURLToPath(new URL('../..', import.meta.url)) })
}
