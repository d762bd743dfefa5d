/**
 * What a ZooKeeper server promises on the wire, as tests that take an address: run on ours (`contract.test.ts`) and on a
 * real one (all pass on Apache ZooKeeper 3.8.4). Each test works below a root of its own and leaves nothing that matters
 * behind. Zxids of failed writes are not compared: Apache spends one on each, ours none.
 */

import { afterAll, beforeAll } from 'vitest'
import { Contract } from './contract-harness.js'
import { contractMultiAndWatches } from './contract-multi-and-watches.js'
import { contractNodes } from './contract-nodes.js'
import { contractSessions } from './contract-sessions.js'

export interface ContractTarget {
	/** Called in `beforeAll`. The four-letter words ruok, srvr, mntr, stat and conf must be allowed. */
	start(): Promise<{ address: string; stop(): Promise<void> }>
}

/** Declares all tests of the contract for one server. */
export function zooKeeperContract(target: ContractTarget): void {
	const contract = new Contract()
	let stop: () => Promise<void> = async () => undefined
	beforeAll(async () => {
		const started = await target.start()
		contract.address = started.address
		stop = started.stop
	})
	afterAll(() => stop())
	contractSessions(contract)
	contractNodes(contract)
	contractMultiAndWatches(contract)
}
