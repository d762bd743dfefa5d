/** Small texts of produce and consume: escapes in delimiters, lists of partitions. */

import { usageError } from './errors.js'

/** Delimiters as people type them in a shell: `\n`, `\t`, `\0`, `\xNN`; anything else as it is. */
export function unescapeText(text: string): string {
	return text.replace(/\\(?:x([0-9a-fA-F]{2})|([nrt0\\]))/g, (_whole, hex?: string, name?: string) => {
		if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
		return { n: '\n', r: '\r', t: '\t', '0': '\0', '\\': '\\' }[name as string] as string
	})
}

/** `0,2,5-7` as numbers, in order, each once. Throws a usage error. */
export function parsePartitions(text: string): number[] {
	const found = new Set<number>()
	for (const part of text.split(',')) {
		const match = /^\s*(\d{1,9})(?:-(\d{1,9}))?\s*$/.exec(part)
		const first = Number(match?.[1])
		const last = Number(match?.[2] ?? match?.[1])
		if (match === null || last < first || last - first > 1_000_000) {
			throw usageError(`-p wants partitions such as 0,2,5-7, not '${text}'`)
		}
		for (let i = first; i <= last; i++) found.add(i)
	}
	return [...found].sort((a, b) => a - b)
}
