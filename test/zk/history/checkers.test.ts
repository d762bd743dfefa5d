/** The checkers themselves: they take what is right and find what is wrong. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Act, isLinearizable, type Operation, type Outcome } from './linearizable.js'
import { faultOfWatch } from './watched.js'

const operation = (calledAt: number, returnedAt: number, act: Act, outcome: Outcome | null): Operation => ({
	client: 0,
	calledAt,
	returnedAt,
	act,
	outcome,
})
const create = (value: string): Act => ({ kind: 'create', value })
const set = (value: string, version = -1): Act => ({ kind: 'set', value, version })
const get: Act = { kind: 'get' }
const read = (value: string, version: number): Outcome => ({ kind: 'read', value, version })
const done = (version?: number): Outcome => (version === undefined ? { kind: 'done' } : { kind: 'done', version })

describe('a history', () => {
	test('of one after the other is taken when it is right', () => {
		const history = [
			operation(0, 1, get, { kind: 'noNode' }),
			operation(2, 3, create('a'), done()),
			operation(4, 5, set('b', 0), done(1)),
			operation(6, 7, get, read('b', 1)),
			operation(8, 9, { kind: 'delete', version: 0 }, { kind: 'badVersion' }),
			operation(10, 11, { kind: 'delete', version: 1 }, done()),
		]
		expect(isLinearizable(history)).toBe(true)
	})
	test('with a stale read is refused; it is right while the write was under way', () => {
		const stale = (readCalledAt: number) => [
			operation(0, 1, create('a'), done()),
			operation(2, 5, set('b'), done(1)),
			operation(readCalledAt, 10, get, read('a', 0)),
		]
		expect(isLinearizable(stale(4))).toBe(true)
		expect(isLinearizable(stale(6))).toBe(false)
	})
	test('with a lost write is refused', () => {
		const lost = [
			operation(0, 1, create('a'), done()),
			operation(2, 3, set('b'), done(1)),
			operation(4, 5, get, read('a', 0)),
		]
		expect(isLinearizable(lost)).toBe(false)
	})
	test('with two creates that were both done is refused', () => {
		expect(isLinearizable([operation(0, 5, create('a'), done()), operation(1, 4, create('b'), done())])).toBe(false)
	})
	test('an unknown outcome may show early, late or never, but not come and go', () => {
		const base = [operation(0, 1, create('a'), done()), operation(2, Number.POSITIVE_INFINITY, set('b'), null)]
		expect(isLinearizable([...base, operation(3, 4, get, read('a', 0)), operation(5, 6, get, read('b', 1))])).toBe(true)
		expect(isLinearizable([...base, operation(3, 4, get, read('a', 0)), operation(5, 6, get, read('a', 0))])).toBe(true)
		expect(isLinearizable([...base, operation(3, 4, get, read('b', 1)), operation(5, 6, get, read('a', 0))])).toBe(
			false,
		)
	})
	test('made by a register is taken, whatever the overlap; one changed outcome is found where nothing overlaps', () => {
		const act = fc.oneof(
			fc.constant(get),
			fc.constantFrom('a', 'b', 'c').map(create),
			fc
				.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(-1, 0, 1, 2))
				.map(([value, version]) => set(value, version)),
			fc.constantFrom(-1, 0, 1).map((version): Act => ({ kind: 'delete', version })),
		)
		fc.assert(
			fc.property(fc.array(fc.tuple(act, fc.nat(30), fc.nat(30)), { minLength: 1, maxLength: 25 }), (steps) => {
				let state: { value: string; version: number } | null = null
				const history = steps.map(([each, early, late], i) => {
					const at = i * 10 + 5
					let outcome: Outcome
					if (each.kind === 'create') {
						outcome = state === null ? done() : { kind: 'nodeExists' }
						state ??= { value: each.value, version: 0 }
					} else if (state === null) outcome = { kind: 'noNode' }
					else if (each.kind === 'get') outcome = read(state.value, state.version)
					else if (each.version !== -1 && each.version !== state.version) outcome = { kind: 'badVersion' }
					else if (each.kind === 'delete') {
						outcome = done()
						state = null
					} else {
						state = { value: each.value, version: state.version + 1 }
						outcome = done(state.version)
					}
					return { at, early, late, each, outcome }
				})
				expect(
					isLinearizable(
						history.map(({ at, early, late, each, outcome }) => operation(at - early, at + late, each, outcome)),
					),
				).toBe(true)
				const apart = history.map(({ at, each, outcome }) => operation(at, at + 1, each, outcome))
				const last = apart.at(-1) as Operation
				last.outcome = last.outcome?.kind === 'noNode' ? done(9) : { kind: 'noNode' }
				expect(isLinearizable(apart)).toBe(false)
			}),
			{ numRuns: 300 },
		)
	})
})

describe('a watch', () => {
	const writes = [
		{ zxid: 5, event: 'created /a' },
		{ zxid: 6, event: 'data /a' },
		{ zxid: 9, event: 'deleted /a' },
	]
	test('that told all in order, before the answers, is taken; what came before it does not count', () => {
		expect(faultOfWatch({ fromZxid: 4, came: [4, 'created /a', 'data /a', 6, 'deleted /a', 9] }, writes, [])).toBeNull()
		expect(faultOfWatch({ fromZxid: 5, came: ['data /a', 7, 8] }, writes, [])).toBeNull()
	})
	test('that told late, in another order, or what nobody did is refused', () => {
		expect(faultOfWatch({ fromZxid: 4, came: ['created /a', 6, 'data /a'] }, writes, [])).toMatch('before the event')
		expect(faultOfWatch({ fromZxid: 4, came: ['data /a', 'created /a'] }, writes, [])).toMatch('was due')
		expect(faultOfWatch({ fromZxid: 4, came: ['created /b'] }, writes, [])).toMatch('was due')
	})
	test('may tell of a write whose outcome is not known, once', () => {
		expect(faultOfWatch({ fromZxid: 8, came: ['data /b', 'deleted /a'] }, writes, ['data /b'])).toBeNull()
		expect(faultOfWatch({ fromZxid: 8, came: ['data /b', 'data /b'] }, writes, ['data /b'])).toMatch('was due')
	})
})
