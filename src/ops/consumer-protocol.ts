/**
 * The assignment bytes of a member of a consumer group (`ConsumerProtocolAssignment`, all versions share the beginning):
 *
 * | field | type |
 * |---|---|
 * | version | int16 |
 * | topics | array of: name string, partitions array of int32 |
 * | user data | nullable bytes, not read here |
 */

/** Partitions by topic; empty for bytes that are no assignment, since any client may write what it likes. */
export function assignedPartitions(bytes: Buffer): { topic: string; partitions: number[] }[] {
	let at = 2
	const take = (count: number): number => {
		if (count < 0 || at + count > bytes.length) throw new RangeError('assignment ends early')
		at += count
		return at - count
	}
	try {
		const topics: { topic: string; partitions: number[] }[] = []
		for (let left = bytes.readInt32BE(take(4)); left > 0; left--) {
			const length = bytes.readInt16BE(take(2))
			const start = take(length)
			const topic = bytes.toString('utf8', start, start + length)
			const count = bytes.readInt32BE(take(4))
			const first = take(count * 4)
			topics.push({ topic, partitions: Array.from({ length: count }, (_, i) => bytes.readInt32BE(first + 4 * i)) })
		}
		return topics
	} catch (error) {
		if (error instanceof RangeError) return []
		throw error
	}
}
