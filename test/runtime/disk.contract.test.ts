/** The disk contract on the real disk and on the simulated one. */

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
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

test("a secret file is its owner's alone, also where one lay open before", () => {
	const root = mkdtempSync(join(tmpdir(), 'kcli-disk-'))
	made.push(root)
	const path = join(root, 'secret')
	writeFileSync(path, 'seen by all, and longer', { mode: 0o644 })
	const file = new NodeDisk().openNow(path, 'secret')
	file.writeNow([Buffer.from('hidden')], 0)
	file.closeNow()
	expect([statSync(path).mode & 0o777, readFileSync(path, 'utf8')]).toEqual([0o600, 'hidden'])
})

diskContract('the simulated disk', () => {
	const disk = new SimDisk()
	disk.makeDirectoryNow('/data')
	return { disk, root: '/data' }
})

test.runIf(existsSync('/proc/self'))('a folder that no parent takes is refused, not tried for ever', () => {
	expect(() => new NodeDisk().makeDirectoryNow('/proc/kcli/data')).toThrow(/mkdir.*\/proc\/kcli/)
})
