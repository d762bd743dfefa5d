/**
 * What can stand at the cursor: the answer to the shell scripts of `kcli completion`. Commands and flags come from the
 * manifest, names of topics and groups from the cluster. Prints one candidate a line and never fails: a broken completion
 * would disturb the line that somebody is typing.
 */

import { type CommandEntry, resolveCommand } from './command-tree.js'
import { EXIT } from './errors.js'

interface FlagEntry {
	readonly name: string
	readonly char?: string
	readonly type: string
	readonly options?: readonly string[]
	readonly aliases?: readonly string[]
	readonly hidden?: boolean
}

export interface CompletableEntry extends CommandEntry {
	readonly flags?: Readonly<Record<string, FlagEntry>>
	readonly args?: Readonly<Record<string, { readonly options?: readonly string[] }>>
}

/** What the names of an argument or flag are asked of. */
export type NameKind = 'topics' | 'groups' | 'entities'

/** Either the candidates themselves, or where to ask for them. */
export type Candidates = readonly string[] | NameKind

const ARGUMENT_NAMES: Readonly<Record<string, NameKind>> = {
	'topic:list': 'topics',
	'topic:describe': 'topics',
	'topic:alter': 'topics',
	'topic:delete': 'topics',
	'group:list': 'groups',
	'group:describe': 'groups',
	'config:describe': 'entities',
	'config:set': 'entities',
	'config:unset': 'entities',
	'config:append': 'entities',
	'config:subtract': 'entities',
	produce: 'topics',
	consume: 'topics',
}

const FLAG_NAMES: Readonly<Record<string, NameKind>> = { topic: 'topics', group: 'groups', like: 'topics' }

/** Prints candidates for the last of `words`; the exit code. */
export async function complete(
	commands: Readonly<Record<string, CompletableEntry>>,
	words: readonly string[],
): Promise<number> {
	const current = words.at(-1) ?? ''
	const found = candidatesFor(commands, words.slice(0, -1), current)
	let names: readonly string[] = []
	if (typeof found !== 'string') names = found
	else {
		const { namesOfCluster } = await import('./completion-names.js')
		names = await namesOfCluster(found, words)
	}
	const fitting = names.filter((name) => name.startsWith(current))
	process.stdout.write(fitting.map((name) => `${name}\n`).join(''))
	return EXIT.done
}

/** Candidates at the cursor, behind the words `before`. */
export function candidatesFor(
	commands: Readonly<Record<string, CompletableEntry>>,
	before: readonly string[],
	current: string,
): Candidates {
	const found = resolveCommand(Object.values(commands), before)
	if (!('id' in found)) return current.startsWith('-') ? ['--help', '--version'] : nextWords(commands, before)
	const entry = commands[found.id] as CompletableEntry
	const flags = Object.values(entry.flags ?? {})
	const waiting = flagOf(flags, found.rest.at(-1))
	if (waiting?.type === 'option') return waiting.options ?? FLAG_NAMES[waiting.name] ?? []
	if (current.startsWith('-')) {
		return ['--help', ...flags.filter(({ hidden }) => hidden !== true).map(({ name }) => `--${name}`)].sort()
	}
	const deeper = nextWords(commands, before)
	if (deeper.length > 0) return deeper
	const options = Object.values(entry.args ?? {})[0]?.options
	return options ?? ARGUMENT_NAMES[found.id] ?? []
}

/** The next words of commands that begin with `before`. */
function nextWords(commands: Readonly<Record<string, CompletableEntry>>, before: readonly string[]): readonly string[] {
	const ids = Object.values(commands)
		.filter(({ hidden }) => hidden !== true)
		.map(({ id }) => id.split(':'))
	const noun = before.length === 0 ? [] : [ids.some(([first]) => first === before[0]) ? before[0] : singular(before[0])]
	const path = [...noun, ...before.slice(1)]
	const next = ids.filter((id) => path.every((word, i) => id[i] === word)).map((id) => id[path.length])
	return [...new Set(next.filter((word) => word !== undefined))].sort()
}

function singular(word: string | undefined): string | undefined {
	return word?.endsWith('s') === true ? word.slice(0, -1) : word
}

function flagOf(flags: readonly FlagEntry[], word: string | undefined): FlagEntry | undefined {
	if (word === undefined || !word.startsWith('-') || word.includes('=')) return undefined
	return flags.find(({ name, char, aliases = [] }) =>
		word.startsWith('--') ? [name, ...aliases].includes(word.slice(2)) : word === `-${char}`,
	)
}
