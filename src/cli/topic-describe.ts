/** Behind `kcli topic describe`. */

import { listGroupOffsetsOf, type TopicReader } from '../ops/group-view.js'
import { addOffsets, addOverrides, addSizes, type PartitionView, type TopicView } from '../ops/topic-view.js'
import { ERROR } from '../protocol/errors.js'
import { usageError } from './errors.js'
import { type Column, type OutputChoice, type Page, printReport, tableOf } from './output.js'
import { withSpinner } from './progress.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import { humanSetting } from './style.js'
import { chooseTopics, namesOf, type TopicNamesChoice } from './topic-names.js'

export interface TopicDescribeChoice extends ConnectionChoice, OutputChoice, TopicNamesChoice {
	readonly section: readonly string[] | undefined
	readonly stable: boolean
}

export const SECTIONS = ['summary', 'partitions', 'offsets', 'configs', 'groups'] as const
export type Section = (typeof SECTIONS)[number]

/** What is shown unless sections are named; groups cost a question to every coordinator. */
const USUAL: readonly Section[] = ['summary', 'partitions', 'offsets', 'configs']

type Described = TopicView & { groups?: readonly TopicReader[] }
/** With the offset up to which all transactions have ended; null: not known. */
type Partition = PartitionView & { stableOffset?: number | null }
type Row = Partition & { readonly topic: string }

/** Shows topics with their partitions; the exit code. */
export async function describeTopics(argv: readonly string[], flags: TopicDescribeChoice): Promise<number> {
	const names = namesOf(argv, flags)
	if (names.length === 0) throw usageError('missing TOPIC', "'kcli topic list' shows all topics")
	const sections = sectionsOf(flags.section)
	if (flags.stable && !sections.has('offsets')) throw usageError('--stable needs the section offsets')
	return await withCluster(flags, async (session) => {
		const { topics, errors } = await chooseTopics(session.cluster, names, flags)
		const described: readonly Described[] = topics
		await withSpinner('asking the brokers', flags, () => gather(session, described, sections, flags.stable))
		const rows: Row[] = topics.flatMap(({ name, partitions }) => partitions.map((each) => ({ topic: name, ...each })))
		return await printReport(
			{
				kind: 'TopicDescribe',
				items: described,
				errors,
				clusterId: session.cluster.clusterId,
				table: tableOf(rows, [
					{ header: 'TOPIC', value: ({ topic }) => topic },
					...partitionColumns(sections.has('offsets'), flags.stable),
				]),
				nameOf: ({ name }) => name,
				page: (page) => writePage(page, described, sections, flags.stable),
				...(flags.regex === true ? { whenEmpty: 'no topic fits' } : {}),
			},
			flags,
		)
	})
}

function sectionsOf(given: readonly string[] | undefined): ReadonlySet<Section> {
	if (given === undefined || given.length === 0) return new Set(USUAL)
	const names = given.flatMap((each) => each.split(',')).map((each) => each.trim())
	for (const name of names) {
		if (!SECTIONS.includes(name as Section)) throw usageError(`--section wants ${SECTIONS.join(', ')}; not '${name}'`)
	}
	return new Set(names as Section[])
}

async function gather(
	{ admin, cluster }: Session,
	topics: readonly Described[],
	sections: ReadonlySet<Section>,
	isStable: boolean,
): Promise<void> {
	if (topics.length === 0) return
	const wantsSizes = sections.has('summary') || sections.has('partitions')
	const [, , , readers] = await Promise.all([
		sections.has('offsets') || sections.has('groups') ? addOffsets(admin, topics) : null,
		wantsSizes ? addSizes(admin, topics) : null,
		sections.has('configs') ? addOverrides(admin, topics) : null,
		sections.has('groups') ? listGroupOffsetsOf(cluster, new Set(topics.map(({ name }) => name))) : null,
	])
	if (isStable) await addStable(admin, topics)
	if (readers === null) return
	for (const topic of topics) topic.groups = readersOf(topic, readers.get(topic.name) ?? [])
}

async function addStable(admin: Session['admin'], topics: readonly Described[]): Promise<void> {
	const led = topics.flatMap(({ name, partitions }) =>
		partitions.filter(({ leader }) => leader !== null).map((view: Partition) => ({ name, view })),
	)
	const asked = led.map(({ name, view }) => ({ topic: name, partition: view.partition, timestamp: -1 }))
	const found = asked.length === 0 ? [] : await admin.listOffsets(asked, 1)
	for (const { partitions } of topics) for (const view of partitions as readonly Partition[]) view.stableOffset = null
	for (const [i, { view }] of led.entries()) {
		const each = found[i]
		if (each?.errorCode === ERROR.NONE) view.stableOffset = each.offset
	}
}

/** Lag is counted against the ends that were read for the same page. */
function readersOf(topic: TopicView, readers: readonly TopicReader[]): readonly TopicReader[] {
	const ends = new Map(topic.partitions.map(({ partition, endOffset }) => [partition, endOffset ?? null]))
	return readers.map((reader) => {
		let lag = 0
		for (const { partition, offset } of reader.offsets) lag += Math.max(0, (ends.get(partition) ?? offset) - offset)
		return { ...reader, lag }
	})
}

async function writePage(
	page: Page,
	topics: readonly Described[],
	sections: ReadonlySet<Section>,
	isStable: boolean,
): Promise<void> {
	for (const [i, topic] of topics.entries()) {
		if (i > 0) page.line()
		if (sections.has('summary')) writeSummary(page, topic)
		if (sections.has('partitions') || sections.has('offsets')) {
			if (sections.has('summary')) page.line()
			await page.table(tableOf(topic.partitions, partitionColumns(sections.has('offsets'), isStable)))
		}
		if (sections.has('configs') && topic.overrides !== undefined) await writeOverrides(page, topic)
		if (sections.has('groups')) await writeGroups(page, topic)
	}
}

function writeSummary(page: Page, topic: TopicView): void {
	page.heading(topic.name)
	page.pairs([
		...(topic.topicId === null ? [] : [['id', topic.topicId] as const]),
		['partitions', topic.partitionCount],
		['replicas', topic.replicationFactor],
		...(topic.bytes === undefined ? [] : [['size', page.bytes(topic.bytes)] as const]),
		...(topic.records === undefined ? [] : [['records', page.count(topic.records)] as const]),
		...(topic.underReplicated > 0 ? [['under-replicated', topic.underReplicated] as const] : []),
		...(topic.offline > 0 ? [['offline', topic.offline] as const] : []),
		...(topic.internal ? [['internal', true] as const] : []),
	])
}

async function writeOverrides(page: Page, { overrides = [] }: TopicView): Promise<void> {
	page.line()
	if (overrides.length === 0) {
		page.line("no settings of its own; 'kcli config describe topic/NAME --all' shows all that hold")
		return
	}
	await page.table(
		tableOf(overrides, [
			{ header: 'CONFIG', value: ({ name }) => name },
			{ header: 'VALUE', value: ({ name, value }) => settingText(page.isHuman, name, value) },
		]),
	)
}

function settingText(isHuman: boolean, name: string, value: string | null): string | null {
	return value === null || !isHuman ? value : humanSetting(name, value)
}

async function writeGroups(page: Page, { groups = [] }: Described): Promise<void> {
	page.line()
	if (groups.length === 0) page.line('no group reads it')
	else
		await page.table(
			tableOf(groups, [
				{ header: 'GROUP', value: ({ group }) => group },
				{ header: 'PARTITIONS', value: ({ offsets }) => offsets.length },
				{ header: 'LAG', value: ({ lag }) => lag, unit: 'count' },
			]),
		)
}

function partitionColumns(hasOffsets: boolean, isStable: boolean): Column<Partition>[] {
	const behind = ({ isr, replicas }: PartitionView): boolean => isr.length < replicas.length
	return [
		{ header: 'PARTITION', value: ({ partition }) => partition },
		{ header: 'LEADER', value: ({ leader }) => leader, isBad: ({ leader }) => leader === null },
		{ header: 'EPOCH', value: ({ leaderEpoch }) => leaderEpoch, isWide: true },
		{ header: 'REPLICAS', value: ({ replicas }) => replicas.join(',') },
		{ header: 'ISR', value: ({ isr }) => isr.join(','), isBad: behind },
		{ header: 'OFFLINE', value: ({ offlineReplicas }) => offlineReplicas.join(','), isWide: true },
		...(hasOffsets
			? [
					{ header: 'START', value: ({ startOffset }: PartitionView) => startOffset },
					{ header: 'END', value: ({ endOffset }: PartitionView) => endOffset },
					...(isStable ? [{ header: 'STABLE', value: ({ stableOffset }: Partition) => stableOffset }] : []),
					{ header: 'RECORDS', value: ({ records }: PartitionView) => records, unit: 'count' as const },
				]
			: []),
		{ header: 'SIZE', value: ({ bytes }) => bytes, unit: 'bytes' },
	]
}
