/**
 * Dynamic configuration from ZooKeeper: topics' and brokers' own settings, loaded at start and followed through
 * `/config/changes` (znodes.md). Whoever acts on a setting subscribes here.
 */

import { errorText, type Logger } from '../../runtime/logger.js'
import type { Clock } from '../../runtime/ports.js'
import type { ZkSession } from '../../zk/port.js'
import { ChangeReader, readConfig } from '../../zk/recipes-config.js'
import { configChangeZnode, configZnode, DEFAULT_ENTITY } from '../../zk/znodes.js'
import type { BrokerConfig, Overrides } from '../config.js'

const NONE: Overrides = new Map()

export class ConfigStore {
	readonly #session: ZkSession
	readonly #clock: Clock
	readonly #brokerId: number
	readonly #broker: BrokerConfig
	readonly #log: Logger
	readonly #topics = new Map<string, Overrides>()
	#reader: ChangeReader | null = null
	#onTopic: (topic: string) => void = () => undefined
	#onBroker: () => void = () => undefined

	constructor(session: ZkSession, clock: Clock, brokerId: number, broker: BrokerConfig, log: Logger) {
		this.#session = session
		this.#clock = clock
		this.#brokerId = brokerId
		this.#broker = broker
		this.#log = log
	}

	/** Loads what is there. Notifications that come from now on are handled once {@link follow} was called. */
	async load(): Promise<void> {
		await Promise.all([this.#loadBroker(DEFAULT_ENTITY), this.#loadBroker(String(this.#brokerId))])
		const topics = await this.#session.children(configZnode.root('topics'))
		await Promise.all((topics?.names ?? []).map((topic) => this.#loadTopic(topic)))
	}

	/** Calls `onTopic` and `onBroker` after each change, from now on. */
	async follow(onTopic: (topic: string) => void, onBroker: () => void): Promise<void> {
		this.#onTopic = onTopic
		this.#onBroker = onBroker
		this.#reader = new ChangeReader(this.#session, this.#clock, {
			root: configChangeZnode.root,
			handle: (data) => this.apply(configChangeZnode.decode(data)),
			onError: (error, name) => this.#log.error('config change not applied', { node: name, reason: errorText(error) }),
		})
		await this.#reader.start()
	}

	close(): void {
		this.#reader?.close()
	}

	/** A topic's own settings. */
	topic(name: string): Overrides {
		return this.#topics.get(name) ?? NONE
	}

	/** Settings just written for a topic by this broker, so that its creation sees them before the notification. */
	remember(topic: string, overrides: Overrides): void {
		this.#topics.set(topic, overrides)
	}

	forget(topic: string): void {
		this.#topics.delete(topic)
	}

	/** Reads an entity's settings (`topics/NAME`, `brokers/ID`) again and has them take effect. */
	async apply(entityPath: string): Promise<void> {
		const slash = entityPath.indexOf('/')
		const type = entityPath.slice(0, slash)
		const name = entityPath.slice(slash + 1)
		if (type === 'topics') {
			await this.#loadTopic(name)
			this.#onTopic(name)
		} else if (type === 'brokers' && (name === DEFAULT_ENTITY || name === String(this.#brokerId))) {
			await this.#loadBroker(name)
			this.#onBroker()
		}
	}

	async #loadTopic(topic: string): Promise<void> {
		const config = await readConfig(this.#session, `topics/${topic}`)
		if (config.size === 0) this.#topics.delete(topic)
		else this.#topics.set(topic, config)
	}

	async #loadBroker(name: string): Promise<void> {
		const config = await readConfig(this.#session, `brokers/${name}`)
		if (name === DEFAULT_ENTITY) this.#broker.setDynamicDefault(config)
		else this.#broker.setDynamicBroker(config)
	}
}
