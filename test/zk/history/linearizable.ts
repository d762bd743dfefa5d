/**
 * Decides whether a history of operations on one node could have happened one at a time, each at some moment between its
 * call and its return (Wing and Gong's search, with Lowe's memory of what was tried). The node is a register with a
 * version: absent, or a value at a version.
 *
 * An operation without a known outcome (its connection broke) may have been done at any time after its call, or never.
 */

export type Act =
	| { readonly kind: 'create'; readonly value: string }
	| { readonly kind: 'set'; readonly value: string; readonly version: number }
	| { readonly kind: 'delete'; readonly version: number }
	| { readonly kind: 'get' }

/** What the client was told: an error's name, or what a read or write showed. */
export type Outcome =
	| { readonly kind: 'done'; readonly version?: number }
	| { readonly kind: 'read'; readonly value: string; readonly version: number }
	| { readonly kind: 'noNode' | 'nodeExists' | 'badVersion' }

export interface Operation {
	readonly client: number
	readonly act: Act
	/** Moments on one count of the recorder's. */
	readonly calledAt: number
	/** Infinity when the outcome is not known. */
	returnedAt: number
	outcome: Outcome | null
}

type Register = { readonly value: string; readonly version: number } | null

/** What `act` does to a register, and what its client must then be told. */
function apply(register: Register, act: Act): { readonly next: Register; readonly outcome: Outcome } {
	if (act.kind === 'create') {
		if (register !== null) return { next: register, outcome: { kind: 'nodeExists' } }
		return { next: { value: act.value, version: 0 }, outcome: { kind: 'done' } }
	}
	if (register === null) return { next: null, outcome: { kind: 'noNode' } }
	if (act.kind === 'get') return { next: register, outcome: { kind: 'read', ...register } }
	if (act.version !== -1 && act.version !== register.version) return { next: register, outcome: { kind: 'badVersion' } }
	if (act.kind === 'delete') return { next: null, outcome: { kind: 'done' } }
	const version = register.version + 1
	return { next: { value: act.value, version }, outcome: { kind: 'done', version } }
}

const isSame = (a: Outcome, b: Outcome): boolean =>
	a.kind === b.kind &&
	('version' in a ? a.version : undefined) === ('version' in b ? b.version : undefined) &&
	('value' in a ? a.value : undefined) === ('value' in b ? b.value : undefined)

/** A call or a return in the list of what is left to explain. */
interface Entry {
	readonly index: number
	/** The return of a call; null for a return. */
	readonly match: Entry | null
	before: Entry | null
	after: Entry | null
}

/** Calls and returns in the order of time, behind a head. */
function entriesOf(operations: readonly Operation[]): Entry {
	const moments = operations.flatMap(({ calledAt, returnedAt }, index) => [
		{ at: calledAt, index, isCall: true },
		{ at: returnedAt, index, isCall: false },
	])
	moments.sort((a, b) => (a.at === b.at ? 0 : a.at - b.at))
	const returns = operations.map((_, index): Entry => ({ index, match: null, before: null, after: null }))
	const head: Entry = { index: -1, match: null, before: null, after: null }
	let last = head
	for (const { index, isCall } of moments) {
		const back = returns[index] as Entry
		const entry: Entry = isCall ? { index, match: back, before: null, after: null } : back
		entry.before = last
		last.after = entry
		last = entry
	}
	return head
}

function unlink(entry: Entry): void {
	if (entry.before !== null) entry.before.after = entry.after
	if (entry.after !== null) entry.after.before = entry.before
}

function relink(entry: Entry): void {
	if (entry.before !== null) entry.before.after = entry
	if (entry.after !== null) entry.after.before = entry
}

/** Whether some order of the operations explains all outcomes, from an absent node. */
export function isLinearizable(operations: readonly Operation[]): boolean {
	const head = entriesOf(operations)
	const seen = new Set<string>()
	const chosen: { readonly entry: Entry; readonly register: Register }[] = []
	let done = 0n
	let register: Register = null
	let entry = head.after
	while (head.after !== null && entry !== null) {
		if (entry.match === null) {
			// The return of what was not placed yet: the last choice was wrong.
			const last = chosen.pop()
			if (last === undefined) return false
			register = last.register
			done &= ~(1n << BigInt(last.entry.index))
			if (last.entry.match !== null) relink(last.entry.match)
			relink(last.entry)
			entry = last.entry.after
			continue
		}
		const { act, outcome } = operations[entry.index] as Operation
		const { next, outcome: wanted } = apply(register, act)
		const after = done | (1n << BigInt(entry.index))
		const key = `${after.toString(36)} ${next === null ? '' : `${next.version} ${next.value}`}`
		if ((outcome !== null && !isSame(outcome, wanted)) || seen.has(key)) {
			entry = entry.after
			continue
		}
		seen.add(key)
		chosen.push({ entry, register })
		register = next
		done = after
		unlink(entry)
		unlink(entry.match)
		entry = head.after
	}
	return true
}
