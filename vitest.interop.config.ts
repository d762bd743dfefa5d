import { defineConfig } from 'vitest/config'

// Tests against real peers: one file at a time, since each starts brokers and JVMs.
export default defineConfig({
	test: {
		include: ['test/interop/**/*.test.ts'],
		testTimeout: 180_000,
		hookTimeout: 180_000,
		pool: 'forks',
		maxWorkers: 1,
		fileParallelism: false,
	},
})
