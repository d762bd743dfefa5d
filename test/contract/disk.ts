/** One body of tests for every Disk: what `runtime/ports.ts` promises. Run by `test/runtime/disk.contract.test.ts`. */

import { describe, expect, test } from 'vitest'
import { type Disk, DiskError } from '../../src/runtime/ports.js'

/** `make` gives a disk and an empty directory on it. */
export function diskContract(name: string, make: () => { disk: Disk; root: string }): void {
	describe(`${name} keeps the disk contract`, () => {
		test('a file is made, written at positions, read short at its end', () => {
			const { disk, root } = make()
			const file = disk.openNow(disk.join(root, 'a'), 'create')
			file.writeNow([Buffer.from('hello'), Buffer.from(' '), Buffer.from('world')], 0)
			file.writeNow([Buffer.from('W')], 6)
			const into = Buffer.alloc(20)
			expect(file.readNow(into, 6)).toBe(5)
			expect(into.toString('latin1', 0, 5)).toBe('World')
			expect(file.readNow(into, 11)).toBe(0)
			expect(file.sizeNow()).toBe(11)
			file.closeNow()
			file.closeNow()
		})

		test('asynchronous reads and writes do the same', async () => {
			const { disk, root } = make()
			const file = disk.openNow(disk.join(root, 'a'), 'fresh')
			await file.write([Buffer.from('abc'), Buffer.alloc(0), Buffer.from('def')], 2)
			const into = Buffer.alloc(8)
			expect(await file.read(into, 0)).toBe(8)
			expect([...into.subarray(0, 3)]).toEqual([0, 0, 0x61])
			await file.sync()
			file.closeNow()
		})

		test('modes: read and write want the file, create keeps, fresh empties', () => {
			const { disk, root } = make()
			const path = disk.join(root, 'a')
			for (const mode of ['read', 'write'] as const) {
				expect(() => disk.openNow(path, mode)).toThrow(expect.objectContaining({ code: 'ENOENT' }))
			}
			const file = disk.openNow(path, 'create')
			file.writeNow([Buffer.from('x')], 0)
			file.closeNow()
			const kept = disk.openNow(path, 'create')
			expect(kept.sizeNow()).toBe(1)
			kept.closeNow()
			const emptied = disk.openNow(path, 'fresh')
			expect(emptied.sizeNow()).toBe(0)
			emptied.closeNow()
		})

		test('truncate cuts and extends with zeros', () => {
			const { disk, root } = make()
			const file = disk.openNow(disk.join(root, 'a'), 'create')
			file.writeNow([Buffer.from('abcdef')], 0)
			file.truncateNow(2)
			file.truncateNow(4)
			const into = Buffer.alloc(4, 1)
			expect(file.readNow(into, 0)).toBe(4)
			expect([...into]).toEqual([0x61, 0x62, 0, 0])
			file.closeNow()
		})

		test('a retained file lives until the last release, also when removed', () => {
			const { disk, root } = make()
			const path = disk.join(root, 'a')
			const file = disk.openNow(path, 'create')
			file.writeNow([Buffer.from('abc')], 0)
			file.retain()
			file.closeNow()
			disk.removeNow(path)
			const into = Buffer.alloc(3)
			expect(file.readNow(into, 0)).toBe(3)
			file.release()
			expect(() => file.release()).toThrow()
			expect(disk.statNow(path)).toBeNull()
		})

		test('directories: made with parents, listed in order, renamed over, removed whole', async () => {
			const { disk, root } = make()
			const deep = disk.join(root, 'x', 'y')
			disk.makeDirectoryNow(deep)
			disk.makeDirectoryNow(deep)
			for (const name of ['b', 'a', 'B']) disk.openNow(disk.join(deep, name), 'create').closeNow()
			expect(disk.listNow(deep).map((entry) => entry.name)).toEqual(['B', 'a', 'b'])
			expect(disk.listNow(root)).toEqual([{ name: 'x', isDirectory: true }])
			disk.renameNow(disk.join(deep, 'a'), disk.join(deep, 'b'))
			expect(disk.listNow(deep).map((entry) => entry.name)).toEqual(['B', 'b'])
			disk.renameNow(deep, disk.join(root, 'z'))
			expect(disk.statNow(disk.join(root, 'z', 'b'))?.isDirectory).toBe(false)
			disk.syncDirectoryNow(root)
			await disk.removeTree(disk.join(root, 'z'))
			await disk.removeTree(disk.join(root, 'z'))
			expect(disk.listNow(disk.join(root, 'x'))).toEqual([])
		})

		test('errors carry operation, path and the code of the system', () => {
			const { disk, root } = make()
			const path = disk.join(root, 'none')
			for (const run of [
				() => disk.readFileNow(path),
				() => disk.listNow(path),
				() => disk.renameNow(path, `${path}2`),
			]) {
				try {
					run()
					expect.unreachable()
				} catch (error) {
					expect(error).toBeInstanceOf(DiskError)
					expect(error).toMatchObject({ path, code: 'ENOENT' })
				}
			}
			disk.removeNow(path)
			expect(disk.statNow(path)).toBeNull()
		})
	})
}
