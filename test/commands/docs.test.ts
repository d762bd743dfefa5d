import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../helpers/processes.js'

interface Generator {
	commandPages(commands: object): ReadonlyMap<string, string>
}

describe('docs/commands', () => {
	it('says what the commands say: run `npm run docs` where it does not', async () => {
		const script = pathToFileURL(join(ROOT, 'scripts', 'command-docs.mjs')).href
		const { commandPages } = (await import(script)) as Generator
		const manifest = JSON.parse(readFileSync(join(ROOT, 'oclif.manifest.json'), 'utf8')) as { commands: object }
		const pages = commandPages(manifest.commands)
		const folder = join(ROOT, 'docs', 'commands')
		expect(readdirSync(folder).sort()).toEqual([...pages.keys()].sort())
		for (const [name, text] of pages) expect(readFileSync(join(folder, name), 'utf8'), name).toBe(text)
	})
})
