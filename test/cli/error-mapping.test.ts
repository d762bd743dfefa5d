import { expect, it } from 'vitest'
import { toCliError } from '../../src/cli/error-mapping.js'
import { CorruptBatch } from '../../src/client/fetched.js'

it('a damaged batch says where what follows it begins, unless its header is nonsense', () => {
	const of = (nextOffset: number) => toCliError(new CorruptBatch('t', 2, 100, nextOffset, 'its checksum is wrong'))
	expect(of(107)).toMatchObject({
		message: 't-2: the batch at offset 100 cannot be read: its checksum is wrong',
		hint: 'what follows it: kcli consume t -p 2 -o 107',
		code: 'KCLI_CORRUPT_BATCH',
		exitCode: 1,
	})
	for (const nonsense of [0, 100, 2 ** 40]) expect(of(nonsense).hint).toBeNull()
})
