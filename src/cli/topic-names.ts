/** Which topics a command is about: words, `-t`, patterns; and what to say of those that are not there. */

import type { Cluster } from '../client/cluster.js'
import { type SelectedTopics, selectTopics } from '../ops/topic-view.js'
import { ERROR } from '../protocol/errors.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { usageError } from './errors.js'
import { type ItemError, itemError, unknownItem } from './item-error.js'

export interface TopicNamesChoice {
	readonly topic: readonly string[] | undefined
	readonly regex?: boolean
	readonly internal?: boolean
}

/** Names from words and `-t`, each once, commas parted. */
export function namesOf(argv: readonly string[], flags: TopicNamesChoice): string[] {
	const words = [...argv, ...(flags.topic ?? [])]
	// `topic list "$TOPIC"` with nothing in the variable does not mean all.
	if (words.some((word) => word.trim() === '')) throw usageError('a topic name is empty', 'Is a variable not set?')
	// A comma is no character of a topic name; in a pattern it can be.
	const names = flags.regex === true ? words : words.flatMap((word) => word.split(','))
	return [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))]
}

/** As {@link namesOf}, with at least one name. */
export function someNamesOf(argv: readonly string[], flags: TopicNamesChoice): string[] {
	const names = namesOf(argv, flags)
	if (names.length === 0) throw usageError('missing TOPIC', "'--help' shows how it is used")
	return names
}

export interface ChosenTopics extends SelectedTopics {
	readonly errors: readonly ItemError[]
}

/** The topics that `names` choose; those that are not there as errors with close matches. */
export async function chooseTopics(
	cluster: Cluster,
	names: readonly string[],
	flags: TopicNamesChoice,
): Promise<ChosenTopics> {
	const selection = { isRegex: flags.regex === true, includeInternal: flags.internal === true }
	const found = await selectTopics(cluster, names, selection).catch((error: unknown) => {
		if (error instanceof SyntaxError) throw usageError(`not a regular expression: ${error.message}`)
		throw error
	})
	const errors = found.failed.map(({ name, errorCode }) =>
		errorCode === ERROR.UNKNOWN_TOPIC_OR_PARTITION ? unknownTopic(name, found.allNames) : itemError(name, errorCode),
	)
	return { ...found, errors }
}

export function unknownTopic(name: string, allNames: readonly string[]): ItemError {
	const hint = didYouMean(closeMatches(name, allNames)) ?? "'kcli topic list' shows all topics"
	return unknownItem(name, 'topic', hint)
}
