/** The items that come more than once. One pass: a request may hold a million. */
export function repeated<T>(items: Iterable<T>): ReadonlySet<T> {
	const seen = new Set<T>()
	const twice = new Set<T>()
	for (const item of items) {
		if (seen.has(item)) twice.add(item)
		seen.add(item)
	}
	return twice
}
