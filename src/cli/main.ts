/**
 * Entry of the command line: finds the command in the manifest, loads its file and nothing else, runs it, ends the process
 * with its code. oclif parses flags and prints help; its start (plugins, hooks, themes) is left out, since it costs more
 * than a command's own work.
 */

import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type CommandEntry, resolveCommand } from './command-tree.js'
import { EXIT, usageError } from './errors.js'
import { ExitSignal, reportError, wantsJson } from './failure.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Manifest {
	readonly commands: Readonly<Record<string, CommandEntry>>
}

/** A command's file by its id; null: it is looked for on disk. */
type LoadCommand = ((id: string) => Promise<{ readonly default: CommandClass }>) | null

/** Runs one command line; the process ends with the command's exit code. `load` is the bundle's way to a command. */
export async function run(argv: readonly string[], load: LoadCommand = null): Promise<void> {
	process.stdout.on('error', endOfPipe)
	process.stderr.on('error', endOfPipe)
	endOnSignal('SIGINT', EXIT.interrupted)
	endOnSignal('SIGTERM', EXIT.terminated)
	// One switch for all that colours, whoever asks; a command need not know.
	if (beforeDashes(argv).includes('--no-color')) {
		process.env['NO_COLOR'] = '1'
		delete process.env['FORCE_COLOR']
	}
	let code: number
	try {
		code = await dispatch(argv, load)
	} catch (error) {
		code =
			error instanceof ExitSignal
				? error.exitCode
				: await reportError(error, { command: null, isJson: wantsJson(argv), isQuiet: false })
	}
	await flushed(process.stdout)
	await flushed(process.stderr)
	process.exit(code)
}

/** Ends at once, unless the command has something to finish and listens itself. */
function endOnSignal(signal: NodeJS.Signals, code: number): void {
	process.on(signal, () => {
		if (process.listenerCount(signal) === 1) process.exit(code)
	})
}

/** The reader of our pipe has gone (`kcli consume … | head`): that is the end of the work, not a fault. */
function endOfPipe(error: NodeJS.ErrnoException): void {
	if (error.code === 'EPIPE') process.exit(EXIT.done)
	throw error
}

async function dispatch(argv: readonly string[], load: LoadCommand): Promise<number> {
	const [first] = argv
	const manifest = JSON.parse(readFileSync(`${ROOT}oclif.manifest.json`, 'utf8')) as Manifest
	if (first === '__complete') {
		const { complete } = await import('./complete.js')
		return await complete(manifest.commands, argv.slice(argv[1] === '--' ? 2 : 1))
	}
	const isHelp = first === 'help' || beforeDashes(argv).some((word) => word === '--help' || word === '-h')
	const words = first === 'help' ? argv.slice(1) : argv
	const found = resolveCommand(Object.values(manifest.commands), words)
	if ('id' in found && !isHelp) return await runCommand(manifest.commands[found.id] as CommandEntry, found.rest, load)
	const help = await import('./help.js')
	if ('id' in found) return await help.commandHelp(ROOT, found.id)
	if (found.words.length === 0 && found.noun !== null) return await help.nounHelp(ROOT, found.noun)
	if (found.words.length === 0 && (first === undefined || isHelp))
		return help.rootHelp(manifest.commands, versionLine())
	if (found.words.length === 0) throw usageError(`the command comes first, then its flags: '${first}' is a flag`)
	throw usageError(
		`there is no command '${found.words.slice(0, found.noun === null ? 1 : 2).join(' ')}'`,
		found.hint ?? (found.noun === null ? "'kcli --help' lists all" : `'kcli ${found.noun} --help' lists its commands`),
	)
}

async function runCommand(entry: CommandEntry, argv: readonly string[], load: LoadCommand): Promise<number> {
	const module = await (load === null ? loadFromDisk(entry) : load(entry.id))
	return await module.default.start([...argv], ROOT, entry.id)
}

async function loadFromDisk({ relativePath = [] }: CommandEntry): Promise<{ readonly default: CommandClass }> {
	return (await import(pathToFileURL(`${ROOT}${relativePath.join('/')}`).href)) as { default: CommandClass }
}

interface CommandClass {
	start(argv: string[], root: string, id: string): Promise<number>
}

function versionLine(): string {
	const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }
	return `kcli/${version} ${process.platform}-${process.arch} node-${process.version}`
}

function beforeDashes(argv: readonly string[]): readonly string[] {
	const end = argv.indexOf('--')
	return end < 0 ? argv : argv.slice(0, end)
}

/** Settles when what was written has left the process: an exit would cut a pipe's tail on some systems. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
	return new Promise((resolve) => {
		if (stream.writableLength === 0) resolve()
		else stream.write('', () => resolve())
	})
}
