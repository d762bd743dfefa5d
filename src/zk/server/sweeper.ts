/** Removes containers that were emptied and TTL nodes that are old and childless, at an interval, as transactions. */

import type { Clock, Timer } from '../../runtime/ports.js'
import type { DataTree } from './data-tree.js'
import type { Processor } from './processor.js'
import { NODE_KIND } from './transaction.js'

export class Sweeper {
	readonly #clock: Clock
	readonly #tree: DataTree
	readonly #processor: Processor
	readonly #intervalMs: number
	readonly #settle: () => void
	#timer: Timer | null = null

	constructor(clock: Clock, tree: DataTree, processor: Processor, intervalMs: number, settle: () => void) {
		this.#clock = clock
		this.#tree = tree
		this.#processor = processor
		this.#intervalMs = intervalMs
		this.#settle = settle
	}

	start(): void {
		this.#timer = this.#clock.after(this.#intervalMs, () => {
			this.#sweep()
			this.start()
		})
	}

	stop(): void {
		this.#timer?.cancel()
	}

	#sweep(): void {
		const nowMs = this.#clock.wallMs()
		for (const path of [...this.#tree.expirable]) {
			const node = this.#tree.get(path)
			if (node === undefined || this.#tree.children(node).size > 0) continue
			const isOver = node.kind === NODE_KIND.container ? node.counter > 0 : nowMs - node.mtime > node.ttlMs
			if (isOver) this.#processor.sweep(path)
		}
		this.#settle()
	}
}
