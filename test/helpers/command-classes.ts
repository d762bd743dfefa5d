/** Every command of ours as its class, read from the sources. */

import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from '@oclif/core/command'
import { ROOT } from './processes.js'

const FOLDER = join(ROOT, 'src', 'commands')

export interface CommandClass {
	/** `topic:list`. */
	readonly id: string
	readonly path: string
	readonly command: typeof Command
}

function files(folder: string): string[] {
	return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
		const path = join(folder, entry.name)
		if (entry.isDirectory()) return files(path)
		return entry.name.endsWith('.ts') ? [path] : []
	})
}

export async function commandClasses(): Promise<CommandClass[]> {
	return await Promise.all(
		files(FOLDER)
			.sort()
			.map(async (path) => {
				const module = (await import(pathToFileURL(path).href)) as { default: typeof Command }
				const id = relative(FOLDER, path)
					.replace(/\.ts$/, '')
					.replace(/[/\\]index$/, '')
					.replaceAll(/[/\\]/g, ':')
				return { id, path, command: module.default }
			}),
	)
}
