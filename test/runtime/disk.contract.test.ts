/** The disk contract on the real disk and on the simulated one. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { NodeDisk } from '../../src/runtime/node-disk.js'
import { diskContract } from '../contract/disk.js'
import { SimDisk } from '../sim/disk.js'

const made: string[] = []
afterAll(() => {
	for (const directory of made) rmSync(directory, { recursive: true, force: true })
})

diskContract('the real disk', () => {
	const root = mkdtempSync(join(tmpdir(), 'kcli-disk-'))
	made.push(root)
	return { disk: new NodeDisk(), root }
})

diskContract('the simulated disk', () => {
	const disk = new SimDisk()
	disk.makeDirectoryNow('/data')
	return { disk, root: '/data' }
})
