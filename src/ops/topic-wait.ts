/** Waits until topics can be used from every broker. */

import type { Cluster } from '../client/cluster.js'
import { BrokerError } from '../client/errors.js'
import { ERROR } from '../protocol/errors.js'
import { metadata } from '../protocol/messages/metadata.js'

/**
 * Settles when each broker knows a leader for all partitions of `names`, with an empty list; or, when the operation's time
 * is over, with the names that still wait. Metadata reaches brokers one by one, so one broker's word is not enough.
 */
export async function awaitLeaders(cluster: Cluster, names: readonly string[]): Promise<readonly string[]> {
	const waiting = new Set(names)
	try {
		await cluster.retry('Metadata', async () => {
			await cluster.refresh([...names])
			const answers = await Promise.all(
				cluster.nodes.map(({ id }) =>
					cluster.ask(id, metadata, { topics: names.map((name) => ({ name })), allowAutoTopicCreation: false }),
				),
			)
			for (const name of names) {
				const isEverywhere = answers.every(({ topics }) => {
					const topic = topics.find((each) => each.name === name)
					return (
						topic !== undefined &&
						topic.partitions.length > 0 &&
						topic.partitions.every(({ leaderId }) => leaderId >= 0)
					)
				})
				if (isEverywhere) waiting.delete(name)
				else waiting.add(name)
			}
			if (waiting.size > 0) throw new BrokerError(ERROR.LEADER_NOT_AVAILABLE, [...waiting].join(', '))
		})
	} catch (error) {
		if (!(error instanceof BrokerError) || error.code !== ERROR.LEADER_NOT_AVAILABLE) throw error
	}
	return [...waiting]
}

/** As {@link awaitLeaders}: settles when no broker knows `names` any more, or with those that some broker still knows. */
export async function awaitGone(cluster: Cluster, names: readonly string[]): Promise<readonly string[]> {
	let known: readonly string[] = names
	try {
		await cluster.retry('Metadata', async () => {
			const answers = await Promise.all(
				cluster.nodes.map(({ id }) => cluster.ask(id, metadata, { topics: null, allowAutoTopicCreation: false })),
			)
			known = names.filter((name) => answers.some(({ topics }) => topics.some((topic) => topic.name === name)))
			if (known.length > 0) throw new BrokerError(ERROR.LEADER_NOT_AVAILABLE, known.join(', '))
		})
	} catch (error) {
		if (!(error instanceof BrokerError) || error.code !== ERROR.LEADER_NOT_AVAILABLE) throw error
	}
	return known
}
