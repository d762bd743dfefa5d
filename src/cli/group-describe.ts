/** Behind `kcli group describe`. */

import { listAllGroups } from '../client/groups.js'
import { describeGroupViews, type GroupOffset, type GroupView } from '../ops/group-view.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { usageError } from './errors.js'
import { type GroupBy, type LagSum, lagFilter, sumColumns, sumsOf } from './group-summary.js'
import { itemError, unknownItem } from './item-error.js'
import { type Column, type OutputChoice, type Page, printReport, tableOf } from './output.js'
import { withSpinner } from './progress.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'

export interface GroupDescribeChoice extends ConnectionChoice, OutputChoice {
	readonly group: readonly string[] | undefined
	readonly regex: boolean
	readonly section: readonly string[] | undefined
	readonly by: string | undefined
	readonly lag: string | undefined
}

const SECTIONS = ['state', 'offsets', 'members'] as const
type Section = (typeof SECTIONS)[number]

/** With its offsets summed, where that is asked for. */
type Shown = GroupView & { readonly sums?: readonly LagSum[] }

type Row = GroupOffset & { readonly group: string }

/** Shows groups with offsets and members; the exit code. */
export async function describeGroups(words: readonly string[], flags: GroupDescribeChoice): Promise<number> {
	const names = [...new Set([...words, ...(flags.group ?? [])])]
	if (names.length === 0) throw usageError('missing GROUP', "'kcli group list' shows all groups")
	if (names.includes('')) throw usageError('a group name is empty', 'Is a variable not set?')
	const sections = sectionsOf(flags.section)
	const by = (flags.by as GroupBy | undefined) ?? null
	const fits = flags.lag === undefined ? null : lagFilter(flags.lag)
	for (const [name, isGiven] of [['--by', by !== null] as const, ['--lag', fits !== null] as const])
		if (isGiven && !sections.has('offsets')) throw usageError(`${name} needs the section offsets`)
	return await withCluster(flags, async (session) => {
		const chosen = flags.regex ? await fitting(session, names) : names
		const {
			views: found,
			missing,
			failed,
		} = await withSpinner('asking the coordinators', flags, () =>
			describeGroupViews(session.cluster, session.admin, chosen),
		)
		const known = missing.length === 0 ? [] : (await listAllGroups(session.cluster)).map(({ group }) => group)
		const views = chosenViews(found, fits, by)
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
				table: by === null ? tableOf(rows, [GROUP_COLUMN, ...OFFSET_COLUMNS]) : sumTable(views, by),
				nameOf: ({ group }) => group,
				page: (page) => writePage(page, views, sections, by),
				...(flags.regex || fits !== null ? { whenEmpty: 'no group fits' } : {}),
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

/** Groups with the partitions that fit; groups without any are left out. */
function chosenViews(
	views: readonly GroupView[],
	fits: ((lag: number | null) => boolean) | null,
	by: GroupBy | null,
): Shown[] {
	const chosen =
		fits === null
			? views
			: views
					.map((view) => ({ ...view, offsets: view.offsets.filter(({ lag }) => fits(lag)) }))
					.filter(({ offsets }) => offsets.length > 0)
	return chosen.map((view) => (by === null ? view : { ...view, sums: sumsOf(view.offsets, by) }))
}

const GROUP_COLUMN = { header: 'GROUP', value: ({ group }: { readonly group: string }) => group }

function sumTable(views: readonly Shown[], by: GroupBy) {
	const rows = views.flatMap(({ group, sums = [] }) => sums.map((each) => ({ group, ...each })))
	return tableOf(rows, [GROUP_COLUMN, ...sumColumns(by)])
}

async function writePage(
	page: Page,
	views: readonly Shown[],
	sections: ReadonlySet<Section>,
	by: GroupBy | null,
): Promise<void> {
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
			await page.table(by === null ? tableOf(view.offsets, OFFSET_COLUMNS) : tableOf(view.sums ?? [], sumColumns(by)))
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
