/** Ring deque and binary heap: the two queues the broker needs beside plain arrays and maps. */

/** First in, first out, in amortised constant time; grows by doubling. */
export class Deque<T> {
	#items: (T | undefined)[] = new Array(16)
	#head = 0
	#length = 0

	get length(): number {
		return this.#length
	}

	push(item: T): void {
		if (this.#length === this.#items.length) this.#grow()
		this.#items[(this.#head + this.#length) & (this.#items.length - 1)] = item
		this.#length++
	}

	shift(): T | undefined {
		if (this.#length === 0) return undefined
		const item = this.#items[this.#head]
		this.#items[this.#head] = undefined
		this.#head = (this.#head + 1) & (this.#items.length - 1)
		this.#length--
		return item
	}

	peek(): T | undefined {
		return this.#length === 0 ? undefined : this.#items[this.#head]
	}

	clear(): void {
		this.#items = new Array(16)
		this.#head = 0
		this.#length = 0
	}

	*[Symbol.iterator](): Iterator<T> {
		for (let i = 0; i < this.#length; i++) yield this.#items[(this.#head + i) & (this.#items.length - 1)] as T
	}

	#grow(): void {
		const grown: (T | undefined)[] = new Array(this.#items.length * 2)
		for (let i = 0; i < this.#length; i++) grown[i] = this.#items[(this.#head + i) & (this.#items.length - 1)]
		this.#items = grown
		this.#head = 0
	}
}

interface HeapEntry<T> {
	readonly key: number
	readonly order: number
	readonly item: T
	index: number
}

/** A handle on an item in a {@link Heap}, to remove it before its turn. */
export type HeapHandle<T> = HeapEntry<T>

/** Smallest key first; equal keys in the order they were added. */
export class Heap<T> {
	readonly #entries: HeapEntry<T>[] = []
	#order = 0

	get length(): number {
		return this.#entries.length
	}

	add(key: number, item: T): HeapHandle<T> {
		const entry: HeapEntry<T> = { key, order: this.#order++, item, index: this.#entries.length }
		this.#entries.push(entry)
		this.#up(entry.index)
		return entry
	}

	/** The smallest key, or undefined when empty. */
	peekKey(): number | undefined {
		return this.#entries[0]?.key
	}

	take(): T | undefined {
		const first = this.#entries[0]
		if (first === undefined) return undefined
		this.remove(first)
		return first.item
	}

	/** Removes the entry; false when it is already gone. */
	remove(handle: HeapHandle<T>): boolean {
		const at = handle.index
		if (at < 0) return false
		handle.index = -1
		const last = this.#entries.pop() as HeapEntry<T>
		if (last !== handle) {
			this.#entries[at] = last
			last.index = at
			this.#up(at)
			this.#down(last.index)
		}
		return true
	}

	#before(a: HeapEntry<T>, b: HeapEntry<T>): boolean {
		return a.key < b.key || (a.key === b.key && a.order < b.order)
	}

	#up(from: number): void {
		let at = from
		const entry = this.#entries[at] as HeapEntry<T>
		while (at > 0) {
			const parentAt = (at - 1) >> 1
			const parent = this.#entries[parentAt] as HeapEntry<T>
			if (!this.#before(entry, parent)) break
			this.#entries[at] = parent
			parent.index = at
			at = parentAt
		}
		this.#entries[at] = entry
		entry.index = at
	}

	#down(from: number): void {
		let at = from
		const entry = this.#entries[at] as HeapEntry<T>
		for (;;) {
			let childAt = at * 2 + 1
			if (childAt >= this.#entries.length) break
			let child = this.#entries[childAt] as HeapEntry<T>
			const right = this.#entries[childAt + 1]
			if (right !== undefined && this.#before(right, child)) {
				child = right
				childAt++
			}
			if (!this.#before(child, entry)) break
			this.#entries[at] = child
			child.index = at
			at = childAt
		}
		this.#entries[at] = entry
		entry.index = at
	}
}
