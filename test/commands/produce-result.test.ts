/** What `kcli produce` says of what it did, and records that it makes or reads by a format. */

import { describe, expect, it } from 'vitest'
import { brokerForFile } from '../helpers/command-broker.js'
import { CLI, isInstalled, run } from '../helpers/processes.js'

const broker = brokerForFile()

describe('the result', () => {
	it('is nothing in pipes, and one JSON document where it is asked for, by flag or environment', async () => {
		await broker.run('topic create told -p 2')
		expect(await broker.run('produce told -p 1', { input: 'a\nb\n' })).toMatchObject({
			code: 0,
			stdout: '',
			stderr: '',
		})
		const done = await broker.json('produce told -p 1', { input: 'c\nd\ne\n' })
		expect(done).toMatchObject({ code: 0, kind: 'Produce', dryRun: false, errors: [] })
		expect(done.items).toEqual([{ topic: 'told', partition: 1, records: 3, firstOffset: 2, lastOffset: 4 }])
		const env = { KCLI_OUTPUT: 'tsv' }
		expect((await broker.run('produce told -p 0', { input: 'x\n', env })).stdout).toBe('told\t0\t1\t0\t0\n')
		expect((await broker.run('produce told -p 0 -T', { input: 'x\n', env })).stdout).toBe('x\n')
	})

	it('holds what was written and what was refused, by line', async () => {
		await broker.run('topic create small -c max.message.bytes=1000')
		const done = await broker.json('produce small -u', { input: `ok\n${'x'.repeat(3000)}\nok\n` })
		expect(done.code).toBe(1)
		expect(done.items).toMatchObject([{ records: 2, firstOffset: 0, lastOffset: 1 }])
		expect(done.errors).toMatchObject([{ item: 'line 2', code: 10, name: 'MESSAGE_TOO_LARGE' }])
		const bad = await broker.json('produce small --input json', { input: '{"value":"a"}\n{' })
		expect(bad).toMatchObject({ code: 1, items: [{ records: 1 }], errors: [{ code: 'KCLI_INPUT' }] })
	})

	it.skipIf(!isInstalled('script') || process.platform !== 'linux')(
		'is one line on a terminal, none with -q',
		async () => {
			await broker.run('topic create seen')
			const inTerminal = (flags: string) =>
				run(
					'script',
					['-qec', `printf 'a\\nbc\\n' | "${process.execPath}" "${CLI}" produce seen ${flags}`, '/dev/null'],
					{
						env: { KCLI_BOOTSTRAP_SERVERS: broker.bootstrap, TERM: 'xterm', KCLI_OUTPUT: '' },
					},
				)
			expect((await inTerminal('')).stdout.trim()).toMatch(
				/^kcli: 2 records, 3B written to seen, partition 0, in \d+\.\d s \([\d,]+\/s\)$/,
			)
			expect((await inTerminal('-q')).stdout).toBe('')
		},
	)
})

describe('input', () => {
	it('--template makes --repeat records, keys too, and takes no input', async () => {
		await broker.run('topic create made')
		const words = ['produce', 'made', '--template', '{"n":{{n}}}', '-k', 'k{{n}}', '--repeat', '3']
		expect(await broker.run(words, { input: 'not this\n' })).toMatchObject({ code: 0, stderr: '' })
		const read = await broker.run(['consume', 'made', '-e', '-q', '-f', '%k %s\\n'])
		expect(read.stdout).toBe('k1 {"n":1}\nk2 {"n":2}\nk3 {"n":3}\n')
	})

	it('by a format is what consume prints by it', async () => {
		await broker.run('topic create from')
		await broker.run('topic create into')
		await broker.run('produce from -S :', { input: 'a:1\nb:2|3\n' })
		const format = String.raw`%T %k{hex} %h|%s{base64}\n`
		const printed = await broker.run(['consume', 'from', '-e', '-q', '-f', format])
		const back = await broker.run(['produce', 'into', '--input', 'format', '-f', format], { input: printed.stdout })
		expect(back).toMatchObject({ code: 0, stderr: '' })
		expect((await broker.run(['consume', 'into', '-e', '-q', '-f', format])).stdout).toBe(printed.stdout)
	})
})
