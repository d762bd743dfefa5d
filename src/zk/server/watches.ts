/**
 * Who watches which path. Pure: a trigger returns the watchers to tell, in order. Standard watches are one-shot; an
 * entry is (watcher, path), so that watching a path twice gives one event. Persistent watches stay; recursive ones
 * also see all below their path, but never "children changed".
 *
 * Two tables, as in Apache: data (getData, exists, addWatch) and child (getChildren, addWatch). A recursive watch stands in
 * both too, so that removing one of the two leaves what Apache leaves: of the child table's, the news of removals.
 */

import { EVENT, type EventType } from '../messages.js'
import { parentOf } from './paths.js'

/** Modes of addWatch. */
export const WATCH_MODE = { persistent: 0, recursive: 1 } as const
type Mode = 'once' | 'persistent' | 'recursive'

/** Types of checkWatches and removeWatches. */
export const WATCH_TYPE = { children: 1, data: 2, any: 3 } as const

type Table<W> = Map<string, Map<W, Mode>>

/** An event for one watcher. */
export interface Firing<W> {
	readonly watcher: W
	readonly type: EventType
	readonly path: string
}

export class WatchTable<W> {
	readonly #data: Table<W> = new Map()
	readonly #child: Table<W> = new Map()
	/** Paths of each watcher, to clear it when its connection goes. */
	readonly #paths = new Map<W, Set<string>>()
	#recursive = 0

	addData(path: string, watcher: W): void {
		this.#add(this.#data, path, watcher, 'once')
	}

	addChild(path: string, watcher: W): void {
		this.#add(this.#child, path, watcher, 'once')
	}

	addPersistent(path: string, watcher: W): void {
		this.#add(this.#data, path, watcher, 'persistent')
		this.#add(this.#child, path, watcher, 'persistent')
	}

	/** Of two persistent watches on a path the last one counts, as in Apache. */
	addRecursive(path: string, watcher: W): void {
		this.#add(this.#data, path, watcher, 'recursive')
		this.#add(this.#child, path, watcher, 'recursive')
	}

	/** Watches by count of watchers, paths and entries, for four-letter words. */
	counts(): { watchers: number; paths: number; watches: number } {
		let watches = 0
		for (const table of [this.#data, this.#child]) for (const watchers of table.values()) watches += watchers.size
		return { watchers: this.#paths.size, paths: new Set([...this.#data.keys(), ...this.#child.keys()]).size, watches }
	}

	byWatcher(): ReadonlyMap<W, ReadonlySet<string>> {
		return this.#paths
	}

	created(path: string): Firing<W>[] {
		const firings = this.#fire(this.#data, path, EVENT.created)
		return firings.concat(this.#parentChanged(path))
	}

	removed(path: string): Firing<W>[] {
		const firings = this.#fire(this.#data, path, EVENT.deleted)
		const told = new Set(firings.map(({ watcher }) => watcher))
		for (const firing of this.#fire(this.#child, path, EVENT.deleted)) {
			if (!told.has(firing.watcher)) firings.push(firing)
		}
		return firings.concat(this.#parentChanged(path))
	}

	dataChanged(path: string): Firing<W>[] {
		return this.#fire(this.#data, path, EVENT.dataChanged)
	}

	/** Whether `watcher` has a watch of this type on exactly this path. */
	has(path: string, watcher: W, type: number): boolean {
		const data = this.#data.get(path)?.get(watcher)
		const child = this.#child.get(path)?.get(watcher)
		switch (type) {
			case WATCH_TYPE.children:
				return child !== undefined
			case WATCH_TYPE.data:
				return data !== undefined
			default:
				return data !== undefined || child !== undefined
		}
	}

	/** Removes watches of a type; false when there was none. */
	remove(path: string, watcher: W, type: number): boolean {
		if (!this.has(path, watcher, type)) return false
		if (type !== WATCH_TYPE.data) this.#drop(this.#child, path, watcher)
		if (type !== WATCH_TYPE.children) this.#drop(this.#data, path, watcher)
		this.#forgetPath(path, watcher)
		return true
	}

	/** Removes all watches of a connection that went. */
	clear(watcher: W): void {
		for (const path of this.#paths.get(watcher) ?? []) {
			this.#drop(this.#data, path, watcher)
			this.#drop(this.#child, path, watcher)
		}
		this.#paths.delete(watcher)
	}

	#parentChanged(path: string): Firing<W>[] {
		const parent = parentOf(path)
		return parent === null ? [] : this.#fire(this.#child, parent, EVENT.childrenChanged)
	}

	#add(table: Table<W>, path: string, watcher: W, mode: Mode): void {
		let watchers = table.get(path)
		if (watchers === undefined) {
			watchers = new Map()
			table.set(path, watchers)
		}
		const before = watchers.get(watcher)
		// A one-shot watch beside a persistent one is one entry, which stays.
		if (before !== undefined && mode === 'once') return
		if (before === 'recursive') this.#recursive--
		if (mode === 'recursive') this.#recursive++
		watchers.set(watcher, mode)
		const paths = this.#paths.get(watcher)
		if (paths === undefined) this.#paths.set(watcher, new Set([path]))
		else paths.add(path)
	}

	#drop(table: Table<W>, path: string, watcher: W): void {
		const watchers = table.get(path)
		const mode = watchers?.get(watcher)
		if (watchers === undefined || mode === undefined) return
		if (mode === 'recursive') this.#recursive--
		watchers.delete(watcher)
		if (watchers.size === 0) table.delete(path)
	}

	#forgetPath(path: string, watcher: W): void {
		if (this.#data.get(path)?.has(watcher) === true || this.#child.get(path)?.has(watcher) === true) return
		const paths = this.#paths.get(watcher)
		paths?.delete(path)
		if (paths?.size === 0) this.#paths.delete(watcher)
	}

	#fire(table: Table<W>, path: string, type: EventType): Firing<W>[] {
		const firings: Firing<W>[] = []
		for (const [watcher, mode] of table.get(path) ?? []) {
			if (mode === 'recursive' && type === EVENT.childrenChanged) continue
			firings.push({ watcher, type, path })
			if (mode !== 'once') continue
			this.#drop(table, path, watcher)
			this.#forgetPath(path, watcher)
		}
		if (this.#recursive === 0 || type === EVENT.childrenChanged) return firings
		const told = new Set(firings.map(({ watcher }) => watcher))
		for (let above = parentOf(path); above !== null; above = parentOf(above)) {
			for (const [watcher, mode] of table.get(above) ?? []) {
				if (mode !== 'recursive' || told.has(watcher)) continue
				told.add(watcher)
				firings.push({ watcher, type, path })
			}
		}
		return firings
	}
}
