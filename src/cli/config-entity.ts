/** `topic/orders`, `broker/1`, `broker/default`, `user/alice`, `client/web`, `ip/10.0.0.1`: what a setting belongs to. */

import type { QuotaEntity } from '../client/client-quotas.js'
import type { Cluster } from '../client/cluster.js'
import { ERROR } from '../protocol/errors.js'
import { CliError, EXIT, usageError } from './errors.js'
import { type ItemError, itemError } from './item-error.js'
import { unknownTopic } from './topic-names.js'

export interface Entity {
	/** As it is written. */
	readonly text: string
	/** 2 topic, 4 broker; 0 where it has quotas instead. */
	readonly type: number
	readonly quota: QuotaEntity | null
	/** Empty: the cluster's default for brokers. */
	readonly name: string
}

const TYPES: Readonly<Record<string, number>> = { topic: 2, topics: 2, broker: 4, brokers: 4 }

const QUOTA_TYPES: Readonly<Record<string, QuotaEntity['type']>> = {
	user: 'user',
	users: 'user',
	client: 'client-id',
	clients: 'client-id',
	'client-id': 'client-id',
	ip: 'ip',
	ips: 'ip',
}

const FORMS = 'entities are topic/NAME, broker/ID, broker/default, user/NAME, client/NAME and ip/ADDRESS'

export function parseEntity(text: string): Entity {
	const slash = text.indexOf('/')
	const kind = slash < 0 ? text : text.slice(0, slash)
	const type = Object.hasOwn(TYPES, kind) ? TYPES[kind] : undefined
	const name = slash < 0 ? '' : text.slice(slash + 1)
	const quotaType = Object.hasOwn(QUOTA_TYPES, kind) ? QUOTA_TYPES[kind] : undefined
	if (quotaType !== undefined && name !== '') {
		const short = quotaType === 'client-id' ? 'client' : quotaType
		const quota = { type: quotaType, name: name === 'default' ? null : name }
		return { text: `${short}/${name}`, type: 0, name, quota }
	}
	if (type === undefined || name === '') throw usageError(`'${text}' is no entity`, FORMS)
	if (type === TYPES['broker']) {
		if (name === 'default') return { text: 'broker/default', type, name: '', quota: null }
		if (!/^\d+$/.test(name)) throw usageError(`'${name}' is no broker id`, 'as in broker/1, or broker/default')
		return { text: `broker/${Number(name)}`, type, name: String(Number(name)), quota: null }
	}
	return { text: `topic/${name}`, type, name, quota: null }
}

/** Entities from words, each once; at least one. */
export function parseEntities(words: readonly string[]): Entity[] {
	if (words.length === 0) throw usageError('missing ENTITY', FORMS)
	const entities = new Map<string, Entity>()
	for (const word of words) {
		const entity = parseEntity(word)
		entities.set(entity.text, entity)
	}
	return [...entities.values()]
}

/** Fails at once where a broker is named that does not live, instead of waiting for it. */
export async function requireBrokers(cluster: Cluster, entities: readonly Entity[]): Promise<void> {
	const ids = entities
		.filter(({ type, name }) => type === TYPES['broker'] && name !== '')
		.map(({ name }) => Number(name))
	if (ids.length === 0) return
	await cluster.refresh([])
	const alive = cluster.nodes.map(({ id }) => id)
	const missing = ids.find((id) => !alive.includes(id))
	if (missing === undefined) return
	throw new CliError(`there is no broker ${missing}`, EXIT.failed, `brokers are ${alive.join(', ')}`, 'KCLI_NO_BROKER')
}

/** A code for an entity, with close matches where a topic is not there. */
export async function entityError(
	cluster: Cluster,
	entity: Entity,
	errorCode: number,
	message: string | null,
	hint: string | null = null,
): Promise<ItemError> {
	if (entity.type === TYPES['topic'] && errorCode === ERROR.UNKNOWN_TOPIC_OR_PARTITION) {
		const { topics } = await cluster.refresh(null)
		const names = topics.map(({ name }) => name ?? '')
		return { ...unknownTopic(entity.name, names), item: entity.text }
	}
	return itemError(entity.text, errorCode, message, hint)
}
