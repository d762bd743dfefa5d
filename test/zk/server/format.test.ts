/** `docs/formats/zookeeper.md` is true: its example is what the server writes, and its names are what stands in the folder. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { JuteReader } from '../../../src/zk/jute.js'
import { frameOf, readFrame } from '../../../src/zk/server/frames.js'
import { encodeTransaction, transaction } from '../../../src/zk/server/transaction.js'
import { ROOT } from '../../helpers/processes.js'

const page = readFileSync(join(ROOT, 'docs/formats/zookeeper.md'), 'utf8')

test('the example of a transaction in its frame', () => {
	const hex = /```hex\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
	const bytes = Buffer.from(hex.replaceAll(/\s/g, ''), 'hex')
	const payload = readFrame(bytes, 0)
	expect(payload?.length).toBe(bytes.length - 12)
	const value = transaction.read(new JuteReader(payload as Buffer))
	expect(value).toMatchObject({
		zxid: 2,
		sessionId: 0x1000000000001n,
		session: { kind: 'none' },
		changes: [{ kind: 'create', path: '/a', data: Buffer.from('hi'), acl: [{ perms: 31 }], counter: 1 }],
	})
	expect(Buffer.concat(frameOf([encodeTransaction(value)]))).toEqual(bytes)
})
