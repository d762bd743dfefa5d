// Writes oclif.manifest.json from the built commands, so that a command starts without loading the others.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Plugin } from '@oclif/core'

const root = fileURLToPath(new URL('..', import.meta.url))
const plugin = new Plugin({
	ignoreManifest: true,
	errorOnManifestCreate: true,
	respectNoCacheDefault: true,
	root,
	type: 'core',
})
await plugin.load()
// The order of names, not that of the folder as the file system lists it: the same file every time.
const manifest = { ...plugin.manifest }
manifest.commands = Object.fromEntries(Object.entries(manifest.commands).sort(([a], [b]) => (a < b ? -1 : 1)))
for (const command of Object.values(manifest.commands)) delete command.pluginPath
writeFileSync(`${root}oclif.manifest.json`, `${JSON.stringify(manifest, null, '\t')}\n`)
