/**
 * The main job on real input: 100 MB of real text lines in by kcli and by kcat, out by both, byte for byte, with the
 * broker killed and started again in between and in the middle.
 */

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrokerProcess, CLI, Cleanup, isInstalled, ROOT, startBrokerProcess } from '../helpers/processes.js'
import { until } from '../helpers/until.js'

const BYTES_MIN = 100_000_000
const TEXT = /\.(?:js|cjs|mjs|ts|cts|mts|map|json|md)$/

const cleanup = new Cleanup()
let folder = ''
/** The text, and the same without its empty lines: kcat sends none of those. */
let text = ''
let textOfKcat = ''
let sum = ''
let lineCount = 0
let broker: BrokerProcess

/** Sources of the packages we are built with, one after the other in order of their names, until there is enough. */
function realText(): Buffer {
	const parts: Buffer[] = []
	let size = 0
	const walk = (path: string): void => {
		for (const entry of readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
			if (size >= BYTES_MIN) return
			const inner = join(path, entry.name)
			if (entry.isDirectory()) walk(inner)
			else if (entry.isFile() && TEXT.test(entry.name)) {
				const bytes = readFileSync(inner)
				parts.push(bytes)
				if (bytes.at(-1) !== 0x0a) parts.push(Buffer.from('\n'))
				size += bytes.length
			}
		}
	}
	while (size < BYTES_MIN) walk(join(ROOT, 'node_modules'))
	return Buffer.concat(parts)
}

/** Runs a program with files for stdin and stdout; its exit code and stderr. */
function piped(
	command: string,
	args: readonly string[],
	from: string | null,
	to: string | null,
): Promise<{ code: number | null; stderr: string }> {
	const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } })
	cleanup.add(() => child.kill('SIGKILL'))
	let stderr = ''
	child.stderr.on('data', (chunk: Buffer) => {
		stderr += chunk.toString()
	})
	child.stdin.on('error', () => undefined)
	if (from === null) child.stdin.end()
	else createReadStream(from).pipe(child.stdin)
	const written = new Promise<void>((resolve) => {
		if (to === null) {
			child.stdout.resume()
			resolve()
		} else child.stdout.pipe(createWriteStream(to)).once('close', resolve)
	})
	return new Promise((resolve, reject) => {
		child.once('error', reject)
		child.once('close', (code) => void written.then(() => resolve({ code, stderr })))
	})
}

const kcli = (args: readonly string[], from: string | null = null, to: string | null = null) =>
	piped(process.execPath, [CLI, ...args, '-b', broker.bootstrap], from, to)
const kcat = (args: readonly string[], from: string | null = null, to: string | null = null) =>
	piped('kcat', ['-b', broker.bootstrap, ...args], from, to)

function sumOf(path: string): string {
	return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/** Kills the broker as a power button would, and starts it on the same folder and port. */
async function killAndRestart(): Promise<void> {
	await broker.kill()
	broker = await startBrokerProcess(join(folder, 'data'), ['--listen', `PLAINTEXT://${broker.bootstrap}`])
}

describe.skipIf(!isInstalled('kcat'))('100 MB of real text', () => {
	beforeAll(async () => {
		folder = cleanup.folder()
		text = join(folder, 'text')
		const bytes = realText()
		writeFileSync(text, bytes)
		for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lineCount++
		sum = sumOf(text)
		textOfKcat = join(folder, 'text-of-kcat')
		writeFileSync(textOfKcat, bytes.toString('latin1').replace(/\n\n+/g, '\n').replace(/^\n/, ''), 'latin1')
		broker = await startBrokerProcess(join(folder, 'data'))
		cleanup.add(() => broker.kill())
	})
	afterAll(() => cleanup.run())

	it.each(['kcli', 'kcat'] as const)(
		'goes in by %s; killed and started again; comes out byte for byte by kcli and by kcat',
		async (writer) => {
			const topic = `by-${writer}`
			expect((await kcli(['topic', 'create', topic, '-p', '1'])).code).toBe(0)
			const done =
				writer === 'kcli'
					? await kcli(['produce', topic], text)
					: await kcat(['-P', '-t', topic, '-X', 'enable.idempotence=true', '-l', textOfKcat])
			expect([done.code, done.stderr]).toEqual([0, ''])
			await killAndRestart()
			const wanted = writer === 'kcli' ? sum : sumOf(textOfKcat)
			const byKcli = join(folder, `${topic}-kcli`)
			const byKcat = join(folder, `${topic}-kcat`)
			expect((await kcli(['consume', topic, '-e', '-q'], null, byKcli)).code).toBe(0)
			expect(sumOf(byKcli)).toBe(wanted)
			expect((await kcat(['-C', '-t', topic, '-e', '-q'], null, byKcat)).code).toBe(0)
			expect(sumOf(byKcat)).toBe(wanted)
		},
	)

	it('killed and started again while kcli writes: every line is there, once and in order', async () => {
		expect((await kcli(['topic', 'create', 'killed', '-p', '1'])).code).toBe(0)
		const segment = join(folder, 'data', 'killed-0', '00000000000000000000.log')
		const writing = kcli(['produce', 'killed', '-X', 'request.timeout.ms=5000', '--timeout', '60s'], text)
		for (const share of [0.2, 0.5]) {
			await until(`${share} is written`, () => readFileSync(segment).length > BYTES_MIN * share, 60_000)
			await killAndRestart()
		}
		const done = await writing
		expect([done.code, done.stderr]).toEqual([0, ''])
		const out = join(folder, 'killed-out')
		const read = await kcli(['consume', 'killed', '-c', String(lineCount), '-q'], null, out)
		expect(read.code).toBe(0)
		expect(sumOf(out)).toBe(sum)
		const rest = join(folder, 'killed-rest')
		await kcli(['consume', 'killed', '-o', String(lineCount), '-e', '-q'], null, rest)
		expect(readFileSync(rest).length).toBe(0)
	})
})
