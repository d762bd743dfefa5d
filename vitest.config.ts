import { defineConfig } from 'vitest/config'

// Unit, property and process tests that need only Node. `test/interop` has its own run (scripts/test.mjs --interop).
export default defineConfig({
	test: {
		include: ['test/**/*.test.{ts,tsx}'],
		exclude: ['test/interop/**'],
		testTimeout: 30_000,
		hookTimeout: 30_000,
		pool: 'forks',
		maxWorkers: 2,
	},
})
