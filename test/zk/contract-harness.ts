/** What the parts of the ZooKeeper contract share: a fresh session and root for each test, steps of a multi. */

import { expect, test } from 'vitest'
import { type MultiOp, multiHeader, OP, watchedPathRequest, writeMultiEnd } from '../../src/zk/messages.js'
import { type Frame, OPEN, RawClient } from './raw-client.js'

export interface Contracted {
	readonly address: string
	readonly zk: RawClient
	/** A node of this test alone. */
	readonly root: string
}

let count = 0

/** The server under test; its address is known once the tests run. */
export class Contract {
	address = ''

	/** A test of one promise, with a session and a root of its own. */
	readonly promise = (name: string, body: (context: Contracted) => Promise<void>): void => {
		test(name, async () => {
			const zk = await RawClient.open(this.address)
			const root = `/t${process.pid}-${++count}`
			expect((await zk.create(root)).err).toBe(0)
			await zk.events()
			try {
				await body({ address: this.address, zk, root })
			} finally {
				await zk.end().catch(() => undefined)
			}
		})
	}
}

export const createOp = (path: string, flags = 0, data = ''): MultiOp => ({
	type: OP.create,
	body: { path, data: Buffer.from(data), acl: OPEN, flags },
})

export const setOp = (path: string, data: string, version: number): MultiOp => ({
	type: OP.setData,
	body: { path, data: Buffer.from(data), version },
})

export const removeOp = (path: string, version = -1): MultiOp => ({ type: OP.delete, body: { path, version } })

export const checkOp = (path: string, version: number): MultiOp => ({ type: OP.check, body: { path, version } })

/** Error of each entry of a multi's reply, 0 for those without. */
export const errorsOf = (results: readonly { type: number; err?: number }[]): number[] =>
	results.map((result) => (result.type === OP.error ? (result.err ?? 0) : 0))

/** A multiRead of `[operation, path]` pairs; its reply as it came. */
export function readRequest(zk: RawClient, ops: readonly (readonly [number, string])[]): Promise<Frame> {
	return zk.request(OP.multiRead, (writer) => {
		for (const [type, path] of ops) {
			multiHeader.write(writer, { type, done: false, err: -1 })
			watchedPathRequest.write(writer, { path, watch: false })
		}
		writeMultiEnd(writer)
	})
}
