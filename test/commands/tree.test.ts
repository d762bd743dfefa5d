/** What holds for every command: one meaning a letter, examples, an entry in the manifest, a page, a test. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { resolveCommand } from '../../src/cli/command-tree.js'
import { type CommandClass, commandClasses } from '../helpers/command-classes.js'
import { ROOT } from '../helpers/processes.js'

interface ManifestEntry {
	readonly id: string
	readonly summary?: string
	readonly examples?: readonly string[]
	readonly flags: Readonly<Record<string, { readonly char?: string; readonly description?: string }>>
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'oclif.manifest.json'), 'utf8')) as {
	readonly commands: Readonly<Record<string, ManifestEntry>>
}

let classes: CommandClass[] = []
beforeAll(async () => {
	classes = await commandClasses()
})

/** Letters that mean one thing wherever they are, from cli.md; other letters belong to their commands. */
const LETTERS_OF_ALL: Readonly<Record<string, string>> = {
	b: 'bootstrap-server',
	t: 'topic',
	q: 'quiet',
	y: 'yes',
}

describe('every command', () => {
	it('has one meaning a letter and a name, aliases and global flags included', () => {
		const wrong: string[] = []
		for (const { id, command } of classes) {
			const seen = new Map<string, string>()
			const claim = (spelling: string, flag: string): void => {
				const other = seen.get(spelling)
				if (other !== undefined) wrong.push(`${id}: ${spelling} is --${other} and --${flag}`)
				seen.set(spelling, flag)
			}
			for (const [name, flag] of Object.entries(command.flags ?? {})) {
				claim(`--${name}`, name)
				for (const alias of flag.aliases ?? []) claim(alias.length === 1 ? `-${alias}` : `--${alias}`, name)
				for (const char of [flag.char, ...(flag.charAliases ?? [])]) if (char !== undefined) claim(`-${char}`, name)
			}
			if (seen.has('-h')) wrong.push(`${id}: -h is help`)
		}
		expect(wrong).toEqual([])
	})

	it('uses the letters of all commands for what they mean everywhere', () => {
		const wrong = classes.flatMap(({ id, command }) =>
			Object.entries(command.flags ?? {})
				.filter(([name, { char }]) => char !== undefined && (LETTERS_OF_ALL[char] ?? name) !== name)
				.map(([name, { char }]) => `${id}: -${char} is --${name}`),
		)
		expect(wrong).toEqual([])
	})

	it('takes a flag that may be repeated without eating the words behind it', () => {
		const wrong = classes.flatMap(({ id, command }) =>
			Object.entries(command.flags ?? {})
				.filter(([, flag]) => flag.type === 'option' && flag.multiple === true)
				.filter(([, flag]) => !('multipleNonGreedy' in flag && flag.multipleNonGreedy === true))
				.filter(() => Object.keys(command.args ?? {}).length > 0)
				.map(([name]) => `${id} --${name}`),
		)
		expect(wrong).toEqual([])
	})

	it('has a summary of one line, two to four examples that begin with it, and words for each flag and argument', () => {
		const wrong: string[] = []
		for (const { id, command } of classes) {
			const examples = (command.examples ?? []).map((example) =>
				typeof example === 'string' ? example : example.command,
			)
			if (command.summary === undefined || command.summary.includes('\n')) wrong.push(`${id}: summary`)
			if (examples.length < 2 || examples.length > 4) wrong.push(`${id}: ${examples.length} examples`)
			for (const example of examples) {
				if (!example.includes('<%= config.bin %> <%= command.id %>')) wrong.push(`${id}: example '${example}'`)
			}
			for (const [name, flag] of Object.entries(command.flags ?? {})) {
				if ((flag.description ?? flag.summary) === undefined) wrong.push(`${id}: --${name} has no words`)
			}
			for (const [name, arg] of Object.entries(command.args ?? {})) {
				if (arg.description === undefined) wrong.push(`${id}: ${name} has no words`)
			}
		}
		expect(wrong).toEqual([])
	})

	it('stands in the manifest as it is', () => {
		expect(Object.keys(manifest.commands).sort()).toEqual(classes.map(({ id }) => id).sort())
		const shape = (flags: ManifestEntry['flags']): string[] =>
			Object.entries(flags ?? {}).map(([name, { char, description }]) => `${name} ${char ?? ''} ${description}`)
		for (const { id, command } of classes) {
			const entry = manifest.commands[id] as ManifestEntry
			expect(entry.summary, id).toBe(command.summary)
			expect(entry.examples, id).toEqual(command.examples)
			expect(shape(entry.flags).sort(), id).toEqual(shape(command.flags as ManifestEntry['flags']).sort())
		}
	})

	it('has a page of its noun and a test of its noun', () => {
		const nouns = [...new Set(classes.map(({ id }) => id.split(':')[0] as string))]
		expect(nouns.filter((noun) => !existsSync(join(ROOT, 'docs', 'commands', `${noun}.md`)))).toEqual([])
		expect(nouns.filter((noun) => !existsSync(join(ROOT, 'test', 'commands', `${noun}.test.ts`)))).toEqual([])
	})

	it('is found by itself, and by plural where it has a noun', () => {
		const entries = classes.map(({ id }) => ({ id }))
		for (const { id } of classes) {
			expect(resolveCommand(entries, id.split(':'))).toEqual({ id, rest: [] })
			const [noun, verb] = id.split(':')
			if (verb === undefined || noun === 'zk') continue
			expect(resolveCommand(entries, [`${noun}s`, verb])).toEqual({ id, rest: [] })
		}
	})
})
