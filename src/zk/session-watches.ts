/**
 * Durable subscriptions over one-shot watches: read with a watch, deliver what changed, wait for the event or the next
 * session, read again. Part of `session.ts`; what a caller may rely on stands at `ZkSession.watchData`.
 */

import type { Clock } from '../runtime/ports.js'
import type { DriverReply, DriverRequest } from './driver.js'
import { EVENT } from './messages.js'
import { type ZkChildren, type ZkData, ZkError, type ZkStat, type ZkWatch } from './port.js'
import type { CallOutcome } from './session-calls.js'

type Kind = 'get' | 'exists' | 'children'
type Value = ZkData | ZkStat | ZkChildren | null

const BACKOFF_MS = 200

class Entry {
	/** Undefined before the first delivery. */
	last: DriverReply | null | undefined = undefined
	isReading = false
	isDirty = false
	isClosed = false
	constructor(
		readonly kind: Kind,
		readonly path: string,
		readonly deliver: (value: Value) => void,
		readonly settleReady: (error: ZkError | null) => void,
	) {}
}

export class WatchHub {
	readonly #clock: Clock
	readonly #read: (request: DriverRequest) => Promise<CallOutcome>
	readonly #entries = new Map<string, Set<Entry>>()

	constructor(clock: Clock, read: (request: DriverRequest) => Promise<CallOutcome>) {
		this.#clock = clock
		this.#read = read
	}

	add<V extends Value>(kind: Kind, path: string, callback: (value: V) => void): ZkWatch {
		let settleReady: (error: ZkError | null) => void = () => undefined
		const ready = new Promise<void>((resolve, reject) => {
			settleReady = (error) => (error === null ? resolve() : reject(error))
		})
		// Whoever does not wait for it need not handle its failure.
		ready.catch(() => undefined)
		const entry = new Entry(kind, path, callback as (value: Value) => void, settleReady)
		const entries = this.#entries.get(path)
		if (entries === undefined) this.#entries.set(path, new Set([entry]))
		else entries.add(entry)
		this.#refresh(entry)
		return { ready, close: () => this.#close(entry) }
	}

	/** A watch fired: the entries that it concerns read again. */
	onWatch(type: number, path: string): void {
		for (const entry of this.#entries.get(path) ?? []) {
			const isChildren = entry.kind === 'children'
			// An absent parent is watched by exists, so that any event may concern a children entry.
			const concerns = type === EVENT.childrenChanged ? isChildren : !isChildren || type !== EVENT.dataChanged
			if (concerns || entry.last === null) this.#refresh(entry)
		}
	}

	/** A new session: no watch of the old one is left. */
	rearm(): void {
		for (const entries of this.#entries.values()) for (const entry of entries) this.#refresh(entry)
	}

	close(): void {
		for (const [path, entries] of this.#entries) {
			for (const entry of entries) {
				entry.isClosed = true
				entry.settleReady(new ZkError('CLOSED', 'watch', path))
			}
		}
		this.#entries.clear()
	}

	#close(entry: Entry): void {
		entry.isClosed = true
		const entries = this.#entries.get(entry.path)
		entries?.delete(entry)
		if (entries?.size === 0) this.#entries.delete(entry.path)
	}

	#refresh(entry: Entry): void {
		entry.isDirty = true
		if (!entry.isReading) void this.#run(entry)
	}

	async #run(entry: Entry): Promise<void> {
		entry.isReading = true
		while (entry.isDirty && !entry.isClosed) {
			entry.isDirty = false
			const value = await this.#readOnce(entry)
			if (value === undefined) {
				entry.isDirty = true
				await new Promise<void>((resolve) => this.#clock.after(BACKOFF_MS, resolve))
			} else if (!entry.isClosed) this.#tell(entry, value)
		}
		entry.isReading = false
	}

	/** The state with a watch set on it; null when there is no node, undefined when it could not be read. */
	async #readOnce(entry: Entry): Promise<DriverReply | null | undefined> {
		const { kind, path } = entry
		for (;;) {
			const outcome = await this.#read({ op: kind, path, watch: true })
			if (outcome.ok) return outcome.reply
			if (outcome.error.code !== 'NO_NODE') return undefined
			if (kind === 'exists') return null
			// A read leaves no watch on an absent node, exists does.
			const exists = await this.#read({ op: 'exists', path, watch: true })
			if (!exists.ok) return exists.error.code === 'NO_NODE' ? null : undefined
		}
	}

	#tell(entry: Entry, value: DriverReply | null): void {
		if (entry.last !== undefined && isSame(entry.kind, entry.last, value)) return
		const isFirst = entry.last === undefined
		entry.last = value
		entry.deliver(value === null ? null : readValue(entry.kind, value))
		if (isFirst) entry.settleReady(null)
	}
}

function readValue(kind: Kind, reply: DriverReply): Value {
	const stat = reply.stat as ZkStat
	if (kind === 'get') return { data: reply.data ?? null, stat }
	return kind === 'children' ? { names: reply.names ?? [], stat } : stat
}

function isSame(kind: Kind, a: DriverReply | null, b: DriverReply | null): boolean {
	if (a?.stat === undefined || b?.stat === undefined) return a === b
	if (a.stat.czxid !== b.stat.czxid) return false
	if (kind === 'children') return a.stat.pzxid === b.stat.pzxid && a.stat.cversion === b.stat.cversion
	return a.stat.mzxid === b.stat.mzxid && a.stat.version === b.stat.version
}
