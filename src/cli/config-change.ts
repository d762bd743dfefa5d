/** Behind `kcli config set|unset|append|subtract`. */

import { ERROR } from '../protocol/errors.js'
import { type Entity, entityError, parseEntity, requireBrokers } from './config-entity.js'
import { changeQuotas, refuseListChange } from './config-quota.js'
import { refuseWhenReadOnly } from './confirm.js'
import { usageError } from './errors.js'
import { type ItemError, itemError } from './item-error.js'
import { formOf, notice, type OutputChoice, printReport, tableOf } from './output.js'
import { type ConnectionChoice, type Session, withCluster } from './session.js'
import {
	checkedChanges,
	keyHint,
	nearestKey,
	OPERATION,
	type Operation,
	outcomesOf,
	pairChanges,
	type SettingChange,
	type SettingOutcome,
	settledConfigs,
	unsetChanges,
} from './setting-change.js'

export interface ConfigChangeChoice extends ConnectionChoice, OutputChoice {
	readonly 'dry-run': boolean
}

/** Applies `words` (`key=value`, or keys for unset) to one entity; the exit code. */
export async function changeConfig(
	operation: Operation,
	[entityText, ...words]: readonly string[],
	flags: ConfigChangeChoice,
): Promise<number> {
	if (entityText === undefined) throw usageError('missing ENTITY', 'topic/NAME, broker/ID or broker/default')
	const entity = parseEntity(entityText)
	if (words.length === 0) throw usageError(operation === 'unset' ? 'missing KEY' : 'missing KEY=VALUE')
	if (entity.quota !== null) refuseListChange(entity.text, operation)
	const changes = checkedChanges(
		operation === 'unset' ? unsetChanges(words) : pairChanges(words, operation, `config ${operation}`),
	)
	refuseWhenReadOnly(flags['dry-run'])
	return await withCluster(flags, async (session) => {
		await requireBrokers(session.cluster, [entity])
		const { outcomes, errors } =
			entity.quota === null
				? await apply(session, entity, changes, flags['dry-run'])
				: await changeQuotas(session, entity.text, entity.quota, changes, flags['dry-run'])
		if (session.cluster.clusterId === null) await session.cluster.refresh([])
		if (flags['dry-run'] && formOf(flags) === 'table') notice('dry run: nothing was changed', flags)
		return await printReport(
			{
				kind: `Config${operation.slice(0, 1).toUpperCase()}${operation.slice(1)}`,
				items: outcomes,
				errors,
				clusterId: session.cluster.clusterId,
				dryRun: flags['dry-run'],
				table: tableOf(outcomes, [
					{ header: 'ENTITY', value: (each) => each.entity },
					{ header: 'KEY', value: ({ key }) => key },
					{ header: 'OLD', value: ({ oldValue }) => oldValue },
					{ header: 'NEW', value: ({ newValue }) => newValue },
					{ header: 'STATUS', value: ({ status }) => status },
				]),
				nameOf: ({ key }) => key,
			},
			flags,
		)
	})
}

async function apply(
	{ admin, cluster }: Session,
	entity: Entity,
	changes: readonly SettingChange[],
	isDryRun: boolean,
): Promise<{ outcomes: SettingOutcome[]; errors: ItemError[] }> {
	const before = (await admin.describeConfigs([{ type: entity.type, name: entity.name, keys: null }]))[0]
	if (before !== undefined && before.errorCode !== ERROR.NONE) {
		return { outcomes: [], errors: [await entityError(cluster, entity, before.errorCode, before.errorMessage)] }
	}
	const known = before?.configs ?? []
	const wrong = changes.filter(({ key, operation }) => operation === 'unset' && !known.some(({ name }) => name === key))
	if (known.length > 0 && wrong.length > 0) {
		const names = known.map(({ name }) => name)
		const errors = wrong.map(({ key }) =>
			itemError(entity.text, ERROR.INVALID_CONFIG, `${key} is no setting here`, nearestKey(key, names)),
		)
		return { outcomes: [], errors }
	}
	const result = await admin.alterConfigs(
		entity.type,
		entity.name,
		changes.map(({ key, operation, value }) => ({ key, operation: OPERATION[operation], value })),
		isDryRun,
	)
	if (result.errorCode !== ERROR.NONE) {
		const hint = keyHint(changes, known)
		return { outcomes: [], errors: [await entityError(cluster, entity, result.errorCode, result.message, hint)] }
	}
	const after = isDryRun ? null : await settledConfigs(admin, entity, changes, known)
	return { outcomes: outcomesOf(entity, changes, known, after), errors: [] }
}
