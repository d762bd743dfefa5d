/** One broker process for the tests of a file, and commands that talk to it. */

import { afterAll, beforeAll } from 'vitest'
import { type BrokerProcess, Cleanup, kcli, startBrokerProcess } from './processes.js'

export interface CommandBroker {
	readonly bootstrap: string
	readonly dataDir: string
	readonly zookeeper: string
	/** Runs `kcli LINE` against the broker; words are parted by spaces unless given as an array. */
	run(line: string | readonly string[], options?: RunOptions): ReturnType<typeof kcli>
	/** As `run` with `--json`; fails unless stdout is one JSON document. */
	json(line: string | readonly string[], options?: RunOptions): Promise<JsonResult>
}

interface RunOptions {
	readonly input?: string
	readonly env?: Record<string, string>
	readonly timeoutMs?: number
}

export interface JsonResult {
	readonly code: number | null
	readonly stderr: string
	readonly kind: string
	readonly clusterId: string | null
	// biome-ignore lint/suspicious/noExplicitAny: items differ by command, and tests look into them
	readonly items: any[]
	readonly errors: { item: string | null; code: number | string; name: string; message: string }[]
	readonly dryRun?: boolean
}

/** Starts the broker before the file's tests and ends it after them. */
export function brokerForFile(args: readonly string[] = []): CommandBroker {
	const cleanup = new Cleanup()
	let broker: BrokerProcess | null = null
	let dataDir = ''
	beforeAll(async () => {
		dataDir = `${cleanup.folder()}/data`
		broker = await startBrokerProcess(dataDir, ['--log-level', 'warn', ...args])
		cleanup.add(() => broker?.kill())
	})
	afterAll(() => cleanup.run())
	const started = (): BrokerProcess => {
		if (broker === null) throw new Error('the broker has not started')
		return broker
	}
	const run: CommandBroker['run'] = (line, options = {}) =>
		kcli(typeof line === 'string' ? line.split(' ') : line, {
			...options,
			env: { KCLI_BOOTSTRAP_SERVERS: started().bootstrap, ...CLEAN, ...options.env },
		})
	return {
		get bootstrap() {
			return started().bootstrap
		},
		get zookeeper() {
			return started().zookeeper
		},
		get dataDir() {
			return dataDir
		},
		run,
		json: async (line, options) => {
			const words = typeof line === 'string' ? line.split(' ') : line
			const { code, stdout, stderr } = await run([...words, '--json'], options)
			return { code, stderr, ...JSON.parse(stdout) }
		},
	}
}

/** What the caller's own environment must not change. */
const CLEAN = { KCLI_OUTPUT: '', KCLI_YES: '', KCLI_READ_ONLY: '', NO_COLOR: '', FORCE_COLOR: '0' }
