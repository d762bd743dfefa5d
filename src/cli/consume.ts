/** Behind `kcli consume`: which topics, which way of reading, the exit code. */

import { Consumer } from '../client/consumer.js'
import { type ConsumeChoice, type ConsumeOptions, optionsOf } from './consume-options.js'
import { recordPrinter } from './consume-paper.js'
import { type PartitionName, planPartitions, startsOf } from './consume-plan.js'
import { consumerSettings, Printer } from './consume-printer.js'
import { Interrupt } from './interrupt.js'
import { type Session, withCluster } from './session.js'
import { findTopics, matchTopics } from './topic-lookup.js'

/** Reads and prints; the exit code. */
export async function consumeRecords(args: readonly string[], flags: ConsumeChoice): Promise<number> {
	const options = optionsOf(args, flags, Date.now())
	return await withCluster(flags, async (session) => {
		const interrupt = new Interrupt()
		try {
			const topics = options.isRegex
				? await matchTopics(session.cluster, options.topics, options.hasInternal)
				: await findTopics(session.cluster, options.topics)
			const names = topics.map(({ name }) => name as string)
			const partitions = topics.flatMap(({ name, partitions: all }) =>
				all
					.map(({ partitionIndex }) => ({ topic: name as string, partition: partitionIndex }))
					.sort((a, b) => a.partition - b.partition),
			)
			if (options.tail !== null) {
				const { printTail } = await import('./consume-tail.js')
				return await printTail(session, options, chosen(partitions, options))
			}
			if (options.isLatestOnly) {
				const { printLatest } = await import('./consume-latest.js')
				return await printLatest(session, options, chosen(partitions, options), interrupt)
			}
			if (options.isMerged) {
				const { printMerged } = await import('./consume-merge.js')
				return await printMerged(session, options, chosen(partitions, options), interrupt)
			}
			if (options.group !== null && options.partitions === null) {
				const { consumeInGroup } = await import('./consume-group.js')
				return await consumeInGroup(session, options, names, interrupt)
			}
			return await consumeAlone(session, options, chosen(partitions, options), interrupt)
		} finally {
			interrupt.dispose()
		}
	})
}

function chosen(partitions: readonly PartitionName[], options: ConsumeOptions): PartitionName[] {
	const wanted = options.partitions
	if (wanted === null) return [...partitions]
	options.checkPartitions(partitions)
	return partitions.filter(({ partition }) => wanted.includes(partition))
}

/** Partitions named by the user, without a group's help; with `-g` its stored offsets are read and committed by hand. */
async function consumeAlone(
	session: Session,
	options: ConsumeOptions,
	partitions: readonly PartitionName[],
	interrupt: Interrupt,
): Promise<number> {
	const books =
		options.group === null ? null : await (await import('./consume-group.js')).openBooks(session, options, partitions)
	const plans = await planPartitions(
		session,
		partitions,
		options.range,
		options.isolation,
		options.endsNow,
		books?.stored ?? null,
	)
	options.tell(plans)
	const consumer = new Consumer(session.cluster, consumerSettings(session, options))
	const printer = new Printer(options, await recordPrinter(options), consumer, interrupt)
	try {
		printer.plan(plans)
		await printer.run()
	} finally {
		consumer.close()
	}
	await printer.sink.flush()
	// A reader that has gone may not have read the last of it.
	if (books !== null && !printer.sink.isGone) {
		const begun = startsOf(plans).map((each) => [`${each.topic}-${each.partition}`, each] as const)
		await books.commit(new Map([...begun, ...printer.printed]))
	}
	return printer.exitCode()
}
