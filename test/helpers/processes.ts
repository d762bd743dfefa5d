/**
 * Real processes for tests: brokers and commands of ours by their launcher, peers by name. Everything that is started is
 * ended by its own pid, and folders are removed, in the order opposite to their making.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const CLI = join(ROOT, 'bin', 'run.js')

/** What a test leaves behind: each step is run, last first, by {@link Cleanup.run}. */
export class Cleanup {
	readonly #steps: (() => unknown)[] = []

	add(step: () => unknown): void {
		this.#steps.push(step)
	}

	folder(): string {
		const path = mkdtempSync(join(tmpdir(), 'kcli-'))
		this.add(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
		return path
	}

	async run(): Promise<void> {
		for (const step of this.#steps.splice(0).reverse()) await step()
	}
}

export interface RunResult {
	readonly code: number | null
	readonly stdout: string
	readonly stderr: string
}

/** Runs a program to its end, with `input` on stdin. Bytes of stdout as they came in `bytes`. */
export function run(
	command: string,
	args: readonly string[],
	options: {
		readonly input?: string | Buffer
		readonly timeoutMs?: number
		readonly env?: Record<string, string>
	} = {},
): Promise<RunResult & { readonly bytes: Buffer }> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, {
			stdio: ['pipe', 'pipe', 'pipe'],
			env: { ...process.env, NODE_OPTIONS: '', ...options.env },
		})
		const stdout: Buffer[] = []
		const stderr: Buffer[] = []
		child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
		child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
		child.stdin.on('error', () => undefined)
		child.stdin.end(options.input ?? '')
		const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 60_000)
		child.once('error', reject)
		child.once('close', (code) => {
			clearTimeout(timer)
			const bytes = Buffer.concat(stdout)
			resolve({ code, bytes, stdout: bytes.toString('utf8'), stderr: Buffer.concat(stderr).toString('utf8') })
		})
	})
}

/** Runs one of our commands. */
export function kcli(
	args: readonly string[],
	options: {
		readonly input?: string | Buffer
		readonly timeoutMs?: number
		readonly env?: Record<string, string>
	} = {},
): Promise<RunResult & { readonly bytes: Buffer }> {
	return run(process.execPath, [CLI, ...args], options)
}

/** True when `command` is on the PATH. */
export function isInstalled(command: string): boolean {
	return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
}

export interface BrokerProcess {
	readonly id: number
	/** `host:port` for clients. */
	readonly bootstrap: string
	readonly zookeeper: string
	readonly pid: number
	/** Milliseconds from spawn to the ready line. */
	readonly readyMs: number
	/** What it logged so far. */
	logText(): string
	/** SIGTERM, and its exit code. */
	stop(): Promise<number | null>
	/** SIGKILL; settles when it is gone. */
	kill(): Promise<void>
	signal(name: NodeJS.Signals): void
}

/** Starts `kcli broker start` on free ports and waits for its ready line. */
export async function startBrokerProcess(dataDir: string, args: readonly string[] = []): Promise<BrokerProcess> {
	const startedMs = performance.now()
	const hasListen = args.includes('--listen')
	const hasZooKeeper = args.includes('--zookeeper') || args.includes('--zookeeper-port')
	const child: ChildProcess = spawn(
		process.execPath,
		[
			CLI,
			'broker',
			'start',
			'--data-dir',
			dataDir,
			...(hasListen ? [] : ['--listen', 'PLAINTEXT://127.0.0.1:0']),
			...(hasZooKeeper ? [] : ['--zookeeper-port', '0']),
			...args,
		],
		{ stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } },
	)
	let stderr = ''
	let stdout = ''
	child.stderr?.on('data', (chunk: Buffer) => {
		stderr += chunk.toString('utf8')
	})
	const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
	const line = await new Promise<string>((resolve, reject) => {
		const timer = setTimeout(() => {
			child.kill('SIGKILL')
			reject(new Error(`the broker was not ready within 30 s\n${stderr}`))
		}, 30_000)
		child.stdout?.on('data', (chunk: Buffer) => {
			stdout += chunk.toString('utf8')
			const end = stdout.indexOf('\n')
			if (end < 0) return
			clearTimeout(timer)
			resolve(stdout.slice(0, end))
		})
		void exited.then((code) => {
			clearTimeout(timer)
			reject(new Error(`the broker ended with ${code}\n${stderr}`))
		})
	})
	const ready = Object.fromEntries(line.split(' ').map((pair) => pair.split('='))) as Record<string, string>
	return {
		id: Number(ready['id']),
		bootstrap: (ready['listeners'] as string).split(',')[0]?.replace(/^[^/]*\/\//, '') ?? '',
		zookeeper: ready['zookeeper'] as string,
		pid: child.pid as number,
		readyMs: performance.now() - startedMs,
		logText: () => stderr,
		stop: () => {
			child.kill('SIGTERM')
			return exited
		},
		kill: async () => {
			child.kill('SIGKILL')
			await exited
		},
		signal: (name) => {
			child.kill(name)
		},
	}
}
