/**
 * Java's `.properties` text: comments, `=`, `:` or blank as separator, backslash escapes, lines continued by a backslash.
 * Read by the broker (`server.properties`, `meta.properties`) and by clients (`--command-config`).
 */

/** Keys in order of the file; a key given twice keeps its last value. */
export function parseProperties(text: string): Map<string, string> {
	const found = new Map<string, string>()
	for (const line of logicalLines(text)) {
		const [key, value] = split(line)
		found.delete(key)
		found.set(key, value)
	}
	return found
}

function logicalLines(text: string): string[] {
	const lines: string[] = []
	let pending: string | null = null
	for (const raw of text.split(/\r\n|\r|\n/)) {
		const line = raw.replace(/^[ \t\f]+/, '')
		if (pending === null && (line === '' || line.startsWith('#') || line.startsWith('!'))) continue
		const joined: string = (pending ?? '') + line
		const slashes = /\\*$/.exec(joined)?.[0].length ?? 0
		if (slashes % 2 === 1) {
			pending = joined.slice(0, -1)
			continue
		}
		lines.push(joined)
		pending = null
	}
	if (pending !== null && pending !== '') lines.push(pending)
	return lines
}

function split(line: string): [string, string] {
	let at = 0
	for (; at < line.length; at++) {
		const char = line[at] as string
		if (char === '\\') at++
		else if (char === '=' || char === ':' || char === ' ' || char === '\t' || char === '\f') break
	}
	const key = line.slice(0, at)
	const rest = line.slice(at).replace(/^[ \t\f]*[=:]?[ \t\f]*/, '')
	return [unescaped(key), unescaped(rest)]
}

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' }

function unescaped(text: string): string {
	return text.replace(/\\(u[0-9a-fA-F]{4}|[\s\S])/g, (_whole, code: string) =>
		code.length === 5 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : (ESCAPES[code] ?? code),
	)
}
