import { describe, expect, it } from 'vitest'
import { alterClientQuotas, alterQuotas, describeClientQuotas, describeQuotas } from '../../src/client/client-quotas.js'
import { Cluster } from '../../src/client/cluster.js'
import { UnsupportedError } from '../../src/client/errors.js'
import type { Family } from '../../src/protocol/schema.js'
import { type Answer, type Script, scriptedRuntime } from '../helpers/scripted-broker.js'

const clusterOf = (handlers: Script['handlers']): Cluster =>
	new Cluster(scriptedRuntime({ topics: {}, handlers }), {
		bootstrap: [{ host: 'scripted', port: 9092 }],
		clientId: 'quotas',
		connectTimeoutMs: 1000,
		requestTimeoutMs: 1000,
		operationTimeoutMs: 1000,
		retryBackoffMs: 1,
		retryBackoffMaxMs: 5,
	})

describe('client quotas', () => {
	it('are asked of one entity and no other, and changed by key', async () => {
		const asked: unknown[] = []
		const describe = (message: unknown): Answer => {
			asked.push(message)
			const entity = [{ entityType: 'user', entityName: 'alice' }]
			return {
				errorCode: 0,
				errorMessage: null,
				entries: [{ entity, values: [{ key: 'producer_byte_rate', value: 1.5 }] }],
			}
		}
		const alter = (message: unknown): Answer => {
			asked.push(message)
			return { entries: [{ errorCode: 42, errorMessage: 'no such key', entity: [] }] }
		}
		const cluster = clusterOf([
			[describeClientQuotas as unknown as Family, describe],
			[alterClientQuotas as unknown as Family, alter],
		])
		const alice = { type: 'user', name: 'alice' } as const
		expect(await describeQuotas(cluster, alice)).toEqual(new Map([['producer_byte_rate', 1.5]]))
		await describeQuotas(cluster, { type: 'client-id', name: null })
		const changes = new Map([
			['a', 2],
			['b', null],
		])
		expect(await alterQuotas(cluster, alice, changes, true)).toEqual({ errorCode: 42, message: 'no such key' })
		expect(asked).toMatchObject([
			{ components: [{ entityType: 'user', matchType: 0, match: 'alice' }], strict: true },
			{ components: [{ entityType: 'client-id', matchType: 1, match: null }], strict: true },
			{
				entries: [
					{
						entity: [{ entityType: 'user', entityName: 'alice' }],
						ops: [
							{ key: 'a', value: 2, remove: false },
							{ key: 'b', value: 0, remove: true },
						],
					},
				],
				validateOnly: true,
			},
		])
		await cluster.close()
	})

	it('of a broker without the call are said to be unsupported', async () => {
		const cluster = clusterOf([])
		await expect(describeQuotas(cluster, { type: 'ip', name: '127.0.0.1' })).rejects.toThrow(UnsupportedError)
		await cluster.close()
	})
})
