/**
 * `kcli topic delete --backup`: all records of a topic into a file, as `consume -J` prints them and `produce --input json
 * --keep-partition` takes them back. Whatever goes wrong is an error before anything is deleted, and leaves no file.
 */

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Bounds, boundsOf, type PartitionName } from './consume-plan.js'
import { toCliError } from './error-mapping.js'
import { CliError, EXIT, usageError } from './errors.js'
import { readRanges } from './read-ranges.js'
import { recordJson } from './record-json.js'
import type { Session } from './session.js'

export interface BackedUp {
	readonly topic: string
	readonly file: string
	readonly records: number
}

interface Source {
	readonly name: string
	readonly partitions: readonly { readonly partition: number }[]
}

const CHUNK_CHARACTERS = 262_144
/** Records that come in while others are written are read too, so many times. */
const ROUNDS_MAX = 5

/** The file of each topic: `path` itself, or one a topic in that folder. Throws a usage error when one is there already. */
export function backupFiles(path: string, topics: readonly Source[]): ReadonlyMap<string, string> {
	if (path === '') throw usageError('--backup wants a file')
	const isFolder = existsSync(path) ? statSync(path).isDirectory() : topics.length > 1
	const files = new Map(topics.map(({ name }) => [name, isFolder ? join(path, `${name}.ndjson`) : path]))
	if (!isFolder && topics.length > 1) throw usageError(`--backup ${path}: ${topics.length} topics need a folder`)
	const present = [...files.values()].find((file) => existsSync(file))
	if (present !== undefined) throw usageError(`--backup: ${present} is there already`, 'Give another, or move it away.')
	const above = isFolder ? (existsSync(path) ? path : dirname(path)) : dirname(path)
	if (!existsSync(above)) throw usageError(`--backup: there is no folder ${above}`)
	return files
}

/** Writes them all. Rejects with a {@link CliError} (`KCLI_BACKUP_FAILED`); then none of the files is there. */
export async function backUp(
	session: Session,
	topics: readonly Source[],
	files: ReadonlyMap<string, string>,
): Promise<BackedUp[]> {
	const done: BackedUp[] = []
	try {
		for (const topic of topics) {
			const file = files.get(topic.name) as string
			mkdirSync(dirname(file), { recursive: true })
			const fd = openSync(file, 'wx', 0o600)
			done.push({ topic: topic.name, file, records: 0 })
			try {
				const records = await copyTopic(session, topic, fd)
				fsyncSync(fd)
				done[done.length - 1] = { topic: topic.name, file, records }
			} finally {
				closeSync(fd)
			}
		}
		return done
	} catch (error) {
		for (const { file } of done) rmSync(file, { force: true })
		const { message, hint } = toCliError(error)
		throw new CliError(`nothing was deleted: the backup failed: ${message}`, EXIT.failed, hint, 'KCLI_BACKUP_FAILED')
	}
}

async function copyTopic(session: Session, { name, partitions }: Source, fd: number): Promise<number> {
	const places = partitions.map(({ partition }) => ({ topic: name, partition }))
	let read = new Map<number, number>()
	let count = 0
	for (let round = 0; round < ROUNDS_MAX; round++) {
		const bounds = await settledBounds(session, places)
		const open = bounds
			.map((each) => ({ ...each, start: Math.max(each.start, read.get(each.partition) ?? 0) }))
			.filter(({ start, end }) => end > start)
		if (open.length === 0) return count
		count += await copyRanges(session, open, fd)
		read = new Map(bounds.map(({ partition, end }) => [partition, end]))
	}
	throw new CliError(`records keep coming into ${name}`, EXIT.failed, 'Stop what writes to it first.')
}

/** First and end offsets; what a transaction still holds open would be lost. */
async function settledBounds(session: Session, places: readonly PartitionName[]): Promise<Bounds[]> {
	const committed = await boundsOf(session, places, 1)
	const all = await boundsOf(session, places, 0)
	const open = all.find(({ end }, i) => end > (committed[i] as Bounds).end)
	if (open !== undefined) {
		throw new CliError(`a transaction is open in ${open.topic}-${open.partition}`, EXIT.failed, 'End it first.')
	}
	return committed
}

async function copyRanges(session: Session, bounds: readonly Bounds[], fd: number): Promise<number> {
	let text = ''
	let count = 0
	const flush = (): void => {
		writeAll(fd, Buffer.from(text))
		text = ''
	}
	await readRanges(session, bounds, ({ topic, partition }, record) => {
		text += `${recordJson(topic, partition, record, false)}\n`
		count++
		if (text.length >= CHUNK_CHARACTERS) flush()
	})
	flush()
	return count
}

function writeAll(fd: number, bytes: Buffer): void {
	for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
}
