import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ByteGate } from '../../src/base/byte-gate.js'

it('never lets in more than it has, lets everybody in, in the order they came', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.integer({ min: 1, max: 100 }),
			fc.array(fc.tuple(fc.integer({ min: 0, max: 150 }), fc.integer({ min: 0, max: 5 })), { maxLength: 40 }),
			async (total, users) => {
				const gate = new ByteGate(total)
				const entered: number[] = []
				let held = 0
				await Promise.all(
					users.map(async ([bytes, turns], i) => {
						await gate.enter(bytes)
						entered.push(i)
						held += Math.min(bytes, total)
						expect(held).toBeLessThanOrEqual(total)
						for (let turn = 0; turn < turns; turn++) await Promise.resolve()
						held -= Math.min(bytes, total)
						gate.leave(bytes)
					}),
				)
				expect(entered).toEqual(users.map((_, i) => i))
				expect(gate.heldBytes).toBe(0)
			},
		),
	)
})
