/** Flags of every command that prints a result, and of every command that changes something. */

import { Flags } from '../oclif.js'

const FORMS = ['table', 'wide', 'json', 'yaml', 'tsv', 'csv', 'name']

const output = {
	description: 'Form of the result.',
	options: FORMS,
	default: 'table',
	env: 'KCLI_OUTPUT',
	helpGroup: 'OUTPUT',
}

/** Of every command that may colour; `main.ts` acts on it. */
export const noColorFlag = Flags.boolean({ description: 'No colours.', helpGroup: 'OUTPUT' })

/** For commands where `-o` means something else. */
export const outputFlags = {
	output: Flags.string(output),
	json: Flags.boolean({ description: 'Short for --output json.', helpGroup: 'OUTPUT' }),
	quiet: Flags.boolean({ char: 'q', description: 'No notices on stderr.', helpGroup: 'OUTPUT' }),
	human: Flags.boolean({
		aliases: ['human-readable'],
		description: 'Units for people (7d, 1GiB) also where the output is no terminal.',
		helpGroup: 'OUTPUT',
	}),
	raw: Flags.boolean({
		description: 'Plain numbers also on a terminal.',
		exclusive: ['human'],
		helpGroup: 'OUTPUT',
	}),
	'no-color': noColorFlag,
}

/** For commands that print no result unless a form is named. */
export const formFlag = Flags.string({
	char: 'o',
	description: 'Print what was done, in this form. Default: nothing on stdout.',
	options: FORMS,
	env: 'KCLI_OUTPUT',
	helpGroup: 'OUTPUT',
})

/** For commands that list, show and change: `-o` is the form. */
export const resultFlags = {
	...outputFlags,
	output: Flags.string({ ...output, char: 'o', aliases: ['format'] }),
}

/** For commands that change something without loss. */
export const dryRunFlag = {
	'dry-run': Flags.boolean({
		aliases: ['validate-only', 'dry'],
		description: 'Check everything, change nothing.',
		default: false,
		helpGroup: 'SAFETY',
	}),
}

/** For commands that destroy something: asked on a terminal, refused elsewhere without `--yes`. */
export const destructiveFlags = {
	...dryRunFlag,
	yes: Flags.boolean({
		char: 'y',
		aliases: ['no-confirm', 'force'],
		description: 'Do it without asking.',
		default: false,
		env: 'KCLI_YES',
		helpGroup: 'SAFETY',
	}),
}
