/** What all commands share, seen from a shell: help, typos, exit codes, where output goes. */

import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'
import { CLI, isInstalled, kcli, run } from '../helpers/processes.js'

const broker = brokerForFile()

describe('help', () => {
	it('shows all commands in groups, with first steps', async () => {
		const { code, stdout, stderr } = await kcli(['--help'])
		expect([code, stderr]).toEqual([0, ''])
		expect(stdout).toContain('FIRST STEPS\n  kcli broker start ')
		expect(stdout).toMatch(/RECORDS\n {2}produce {2}/)
		expect((await kcli([])).stdout).toBe(stdout)
		expect((await kcli(['help'])).stdout).toBe(stdout)
		expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120)
	})

	it('shows the commands of a noun, and the page of a command by any of its names', async () => {
		expect((await kcli(['topic'])).stdout).toContain('topic describe')
		const page = (await kcli(['topic', 'list', '--help'])).stdout
		expect(page).toContain('EXAMPLES\n  $ kcli topic list\n')
		expect((await kcli(['topics', 'ls', '-h'])).stdout).toBe(page)
		expect((await kcli(['help', 'topic', 'list'])).stdout).toBe(page)
	})
})

describe('typos', () => {
	it('are met with close matches and 2', async () => {
		for (const [line, meant] of [
			['topik list', 'kcli topic'],
			['topic lst', 'kcli topic list'],
			['topic list --ony urp', '--only'],
			['list topics', 'kcli topic list'],
		] as const) {
			const result = await kcli(line.split(' '))
			expect(result, line).toMatchObject({ code: 2, stdout: '' })
			expect(result.stderr, line).toContain(meant)
		}
	})

	it('never pass silently: unknown flags, surplus words, missing words', async () => {
		for (const line of [
			'cluster info --nonsense',
			'cluster info surplus',
			'topic create',
			'topic list --only nonsense',
		]) {
			const result = await kcli(line.split(' '))
			expect(result, line).toMatchObject({ code: 2, stdout: '' })
			expect(result.stderr, line).toMatch(/^kcli: .+\n/)
		}
	})

	it('take no argument from stdin, which belongs to records', async () => {
		const listed = await broker.run('topic list -o name', { input: 'not-a-topic\n' })
		expect(listed).toMatchObject({ code: 0 })
		expect(await kcli(['zk', 'start', '--listen', 'x'], { input: 'x\n' })).toMatchObject({ code: 2 })
	})

	it('come as JSON where JSON was asked for', async () => {
		for (const words of [
			['topik', '--json'],
			['topic', 'list', '--ony', '--json'],
			['topic', 'create', '-o', 'json'],
		]) {
			const { code, stdout } = await kcli(words)
			expect(code).toBe(2)
			expect(JSON.parse(stdout)).toMatchObject({ version: 1, items: [], errors: [{ code: 'KCLI_USAGE' }] })
		}
	})
})

describe('output', () => {
	it('has one shape in JSON for every command that shows something', async () => {
		await broker.run('topic create shape')
		for (const line of [
			'topic list',
			'topic describe shape',
			'topic create other --dry-run',
			'topic alter shape -p 2 --dry-run',
			'topic delete shape --dry-run',
			'config describe topic/shape',
			'config set topic/shape retention.ms=1h --dry-run',
			'config unset topic/shape retention.ms --dry-run',
			'config append topic/shape cleanup.policy=compact --dry-run',
			'config subtract topic/shape cleanup.policy=compact --dry-run',
			'group list',
			'cluster info',
			'errors 3',
			'version',
		]) {
			const { code, stdout, stderr } = await broker.run(`${line} --json`)
			expect([code, stderr], line).toEqual([0, ''])
			const document = JSON.parse(stdout) as Record<string, unknown>
			expect(document, line).toMatchObject({ version: 1, context: null, errors: [] })
			expect(Array.isArray(document['items']), line).toBe(true)
			expect('dryRun' in document, line).toBe(line.includes('--dry-run'))
			expect(document['kind'], line).toBe(
				line
					.split(' ')
					.slice(0, /^(errors|version)/.test(line) ? 1 : 2)
					.map((word) => word.charAt(0).toUpperCase() + word.slice(1))
					.join(''),
			)
		}
	})

	it('takes its form from the environment, and a flag beats it', async () => {
		await broker.run('topic create env')
		const env = { KCLI_OUTPUT: 'name' }
		expect((await broker.run('topic list env', { env })).stdout).toBe('env\n')
		expect((await broker.run('topic list env -o csv', { env })).stdout).toMatch(/^name,partitions,/)
	})

	it('has colours only where they are wanted', async () => {
		await broker.run('topic create colors')
		const csi = '\u001b['
		expect((await broker.run('topic list colors')).stdout).not.toContain(csi)
		const forced = { env: { FORCE_COLOR: '1' } }
		expect((await broker.run('topic list colors', forced)).stdout).toContain(csi)
		expect((await broker.run('topic list colors --no-color', forced)).stdout).not.toContain(csi)
		const both = { env: { FORCE_COLOR: '1', NO_COLOR: '1' } }
		expect((await broker.run('topic list colors', both)).stdout).not.toContain(csi)
	})

	it('ends with 0 when its reader goes away', async () => {
		const child = spawn(process.execPath, [CLI, 'errors', '--json'], { stdio: ['ignore', 'pipe', 'pipe'] })
		child.stdout.destroy()
		let stderr = ''
		child.stderr.on('data', (chunk: Buffer) => {
			stderr += chunk
		})
		const code = await new Promise((resolve) => child.once('close', resolve))
		expect([code, stderr]).toEqual([0, ''])
	})

	it('is whole in a pipe that is read slowly', async () => {
		const { stdout } = await run('sh', ['-c', `"${process.execPath}" "${CLI}" errors --json | (sleep 0.2; cat)`])
		expect(JSON.parse(stdout).items.length).toBeGreaterThan(110)
	})
})

describe('signals', () => {
	it.each([
		['SIGINT', 130],
		['SIGTERM', 143],
	] as const)('%s ends a command that waits, with %i', async (signal, expected) => {
		const silent = createServer().listen(0, '127.0.0.1')
		await new Promise((resolve) => silent.once('listening', resolve))
		const { port } = silent.address() as { port: number }
		const child = spawn(process.execPath, [CLI, 'cluster', 'info', '-b', `127.0.0.1:${port}`], { stdio: 'ignore' })
		const ended = new Promise((resolve) => child.once('close', resolve))
		const socket = await new Promise<{ destroy(): void }>((resolve) => silent.once('connection', resolve))
		child.kill(signal)
		expect(await ended).toBe(expected)
		socket.destroy()
		silent.close()
	})
})

/** `script` gives a command a terminal; the one of util-linux takes the command by -c. */
const hasTerminal = isInstalled('script') && process.platform === 'linux'

describe.skipIf(!hasTerminal)('a terminal', () => {
	const inTerminal = (line: string, input = '') =>
		run('script', ['-qec', `"${process.execPath}" "${CLI}" ${line}`, '/dev/null'], {
			input,
			env: { KCLI_BOOTSTRAP_SERVERS: broker.bootstrap, NO_COLOR: '', FORCE_COLOR: '', CI: '', TERM: 'xterm' },
		})

	it('is asked before something is destroyed', async () => {
		await broker.run('topic create asked')
		const no = await inTerminal('topic delete asked', 'n\n')
		expect(no.stdout).toContain('asked  1 partition, 0 records')
		expect(no.stdout).toContain('Delete 1 topic? [y/N]')
		expect(no.code).toBe(2)
		expect((await broker.run('topic list asked')).code).toBe(0)
		const yes = await inTerminal('topic delete asked', 'y\n')
		expect(yes.code).toBe(0)
		expect((await broker.run('topic list asked')).code).toBe(1)
	})

	it('sees units and colours', async () => {
		await broker.run('topic create seen -c retention.ms=7d')
		const described = await inTerminal('config describe topic/seen')
		expect(described.stdout).toMatch(/retention\.ms +7d/)
		expect(described.stdout).toContain('\u001b[2m')
		expect((await inTerminal('config describe topic/seen --raw')).stdout).toContain('604800000')
	})
})
