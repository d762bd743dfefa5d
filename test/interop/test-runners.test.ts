/** The set-ups for vitest and jest as docs/testing.md shows them, in an empty project with the packed package. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cleanup, ROOT, run } from '../helpers/processes.js'

const cleanup = new Cleanup()
afterAll(() => cleanup.run())

let folder = ''
const INSTALL_MS = 240_000

beforeAll(async () => {
	const made = cleanup.folder()
	const pack = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', made, ROOT])
	expect(pack.code, pack.stderr).toBe(0)
	const [{ filename }] = JSON.parse(pack.stdout) as [{ filename: string }]
	folder = cleanup.folder()
	writeFileSync(join(folder, 'package.json'), '{ "name": "theirs", "private": true }\n')
	const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
		devDependencies: Record<string, string>
	}
	const { vitest, vite, kafkajs } = own.devDependencies
	const packages = [`vitest@${vitest}`, `vite@${vite}`, `kafkajs@${kafkajs}`, 'jest@30', join(made, filename)]
	const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...packages]
	const installed = await run('npm', ['--prefix', folder, ...install], { timeoutMs: INSTALL_MS })
	expect(installed.code, installed.stderr).toBe(0)
}, INSTALL_MS)

/** Writes the files of a section's code block: each begins with a line that is only its name. */
function writeFiles(section: string, skip: readonly string[] = []): void {
	const text = readFileSync(join(ROOT, 'docs', 'testing.md'), 'utf8')
	const from = text.indexOf(`\n## ${section}\n`)
	expect(from).toBeGreaterThan(0)
	const block = /```\w+\n([\s\S]*?)```/.exec(text.slice(from))?.[1] as string
	const parts = block.split(/^\/\/ (\S+\.(?:ts|js))\n/m).slice(1)
	for (let i = 0; i < parts.length; i += 2) {
		if (!skip.includes(parts[i] as string)) writeFileSync(join(folder, parts[i] as string), parts[i + 1] as string)
	}
}

/** A test of somebody's: writes and reads a record through the cluster of the set-up. */
const testOf = (servers: string): string => `
	const { Kafka, logLevel } = require('kafkajs')
	const kafka = new Kafka({ brokers: [${servers}], logLevel: logLevel.NOTHING })
	const producer = kafka.producer()
	await producer.connect()
	await producer.send({ topic: 'orders', messages: [{ value: 'one' }] })
	await producer.disconnect()
	const consumer = kafka.consumer({ groupId: 'g' })
	await consumer.connect()
	await consumer.subscribe({ topic: 'orders', fromBeginning: true })
	const value = await new Promise((resolve) => {
		consumer.run({ eachMessage: async ({ message }) => resolve(String(message.value)) })
	})
	expect(value).toBe('one')
	await consumer.disconnect()
`

const bin = (name: string): string => join(folder, 'node_modules', '.bin', name)

/** Brokers that were started from the folder and still run. */
async function leftovers(): Promise<string> {
	const { stdout } = await run('ps', ['-ww', '-eo', 'pid=,args='])
	return stdout
		.split('\n')
		.filter((line) => line.includes(join(folder, 'node_modules', 'kcli')))
		.join('\n')
}

describe('one cluster for the whole run', () => {
	it('in vitest', async () => {
		writeFiles('vitest', ['any.test.ts'])
		const imports = "import { createRequire } from 'node:module'\nimport { expect, inject, test } from 'vitest'\n"
		const body = `const require = createRequire(import.meta.url)\ntest('a record', async () => {${testOf("inject('kafka')")}}, 30_000)\n`
		writeFileSync(join(folder, 'any.test.ts'), imports + body)
		const { code, stdout, stderr } = await run(process.execPath, [bin('vitest'), 'run', '--root', folder])
		expect(code, stdout + stderr).toBe(0)
		expect(stdout).toMatch(/1 passed/)
		expect(await leftovers()).toBe('')
	})

	it('in jest', async () => {
		writeFiles('jest')
		writeFileSync(
			join(folder, 'theirs.spec.js'),
			`test('a record', async () => {${testOf('process.env.KAFKA')}}, 30_000)\n`,
		)
		const { code, stdout, stderr } = await run(process.execPath, [
			bin('jest'),
			'--config',
			join(folder, 'jest.config.js'),
			'theirs',
		])
		expect(code, stdout + stderr).toBe(0)
		expect(stderr).toMatch(/1 passed/)
		expect(await leftovers()).toBe('')
	})
})
