/** Names of a cluster's topics and groups for the shell: kept 10 s in a file, asked for at most half a second. */

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { listAllGroups } from '../client/groups.js'
import { isInternalName } from '../ops/topic-view.js'
import { BaseCommand } from './base-command.js'
import type { NameKind } from './complete.js'
import { ExitSignal } from './failure.js'
import { connectionFlags } from './flags/connection.js'
import { withCluster } from './session.js'

const KEPT_MS = 10_000
const LIMIT_MS = 500

/** Names, or none when the cluster does not answer in time. `words` are the whole line: they say which cluster. */
export async function namesOfCluster(kind: NameKind, words: readonly string[]): Promise<readonly string[]> {
	const connection = connectionWords(words)
	const file = cacheFile(kind, connection)
	const kept = readCache(file)
	if (kept !== null) return kept
	const limit = new Promise<null>((resolve) => setTimeout(() => resolve(null), LIMIT_MS))
	const names = await Promise.race([askCluster(kind, connection), limit])
	if (names !== null) writeCache(file, names)
	return names ?? []
}

/** The words that say which cluster is meant and how to reach it. */
export function connectionWords(words: readonly string[]): string[] {
	const kept: string[] = []
	const flags = Object.entries(connectionFlags)
	for (let i = 0; i < words.length; i++) {
		const word = words[i] as string
		const [spelling = ''] = word.split('=')
		const flag = flags.find(([name, { char, aliases }]) =>
			spelling.startsWith('--')
				? [name, ...(aliases ?? [])].includes(spelling.slice(2))
				: char !== undefined && spelling === `-${char}`,
		)
		// The word at the cursor may still be growing.
		if (flag === undefined || i === words.length - 1) continue
		kept.push(word)
		if (flag[1].type === 'option' && !word.includes('=')) kept.push(words[++i] as string)
	}
	return kept
}

/** Asks as any command would, so that all connection flags and the environment count. */
class NamesCommand extends BaseCommand {
	static override flags = { ...connectionFlags }
	static override strict = false
	static kind: NameKind = 'topics'
	static found: readonly string[] | null = null

	async run(): Promise<void> {
		const { flags } = await this.parse(NamesCommand)
		NamesCommand.found = await withCluster({ ...flags, timeout: `${LIMIT_MS}ms` }, async ({ cluster }) => {
			if (NamesCommand.kind === 'groups') return (await listAllGroups(cluster)).map(({ group }) => group)
			const { topics } = await cluster.refresh(null)
			const names = topics.map(({ name }) => name ?? '').sort()
			if (NamesCommand.kind === 'topics') return names.filter((name) => !isInternalName(name))
			const brokers = cluster.nodes.map(({ id }) => `broker/${id}`)
			return [...names.map((name) => `topic/${name}`), ...brokers, 'broker/default']
		})
	}

	protected override async catch(): Promise<never> {
		throw new ExitSignal(0)
	}
}

async function askCluster(kind: NameKind, connection: string[]): Promise<readonly string[] | null> {
	NamesCommand.kind = kind
	await NamesCommand.start(connection, '', 'completion')
	return NamesCommand.found
}

function cacheFile(kind: NameKind, connection: readonly string[]): string {
	const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
	const cluster = [
		...connection,
		...Object.entries(process.env)
			.filter(([key]) => key.startsWith('KCLI_'))
			.flat(),
	]
	const digest = createHash('sha256').update(JSON.stringify(cluster)).digest('hex').slice(0, 16)
	return join(base, 'kcli', `completion-${kind}-${digest}.json`)
}

function readCache(file: string): readonly string[] | null {
	try {
		const { at, names } = JSON.parse(readFileSync(file, 'utf8')) as { at: number; names: string[] }
		const age = Date.now() - at
		return age >= 0 && age < KEPT_MS ? names : null
	} catch {
		return null
	}
}

/** A cache that cannot be written only costs time. */
function writeCache(file: string, names: readonly string[]): void {
	try {
		mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 })
		const fresh = `${file}.${process.pid}`
		writeFileSync(fresh, JSON.stringify({ at: Date.now(), names } satisfies { at: number; names: readonly string[] }), {
			mode: 0o600,
		})
		renameSync(fresh, file)
	} catch {
		return
	}
}
