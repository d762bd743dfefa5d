/** Help pages. The first one is ours; those of nouns and commands are oclif's, made from the manifest. */

import type { Config, Help } from '@oclif/core'
import type { CommandEntry } from './command-tree.js'
import { EXIT } from './errors.js'

import { isColored } from './style.js'

/** Groups of the first page, in the order that a newcomer needs them; a noun that is named nowhere goes to the last. */
const GROUPS: readonly { readonly title: string; readonly nouns: readonly string[] }[] = [
	{ title: 'RUN A CLUSTER', nouns: ['up', 'down', 'broker', 'zk'] },
	{ title: 'RECORDS', nouns: ['produce', 'consume', 'tail', 'grep'] },
	{ title: 'TOPICS AND GROUPS', nouns: ['topic', 'group', 'config'] },
	{ title: 'CLUSTERS', nouns: ['cluster', 'reassign', 'leader', 'log', 'mirror', 'dashboard'] },
	{ title: 'KCLI', nouns: ['context', 'errors', 'completion', 'version'] },
]

const FIRST_STEPS = [
	['kcli broker start', 'a broker on localhost:9092, data in .kcli-data'],
	['kcli topic create orders -p 6', 'a topic of six partitions'],
	['echo hello | kcli produce orders', 'one record'],
	['kcli consume orders -e', 'all records, then stop'],
	['kcli topic list -b kafka1:9092 --json', 'any Kafka cluster, for scripts'],
] as const

/** The page of `kcli --help`; the exit code. */
export function rootHelp(commands: Readonly<Record<string, CommandEntry>>, version: string): number {
	const visible = Object.values(commands).filter(({ hidden }) => hidden !== true)
	const left = new Set(visible.map(({ id }) => id))
	const sections: string[] = []
	const section = (title: string, ids: readonly string[]): void => {
		if (ids.length === 0) return
		const rows = ids.map((id) => [id.replaceAll(':', ' '), commands[id]?.summary ?? ''] as const)
		sections.push(`${title}\n${columns(rows)}`)
		for (const id of ids) left.delete(id)
	}
	for (const { title, nouns } of GROUPS) {
		section(
			title,
			nouns.flatMap((noun) => [...left].filter((id) => id === noun || id.startsWith(`${noun}:`)).sort()),
		)
	}
	section('MORE', [...left].sort())
	process.stdout.write(
		[
			`Kafka in one npm install: brokers, the ZooKeeper they need, and the tools to run them.\n\n${version}`,
			'USAGE\n  kcli COMMAND [ARGUMENTS] [FLAGS]',
			`FIRST STEPS\n${columns(FIRST_STEPS)}`,
			...sections,
			"'kcli COMMAND --help' shows flags and examples. Plurals and ls, rm, desc work too: 'kcli topics ls'.",
		].join('\n\n'),
	)
	process.stdout.write('\n')
	return EXIT.done
}

/** The page of one command, by id; the exit code. */
export async function commandHelp(root: string, id: string): Promise<number> {
	const { help, config } = await load(root)
	const command = config.findCommand(id)
	if (command === undefined) throw new Error(`no command ${id}`)
	await help.showCommandHelp(command)
	return EXIT.done
}

/** The page of a noun: its commands. */
export async function nounHelp(root: string, noun: string): Promise<number> {
	const { help } = await load(root)
	await help.showHelp([noun])
	return EXIT.done
}

async function load(root: string): Promise<{ help: Help; config: Config }> {
	const oclif = await import('@oclif/core')
	const config = await oclif.Config.load({ root })
	return { config, help: new oclif.Help(config, { stripAnsi: !isColored(process.stdout), flagSortOrder: 'none' }) }
}

function columns(rows: readonly (readonly [string, string])[]): string {
	const width = Math.max(...rows.map(([left]) => left.length)) + 2
	return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n')
}
