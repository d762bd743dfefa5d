import { describe, expect, it } from 'vitest'
import { kcli } from '../helpers/processes.js'

describe('errors', () => {
	it('explains a code by number and by name', async () => {
		const byNumber = await kcli(['errors', '41'])
		expect(byNumber.stdout).toMatch(/name +NOT_CONTROLLER\nretriable +yes/)
		expect((await kcli(['error', 'not-controller'])).stdout).toBe(byNumber.stdout)
		expect((await kcli(['errors', '-1', '-o', 'name'])).stdout).toBe('UNKNOWN_SERVER_ERROR\n')
	})

	it('lists all', async () => {
		const { stdout } = await kcli(['errors', '--json'])
		const { items } = JSON.parse(stdout) as { items: { code: number; name: string }[] }
		expect(items.length).toBeGreaterThan(110)
		expect(items[0]).toMatchObject({ code: -1 })
	})

	it('offers close matches', async () => {
		const wrong = await kcli(['errors', 'NOT_LEDER'])
		expect(wrong).toMatchObject({ code: 1, stdout: '' })
		expect(wrong.stderr).toContain('NOT_LEADER_OR_FOLLOWER')
	})
})
