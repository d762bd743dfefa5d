/** Behind `kcli errors`: what codes, Kafka's and ours, mean and what to do about them. */

import { ERRORS, type ErrorInfo } from '../protocol/errors.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { CliError, EXIT } from './errors.js'
import { type OutputChoice, printReport, tableOf } from './output.js'
import { OWN_CODES } from './own-codes.js'

/** Explains the codes that `words` name by number or name, or all; the exit code. */
export async function explainErrors(words: readonly string[], flags: OutputChoice): Promise<number> {
	const items = words.length === 0 ? all() : words.map(findError)
	return await printReport(
		{
			kind: 'Errors',
			items: items.map(({ code, name, retriable, refreshesMetadata, text }) => ({
				code,
				name,
				retriable,
				refreshesMetadata,
				message: text,
			})),
			errors: [],
			clusterId: null,
			table: tableOf(items, [
				{ header: 'CODE', value: ({ code }) => code },
				{ header: 'NAME', value: ({ name }) => name },
				{ header: 'RETRIABLE', value: ({ retriable }) => (retriable ? 'yes' : 'no') },
				{ header: 'MEANING', value: ({ text }) => text },
			]),
			nameOf: ({ name }) => name,
			...(words.length === 0 ? {} : { page: (page) => writePage(items, page.pairs, page.line) }),
		},
		flags,
	)
}

/** Kafka's codes and ours in one form. */
type Explained = Omit<ErrorInfo, 'code'> & { readonly code: number | string }

function all(): Explained[] {
	return [
		...[...ERRORS].sort((a, b) => a.code - b.code),
		...OWN_CODES.map(({ code, retriable, text }) => ({ code, name: code, retriable, refreshesMetadata: false, text })),
	]
}

function findError(word: string): Explained {
	const name = word.toUpperCase().replaceAll('-', '_')
	const isNumber = /^-?\d+$/.test(word)
	const codes = all()
	const found =
		codes.find((error) => (isNumber ? error.code === Number(word) : error.name === name)) ??
		// A broker's code that ended a command as a whole.
		codes.find((error) => `KCLI_${error.name}` === name)
	if (found !== undefined) return found
	const meant = closeMatches(
		name,
		codes.map((error) => error.name),
	)
	throw new CliError(`there is no error code ${word}`, EXIT.failed, didYouMean(meant) ?? "'kcli errors' lists all")
}

function writePage(
	items: readonly Explained[],
	pairs: (rows: readonly (readonly [string, string | number])[]) => void,
	line: () => void,
): void {
	for (const [i, error] of items.entries()) {
		if (i > 0) line()
		pairs([
			['code', error.code],
			['name', error.name],
			['retriable', error.retriable ? 'yes, clients try again' : 'no'],
			...(error.refreshesMetadata ? [['metadata', 'clients ask for the leaders anew'] as const] : []),
			['meaning', error.text],
		])
	}
}
