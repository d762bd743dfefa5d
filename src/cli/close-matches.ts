/** Names that somebody may have meant by a misspelled one. */

/** Edit distance with swaps of neighbours counted once (Damerau, restricted). */
export function editDistance(a: string, b: string): number {
	let beforeLast: number[] = []
	let last = Array.from({ length: b.length + 1 }, (_, j) => j)
	for (let i = 1; i <= a.length; i++) {
		const row = [i]
		for (let j = 1; j <= b.length; j++) {
			const cost = a[i - 1] === b[j - 1] ? 0 : 1
			let best = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + cost)
			if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
				best = Math.min(best, (beforeLast[j - 2] as number) + 1)
			}
			row.push(best)
		}
		beforeLast = last
		last = row
	}
	return last[b.length] as number
}

/** Up to `countMax` of `names` that are near `wanted`, nearest first; a beginning or an inner part counts as near. */
export function closeMatches(wanted: string, names: Iterable<string>, countMax = 3): string[] {
	const lower = wanted.toLowerCase()
	const limit = Math.max(1, Math.floor(lower.length / 3))
	const scored: { name: string; score: number }[] = []
	for (const name of names) {
		const other = name.toLowerCase()
		if (other === lower && name === wanted) continue
		let score = editDistance(lower, other)
		if (score > limit) {
			if (lower.length >= 3 && (other.startsWith(lower) || lower.startsWith(other))) score = limit + 0.5
			else if (lower.length >= 4 && other.includes(lower)) score = limit + 1
			else if (lower.length >= 6 && editDistance(lower, other.slice(0, lower.length + 1)) <= 2) score = limit + 2
			else continue
		}
		scored.push({ name, score })
	}
	// Parts of names are offered only where no whole name is near.
	const hasNear = scored.some(({ score }) => score <= limit)
	const offered = hasNear ? scored.filter(({ score }) => score <= limit) : scored
	offered.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
	return offered.slice(0, countMax).map(({ name }) => name)
}

/** `did you mean a, b or c?`; null when there is nothing to offer. */
export function didYouMean(names: readonly string[]): string | null {
	if (names.length === 0) return null
	const last = names[names.length - 1] as string
	const list = names.length === 1 ? last : `${names.slice(0, -1).join(', ')} or ${last}`
	return `did you mean ${list}?`
}
