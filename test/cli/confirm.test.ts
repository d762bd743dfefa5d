import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { ask } from '../../src/cli/confirm.js'
import { EXIT } from '../../src/cli/errors.js'

async function answered(keys: string | null): Promise<{ answer: boolean; asked: string }> {
	const input = new PassThrough()
	const output = new PassThrough()
	if (keys === null) input.end()
	else input.write(keys)
	const answer = await ask('Delete it?', input, output)
	return { answer, asked: String(output.read()) }
}

it.each([
	['y\r', true],
	['YES\r', true],
	['\r', false],
	['n\r', false],
	['yet\r', false],
	[null, false],
	['\u0004', false],
])('%j is %s', async (keys, wanted) => {
	const { answer, asked } = await answered(keys)
	expect(answer).toBe(wanted)
	expect(asked).toContain('Delete it? [y/N] ')
})

it('Ctrl-C ends with 130 and says that nothing was done', async () => {
	await expect(answered('y\u0003')).rejects.toMatchObject({ message: 'nothing was done', exitCode: EXIT.interrupted })
})
