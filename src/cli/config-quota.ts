/** Settings of clients, users and addresses, which Kafka calls quotas: read and changed by calls of their own. */

import { alterQuotas, describeQuotas, type QuotaEntity } from '../client/client-quotas.js'
import { UnsupportedError } from '../client/errors.js'
import { ERROR } from '../protocol/errors.js'
import { closeMatches, didYouMean } from './close-matches.js'
import { CliError, EXIT, usageError } from './errors.js'
import { type ItemError, itemError } from './item-error.js'
import type { Session } from './session.js'
import type { Operation, SettingChange, SettingOutcome } from './setting-change.js'

const KEYS: Readonly<Record<QuotaEntity['type'], readonly string[]>> = {
	user: ['producer_byte_rate', 'consumer_byte_rate', 'request_percentage', 'controller_mutation_rate'],
	'client-id': ['producer_byte_rate', 'consumer_byte_rate', 'request_percentage', 'controller_mutation_rate'],
	ip: ['connection_creation_rate'],
}

/** The entity's own values, as texts. */
export async function readQuotas({ cluster }: Session, quota: QuotaEntity): Promise<ReadonlyMap<string, string>> {
	const values = await described(() => describeQuotas(cluster, quota))
	return new Map([...values].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, String(value)]))
}

/** Changes values; outcomes as of any setting. Throws a usage error for what is no number. */
export async function changeQuotas(
	session: Session,
	text: string,
	quota: QuotaEntity,
	changes: readonly SettingChange[],
	isDryRun: boolean,
): Promise<{ outcomes: SettingOutcome[]; errors: ItemError[] }> {
	const wanted = new Map(changes.map(({ key, value }) => [key, value === null ? null : numberOf(key, value)]))
	const before = await readQuotas(session, quota)
	const result = await described(() => alterQuotas(session.cluster, quota, wanted, isDryRun))
	if (result.errorCode !== ERROR.NONE) {
		const known = KEYS[quota.type]
		const unknown = changes.filter(({ key }) => !known.includes(key))
		const hint = didYouMean(unknown.flatMap(({ key }) => closeMatches(key, known))) ?? `quotas are ${known.join(', ')}`
		return { outcomes: [], errors: [itemError(text, result.errorCode, result.message, hint)] }
	}
	const outcomes = changes.map(({ key, operation, value }): SettingOutcome => {
		const oldValue = before.get(key) ?? null
		const newValue = value === null ? null : String(wanted.get(key))
		const status = oldValue === newValue ? 'unchanged' : isDryRun ? 'would-change' : 'changed'
		return { entity: text, key, operation, oldValue, newValue, status }
	})
	return { outcomes, errors: [] }
}

/** Quotas are numbers. */
export function refuseListChange(text: string, operation: Operation): void {
	if (operation === 'set' || operation === 'unset') return
	throw usageError(`${text} has no settings that are lists`, `'kcli config set ${text} KEY=VALUE' sets one.`)
}

function numberOf(key: string, value: string): number {
	const number = Number(value)
	if (value.trim() === '' || !Number.isFinite(number)) throw usageError(`${key} wants a number, not '${value}'`)
	return number
}

/** The broker lacks the call: said in words of what the user wants. */
async function described<T>(call: () => Promise<T>): Promise<T> {
	try {
		return await call()
	} catch (error) {
		if (!(error instanceof UnsupportedError)) throw error
		throw new CliError(
			`these brokers have no quotas: ${error.message}`,
			EXIT.failed,
			'client/…, user/… and ip/… need Apache Kafka 2.6 or newer; kcli brokers do not have them yet.',
			'KCLI_UNSUPPORTED',
		)
	}
}
