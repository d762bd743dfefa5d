/**
 * What a ZooKeeper server promises on the wire, as tests that take an address: run on ours (`contract.test.ts`) and on a
 * real one (all pass on Apache ZooKeeper 3.8.4). Each test works below a root of its own and leaves nothing that matters
 * behind. Zxids of failed writes are not compared: Apache spends one on each, ours none.
 */

import { afterAll, beforeAll, describe } from 'vitest'
import { contractAccess } from './contract-access.js'
import { Contract } from './contract-harness.js'
import { contractLimits } from './contract-limits.js'
import { contractMultiAndWatches } from './contract-multi-and-watches.js'
import { contractNodes } from './contract-nodes.js'
import { contractPaths, contractWithoutTtl } from './contract-paths.js'
import { contractSessions } from './contract-sessions.js'
import { contractWatches } from './contract-watches.js'

export interface ContractTarget {
	/**
	 * Called in `beforeAll`, twice: with TTL nodes, sweeps at least every second and all four-letter words allowed, and as a
	 * server comes.
	 */
	start(options: { readonly hasTtlNodes: boolean }): Promise<{ address: string; stop(): Promise<void> }>
}

/** Declares all tests of the contract for one server. */
export function zooKeeperContract(target: ContractTarget): void {
	describe('the contract', () => {
		const contract = served(target, true)
		contractSessions(contract)
		contractNodes(contract)
		contractMultiAndWatches(contract)
		contractPaths(contract)
		contractAccess(contract)
		contractWatches(contract)
		contractLimits(contract)
	})
	describe('the contract without TTL nodes', () => contractWithoutTtl(served(target, false)))
}

/** Starts the server before the tests around it and stops it after them. */
function served(target: ContractTarget, hasTtlNodes: boolean): Contract {
	const contract = new Contract()
	let stop: () => Promise<void> = async () => undefined
	beforeAll(async () => {
		const started = await target.start({ hasTtlNodes })
		contract.address = started.address
		stop = started.stop
	})
	afterAll(() => stop())
	return contract
}
