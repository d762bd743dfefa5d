/** Waits for a condition instead of sleeping: looks again at each turn until it holds, or fails after a deadline. */

/** Settles with the first truthy value of `probe`; rejects with what `what` says after `timeoutMs`. */
export async function until<T>(what: string, probe: () => T | Promise<T>, timeoutMs = 10_000): Promise<NonNullable<T>> {
	const deadline = performance.now() + timeoutMs
	for (;;) {
		const value = await probe()
		if (value) return value as NonNullable<T>
		if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`)
		await new Promise<void>((resolve) => setTimeout(resolve, 2))
	}
}
