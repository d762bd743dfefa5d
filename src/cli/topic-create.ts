/** Behind `kcli topic create`. */

import type { NewTopic } from '../client/admin.js'
import { addOverrides } from '../ops/topic-view.js'
import { awaitLeaders } from '../ops/topic-wait.js'
import { ERROR } from '../protocol/errors.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { refuseWhenReadOnly } from './confirm.js'
import { CliError, EXIT, usageError } from './errors.js'
import { type ItemError, ItemErrors } from './item-error.js'
import { formOf, notice, type OutputChoice, printReport, tableOf } from './output.js'
import { parsePair, settingValue } from './parse.js'
import { withSpinner } from './progress.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import { chooseTopics, someNamesOf, type TopicNamesChoice } from './topic-names.js'

export interface CreateChoice extends ConnectionChoice, OutputChoice, TopicNamesChoice {
	readonly partitions: number | undefined
	readonly 'replication-factor': number | undefined
	readonly config: readonly string[] | undefined
	readonly assign: readonly string[] | undefined
	readonly like: string | undefined
	readonly wait: boolean
	readonly 'if-not-exists': boolean
	readonly 'dry-run': boolean
}

interface Created {
	readonly name: string
	/** Null where the broker chose and nothing was made yet. */
	readonly partitionCount: number | null
	readonly replicationFactor: number | null
	readonly status: 'created' | 'exists' | 'would-create'
	readonly configs: Readonly<Record<string, string>>
}

/** Creates the named topics; the exit code. */
export async function createTopics(argv: readonly string[], flags: CreateChoice): Promise<number> {
	const names = someNamesOf(argv, flags)
	const given = givenShape(flags)
	refuseWhenReadOnly(flags['dry-run'])
	return await withCluster(flags, async (session) => {
		const shape = flags.like === undefined ? given : await likeTopic(session, flags.like, given)
		const topics = names.map((name): NewTopic => ({ name, ...shape }))
		const results = await withSpinner('creating', flags, () => session.admin.createTopics(topics, flags['dry-run']))
		const errors = new ItemErrors()
		const created: string[] = []
		const present: string[] = []
		for (const { name, errorCode, message } of results) {
			if (errorCode === ERROR.TOPIC_ALREADY_EXISTS && flags['if-not-exists']) present.push(name)
			else if (!errors.add(name, errorCode, message, await hintFor(errorCode, shape))) created.push(name)
		}
		if (flags.wait && !flags['dry-run'] && created.length > 0) await waitForLeaders(session, created, flags)
		return await printOutcome(session, shape, created, present, errors.list, flags)
	})
}

type Shape = Omit<NewTopic, 'name'>

function givenShape(flags: CreateChoice): Shape {
	const configs = new Map<string, string>()
	for (const text of flags.config ?? []) {
		const [key, value] = parsePair(text, '-c')
		configs.set(key, settingValue(key, value))
	}
	const assignments = flags.assign === undefined ? null : parseAssignment(flags.assign)
	if (assignments !== null && (flags.partitions !== undefined || flags['replication-factor'] !== undefined)) {
		throw usageError('--assign says partitions and replicas already: leave -p and -r out')
	}
	return {
		partitions: flags.partitions ?? -1,
		replicationFactor: flags['replication-factor'] ?? -1,
		assignments,
		configs,
	}
}

/** Replicas by partition from `0:1,2` (partition 0 on brokers 1 and 2, the first leads); several parted by `;` or repeated. */
export function parseAssignment(texts: readonly string[]): Map<number, readonly number[]> {
	const assignments = new Map<number, readonly number[]>()
	for (const text of texts.flatMap((each) => each.split(';')).filter((each) => each.trim() !== '')) {
		const match = /^\s*(\d+)\s*:\s*(\d+(?:\s*,\s*\d+)*)\s*$/.exec(text)
		if (match === null) throw usageError(`--assign wants PARTITION:BROKER,BROKER… such as 0:1,2, not '${text}'`)
		const partition = Number(match[1])
		if (assignments.has(partition)) throw usageError(`--assign names partition ${partition} twice`)
		const brokers = (match[2] as string).split(',').map(Number)
		if ([partition, ...brokers].some((each) => each > 2_147_483_647)) {
			throw usageError(`--assign: a number in '${text}' is too large`)
		}
		if (new Set(brokers).size < brokers.length) throw usageError(`--assign names a broker twice in '${text}'`)
		assignments.set(partition, brokers)
	}
	if (assignments.size === 0) throw usageError('--assign wants PARTITION:BROKER,BROKER… such as 0:1,2')
	for (let partition = 0; partition < assignments.size; partition++) {
		if (!assignments.has(partition)) throw usageError(`--assign leaves out partition ${partition}`)
	}
	return assignments
}

/** Counts and settings of a topic that is there; what was given beats it. */
async function likeTopic({ cluster, admin }: Session, like: string, given: Shape): Promise<Shape> {
	const { topics, errors } = await chooseTopics(cluster, [like], { topic: undefined })
	const model = topics[0]
	if (model === undefined) throw new CliError(`--like ${like}: ${errors[0]?.message}`, EXIT.failed, errors[0]?.hint)
	await addOverrides(admin, [model])
	const configs = new Map<string, string>()
	for (const { name, value } of model.overrides ?? []) if (value !== null) configs.set(name, value)
	for (const [key, value] of given.configs) configs.set(key, value)
	return {
		partitions: given.partitions === -1 ? model.partitionCount : given.partitions,
		replicationFactor: given.replicationFactor === -1 ? model.replicationFactor : given.replicationFactor,
		assignments: given.assignments,
		configs,
	}
}

async function waitForLeaders({ cluster }: Session, names: readonly string[], flags: CreateChoice): Promise<void> {
	const waiting = await withSpinner('waiting for leaders', flags, () => awaitLeaders(cluster, names))
	if (waiting.length > 0) {
		throw new CliError(
			`created, but without leaders everywhere after ${flags.timeout}: ${waiting.join(', ')}`,
			EXIT.timedOut,
			"'kcli topic describe' shows which partitions wait",
			'KCLI_TIMED_OUT',
		)
	}
}

async function hintFor(errorCode: number, { configs }: Shape): Promise<string | null> {
	if (errorCode === ERROR.TOPIC_ALREADY_EXISTS) return '--if-not-exists makes that no failure'
	if (errorCode === ERROR.INVALID_REPLICATION_FACTOR) return "'kcli cluster info' shows how many brokers live"
	if (errorCode === ERROR.INVALID_CONFIG) {
		// A topic that is not there has no settings to ask for: Kafka's own names are known here.
		const { TOPIC_KEYS } = await import('../engine/config-topic-keys.js')
		const names = TOPIC_KEYS.map(({ name }) => name)
		const unknown = [...configs.keys()].filter((key) => !names.includes(key))
		return didYouMean(unknown.flatMap((key) => closeMatches(key, names)))
	}
	return null
}

async function printOutcome(
	{ cluster }: Session,
	shape: Shape,
	created: readonly string[],
	present: readonly string[],
	errors: readonly ItemError[],
	flags: CreateChoice,
): Promise<number> {
	const isDryRun = flags['dry-run']
	const there = isDryRun ? present : [...created, ...present]
	const views = there.length === 0 ? [] : (await chooseTopics(cluster, there, { topic: undefined })).topics
	const byName = new Map(views.map((view) => [view.name, view]))
	const itemOf = (name: string, status: Created['status']): Created => ({
		name,
		status,
		partitionCount: byName.get(name)?.partitionCount ?? (shape.assignments?.size || known(shape.partitions)),
		replicationFactor: byName.get(name)?.replicationFactor ?? known(shape.replicationFactor),
		configs: status === 'exists' ? {} : Object.fromEntries(shape.configs),
	})
	const items = [
		...created.map((name) => itemOf(name, isDryRun ? 'would-create' : 'created')),
		...present.map((name) => itemOf(name, 'exists')),
	]
	if (isDryRun && formOf(flags) === 'table') notice('dry run: nothing was created', flags)
	return await printReport(
		{
			kind: 'TopicCreate',
			items,
			errors,
			clusterId: cluster.clusterId,
			dryRun: isDryRun,
			table: tableOf(items, [
				{ header: 'NAME', value: ({ name }) => name },
				{ header: 'STATUS', value: ({ status }) => status },
				{ header: 'PARTITIONS', value: ({ partitionCount }) => partitionCount },
				{ header: 'REPLICAS', value: ({ replicationFactor }) => replicationFactor },
			]),
			nameOf: ({ name }) => name,
		},
		flags,
	)
}

function known(count: number): number | null {
	return count === -1 ? null : count
}
