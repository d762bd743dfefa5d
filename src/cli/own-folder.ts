/**
 * A folder that a server makes for itself at its start. It is made before the server is, so that what is wrong with it is
 * told in its own words; and taken away again, with the folders above that were made for it, when the start failed and
 * nothing was put into it.
 */

import { accessSync, constants, mkdirSync, rmdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { CliError, EXIT, usageError } from './errors.js'

export class OwnFolder {
	readonly path: string
	/** What was made, outermost first. */
	readonly #made: readonly string[]

	private constructor(path: string, made: readonly string[]) {
		this.path = path
		this.#made = made
	}

	/** Makes the folder where it is not there. Throws a {@link CliError} when it cannot be used. */
	static make(path: string): OwnFolder {
		const folder = resolve(path)
		const made: string[] = []
		// Step by step: Node's own recursion never ends where nothing can be made (`/proc/x`).
		const missing: string[] = []
		for (let at = folder; !isThere(at); at = dirname(at)) missing.unshift(at)
		try {
			for (const each of missing) {
				mkdirSync(each)
				made.push(each)
			}
			if (!statSync(folder).isDirectory()) throw usageError(`${folder} is a file, not a data folder`)
			accessSync(folder, constants.W_OK | constants.X_OK)
		} catch (error) {
			new OwnFolder(folder, made).removeEmpty()
			if (error instanceof CliError) throw error
			throw unusable(folder, made.length === 0 && missing.length === 0 ? 'write to' : 'make', error)
		}
		return new OwnFolder(folder, made)
	}

	/** Takes away what was made and holds nothing. */
	removeEmpty(): void {
		for (const each of [...this.#made].reverse()) {
			try {
				rmdirSync(each)
			} catch {
				// Something is in it: it stays, and so does what is above.
				return
			}
		}
	}
}

function isThere(path: string): boolean {
	try {
		statSync(path)
		return true
	} catch (error) {
		// `file/x`: the file above is what the next step finds.
		const { code } = error as NodeJS.ErrnoException
		return code !== 'ENOENT' && code !== 'ENOTDIR'
	}
}

function unusable(folder: string, operation: string, error: unknown): CliError {
	const code = (error as NodeJS.ErrnoException).code ?? String(error)
	const place = operation === 'make' ? nearestThere(folder) : folder
	const hint = code === 'ENOTDIR' || code === 'EEXIST' ? `${place} is a file.` : `${place} must be writable.`
	return new CliError(`cannot ${operation} the folder ${folder}: ${code}`, EXIT.failed, hint, 'KCLI_DISK')
}

function nearestThere(folder: string): string {
	let at = dirname(folder)
	while (!isThere(at)) at = dirname(at)
	return at
}
