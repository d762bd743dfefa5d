/** Topic-partition keys and topic ids: the names by which everything in a broker is found. */

/** A topic's partition as Kafka names its folder: `topic-partition`. Unique, since the last `-` parts the two. */
export type PartitionKey = string & { readonly partitionKey: unique symbol }

export interface TopicPartition {
	readonly topic: string
	readonly partition: number
}

export function partitionKey(topic: string, partition: number): PartitionKey {
	return `${topic}-${partition}` as PartitionKey
}

/** Parts a key (or folder name) at its last dash; null when it is not one. */
export function parsePartitionKey(key: string): TopicPartition | null {
	const dash = key.lastIndexOf('-')
	if (dash <= 0 || dash === key.length - 1) return null
	const digits = key.slice(dash + 1)
	if (!/^(0|[1-9][0-9]*)$/.test(digits)) return null
	const partition = Number(digits)
	return partition > 0x7fffffff ? null : { topic: key.slice(0, dash), partition }
}

/** A 16-byte topic id in its text form: unpadded base64url, 22 characters. */
export type TopicId = string & { readonly topicId: unique symbol }

export const ZERO_TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA' as TopicId

const ONE_TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ'

/** Text form of 16 bytes. */
export function topicIdFromBytes(bytes: Uint8Array): TopicId {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url') as TopicId
}

export function topicIdToBytes(id: TopicId): Buffer {
	return Buffer.from(id, 'base64url')
}

/** A fresh id from a source of random bytes: never zero or one, never printed with a leading dash (Kafka's `Uuid`). */
export function newTopicId(randomBytes: (count: number) => Uint8Array): TopicId {
	for (;;) {
		const bytes = Buffer.from(randomBytes(16))
		bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40
		bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
		const id = topicIdFromBytes(bytes)
		if (id !== ZERO_TOPIC_ID && id !== ONE_TOPIC_ID && !id.startsWith('-')) return id
	}
}

/** Java's `String.hashCode` over UTF-16 units, as an int32: Kafka places groups, transactions and fetchers by it. */
export function javaHash(text: string): number {
	let hash = 0
	for (let i = 0; i < text.length; i++) hash = (Math.imul(31, hash) + text.charCodeAt(i)) | 0
	return hash
}

/** Kafka's `Utils.abs`: Integer.MIN_VALUE becomes 0. */
export function positiveHash(text: string): number {
	const hash = javaHash(text)
	return hash === -0x80000000 ? 0 : Math.abs(hash)
}
