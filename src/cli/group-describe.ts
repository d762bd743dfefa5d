/** Behind `kcli group describe`. */

import { listAllGroups } from '../client/groups.js'
import { describeGroupViews, type GroupOffset, type GroupView } from '../ops/group-view.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { usageError } from './errors.js'
import { itemError, unknownItem } from './item-error.js'
import { type Column, type OutputChoice, type Page, printReport, tableOf } from './output.js'
import { withSpinner } from './progress.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'

export interface GroupDescribeChoice extends ConnectionChoice, OutputChoice {
	readonly group: readonly string[] | undefined
	readonly regex: boolean
	readonly section: readonly string[] | undefined
}

const SECTIONS = ['state', 'offsets', 'members'] as const
type Section = (typeof SECTIONS)[number]

type Row = GroupOffset & { readonly group: string }

/** Shows groups with offsets and members; the exit code. */
export async function describeGroups(words: readonly string[], flags: GroupDescribeChoice): Promise<number> {
	const names = [...new Set([...words, ...(flags.group ?? [])])]
	if (names.length === 0) throw usageError('missing GROUP', "'kcli group list' shows all groups")
	const sections = sectionsOf(flags.section)
	return await withCluster(flags, async (session) => {
		const chosen = flags.regex ? await fitting(session, names) : names
		const { views, missing, failed } = await withSpinner('asking the coordinators', flags.quiet, () =>
			describeGroupViews(session.cluster, session.admin, chosen),
		)
		const known = missing.length === 0 ? [] : (await listAllGroups(session.cluster)).map(({ group }) => group)
		const rows: Row[] = views.flatMap(({ group, offsets }) => offsets.map((each) => ({ group, ...each })))
		return await printReport(
			{
				kind: 'GroupDescribe',
				items: views,
				errors: [
					...missing.map((name) =>
						unknownItem(name, 'group', didYouMean(closeMatches(name, known)) ?? "'kcli group list' shows all groups"),
					),
					...failed.map(({ name, errorCode }) => itemError(name, errorCode)),
				],
				clusterId: session.cluster.clusterId,
				table: tableOf(rows, [{ header: 'GROUP', value: ({ group }) => group }, ...OFFSET_COLUMNS]),
				nameOf: ({ group }) => group,
				page: (page) => writePage(page, views, sections),
				...(flags.regex ? { whenEmpty: 'no group fits' } : {}),
			},
			flags,
		)
	})
}

function sectionsOf(given: readonly string[] | undefined): ReadonlySet<Section> {
	if (given === undefined || given.length === 0) return new Set(SECTIONS)
	const names = given.flatMap((each) => each.split(',')).map((each) => each.trim())
	const wrong = names.find((name) => !SECTIONS.includes(name as Section))
	if (wrong !== undefined) throw usageError(`--section wants ${SECTIONS.join(', ')}; not '${wrong}'`)
	return new Set(names as Section[])
}

async function fitting({ cluster }: Session, patterns: readonly string[]): Promise<string[]> {
	let regexes: RegExp[]
	try {
		regexes = patterns.map((pattern) => new RegExp(`^(?:${pattern})$`))
	} catch (error) {
		throw usageError(`not a regular expression: ${(error as Error).message}`)
	}
	const groups = await listAllGroups(cluster)
	return groups.map(({ group }) => group).filter((group) => regexes.some((regex) => regex.test(group)))
}

async function writePage(page: Page, views: readonly GroupView[], sections: ReadonlySet<Section>): Promise<void> {
	for (const [i, view] of views.entries()) {
		if (i > 0) page.line()
		if (sections.has('state')) {
			page.heading(view.group)
			page.pairs([
				['state', view.state],
				['coordinator', view.coordinator],
				['protocol', [view.protocolType, view.protocol].filter((part) => part !== '').join(' ') || null],
				['members', view.memberCount],
				['lag', page.count(view.lag)],
			])
		}
		if (sections.has('offsets') && view.offsets.length > 0) {
			if (sections.has('state')) page.line()
			await page.table(tableOf(view.offsets, OFFSET_COLUMNS))
		}
		if (sections.has('members') && view.members.length > 0) {
			page.line()
			await page.table(
				tableOf(view.members, [
					{ header: 'MEMBER', value: ({ memberId }) => memberId },
					{ header: 'INSTANCE', value: ({ instanceId }) => instanceId, isWide: true },
					{ header: 'CLIENT', value: ({ clientId }) => clientId },
					{ header: 'HOST', value: ({ host }) => host },
					{
						header: 'PARTITIONS',
						value: ({ partitions }) => partitions.reduce((sum, each) => sum + each.partitions.length, 0),
					},
					{
						header: 'ASSIGNMENT',
						value: ({ partitions }) =>
							partitions.map(({ topic, partitions: owned }) => `${topic}:${owned.join(',')}`).join(' '),
						isWide: true,
					},
				]),
			)
		}
	}
}

const OFFSET_COLUMNS: Column<GroupOffset>[] = [
	{ header: 'TOPIC', value: ({ topic }) => topic },
	{ header: 'PARTITION', value: ({ partition }) => partition },
	{ header: 'OFFSET', value: ({ offset }) => offset },
	{ header: 'END', value: ({ endOffset }) => endOffset },
	{ header: 'LAG', value: ({ lag }) => lag, unit: 'count' },
	{ header: 'CLIENT', value: ({ clientId }) => clientId },
	{ header: 'HOST', value: ({ host }) => host },
	{ header: 'MEMBER', value: ({ memberId }) => memberId, isWide: true },
	{ header: 'METADATA', value: ({ metadata }) => metadata, isWide: true },
]
