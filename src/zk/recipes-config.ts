/**
 * Configs, change notifications and other shared state in ZooKeeper, as Apache Kafka 3.9 handles them: write an entity,
 * tell everybody, read what others wrote; conditional updates; blocks of producer ids. Pure over `ZkSession`, `Clock`
 * and `Random`.
 */

import type { Clock, Random } from '../runtime/ports.js'
import { ensurePaths } from './ensure-paths.js'
import { ANY_VERSION, isZkError, type ZkChildren, type ZkOp, type ZkSession, type ZkWatch } from './port.js'
import {
	configChangeZnode,
	configZnode,
	controllerZnode,
	type ProducerIdBlock,
	producerIdBlockZnode,
	sequenceNumber,
} from './znodes.js'

/** Configs of an entity path (`topics/T`, `brokers/<default>`); empty when none are stored. */
export async function readConfig(session: ZkSession, entityPath: string): Promise<Map<string, string>> {
	const node = await session.get(configZnode.path(entityPath))
	return node === null ? new Map() : configZnode.decode(node.data)
}

/**
 * Stores the configs of an entity and tells every broker. With `controllerVersion` (data version of `/controller`) the
 * write is refused with `BAD_VERSION` when the controller node changed: Kafka's guard against a running migration.
 */
export async function writeConfig(
	session: ZkSession,
	entityPath: string,
	config: ReadonlyMap<string, string>,
	controllerVersion: number | null = null,
): Promise<void> {
	await storeConfig(session, entityPath, config, controllerVersion)
	await announceConfig(session, entityPath)
}

/** As {@link writeConfig} without the notification: for a topic that is only now created. */
export async function storeConfig(
	session: ZkSession,
	entityPath: string,
	config: ReadonlyMap<string, string>,
	controllerVersion: number | null = null,
): Promise<void> {
	const path = configZnode.path(entityPath)
	const data = configZnode.encode(config)
	const check: ZkOp[] =
		controllerVersion === null ? [] : [{ op: 'check', path: controllerZnode.path, version: controllerVersion }]
	for (;;) {
		try {
			await session.multi([...check, { op: 'set', path, data, version: ANY_VERSION }])
			return
		} catch (error) {
			if (!isZkError(error, 'NO_NODE') || error.path !== path) throw error
		}
		try {
			await session.create(path, data, { parents: true })
			return
		} catch (error) {
			if (!isZkError(error, 'NODE_EXISTS')) throw error
		}
	}
}

/** Tells every broker to read the entity's configs again. */
export async function announceConfig(session: ZkSession, entityPath: string): Promise<void> {
	await announce(session, configChangeZnode.prefix, configChangeZnode.encode(entityPath))
}

/** Adds a sequential notification node. A retry may add a second one, which does no harm. */
export function announce(session: ZkSession, prefix: string, data: Buffer): Promise<string> {
	return session.create(prefix, data, { mode: 'persistentSequential', parents: true, duplicatesHarmless: true })
}

/** Removes an entity's configs; nothing happens when there are none, or when other entities stand below it. */
export async function removeConfig(session: ZkSession, entityPath: string): Promise<void> {
	try {
		await session.remove(configZnode.path(entityPath), ANY_VERSION)
	} catch (error) {
		if (!isZkError(error, 'NO_NODE') && !isZkError(error, 'NOT_EMPTY')) throw error
	}
}

/** Notifications older than this are removed by whoever reads them. */
const CHANGE_EXPIRY_MS = 15 * 60 * 1000

/** Pause before a pass that failed is done again. */
const RETRY_MS = 500

export interface ChangeReaderOptions {
	/** Parent of the notifications, `/config/changes`. */
	readonly root: string
	/** Called with each notification's data, one at a time, in order. A failure is told and the reader goes on. */
	readonly handle: (data: Buffer | null) => void | Promise<void>
	readonly onError: (error: unknown, name: string) => void
}

/**
 * Reads sequential change notifications: all that are present at the start, then each new one, in numeric order. The
 * notification only says where to look; the handler reads the entity itself. Old ones are removed.
 */
export class ChangeReader {
	readonly #session: ZkSession
	readonly #clock: Clock
	readonly #options: ChangeReaderOptions
	/** Creation times of nodes that were read and may still be there. */
	readonly #created = new Map<string, number>()
	#parent = -1n
	#last = Number.NEGATIVE_INFINITY
	#watch: ZkWatch | null = null
	#latest: ZkChildren | null = null
	#pass: Promise<void> | null = null
	#closed = false

	constructor(session: ZkSession, clock: Clock, options: ChangeReaderOptions) {
		this.#session = session
		this.#clock = clock
		this.#options = options
	}

	/** Settles when everything that was present has been handled. */
	async start(): Promise<void> {
		await ensurePaths(this.#session, [this.#options.root])
		this.#watch = this.#session.watchChildren(this.#options.root, (children) => {
			this.#latest = children
			this.#pass ??= this.#run()
		})
		await this.#watch.ready
		await this.#pass
	}

	close(): void {
		this.#closed = true
		this.#watch?.close()
	}

	async #run(): Promise<void> {
		while (this.#latest !== null && !this.#closed) {
			const children = this.#latest
			this.#latest = null
			try {
				await this.#process(children)
				await this.#purge(children)
			} catch (error) {
				this.#options.onError(error, this.#options.root)
				if (isZkError(error, 'CLOSED')) break
				// What was not read is read again, even if nothing else changes.
				await new Promise<void>((resolve) => this.#clock.after(RETRY_MS, resolve))
				this.#latest ??= children
			}
		}
		this.#pass = null
	}

	async #process(children: ZkChildren): Promise<void> {
		// A parent that was made anew counts from zero again.
		if (children.stat.czxid !== this.#parent) {
			this.#parent = children.stat.czxid
			this.#last = Number.NEGATIVE_INFINITY
			this.#created.clear()
		}
		const fresh = children.names
			.map((name) => ({ name, number: sequenceNumber(name) ?? Number.NEGATIVE_INFINITY }))
			.filter(({ number }) => number > this.#last)
			.sort((a, b) => a.number - b.number)
		for (const { name, number } of fresh) {
			if (this.#closed) return
			const node = await this.#session.get(`${this.#options.root}/${name}`)
			if (node !== null) {
				this.#created.set(name, node.stat.ctime)
				try {
					await this.#options.handle(node.data)
				} catch (error) {
					this.#options.onError(error, name)
				}
			}
			this.#last = number
		}
	}

	async #purge(children: ZkChildren): Promise<void> {
		const present = new Set(children.names)
		const oldest = this.#clock.wallMs() - CHANGE_EXPIRY_MS
		for (const [name, createdMs] of this.#created) {
			if (present.has(name) && createdMs >= oldest) continue
			this.#created.delete(name)
			if (present.has(name)) await removeIfPresent(this.#session, `${this.#options.root}/${name}`)
		}
	}
}

/** Removes a node whatever its version; false when there was none. */
export async function removeIfPresent(session: ZkSession, path: string): Promise<boolean> {
	try {
		await session.remove(path, ANY_VERSION)
		return true
	} catch (error) {
		if (isZkError(error, 'NO_NODE')) return false
		throw error
	}
}

const UPDATE_TRIES = 10

/**
 * Read, change, write if nobody wrote in between; up to ten tries with a pause of 100 to 150 ms. `change` gets the data
 * (undefined when there is no node) and returns the new data, or undefined to remove the node or leave it absent.
 * Returns the new data version, -1 when there is no node. `BAD_VERSION` when every try met another writer.
 */
export async function updateConditionally(
	session: ZkSession,
	clock: Clock,
	random: Random,
	path: string,
	change: (current: Buffer | null | undefined) => Buffer | undefined,
): Promise<number> {
	for (let attempt = 1; ; attempt++) {
		const node = await session.get(path)
		const next = change(node?.data)
		try {
			if (node === null) {
				if (next !== undefined) await session.create(path, next, { parents: true })
				return next === undefined ? -1 : 0
			}
			if (next !== undefined) return (await session.set(path, next, node.stat.version)).version
			await session.remove(path, node.stat.version)
			return -1
		} catch (error) {
			const raced = isZkError(error, 'BAD_VERSION') || isZkError(error, 'NODE_EXISTS') || isZkError(error, 'NO_NODE')
			if (!raced || attempt >= UPDATE_TRIES) throw error
		}
		await new Promise<void>((resolve) => clock.after(100 + random.next() * 50, resolve))
	}
}

/** Ids in a block of producer ids. */
const PRODUCER_ID_BLOCK = 1000n

/** Takes the next block of 1,000 producer ids for `brokerId`. Blocks are never given out twice; one may be lost. */
export async function allocateProducerIds(session: ZkSession, brokerId: number): Promise<ProducerIdBlock> {
	for (;;) {
		const node = await session.get(producerIdBlockZnode.path)
		if (node === null) {
			await ensurePaths(session, [producerIdBlockZnode.path])
			continue
		}
		const previous = producerIdBlockZnode.decode(node.data)
		const first = previous === null ? 0n : previous.last + 1n
		if (first > 0x7fff_ffff_ffff_ffffn - PRODUCER_ID_BLOCK) throw new RangeError('producer ids are exhausted')
		const block: ProducerIdBlock = { brokerId, first, last: first + PRODUCER_ID_BLOCK - 1n }
		try {
			await session.set(producerIdBlockZnode.path, producerIdBlockZnode.encode(block), node.stat.version, {
				identified: true,
			})
			return block
		} catch (error) {
			if (!isZkError(error, 'BAD_VERSION')) throw error
		}
	}
}
