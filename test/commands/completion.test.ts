/** What a shell is offered, and the scripts that ask for it. */

import { describe, expect, it } from 'vitest'
import { connectionWords } from '../../src/cli/completion-names.js'
import { brokerForFile } from '../helpers/command-broker.js'
import { Cleanup, isInstalled, kcli, ROOT, run } from '../helpers/processes.js'

const broker = brokerForFile()

async function offered(words: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
	const { code, stdout } = await broker.run(['__complete', '--', ...words], { env })
	expect(code).toBe(0)
	return stdout.split('\n').filter((line) => line !== '')
}

describe('completion', () => {
	it('offers commands, flags and choices', async () => {
		expect(await offered(['to'])).toEqual(['topic'])
		expect(await offered(['topics', ''])).toEqual(['alter', 'create', 'delete', 'describe', 'list'])
		expect(await offered(['topic', 'list', '--only', ''])).toContain('urp')
		expect(await offered(['topic', 'list', '--so'])).toEqual(['--sort'])
		expect(await offered(['completion', ''])).toEqual(['bash', 'zsh', 'fish'])
		expect(await offered(['no', 'such', ''])).toEqual([])
	})

	it("offers the cluster's topics, groups and entities, and keeps them for a while", async () => {
		const cleanup = new Cleanup()
		const env = { XDG_CACHE_HOME: cleanup.folder() }
		try {
			await broker.run('topic create offered-a offered-b')
			expect(await offered(['topic', 'describe', 'offered'], env)).toEqual(['offered-a', 'offered-b'])
			await broker.run('topic create offered-c')
			expect(await offered(['topic', 'describe', 'offered'], env)).toEqual(['offered-a', 'offered-b'])
			expect(await offered(['config', 'set', 'broker/'], env)).toEqual(['broker/1', 'broker/default'])
			expect(await offered(['group', 'describe', ''], env)).toEqual([])
		} finally {
			await cleanup.run()
		}
	})

	it('gives up in half a second where nothing answers, without a word', async () => {
		const cleanup = new Cleanup()
		try {
			const asked = await broker.run(['__complete', '--', 'topic', 'describe', '-b', '127.0.0.1:1', ''], {
				env: { XDG_CACHE_HOME: cleanup.folder() },
			})
			expect(asked).toMatchObject({ code: 0, stdout: '', stderr: '' })
		} finally {
			await cleanup.run()
		}
	})

	it('asks the cluster that the line names', () => {
		expect(connectionWords(['topic', 'list', '-b', 'a:1', '--sort', 'size', '--timeout=3s', '-b', 'gro'])).toEqual([
			'-b',
			'a:1',
			'--timeout=3s',
			'-b',
			'gro',
		])
		expect(connectionWords(['topic', '-b'])).toEqual([])
	})

	it.skipIf(!isInstalled('bash'))('works in bash', async () => {
		const { stdout: script } = await kcli(['completion', 'bash'])
		const call = `kcli() { "${process.execPath}" "${ROOT}bin/run.js" "$@"; }\n${script}
			COMP_WORDS=(kcli topic de) COMP_CWORD=2
			_kcli
			echo "\${COMPREPLY[@]}"`
		expect((await run('bash', ['-c', call])).stdout).toBe('delete describe\n')
	})

	it('knows its shells', async () => {
		expect((await kcli(['completion', 'zsh'])).stdout).toMatch(/^#compdef kcli\n/)
		expect((await kcli(['completion', 'fish'])).stdout).toContain('complete -c kcli')
		expect(await kcli(['completion', 'tcsh'])).toMatchObject({ code: 2, stdout: '' })
	})
})
