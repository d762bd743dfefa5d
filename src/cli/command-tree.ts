/**
 * From words to a command: `topics ls` is `topic list`. One table of synonyms for all nouns and verbs, so that plurals
 * and short forms work everywhere and stay out of the help. Knows the commands by the manifest alone.
 */

import { closeMatches, didYouMean } from './close-matches.js'

/** What the manifest says of a command, as far as it matters here. */
export interface CommandEntry {
	readonly id: string
	readonly aliases?: readonly string[]
	readonly hiddenAliases?: readonly string[]
	readonly hidden?: boolean
	readonly summary?: string
	readonly relativePath?: readonly string[]
}

export interface Resolved {
	/** `topic:list`. */
	readonly id: string
	/** What stands behind the command's words. */
	readonly rest: readonly string[]
}

export interface Unresolved {
	/** A noun whose commands can be listed, or null. */
	readonly noun: string | null
	/** The words that name no command; empty when a noun stands alone. */
	readonly words: readonly string[]
	readonly hint: string | null
}

const NOUNS: Readonly<Record<string, string>> = {
	brokers: 'broker',
	clusters: 'cluster',
	configs: 'config',
	configuration: 'config',
	consumer: 'consume',
	'consumer-group': 'group',
	'consumer-groups': 'group',
	contexts: 'context',
	error: 'errors',
	groups: 'group',
	leaders: 'leader',
	logs: 'log',
	producer: 'produce',
	topics: 'topic',
	zookeeper: 'zk',
}

/** Words for a verb, tried in order: the first that the noun has is meant. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
	add: ['create', 'set', 'add'],
	del: ['delete', 'unset'],
	desc: ['describe', 'info', 'show'],
	edit: ['edit', 'alter'],
	get: ['get', 'describe', 'list'],
	info: ['info', 'describe'],
	ls: ['ls', 'list'],
	mk: ['create'],
	new: ['create'],
	remove: ['delete', 'unset'],
	reset: ['seek'],
	rm: ['delete', 'unset'],
	show: ['show', 'describe', 'info'],
	update: ['alter', 'set'],
}

/** Finds the command that the first words of `argv` name, the longest that fits. */
export function resolveCommand(entries: Iterable<CommandEntry>, argv: readonly string[]): Resolved | Unresolved {
	const names = new Map<string, string>()
	const visible: string[] = []
	for (const { id, aliases = [], hiddenAliases = [], hidden } of entries) {
		names.set(id, id)
		for (const alias of [...aliases, ...hiddenAliases]) names.set(alias.replaceAll(' ', ':'), id)
		if (hidden !== true) visible.push(id)
	}
	const words = argv.slice(
		0,
		argv.findIndex((word) => word.startsWith('-')) < 0 ? argv.length : argv.findIndex((word) => word.startsWith('-')),
	)
	for (let count = Math.min(3, words.length); count > 0; count--) {
		for (const candidate of spellings(words.slice(0, count))) {
			const id = names.get(candidate)
			if (id !== undefined) return { id, rest: argv.slice(count) }
		}
	}
	return unresolved(visible, words)
}

/** The ways to read `words` as an id, the literal one first. */
function spellings(words: readonly string[]): string[] {
	const noun = words[0] as string
	const nouns = NOUNS[noun] === undefined ? [noun] : [noun, NOUNS[noun] as string]
	if (words.length === 1) return nouns
	const verb = words[1] as string
	const verbs = [verb, ...(Object.hasOwn(VERBS, verb) ? (VERBS[verb] as readonly string[]) : [])]
	const tail = words.slice(2)
	return nouns.flatMap((each) => verbs.map((second) => [each, second, ...tail].join(':')))
}

function unresolved(visible: readonly string[], words: readonly string[]): Unresolved {
	const [first = '', second] = words
	const nounOf = (word: string): string | null => {
		const noun = NOUNS[word] ?? word
		return visible.some((id) => id.startsWith(`${noun}:`)) ? noun : null
	}
	const noun = nounOf(first)
	if (noun !== null) {
		if (second === undefined) return { noun, words: [], hint: null }
		const verbs = visible.filter((id) => id.startsWith(`${noun}:`)).map((id) => id.slice(noun.length + 1))
		const meant = closeMatches(second, [...verbs, ...Object.keys(VERBS)]).flatMap((verb) =>
			verbs.includes(verb) ? [verb] : (VERBS[verb] ?? []).filter((each) => verbs.includes(each)),
		)
		return { noun, words, hint: didYouMean([...new Set(meant)].map((verb) => `'kcli ${noun} ${verb}'`)) }
	}
	// Verb first, as in `kcli list topics`: the other order is the answer.
	if (second !== undefined && nounOf(second) !== null) {
		const turned = spellings([second, first]).find((id) => visible.includes(id))
		if (turned !== undefined) return { noun: null, words, hint: didYouMean([`'kcli ${turned.replaceAll(':', ' ')}'`]) }
	}
	const known = new Set(visible.map((id) => id.split(':')[0] as string))
	const starts = [...known, ...Object.keys(NOUNS).filter((plural) => known.has(NOUNS[plural] as string))]
	const meant = closeMatches(first, starts).map((each) => NOUNS[each] ?? each)
	return { noun: null, words, hint: didYouMean([...new Set(meant)].map((each) => `'kcli ${each}'`)) }
}
