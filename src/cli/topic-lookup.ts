/** Topics that a command names: found, or refused at once with the names that may have been meant. Nothing is created. */

import type { Cluster, TopicMetadata } from '../client/cluster.js'
import { BrokerError } from '../client/errors.js'
import { ERROR } from '../protocol/errors.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { CliError, EXIT, usageError } from './errors.js'

/** The error for a topic that is not there, with close matches from the cluster. */
export async function missingTopic(cluster: Cluster, name: string): Promise<CliError> {
	const all = await cluster.refresh(null).catch(() => null)
	const names = (all?.topics ?? []).flatMap((topic) => (topic.name === null ? [] : [topic.name]))
	const hint = didYouMean(closeMatches(name, names)) ?? "'kcli topic list' lists all."
	return new CliError(`there is no topic '${name}'`, EXIT.failed, hint, 'KCLI_UNKNOWN_TOPIC_OR_PARTITION')
}

/** Metadata of the named topics, each with its leaders known where it has any. Rejects for the first that is not there. */
export async function findTopics(cluster: Cluster, names: readonly string[]): Promise<TopicMetadata[]> {
	return await cluster.retry('Metadata', async () => {
		const answer = await cluster.refresh(names)
		const found = new Map(answer.topics.map((topic) => [topic.name, topic]))
		const topics: TopicMetadata[] = []
		for (const name of new Set(names)) {
			const topic = found.get(name)
			const code = topic?.errorCode ?? ERROR.UNKNOWN_TOPIC_OR_PARTITION
			if (topic === undefined || code === ERROR.UNKNOWN_TOPIC_OR_PARTITION) throw await missingTopic(cluster, name)
			if (code !== ERROR.NONE) throw new BrokerError(code, `Metadata ${name}`)
			topics.push(topic)
		}
		return topics
	})
}

/** Topics whose whole name fits one of the patterns; internal ones only when asked. */
export async function matchTopics(
	cluster: Cluster,
	patterns: readonly string[],
	hasInternal: boolean,
): Promise<TopicMetadata[]> {
	const expressions = patterns.map((pattern) => {
		try {
			return new RegExp(`^(?:${pattern})$`)
		} catch (error) {
			throw usageError(`'${pattern}' is no regular expression: ${(error as Error).message}`)
		}
	})
	const answer = await cluster.refresh(null)
	const topics = answer.topics.filter(
		({ name, isInternal }) =>
			name !== null &&
			(hasInternal || (!isInternal && !name.startsWith('__'))) &&
			expressions.some((expression) => expression.test(name)),
	)
	if (topics.length === 0) {
		throw new CliError(`no topic fits ${patterns.join(' or ')}`, EXIT.failed, "'kcli topic list' lists all.")
	}
	return topics.sort((a, b) => ((a.name as string) < (b.name as string) ? -1 : 1))
}
