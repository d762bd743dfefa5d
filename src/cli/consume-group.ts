/** `kcli consume -g`: as a member of the group, or with `-p` by hand; commits what was printed and nothing else. */

import { Consumer } from '../client/consumer.js'
import { BrokerError } from '../client/errors.js'
import { GROUP_DEFAULTS, GroupMember, type GroupPartition } from '../client/group-member.js'
import { BY_HAND, commitOffsets, fetchOffsets, type PartitionOffset } from '../client/group-offsets.js'
import type { ConsumeOptions } from './consume-options.js'
import { recordPrinter } from './consume-paper.js'
import { type PartitionName, planPartitions, startsOf } from './consume-plan.js'
import { consumerSettings, Printer } from './consume-printer.js'
import type { Interrupt } from './interrupt.js'
import type { Session } from './session.js'

/** Between commits while reading goes on. */
const COMMIT_MS = 5000

/** A group's offsets for partitions that are read by hand. */
export interface Books {
	readonly stored: ReadonlyMap<string, number>
	commit(printed: ReadonlyMap<string, PartitionOffset>): Promise<void>
}

export async function openBooks(
	{ cluster }: Session,
	options: ConsumeOptions,
	partitions: readonly PartitionName[],
): Promise<Books> {
	const group = options.group as string
	return {
		stored: await fetchOffsets(cluster, group, partitions),
		commit: async (printed) => {
			if (options.isCommitting) await commitOffsets(cluster, group, BY_HAND, [...printed.values()])
		},
	}
}

/** Joins, reads what is assigned, commits, leaves; the exit code. */
export async function consumeInGroup(
	session: Session,
	options: ConsumeOptions,
	topics: readonly string[],
	interrupt: Interrupt,
): Promise<number> {
	const consumer = new Consumer(session.cluster, consumerSettings(session, options))
	const printer = new Printer(options, await recordPrinter(options), consumer, interrupt)
	const run = new GroupRun(session, options, topics, consumer, printer)
	try {
		return await run.all()
	} finally {
		consumer.close()
	}
}

class GroupRun {
	readonly #session: Session
	readonly #options: ConsumeOptions
	readonly #printer: Printer
	readonly #member: GroupMember
	#failure: Error | null = null
	/** Offsets committed already, by partition. */
	readonly #committed = new Map<string, number>()
	/** Where reading of partitions without an offset begins: theirs, once we let go of them, if nothing was read. */
	readonly #starts = new Map<string, PartitionOffset>()
	#nextCommitMs = performance.now() + COMMIT_MS

	constructor(
		session: Session,
		options: ConsumeOptions,
		topics: readonly string[],
		consumer: Consumer,
		printer: Printer,
	) {
		this.#session = session
		this.#options = options
		this.#printer = printer
		const settings = { ...GROUP_DEFAULTS, ...session.groupSettings, groupId: options.group as string, topics }
		this.#member = new GroupMember(session.cluster, settings, {
			onAssigned: (partitions) => this.#assigned(partitions),
			onRevoked: async (partitions) => {
				printer.drop(partitions)
				await this.#commit(true)
				printer.printed.clear()
				this.#starts.clear()
			},
			onLost: (partitions) => {
				printer.drop(partitions)
				printer.printed.clear()
				this.#starts.clear()
				options.note('the group went on without us: records printed last may be printed again by another member')
				return Promise.resolve()
			},
			onFailure: (error) => {
				this.#failure = error
				printer.stop()
				consumer.wake()
			},
		})
	}

	async all(): Promise<number> {
		this.#options.note(`joining group ${this.#options.group}`)
		this.#member.start()
		try {
			await this.#printer.run(async () => {
				if (performance.now() >= this.#nextCommitMs) await this.#commit()
			})
			if (this.#failure === null) await this.#commit(true)
		} finally {
			await this.#member.leave()
		}
		if (this.#failure !== null) throw this.#failure
		return this.#printer.exitCode()
	}

	async #assigned(partitions: readonly GroupPartition[]): Promise<void> {
		const group = this.#options.group as string
		const stored = partitions.length === 0 ? new Map() : await fetchOffsets(this.#session.cluster, group, partitions)
		const { range, isolation, endsNow } = this.#options
		const plans = await planPartitions(this.#session, partitions, range, isolation, endsNow, stored)
		this.#committed.clear()
		for (const [key, offset] of stored) this.#committed.set(key, offset)
		this.#starts.clear()
		for (const start of startsOf(plans)) this.#starts.set(`${start.topic}-${start.partition}`, start)
		this.#options.tell(plans)
		this.#printer.plan(plans)
		this.#printer.wake()
	}

	/** Commits what has left us; at the end also where reading began without finding anything. */
	async #commit(isEnd = false): Promise<void> {
		this.#nextCommitMs = performance.now() + COMMIT_MS
		if (!this.#options.isCommitting) return
		const { printed } = this.#printer
		const offsets = [...new Map([...(isEnd ? this.#starts : []), ...printed]).values()]
		await this.#printer.sink.flush()
		// A reader that has gone may not have read the last of it: that is not committed.
		if (this.#printer.sink.isGone) return
		const fresh = offsets.filter(
			({ topic, partition, offset }) => this.#committed.get(`${topic}-${partition}`) !== offset,
		)
		if (fresh.length === 0) return
		try {
			await this.#member.commit(fresh)
			for (const { topic, partition, offset } of fresh) this.#committed.set(`${topic}-${partition}`, offset)
		} catch (error) {
			if (!(error instanceof BrokerError)) throw error
			this.#options.note(`what was printed last is not committed: ${error.message}`)
		}
	}
}
