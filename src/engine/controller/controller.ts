/**
 * The controller: elected through ZooKeeper, one in the cluster, fenced by epoch (semantics 15). Every event runs alone
 * in one mailbox; decisions come from pure functions (`partition-machine`, `elect`); writes go under the fence, then the
 * brokers are told. A broker that is alone is led by its own controller through this same path.
 */

import { errorText, type Logger } from '../../runtime/logger.js'
import { Mailbox } from '../../runtime/mailbox.js'
import type { Clock, Random } from '../../runtime/ports.js'
import type { ZkSession, ZkSubscription } from '../../zk/port.js'
import { ControllerMovedError, electController, resignController } from '../../zk/recipes.js'
import { controllerZnode } from '../../zk/znodes.js'
import type { ControlEndpoint } from './channel.js'
import { ControllerContext } from './context.js'
import { ControllerDuties } from './duties.js'

export interface ControllerOptions {
	readonly brokerId: number
	readonly session: ZkSession
	readonly clock: Clock
	readonly random: Random
	readonly log: Logger
	readonly interBrokerListener: string
	readonly isTopicDeletionEnabled: () => boolean
	readonly allowsUnclean: (topic: string) => boolean
	/** Settles when this broker is registered in the current session: who is not may not stand for election. */
	readonly whenRegistered: () => Promise<unknown>
	/** How control requests reach a broker. */
	readonly endpointOf: (brokerId: number) => ControlEndpoint
}

export class Controller {
	readonly #options: ControllerOptions
	readonly #mailbox = new Mailbox('controller')
	#duties: ControllerDuties | null = null
	#watch: ZkSubscription | null = null
	#events: ZkSubscription | null = null
	#stopped = false

	constructor(options: ControllerOptions) {
		this.#options = options
	}

	/** True while this broker is the controller and may act. */
	get isActive(): boolean {
		return this.#duties !== null && this.#options.session.hasLease()
	}

	/** The state, for tests and for views; null when not the controller. */
	get context(): ControllerContext | null {
		return this.#duties?.context ?? null
	}

	/** Stands for election, now and whenever the role is free. Settles after the first try. */
	async start(): Promise<void> {
		const { session } = this.#options
		this.#events = session.onEvent(async (event) => {
			if (event.type === 'leaseLost') this.#drop('the ZooKeeper session may be gone')
			if (event.type === 'connected' && !event.isNew) void this.#post('lease is back', () => this.#onLeaseBack())
			if (event.type === 'expired') await this.#mailbox.post(() => this.#drop('the ZooKeeper session expired'))
		})
		const watch = session.watchData(controllerZnode.path, (node) => {
			const holder = node === null ? null : controllerZnode.decode(node.data).brokerId
			void this.#post('controller change', () => this.#onHolder(holder))
		})
		this.#watch = watch
		await watch.ready
		await this.#post('first election', () => undefined)
	}

	/** Resigns when it is the controller, so that another takes over at once. */
	async stop(): Promise<void> {
		this.#stopped = true
		this.#watch?.close()
		this.#events?.close()
		const duties = this.#duties
		await this.#post('stop', async () => {
			if (duties === null || this.#duties !== duties) return
			this.#drop('stopping')
			await resignController(this.#options.session, duties.context.epochVersion)
		})
		this.#mailbox.close()
	}

	/** Runs `job` as controller, alone. Null when this broker is not the controller. */
	asController<T>(job: (duties: ControllerDuties) => Promise<T>): Promise<T | null> {
		return this.#mailbox.post(async () => {
			const duties = this.#duties
			return duties === null || !this.isActive ? null : await job(duties)
		})
	}

	async #onHolder(holder: number | null): Promise<void> {
		if (this.#stopped) return
		const { session, clock, brokerId, log } = this.#options
		if (holder !== null) {
			if (holder !== brokerId && this.#duties !== null) this.#drop(`broker ${holder} is controller`)
			return
		}
		if (this.#duties !== null) this.#drop('the controller node is gone')
		await this.#options.whenRegistered()
		const election = await electController(session, clock, brokerId)
		if (!election.won) return
		log.info('elected controller', { broker: brokerId, epoch: election.epoch })
		const context = new ControllerContext(election.epoch, election.epochVersion)
		const duties = new ControllerDuties(this.#options, context, (name, job) =>
			this.#post(name, () => (this.#duties === duties ? job() : undefined)),
		)
		this.#duties = duties
		await duties.takeOver()
	}

	/**
	 * The session outlived its lease after all, and with it a controller node that nobody acts for: it is given up, so that
	 * the role is free for the next election, in which this broker stands like any other.
	 */
	async #onLeaseBack(): Promise<void> {
		const { session } = this.#options
		if (this.#stopped || this.#duties !== null) return
		const node = await session.get(controllerZnode.path)
		if (node === null || node.stat.ephemeralOwner !== session.sessionId) return
		await session.remove(controllerZnode.path, node.stat.version)
	}

	#drop(reason: string): void {
		const duties = this.#duties
		if (duties === null) return
		this.#duties = null
		duties.close()
		this.#options.log.info('no longer controller', { epoch: duties.context.epoch, reason })
	}

	/** Runs an event; a lost role ends the role, any other failure is told and the controller goes on. */
	#post(name: string, job: () => unknown): Promise<void> {
		const run = async (): Promise<void> => {
			try {
				await job()
			} catch (error) {
				if (error instanceof ControllerMovedError) this.#drop(error.message)
				else this.#options.log.error('controller event failed', { event: name, reason: errorText(error) })
			}
		}
		return this.#mailbox.post(run).catch((error: unknown) => {
			if (!this.#stopped) this.#options.log.warn('controller event dropped', { event: name, reason: errorText(error) })
		})
	}
}
