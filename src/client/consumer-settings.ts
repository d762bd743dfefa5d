/** What a consumer is told, and tells: bounds, times, where to read. Used by `consumer.ts` and its callers. */

export interface ConsumerSettings {
	/** 1: records of open and aborted transactions are not given. */
	readonly isolationLevel: 0 | 1
	readonly isControlShown: boolean
	/** Replicas of this rack are read from where the leader names one (KIP-392); '': leaders only. */
	readonly rackId: string
	/** How long a broker may hold a fetch that finds nothing. */
	readonly waitMsMax: number
	readonly bytesMin: number
	/** One answer; a larger first batch comes whole all the same. */
	readonly bytesMax: number
	readonly partitionBytesMax: number
	/** Fetched bytes that the caller has not read yet. */
	readonly bufferBytesMax: number
	/** A batch that unpacks to more is not read. */
	readonly decompressedBytesMax: number
	/** A topic that the brokers do not know for so long is gone. */
	readonly missingMsMax: number
	/** Brokers that cannot be reached for so long end the reading; Infinity: never. */
	readonly unreachableMsMax: number
	/** Called when the brokers cannot be reached, once, and with null when they can again. */
	readonly onTrouble: (error: Error | null) => void
}

export const CONSUMER_DEFAULTS: ConsumerSettings = {
	isolationLevel: 1,
	isControlShown: false,
	rackId: '',
	waitMsMax: 500,
	bytesMin: 1,
	bytesMax: 16_777_216,
	partitionBytesMax: 4_194_304,
	bufferBytesMax: 33_554_432,
	decompressedBytesMax: 268_435_456,
	missingMsMax: 15_000,
	unreachableMsMax: Number.POSITIVE_INFINITY,
	onTrouble: () => undefined,
}

export interface Assignment {
	readonly topic: string
	readonly partition: number
	readonly offset: number
}

/** The wanted offset is not in the log: where reading goes on instead. */
export interface OffsetReset {
	readonly kind: 'reset'
	readonly topic: string
	readonly partition: number
	readonly from: number
	readonly to: number
}
