/** Every example of the help is run against a broker, in a shell, as it stands there. */

import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'
import { commandClasses } from '../helpers/command-classes.js'
import { CLI, Cleanup, run } from '../helpers/processes.js'

const broker = brokerForFile()
const cleanup = new Cleanup()
afterAll(() => cleanup.run())

/** Commands that run until they are stopped; their own tests start them. */
const LONG_RUNNING = new Set(['broker:start', 'zk:start'])

/** Examples that follow a topic, or watch, until somebody stops them. */
const isEndless = (line: string): boolean =>
	/ -w\b/.test(line) ||
	(/ consume /.test(` ${line}`) && !/ (-e|--exit|-c|-n|--count|--tail|--idle|--timeout-ms)\b/.test(line))

let folder = ''
let env: Record<string, string> = {}

beforeAll(async () => {
	folder = cleanup.folder()
	writeFileSync(join(folder, 'kcli'), `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n`, { mode: 0o755 })
	writeFileSync(join(folder, 'orders.txt'), 'key:value\n')
	mkdirSync(join(folder, '.zsh'))
	mkdirSync(join(folder, '.config', 'fish', 'completions'), { recursive: true })
	await prepare()
	await broker.run('produce orders -p 0', { input: Array.from({ length: 30 }, (_, i) => `key:${i}\n`).join('') })
	await broker.run('consume orders -g billing -e')
	env = {
		PATH: `${folder}:${process.env['PATH']}`,
		HOME: folder,
		KCLI_BOOTSTRAP_SERVERS: broker.bootstrap,
		KCLI_DATA_DIR: broker.dataDir,
	}
})

/** Commands whose examples need a clean table, or leave none. */
const CHANGES = /^(topic:(create|alter|delete)|config:(set|unset|append|subtract)|produce|consume)$/

/** Commands that work on folders of brokers that do not run. */
const OFFLINE = new Set(['log:repair', 'log:compare'])

/** A copy of the broker's folder and, beside the examples, one more: no broker runs on them. */
function offline(): string {
	const copy = `${cleanup.folder()}/data`
	for (const to of [copy, join(folder, 'other')]) {
		cpSync(broker.dataDir, to, { recursive: true, force: true, filter: (from) => !/\.(lock|sock)$/.test(from) })
	}
	return copy
}

const TOPICS = 'orders events old-orders orders-copy payments users test-1'

/** Puts back what examples need, since one may delete or change what another shows. */
async function prepare(): Promise<void> {
	await broker.run(`topic create ${TOPICS} -p 2 --if-not-exists`)
	await broker.run('config unset topic/orders cleanup.policy')
}

function shellLine(example: string, id: string): string {
	return example
		.replaceAll('<%= config.bin %>', 'kcli')
		.replaceAll('<%= command.id %>', id.replaceAll(':', ' '))
		.replaceAll('localhost:9092', broker.bootstrap)
		.replaceAll('.kcli-data', broker.dataDir)
		.replace(/kcli topic create (\S+)/, (whole, topic) =>
			example.includes('--if-not-exists') ? whole : `kcli topic create ${topic}-new`,
		)
}

/** Runs a line that follows a topic until its first record is out, then Ctrl-C. */
async function followed(line: string): Promise<{ isStarted: boolean; code: number | null }> {
	const child = spawn('bash', ['-c', `cd "${folder}" && exec ${line}`], {
		env: { ...process.env, ...env },
		stdio: ['ignore', 'pipe', 'ignore'],
	})
	let isStarted = false
	child.stdout.once('data', () => {
		isStarted = true
		child.kill('SIGINT')
	})
	const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
	return { isStarted, code }
}

const commands = (await commandClasses()).filter(({ id }) => !LONG_RUNNING.has(id))

describe.each(commands.map(({ id, command }) => ({ id, examples: command.examples ?? [] })))(
	'$id',
	({ id, examples }) => {
		const lines = examples.map((example) => (typeof example === 'string' ? example : example.command))
		it.each(lines.map((line) => [line.replace('<%= config.bin %> <%= command.id %>', '…'), line]))(
			'%s',
			async (_name, example) => {
				const line = shellLine(example, id)
				if (isEndless(line)) {
					expect(await followed(line)).toEqual({ isStarted: true, code: 130 })
					return
				}
				if (CHANGES.test(id)) await prepare()
				const at = OFFLINE.has(id) ? offline() : null
				const shell = `cd "${folder}" && ${at === null ? line : line.replaceAll(broker.dataDir, at)}`
				const place = at === null ? env : { ...env, KCLI_DATA_DIR: at }
				const done = await run('bash', ['-c', shell], { env: place, input: 'key:value\n' })
				expect(done.code, `${line}\n${done.stderr}`).toBe(0)
			},
		)
	},
)
