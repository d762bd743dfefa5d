import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CliError } from '../../src/cli/errors.js'
import { failureDocument } from '../../src/cli/failure.js'
import { itemError, unknownItem } from '../../src/cli/item-error.js'
import { OWN_CODES } from '../../src/cli/own-codes.js'
import { ERRORS } from '../../src/protocol/errors.js'

const ofCommand = (code: string): boolean =>
	(failureDocument(new CliError('x', 1, null, code), null)['errors'] as { retriable: boolean }[])[0]
		?.retriable as boolean

describe('retriable', () => {
	it('of an item and of a whole command is what `kcli errors` says, for every code', () => {
		for (const { code, name, retriable } of ERRORS) {
			expect(itemError('x', code).retriable, name).toBe(retriable)
			expect(ofCommand(`KCLI_${name}`), name).toBe(retriable)
		}
		for (const { code, retriable } of OWN_CODES) expect(ofCommand(code), code).toBe(retriable)
		for (const what of ['topic', 'group'] as const) {
			const { code, retriable } = unknownItem('x', what, null)
			expect(retriable, what).toBe(ERRORS.find((each) => each.code === code)?.retriable)
		}
	})

	it('is known of every code that a command gives', () => {
		const folder = new URL('../../src/cli/', import.meta.url)
		const used = new Set<string>()
		for (const name of readdirSync(folder).filter((each) => each.endsWith('.ts'))) {
			const text = readFileSync(new URL(name, folder), 'utf8')
			for (const [, code] of text.matchAll(/, '(KCLI_[A-Z_]+)'\)/g)) used.add(code as string)
			for (const [, code] of text.matchAll(/code: '(KCLI_[A-Z_]+)'/g)) used.add(code as string)
		}
		const known = new Set([...OWN_CODES.map(({ code }) => code), ...ERRORS.map(({ name }) => `KCLI_${name}`)])
		expect(used.size).toBeGreaterThan(10)
		expect([...used].filter((code) => !known.has(code))).toEqual([])
	})
})
