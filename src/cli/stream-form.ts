/** The form of output that is a stream, not a document: what KCLI_OUTPUT, which is made for documents, means there. */

import { usageError } from './errors.js'

/**
 * What the environment asks for: `json` is JSON lines; words of the command's own (`value`, `text`) are its usual form. Null
 * when it asks for nothing. Throws a usage error for forms that a stream does not have.
 */
export function streamFormOfEnvironment(command: string, usual: string): 'ndjson' | 'usual' | null {
	const text = process.env['KCLI_OUTPUT']
	if (text === undefined || text === '') return null
	if (text === 'json' || text === 'ndjson') return 'ndjson'
	if (text === usual) return 'usual'
	throw usageError(
		`KCLI_OUTPUT=${text} is no form of '${command}', which prints a stream: ${usual} or json (a line each)`,
		`--output ${usual} beats the variable.`,
	)
}
