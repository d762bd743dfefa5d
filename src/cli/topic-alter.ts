/** Behind `kcli topic alter`: partitions and settings of topics in one command. */

import type { TopicView } from '../ops/topic-view.js'
import { ERROR } from '../protocol/errors.js'
import { refuseWhenReadOnly } from './confirm.js'
import { usageError } from './errors.js'
import { ItemErrors } from './item-error.js'
import { formOf, notice, type OutputChoice, printReport, tableOf } from './output.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import {
	checkedChanges,
	keyHint,
	nearestKey,
	OPERATION,
	outcomesOf,
	pairChanges,
	readConfigs,
	type SettingChange,
	settledConfigs,
	unsetChanges,
} from './setting-change.js'
import { chooseTopics, someNamesOf, type TopicNamesChoice } from './topic-names.js'

export interface TopicAlterChoice extends ConnectionChoice, OutputChoice, TopicNamesChoice {
	readonly partitions: number | undefined
	readonly config: readonly string[] | undefined
	readonly unset: readonly string[] | undefined
	readonly 'dry-run': boolean
}

interface Altered {
	readonly topic: string
	/** `partitions`, or the name of a setting. */
	readonly key: string
	readonly oldValue: string | null
	readonly newValue: string | null
	readonly status: 'changed' | 'unchanged' | 'would-change'
}

const TOPIC = 2

/** Changes topics; the exit code. */
export async function alterTopics(argv: readonly string[], flags: TopicAlterChoice): Promise<number> {
	const names = someNamesOf(argv, flags)
	const changes = checkedChanges([...pairChanges(flags.config ?? [], 'set', '-c'), ...unsetChanges(flags.unset ?? [])])
	if (changes.length === 0 && flags.partitions === undefined) {
		throw usageError('nothing to change: give -p, -c or --unset', "'--help' shows how it is used")
	}
	refuseWhenReadOnly(flags['dry-run'])
	return await withCluster(flags, async (session) => {
		const { topics, errors: unknown } = await chooseTopics(session.cluster, names, flags)
		const errors = new ItemErrors()
		const items: Altered[] = []
		if (flags.partitions !== undefined) items.push(...(await grow(session, topics, flags.partitions, flags, errors)))
		if (changes.length > 0) {
			for (const topic of topics) items.push(...(await change(session, topic.name, changes, flags, errors)))
		}
		if (flags['dry-run'] && formOf(flags) === 'table') notice('dry run: nothing was changed', flags)
		return await printReport(
			{
				kind: 'TopicAlter',
				items,
				errors: [...unknown, ...errors.list],
				clusterId: session.cluster.clusterId,
				dryRun: flags['dry-run'],
				table: tableOf(items, [
					{ header: 'TOPIC', value: ({ topic }) => topic },
					{ header: 'KEY', value: ({ key }) => key },
					{ header: 'OLD', value: ({ oldValue }) => oldValue },
					{ header: 'NEW', value: ({ newValue }) => newValue },
					{ header: 'STATUS', value: ({ status }) => status },
				]),
				nameOf: ({ topic }) => topic,
			},
			flags,
		)
	})
}

async function grow(
	{ admin }: Session,
	topics: readonly TopicView[],
	count: number,
	flags: TopicAlterChoice,
	errors: ItemErrors,
): Promise<Altered[]> {
	const isDryRun = flags['dry-run']
	const open = topics.filter(({ partitionCount }) => partitionCount !== count)
	const results =
		open.length === 0 ? [] : await admin.createPartitions(new Map(open.map(({ name }) => [name, count])), isDryRun)
	const failed = new Set(
		results
			.filter(({ name, errorCode, message }) => errors.add(name, errorCode, message, growthHint(errorCode)))
			.map(({ name }) => name),
	)
	return topics
		.filter(({ name }) => !failed.has(name))
		.map(({ name, partitionCount }) => ({
			topic: name,
			key: 'partitions',
			oldValue: String(partitionCount),
			newValue: String(count),
			status: partitionCount === count ? 'unchanged' : isDryRun ? 'would-change' : 'changed',
		}))
}

function growthHint(errorCode: number): string | null {
	return errorCode === ERROR.INVALID_PARTITIONS ? 'partitions can be added, never taken away' : null
}

async function change(
	{ admin }: Session,
	topic: string,
	changes: readonly SettingChange[],
	flags: TopicAlterChoice,
	errors: ItemErrors,
): Promise<Altered[]> {
	const isDryRun = flags['dry-run']
	const entity = { text: topic, type: TOPIC, name: topic }
	const before = await readConfigs(admin, entity)
	const known = before.map(({ name }) => name)
	const wrong = changes.filter(({ key, operation }) => operation === 'unset' && !known.includes(key))
	if (known.length > 0 && wrong.length > 0) {
		for (const { key } of wrong)
			errors.add(topic, ERROR.INVALID_CONFIG, `${key} is no setting here`, nearestKey(key, known))
		return []
	}
	const result = await admin.alterConfigs(
		TOPIC,
		topic,
		changes.map(({ key, operation, value }) => ({ key, operation: OPERATION[operation], value })),
		isDryRun,
	)
	if (errors.add(topic, result.errorCode, result.message, keyHint(changes, before))) return []
	const after = isDryRun ? null : await settledConfigs(admin, entity, changes, before)
	return outcomesOf(entity, changes, before, after).map(({ key, oldValue, newValue, status }) => ({
		topic,
		key,
		oldValue,
		newValue,
		status,
	}))
}
