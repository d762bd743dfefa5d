/** Long work that lives beside others on one event loop: it may be left at each `yield`, and gone on with later. */

export type Turns<T> = Generator<undefined, T>

/** Runs to the first `yield` at once, which is all of most work; the rest one stretch each time that `soon` calls back. */
export function runTurns<T>(work: Turns<T>, soon: (next: () => void) => void): T | Promise<T> {
	const first = work.next()
	return first.done === true ? first.value : runOn(work, soon)
}

async function runOn<T>(work: Turns<T>, soon: (next: () => void) => void): Promise<T> {
	for (;;) {
		await new Promise<void>((resolve) => soon(resolve))
		const step = work.next()
		if (step.done === true) return step.value
	}
}
