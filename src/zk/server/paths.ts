/** ZooKeeper's rules for paths. Pure. */

/** NUL, control characters, surrogates and private use, and the specials at the end of the plane. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that may not stand in a path
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/

/** Absolute, no empty, `.` or `..` component, no slash at the end (but `/`), no forbidden character. */
export function isValidPath(path: string): boolean {
	if (path === '/') return true
	if (!path.startsWith('/') || path.endsWith('/') || FORBIDDEN.test(path)) return false
	if (path.includes('//') || path.includes('/.')) {
		for (const part of path.slice(1).split('/')) if (part === '' || part === '.' || part === '..') return false
	}
	return true
}

/** What Apache asks before it looks at the tree: a slash somewhere, no NUL. */
export function isRoughlyPath(path: string): boolean {
	return path.includes('/') && !path.includes('\u0000')
}

/** Parent of a path: `/` for `/a`, null for `/`. */
export function parentOf(path: string): string | null {
	if (path === '/') return null
	const slash = path.lastIndexOf('/')
	return slash <= 0 ? '/' : path.slice(0, slash)
}

export function nameOf(path: string): string {
	return path.slice(path.lastIndexOf('/') + 1)
}

export function joinPath(parent: string, name: string): string {
	return parent === '/' ? `/${name}` : `${parent}/${name}`
}

/** Suffix of a sequential node: the parent's create counter as signed int32, ten digits, zero padded. */
export function sequenceSuffix(counter: number): string {
	const signed = counter | 0
	return signed < 0 ? `-${String(-signed).padStart(9, '0')}` : String(signed).padStart(10, '0')
}
