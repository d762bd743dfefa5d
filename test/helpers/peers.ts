/** Apache Kafka's own tools and servers, through `bench/peers/peers`. Tests that need them are skipped by name without. */

import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ROOT, type RunResult, run } from './processes.js'

const PEERS = join(ROOT, 'bench', 'peers', 'peers')
const HOME = process.env['PEERS_HOME'] ?? join(homedir(), '.cache', 'kcli-peers')

export const HAS_JAVA = existsSync(join(HOME, 'libs'))
export const HAS_JAVA4 = existsSync(join(HOME, 'libs4'))
/** Python with confluent-kafka and kafka-python, as `.ci/run` makes it. */
export const PYTHON = process.env['KCLI_PYTHON'] ?? null

/** Both generations of tools: how `javaTool` names them, what people call them, and whether they are installed. */
export const JAVA_VERSIONS = [
	{ version: 'tool', label: '3.9', isInstalled: HAS_JAVA },
	{ version: 'tool4', label: '4.1', isInstalled: HAS_JAVA4 },
] as const

/** Runs one of Kafka's tools; `tool` is 3.9, `tool4` is 4.1. */
export function javaTool(
	version: 'tool' | 'tool4',
	name: string,
	args: readonly string[],
	input?: string,
): Promise<RunResult & { readonly bytes: Buffer }> {
	return run('bash', [PEERS, version, name, ...args], { timeoutMs: 90_000, ...(input === undefined ? {} : { input }) })
}

export function peers(args: readonly string[]): Promise<RunResult & { readonly bytes: Buffer }> {
	return run('bash', [PEERS, ...args], { timeoutMs: 120_000 })
}

/** Codec ids of the batches in a log file, in order. */
export function storedCodecs(logFile: string): number[] {
	const bytes = readFileSync(logFile)
	const codecs: number[] = []
	for (let at = 0; at + 61 <= bytes.length; at += 12 + bytes.readInt32BE(at + 8))
		codecs.push((bytes[at + 22] as number) & 7)
	return codecs
}

export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
