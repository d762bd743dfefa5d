/**
 * Quotas of users, client ids and addresses (KIP-546): DescribeClientQuotas (key 48) and AlterClientQuotas (49), asked of any
 * broker and of the controller. Brokers below 2.6, and ours for now, do not serve them.
 */

import { ERROR } from '../protocol/errors.js'
import { array, bool, family, float64, int8, int16, int32, string } from '../protocol/schema.js'
import type { Cluster } from './cluster.js'
import { BrokerError } from './errors.js'

export const describeClientQuotas = family({
	key: 48,
	name: 'DescribeClientQuotas',
	versions: '0-1',
	flexible: '1+',
	request: {
		components: array('0+', {
			entityType: string('0+'),
			/** 0 this name, 1 the default, 2 any. */
			matchType: int8('0+'),
			match: string('0+', { nullable: '0+' }),
		}),
		strict: bool('0+'),
	},
	response: {
		throttleTimeMs: int32('0+'),
		errorCode: int16('0+'),
		errorMessage: string('0+', { nullable: '0+' }),
		entries: array(
			'0+',
			{
				entity: array('0+', { entityType: string('0+'), entityName: string('0+', { nullable: '0+' }) }),
				values: array('0+', { key: string('0+'), value: float64('0+') }),
			},
			{ nullable: '0+' },
		),
	},
})

export const alterClientQuotas = family({
	key: 49,
	name: 'AlterClientQuotas',
	versions: '0-1',
	flexible: '1+',
	request: {
		entries: array('0+', {
			entity: array('0+', { entityType: string('0+'), entityName: string('0+', { nullable: '0+' }) }),
			ops: array('0+', { key: string('0+'), value: float64('0+'), remove: bool('0+') }),
		}),
		validateOnly: bool('0+'),
	},
	response: {
		throttleTimeMs: int32('0+'),
		entries: array('0+', {
			errorCode: int16('0+'),
			errorMessage: string('0+', { nullable: '0+' }),
			entity: array('0+', { entityType: string('0+'), entityName: string('0+', { nullable: '0+' }) }),
		}),
	},
})

/** What a quota holds for: `user`, `client-id` or `ip`, by name; null is the default of all without their own. */
export interface QuotaEntity {
	readonly type: 'user' | 'client-id' | 'ip'
	readonly name: string | null
}

/** The entity's own values by key. Rejects with `UnsupportedError` where the broker has no such call. */
export async function describeQuotas(cluster: Cluster, { type, name }: QuotaEntity): Promise<Map<string, number>> {
	return await cluster.retry('DescribeClientQuotas', async () => {
		const answer = await cluster.askAny(describeClientQuotas, {
			components: [{ entityType: type, matchType: name === null ? 1 : 0, match: name }],
			strict: true,
		})
		if (answer.errorCode !== ERROR.NONE)
			throw new BrokerError(answer.errorCode, 'DescribeClientQuotas', answer.errorMessage)
		return new Map(
			(answer.entries ?? []).flatMap(({ values }) => values.map(({ key, value }) => [key, value] as const)),
		)
	})
}

/** Sets (a number) or removes (null) values of one entity; the broker's code and words, 0 when done. */
export async function alterQuotas(
	cluster: Cluster,
	{ type, name }: QuotaEntity,
	changes: ReadonlyMap<string, number | null>,
	validateOnly: boolean,
): Promise<{ readonly errorCode: number; readonly message: string | null }> {
	return await cluster.onController('AlterClientQuotas', async (connection) => {
		const ops = [...changes].map(([key, value]) => ({ key, value: value ?? 0, remove: value === null }))
		const answer = await connection.request(alterClientQuotas, {
			entries: [{ entity: [{ entityType: type, entityName: name }], ops }],
			validateOnly,
		})
		const result = answer.entries[0]
		const errorCode = result?.errorCode ?? ERROR.UNKNOWN_SERVER_ERROR
		if (errorCode === ERROR.NOT_CONTROLLER) throw new BrokerError(errorCode, 'AlterClientQuotas')
		return { errorCode, message: result?.errorMessage ?? null }
	})
}
